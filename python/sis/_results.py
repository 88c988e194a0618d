# SPDX-License-Identifier: MIT
"""`Results`, a list of `Explanation`s, each with its `Subset`s. An explanation is a line of
the results file that the program writes and reads; everything here is read from it."""
import copy
import html
import json
import os
import re
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

import numpy as np

from . import _core
from ._core import Error


# The trace of a subset in a line that the library wrote; no string can hold it, for its quotes would be escaped.
TRACE = re.compile(rb',(?:"start":[^,]*,)?"order":\[[^]]*\],"trace":\[[^]]*\]')


class Subset:
    """A sufficient input subset: features (most important first), their names and values, and the
    score of these alone."""
    __slots__ = ("features", "names", "values", "score", "order", "scores", "becomes", "distance")

    def __init__(self, record: "Explanation", data: Dict[str, Any], becomes: Optional["Explanation"] = None,
                 distance: Optional[float] = None) -> None:
        self.features: Tuple[int, ...] = tuple(data["features"])
        self.names: Tuple[str, ...] = tuple(record._name(f) for f in self.features)
        self.values: Tuple[Any, ...] = tuple(record._value(f) for f in self.features)
        self.score: float = data["score"]
        self.order = tuple(data.get("order", ()))
        self.scores = tuple(data.get("trace", ()))
        self.becomes = None if becomes is None else tuple(becomes._value(f) for f in self.features)
        self.distance = distance

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[int]:
        return iter(self.features)

    def __contains__(self, feature: object) -> bool:
        return feature in self.features or feature in self.names

    def __repr__(self) -> str:
        return "<Subset of %d: %s; score %.4g>" % (len(self), ", ".join(self.names[:6]) +
                                                  (" ..." if len(self) > 6 else ""), self.score)


class Explanation:
    """One decision: its score, its status ("explained", "not_decided", "default_decision",
    "error" or "cut") and its subsets."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.data: Dict[str, Any] = json.loads(line)
        d = self.data
        self.id, self.score = d["id"], d["score"]
        self.status = "not_decided" if d["status"] == "below_threshold" else d["status"]  # before 1.0
        self.masked_score, self.threshold = d["masked_score"], d["threshold"]
        self.target, self.target_label = d["target"], d.get("target_label")
        self.label, self.below = d.get("label"), d["direction"] == "<="
        self.n_features, self.evaluations = d["n_features"], d.get("evaluations", 0)
        self.rest_score, self.verified = d.get("rest_score"), d.get("verified", False)
        self.message = d.get("message")
        self._owned: Optional[Dict[int, List[int]]] = None
        self._cells: Optional[List[Tuple[int, Any]]] = None
        distances = d.get("distances") or [None] * len(d["subsets"])
        self.subsets = [Subset(self, s, self._changed(k), distances[k]) for k, s in enumerate(d["subsets"])]

    def _changed(self, k):
        """The input that shows contrast k, as an example; None if the record has none."""
        if not self.data.get("examples"):
            return None
        other, n = copy.copy(self), len(self.data["values"])
        other.data = dict(self.data, values=self.data["examples"][k * n:(k + 1) * n])
        other._cells = None
        return other

    def _values_of(self, feature):
        """The numbers of the values that belong to a feature."""
        owner = self.data.get("feature_map")
        if owner is None:
            return [feature]
        if self._owned is None:
            self._owned = {}
            for value, f in enumerate(owner):
                self._owned.setdefault(f, []).append(value)
        return self._owned.get(feature, [])

    def _name(self, feature):
        words, names = self.data.get("words"), self.data.get("names")
        if words:
            return words[feature]
        if names and len(names) > feature:
            return names[feature]
        if self.data.get("sequence"):
            return "%s%d" % (self.data["sequence"][feature], feature + 1)
        return "feature %d" % feature

    def _value(self, feature):
        values = self.data.get("values")
        if self.data.get("words") or values is None:
            return self._name(feature)
        cells = self._columns()
        found = [values[v] for v in self._values_of(feature)] if cells is None else [
            None if cell != cell else cell for owner, cell in cells if owner == feature]
        return found[0] if len(found) == 1 else tuple(found)

    def _columns(self):
        """Of a table with categories, for each column its feature and its cell, a number or a category, NaN or
        None if it is missing; else None. A record has a 0 or 1 for each category, called COLUMN=CATEGORY."""
        titles, owner = self.data.get("value_names"), self.data.get("feature_map")
        if self._cells is None and titles and owner and self.data.get("values") is not None:
            columns = {}
            for v, title in enumerate(titles):
                columns.setdefault(self._column_of(title, owner[v]), []).append(v)
            numbers = all(of == [v] and self._is_number(c, v) for v, (c, of) in enumerate(columns.items()))
            self._cells = [] if numbers else [(owner[of[0]], self._cell(c, of)) for c, of in columns.items()]
        return self._cells or None

    def _column_of(self, title, feature):
        """A feature is usually a column; where it is several, a category is what follows the last `=`."""
        names = self.data.get("names") or []
        name = names[feature] if 0 <= feature < len(names) else None
        own = name is not None and (title == name or title.startswith(name + "="))
        return name if own else title.rpartition("=")[0] or title

    def _is_number(self, column, value):
        """Of a value that is alone in its column: its name, or the feature's, may hold a `=` of its own."""
        title = self.data["value_names"][value]
        return title == column or self._name(self.data["feature_map"][value]) != column

    def _cell(self, column, of):
        values, titles = self.data["values"], self.data["value_names"]
        if len(of) == 1 and self._is_number(column, of[0]):
            return np.nan if values[of[0]] is None else values[of[0]]
        return next((titles[v][len(column) + 1:] for v in of if values[v] == 1), None)

    @property
    def values(self) -> Optional[np.ndarray]:
        """The example as an array in its own shape, or None. A row of a table with categories is an array of
        objects, a number or a category for each column."""
        values, cells = self.data.get("values"), self._columns()
        if values is None:
            return None
        if cells is not None:
            return np.array([cell for _, cell in cells], dtype=object)
        return np.array(values, dtype=float).reshape(self.data.get("shape") or -1)  # null: NaN

    def mask_of(self, subset: int = 0) -> np.ndarray:
        """True for the values of a subset, in the shape of the example: of `values`."""
        chosen = set(self.subsets[subset].features)
        owner = self.data.get("feature_map") or range(self.n_features)
        if self._columns() is not None:
            owner = [feature for feature, _ in self._columns()]
        mask = np.array([f in chosen for f in owner])
        shape = self.data.get("shape")
        return mask.reshape(shape) if shape and int(np.prod(shape)) == mask.size else mask

    def __len__(self) -> int:
        return len(self.subsets)

    def __iter__(self) -> Iterator[Subset]:
        return iter(self.subsets)

    def __getitem__(self, k: int) -> Subset:
        return self.subsets[k]

    def __eq__(self, other: object) -> bool:
        """Compare records, without traces and provenance."""
        return isinstance(other, Explanation) and claim(self.line) == claim(other.line)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return _core.record_text(self.line).rstrip("\n")

    def _repr_html_(self):
        return frame_of([self.line], "example %s" % self.id)


