# SPDX-License-Identifier: MIT
"""Examples as people have them -> rows of doubles as the library takes them, and back.

An `Encoder` is made once for a data set: `ArrayEncoder`, `FrameEncoder` or `TextEncoder`. Each has

    rows(X)         the examples: a list of float64 vectors (arrays and frames: the rows of one matrix)
    batch(rows), view(rows)   what a callable is given for rows (n, width): the shape and types of X
    masks(spec, background)   what missing values look like: (samples, width)
    describe(i)     what a record says of example i: shape, names, words ...

Everything numerical happens in numpy, nothing in loops over values.
"""
import sys
import threading
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _core
from ._core import Error


def is_frame(x):
    """A pandas DataFrame, without importing pandas."""
    return hasattr(x, "columns") and hasattr(x, "iloc") and hasattr(x, "dtypes")


def is_number(dtype):
    """Does a column of this type hold numbers?"""
    return getattr(dtype, "kind", "O") in "fiu" and not hasattr(dtype, "categories")


def is_texts(x):
    if isinstance(x, str):
        return True
    if hasattr(x, "tolist") and getattr(x, "ndim", 1) == 1 and getattr(x, "dtype", None) is not None:
        if np.asarray(x).dtype.kind in "OU":
            x = x.tolist()
    return isinstance(x, (list, tuple)) and len(x) > 0 and all(isinstance(t, str) for t in x)


class HotDeck:
    """A mask drawn from data: each of `samples` draws replaces masked features by those of other
    examples, and the score is the mean over the draws. Each feature is drawn by itself, or, with
    rows=True, all from one example, so that features that depend on each other go on doing so. The
    same draws as --mask hotdeck:FILE and rows:FILE of the program.

    >>> import numpy as np
    >>> HotDeck(np.zeros((5, 3)), samples=2).draw(3).shape
    (2, 3)
    """

    def __init__(self, background: Any = None, samples: int = 32, seed: int = 1, rows: bool = False) -> None:
        if samples < 1:
            raise Error("HotDeck: samples: expected at least 1")
        self.background, self.samples, self.seed, self.rows = background, int(samples), int(seed), bool(rows)

    def draw(self, width: int, rows: Optional[np.ndarray] = None, owner: Optional[np.ndarray] = None) -> np.ndarray:
        """Masks (samples, width) from the rows, or the background. owner: the feature of each value."""
        rows = np.ascontiguousarray(self.background if rows is None else rows, dtype=float)
        rows = rows.reshape(len(rows), -1)
        if rows.shape[1] != width or len(rows) == 0:
            raise Error("HotDeck: the background has %d values in a row, but the examples have %d"
                        % (rows.shape[1] if len(rows) else 0, width))
        owner = np.arange(width) if owner is None else owner
        drawn = _core.draw(rows, len(rows), np.ascontiguousarray(owner, dtype=np.intc), self.samples, self.seed, self.rows)
        return np.frombuffer(drawn).reshape(self.samples, width)


