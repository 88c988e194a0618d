# SPDX-License-Identifier: MIT
"""Anything that predicts -> a model of the library. `engine` says in words what was chosen:
a network or a forest that the library itself runs, with walks, or a Python function that it calls."""
import contextlib
import importlib.util
import json
import os
import tempfile
import threading
import warnings

import numpy as np

from . import _core
from ._convert import agrees, converted
from ._core import Error
from ._inputs import from_tensor, is_frame, is_number


class Opened:
    """A model that the library runs itself. Where it is a copy of an object of the caller, `own` is that
    object, which has the last word (_check.py)."""
    own = None
    steps = None  # the encoders in front of it, where it is the last step of a pipeline
    owner = None  # the column of X that each encoded column depends on

    def __init__(self, spec, name=None, timeout=60.0, normalize=None):
        self.name = name or str(spec)
        self.core = _core.Model.open(str(spec), timeout=timeout, normalize=normalize)
        about = self.core.about()
        self.labels = about["labels"] or None
        self.shape = tuple(about["shape"])
        self.mask = np.frombuffer(about["mask"], np.float32).astype(float)
        self.kind = about["meta"].get("sis.kind")
        self.columns = about["names"] or columns_in(about["meta"])
        self.network = about["network"]
        self.engine = (about["engine"] + ", called in batches" if about["engine"] else
                       "network, walked" if self.network else
                       "walked" if self.core.walks else "called in batches")

    def bind(self, encoder, row):
        if encoder is not None and encoder.kind == "table":
            check_columns(encoder.names, self.columns)
        core = self.core
        batch = self.shape[0] if self.network and len(self.shape) > 1 else 0
        if batch > 1 and len(row) * batch == int(np.prod(self.shape)):
            core.take_batch()  # exported for so many rows
            self.shape = self.shape[1:]
        if self.shape.count(0) > 1 and encoder is not None and len(encoder.shape or ()) > 1:
            core = core.shaped(encoder.shape)  # a number of values does not tell high from wide
        if core.n_outputs == 0:
            core.measure(np.ascontiguousarray(row, dtype=float))
        return core

    def encoded(self, encoder, rows):
        """The rows as the library's model takes them: behind the encoders."""
        return rows if self.steps is None else encoded_rows(self.steps, encoder.batch(rows), rows)


class Prompted(Opened):
    """A language model. It runs one task at a time, because the connection keeps the prompt."""
    labels, shape, mask, kind, columns, network = None, (), None, None, None, False

    def __init__(self, llm):
        self.name, self.core, self.lock = llm.spec, llm.open(), threading.Lock()
        self.engine = "language model, called in batches"


def columns_in(meta):
    """The names of the values in a network file."""
    try:
        found = json.loads(meta.get("sis.names", "null"))
    except ValueError:
        found = None
    return [str(c) for c in found] if isinstance(found, list) else None


def check_columns(given, trained):
    """Values go by their place, so the columns of a frame have to be those of the model. Names that
    have nothing in common (Column_0 ...) say nothing."""
    if trained and given != trained and set(given) & set(trained):
        raise Error("X has the columns %s; the model was trained on %s: give X[[...]] with these, in this order"
                    % (", ".join(given), ", ".join(trained)))