def within_domain(results, options):
    """Options of an audit: where a proof holds is part of what its record claims."""
    claimed = {(e.data.get("guarantee") or {}).get("domain") for e in results if e.status != "error"}
    if len(claimed) > 1:
        raise Error("verify: these results are about different domains (%s); verify them one domain at a time"
                    % ", ".join(sorted(map(str, claimed))))
    domain = claimed.pop() if claimed else None
    if domain is None:
        return options
    given = options.get("domain", domain)
    named = isinstance(given, str) and given != "data"  # without any data that the caller gives
    if domain == "any" or domain.startswith("ball:"):
        if not named or given != domain:
            raise Error("verify: these results are about domain=%r; leave domain out" % domain)
    elif named:
        raise Error("verify: these results are about domain=%r, which their records do not contain; give domain "
                    "as it was" % domain)
    return dict(options, guarantee="all", domain=given)


def check_values(e, example):
    """Whether the record belongs to this example."""
    shown = example.get("shown", example)
    values = e.data.get("values")
    if not shown or values is None:
        return
    values = np.array([np.nan if v is None else v for v in values], dtype=float)
    if not np.array_equal(values, np.ravel(shown["values"]), equal_nan=True):
        raise Error("verify: record %r was made with another input; give the same X" % e.id)


def claim(line):
    """The record of a line, without traces and provenance."""
    record = json.loads(_core.record_format(line, False))
    record.pop("provenance", None)
    return record


def frame_of(lines, title):
    """The cards of these records, in a frame of its own so that their style stays inside."""
    page = _core.page(lines, "results", title, True).decode()
    height = min(900, 80 + sum(card_height(Explanation(line)) for line in lines[:5]))
    fit = "this.style.height=Math.min(900,this.contentDocument.documentElement.scrollHeight+4)+'px'"
    return ('<iframe title="%s" srcdoc="%s" onload="%s" style="width:100%%;height:%dpx;border:0"></iframe>'
            % (html.escape(title), html.escape(page, quote=True), html.escape(fit, quote=True), height))