class Grid:
    """Features of images: about `parts` equal parts, as features="grid:196" and the program's --features grid:196
    have them; or patches of `patch` x `patch` pixels. Channels of a pixel belong together.

    >>> Grid(4).map((4, 4)).reshape(4, 4).tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]
    >>> Grid(patch=3).map((4, 4)).reshape(4, 4).tolist()
    [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [2, 2, 2, 3]]
    """

    def __init__(self, parts: Optional[int] = None, *, patch: Optional[int] = None) -> None:
        if (parts is None) == (patch is None):
            raise Error("Grid: give the number of parts, or patch=, the pixels of a side")
        self.parts, self.patch = parts, patch
        if min(n for n in (parts, patch) if n is not None) < 1:
            raise Error("Grid: expected at least 1")

    def map(self, shape: Sequence[int]) -> np.ndarray:
        """The part of each value of an example of this shape."""
        spread: Tuple[Any, ...]
        if len(shape) == 2:
            height, width, spread = shape[0], shape[1], (...,)
        elif len(shape) == 3 and shape[0] in (1, 3, 4):
            height, width, spread = shape[1], shape[2], (None, ...)
        elif len(shape) == 3 and shape[2] in (1, 3, 4):
            height, width, spread = shape[0], shape[1], (..., None)
        else:
            raise Error("Grid needs images: (height, width), or with 1, 3 or 4 channels first or "
                        "last, found %s" % (tuple(shape),))
        down, across = np.arange(height)[:, None], np.arange(width)
        if self.patch:
            part = down // self.patch * -(-width // self.patch) + across // self.patch
        elif self.parts:  # as square as can be: grid_of() of the library
            rows = min(height, max(1, int(np.sqrt(self.parts * height / width) + 0.5)))
            columns = min(width, -(-self.parts // rows))
            part = down * rows // height * columns + across * columns // width
        return np.broadcast_to(part[spread], shape).astype(np.intc).ravel()


def feature_map(features, axis, shape, names):
    """What the caller calls features -> (map of values or None, names of features or None)."""
    width = int(np.prod(shape))
    if axis is not None:
        if features is not None:
            raise Error("give features= or axis=, not both")
        axes = np.atleast_1d(axis).tolist()
        if not all(isinstance(a, int) and -len(shape) <= a < len(shape) for a in axes):
            raise Error("axis=%r: expected 0 to %d, an axis of an example" % (axis, len(shape) - 1))
        axes = [a % len(shape) for a in axes]
        kept = [1 if d in axes else n for d, n in enumerate(shape)]
        numbers = np.arange(int(np.prod(kept))).reshape(kept)
        return np.broadcast_to(numbers, shape).astype(np.intc).ravel(), None
    if isinstance(features, str) and not (names and features in names):
        features = named_features(features, width)
    if features is None:
        return None, names
    if isinstance(features, int) and not isinstance(features, bool):
        return feature_map(None, features, shape, names)
    if isinstance(features, Grid):
        return features.map(shape), None
    if isinstance(features, np.ndarray) and features.dtype.kind in "iu":
        if features.size != width:
            raise Error("features: the map has %d numbers, but an example has %d values"
                        % (features.size, width))
        return features.astype(np.intc).ravel(), None
    return grouped(features, width, names)


def named_features(text, width):
    """As the program's --features: None, an axis, a Grid or a map."""
    name, _, number = text.partition(":")
    if text == "each":
        return None
    if text.endswith(".npy"):
        return np.load(text, allow_pickle=False)
    try:
        found = {"axis": int, "grid": lambda n: Grid(int(n))}[name](number)
    except (KeyError, ValueError):
        raise Error('features=%r: expected "each", "axis:A", "grid:N" or "FILE.npy", groups of columns, sis.Grid, or '
                    'an array' % text) from None
    return found


def grouped(features, width, names):
    """Groups of columns, by name or number, as a list of lists or a dict of them."""
    titles = list(features) if isinstance(features, dict) else None
    groups = list(features.values()) if titles else list(features)
    number = {name: k for k, name in enumerate(names)} if names else {}
    found = np.full(width, -1, dtype=np.intc)
    labels = []
    for k, group in enumerate(groups):
        members = [group] if isinstance(group, (str, int, np.integer)) else list(group)
        for m in members:
            at = number.get(m, m if isinstance(m, (int, np.integer)) else None)
            if at is None or not -width <= at < width:
                raise Error("features: no column %r" % (m,))
            if found[at] >= 0:
                raise Error("features: column %r is in two groups" % (m,))
            found[at] = k
        labels.append(titles[k] if titles else "+".join(str(m) for m in members))
    return found, [str(t) for t in labels]


def mean(rows):
    """Of the values of each column that are not NaN; the library's sums, so that masks are the program's."""
    rows = np.ascontiguousarray(rows, dtype=float)
    return np.frombuffer(_core.mean(rows, len(rows)))


class Encoder:
    """What the three kinds share."""
    kind, names, shape = "array", None, None
    whole = None  # the type of X where that is one of integers

    def is_numbers(self, column):
        return True

    def drawn_as(self):
        """The kind that records have if nobody says another."""
        return self.kind

    def background(self, background, spec):
        if background is None:
            what = 'domain="data"' if spec == "domain" else "mask=%r" % (spec,)
            raise Error("%s needs data to take it from: give background=, for example the training data" % what)
        rows = np.asarray(self.rows(background, "background"))
        if len(rows) == 0:
            raise Error("background: has no rows")
        return rows

    def center(self, spec, rows):
        """The mean or the median of the values that are there."""
        if spec == "mean":
            return mean(rows)
        there = [column[~np.isnan(column)] for column in rows.T] if np.isnan(rows).any() else rows.T
        return np.array([np.median(column) if column.size else np.nan for column in there])

    def masks(self, spec, background, width, owner=None):
        if isinstance(spec, str) and spec in ("hotdeck", "rows"):
            spec = HotDeck(rows=spec == "rows")
        if isinstance(spec, HotDeck):
            data = spec.background if spec.background is not None else background
            return spec.draw(width, self.background(data, "hot deck"), owner)
        if callable(spec):
            spec = spec(self.background(background, spec))
        if isinstance(spec, str) and spec in ("mean", "median"):
            return self.center(spec, self.background(background, spec))[None, :]
        if isinstance(spec, str):
            spec = named_mask(spec)
        values = self.values_of_mask(spec)
        if values.size == 1:
            return np.full((1, width), float(values.ravel()[0]))
        shape = tuple(self.shape or (width,))
        several = values.ndim > 1 and len(values) > 0 and values.shape[1:] in (shape, (width,))
        if values.size != width and not several:
            raise Error("mask: the array has shape %s; expected %s, or %s with several masks to average over"
                        % (values.shape, shape, "(samples, %s)" % ", ".join(map(str, shape))))
        return np.ascontiguousarray(values.reshape(-1, width))

    def values_of_mask(self, spec):
        try:
            return np.asarray(spec, dtype=float)
        except (TypeError, ValueError) as e:
            raise Error("mask: expected numbers (%s)" % e) from None

    def view(self, rows):
        """The same as batch() for a callable that does not write to it."""
        return self.batch(rows)

    def describe(self, i, masks):
        return {}


def named_mask(spec):
    """A number, as the program's --mask has it."""
    if spec in ("zero", "missing"):
        return 0.0 if spec == "zero" else np.nan
    try:
        if spec.startswith("value:"):
            return float(spec[6:])
    except ValueError:
        pass
    raise Error('mask=%r: expected "mean", "median", "zero", "missing", "value:X", "hotdeck", "rows", a number, an array, '
                'sis.HotDeck or a callable' % (spec,))


def from_tensor(x):
    """A tensor of PyTorch as an array; numpy has no bfloat16."""
    x = x.detach().cpu()
    return (x.float() if x.is_floating_point() and x.element_size() < 4 else x).numpy()


def numbers(x, what):
    """An array of finite or missing numbers as float64; objects and texts are refused."""
    if hasattr(x, "to_frame") and x.dtype == object:
        raise Error("%s: give one row of a frame as frame.iloc[[i]], not frame.iloc[i]" % what)
    if hasattr(x, "toarray"):
        raise Error("%s: this matrix is sparse; give %s.toarray()" % (what, what))
    try:
        x = from_tensor(x) if hasattr(x, "detach") else x
        x = x.astype(float).filled(np.nan) if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
        if x.dtype.kind == "O":
            x = x.astype(float)
    except (TypeError, ValueError) as e:
        raise Error("%s: expected numbers (%s)" % (what, e)) from None
    if x.dtype.kind not in "fiub":
        raise Error("%s: expected numbers, found an array of %s" % (what, x.dtype))
    return x


class ArrayEncoder(Encoder):
    """Arrays (n, ...): the first axis counts the examples."""

    def __init__(self, x):
        x = numbers(x, "X")
        self.one = x.ndim == 1
        self.shape = x.shape if self.one else x.shape[1:]
        if x.ndim == 0 or 0 in self.shape:
            raise Error("X: expected an array (examples, features ...), found shape %s" % (x.shape,))
        self.width = int(np.prod(self.shape))
        self.whole = x.dtype if x.dtype.kind in "iu" else None
        self.dtype = x.dtype if x.dtype in (np.float32, np.float64) else np.dtype(
            np.float32 if x.dtype == np.float16 else np.float64)
        self.own = threading.local()  # of each thread that calls: memory for its batches

    def rows(self, x, what="X"):
        x = numbers(x, what)
        x = x[None] if x.shape == self.shape else x
        if x.shape[1:] != self.shape:
            raise Error("%s: expected shape %s as in the examples, found %s" % (what, self.shape, x.shape[1:]))
        return np.ascontiguousarray(x, dtype=np.float64).reshape(len(x), self.width)

    def batch(self, rows):
        """A copy of the rows: the callable may keep it or write to it. Memory is used again
        where it did neither."""
        n, own = len(rows), self.own.__dict__
        spare = own.pop("spare", None)
        if spare is None or len(spare) < n or sys.getrefcount(spare) > 2:
            spare = np.empty((n, self.width), self.dtype)
        own["spare"] = spare
        spare[:n] = rows
        return spare[:n].reshape((n,) + self.shape)

    def drawn_as(self):
        """Colours in three or four channels, first or last, and sides of some pixels: an image."""
        sides = {0: self.shape[1:], -1: self.shape[:-1]} if len(self.shape) == 3 else {}
        certain = any(self.shape[axis] in (3, 4) and min(side) >= 8 for axis, side in sides.items())
        return "image" if certain else self.kind

    def view(self, rows):
        """The rows themselves where they have the type of X."""
        if self.dtype != np.float64:
            return self.batch(rows)
        return rows.reshape((len(rows),) + self.shape)

    def describe(self, i, masks):
        return {"shape": list(self.shape)}


class FrameEncoder(Encoder):
    """Tables with named columns, of numbers or of categories. A category is one number to the
    library, its place among the categories of the column, so that a masked one is another
    category that exists and never a fraction of several."""
    kind = "table"

    def __init__(self, frame, background=None):
        self.names = [str(c) for c in frame.columns]
        self.columns = list(frame.columns)
        self.dtypes = list(frame.dtypes)
        self.width = len(self.names)
        self.shape = (self.width,)
        twice = [c for k, c in enumerate(self.columns) if c in self.columns[:k]]
        if twice:
            raise Error("X: two columns are named %r; rename one" % (twice[0],))
        for c, d in zip(self.columns, self.dtypes):
            if getattr(d, "kind", "") in "Mm" or str(d).startswith("period"):
                raise Error("X: column %r contains dates or times; replace it by numbers, such as the days since a "
                            "date, the year or the month, or leave it out" % (c,))
        self.categories = [None if is_number(d) else self.known(c, frame, background)
                           for c, d in zip(self.columns, self.dtypes)]
        self.cells = [None if known is None else self.cells_of(known, c, frame, background)
                      for c, known in zip(self.columns, self.categories)]
        self.plain = all(d == np.float64 for d in self.dtypes)

    def is_numbers(self, column):
        return self.categories[column] is None

    @staticmethod
    def cells_of(known, c, frame, background):
        """What a callable is given for each category, and last for a missing one: encoders tell None from NaN."""
        hole = np.nan
        for part in (background, frame):
            if is_frame(part) and c in part.columns and part[c].isna().any():
                hole = part[c][part[c].isna()].iloc[0]
        cells = np.empty(len(known) + 1, dtype=object)
        cells[:] = known + [hole]
        return cells

    @staticmethod
    def known(c, frame, background):
        """The categories of a column: in the order of its type, which models count them in, where it
        has one; then what else there is."""
        if frame.dtypes[c].kind == "b":
            return [False, True]
        first = list(getattr(frame.dtypes[c], "categories", ()))
        seen = set()
        for what, part in (("X", frame), ("background", background)):
            if is_frame(part) and c in part.columns:
                try:
                    seen |= set(part[c][part[c].notna()].unique())
                except TypeError:
                    raise Error("%s: column %r contains neither numbers nor words" % (what, c)) from None
        return first + sorted(seen.difference(first), key=str)

    def rows(self, frame, what="X"):
        if not is_frame(frame):
            return ArrayEncoder(np.zeros(self.shape)).rows(frame, what)
        if self.plain and list(frame.columns) == self.columns and all(d == np.float64 for d in frame.dtypes):
            return np.ascontiguousarray(frame.to_numpy())
        out = np.empty((len(frame), self.width))
        for k, c in enumerate(self.columns):
            if c not in frame.columns:
                raise Error("%s: no column %r, which the examples have" % (what, c))
            if self.categories[k] is None:
                try:
                    out[:, k] = frame[c].to_numpy(dtype=float, na_value=np.nan)
                except (TypeError, ValueError) as e:
                    raise Error("%s: column %r: expected numbers, as in the examples (%s)" % (what, c, e)) from None
            else:
                place = {v: j for j, v in enumerate(self.categories[k])}
                out[:, k] = [place.get(v, np.nan) for v in frame[c]]
                strange = frame[c][np.isnan(out[:, k]) & frame[c].notna().to_numpy()]
                if len(strange):
                    raise Error("%s: column %r: unknown category %r: it is in neither X nor background" % (what, c, strange.iloc[0]))
        return out

    def batch(self, rows):
        import pandas
        if self.plain:
            return pandas.DataFrame(np.array(rows), columns=self.columns)
        columns = {}
        for k, c in enumerate(self.columns):
            values = rows[:, k]
            if self.categories[k] is not None:
                cells = self.cells[k]
                code = np.where(np.isnan(values), len(cells) - 1, values).astype(int)
                columns[c] = pandas.Series(cells[code], dtype=object)
                if self.dtypes[k] != object:
                    columns[c] = columns[c].astype(self.dtypes[k])
            else:
                columns[c] = self.typed(pandas, values, self.dtypes[k])
        return pandas.DataFrame(columns, columns=self.columns)

    @staticmethod
    def typed(pandas, values, dtype):
        """Numbers in the type of their column; means of integers are no integers."""
        missing = np.isnan(values)
        own = isinstance(dtype, np.dtype)
        if dtype.kind != "f" and not np.all((values == np.rint(values)) | (missing & (not own))):
            dtype = np.dtype(float) if own else "Float64"
        return values.astype(dtype) if own else pandas.Series(values).astype(dtype)

    def center(self, spec, rows):
        center = super().center(spec, rows).copy()
        for k, column in enumerate(rows.T):
            if self.categories[k] is not None and not np.isnan(center[k]):
                center[k] = np.argmax(np.bincount(column[~np.isnan(column)].astype(int)))
        return center

    def masks(self, spec, background, width, owner=None):
        masks = super().masks(spec, background, width, owner)
        number = np.ndim(spec) == 0 and (spec == "zero" or isinstance(spec, (int, float, np.number)) and spec == spec)
        for k, known in enumerate(self.categories):
            if known is None or known == [False, True]:
                continue
            places = masks[:, k][~np.isnan(masks[:, k])]
            if number or not np.isin(places, np.arange(len(known))).all():
                raise Error("mask: column %r contains categories, not numbers; give \"mean\" "
                            "(the most frequent one), or a dict with a value for each column" % (self.columns[k],))
        return masks

    def values_of_mask(self, spec):
        if hasattr(spec, "to_frame") and not is_frame(spec):
            spec = spec.to_frame().T
        if isinstance(spec, dict):
            import pandas
            spec = pandas.DataFrame([spec])
        return self.rows(spec, "mask") if is_frame(spec) else super().values_of_mask(spec)

    def describe(self, row, masks):
        if all(c is None for c in self.categories):
            return {"names": self.names, "shape": [self.width]}
        return {"names": self.names, "shown": self.spread(row, masks)}

    def spread(self, row, masks):
        """Categories as a 0 or 1 for each, the way tables of the program show them."""
        values, mask, owner, titles, place = [], [], [], [], []
        for k, name in enumerate(self.names):
            known = self.categories[k]
            titles += [name] if known is None else ["%s=%s" % (name, v) for v in known]
            owner += [k] * (1 if known is None else len(known))
            place += [-1] if known is None else range(len(known))
            for of, to in ((row, values), (masks[0], mask)):
                to += [of[k]] if known is None else [float(of[k] == j) for j in range(len(known))]
        shown = {"values": np.array(values), "feature_map": np.array(owner, dtype=np.intc),
                 "value_names": titles, "column": np.array(owner, dtype=np.intc), "place": np.array(place, dtype=np.intc)}
        if len(masks) == 1:
            shown["mask"] = np.array(mask)
        return shown


class TextEncoder(Encoder):
    """Texts. A feature is a word, with the blanks and punctuation behind it; or what a tokenizer
    finds: a callable text -> list of (start, end) in characters. A masked one is left out, or a
    word stands in its place (mask="[MASK]")."""
    kind, shape = "text", None

    def __init__(self, texts, tokenizer=None, features=None):
        if features not in (None, "each", "word", "sentence") or (features == "sentence" and tokenizer is not None):
            raise Error("features: of texts they are \"word\" or \"sentence\"; a tokenizer= chooses others")
        self.tokenizer, self.sentences = tokenizer, features == "sentence"
        self.pieces, self.words, self.first = [""], [], []
        self.stand_in = None

    def spans(self, text):
        if self.tokenizer is not None:
            return [(int(a), int(b)) for a, b in self.tokenizer(text)]
        text = text.replace("\0", " ")  # ends a string of C
        raw = text.encode()
        return [(len(raw[:a].decode()), len(raw[:b].decode())) for a, b in _core.words(text, self.sentences)]

    def rows(self, texts, what="X"):
        texts = [texts] if isinstance(texts, str) else list(texts)
        rows = []
        for text in texts:
            spans = self.spans(text)
            if not spans:
                rows.append(np.empty(0))  # the model cannot be asked about it
                continue
            first = len(self.pieces)
            for k, (a, b) in enumerate(spans):
                to = spans[k + 1][0] if k + 1 < len(spans) else len(text)
                self.pieces.append(text[a if k else 0:to])
            self.words.append([text[a:b] for a, b in spans])
            self.first.append(first)
            rows.append(np.arange(first, len(self.pieces), dtype=float))
        return rows

    def batch(self, rows):
        pieces = self.pieces
        return ["".join(pieces[int(v)] if v >= 0 else self.stand_in or "" for v in row if v == v)
                for row in rows]

    def masks(self, spec, background, width, owner=None):
        if spec is None or spec == "remove":
            return np.full((1, width), np.nan)
        if not isinstance(spec, str):
            raise Error('mask: for texts, expected "remove" or the word that replaces a masked one')
        self.stand_in = spec + " "
        return np.full((1, width), -1.0)

    def describe(self, row, masks):
        at = self.first.index(int(row[0]))
        return dict({"unit": "sentence"} if self.sentences else {}, words=self.words[at], shown=False)


def encoder_for(x, background=None, tokenizer=None, features=None):
    if is_frame(x):
        return FrameEncoder(x, background)
    if is_texts(x):
        return TextEncoder(x, tokenizer, features)
    if tokenizer is not None:
        raise Error("tokenizer= needs texts")
    return ArrayEncoder(x)
