# SPDX-License-Identifier: MIT
"""`explain` and `Explainer`: a model, a mask, examples -> Results."""
import contextlib
import inspect
import itertools
import json
import os
import sys
import threading
import time
from typing import Any, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _check, _core, _inputs, _models
from ._core import Error
from ._llm import LLM
from ._results import Results
from ._types import Examples, Features, Mask, Model, Names, Target, Threshold, Tokenizer


GATHERED = 2048  # rows that a call with several examples should have
THREADS = 128  # examples at most that wait for such a call
PROBES = 16  # values of a column of numbers that tell what encoders make of it
CHECKED = 256  # records of a copy that the model itself is asked about together
INHERITED = []  # models that a process that was forked must not close


class Interrupted(KeyboardInterrupt):
    """Raised by Ctrl-C while explaining; `results` has the explanations found so far."""

    def __init__(self, results: Results) -> None:
        super().__init__("interrupted after %d examples" % len(results))
        self.results = results


class Bar:
    """A progress line on stderr, by tqdm if it is installed."""

    def __init__(self, total):
        self.total, self.began, self.shown, self.bar = total, time.monotonic(), False, None
        try:
            from tqdm.auto import tqdm
            self.bar = tqdm(total=total, unit="example", leave=False)
        except ImportError:
            pass

    def __call__(self, inputs, done, evaluations, walk):
        if self.bar is not None:
            self.bar.update(done - self.bar.n)
        elif time.monotonic() - self.began > 1 and sys.stderr.isatty():
            share = (done + (walk if done < inputs else 0)) / max(1, inputs)
            sys.stderr.write("\rsis: %d of %d examples, %3.0f %%" % (done, inputs, 100 * share))
            self.shown = True
        return False

    def close(self):
        if self.bar is not None:
            self.bar.close()
        elif self.shown:
            sys.stderr.write("\r\033[K")