def card_height(e):
    """About how many pixels a card takes, for pages that may not measure it."""
    if e.data.get("kind") == "image":
        return 300
    if e.data.get("words") or e.data.get("sequence"):
        return 170 + len(str(e.data.get("words") or e.data["sequence"])) // 4 + 26 * len(e.subsets)
    return 130 + sum(70 + 26 * len(s) for s in e.subsets)


class Results:
    """Explanations in the order of the examples: a list to index, slice and loop over, with
    save, report, to_pandas, cluster, compare, verify, summary and plot."""

    def __init__(self, lines: Sequence[bytes], explainer: Any = None, core: Any = None, examples: Any = None,
                 provenance: Optional[str] = None) -> None:
        self.lines, self._provenance = list(lines), provenance
        self._parsed: List[Optional[Explanation]] = [None] * len(self.lines)
        self._explainer, self._core, self._examples = explainer, core, examples

    def __getstate__(self):
        """Copies behave like loaded results: they have no model."""
        return {"lines": self.lines, "provenance": self._provenance}

    def __setstate__(self, state):
        self.__init__(state["lines"], provenance=state["provenance"])

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, i: int) -> Explanation: ...

    @overload
    def __getitem__(self, i: slice) -> "Results": ...

    def __getitem__(self, i: Union[int, slice]) -> Union[Explanation, "Results"]:
        if isinstance(i, slice):
            examples = self._examples[i] if isinstance(self._examples, list) else self._examples  # a FileTask goes by ids
            return Results(self.lines[i], self._explainer, self._core, examples, self._provenance)
        found = self._parsed[i]
        if found is None:
            found = self._parsed[i] = Explanation(self.lines[i])
        return found

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def __add__(self, other: "Results") -> "Results":
        return Results(self.lines + other.lines)

    def __eq__(self, other: object) -> bool:
        """The same records, as Explanation compares them: load(save(r)) == r."""
        return isinstance(other, Results) and len(self) == len(other) and all(
            a == b or claim(a) == claim(b) for a, b in zip(self.lines, other.lines))

    @property
    def counts(self) -> Dict[str, int]:
        """How many examples have each status."""
        counts: Dict[str, int] = {}
        for e in self:
            counts[e.status] = counts.get(e.status, 0) + 1
        return counts

    def __repr__(self) -> str:
        parts = ", ".join("%d %s" % (n, s.replace("_", " ")) for s, n in self.counts.items())
        shown = [repr(e) for e in self[:5]]
        more = ["... and %d more" % (len(self) - 5)] if len(self) > 5 else []
        return "\n".join(["%d examples: %s" % (len(self), parts or "none")] + shown + more)

    def _repr_html_(self):
        return frame_of(self.lines[:100], "results") if self.lines else "no examples"

    # ---- Files ------------------------------------------------------------------------------

    def save(self, path: "Union[str, os.PathLike[str]]", trace: bool = False) -> "Results":
        """Write the results file, JSON Lines: what the program's --output writes. With trace=True
        it holds the order of each selection, for pages with a threshold to move."""
        first = [_core.record_format(line, bool(trace), self._provenance) for line in self.lines[:1]]
        rest = self.lines[1:] if trace else [TRACE.sub(b"", line) for line in self.lines[1:]]
        _core.write(path, b"".join(first + rest))
        return self

    @property
    def provenance(self) -> Dict[str, Any]:
        """How the results were made, as a dict: version, digests of files, machine. A saved file has it
        in its first record."""
        found = [self._provenance] if self._provenance else [
            json.dumps(e.data["provenance"]) for e in self[:1] if "provenance" in e.data]
        return json.loads(found[0]) if found else {}

    @staticmethod
    def load(path: "Union[str, os.PathLike[str]]") -> "Results":
        """Read a results file, of this version or an older one."""
        with open(path, "rb") as f:
            lines = [line for line in f if line.strip()]
        for i, line in enumerate(lines):
            try:
                lines[i] = _core.record_format(line, True)
            except Error as e:
                raise Error("%s, line %d: %s" % (os.fspath(path), i + 1, e)) from None
        return Results(lines)

    def report(self, path: "Union[str, os.PathLike[str]]", title: Optional[str] = None) -> "Union[str, os.PathLike[str]]":
        """Write one HTML page that shows every example; it needs no other file."""
        page = _core.page(self.lines, os.path.basename(os.fspath(path)), title, False)
        _core.write(path, page)
        return path

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each subset: id, status, score, subset, size,
        subset_score, features, names, values, and of contrasts becomes and distance. Examples without subsets have one row."""
        import pandas
        rows: List[Dict[str, Any]] = []
        for e in self:
            head = {"id": e.id, "status": e.status, "target": e.target, "label": e.label,
                    "threshold": e.threshold, "score": e.score, "masked_score": e.masked_score}
            found = [dict(head, subset=k, size=len(s), subset_score=s.score, features=s.features,
                          names=s.names, values=s.values, becomes=s.becomes, distance=s.distance) for k, s in enumerate(e.subsets)]
            rows += found or [dict(head, subset=None, size=0)]
        return pandas.DataFrame(rows, columns=[
            "id", "status", "target", "label", "threshold", "score", "masked_score", "subset", "size",
            "subset_score", "features", "names", "values", "becomes", "distance"])

    # ---- All of them together ---------------------------------------------------------------

    def summary(self, most: Optional[int] = 20) -> List[Tuple[str, int, int]]:
        """Which features are in how many subsets: a list of (name, subsets, examples), most
        frequent first, as `sis summary` counts them. most=None: all."""
        return _core.summary(self.lines)[:most]

    def groups(self, by: str) -> List[Dict[str, Any]]:
        """Decisions and reasons by the values of a column ("sex"), or by ranges of numbers ("age:30,50"), as
        `sis summary --by` counts them: a list of dicts with "group", "examples", "decided" and, for each of
        "features", the share of subsets that hold it. Shares have "n", "of", "share" and the 95 % interval
        "low" to "high" (Wilson)."""
        return [json.loads(line) for line in _core.groups(self.lines, by).splitlines()]

    def cluster(self, eps: Optional[float] = None, min_size: int = 5, distance: Optional[str] = None,
                jobs: int = 1) -> "Clusters":
        """Clusters of all subsets (DBSCAN). eps=None takes the distance where the curve of
        neighbours turns."""
        found = _core.cluster(self.lines, distance, float("nan") if eps is None else float(eps),
                              int(min_size), int(jobs))
        return Clusters(self, found)

    def compare(self, other: "Results") -> "Comparison":
        """Compare with other results about the same examples (by id), for example of another model, mask,
        threshold or method. Returns a sis.Comparison."""
        return Comparison(self, other)

    def _thresholds(self):
        """One value for all examples, or one for each."""
        found = [e.threshold for e in self]
        return found[0] if len(set(found)) == 1 else found

    def verify(self, model: Any = None, X: Any = None, exhaustive: int = 0, **options: Any) -> List[Dict[str, Any]]:
        """Check every claim again with full passes: a list of dicts with "holds" and, if that is
        False, "reason". Examples of status "error" claim nothing and are left out. Results that were
        loaded need the model and the examples."""
        core, examples = self._core, self._examples
        if not self.lines:
            return []
        if model is not None or examples is None:
            if model is None or X is None:
                raise Error("verify: results that were loaded, copied or added need the model and the "
                            "examples: verify(model, X, mask=...)")
            from ._explain import FileTask, Explainer
            kept = self[0].data.get("keep")  # the records say what they claim
            options = dict({"keep": kept} if kept else {}, **options)
            if not isinstance(X, os.PathLike):  # of a file the task reads the domain from the records
                options = within_domain(self, options)
            explainer = Explainer(model, target_index=[e.target for e in self], **options)
            ids, threshold = [e.id for e in self], None if kept else self._thresholds()
            examples = FileTask.of(explainer, X, threshold, ids, None)
            if examples is None:
                _, core, examples = explainer.prepare(X, threshold, ids=ids)
                for e, example in zip(self, examples):
                    check_values(e, example)
            else:
                explainer.target_index = None
        claims = [i for i, e in enumerate(self) if e.status != "error"]
        lines = [self.lines[i] for i in claims]
        if not lines:
            return []
        if callable(examples):
            found = examples(lines=lines, exhaustive=exhaustive)
        else:
            found = _core.verify(core, [examples[i] for i in claims], lines, exhaustive)
        return [json.loads(line) for line in found]

    def plot(self, name: Optional[str] = None) -> "Figure":
        """A figure of `sis report --figure NAME`, such as "scores" or "sizes". Without a name: in how many subsets
        each feature is."""
        svg = _core.figure(self.lines, name)
        if svg is None:
            raise Error("plot: these results have no figure %s" % ("of features" if name is None else repr(name)))
        return Figure(svg)


class Figure:
    """A figure as SVG, which notebooks show; `save` writes it to a file."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def save(self, path: "Union[str, os.PathLike[str]]") -> None:
        """Write the file."""
        _core.write(path, self.svg.encode())