def from_bytes(data, ending, name):
    """A model in memory, written to a file for the library's readers."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model" + ending)
        with open(path, "wb") as f:
            f.write(data)
        return Opened(path, name)


class Called:
    """A Python function of a batch. Scores come back as (n,) or (n, outputs)."""

    def __init__(self, call, name, labels=None, batch_size=None, engine="called in batches"):
        self.call, self.name, self.labels, self.engine = call, name, labels, engine
        self.batch_size, self.mask, self.kind, self.shape = batch_size, None, None, None
        self.writes, self.frames, self.outputs = False, False, None  # outputs: how many, when it was asked

    def scores(self, batch, n, outputs):
        """What the function answers, as (n, outputs) doubles. That they are numbers is for the
        library to see."""
        answer = self.call(batch)
        if type(answer) is np.ndarray and answer.dtype == np.float64 and answer.shape == (n,) and (
                outputs == 1) and answer.flags.c_contiguous:
            return answer
        try:
            y = np.asarray(from_tensor(answer) if hasattr(answer, "detach") else answer)
            if y.dtype.kind not in "fiub":
                y = y.astype(float) if y.dtype.kind == "O" and None not in (
                    y.ravel().tolist()) else np.asarray("no numbers")
            y = np.ascontiguousarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise Error("the model returned %s; expected numbers, a score (or a list of scores) "
                        "for each of %d inputs" % (type(answer).__name__, n)) from None
        if y.ndim == 0 or len(y) != n:
            raise Error("the model was given %d inputs and returned %s; expected (%d,) or "
                        "(%d, outputs)" % (n, "shape %s" % (y.shape,), n, n))
        if y.size == 0:
            raise Error("the model returned shape %s, without a score" % (y.shape,))
        y = y.reshape(n, -1)
        if outputs is not None and y.shape[1] != outputs:
            raise Error("the model returned %d scores for one input and %d for another"
                        % (y.shape[1], outputs))
        return y

    def bind(self, encoder, row):
        if self.outputs is None:
            first = encoder.batch(np.asarray(row)[None])
            before = first.copy() if isinstance(first, np.ndarray) else None
            self.outputs = self.scores(first, 1, None).shape[1]
            if before is not None and before.dtype.kind == "f":
                self.writes = not np.array_equal(before, first, equal_nan=True)
        outputs = self.outputs

        def call(memory, n, size, ours):
            rows = np.frombuffer(memory, np.float64, size).reshape(n, -1)
            if not ours or self.writes:
                return self.scores(encoder.batch(rows), n, outputs)
            rows.flags.writeable = False
            try:
                return self.scores(encoder.view(rows), n, outputs)
            except ValueError as error:
                if "read-only" not in str(error) or isinstance(error, Error):
                    raise
                self.writes = True  # to what it is given: a copy from now on
                return self.scores(encoder.batch(rows), n, outputs)

        self.frames = encoder.kind == "table"
        width = encoder.shape and int(np.prod(encoder.shape)) or 0
        self.rows = self.batch_size or max(16, min(4096, (2 << 20) // (8 * len(row))))  # fits a cache
        self.core = _core.Model(call, outputs, width, self.rows)
        return self.core


ORT_ROWS = 16  # of a call: the last bits of a score depend on it
ORT_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
             "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def find_ort():
    """Tell the library where the package onnxruntime of this Python has its own; is there one?"""
    try:
        spec = importlib.util.find_spec("onnxruntime")
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places[:1]:
        if os.path.isabs(place) and os.path.dirname(place) != os.getcwd():
            _core.ort_folder(os.path.join(place, "capi"))
    return bool(places)


def ort_model(spec):
    """A network by the Python interface of ONNX Runtime, for a package whose library cannot be loaded. It
    gives scores, no margins."""
    import onnxruntime
    path, output = spec[4:] if spec.startswith("ort:") else spec, None
    if not os.path.exists(path) and "#" in path:
        path, output = path.rsplit("#", 1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs, names = session.get_inputs(), [o.name for o in session.get_outputs() if output in (None, o.name)]
    floats = [o.name for o in session.get_outputs() if o.type in ("tensor(float)", "tensor(double)") and o.name in names]
    if len(inputs) != 1 or inputs[0].type not in ORT_TYPES or not names:
        raise Error("%s: the Python package onnxruntime runs networks with one numeric input; for others set SIS_ORT to "
                    "the library of ONNX Runtime" % spec)
    dims = [d for d in inputs[0].shape[1:]]

    def call(batch):
        x = np.asarray(batch, ORT_TYPES[inputs[0].type])
        if all(isinstance(d, int) for d in dims):
            x = x.reshape([len(x)] + dims)
        found = []
        for first in range(0, len(x), ORT_ROWS):
            part = x[first:first + ORT_ROWS]
            full = np.concatenate([part, np.repeat(part[-1:], ORT_ROWS - len(part), axis=0)])
            found.append(np.asarray(session.run([(floats or names)[0]], {inputs[0].name: full})[0])[:len(part)])
        return np.concatenate(found)

    return Called(call, spec, engine="ONNX Runtime %s, called in batches" % onnxruntime.__version__)


def open_file(spec, timeout, normalize):
    has_ort = find_ort()
    try:
        return Opened(spec, timeout=timeout, normalize=normalize)
    except Error as error:
        if not has_ort or "ONNX Runtime is not installed" not in str(error) or normalize is not None:
            raise
    return ort_model(spec)


def kind_of(model):
    return type(model).__module__.split(".")[0]


def sklearn_call(model):
    """The function of an estimator or pipeline, and the names of its outputs."""
    classes = getattr(model, "classes_", None)
    labels = [str(c) for c in classes] if classes is not None else None
    for verb in ("predict_proba", "decision_function", "predict"):
        if callable(getattr(model, verb, None)):
            if verb == "decision_function" and labels is not None and len(labels) == 2:
                labels = labels[1:]
            return getattr(model, verb), labels if verb != "predict" else None, verb
    raise Error("%s has neither predict_proba, decision_function nor predict"
                % type(model).__name__)


@contextlib.contextmanager
def evaluating(module):
    """Without dropout; afterwards every part is in the mode it was in, whatever happened."""
    modes = [(m, m.training) for m in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for m, training in modes:
            m.training = training


class TorchModule:
    """A module as a function of arrays, on the device it is on, without dropout and gradients.

    Integers arrive as integers (ids of tokens, say), unless the module refuses them and takes floats
    (pixels as bytes, say). Floats have the type of the module's parameters."""

    def __init__(self, module, whole, example):
        import torch
        self.module, self.torch = module, torch
        first = next(module.parameters(), torch.zeros(0))
        self.device, self.floats = first.device, first.dtype
        self.integers = whole and self.takes_integers(example, whole)

    def takes_integers(self, example, whole):
        """The type of integers that the module is given, or None."""
        self.integers = self.torch.int32 if whole.itemsize == 4 else self.torch.int64
        try:
            self(example[:1])
            return self.integers
        except Error:
            raise
        except Exception as refused:
            self.integers = None
            try:
                self(example[:1])
            except Exception:
                raise refused from None  # it takes neither
            return None

    def tensor(self, batch):
        x = self.torch.as_tensor(np.array(batch)).to(self.device)
        if not self.integers:
            return x.to(self.floats) if x.is_floating_point() else x
        if x.is_floating_point() and not bool((x == x.round()).all()):
            raise Error("the module takes integers, but X or a masked copy of it contains %r: give a mask of "
                        "whole numbers" % float(x[x != x.round()][0]))
        return x.to(self.integers)

    def __call__(self, batch):
        with evaluating(self.module), self.torch.no_grad():
            y = self.module(self.tensor(batch))
        if not hasattr(y, "detach"):
            raise Error("the module returned %s; expected a tensor of scores: wrap it in a function that "
                        "returns one" % type(y).__name__)
        return y

    def branches(self, example):
        """Whether Python code in the module depends on values. PyTorch's tracer warns about that; the warning is passed on."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                with evaluating(self.module), self.torch.no_grad():
                    self.torch.jit.trace(self.module, self.tensor(example[:1]), check_trace=False)
            except Exception:  # what cannot be traced is called
                pass
        said = [w for w in said if issubclass(w.category, self.torch.jit.TracerWarning)]
        for w in said:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        return bool(said)

    def network(self, example):
        """The module as an ONNX file."""
        import io
        buffer = io.BytesIO()
        with warnings.catch_warnings(), evaluating(self.module):
            warnings.simplefilter("ignore")  # branches() has told
            self.torch.onnx.export(self.module, self.tensor(example[:1]), buffer, input_names=["x"],
                                   output_names=["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
        return buffer.getvalue()


def torch_model(model, example, batch_size, convert, whole):
    """A module as a network of ours, where the engine can run it and answers the same; else called in
    batches. If it branches on values, a batch may be treated as a whole: then one input at a time."""
    name = type(model).__name__
    call = TorchModule(model, whole, example)
    own = Called(call, name, None, batch_size, "torch, called in batches")
    if call.branches(example):
        own.batch_size, own.engine = 1, "torch, called one input at a time as it branches on values"
    if not convert:
        return own
    try:
        copy = from_bytes(call.network(example), ".onnx", name)
        rows = np.asarray(example, dtype=float).reshape(len(example), -1)
        wanted = np.concatenate([from_tensor(call(row[None])) for row in example])
        if agrees(copy.bind(None, rows[0]), wanted, rows):
            copy.own = own
    except Exception:  # whatever the exporter or the engine cannot do, the module itself can
        return own
    return copy if copy.own else own


def holds_numbers(example, model):
    """Does the estimator see the rows of the library in this: an array, or a frame of numbers with the columns
    that the estimator was fitted on, in their order?"""
    if not is_frame(example):
        return isinstance(example, np.ndarray) and example.ndim == 2
    fitted = getattr(model, "feature_names_in_", example.columns)
    return list(fitted) == list(example.columns) and all(is_number(d) for d in example.dtypes)


def encoders_of(model, example):
    """The steps of a pipeline before its last, for rows of a table; else None."""
    of_sklearn = type(model).__name__ == "Pipeline" and type(model).__module__.startswith("sklearn.")
    table = is_frame(example) or isinstance(example, np.ndarray) and example.ndim == 2
    return model[:-1] if of_sklearn and table and len(model) > 1 else None


def encoded_rows(steps, batch, rows):
    """What the steps make of a batch, then the rows themselves. The last step ignores these; a column that the
    steps drop is still a feature."""
    found = steps.transform(batch)
    found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    return np.hstack([found.astype(float), rows])


def native(model, call, labels, name, example, rows, behind):
    """The estimator, or the last step of a pipeline if `behind`, as a model that the library runs itself, if it
    answers the same; else None."""
    steps = encoders_of(model, example) if behind else None
    if steps is None and not holds_numbers(example, model):
        return None
    found = converted(model) if steps is None else converted(model[-1], rows.shape[1])
    if found is None:
        return None
    data, ending, engine = found
    try:
        copy = from_bytes(data, ending, name)
        copy.steps, copy.columns = steps, None  # holds_numbers() has compared names
        if steps is not None:
            rows, engine = encoded_rows(steps, example, rows), engine + " behind encoders"
        if not agrees(copy.bind(None, rows[0]), call(example), rows):
            return None
    except (Error, TypeError, ValueError):  # what the steps answer may be no numbers
        return None
    copy.labels, copy.engine = labels, engine
    return copy


def booster_bytes(model, family):
    """A booster as its own file; of a wrapper that stopped early, the trees that it predicts with."""
    if family == "lightgbm":
        return getattr(model, "booster_", model).model_to_string().encode(), ".txt"
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    best = getattr(model, "best_iteration", None) if booster is not model else None
    whole = best is None or best + 1 >= booster.num_boosted_rounds()
    return bytes((booster if whole else booster[:best + 1]).save_raw("json")), ".json"


def booster_call(model, family):
    """The scores of a booster, one for two classes; None if it cannot be called."""
    if family == "xgboost" and not hasattr(model, "get_booster"):
        import xgboost

        def ask(x):
            named = {} if is_frame(x) else {"feature_names": model.feature_names,
                                            "feature_types": model.feature_types}
            return model.predict(xgboost.DMatrix(x, enable_categorical=is_frame(x), **named))
        return ask
    verb = getattr(model, "predict_proba", None) or getattr(model, "predict", None)

    def call(x):
        y = np.asarray(verb(x))
        return y[:, 1] if y.ndim == 2 and y.shape[1] == 2 else y
    return call if callable(verb) else None


def booster_labels(model):
    """The classes of a wrapper that are scored: of two classes the second. None: it has none."""
    classes = getattr(model, "classes_", None)
    labels = [str(c) for c in classes] if classes is not None else None
    return labels[1:] if labels and len(labels) == 2 else labels


def booster_model(model, family, example, rows, batch_size, convert):
    """A booster as trees of ours, if they answer as it does: it may take -999 for missing, or count
    categories in another way. Else it is asked itself."""
    name = type(model).__name__
    call, labels = booster_call(model, family), booster_labels(model)
    if call is None:
        raise Error("%s has no predict" % name)
    own = Called(call, name, labels, batch_size, "%s, called in batches" % family)
    if not convert:
        return own
    copy = from_bytes(*booster_bytes(model, family), name)
    if is_frame(example):
        check_columns([str(c) for c in example.columns], copy.columns)
    hole = getattr(model, "missing", np.nan)  # what stands for a missing value
    if hole == hole or not agrees(copy.bind(None, rows[0]), call(example), rows):
        return own
    copy.labels, copy.own = labels, own
    return copy


def model_for(model, example, batch_size=None, timeout=60.0, normalize=None, rows=None, convert=True,
              whole=None, behind=True):
    """`example`: rows in the shape that a callable is given; `rows`: the same as the library's; convert:
    may a copy be made that the library runs? whole: the type of X if that is one of integers; behind:
    may the copy be that of the last step of a pipeline?"""
    if isinstance(model, (Opened, Called)):
        return model
    if isinstance(model, (str, os.PathLike)):
        return open_file(os.fspath(model), timeout, normalize)
    if normalize is not None:
        raise Error("normalize needs a network file; normalise inside your own model")
    family, name = kind_of(model), type(model).__name__
    if any(c.__module__.startswith("torch.") and c.__name__ == "Module" for c in type(model).__mro__):
        return torch_model(model, example, batch_size, convert, whole)
    if family in ("xgboost", "lightgbm"):
        return booster_model(model, family, example, rows, batch_size, convert)
    if hasattr(model, "predict") and hasattr(model, "get_params"):
        call, labels, verb = sklearn_call(model)
        own = Called(call, name, labels, batch_size, "%s, called in batches" % verb)
        copy = native(model, call, labels, name, example, rows, behind) if convert else None
        if copy is None:
            return own
        copy.own = own
        return copy
    if callable(model):
        return Called(model, getattr(model, "__name__", name), None, batch_size)
    raise Error("model: expected a callable on a batch, a file or address, a scikit-learn estimator, a "
                "torch module, or a booster of XGBoost or LightGBM, found %s" % name)