class Explainer:
    """Explains decisions of one model.

    >>> import numpy as np
    >>> explainer = Explainer(lambda rows: rows.sum(axis=1), mask="zero", threshold=4)
    >>> r = explainer(np.array([[1.0, 5.0, 2.0, 3.0]]))
    >>> [s.features for s in r[0].subsets]
    [(1,), (3, 2)]
    >>> explainer.engine
    'called in batches'

    model       a callable that takes a batch (an array in the shape of X, a frame, or a list of texts) and
                returns scores (n,) or (n, outputs); the name of an ONNX, XGBoost or LightGBM file, a
                command or an address, as for --model; a scikit-learn estimator or pipeline; a
                torch.nn.Module; a booster of XGBoost or LightGBM; a language model, sis.LLM
    mask        the values of masked features: "mean" or "median" of `background`, "zero",
                "hotdeck" (drawn from the background, each feature by itself), "rows" (whole rows of it),
                a number or "value:X", "missing" (NaN), an array in the shape of an example (or (samples, ...);
                the score is then the mean over the samples), sis.HotDeck(...), or a callable on the background.
                The mean and the median of a column of categories are its most frequent category. Texts:
                "remove" (the default) or a word that replaces a masked one. Files of examples: also every
                mask of --mask. Default: the mask that a network carries, else the mean of the background
    background  data that masks are computed from; if X is a file, another file
    features    groups of columns (lists of names or numbers, or a dict of them); an array with the
                feature number of each value, -1 for values that are never masked; "axis:0", "grid:196" (also
                sis.Grid(196)), "FILE.npy". Texts: "word" or "sentence", for a network also "token". Prompts:
                "sentence", "paragraph", "line" or "word". Default: each value, each word, each
                sentence of a prompt
    axis        axes of an example whose values belong together, such as the channels of a pixel
    method      "sis"; "quick": the same kind of subsets with few calls, for slow models; "contrast":
                changes that lose the decision (boosted trees)
    keep        "score"; "class": the output stays the highest; needs no threshold
    guarantee   "mask": a subset is enough with everything else masked; "all": it is enough for all
                values of everything else, proved (boosted trees; needs no mask); "chance:0.95": it is
                enough for this share of completions drawn from data (X a file, mask="hotdeck:FILE")
    domain      for "all": "any" number, "ball:0.5" around each value, "data": the range of the
                background (missing where values are missing there), or a pair of arrays (minimum, maximum)
    smallest    for "all": find a subset with the fewest features
    units       for "contrast": a dict with the step of each feature, by name or number: {"income": 100}. Values
                change by whole steps, and distances count steps. Default: the standard deviation in the
                background of domain="data", else in X, and steps of 1 for columns of whole numbers
    fixed       for "contrast": features that never change, by name or number
    cheapest    for "contrast": find the smallest distance, not the fewest features
    confidence  confidence level of "chance:P"; samples: its number of draws for each example
    refine      with features="grid:196" or "superpixel:196" (X a file of images): refine the parts to pixels
    kind        how results are drawn: "image", "table", "array". Default: "image" if a network says so, or
                if X has the shape (n, height, width, 3 or 4) or (n, 3 or 4, height, width) with sides of
                8 or more; "table" for a frame
    threshold   the decision is score >= threshold; "p90" is the 90th percentile of the scores; or one number for
                each example
    below       explain score <= threshold instead
    target      the output to explain: a label of the model (a class of a classifier), or one for each example;
                "top" (the default): the highest score. If the model has no labels, a position
    target_names  names of the outputs of a callable, a booster or a torch module, in their order: records
                show them, and target= accepts them. If there is one score for two classes, give both names
    target_index  the output by its position from 0, or one for each example
    max_subsets stop after this many subsets; 0: find all
    jobs        threads; 0: one per core. Callables are called by one thread by default
    exact       use full passes only, no walks; your own object is called
    convert     True: a torch module, an estimator or a booster may be converted to a copy that the library runs
                faster. Your object checks every claim, and replaces the copy if they differ. False: your
                object is always called
    tokenizer   texts: a callable text -> [(start, end), ...], the words in characters; for a network
                file, the path of its vocab.txt or tokenizer.json
    fit         resize images of files (for example a folder) to the size that the network takes
    normalize   a network file gets (pixel - mean) / deviation: "imagenet", or "0.5,0.4,0.3/0.2,0.2,0.2"
    batch_size  maximum number of rows in a call of a callable
    memory      bytes that a walk may use; 0: the default of the library
    timeout     seconds to wait for one answer of a command or a server
    progress    True, False, or None: on a terminal, if it takes longer
    """

    def __init__(self, model: Model, *, threshold: Threshold = None, mask: Mask = None, background: Any = None,
                 features: Features = None, axis: Union[None, int, Sequence[int]] = None, below: bool = False,
                 target: Target = "top", target_names: Optional[Sequence[str]] = None,
                 target_index: Union[None, int, Sequence[int], np.ndarray] = None, max_subsets: int = 0,
                 jobs: Optional[int] = None, exact: bool = False, memory: int = 0, tokenizer: Tokenizer = None,
                 fit: bool = False, batch_size: Optional[int] = None, kind: Optional[str] = None,
                 timeout: float = 60.0, progress: Optional[bool] = None,
                 method: Literal["sis", "quick", "contrast"] = "sis", keep: Literal["score", "class"] = "score",
                 guarantee: str = "mask", domain: Union[str, Tuple[ArrayLike, ArrayLike]] = "any",
                 smallest: bool = False, units: Optional[Mapping[Union[str, int], float]] = None,
                 fixed: Optional[Sequence[Union[str, int]]] = None, cheapest: bool = False,
                 confidence: float = 0.95, samples: int = 0, refine: bool = False,
                 normalize: Optional[str] = None, convert: bool = True) -> None:
        if target_index is not None and not is_top(target):
            raise Error("target and target_index: give one of them")
        for name, value, known in (("method", method, ("sis", "quick", "contrast")),
                                   ("keep", keep, ("score", "class"))):
            if value not in known:
                raise Error("%s=%r: expected %s" % (name, value, " or ".join(known)))
        self.method, self.keep, self.guarantee, self.domain = method, keep, guarantee, domain
        self.smallest, self.confidence, self.samples = smallest, confidence, samples
        if units is not None and not isinstance(units, Mapping):
            raise Error("units: expected a dict of steps, such as {\"income\": 100}, found %r" % (units,))
        for feature, unit in (units or {}).items():
            if not isinstance(unit, (int, float, np.number)) or not 0 < unit < float("inf"):
                raise Error("units: expected a number above 0 for %r, found %r" % (feature, unit))
        if isinstance(fixed, (str, int)):
            raise Error("fixed: expected a list of features, found %r" % (fixed,))
        self.units, self.fixed, self.cheapest = dict(units or {}), list(fixed or []), bool(cheapest)
        if method != "contrast" and (self.units or self.fixed or self.cheapest):
            raise Error("units, fixed and cheapest are for method=\"contrast\"")
        self.refine, self.normalize, self.convert = refine, normalize, convert
        self.for_all = guarantee == "all" or method == "contrast"
        self.model, self.mask, self.background = model, mask, background
        self.features, self.axis, self.threshold, self.below = features, axis, threshold, below
        self.target, self.target_index = target, target_index
        self.target_names = None if target_names is None else [str(t) for t in target_names]
        if self.target_names and len(set(self.target_names)) < len(self.target_names):
            raise Error("target_names: two outputs have the same name")
        self.max_subsets, self.jobs, self.exact = max_subsets, jobs, exact
        self.memory, self.tokenizer, self.fit, self.batch_size = memory, tokenizer, fit, batch_size
        self.kind, self.timeout, self.progress = kind, timeout, progress
        for name, count in (("max_subsets", max_subsets), ("memory", memory)):
            if count < 0:
                raise Error("%s=%r: expected at least 0" % (name, count))
        if batch_size is not None and batch_size < 1:
            raise Error("batch_size=%r: expected at least 1" % (batch_size,))
        self._open()

    def _open(self):
        """Open a file now; any other model is examined with the first example."""
        self.bound, self.process = None, os.getpid()
        if isinstance(self.model, LLM):
            self.bound = _models.Prompted(self.model)
        if isinstance(self.model, (str, os.PathLike)):
            self.bound = _models.model_for(self.model, None, self.batch_size, self.timeout, self.normalize)

    def _own(self):
        """A forked process opens programs and servers again. With shared pipes, each process would read the
        answers of the other."""
        asked = isinstance(self.model, LLM) or isinstance(self.model, str) and self.model.startswith(("cmd:", "http"))
        if self.process != os.getpid() and asked:
            INHERITED.append(self.bound)  # the first process closes it
            self._open()

    def __getstate__(self):
        """Copies open the model again."""
        return {k: v for k, v in self.__dict__.items() if k != "bound"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._open()

    @property
    def engine(self) -> str:
        """How the model is run, in words."""
        return self.bound.engine if self.bound else "not known before the first example"

    def _masks(self, encoder, width, owner):
        spec = self.mask
        if self.for_all:
            if spec is not None:
                raise Error("mask: with %s nothing is masked; leave it out" %
                            ("method=\"contrast\"" if self.method == "contrast" else "guarantee=\"all\""))
            return np.zeros((1, width))
        if spec is None and encoder.kind != "text":
            if self.bound.mask is not None and self.bound.mask.size == width:
                return self.bound.mask[None, :].copy()
            spec = "mean"
        return np.ascontiguousarray(encoder.masks(spec, self.background, width, owner), dtype=float)

    def _labels(self, count):
        """The names of `count` outputs; None if they have none."""
        names = self.target_names
        if names is None:
            labels = self.bound.labels
            return labels if labels and len(labels) == count else None
        if count == 1 and len(names) == 2:
            return names[1:]
        if len(names) != count:
            raise Error("target_names: %d names for %d outputs; expected one for each" % (len(names), count))
        return names

    def _outputs(self, scores, which, n):
        """The position of the output of each of the examples `which`, out of n. An integer is a label if
        the model has labels."""
        count, labels = scores.shape[1], self._labels(scores.shape[1])
        name, given = ("target", self.target) if self.target_index is None else ("target_index", self.target_index)
        if self.target_index is None and is_top(given):
            return scores.argmax(axis=1)
        asked = [given] * n if np.ndim(given) == 0 else list(given)
        if len(asked) != n:
            raise Error("%s: %d values for %d examples; expected one for each" % (name, len(asked), n))
        asked = [asked[i] for i in which]
        if name == "target" and labels:
            return np.array([position_of(o, labels) for o in asked], dtype=int)
        for o in asked:
            if not isinstance(o, (int, np.integer)) or not 0 <= o < count:
                raise Error("%s=%r: the model has %d outputs; expected a position from 0 to %d"
                            % (name, o, count, count - 1))
        return np.array(asked, dtype=int)

    def _limits(self, threshold, scores, outputs, n):
        """The threshold of each of n examples."""
        if np.ndim(threshold) == 0 or np.size(threshold) == 1:
            return [self._limit(threshold, scores, outputs)] * n
        if np.shape(threshold) != (n,):
            raise Error("threshold: expected one number, or one for each of %d examples, found %d" % (n, np.size(threshold)))
        return [self._limit(t, scores, outputs) for t in threshold]

    def _limit(self, threshold, scores, outputs):
        if self.keep == "class":
            if threshold is not None:
                raise Error("threshold: leave it out with keep=\"class\"")
            if scores.shape[1] < 2:
                raise Error("keep=\"class\": the model has one output; give a threshold")
            return 0.0
        if threshold is None:
            raise Error("threshold is missing: give a number, or \"p90\" for the "
                        "90th percentile of the scores")
        if isinstance(threshold, str):
            try:
                share = float(threshold[1:]) if threshold[:1] == "p" else -1
            except ValueError:
                share = -1
            if not 0 <= share <= 100:
                raise Error("threshold=%r: expected a number, or p0 to p100" % (threshold,))
            return float(np.percentile(scores[np.arange(len(scores)), outputs], share))
        try:
            return float(np.ravel(threshold)[0].item())
        except (AttributeError, TypeError, ValueError):
            raise Error("threshold=%r: expected a number, or p0 to p100" % (threshold,)) from None

    def _examples(self, encoder, rows, outputs, ids, labels, called):
        """called: the names of the outputs, or None."""
        width = max(len(r) for r in rows)
        shape = encoder.shape or (width,)
        owner, names = feature_names(self, encoder, shape)
        masks = self._masks(encoder, width, owner)
        boundless = unbounded(rows) | np.isinf(masks).any()
        examples, steps = [], self._steps(encoder, rows, owner, names)
        for i, row in enumerate(rows):
            mask = masks if len(row) == width else np.ascontiguousarray(masks[:, :len(row)])
            e = {"id": ids[i], "model": _core.model_name(self.bound.name),
                 "kind": self.kind or self.bound.kind or encoder.drawn_as(), "values": row, "mask": mask,
                 "target": int(outputs[i])}
            e.update(encoder.describe(row, masks))
            e.update(steps)
            if boundless[i]:
                e["shown"] = False  # a record holds numbers, and null for missing ones
                e.pop("shape", None)
            box = self._box(encoder, row)
            if box is not None:
                e["low"], e["high"] = (np.ascontiguousarray(v, dtype=float) for v in box[:2])
                e["missing"] = np.ascontiguousarray(box[2], dtype=np.uint8)
            if owner is not None:
                e["feature_map"] = owner
                if e.get("shown"):  # columns of categories as several values
                    e["shown"]["feature_map"] = owner[e["shown"]["feature_map"]]
            if owner is not None or names is not None:
                e["names"] = names
            if called:
                e["target_label"] = called[outputs[i]]
            if labels is not None:
                e["label"] = labels[i]
            examples.append(e)
        return examples

    def _steps(self, encoder, rows, owner, names):
        """How distances of contrasts are counted: the scale and the step of each value, and fixed features."""
        if self.method != "contrast":
            return {}
        data = rows if self.domain != "data" else encoder.background(self.background, "domain")
        scale, step = np.frombuffer(_core.spread(np.ascontiguousarray(data, dtype=float))).reshape(2, -1).copy()
        owner = np.arange(len(scale)) if owner is None else np.asarray(owner)
        names, fixed = names or encoder.names, np.zeros(owner.max() + 1, np.uint8)
        for name, unit in self.units.items():
            scale[owner == feature_of(name, names, len(fixed), "units")] = unit
            step[owner == feature_of(name, names, len(fixed), "units")] = unit
        for name in self.fixed:
            fixed[feature_of(name, names, len(fixed), "fixed")] = 1
        return {"scale": scale, "step": step, "fixed": fixed} if self.fixed else {"scale": scale, "step": step}

    def _box(self, encoder, row):
        """The minimum and maximum of the other values, and which may be missing; or None."""
        never = np.zeros(len(row), bool)
        if not self.for_all or (isinstance(self.domain, str) and self.domain == "any"):
            return None
        if isinstance(self.domain, str) and self.domain.startswith("ball:"):
            try:
                radius = float(self.domain[5:])
            except ValueError:
                radius = -1
            if radius >= 0:  # a missing value has nothing around it: it may be any
                return (np.where(np.isnan(row), -np.inf, row - radius),
                        np.where(np.isnan(row), np.inf, row + radius), never)
        elif isinstance(self.domain, str) and self.domain == "data":
            rows = encoder.background(self.background, "domain")
            return np.fmin.reduce(rows), np.fmax.reduce(rows), np.isnan(rows).any(axis=0)
        elif not isinstance(self.domain, str):
            low, high = (np.asarray(v, dtype=float).ravel() for v in self.domain)
            if low.size == high.size == len(row):
                return low, high, never
        raise Error("domain=%r: expected \"any\", \"ball:E\", \"data\" with a background, or a pair "
                    "of arrays, lowest and highest" % (self.domain,))

    def prepare(self, X: Examples, threshold: Threshold = None, ids: Names = None,
                labels: Names = None) -> Tuple[Any, Any, List[Dict[str, Any]]]:
        """The examples as the library takes them."""
        others = self.mask.background if isinstance(self.mask, _inputs.HotDeck) else None
        encoder = _inputs.encoder_for(X, self.background if others is None else others, self.tokenizer, self.features)
        rows = encoder.rows(X)
        if len(rows) == 0:
            raise Error("X: has no examples")
        n, threshold = len(rows), self.threshold if threshold is None else threshold
        if ids is None:
            ids = X.index if _inputs.is_frame(X) and X.index.is_unique else range(n)
        names, classes = one_each(ids, "ids", n), one_each(labels, "labels", n)
        which = [i for i in range(n) if len(rows[i])] if encoder.kind == "text" else range(n)
        core, judge, examples, limits = self._prepare(encoder, rows, threshold, names, classes, which, n)
        for i in sorted(set(range(n)).difference(which)):
            examples.insert(i, silent(self, names[i], classes[i] if classes else None))
        return core, judge, [dict(e, threshold=limit) for e, limit in zip(examples, limits)]

    def _prepare(self, encoder, rows, threshold, ids, labels, which, n):
        """The same for rows that the model can be asked about, the examples `which`, and thresholds for all n."""
        if len(which) < n:
            rows, ids = [rows[i] for i in which], [ids[i] for i in which]
            labels = labels and [labels[i] for i in which]
        if not which:
            return None, None, [], self._limits(threshold, np.zeros((1, 2)), [0], n)
        if self.bound is None:
            few = rows[:32] if isinstance(rows, np.ndarray) else np.asarray(rows[0])[None]
            # that a class stays is decided by the scores of the object, and no walk helps there
            convert = self.convert and (self.for_all or not (self.exact or self.keep == "class"))
            self.bound = _models.model_for(self.model, encoder.batch(few), self.batch_size, self.timeout,
                                           self.normalize, few, convert, encoder.whole, not self.for_all)
        core, judge = self._bind(encoder, rows)
        scores = predict_rows(judge, rows, self.jobs)
        if judge is not core and not _check.close(predict_rows(core, self.bound.encoded(encoder, rows), self.jobs), scores):
            core = self._ask_itself(judge)
        outputs = self._outputs(scores, which, n)
        limits = self._limits(threshold, scores, outputs, n)
        if self.for_all:
            judge = core  # proofs are checked by what can prove
        examples = self._examples(encoder, rows, outputs, ids, labels, self._labels(scores.shape[1]))
        if core is not judge and self.bound.steps is not None and not add_encoded(self.bound, encoder, examples):
            core = self._ask_itself(judge, "its encoders mix columns")
        return core, judge, examples, limits

    def _bind(self, encoder, rows):
        """The model that finds subsets, and the one that checks them: a copy of the model and the model itself,
        or the same object."""
        own = getattr(self.bound, "own", None)
        if own is None:
            core = self.bound.bind(encoder, rows[0])
            return core, core
        core = self.bound.bind(encoder, self.bound.encoded(encoder, rows[:1])[0])
        judge = own.bind(encoder, rows[0])
        if self.for_all:  # beside the examples, inputs that mix their values
            mixed = np.random.default_rng(1).permuted(np.asarray(rows)[:256], axis=0)
            if not _check.close(predict_rows(core, mixed, self.jobs), predict_rows(judge, mixed, 1)):
                self._ask_itself(judge)
        return core, judge

    def _ask_itself(self, judge, reason="its converted copy answers differently"):
        """Drop the copy; from now on the model itself is called."""
        if self.for_all:
            raise Error("the library's copy of %s returns other scores, so it cannot prove anything "
                        "about it" % self.bound.name)
        own = self.bound.own
        own.engine += ": " + reason
        self.bound = own
        return judge

    def _jobs(self):
        if self.jobs is not None:
            return self.jobs
        return 1 if isinstance(self.bound, _models.Called) else 0

    def _together(self, part):
        """The number of examples whose rows go into one call. A call with a frame is expensive, whatever its
        number of rows."""
        if self.jobs not in (None, 1) or not getattr(self.bound, "frames", False):
            return 1
        return max(1, min(len(part), THREADS, -(-GATHERED // part[0]["mask"].size)))

    def _listed(self, option):
        """units or fixed as the program takes them."""
        if option == "fixed":
            return ",".join(map(str, self.fixed)) or None
        return ",".join("%s=%r" % (name, float(unit)) for name, unit in self.units.items()) or None

    def _work(self, core, judge, examples):
        if self.guarantee not in ("mask", "all"):
            raise Error("guarantee=%r: expected \"mask\" or \"all\"; for \"chance:P\" give X "
                        "as a pathlib.Path and mask=\"hotdeck:FILE\"" % (self.guarantee,))
        if self.refine:
            raise Error("refine needs files of images: give X as a pathlib.Path")
        domain = self.domain if isinstance(self.domain, str) else "given"

        def collect(by, part, run, lines):
            before = len(run.lines)

            def tell(inputs, done, *more):
                return run.tell(len(examples), before + done, *more)
            if by is not judge:
                part = [dict(e, **e.get("encoded", {})) for e in part]
            _core.collect(by, part, lambda i, line: lines.append(line), tell,
                          below=self.below, max_subsets=self.max_subsets,
                          memory=self.memory, jobs=self._jobs(), exact=self.exact, trace=True,
                          method=self.method, for_all=self.for_all,
                          keep_class=self.keep == "class", smallest=self.smallest, domain=domain,
                          cheapest=self.cheapest,
                          together=self._together(part))

        def confirmed(part, found, run):
            """Keep records until one is not confirmed by the model itself; return its verdict."""
            for line, verdict in zip(found, _check.confirm(judge, part, found, self.below)):
                if verdict != "holds":
                    return verdict
                run.lines.append(line)
            return "holds"

        def ahead(run, count):
            """The next examples, up to `count`, after error records for those without words."""
            while len(run.lines) < len(examples) and "message" in examples[len(run.lines)]:
                run.lines.append(error_line(examples[len(run.lines)], self))
            rest = itertools.takewhile(lambda e: "message" not in e, examples[len(run.lines):])
            return list(itertools.islice(rest, count))

        def work(run):
            by = core
            while part := ahead(run, len(examples) if by is judge else CHECKED):
                if by is judge:
                    collect(judge, part, run, run.lines)
                    continue
                found = []
                try:
                    collect(core, part, run, found)
                finally:
                    verdict = confirmed(part, found, run)
                if verdict == "close":  # to the threshold: for this example the model itself decides
                    collect(judge, ahead(run, 1), run, run.lines)
                elif verdict == "differs":
                    by = self._ask_itself(judge)
        return work

    def __call__(self, X: Examples, threshold: Threshold = None, ids: Names = None, labels: Names = None) -> Results:
        """Explain every example of X: an array (n, ...), a frame, a list of texts, or the path
        (pathlib.Path) of a file for a model that the library runs itself."""
        lines: List[bytes] = []
        core, judge, examples = None, None, None
        self._own()
        try:
            task = FileTask.of(self, X, threshold, ids, labels)
            if task is not None:
                core = self.bound.core
                provenance = Run(self, lambda run: task(run.lines.append, run.tell), 0, lines)()
                return Results(lines, self, core, task, provenance[0].decode())
            core, judge, examples = self.prepare(X, threshold, ids, labels)
            Run(self, self._work(core, judge, examples), len(examples), lines)()
        except KeyboardInterrupt:
            raise Interrupted(Results(lines, self, judge, examples)) from None
        return Results(lines, self, judge, examples, self._provenance(examples))

    def _provenance(self, examples):
        """How the records were made, for the file they are saved to."""
        samples = max((e["mask"].size // e["values"].size for e in examples if "mask" in e), default=0)
        file = self.model if isinstance(self.model, (str, os.PathLike)) else None
        return _core.provenance(None if file is None else os.fspath(file),
                          self.mask if isinstance(self.mask, str) else None, len(examples),
                          samples if samples > 1 else 0).decode()


def is_top(target):
    return isinstance(target, str) and target == "top"


def feature_of(name, names, n, option):
    """The number of a feature, by its name or number."""
    if names is not None and str(name) in names:
        return list(names).index(str(name))
    if isinstance(name, (int, np.integer)) and 0 <= name < n:
        return int(name)
    raise Error("%s: no feature is named %r" % (option, name))


def position_of(target, labels):
    if str(target) not in labels:
        raise Error("target=%r: no such label; expected %s%s, or a position as target_index"
                    % (target, ", ".join(labels[:10]), ", ..." if len(labels) > 10 else ""))
    return labels.index(str(target))


def silent(explainer, name, label):
    """A text without words, in the place of an example."""
    model = explainer.bound.name if explainer.bound else getattr(explainer.model, "__name__", type(explainer.model).__name__)
    e = {"id": name, "model": model, "kind": "text", "message": "the text has no words"}
    return e if label is None else dict(e, label=label)


def error_line(e, explainer):
    """The record of such an example, as the program writes it."""
    record = dict(e, sis=1, method=explainer.method, output=0, score=None, masked_score=None,
                  direction="<=" if explainer.below else ">=", status="error", n_features=0, subsets=[],
                  verified=False, complete=False, words=[])
    return _core.record_format(json.dumps(record).encode() + b"\n", True)


def one_each(given, what, n):
    """Ids or labels of n examples, in order; the index of a Series is ignored."""
    if given is None:
        return None
    if np.ndim(given) == 0 and not hasattr(given, "__iter__"):
        raise Error("%s=%r: expected one for each of %d examples" % (what, given, n))
    given = [str(v) for v in given]
    if len(given) != n:
        raise Error("%s: %d values for %d examples; expected one for each" % (what, len(given), n))
    return given


def unbounded(rows):
    """Which rows hold an infinite value."""
    if isinstance(rows, np.ndarray):
        return np.isinf(rows).any(axis=1)
    return np.array([np.isinf(r).any() for r in rows])


def feature_names(explainer, encoder, shape):
    if encoder.kind == "text":
        if explainer.axis is not None:
            raise Error("axis= is for arrays")
        return None, None
    return _inputs.feature_map(explainer.features, explainer.axis, shape, encoder.names)


def differ(a, b):
    """Where two arrays differ; NaN is equal to NaN."""
    return (a != b) & ~(np.isnan(a) & np.isnan(b))


def add_encoded(bound, encoder, examples):
    """Describe each example after the encoders of a pipeline: a masked column is a masked set of encoded
    columns. Returns False if an encoded column depends on several columns."""
    rows, masks = np.array([e["values"] for e in examples]), examples[0]["mask"]
    values, mask = bound.encoded(encoder, rows), bound.encoded(encoder, masks)
    both = np.concatenate([values, mask])
    moved, owner = differ(both, mask[0]).any(axis=0), bound.owner
    if owner is None or moved[owner < 0].any():  # nothing is known yet, or not of these values
        owner = encoded_owner(bound, encoder, np.concatenate([masks, rows]))
    if owner is None or moved[owner < 0].any():
        return False
    rng, n = np.random.default_rng(1), 32  # some masked copies: is it the same to encode first?
    some, kept = rng.integers(0, len(rows), n), rng.random((n, rows.shape[1])) < 0.5
    mixed = bound.encoded(encoder, np.where(kept, rows[some], masks[0]))
    if differ(mixed, np.where(kept[:, owner], values[some], mask[0])).any():
        return False
    bound.owner = owner
    for e, row in zip(examples, values):
        features = e.get("feature_map")
        shown = e.get("shown", {"values": e["values"], "mask": e["mask"] if len(masks) == 1 else None, "feature_map": features})
        of = owner if features is None else np.where(owner < 0, -1, np.asarray(features)[owner])
        e["encoded"] = {"values": row, "mask": mask, "feature_map": of.astype(np.intc), "shown": shown}
    return True


def encoded_owner(bound, encoder, rows):
    """The column that each encoded column depends on, -1: none; None if one depends on several. In the first and
    the last row each column in turn takes values of the others."""
    width, probes, columns = rows.shape[1], [], []
    for base in (rows[0], rows[-1]):
        for k in range(width):
            seen = np.unique(rows[:, k])
            if encoder.is_numbers(k):
                seen = seen[np.unique(np.linspace(0, len(seen) - 1, PROBES).astype(int))]
            part = np.repeat(base[None], len(seen) + 1, axis=0)
            part[1:, k] = seen
            probes.append(part)
            columns.append(k)
    found = np.split(bound.encoded(encoder, np.concatenate(probes)), np.cumsum([len(p) for p in probes])[:-1])
    owner = np.full(found[0].shape[1], -1)
    for k, part in zip(columns, found):
        moved = differ(part, part[0]).any(axis=0)
        if (moved & (owner >= 0) & (owner != k)).any():
            return None
        owner[moved] = k
    owner[-width:] = np.arange(width)
    return owner


def predict_rows(core, rows, jobs):
    """Scores (n, outputs) of rows that may differ in length."""
    if isinstance(rows, np.ndarray):
        data = core.predict(rows, len(rows), jobs or 1)
        return np.frombuffer(data).reshape(len(rows), -1)
    return np.stack([np.frombuffer(core.predict(r, 1)) for r in rows])


class FileTask:
    """Texts, sequences and files for a model that the library runs itself: it encodes them as the
    program does."""

    def __init__(self, explainer, strings, kind, threshold, ids, labels):
        self.explainer, self.strings, self.kind = explainer, strings, kind
        self.model = explainer.model if isinstance(explainer.model, LLM) else None
        self.threshold = explainer.threshold if threshold is None else threshold
        self.ids = None if ids is None else [str(i) for i in ids]
        self.labels = None if labels is None else [str(v) for v in labels]

    @classmethod
    def of(cls, explainer, X, threshold, ids, labels):
        """None if X is something else."""
        if not isinstance(explainer.bound, _models.Opened) or explainer.bound.own is not None:
            return None
        if isinstance(X, os.PathLike):
            return cls(explainer, os.fspath(X), "file", threshold, ids, labels)
        if isinstance(explainer.model, LLM):
            ids = None if ids is None else [str(i) for i in ids]
            return cls(explainer, explainer.model.objects(X, ids), "objects", threshold, None, labels)
        if not _inputs.is_texts(X):
            return None
        strings = [X] if isinstance(X, str) else list(X)
        kind = "dna" if explainer.bound.kind == "dna" else "text"
        return cls(explainer, strings, kind, threshold, ids, labels)

    def command(self):
        """What the program would be called with for the same records, if X is a file."""
        e, words = self.explainer, ["sis", "explain"]
        if self.kind != "file" or self.model:
            return None
        mask, samples, seed = self.mask()
        for name, value, default in (
                ("model", e.bound.name, None), ("input", self.strings, None),
                ("threshold", self.threshold, None), ("below", e.below, False), ("target", e.target, "top"),
                ("target-index", e.target_index, None),
                ("mask", mask, None), ("features", self.features(), None), ("refine", e.refine, False),
                ("samples", samples, 0), ("seed", seed, 1), ("method", e.method, "sis"), ("keep", e.keep, "score"),
                ("guarantee", e.guarantee, "mask"), ("domain", e.domain, "any"),
                ("smallest", e.smallest, False), ("units", e._listed("units"), None),
                ("fixed", e._listed("fixed"), None), ("cheapest", e.cheapest, False), ("max-subsets", e.max_subsets, 0),
                ("confidence", e.confidence, 0.95), ("exact", e.exact, False),
                ("tokenizer", e.tokenizer, None), ("fit", e.fit, False), ("normalize", e.normalize, None)):
            if value != default:
                words.append("--%s" % name if value is True else "--%s=%s" % (name, value))
        return words

    def mask(self):
        """(mask, samples, seed) as the program's options have them."""
        spec, samples, seed, data = self.explainer.mask, self.explainer.samples, 1, self.explainer.background
        if isinstance(spec, _inputs.HotDeck):
            samples, seed, data = spec.samples, spec.seed, data if spec.background is None else spec.background
            spec = "rows" if spec.rows else "hotdeck"
        if spec is not None and not isinstance(spec, str) and np.ndim(spec) == 0 and not callable(spec):
            spec = "missing" if spec != spec else "value:%r" % float(spec)
        if spec is not None and not isinstance(spec, str):
            raise Error("mask: for texts, sequences and files, expected a name or a number, or the path of an "
                        "array, mask=\"FILE.npy\"")
        if data is not None and not isinstance(data, (str, os.PathLike)):
            raise Error("background: for texts, sequences and files, expected the path of a file")
        if data is not None and spec in (None, "mean", "median", "hotdeck", "rows"):
            spec = "%s:%s" % (spec or "mean", os.fspath(data))
        return spec, samples, seed

    def features(self):
        """As the program's --features."""
        e = self.explainer
        if e.axis is not None and np.ndim(e.axis) == 0 and e.features is None:
            return "axis:%d" % e.axis
        if isinstance(e.features, _inputs.Grid) and e.features.parts and e.axis is None:
            return "grid:%d" % e.features.parts
        if not isinstance(e.features, (str, type(None))) or e.axis is not None:
            raise Error("features: for texts, sequences and files, expected a name such as \"sentence\", \"grid:196\" or "
                        "\"axis:0\", or the path of a map, \"FILE.npy\"")
        return e.features

    def prompts(self):
        """Options of a language model."""
        m = self.model
        if m is None:
            return {}
        if self.ids is not None or self.labels is not None:
            raise Error("%s: for prompts, give them as fields of the examples" % ("labels" if self.labels else "ids"))
        return dict(prompt=m.prompt, explain=m.explain, answer=m.answer, score=m.score)

    def __call__(self, append=None, tell=None, lines=None, exhaustive=0):
        with getattr(self.explainer.bound, "lock", contextlib.nullcontext()):
            return self.run(append, tell, lines, exhaustive)

    def run(self, append, tell, lines, exhaustive):
        e = self.explainer
        if self.threshold is None and e.keep == "score" and (self.model is None or self.model.score == "logprob"):
            raise Error("threshold is missing: give a number, or \"p90\" for the "
                        "90th percentile of the scores")
        if not isinstance(e.tokenizer, (str, os.PathLike, type(None))):
            raise Error("tokenizer: expected the path of vocab.txt or tokenizer.json for a network file")
        mask, samples, seed = self.mask()
        if np.ndim(self.threshold) > 0:
            raise Error("threshold: expected one for all examples, for texts, sequences and files")
        if e.target_names is not None:
            raise Error("target_names: leave it out for texts, sequences and files; the network names its outputs")
        return _core.task(e.bound.core, self.strings, self.kind, lambda i, line: append(line), tell,
                          lines, name=e.bound.name, mask=mask, seed=seed,
                          threshold=None if self.threshold is None else str(self.threshold),
                          target=str(e.target), below=e.below, max_subsets=e.max_subsets,
                          memory=e.memory, jobs=e._jobs(), exact=e.exact, ids=self.ids,
                          labels=self.labels, exhaustive=exhaustive, features=self.features(),
                          tokenizer=None if e.tokenizer is None else os.fspath(e.tokenizer),
                          fit=e.fit, method=e.method, guarantee=e.guarantee, keep=e.keep,
                          smallest=e.smallest, domain=None if e.domain == "any" else e.domain,
                          units=e._listed("units"), fixed=e._listed("fixed"), cheapest=e.cheapest,
                          samples=samples, confidence=e.confidence, refine=e.refine,
                          target_index=None if e.target_index is None else str(e.target_index),
                          command=self.command(), **self.prompts())


class Run:
    """One call of the library. A callable runs in the caller's thread. Everything else runs in another
    thread, so that Ctrl-C works at once."""

    def __init__(self, explainer, work, n, lines):
        self.explainer, self.job, self.lines = explainer, work, lines
        self.cancelled, self.error, self.made = False, None, None
        shown = explainer.progress
        self.bar = Bar(n) if shown or (shown is None and sys.stderr.isatty()) else None

    def tell(self, *state):
        if self.bar is not None:
            self.bar(*state)
        return self.cancelled

    def work(self):
        self.made = self.job(self)

    def beside(self):
        try:
            self.work()
        except BaseException as error:  # raised again by the thread that waits
            self.error = error

    def __call__(self):
        called = isinstance(self.explainer.bound, _models.Called)
        try:
            if called and (self.explainer.jobs or 1) == 1:
                self.work()
            else:
                self.wait()
        finally:
            if self.bar is not None:
                self.bar.close()
        return self.made

    def wait(self):
        thread = threading.Thread(target=self.beside, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.05)
        except KeyboardInterrupt:
            self.cancelled = True
            thread.join()
            raise
        if self.error is not None:
            raise self.error


def explain(model: Model, X: Examples, threshold: Threshold = None, *, ids: Names = None, labels: Names = None,
            mask: Mask = None, background: Any = None, features: Features = None,
            axis: Union[None, int, Sequence[int]] = None, below: bool = False, target: Target = "top",
            target_names: Optional[Sequence[str]] = None,
            target_index: Union[None, int, Sequence[int], np.ndarray] = None, max_subsets: int = 0,
            jobs: Optional[int] = None, exact: bool = False, memory: int = 0, tokenizer: Tokenizer = None,
            fit: bool = False, batch_size: Optional[int] = None, kind: Optional[str] = None,
            timeout: float = 60.0, progress: Optional[bool] = None,
            method: Literal["sis", "quick", "contrast"] = "sis", keep: Literal["score", "class"] = "score",
            guarantee: str = "mask", domain: Union[str, Tuple[ArrayLike, ArrayLike]] = "any",
            smallest: bool = False, units: Optional[Mapping[Union[str, int], float]] = None,
            fixed: Optional[Sequence[Union[str, int]]] = None, cheapest: bool = False,
            confidence: float = 0.95, samples: int = 0, refine: bool = False,
            normalize: Optional[str] = None, convert: bool = True) -> Results:
    """Find the features of each example that alone were enough for the decision of the model.

    >>> import numpy as np
    >>> def model(rows):
    ...     return 1 / (1 + np.exp(-(2 * rows[:, 0] + rows[:, 1] - rows[:, 2])))
    >>> r = explain(model, np.array([[3.0, 1.0, 0.0], [-1.0, 0.0, 2.0]]), threshold=0.9, mask="zero")
    >>> r[0].subsets[0].features, r[1].status
    ((0,), 'not_decided')

    The decision is score >= threshold (<= with below=True). Every subset that is reported was
    verified by full passes: alone, with everything else masked, it reaches the threshold; without
    any one of its features it does not. X is an array (n, ...), a frame, a list of texts, or the path
    (pathlib.Path) of a file for a model that the library runs itself. `ids` name the examples (default: the index
    of a frame if it is unique, else numbers from 0). `labels` are the true outcomes. The result is a sis.Results.

    The other options:

    """
    given = locals()
    options = {name: given[name] for name in OPTIONS}
    return Explainer(model, **options)(X, ids=ids, labels=labels)


OPTIONS = [name for name in inspect.signature(Explainer).parameters if name != "model"]

if explain.__doc__:  # there is none under python -OO; Python 3.13 removes the indent, earlier ones do not
    described = inspect.cleandoc(Explainer.__doc__ or "")
    explain.__doc__ = inspect.cleandoc(explain.__doc__) + "\n\n" + described[described.index("model       a callable"):]