class Comparison:
    """Where two sets of results agree about the same examples. `pairs` has (explanation, explanation)
    of every id that both have; `rows` a dict of each pair: id, both statuses, sizes of the first
    subsets, `overlap` (Jaccard of all features in subsets), `same` (as many subsets, with the same
    features), `shared` (subsets that both have). `only` has the ids of either that the other lacks."""

    def __init__(self, first: Results, second: Results) -> None:
        found = _core.pairs(first.lines, second.lines)
        self.pairs = [(first[i], second[j]) for i, j, *_ in found]
        both = {a.id for a, _ in self.pairs}
        self.only = tuple([e.id for e in side if e.id not in both] for side in (first, second))
        self.rows = [{"id": a.id, "status": a.status, "other_status": b.status,
                      "size": len(a[0]) if len(a) else 0, "other_size": len(b[0]) if len(b) else 0,
                      "overlap": overlap, "shared": shared, "same": same}
                     for (a, b), (_, _, overlap, shared, same) in zip(self.pairs, found)]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, i: int) -> Dict[str, Any]:
        return self.rows[i]

    @property
    def overlap(self) -> float:
        """The mean overlap of examples that both explain; NaN if there is none."""
        both = [r["overlap"] for r in self.rows if r["status"] == r["other_status"] == "explained"]
        return float(np.mean(both)) if both else float("nan")

    def features(self, most: Optional[int] = 20) -> List[Tuple[str, int, int]]:
        """Features by the difference of their numbers of subsets: a list of (name, subsets of the
        first, subsets of the second)."""
        counts = [{n: k for n, k, _ in _core.summary([e.line for e in side])} for side in zip(*self.pairs)] or [{}, {}]
        names = sorted(set(counts[0]) | set(counts[1]),
                       key=lambda n: (-abs(counts[0].get(n, 0) - counts[1].get(n, 0)), n))
        return [(n, counts[0].get(n, 0), counts[1].get(n, 0)) for n in names[:most]]

    def to_pandas(self) -> Any:
        """A pandas DataFrame with a row for each example that both have."""
        import pandas
        return pandas.DataFrame(self.rows)

    def __repr__(self) -> str:
        n = len(self)
        agree = sum(r["status"] == r["other_status"] for r in self.rows)
        lines = ["%d examples in both, %d and %d in one alone" % (n, len(self.only[0]), len(self.only[1])),
                 "  %d of %d are decided alike, %d have the same subsets" % (
                     agree, n, sum(r["same"] for r in self.rows)),
                 "  mean overlap of features in subsets %.3g" % self.overlap]
        lines += ["  %s in %d and %d subsets" % row for row in self.features(5) if row[1] != row[2]]
        return "\n".join(lines)


class Clusters:
    """Groups of similar subsets. `labels` has the cluster of each subset, -1: none; members
    are (example, subset)."""

    def __init__(self, results: Results, found: Dict[str, Any]) -> None:
        rows = sorted(found["members"])
        self.results, self.members = results, [(i, s) for i, s, _, _ in rows]
        self.labels = np.array([label for _, _, label, _ in rows], np.intc)
        self.core = np.array([core for _, _, _, core in rows], bool)
        self.medoids = found["medoids"]  # (example, subset) of each cluster
        self.eps, self.distance = found["eps"], found["distance"]
        self.counts = bool(found["counts"])  # every subset is one word, and a cluster is a word

    def __len__(self) -> int:
        return len(self.medoids)

    def __getitem__(self, k: int) -> List[Subset]:
        """The subsets of cluster k."""
        if not -len(self) <= k < len(self):
            raise IndexError("no such cluster; there are %d" % len(self))
        k %= len(self)
        return [self.results[i].subsets[s] for (i, s), c in zip(self.members, self.labels) if c == k]

    def medoid(self, k: int) -> Subset:
        """The subset in the middle of cluster k."""
        i, s = self.medoids[k]
        return self.results[i].subsets[s]

    def __repr__(self) -> str:
        rows = ["%d subsets, each of one word" % len(self.labels)] if self.counts else [
            "%d subsets in %d clusters, %d in none; %s distance, eps %.4g" % (
                len(self.labels), len(self), int((self.labels < 0).sum()), self.distance, self.eps)]
        order = sorted(range(len(self)), key=lambda k: -int((self.labels == k).sum()))
        rows += ["  %5d  %s" % ((self.labels == k).sum(), ", ".join(self.medoid(k).names[:8]))
                 for k in order[:20]]
        return "\n".join(rows)


def load(path: "Union[str, os.PathLike[str]]") -> Results:
    """Read a results file that the program, or Results.save, has written."""
    return Results.load(path)
