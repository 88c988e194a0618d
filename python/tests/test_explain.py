# SPDX-License-Identifier: MIT
import ast
import copy
import doctest
import gc
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing
import unittest
import weakref

import numpy as np

import oracle
import sis
from sis import _core, _explain, _inputs, _models, compat

SANITIZED = "SIS_ASAN" in os.environ
PROGRAM, SOURCE = os.environ.get("SIS_PROGRAM"), os.environ.get("SIS_SOURCE", ".")


def lines_without_seconds(data, command=True):
    """Records to compare: without the time they took; without a command, and the digests of files
    that it names, where examples lay in memory."""
    left_out = rb'"seconds":[^,]*,' + (b"" if command else rb'|"command":\[[^]]*\],|"(input|mask)_sha256":"\w*",|"mask":"[^"]*",')
    return [re.sub(left_out, b"", line) for line in data.splitlines()]


def sum_of_rows():
    """A callable of its own each time."""
    return lambda rows: rows.sum(axis=1)


ORT_PACKAGE = """
import numpy as np
__version__ = "9.8.7"
class SessionOptions: pass
class Value:
    def __init__(self, name, type, shape): self.name, self.type, self.shape = name, type, shape
class InferenceSession:
    def __init__(self, path, options, providers):
        assert options.intra_op_num_threads == 1
    def get_inputs(self): return [Value("x", "tensor(float)", ["n", 3])]
    def get_outputs(self): return [Value("label", "tensor(int64)", ["n"]), Value("y", "tensor(float)", ["n", 1])]
    def run(self, names, feeds):
        x = feeds["x"]
        assert names == ["y"] and x.dtype == np.float32 and x.shape == (16, 3)
        return [x @ np.array([[4], [1], [2]], np.float32)]
"""


class OnnxRuntime(unittest.TestCase):
    @unittest.skipIf(os.environ.get("SIS_ORT"), "the library is there")
    def test_a_package_without_a_library_is_called_by_its_own_interface(self):
        script = """if 1:
            import sys, numpy as np
            sys.path.insert(0, sys.argv[1])
            import sis
            r = sis.explain("ort:" + sys.argv[1] + "/m.onnx", np.ones((1, 3)), threshold=3.5, mask="zero")
            print(r[0].subsets[0].features)
        """
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "onnxruntime"))
            pathlib.Path(folder, "onnxruntime", "__init__.py").write_text(ORT_PACKAGE)
            pathlib.Path(folder, "m.onnx").write_bytes(b"")
            said = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True)
        if "Load model" in said.stderr:
            self.skipTest("ONNX Runtime is on the loader's path")
        self.assertEqual((said.stdout.split()[-1:], said.stderr), (["(0,)"], ""))


class Oracle(unittest.TestCase):
    """The answers are those of the paper."""

    def check(self, rng):
        features = int(rng.integers(2, 8))
        owner = np.concatenate([np.arange(features), rng.integers(0, features, rng.integers(0, 4))])
        width, below = len(owner), bool(rng.integers(2))
        ties = rng.integers(2)
        weights = rng.integers(-2, 3, (width, 3)).astype(float) if ties else rng.normal(size=(width, 3))
        x = rng.integers(0, 3, width).astype(float) if ties else rng.normal(size=width)
        masks = rng.integers(0, 2, (int(rng.integers(1, 3 if ties else 4)), width)).astype(float)

        def score(rows):
            return np.maximum(rows @ weights, 0).sum(axis=1)

        scores = [score(x[None])[0], score(masks).mean()]
        threshold = float(rng.uniform(min(scores), max(scores) + 1e-9))
        status, subsets = oracle.collection(score, x, masks, owner, threshold, below)
        r = sis.explain(score, x[None], threshold, mask=masks, features=owner, below=below)
        self.assertEqual(r[0].status, status)
        self.assertEqual([s.features for s in r[0].subsets], subsets)  # of ties, too: sums are exact
        self.assertTrue(all(a["holds"] for a in r.verify()))

    def test_random_callables(self):
        rng = np.random.default_rng(1)
        for _ in range(60 if SANITIZED else 400):
            self.check(rng)

    def test_ties_go_to_the_first_feature(self):
        r = sis.explain(lambda x: x.sum(axis=1), np.ones((1, 4)), 2, mask="zero")
        self.assertEqual([s.features for s in r[0].subsets], [(3, 2), (1, 0)])


class Guarantees(unittest.TestCase):
    """What subsets are enough for, and how few calls it takes."""

    TREES = os.path.join(SOURCE, "examples", "credit-trees.json")
    TABLE = os.path.join(SOURCE, "examples", "credit.csv")

    def rows(self):
        return np.loadtxt(self.TABLE, delimiter=",", skiprows=1)

    def test_all(self):
        X, rng = self.rows(), np.random.default_rng(1)
        r = sis.explain(self.TREES, X, 0.8, guarantee="all")
        told = dict(r[0].data["guarantee"])
        self.assertTrue(all(e >= 0.8 for e in told.pop("bounds")))
        self.assertEqual(told, {"kind": "all", "proved": True, "minimal": True, "domain": "any"})
        self.assertTrue(all(a["holds"] for a in r.verify()))
        predict = sis.Explainer(self.TREES).bound.core.predict
        for e in r:
            for s in e.subsets:
                others = rng.normal(0, 50000, (200, X.shape[1]))
                others[:, s.features] = X[int(e.id), list(s.features)]
                self.assertTrue((np.frombuffer(predict(others, 200)) >= 0.8).all())

    def test_domains_and_contrasts(self):
        X = self.rows()
        ball = sis.explain(self.TREES, X, 0.8, guarantee="all", domain="ball:1", smallest=True)
        self.assertTrue(ball[0].data["guarantee"]["smallest"])
        self.assertTrue(all(a["holds"] for a in ball.verify()))
        box = sis.explain(self.TREES, X, 0.8, method="contrast", domain=(X.min(0), X.max(0)))
        self.assertTrue(all(a["holds"] for a in box.verify()))
        changed = np.array(box[0].data["examples"])
        differs = np.flatnonzero(~np.isclose(changed, X[0], rtol=1e-6))
        self.assertEqual(set(differs), set(box[0].subsets[0].features))
        self.assertTrue((changed >= X.min(0) - 1e-3).all() and (changed <= X.max(0) + 1e-3).all())

    def test_loaded_results_are_verified_as_they_claim(self):
        X = self.rows()
        ball = sis.explain(self.TREES, X, 0.8, guarantee="all", domain="ball:1")
        box = sis.explain(self.TREES, X, 0.8, guarantee="all", domain=(X.min(0), X.max(0)))
        loaded = sis.Results(ball.lines)
        self.assertTrue(all(a["holds"] for a in loaded.verify(self.TREES, X)))
        self.assertTrue(all(a["holds"] for a in loaded.verify(self.TREES, X, domain="ball:1")))
        wide = sis.Results([line.replace(b'"ball:1"', b'"any"') for line in ball.lines])
        self.assertFalse(all(a["holds"] for a in wide.verify(self.TREES, X)))
        again = sis.Results(box.lines).verify(self.TREES, X, domain=(X.min(0), X.max(0)))
        self.assertTrue(all(a["holds"] for a in again))
        for results, x, options, why in ((wide, X, dict(domain="ball:1"), "domain='any'"),
                                         (wide, X, dict(domain=(X.min(0), X.max(0))), "domain='any'"),
                                         (sis.Results(box.lines), X, {}, "give domain"),
                                         (sis.Results(box.lines), X, dict(domain="ball:0"), "give domain"),
                                         (loaded + sis.Results(box.lines), np.vstack([X, X]), {}, "different domains"),
                                         (loaded, X[::-1], {}, "another input")):
            with self.assertRaisesRegex(sis.Error, why):
                results.verify(self.TREES, x, **options)

    def test_words_are_those_of_the_guarantee(self):
        X = self.rows()
        proof = sis.explain(self.TREES, X, 0.3, guarantee="all", below=True)
        shown = [repr(e) for e in proof if e.subsets]
        self.assertTrue(shown and all("1 sufficient subset, proved" in s and "score at most" in s for s in shown))
        contrast = sis.explain(self.TREES, X, 0.8, method="contrast")
        shown = [repr(e) for e in contrast if e.subsets]
        self.assertTrue(shown and all("1 way to lose it" in s and "changes the score to" in s for s in shown))

    def test_figures_are_those_of_the_program(self):
        r = sis.explain(self.TREES, self.rows(), 0.8, mask="zero")
        self.assertIn("Features in subsets.", r.plot().svg)
        self.assertIn("Scores of the inputs.", r.plot("scores")._repr_svg_())
        with tempfile.TemporaryDirectory() as folder:
            r.plot("sizes").save(os.path.join(folder, "sizes.svg"))
            with open(os.path.join(folder, "sizes.svg")) as file:
                self.assertEqual(file.read(), r.plot("sizes").svg)
        with self.assertRaisesRegex(sis.Error, "no figure 'lengths'"):
            r.plot("lengths")

    def test_contrasts_in_units(self):
        X, names = self.rows(), ["age", "income", "debt", "savings", "late_payments", "open_accounts",
                                 "years_employed", "credit_used"]
        r = sis.explain(self.TREES, X, 0.8, method="contrast", units={1: 500}, max_subsets=3)
        changes = [np.array(e.data["examples"]).reshape(-1, 8)[k][1] - e.data["values"][1]
                   for e in r for k, s in enumerate(e.subsets) if 1 in s.features]
        self.assertTrue(changes and all(c % 500 == 0 for c in changes))
        r = sis.explain(self.TREES, X, 0.8, method="contrast", fixed=[1, 4])
        self.assertTrue(any(e.subsets for e in r))
        self.assertFalse({1, 4} & {f for e in r for s in e.subsets for f in s.features})
        self.assertTrue(all(a["holds"] for a in r.verify()))
        near = sis.explain(self.TREES, X, 0.8, method="contrast", cheapest=True)
        few = sis.explain(self.TREES, X, 0.8, method="contrast")
        for a, b in zip(near, few):
            self.assertTrue(all(x.distance <= y.distance for x, y in zip(a.subsets, b.subsets)))
        try:
            import pandas
        except ImportError:
            return
        frame = pandas.DataFrame(X, columns=names)
        asked = dict(method="contrast", units={"income": 500}, fixed=["late_payments"], cheapest=True)
        r = sis.explain(self.TREES, frame, 0.8, **asked)
        path = pathlib.Path(self.TREES).parent / "credit.csv"
        same = sis.explain(self.TREES, path, 0.8, **asked)
        for a, b in zip(r, same):
            self.assertEqual([(s.features, s.distance) for s in a.subsets], [(s.features, s.distance) for s in b.subsets])
        table = r.to_pandas().dropna(subset=["distance"])
        self.assertTrue(len(table) and all(len(row.becomes) == row.size for row in table.itertuples()))
        for wrong, why in ((dict(units={"nobody": 1}), "no feature"), (dict(units={"income": 0}), "above 0"),
                           (dict(units={"income": "a"}), "above 0"), (dict(units=["income"]), "expected a dict"),
                           (dict(fixed=[8]), "no feature"), (dict(fixed="income"), "expected a list"),
                           (dict(mask="mean"), "contrast")):
            with self.assertRaisesRegex(sis.Error, why):
                sis.explain(self.TREES, frame, 0.8, method="contrast", **wrong)
        with self.assertRaisesRegex(sis.Error, "contrast"):
            sis.explain(self.TREES, X, 0.8, guarantee="all", cheapest=True)

    def test_groups(self):
        r = sis.explain(self.TREES, pathlib.Path(self.TABLE), 0.5, mask="missing")
        young, middle, old = r.groups("age:35,50")
        self.assertEqual([g["group"] for g in (young, middle, old)], ["below 35", "35 to 50", "50 and more"])
        self.assertEqual(sum(g["examples"] for g in (young, middle, old)), len(r))
        self.assertEqual(sum(g["decided"]["n"] for g in (young, middle, old)), sum(e.status == "explained" for e in r))
        held = sum("late_payments" in s.names for e in r for s in e.subsets)
        self.assertEqual(sum(g["features"]["late_payments"]["n"] for g in (young, middle, old)), held)
        with self.assertRaisesRegex(sis.Error, "no column"):
            r.groups("colour")

    def test_contrasts_over_categories(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        X = pandas.DataFrame(self.rows()[:3])
        X[0] = pandas.Categorical(["x", "y", "z"])
        r = sis.explain(self.TREES, X, 0.8, method="contrast")
        self.assertEqual([len(e.subsets) for e in r], [1, 0, 1])
        for e in r:
            self.assertEqual(len(e.data["values"]), X.shape[1] + 2)  # a 0 or 1 for each category
            self.assertEqual(len(e.data.get("examples", [])), len(e.subsets) * len(e.data["values"]))
        self.assertTrue(all(a["holds"] for a in r.verify()))

    def test_contrasts_name_the_new_categories(self):
        try:
            import pandas
            import xgboost
        except ImportError:
            self.skipTest("needs xgboost and pandas")
        rng = np.random.default_rng(3)
        X = pandas.DataFrame({"ward": pandas.Categorical(rng.choice(["day care", "icu", "\u00e9r"], 300)),
                              "age": rng.integers(18, 95, 300).astype(float)})
        y = ((X.ward == "icu") & (X.age > 50) | (X.age > 85)).astype(int)
        model = xgboost.XGBClassifier(n_estimators=10, max_depth=3, tree_method="hist", enable_categorical=True,
                                      max_cat_to_onehot=1, n_jobs=1).fit(X, y)
        X.loc[299, "ward"] = np.nan
        r = sis.explain(model, X, 0.6, target=1, method="contrast", fixed=["age"])
        table = r.to_pandas().dropna(subset=["distance"])
        self.assertTrue(len(table) > 5 and set(table.becomes) <= {("day care",), ("\u00e9r",)}, table)
        changed = X.iloc[table.index].assign(ward=pandas.Categorical([b for b, in table.becomes], X.ward.cat.categories))
        self.assertTrue((model.predict_proba(changed)[:, 1] < 0.6).all())
        self.assertTrue(all(a["holds"] for a in r.verify()))
        self.assertIn("ward = icu   becomes ", repr(r[int(table.index[0])]))
        forged = [json.dumps(dict(e.data, **({"examples": e.data["values"]} if e.subsets else {}))).encode() for e in r]
        audits = sis.Results(forged).verify(model, X)
        self.assertEqual([a["holds"] for a in audits], [not e.subsets for e in r])

    def test_quick_and_class(self):
        calls = []

        def model(rows):
            calls.append(len(rows))
            return rows[:, ::50].sum(axis=1)
        r = sis.explain(model, np.ones((1, 400)), 7.5, mask="zero", method="quick")
        self.assertEqual(sorted(r[0].subsets[0].features), list(range(0, 400, 50)))
        self.assertLess(sum(calls), 1000)
        self.assertTrue(all(a["holds"] for a in r.verify()))
        r = sis.explain(lambda x: np.c_[x[:, 0] + x[:, 1], x[:, 2] + 0.5], np.array([[2.0, 1, 0]]),
                        mask="zero", keep="class")
        self.assertEqual([s.features for s in r[0].subsets], [(0,), (1,)])
        self.assertEqual(r[0].data["keep"], "class")
        self.assertTrue(all(a["holds"] for a in r.verify()))

    def test_chance(self):
        r = sis.explain(self.TREES, pathlib.Path(self.TABLE), 0.8, guarantee="chance:0.9",
                        mask="hotdeck:" + self.TABLE)
        self.assertTrue(all(s["low"] >= 0.9 for s in r[0].data["guarantee"]["subsets"]))
        self.assertTrue(all(a["holds"] for a in r.verify()))

    def test_wrong_options(self):
        X = self.rows()
        for options, words in ((dict(method="x"), "expected sis"), (dict(keep="x"), "expected score"),
                               (dict(guarantee="half", mask="zero"), "chance:P"),
                               (dict(guarantee="all", mask="zero"), "nothing is masked"),
                               (dict(guarantee="all", domain="box"), "ball:E")):
            with self.assertRaisesRegex(sis.Error, words):
                sis.explain(self.TREES, X, 0.8, **options)
        with self.assertRaisesRegex(sis.Error, "XGBoost"):
            sis.explain(lambda x: x.sum(axis=1), X, 0.8, guarantee="all")


class Callables(unittest.TestCase):
    """Wrong models are told in a sentence, and never crash."""

    def wrong(self, call, words, error=sis.Error):
        with self.assertRaisesRegex(error, words):
            sis.explain(call, np.ones((2, 3)), 1, mask="zero")

    def test_exceptions_come_through(self):
        def broken(rows):
            raise RuntimeError("the database is gone")
        names, trace = [], None
        try:
            sis.explain(broken, np.ones((2, 3)), 1, mask="zero")
        except RuntimeError as error:
            trace = error.__traceback__
        while trace:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        self.assertIn("broken", names)

    def test_exceptions_in_the_middle(self):
        calls = []

        def tired(rows):
            calls.append(len(rows))
            if len(calls) > 4:
                raise KeyError("tired")
            return rows.sum(axis=1)
        with self.assertRaises(KeyError):
            sis.explain(tired, np.random.rand(3, 9), 1, mask="zero")

    def test_answers_that_fit_nothing(self):
        self.wrong(lambda x: np.full(len(x), np.nan), "NaN")
        self.wrong(lambda x: x.sum(), "2|1 inputs")
        self.wrong(lambda x: np.ones(len(x) + 1), "expected")
        self.wrong(lambda x: [object()] * len(x), "expected numbers")
        self.wrong(lambda x: None, "expected")
        self.wrong(lambda x: ["a"] * len(x), "expected numbers")

    def test_too_few_rows_later(self):
        self.wrong(lambda x: x.sum(axis=1) if len(x) == 1 else np.ones(1), "was given")

    def test_a_callable_may_keep_and_change_its_rows(self):
        kept = []

        def keeps(rows):
            kept.append(rows)
            y = rows.sum(axis=1)
            rows[:] = -1
            return y
        x = np.random.default_rng(2).random((4, 6))
        plain = sis.explain(lambda rows: rows.sum(axis=1), x, 1.5, mask="zero")
        kept_r = sis.explain(keeps, x, 1.5, mask="zero")
        self.assertEqual([[s.features for s in e] for e in plain], [[s.features for s in e] for e in kept_r])
        self.assertTrue(all((k == -1).all() for k in kept))

    def test_a_callable_may_keep_rows_and_write_later(self):
        kept, want, calls = [], [], 0

        def keeps(rows):
            kept.append(rows)
            want.append(rows.copy())
            return rows.sum(axis=1)

        def writes_later(rows):
            nonlocal calls
            calls += 1
            y = rows.sum(axis=1)
            if calls > 3:
                rows[:] = -1
            return y
        x = np.random.default_rng(2).random((4, 6))
        plain = sis.explain(lambda rows: rows.sum(axis=1), x, 1.5, mask="zero")
        for model in (keeps, writes_later):
            r = sis.explain(model, x, 1.5, mask="zero")
            self.assertEqual([[s.features for s in e] for e in plain], [[s.features for s in e] for e in r])
        gc.collect()
        self.assertTrue(all(np.array_equal(k, w) for k, w in zip(kept, want)))
        self.assertGreater(len(kept), 10)

    def test_rows_have_the_shape_and_type_of_x(self):
        seen = set()

        def model(rows):
            seen.add((rows.shape[1:], rows.dtype.name))
            return rows.reshape(len(rows), -1).sum(axis=1)
        sis.explain(model, np.ones((2, 2, 3), np.float32), 3, mask="zero")
        self.assertEqual(seen, {((2, 3), "float32")})

    def test_what_is_no_model(self):
        with self.assertRaisesRegex(sis.Error, "model: expected"):
            sis.explain(7, np.ones((2, 3)), 1, mask="zero")
        with self.assertRaises((sis.Error, OSError)):
            sis.explain("/nowhere/model.onnx", np.ones((2, 3)), 1, mask="zero")


class NoFunctions(unittest.TestCase):
    """Models that answer differently when they are asked again are not explained."""

    def test_noise(self):
        rng = np.random.default_rng(5)
        x = 1 + rng.random((50, 6))

        def noisy(rows):
            return rows.sum(axis=1) + 0.01 * rng.normal(size=len(rows))
        for options in ({}, {"exact": True}, {"method": "quick"}):
            r = sis.explain(noisy, x, 4, mask="zero", **options)
            self.assertEqual({e.status for e in r}, {"error"})
            self.assertFalse(any(e.verified for e in r))
            self.assertIn("another score for the same row", r[0].message)

    def test_coarse_noise(self):
        """Dropout that often gives the same answer twice."""
        rng = np.random.default_rng(7)

        def dropout(rows):
            return (rows * (rng.random(rows.shape) >= 0.25)).sum(axis=1)
        r = sis.explain(dropout, np.full((100, 4), 1.0), 2, mask="zero")
        self.assertEqual({e.status for e in r}, {"error"})

    def test_a_row_depends_on_others(self):
        rng = np.random.default_rng(8)
        for model in (lambda rows: rows.sum(axis=1) + 0.2 * np.roll(rows[:, 0], 1),
                      lambda rows: rows.sum(axis=1) - rows.sum(axis=1).mean(),
                      lambda rows: rows.sum(axis=1) + 0.3 * (len(rows) > 1)):
            r = sis.explain(model, rng.normal(size=(50, 5)), 0.5, mask="zero")
            self.assertLessEqual({e.status for e in r}, {"error", "not_decided"})

    def test_rounding_of_batches_is_no_noise(self):
        def f(rows):
            return rows.sum(axis=1) * (1 + 1e-9 * (len(rows) > 1))
        r = sis.explain(f, np.random.default_rng(6).random((20, 6)) + 1, 4.5, mask="zero")
        self.assertEqual({e.status for e in r}, {"explained"})
        self.assertTrue(all(v["holds"] for v in r.verify()))


class Arrays(unittest.TestCase):
    def test_layouts_and_types(self):
        x = np.arange(24).reshape(4, 6) % 7
        want = None
        for form in (x, x.astype(np.float16), x.astype(np.float32), np.asfortranarray(x.astype(float)),
                     np.repeat(x, 2, axis=1)[:, ::2], x.tolist(), x.astype(bool) * 0 + x, x.astype(object)):
            r = sis.explain(lambda rows: rows.sum(axis=1), form, 9, mask="zero")
            found = [[s.features for s in e] for e in r]
            want = found if want is None else want
            self.assertEqual(found, want)

    def test_what_is_no_array(self):
        for x, words in ((np.array([["a", "b"]]), "numbers"), (np.ones((0, 3)), "X: has no examples"),
                         (np.ones((2, 0)), "shape"), (np.ones((1, 2)) * 1j, "numbers"), (np.float64(3), "shape")):
            with self.assertRaisesRegex(sis.Error, words):
                sis.explain(lambda rows: rows.sum(axis=1), x, 1, mask="zero")

    def test_options_that_do_not_fit(self):
        x = np.ones((2, 3))

        def model(rows):
            return rows.sum(axis=1)
        for words, options in (("background", dict(mask="mean")), ("expected", dict(mask="what")),
                               ("shape", dict(mask=np.ones(2))), ("samples, 3", dict(mask=np.ones(6))),
                               ("background: expected numbers", dict(background=[["a", "b", "c"]])),
                               ("background: expected shape", dict(background=np.ones((2, 4)))), ("threshold", dict(mask=0, threshold=None)),
                               ("p0 to p100", dict(mask=0, threshold="p200")),
                               ("outputs", dict(mask=0, target=3)), ("no column", dict(mask=0, features=[[9]])),
                               ("two groups", dict(mask=0, features=[[0], [0, 1]])),
                               ("not both", dict(mask=0, features=[[0]], axis=0)),
                               ("images", dict(mask=0, features=sis.Grid(2))), ("texts", dict(mask=0, tokenizer=len)),
                               ("0 to 0", dict(mask=0, axis=1)), ("one for each of 2 ex", dict(mask=0, threshold=[1, 2, 3])),
                               ("batch_size", dict(mask=0, batch_size=0)), ("no rows", dict(background=x[:0])),
                               ("labels: 1", dict(mask=0, labels=[1])), ("ids: 3", dict(mask=0, ids="abc")),
                               ("ids=5: expected one for each of 2", dict(mask=0, ids=5)),
                               ("mask: expected numbers", dict(mask=["a", "b", "c"])),
                               ("mask: expected numbers", dict(mask=[[1, 2], [3]])),
                               ("mask: expected numbers", dict(mask={"a": 1})),
                               ("threshold=.*: expected a number", dict(mask=0, threshold={})),
                               ("threshold=.*: expected a number", dict(mask=0, threshold=["a"])),
                               ("threshold=.*: expected a number", dict(mask=0, threshold=1j)),
                               ("max_subsets=-1", dict(mask=0, max_subsets=-1)), ("memory=-1", dict(mask=0, memory=-1))):
            with self.assertRaisesRegex(sis.Error, words):
                sis.explain(model, x, **dict(dict(threshold=1), **options))

    def test_files_are_written_whole_or_not_at_all(self):
        script = """
import os, resource, signal, sys, numpy as np, sis
r = sis.explain(lambda rows: rows.sum(axis=1), np.ones((20, 30)), 0.5, mask=0)
os.chdir(sys.argv[1])
for name in "r.jsonl", "r.html":
    open(name, "w").write("old")
    os.chmod(name, 0o640)
    os.symlink(name, "link-" + name)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for write, name in (r.save, "r.jsonl"), (r.report, "r.html"), (r.save, "new.jsonl"):
    try: write(name)
    except OSError as e: print(type(e).__name__, e.errno, e.filename)
print(open("r.jsonl").read(), open("r.html").read(), sorted(os.listdir(".")))
"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True)
            self.assertEqual(done.stdout.split("\n")[:4], [
                "OSError 27 r.jsonl", "OSError 27 r.html", "OSError 27 new.jsonl",
                "old old ['link-r.html', 'link-r.jsonl', 'r.html', 'r.jsonl']"], done.stderr)
            r = sis.explain(lambda rows: rows.sum(axis=1), np.ones((2, 3)), 0.5, mask=0)
            for write, name in (r.save, "r.jsonl"), (r.report, "r.html"):
                path = os.path.join(folder, name)
                write(pathlib.Path(folder) / ("link-" + name))
                self.assertTrue(os.path.islink(os.path.join(folder, "link-" + name)))
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
                self.assertGreater(os.path.getsize(path), 100)
                with self.assertRaises(FileNotFoundError) as raised:
                    write(os.path.join(folder, "none", name))
                self.assertEqual(raised.exception.filename, os.path.join(folder, "none", name))
                with self.assertRaises(IsADirectoryError):
                    write(folder)

    def test_saved_results_are_equal_to_themselves(self):
        x = np.random.default_rng(4).normal(size=(6, 3))
        r = sis.explain(lambda rows: rows.sum(axis=1), x, 0.5, mask=0)
        other = sis.explain(lambda rows: rows.sum(axis=1), x, 0.6, mask=0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.jsonl")
            for trace in (False, True):
                again = sis.Results.load(r.save(path, trace=trace) and path)
                self.assertEqual(again, r)
                self.assertEqual(again.provenance, r.provenance)
                self.assertEqual([e for e in again], [e for e in r])
                self.assertEqual(len(set(again) | set(r)), 6)
        self.assertNotEqual(r, other)
        self.assertNotEqual(r, r[:5])
        self.assertNotEqual(r[0], other[0])

    def test_masks_of_several_samples_have_their_own_axis(self):
        x = np.ones((1, 2, 2))

        def model(rows):
            return rows.sum(axis=(1, 2))
        for mask, score in ((np.zeros((2, 2)), 0), (np.zeros(4), 0), (np.zeros((1, 2, 2)), 0),
                            (np.array([np.zeros((2, 2)), np.ones((2, 2))]), 2), (np.array([np.zeros(4), np.ones(4)]), 2)):
            self.assertEqual(sis.explain(model, x, 3, mask=mask)[0].masked_score, score)
        for mask in (np.zeros(8), np.zeros((4, 2)), np.zeros((2, 3)), np.zeros((2, 4, 1)), np.zeros((0, 4))):
            with self.assertRaisesRegex(sis.Error, "mask: the array has shape"):
                sis.explain(model, x, 3, mask=mask)

    def test_masks(self):
        x, back = np.array([[4.0, 4.0]]), np.array([[0.0, 0.0], [2.0, 4.0], [1.0, 5.0]])
        for mask, want in (("mean", [1, 3]), ("median", [1, 4]), ("zero", [0, 0]), (0.5, [0.5, 0.5]),
                           (np.array([2, 3]), [2, 3]), (lambda b: b.max(axis=0), [2, 5])):
            r = sis.explain(lambda rows: rows[:, 0], x, 3, mask=mask, background=back)
            self.assertEqual(r[0].data["mask"], want)

    def test_means_are_of_the_values_that_are_there(self):
        back = np.array([[np.nan, np.nan, 1.0], [2.0, np.nan, 3.0], [4.0, np.nan, 8.0]])
        for mask, want in (("mean", [3, None, 4]), ("median", [3, None, 3])):
            r = sis.explain(lambda rows: rows[:, 0], np.full((1, 3), 9.0), 5, mask=mask, background=back)
            self.assertEqual(r[0].data["mask"], want)
        r = sis.explain(lambda rows: np.isnan(rows[:, 0]) * 1.0, np.ma.masked_array([[5.0, 6.0]], [[True, False]]), 1, mask=0)
        self.assertTrue(np.isnan(r[0].values[0]))

    def test_means_are_exact(self):
        """The nearest double to the exact mean, for a table in which a tree splits there, too."""
        import fractions
        rng = np.random.default_rng(8)
        x = np.column_stack([rng.normal(1e3, 1, 3000), rng.lognormal(0, 6, 3000), rng.normal(0, 1e-9, 3000),
                             np.full(3000, 0.1), rng.choice([1e16, 1.0, -1e16], 3000)])
        exact = [float(sum(map(fractions.Fraction, column)) / len(x)) for column in x.T]
        self.assertEqual(_inputs.mean(x).tolist(), exact)
        self.assertEqual(_inputs.mean(rng.permutation(x)).tolist(), exact)
        r = sis.explain(lambda rows: (rows[:, 0] <= exact[0]) * 1.0, x[:5] + 1e4, 1, below=True, mask="mean", background=x)
        self.assertEqual({e.masked_score for e in r}, {1.0})
        with tempfile.TemporaryDirectory() as folder:
            file, hole = os.path.join(folder, "x.csv"), os.path.join(folder, "hole.csv")
            np.savetxt(file, x, "%.17g", ",", header="a,b,c,d,e", comments="")
            pathlib.Path(hole).write_text(pathlib.Path(file).read_text() + ",,,,\n")
            for options in ((file, "--mask", "mean:" + file), (hole, "--mask", "zero", "--missing", "mean", "--rows", "3000")):
                out = subprocess.run([PROGRAM, "explain", "-q", "-m", "cmd:" + shlex.quote(os.path.join(SOURCE, "tests/cli/models/sum.sh")),
                                      "-t", "-1e300", "--max-subsets", "1", "-i", options[0], "--rows", "0", *options[1:]],
                                     stdout=subprocess.PIPE, check=True).stdout
                record = json.loads(out.splitlines()[0])
                self.assertEqual(record["values" if options[0] == hole else "mask"], exact)

    def test_hot_deck_repeats(self):
        rng = np.random.default_rng(3)
        back, x = rng.normal(size=(50, 5)), rng.normal(size=(3, 5)) + 1
        runs = [sis.explain(lambda rows: rows.sum(axis=1), x, 2, mask=sis.HotDeck(back, samples=7)) for _ in "ab"]
        self.assertEqual(*[lines_without_seconds(b"".join(r.lines)) for r in runs])

    def test_hot_decks_are_those_of_the_program(self):
        """Each feature by itself and whole rows, on columns that depend on each other, one of them words."""
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        rng = np.random.default_rng(12)
        a = rng.normal(size=300)
        a, b, c = (np.round(v * 64) / 64 for v in (a, a + rng.normal(size=300) / 5, rng.normal(size=300)))  # sums are exact
        frame = pandas.DataFrame({"a": a, "b": b, "c": c,
                                  "w": np.where(a > 0, "x", np.where(rng.random(300) < 0.5, "y", "z"))})

        def total(f):
            return f.a + f.b + f.c + 1
        with tempfile.TemporaryDirectory() as folder:
            file, script = os.path.join(folder, "x.csv"), os.path.join(folder, "total.py")
            frame.to_csv(file, index=False)
            pathlib.Path(script).write_text("import json, sys\nfor line in sys.stdin:\n"  # one value for each category
                                            "    print(json.dumps({'outputs': [sum(r) for r in json.loads(line)['inputs']]}), flush=True)\n")
            model = "cmd:%s %s" % (sys.executable, script)
            for kind, by_name in (("hotdeck", False), ("rows", True)):
                out = subprocess.run([PROGRAM, "explain", "-q", "-m", model, "-i", file, "--categorical", "--mask", kind + ":" + file,
                                      "-t", "1.7", "--rows", "0:40"], stdout=subprocess.PIPE, check=True).stdout
                want = [json.loads(line) for line in out.splitlines()]
                for mask in (sis.HotDeck(frame, rows=by_name), kind):
                    r = sis.explain(total, frame[:40], 1.7, mask=mask, background=frame)
                    self.assertEqual([(e.status, e.score, e.masked_score) for e in r],
                                     [(w["status"], w["score"], w["masked_score"]) for w in want])
                    self.assertEqual([[(s.features, s.score) for s in e.subsets] for e in r],
                                     [[(tuple(s["features"]), s["score"]) for s in w["subsets"]] for w in want])
                self.assertGreater(r.counts["explained"], 3)
            # whole rows keep what columns have to do with each other
            drawn = {rows: sis.HotDeck(frame[["a", "b"]], samples=500, rows=rows).draw(2) for rows in (False, True)}
            self.assertLess(abs(np.corrcoef(drawn[False].T)[0, 1]), 0.2)
            self.assertGreater(np.corrcoef(drawn[True].T)[0, 1], 0.9)
            groups = sis.HotDeck(frame[["a", "b"]], samples=500).draw(2, owner=[0, 0])
            self.assertGreater(np.corrcoef(groups.T)[0, 1], 0.9)

    def test_axis_and_grid(self):
        x = np.random.default_rng(4).random((1, 3, 4, 4))
        r = sis.explain(lambda rows: rows.mean(axis=(1, 2, 3)), x, 0.2, mask="zero", axis=0)
        self.assertEqual(r[0].n_features, 16)
        r = sis.explain(lambda rows: rows.mean(axis=(1, 2, 3)), x, 0.2, mask="zero", features=sis.Grid(patch=2))
        self.assertEqual(r[0].n_features, 4)
        self.assertEqual(r[0].mask_of(0).sum(), 12 * len(r[0].subsets[0]))

    def test_names_mean_the_same_for_arrays_and_files(self):
        model = os.path.join(SOURCE, "models", "mnist-cnn.onnx")
        seven = sis.explain(model, pathlib.Path(SOURCE, "examples", "seven-photo.png"), 0.5, fit=True, max_subsets=1)[0].values
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "seven.npy")
            np.save(path, seven.reshape(1, 28, 28))
            np.save(os.path.join(folder, "map.npy"), np.arange(784).reshape(28, 28) // 56)
            x = np.load(path)
            for options in (dict(features="grid:20"), dict(features=sis.Grid(20)), dict(features="grid:7", mask=0.5),
                            dict(features="grid:7", mask="value:0.5"), dict(axis=1), dict(features="axis:1"),
                            dict(features=os.path.join(folder, "map.npy"))):
                both = [sis.explain(model, X, 0.5, **options)[0] for X in (x, path)]
                self.assertEqual(both[0].data["subsets"], both[1].data["subsets"], options)
                self.assertEqual(both[0].masked_score, both[1].masked_score, options)
            rows = np.concatenate([x, x[:, ::-1], 0 * x])
            np.save(os.path.join(folder, "rows.npy"), rows)
            for mask in ("mean", "hotdeck", "rows", sis.HotDeck(samples=3, seed=7)):
                deck = dict(mask=mask, features="grid:9")
                a = sis.explain(model, x, 0.5, background=rows, **deck)[0]
                b = sis.explain(model, path, 0.5, background=pathlib.Path(folder, "rows.npy"), **deck)[0]
                self.assertEqual((a.masked_score, a.data["subsets"]), (b.masked_score, b.data["subsets"]), mask)
            for words, options in (("name or a number", dict(mask=x)), ("path of a file", dict(mask="mean", background=x)),
                                   ("features", dict(features=[[1]])), ("features", dict(axis=(0, 1)))):
                with self.assertRaisesRegex(sis.Error, words):
                    sis.explain(model, path, 0.5, **options)

    def test_images_are_told_by_their_shape(self):
        def kind(*shape, **options):
            x = np.ones((1,) + shape)
            return sis.explain(lambda rows: rows.reshape(len(rows), -1)[:, 0], x, 0.5, mask="zero",
                               features=np.zeros(shape, int), **options)[0].data["kind"]
        self.assertEqual([kind(8, 9, 3), kind(4, 9, 8), kind(9, 8, kind="image")], ["image"] * 3)
        self.assertEqual([kind(9, 8), kind(7, 9, 3), kind(8, 9, 5), kind(8, 8, 3, kind="array"), kind(12)], ["array"] * 5)


class Files(unittest.TestCase):
    """The same bytes as the program's, but for seconds."""

    def same(self, model, x, file, py, program):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, file)
        if isinstance(x, np.ndarray):
            np.save(path, x)
        else:
            path = file
        r = sis.explain(model, x, **py)
        r.save(os.path.join(folder, "p.jsonl"))
        subprocess.run([PROGRAM, "explain", "-m", model, "-i", path, "-q", "-o", folder + "/c.jsonl"] + program,
                       check=False)
        with open(folder + "/p.jsonl", "rb") as a, open(folder + "/c.jsonl", "rb") as b:
            self.assertEqual(*[lines_without_seconds(f.read(), False) for f in (a, b)])
        self.assertEqual(len(sis.load(folder + "/p.jsonl")), len(r))
        return r

    @unittest.skipUnless(PROGRAM, "needs the program")
    def test_networks(self):
        x = np.random.default_rng(5).random((1 if SANITIZED else 2, 28, 28)).astype(np.float32)
        for name in ("mnist-mlp",) if SANITIZED else ("mnist-cnn", "mnist-mlp"):
            model = os.path.join(SOURCE, "models", name + ".onnx")
            r = self.same(model, x, "x.npy", dict(threshold=0.3, mask="zero", max_subsets=2),
                          ["-t", "0.3", "--mask", "zero", "--max-subsets", "2"])
            self.assertTrue(all(a["holds"] for a in r.verify()))
            self.assertTrue(all(a["holds"] for a in
                                sis.Results(r.lines).verify(model, x, mask="zero")))

    @unittest.skipUnless(PROGRAM, "needs the program")
    def test_networks_that_leave_sizes_free(self):
        try:
            import onnx
            import onnx.numpy_helper
        except ImportError:
            self.skipTest("needs python3-onnx")
        h, floats = onnx.helper, onnx.TensorProto.FLOAT
        graph = h.make_graph(
            [h.make_node("ReduceMean", ["x"], ["m"], axes=[1, 3], keepdims=0),
             h.make_node("ReduceMax", ["m"], ["y"], axes=[1], keepdims=1)], "g",
            [h.make_tensor_value_info("x", floats, [None, 1, None, None])],
            [h.make_tensor_value_info("y", floats, [None, 1])])
        model = os.path.join(tempfile.mkdtemp(), "free.onnx")
        onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=7), model)
        x = np.arange(32, dtype=np.float32)
        for spec in [model] + ["ort:" + model] * ("SIS_ORT" in os.environ):
            explainer = sis.Explainer(spec, threshold=9, mask="zero")
            for shape, score in (((2, 1, 2, 8), 11.5), ((2, 1, 8, 2), 14.5), ((2, 1, 4, 4), 13.5)):
                given = x.reshape(shape)
                self.same(spec, given, "x.npy", dict(threshold=9, mask="zero"), ["-t", "9", "--mask", "zero"])
                r = explainer(given)
                self.assertEqual([r[0].score, r[1].score], [score, score + 16])
                self.assertTrue(all(a["holds"] for a in r.verify()))
            with self.assertRaisesRegex(sis.Error, "the model takes \\(1, any, any\\)"):
                explainer(x.reshape(1, 2, 4, 4))

    @unittest.skipUnless(PROGRAM, "needs the program")
    def test_networks_exported_for_some_rows(self):
        try:
            import onnx
            import onnx.numpy_helper
        except ImportError:
            self.skipTest("needs python3-onnx")
        h, floats = onnx.helper, onnx.TensorProto.FLOAT
        graph = h.make_graph([h.make_node("Reshape", ["x", "s"], ["f"]), h.make_node("ReduceSum", ["f", "a"], ["y"])], "g",
                             [h.make_tensor_value_info("x", floats, [5, 2, 3])], [h.make_tensor_value_info("y", floats, [5, 1])],
                             [onnx.numpy_helper.from_array(np.array(v), k) for k, v in (("s", [5, 6]), ("a", [1]))])
        model = os.path.join(tempfile.mkdtemp(), "five.onnx")
        onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=7), model)
        x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
        r = self.same(model, x, "x.npy", dict(threshold=9, mask="zero"), ["-t", "9", "--mask", "zero"])
        self.assertEqual([q.score for q in r], [15, 51])

    @unittest.skipUnless(PROGRAM, "needs the program")
    def test_tables(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        file = os.path.join(SOURCE, "examples", "credit.csv")
        frame = pandas.read_csv(file)
        self.same("cmd:" + shlex.quote(os.path.join(SOURCE, "examples", "credit.sh")), frame, file,
                  dict(threshold=0.8, background=frame), ["-t", "0.8", "--mask", "mean:" + file])

    @unittest.skipUnless(PROGRAM, "needs the program")
    def test_columns_are_those_of_the_file(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        table = pandas.read_csv(os.path.join(SOURCE, "examples", "credit.csv"))
        for name in ("examples/credit-trees.json", "models/credit.onnx"):
            explainer = sis.Explainer(os.path.join(SOURCE, name), background=table, threshold=0.8)
            want = explainer(table).counts
            for other in (table[table.columns[::-1]], table.rename(columns={"age": "years"})):
                with self.assertRaisesRegex(sis.Error, "trained on age, income"):
                    explainer(other)
            unnamed = table.set_axis(range(8), axis=1)
            r = sis.explain(os.path.join(SOURCE, name), unnamed, 0.8, background=unnamed)
            self.assertEqual(r.counts, want)

    def test_texts_and_sequences_of_networks(self):
        folder = tempfile.mkdtemp()
        texts = ["A wonderful film: superb, moving, a joy.", "Dull. What a waste of time!", "Great fun"]
        with open(folder + "/r.txt", "w") as f:
            f.write("\n".join(texts) + "\n")
        model = os.path.join(SOURCE, "models", "imdb-cnn.onnx")
        r = sis.explain(model, texts, 0.8)
        r.save(folder + "/p.jsonl")
        subprocess.run([PROGRAM, "explain", "-m", model, "-i", folder + "/r.txt", "-q", "-t", "0.8", "-o",
                        folder + "/c.jsonl"], check=False)
        with open(folder + "/p.jsonl", "rb") as a, open(folder + "/c.jsonl", "rb") as b:
            self.assertEqual(*[lines_without_seconds(f.read(), False) for f in (a, b)])
        again = sis.explain(model, pathlib.Path(folder + "/r.txt"), 0.8)
        self.assertEqual(*[lines_without_seconds(b"".join(x.lines)) for x in (r, again)])
        again.save(folder + "/p2.jsonl")
        with open(folder + "/p2.jsonl", "rb") as a, open(folder + "/c.jsonl", "rb") as b:
            self.assertEqual(lines_without_seconds(a.read()), lines_without_seconds(b.read()))
        self.assertEqual(sis.load(folder + "/p2.jsonl").provenance, again.provenance)
        self.assertEqual(subprocess.run([PROGRAM, "verify", folder + "/p2.jsonl", "-q", "--trust"],
                                        stdout=subprocess.DEVNULL).returncode, 0)
        self.assertTrue(all(a["holds"] for a in r.verify()))
        self.assertEqual([a["id"] for a in r[2:].verify() if a["holds"]], [r[2].id])
        self.assertTrue(all(a["holds"] for a in sis.load(folder + "/p.jsonl").verify(model, texts)))
        d = sis.explain(os.path.join(SOURCE, "models", "dna-ctcf.onnx"), ["ACGT" * 25 + "A"], 0.0001)
        self.assertEqual(d[0].n_features, 101)

    def test_sentences_and_folders_of_images(self):
        import pathlib
        model = os.path.join(SOURCE, "models", "imdb-cnn.onnx")
        r = sis.explain(model, ["I did not expect much. The acting is superb! Dr. Smith agrees."],
                        0.8, features="sentence")
        self.assertEqual(r[0].n_features, 3)
        self.assertEqual(r[0].subsets[0].features, (1,))
        self.assertTrue(all(a["holds"] for a in r.verify()))
        with self.assertRaisesRegex(sis.Error, "tokenizer.json"):
            sis.explain(model, ["a b"], 0.8, tokenizer=str.split)
        digits = os.path.join(SOURCE, "models", "mnist-cnn.onnx")
        image = pathlib.Path(SOURCE, "examples", "seven-photo.png")
        with self.assertRaisesRegex(sis.Error, "--fit"):
            sis.explain(digits, image, 0.7)
        r = sis.explain(digits, image, 0.7, fit=True, max_subsets=1)
        self.assertEqual(r[0].n_features, 784)
        self.assertEqual(len(r[0].subsets), 1)
        seven = np.asarray([r[0].values], float).reshape(1, 1, 28, 28)
        few = dict(threshold=0.5, features=sis.Grid(patch=4), max_subsets=1)
        same = sis.explain(digits, seven, mask=0.0, normalize="0/1", **few)[0]
        self.assertEqual(same.score, sis.explain(digits, seven, mask=0.0, **few)[0].score)
        half = sis.explain(digits, seven, mask=0.0, normalize="0.25/0.5", **few)[0]
        other = sis.explain(digits, (seven - 0.25) / 0.5, mask=-0.5, **few)[0]
        self.assertAlmostEqual(half.score, other.score, 5)
        self.assertEqual(half.subsets[0].features, other.subsets[0].features)
        with self.assertRaisesRegex(sis.Error, "3 channels"):
            sis.explain(digits, seven, 0.5, normalize="imagenet")

    def test_pages_and_clusters(self):
        texts = ["a %s film %d" % (w, i) for i in range(8) for w in ("wonderful", "moving")]
        r = sis.explain(lambda t: ["wonderful" in s or "moving" in s for s in t], texts, 0.5, labels=["good"] * 16)
        found = r.cluster(eps=0.5, min_size=3)
        self.assertEqual(sorted({s.names for k in range(len(found)) for s in found[k]}), [("moving",), ("wonderful",)])
        self.assertIn("16 subsets in 2 clusters", repr(found))
        folder = tempfile.mkdtemp()
        with open(r.report(folder + "/r.html"), encoding="utf-8") as f:
            self.assertIn("wonderful", f.read())
        self.assertIn("srcdoc", r._repr_html_())
        self.assertEqual(r.summary(1), [("moving", 8, 8)])
        self.assertEqual((r.compare(r)[0]["overlap"], r.compare(r).overlap), (1.0, 1.0))

    def test_comparisons(self):
        x = np.eye(3) + 1
        a = sis.explain(lambda rows: rows[:, 0], x, 1, mask="zero", ids="xyz")
        b = sis.explain(lambda rows: rows[:, 0] + rows[:, 1], x, 2.5, mask="zero", ids="xyz")
        found = a.compare(b[:2])
        self.assertEqual([r["id"] for r in found], ["x", "y"])
        self.assertEqual([(r["overlap"], r["same"], r["shared"]) for r in found], [(0.5, False, 0), (0.5, False, 0)])
        self.assertEqual(found.only, (["z"], []))
        self.assertEqual(found.features(), [("feature 1", 0, 2), ("feature 0", 2, 2)])
        self.assertIn("2 of 2 are decided alike, 0 have the same subsets", repr(found))
        self.assertTrue(all(r["same"] for r in a.compare(a)))

    def test_wrong_files(self):
        path = tempfile.mktemp()
        with open(path, "w") as f:
            f.write('{"sis":1}\n')
        with self.assertRaisesRegex(sis.Error, "line 1"):
            sis.load(path)
        with self.assertRaises(OSError):
            sis.load("/nowhere.jsonl")


class Domains(unittest.TestCase):
    """Proofs are about the same values as those of the program."""
    ROW = [40, 52000, 4000, 12000, 0, 3, 8, 0.15]

    def found(self, row, domain, background=None):
        r = sis.explain(os.path.join(SOURCE, "examples", "credit-trees.json"), np.array([row], float), 0.5, guarantee="all", domain=domain, background=background)
        return r[0].status, [sorted(s.features) for s in r[0].subsets]

    def program(self, row, domain, background=None):
        names = "age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used\n"
        with tempfile.TemporaryDirectory() as folder:
            def write(name, rows):
                with open(os.path.join(folder, name), "w") as f:
                    f.write(names + "".join(",".join("" if v != v else str(v) for v in r) + "\n" for r in rows))
                return f.name
            domain = "data:" + write("b.csv", background) if domain == "data" else domain
            out = subprocess.run([PROGRAM, "explain", "-q", "-m", os.path.join(SOURCE, "examples", "credit-trees.json"), "-i", write("x.csv", [row]),
                                  "-t", "0.5", "--guarantee", "all", "--domain", domain], capture_output=True, text=True, check=True).stdout
        record = json.loads(out.splitlines()[0])
        return record["status"], [sorted(s["features"]) for s in record["subsets"]]

    def test_they_are_those_of_the_program(self):
        nan, row = float("nan"), self.ROW
        gaps = [row, row[:4] + [nan] + row[5:]]
        for x, domain, background in ((row, "any", None), (row, "ball:2", None), ([nan] + row[1:], "ball:1", None), (row, "data", gaps),
                                      (row, "data", [row, [20, 1000, 9000, 0, 5, 9, 0, 1]]), (row, "data", [row[:4] + [nan] + row[5:]] * 2)):
            rows = None if background is None else np.array(background)
            self.assertEqual(self.found(x, domain, rows), self.program(x, domain, background), (x, domain))

    def test_empty_domains_are_refused(self):
        for low, high in (([1] * 8, [0] * 8), ([float("nan")] * 8, [1] * 8)):
            with self.assertRaisesRegex(sis.Error, "the range of value 0 is empty"):
                self.found(self.ROW, (low, high))


class Frames(unittest.TestCase):
    def setUp(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("needs pandas")
        self.pandas = pandas

    def test_categories_are_masked_by_one_that_exists(self):
        frame = self.pandas.DataFrame({"age": [20, 30, 45], "home": ["own", "rent", "rent"],
                                       "ok": [True, False, True]})
        seen = set()

        def model(rows):
            seen.update(rows["home"])
            self.assertEqual(list(rows.columns), ["age", "home", "ok"])
            return (rows["home"] == "own") * 0.6 + rows["age"] / 100
        r = sis.explain(model, frame, 0.75, background=frame)
        self.assertEqual(seen, {"own", "rent"})
        self.assertEqual(r[0].subsets[0].values, ("own",))
        self.assertEqual(r[0].data["value_names"][1:3], ["home=own", "home=rent"])
        table = r.to_pandas()
        self.assertEqual(list(table["names"])[0], ("home",))

    def test_columns_and_categories_may_have_equals_signs(self):
        frame = self.pandas.DataFrame({"speed=kmh": [50.0, 20.0], "fuel=kind": ["a=b", "c"]})
        r = sis.explain(lambda rows: (rows["fuel=kind"] == "a=b") * 0.6 + rows["speed=kmh"] / 100, frame, 0.9, background=frame[1:])
        found = dict(zip(r[0].subsets[0].names, r[0].subsets[0].values))
        self.assertEqual(found, {"speed=kmh": 50.0, "fuel=kind": "a=b"})

    def test_groups_of_columns_with_categories(self):
        pd = self.pandas
        people = pd.DataFrame({"income": [50.0, 20.0], "debt": [1.0, 9.0], "home": ["own", "rent"], "job": ["a", "b"]})
        back = pd.DataFrame({"income": [30.0], "debt": [5.0], "home": ["none"], "job": ["c"]})
        groups = {"money": ["income", "debt"], "life": ["home", "job"]}
        r = sis.explain(lambda rows: rows["income"] / 100 + (rows["home"] == "own") * (rows["job"] == "a"), people, 0.9,
                        mask=sis.HotDeck(back, samples=1), features=groups)
        self.assertEqual(r[0].subsets[0].names, ("life",))
        self.assertEqual(r[0].subsets[0].values, (("own", "a"),))
        self.assertIn("life = own, a", repr(r[0]))
        self.assertTrue(all(a["holds"] for a in r.verify()))
        with self.assertRaisesRegex(sis.Error, "iloc"):
            sis.explain(lambda rows: rows["income"], people.iloc[0], 0.9, background=people)

    def test_labels_go_by_order(self):
        """Also those of a Series whose index is another, as after a split."""
        pd = self.pandas
        frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[2, 0, 1])
        for labels in (pd.Series(["x", "y", "z"], index=[2, 0, 1]), pd.Series(["x", "y", "z"], index=[7, 8, 9])):
            r = sis.explain(lambda rows: rows["a"], frame, 1, mask=0, labels=labels, ids=labels)
            self.assertEqual([(e.id, e.label) for e in r], [("x", "x"), ("y", "y"), ("z", "z")])

    def test_types_of_columns(self):
        pd = self.pandas
        frame = pd.DataFrame({"count": pd.array([1, None, 4], dtype="Int64"), "ok": [True, False, True],
                              "maybe": pd.array([True, None, True], dtype="boolean"),
                              "size": pd.Categorical(["S", "L", "S"], categories=["S", "M", "L"])})
        seen = set()

        def model(rows):
            seen.update(str(t) for t in rows.dtypes)
            return rows["count"].fillna(0).astype(float) + rows["size"].cat.codes
        r = sis.explain(model, frame, 3, background=frame)
        self.assertEqual(seen, {"Int64", "Float64", "bool", "boolean", "category"})
        self.assertEqual([e.score for e in r], [1, 2, 4])
        self.assertEqual(r[2].data["value_names"][-3:], ["size=S", "size=M", "size=L"])
        for words, x, options in (("two columns", pd.DataFrame([[1, 2]], columns=["a", "a"]), {}),
                                  ("neither", pd.DataFrame({"a": [[1], [2, 3]]}), {}),
                                  ("categories", frame, dict(mask="zero")), ("categories", frame, dict(mask=2)),
                                  ("'XL'", frame, dict(mask=dict(count=1, ok=True, maybe=True, size="XL"))),
                                  ("no rows", frame, dict(background=frame[:0]))):
            with self.assertRaisesRegex(sis.Error, words):
                sis.explain(lambda rows: np.ones(len(rows)), x, 1, **dict(dict(background=x), **options))

    def test_frames_of_results_have_all_columns(self):
        r = sis.explain(lambda rows: rows[:, 0], np.ones((2, 2)), 5, mask=0)
        self.assertEqual(list(r.to_pandas()["names"].isna()), [True, True])
        self.assertEqual(len(r[:0].to_pandas()["names"]), 0)

    def test_records_of_version_1_are_read(self):
        path = tempfile.mkdtemp() + "/old.jsonl"
        sis.explain(lambda rows: rows[:, 0], np.ones((1, 2)), 5, mask=0).save(path)
        with open(path) as f:
            text = f.read()
        self.assertIn('"status":"not_decided"', text)
        with open(path, "w") as f:
            for new, name in (('"sis":2', '"sis":1'), ('"target":', '"output":'), ("not_decided", "below_threshold"),
                              ('"provenance":', '"made":')):
                self.assertIn(new, text)
                text = text.replace(new, name)
            f.write(text)
        old = sis.load(path)
        self.assertEqual(old.counts, {"not_decided": 1})
        self.assertIn("not decided", repr(old[0]))
        self.assertEqual(old[0].target, 0)
        self.assertTrue(old.provenance["version"])

    def mixed(self, n):
        rng = np.random.default_rng(5)
        frame = self.pandas.DataFrame({k: rng.normal(size=n) for k in "abcdef"})
        return frame.assign(home=rng.choice(["own", "rent", "none"], n))

    def test_rows_of_several_examples_are_one_call(self):
        frame, sizes, threads = self.mixed(300), [], set()

        def model(rows):
            sizes.append(len(rows))
            threads.add(threading.get_ident())
            return rows.a + rows.b - rows.c * rows.d + rows.e.abs() + (rows.home == "own")
        explainer = sis.Explainer(model, threshold=1.5, background=frame)
        r = explainer(frame)
        self.assertGreater(r.counts["explained"], 50)
        self.assertEqual([e.id for e in r], [str(i) for i in range(300)])
        evaluations = sum(e.evaluations for e in r)
        self.assertLess(len(sizes), evaluations / 30)  # one at a time: 20 rows at most
        self.assertEqual(threads, {threading.get_ident()})  # the caller's own
        self.assertTrue(all(a["holds"] for a in r.verify()))
        for i in range(0, 300, 50):  # as one at a time
            self.assertEqual([s["features"] for s in explainer(frame[i:i + 1])[0].data["subsets"]],
                             [s["features"] for s in r[i].data["subsets"]])
        del sizes[:]
        sis.explain(model, frame[:60], 1.5, background=frame, batch_size=7)
        self.assertLessEqual(max(sizes), 7)

    def test_what_ends_a_call_about_several_examples(self):
        frame, calls = self.mixed(200), []

        def failing(error, when):
            def model(rows):
                calls.append(len(rows))
                if len(calls) == when:
                    raise error
                return rows.a + rows.b
            return model
        for error, words in ((RuntimeError("too hot"), "too hot"), (KeyboardInterrupt(), "interrupted after")):
            for when in (3, 9):
                del calls[:]
                with self.assertRaisesRegex((RuntimeError, sis.Interrupted), words):
                    sis.explain(failing(error, when), frame, 0.5, background=frame)
                self.assertEqual(len(calls), when)  # nothing is asked afterwards
        del calls[:]
        with self.assertRaisesRegex(sis.Error, "returned NaN"):
            sis.explain(lambda rows: np.where((rows.a == 0) & (rows.b == 0), np.nan, rows.a + rows.b), frame, 0.5,
                        mask=dict(zip(frame, (0, 0, 0, 0, 0, 0, "own"))))

    def test_saved_records_are_what_the_library_writes(self):
        frame = self.mixed(40)
        r = sis.explain(lambda rows: rows.a + rows.b + (rows.home == "own"), frame, 1.0, background=frame,
                        ids=[',"start":1,"order":[%d],"trace":[2]' % i for i in range(40)], labels=['"order":[1'] * 40)
        r += sis.explain(lambda texts: [t.count("a") for t in texts], ['a "order":[ b', "", "c", "a a [1] trace"], 1)
        self.assertTrue(any(len(e.subsets) > 1 and b',"start":' in e.line for e in r))  # several traces, some with their start
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.jsonl")
            for trace in (False, True):
                with open(r.save(path, trace=trace) and path, "rb") as f:
                    self.assertEqual(f.readlines(), [_core.record_format(line, trace) for line in r.lines])

    def test_the_index_of_a_frame_names_its_rows(self):
        frame = self.pandas.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["x", "y", "z"])
        for part, ids in ((frame, "xyz"), (frame[1:], "yz"), (frame.set_axis([4, 4, 5]), "012"),
                          (frame.reset_index(drop=True)[1:], "12")):
            self.assertEqual([e.id for e in sis.explain(lambda rows: rows.a, part, 1, mask=0)], list(ids))
        self.assertEqual([e.id for e in sis.explain(lambda rows: rows.a, frame, 1, mask=0, ids="pqr")], list("pqr"))

    def test_each_example_may_have_a_threshold(self):
        from sklearn.tree import DecisionTreeRegressor
        frame = self.mixed(60)
        numbers = frame.drop(columns="home")
        limits = self.pandas.Series(np.linspace(0.2, 1.5, 60), index=range(60, 0, -1))
        tree = DecisionTreeRegressor(max_depth=6, random_state=0).fit(numbers, numbers.a + numbers.b - numbers.c)
        for model, X in ((lambda rows: rows.a + rows.b + (rows.home == "own"), frame), (tree, numbers),
                         (lambda rows: rows[:, 0] + rows[:, 1] - rows[:, 2], numbers.to_numpy())):
            r = sis.explain(model, X, limits, background=X)
            self.assertEqual([e.threshold for e in r], list(limits))  # by order
            self.assertGreater(min(r.counts["explained"], r.counts["not_decided"]), 4)
            for i in range(0, 60, 7):
                one = sis.explain(model, X[i:i + 1], limits.iloc[i], background=X)[0]
                self.assertEqual((one.status, one.data["subsets"]), (r[i].status, r[i].data["subsets"]))
            again = pickle.loads(pickle.dumps(r))
            self.assertTrue(all(a["holds"] for a in again.verify(model, X, background=X)))
        texts = sis.explain(lambda texts: [t.count("a") for t in texts], ["a a", "", "a"], [2, 3, 4])
        self.assertEqual([(e.threshold, e.status) for e in texts], [(2, "explained"), (3, "error"), (4, "not_decided")])
        for wrong in ([1, 2], np.zeros((60, 2)), [np.nan] * 60, np.nan):
            with self.assertRaisesRegex(sis.Error, "threshold"):
                sis.explain(tree, numbers, wrong, background=numbers)

    def test_values_and_masks_are_columns_of_the_frame(self):
        frame = self.pandas.DataFrame({"a=b": [1.0, 2.0, 3.0], "home": ["own", "rent", "a=b"], "only": ["x"] * 3})
        r = sis.explain(lambda rows: (rows["home"] != "own") * 1.0, frame, 1, background=frame,
                        mask=dict(zip(frame.columns, (0.0, "own", "x"))))
        self.assertEqual([list(e.values) for e in r], frame.values.tolist())
        self.assertEqual(list(r[1].mask_of()), [False, True, False])
        self.assertEqual(r[2].subsets[0].values, ("a=b",))
        two = frame[["a=b", "home"]].replace("a=b", "flat")
        r = sis.explain(lambda rows: (rows["home"] != "own") * 1.0, two, 1, background=two, features={"both": list(two)},
                        mask={"a=b": 0.0, "home": "own"})
        self.assertEqual([list(e.values) for e in r], two.values.tolist())
        self.assertEqual(list(r[1].mask_of()), [True, True])
        self.assertEqual(r[2].subsets[0].values, ((3.0, "flat"),))
        plain = sis.explain(lambda rows: rows["a=b"], frame[["a=b"]], 1, mask=0)[1]
        self.assertEqual((plain.values.dtype.kind, list(plain.values), list(plain.mask_of())), ("f", [2.0], [True]))

    def test_messages_say_what_is_wrong_with_a_frame(self):
        dates = self.pandas.date_range("2020-01-01", periods=3)
        frame = self.pandas.DataFrame({"a": [1.0, 2.0, 3.0], "home": ["own", "rent", "own"]})
        for column in (dates, dates - dates[0], dates.tz_localize("UTC"), dates.to_period("M")):
            with self.assertRaisesRegex(sis.Error, "'when' contains dates or times; replace it by numbers"):
                sis.explain(lambda rows: rows["a"], frame.assign(when=column), 1, background=frame)
        for background, words in ((frame[["home"]], "background: no column 'a'"),
                                  (frame.assign(a="x"), "background: column 'a': expected numbers"),
                                  (frame.assign(home=[[1]] * 3), "background: column 'home' contains neither"),
                                  (np.ones((2, 3)), "background: expected shape")):
            with self.assertRaisesRegex(sis.Error, words):
                sis.explain(lambda rows: rows["a"], frame, 1, background=background)

    def test_missing_values_reach_the_model(self):
        frame = self.pandas.DataFrame({"a": [1.0, np.nan], "b": ["x", None]})
        r = sis.explain(lambda rows: rows["a"].isna() * 1.0 + rows["b"].isna(), frame, 1.5,
                        mask=self.pandas.DataFrame({"a": [0.0], "b": ["x"]}), background=frame)
        self.assertEqual([e.status for e in r], ["not_decided", "explained"])
        self.assertTrue(np.isnan(r[1].values[0]))
        self.assertIn("a = missing", repr(r[1]))
        self.assertIn(None, r[1].subsets[0].values)

    def test_missing_words_arrive_as_they_were(self):
        """An encoder that was trained with NaN takes None for an unknown word."""
        import pandas as pd
        for missing in (np.nan, None, pd.NA):
            words = pd.DataFrame({"a": pd.Series(["x", missing, "y", missing], dtype=object), "n": [1, 2, 3, 4]})
            seen = set()

            def model(frame):
                seen.update(map(type, frame["a"][frame["a"].isna()]))
                return frame["a"].isna() + 0.1 * frame["n"]
            for rows, background in ((words, words), (words[:1], words)):
                sis.explain(model, rows, 1.1, mask={"a": "y", "n": 0.0}, background=background)
                self.assertLessEqual(seen, {type(missing)})
            self.assertTrue(seen)


class Scikit(unittest.TestCase):
    def setUp(self):
        try:
            import sklearn  # noqa: F401
        except ImportError:
            self.skipTest("needs scikit-learn")

    def test_labels_that_are_numbers_are_no_positions(self):
        from sklearn.linear_model import LogisticRegression, Perceptron
        from sklearn.ensemble import ExtraTreesClassifier
        rng = np.random.default_rng(2)
        x = rng.normal(size=(200, 3))
        y = 1 + (x[:, 0] > 0)
        for model in (LogisticRegression(), ExtraTreesClassifier(10, random_state=0)):
            model.fit(x, y)
            scores = model.predict_proba(x[:5])
            for options, column in (({"target": 1}, 0), ({"target": 2}, 1), ({"target": "2"}, 1), ({"target": y[0]}, y[0] - 1),
                                    ({"target_index": 1}, 1), ({"target_index": 0}, 0)):
                r = sis.explain(model, x[:5], 0.7, mask="zero", **options)
                np.testing.assert_allclose([e.score for e in r], scores[:, column], atol=1e-6)
                self.assertEqual({e.target_label for e in r}, {str(column + 1)})
            r = sis.explain(model, x[:5], 0.5, mask="zero", target=list(y[:5]))
            self.assertEqual([e.target for e in r], list(y[:5] - 1))
            again = sis.Results(r.lines)  # results from a file: checked for the outputs that they name
            self.assertTrue(all(a["holds"] for a in again.verify(model, x[:5], mask="zero")))
            for wrong, words in (({"target": 0}, "1, 2.*target_index"), ({"target": 3}, "no such label"),
                                 ({"target_index": 2}, "0 to 1"), ({"target_index": "1"}, "position"),
                                 ({"target": 1, "target_index": 0}, "one of them")):
                with self.assertRaisesRegex(sis.Error, words):
                    sis.explain(model, x[:5], 0.7, mask="zero", **wrong)
            with self.assertRaisesRegex(TypeError, "output"):
                sis.explain(model, x[:5], 0.7, mask="zero", output=1)
        margin = Perceptron().fit(x, y)  # one score, of the second class
        self.assertEqual(sis.explain(margin, x[:5], 0, mask="zero", target=2)[0].target, 0)
        with self.assertRaisesRegex(sis.Error, "no such label"):
            sis.explain(margin, x[:5], 0, mask="zero", target=1)

    def test_names_of_targets_are_given(self):
        x = np.array([[3.0, 1.0], [0.0, 2.0]])
        names = dict(mask="zero", target_names=["left", "right"])
        r = sis.explain(lambda rows: rows, x, 1, target="right", **names)
        self.assertEqual([(e.target, e.target_label) for e in r], [(1, "right")] * 2)
        self.assertEqual([e.target_label for e in sis.explain(lambda rows: rows, x, 1, **names)], ["left", "right"])
        one = sis.explain(lambda rows: rows[:, 0], x, 1, target="right", **names)  # the score of the second
        self.assertEqual([(e.target, e.target_label) for e in one], [(0, "right")] * 2)
        for wrong, words in ((dict(target="up"), "left, right"), (dict(target_names=["a", "b", "c"]), "3 names for 2 outputs"),
                             (dict(target_names=["a", "a"]), "same name")):
            with self.assertRaisesRegex(sis.Error, words):
                sis.explain(lambda rows: rows, x, 1, **dict(names, **wrong))

    def test_classes_of_boosters_are_labels(self):
        def booster(classes):
            return type("LGBMClassifier", (), {"classes_": np.array(classes)})()
        self.assertEqual(_models.booster_labels(booster([1, 2])), ["2"])
        self.assertEqual(_models.booster_labels(booster([3, 5, 9])), ["3", "5", "9"])
        self.assertIsNone(_models.booster_labels(object()))

    def test_pipeline_over_mixed_columns(self):
        import pandas
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
        rng = np.random.default_rng(6)
        frame = pandas.DataFrame({"income": rng.normal(50, 10, 200), "debt": rng.normal(10, 5, 200),
                                  "home": rng.choice(["own", "rent"], 200)})
        y = (frame.income - frame.debt + 20 * (frame.home == "own") > 48).map({True: "yes", False: "no"})
        model = make_pipeline(make_column_transformer((OneHotEncoder(), ["home"]),
                                                      (StandardScaler(), ["income", "debt"])),
                              LogisticRegression()).fit(frame, y)
        r = sis.explain(model, frame[:20], 0.8, background=frame, target="yes")
        self.assertGreater(r.counts["explained"], 3)
        base = {"income": frame.income.mean(), "debt": frame.debt.mean(), "home": frame.home.mode()[0]}
        for i, e in enumerate(r):
            for s in e.subsets:
                row = dict(base, **{n: frame.iloc[i][n] for n in s.names})
                self.assertGreaterEqual(model.predict_proba(pandas.DataFrame([row]))[0, 1], 0.8)

    def test_pipelines_are_walked_behind_their_encoders(self):
        import pandas
        from sklearn import compose, decomposition, ensemble, impute, linear_model, pipeline, preprocessing, tree
        rng = np.random.default_rng(16)
        frame = pandas.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "n": rng.integers(0, 9, 300),
                                  "unused": rng.normal(size=300), "home": rng.choice(["own", "rent", "other"], 300),
                                  "job": rng.choice(list("uvwxyz"), 300)})
        y = frame.a + frame.b * (frame.home == "own") + (frame.job < "w") + 0.2 * frame.n > 2
        holes = frame.assign(a=frame.a.where(rng.random(300) < 0.9))
        encoded = [preprocessing.OneHotEncoder(), preprocessing.OneHotEncoder(drop="first"), preprocessing.OrdinalEncoder()]
        scaled = [preprocessing.StandardScaler(), preprocessing.KBinsDiscretizer(4), preprocessing.MinMaxScaler()]
        last = [ensemble.GradientBoostingClassifier(n_estimators=15), linear_model.LogisticRegression(),
                ensemble.RandomForestClassifier(9, random_state=0), ensemble.HistGradientBoostingClassifier(max_iter=15),
                tree.DecisionTreeClassifier(max_depth=4)]
        explained = 0
        for k, final in enumerate(last):
            data = frame if k % 2 else holes
            first = pipeline.make_pipeline(impute.SimpleImputer(), scaled[k % 3])
            model = pipeline.make_pipeline(compose.make_column_transformer(
                (encoded[k % 3], ["home", "job"]), (first, ["a", "b", "n"])), final).fit(data, y)
            for options in ({}, {"mask": sis.HotDeck(samples=3)}, {"features": [["a", "home"], ["b"], ["n", "unused"], ["job"]]}):
                explainer = sis.Explainer(model, background=data, threshold=0.5, target="True", **options)
                r, called = explainer(data[:40]), sis.explain(model, data[:40], 0.5, background=data, target="True",
                                                              convert=False, **options)
                self.assertIn("walked behind encoders", explainer.engine)
                self.assertEqual([s.features for e in r for s in e], [s.features for e in called for s in e])
                for key in ("values", "mask", "names", "value_names", "feature_map", "shape", "n_features"):
                    self.assertEqual([e.data.get(key) for e in r], [e.data.get(key) for e in called], key)
                self.assertTrue(all(a["holds"] for a in r.verify()))
                explained += r.counts.get("explained", 0)
        self.assertGreater(explained, 30)
        mixes = pipeline.make_pipeline(decomposition.PCA(2), linear_model.LogisticRegression()).fit(frame[["a", "b"]], y)
        explainer = sis.Explainer(mixes, background=frame[["a", "b"]], threshold="p70", target="True")
        explainer(frame[["a", "b"]][:20])
        self.assertEqual(explainer.engine, "predict_proba, called in batches: its encoders mix columns")

    def test_pipelines_whose_encoders_were_misjudged_are_asked_themselves(self):
        import pandas
        from sklearn import linear_model, pipeline, preprocessing
        rng = np.random.default_rng(17)
        frame = pandas.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))

        def rarely(rows):  # depends on two columns, in rows that are not among the probes
            rows = np.array(rows)
            rows[:, 0] += 50 * (np.abs(rows[:, 1]) < 0.05) * (np.abs(rows[:, 2]) > 0.1)
            return rows
        model = pipeline.make_pipeline(preprocessing.FunctionTransformer(rarely), linear_model.LogisticRegression())
        model.fit(frame, frame.sum(axis=1) > 0)
        r = sis.explain(model, frame[:80], 0.7, background=frame, target="True")
        called = sis.explain(model, frame[:80], 0.7, background=frame, target="True", convert=False)
        self.assertEqual([[s.features for s in e] for e in r], [[s.features for s in e] for e in called])

    def models(self):
        from sklearn import ensemble, linear_model, tree
        rng = np.random.default_rng(13)
        x = rng.normal(size=(300, 6)).round(2)
        two, three = (x[:, 0] + x[:, 1] ** 2 > 1).astype(int), np.digitize(x[:, 0] - x[:, 2], [-1, 1])
        for y in (two, three):
            for kind in (tree.DecisionTreeClassifier(max_depth=4), ensemble.RandomForestClassifier(15),
                         ensemble.ExtraTreesClassifier(10), ensemble.GradientBoostingClassifier(n_estimators=15),
                         ensemble.HistGradientBoostingClassifier(max_iter=15), linear_model.LogisticRegression()):
                yield kind.fit(x, y), x
        for kind in (tree.DecisionTreeRegressor(max_depth=4), ensemble.RandomForestRegressor(15),
                     ensemble.GradientBoostingRegressor(n_estimators=15), linear_model.Ridge(),
                     ensemble.HistGradientBoostingRegressor(max_iter=15)):
            yield kind.fit(x, x[:, 0] * 2 - x[:, 1]), x

    def test_trees_and_linear_models_are_walked(self):
        for model, x in self.models():
            call = _models.sklearn_call(model)[0]
            own = _models.model_for(model, x[:32], rows=x[:32])
            self.assertIn("walked", own.engine, type(model).__name__)
            core = own.bind(None, x[0])
            got = np.frombuffer(core.predict(x, len(x))).reshape(len(x), -1)
            np.testing.assert_allclose(got, np.reshape(call(x), (len(x), -1)), rtol=1e-5, atol=1e-6)

    def test_walked_and_called_explain_alike(self):
        for model, x in list(self.models())[1::4]:
            call = _models.sklearn_call(model)[0]
            threshold = "p80"
            own = sis.explain(model, x[:6], threshold, background=x)
            called = sis.explain(lambda rows: call(rows), x[:6], threshold, background=x)
            self.assertEqual([[sorted(s.features) for s in e] for e in own],
                             [[sorted(s.features) for s in e] for e in called], type(model).__name__)
            self.assertTrue(all(a["holds"] for a in own.verify()))

    def test_frames_of_numbers_are_walked_like_arrays(self):
        import pandas
        for model, x in list(self.models())[::3]:
            frame = pandas.DataFrame(x, columns=list("abcdef"))
            model.fit(frame, model.predict(x))
            call, asked = _models.sklearn_call(model)[0], []
            setattr(model, call.__name__, lambda rows: (asked.append(rows), call(rows))[1])
            explainer = sis.Explainer(model, threshold="p70", background=frame)
            r = explainer(frame[:8])
            self.assertIn("walked", explainer.engine, type(model).__name__)
            self.assertTrue(all(list(rows.columns) == list("abcdef") for rows in asked))  # the model itself has the last word
            claimed = sum(len(e.subsets) for e in r)
            self.assertGreater(claimed, 0)
            self.assertGreater(sum(map(len, asked)), claimed)
            called = sis.explain(lambda rows: call(rows), frame[:8], "p70", background=frame)
            self.assertEqual([[sorted(s.names) for s in e] for e in r], [[sorted(s.names) for s in e] for e in called])
            self.assertTrue(all(a["holds"] for a in r.verify()))

    def test_frames_that_an_estimator_sees_as_other_numbers_are_not_walked(self):
        import pandas
        from sklearn.linear_model import LogisticRegression
        rng = np.random.default_rng(8)
        frame = pandas.DataFrame(rng.integers(0, 3, (90, 3)), columns=list("abc"))
        model = LogisticRegression().fit(frame, frame.a > 0)
        with self.assertRaisesRegex(ValueError, "feature names"):
            sis.explain(model, frame[["b", "a", "c"]], 0.6, background=frame)
        named = frame.assign(b=(frame.b + 10).astype("category"))  # 10, 11, 12 are 0, 1, 2 to the library
        explainer = sis.Explainer(model.fit(named, frame.a > 0), threshold=0.6, background=named)
        self.assertEqual(explainer(named[:20]).counts.get("error"), None)
        self.assertEqual(explainer.engine, "predict_proba, called in batches")
        # a copy that answers otherwise for what is masked is given up
        whole = LogisticRegression().fit(frame, frame.a > 0)
        itself = whole.predict_proba
        whole.predict_proba = lambda rows: itself(rows) * (1 - 0.3 * (rows.to_numpy() % 1 != 0).any(axis=1)[:, None])
        explainer = sis.Explainer(whole, threshold=0.6, background=frame)
        r = explainer(frame[:20])
        self.assertIn("its converted copy answers differently", explainer.engine)
        called = sis.explain(whole, frame[:20], 0.6, background=frame, convert=False)
        self.assertEqual([e.data["subsets"] for e in r], [e.data["subsets"] for e in called])

    def test_thresholds_of_single_precision(self):
        from sis._convert import at_most
        rng = np.random.default_rng(14)
        t = np.concatenate([rng.normal(size=1000), rng.normal(size=1000).astype(np.float32), [0.0, 1.0, -2.5]])
        limit = at_most(t)
        for x in (limit, np.nextafter(limit, np.inf), np.nextafter(limit, -np.inf), t):
            np.testing.assert_array_equal(x <= limit, x.astype(np.float32) <= t)


class Boosters(unittest.TestCase):
    def test_xgboost(self):
        try:
            import xgboost
        except ImportError:
            self.skipTest("needs XGBoost")
        rng = np.random.default_rng(15)
        x = rng.normal(size=(400, 8))
        x[rng.random(x.shape) < 0.1] = np.nan
        y = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) > 0.5
        model = xgboost.XGBClassifier(n_estimators=20, max_depth=3).fit(x, y)
        explainer = sis.Explainer(model, mask=np.nan, threshold=0.8)
        r = explainer(x[:50])
        self.assertIn("walked", explainer.engine)
        np.testing.assert_allclose([e.score for e in r], model.predict_proba(x[:50])[:, 1], atol=1e-6)
        self.assertGreater(r.counts["explained"], 5)
        self.assertTrue(all(a["holds"] for a in r.verify()))

    def test_xgboost_answers_as_it_does_itself(self):
        """Stopped early, with a number for missing, with categories that are not in alphabetical order."""
        try:
            import pandas
            import xgboost
        except ImportError:
            self.skipTest("needs XGBoost and pandas")
        rng = np.random.default_rng(18)
        x = rng.normal(size=(300, 3))
        y = (x[:, 0] + 2 * rng.normal(size=300) > 0).astype(int)
        early = xgboost.XGBClassifier(n_estimators=40, learning_rate=0.5, early_stopping_rounds=2, n_jobs=1)
        early.fit(x[:150], y[:150], eval_set=[(x[150:], y[150:])], verbose=False)
        self.assertLess(early.best_iteration, early.get_booster().num_boosted_rounds() - 1)
        holes = np.where(rng.random(x.shape) < 0.3, -999, x)
        table = pandas.DataFrame({"x": x[:, 0], "c": pandas.Categorical(
            rng.choice(["red", "green", "amber"], 300), categories=["red", "green", "amber"])})
        options = dict(n_estimators=10, max_depth=3, n_jobs=1)
        coloured = xgboost.XGBClassifier(tree_method="hist", enable_categorical=True, max_cat_to_onehot=1, **options)
        coloured.fit(table, (table.c == "red") | (table.x > 1))
        for model, data, engine in ((early, x, "walked"), (coloured, table, "walked"),
                                    (coloured.get_booster(), table, "walked"),
                                    (xgboost.XGBClassifier(missing=-999, **options).fit(holes, y), holes, "xgboost, called")):
            explainer = sis.Explainer(model, background=data, threshold=0.5)
            r = explainer(data[:40])
            self.assertIn(engine, explainer.engine)
            want = (coloured if data is table else model).predict_proba(data[:40])[:, 1]
            np.testing.assert_allclose([e.score for e in r], want, atol=1e-5)
        with self.assertRaisesRegex(sis.Error, "trained on x, c"):
            sis.explain(coloured, table[["c", "x"]], 0.5, background=table)

    def test_lightgbm(self):
        """Boosters say themselves as text; of the library itself only that and predict are needed."""
        try:
            from sklearn.ensemble import GradientBoostingClassifier
        except ImportError:
            self.skipTest("needs scikit-learn")
        from sis._convert import converted
        rng = np.random.default_rng(17)
        x = rng.normal(size=(300, 6))
        model = GradientBoostingClassifier(n_estimators=15, random_state=0).fit(x, np.digitize(x[:, 0] + x[:, 1], [0, 3]))
        text = converted(model)[0].decode()
        booster = type("Booster", (), {"__module__": "lightgbm.basic", "model_to_string": lambda self: text,
                                       "predict": lambda self, rows: model.predict_proba(rows)})()
        wrapper = type("LGBMClassifier", (), {"__module__": "lightgbm.sklearn", "booster_": booster,
                                              "predict_proba": lambda self, rows: model.predict_proba(rows)})()
        for given in (booster, wrapper):
            explainer = sis.Explainer(given, mask="mean", background=x, threshold=0.8, target=1)
            r = explainer(x[:30])
            self.assertIn("walked", explainer.engine)
            np.testing.assert_allclose([e.score for e in r], model.predict_proba(x[:30])[:, 1], atol=1e-6)
            self.assertGreater(r.counts["explained"], 3)
            self.assertTrue(all(a["holds"] for a in r.verify()))

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime cannot catch PyTorch's exceptions")
    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("needs PyTorch")
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(1))
        x = np.random.default_rng(16).normal(size=(10, 6)).astype(np.float32)
        explainer = sis.Explainer(model, mask="zero", threshold=0.6)
        r = explainer(x)
        self.assertEqual(explainer.engine, "network, walked")
        with torch.no_grad():
            np.testing.assert_allclose([e.score for e in r], model(torch.tensor(x)).max(1).values, atol=1e-5)

        class Odd(nn.Module):
            def forward(self, rows):
                return torch.tensor([float(r.sum()) for r in rows])
        odd = sis.Explainer(Odd(), mask="zero", threshold=1)
        odd(x)
        self.assertIn("called one input at a time", odd.engine)
        model.train()
        model[1].eval()                        # a part that is not trained any more stays so
        sis.explain(model, x, 0.6, mask="zero")
        self.assertEqual([m.training for m in model], [True, False, True, True])

        class Two(nn.Linear):
            def forward(self, rows):
                return super().forward(rows), rows
        two = Two(6, 1)
        with self.assertRaisesRegex(sis.Error, "returned tuple"):
            sis.explain(two, x, 0, mask="zero")
        self.assertTrue(two.training)
        r = sis.explain(nn.Linear(6, 1).bfloat16(), torch.tensor(x).bfloat16().requires_grad_(), 0, mask="zero")
        self.assertEqual(len(r), 10)


def claims_hold(test, model, x, mask, r):
    """Ask `model`, a function of one example, about everything that the records claim."""
    for values, e in zip(x, r):
        def reaches(features):
            row = np.where(np.isin(np.arange(len(values)), list(features)), values, mask).astype(x.dtype)
            return bool(oracle.decided(model(row), e.threshold, e.below))
        everything = set(range(len(values)))
        test.assertEqual(e.status, "not_decided" if not reaches(everything) else
                         "default_decision" if reaches(()) else "explained")
        rest = everything - {f for s in e for f in s.features}
        for s in e:
            test.assertTrue(reaches(s.features))
            test.assertFalse(any(reaches(set(s.features) - {f}) for f in s.features))
        test.assertTrue(e.status != "explained" or not reaches(rest))
        test.assertTrue(e.verified)


@unittest.skipIf(SANITIZED, "the sanitizer's runtime cannot catch PyTorch's exceptions")
class TorchModules(unittest.TestCase):
    """Copies of modules: whatever is claimed holds for the module itself."""

    def setUp(self):
        try:
            import torch
        except ImportError:
            self.skipTest("needs PyTorch (python3-torch)")
        self.torch = torch
        torch.manual_seed(0)
        self.x = np.random.default_rng(20).normal(size=(20, 6)).astype(np.float32) + np.float32(0.5)

    def explain(self, module, x, threshold, **options):
        """Results, the engine and what was warned of; the claims are checked."""
        import warnings
        explainer = sis.Explainer(module, mask=0, threshold=threshold, **options)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            r = explainer(x)

        def alone(row):
            with self.torch.no_grad():
                return float(module(self.torch.tensor(row[None])).ravel()[r[0].target])
        claims_hold(self, alone, x, np.zeros(x.shape[1], dtype=x.dtype), r)
        self.assertTrue(all(a["holds"] for a in r.verify()))
        return r, explainer.engine, [w for w in said if w.category is self.torch.jit.TracerWarning]

    def test_a_branch(self):
        torch = self.torch

        class Branch(torch.nn.Module):
            def forward(self, rows):
                if rows.sum() > 3:
                    return torch.sigmoid(rows.sum(1) - 3)
                return torch.full((len(rows),), 0.99)
        x = np.abs(self.x) + 1
        r, engine, warned = self.explain(Branch(), x, 0.6)
        self.assertEqual((r[0].status, round(r[0].masked_score, 2)), ("default_decision", 0.99))
        self.assertIn("its converted copy answers differently", engine)
        self.assertTrue(warned)
        for options in ({"convert": False}, {"exact": True}):
            r, engine, warned = self.explain(Branch(), x, 0.6, **options)
            self.assertEqual(r.counts["default_decision"], 20)
            self.assertTrue(engine.startswith("torch, called one input at a time"))
            self.assertNotIn("copy", engine)

    def test_a_branch_that_only_subsets_reach(self):
        """Input and mask are as in the copy: only the claims about subsets tell."""
        torch = self.torch

        class Bump(torch.nn.Module):
            def forward(self, rows):
                if int((rows != 0).sum()) in (1, 2):
                    return rows.sum(1) * 0 - 1
                return rows.clamp(min=0).sum(1)
        r, engine, _ = self.explain(Bump(), np.abs(self.x) + 1, 2)
        self.assertGreater(r.counts["explained"], 0)
        self.assertIn("its converted copy answers differently", engine)

    def test_trimmed_padding(self):
        torch = self.torch

        class Trims(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.out = torch.nn.Embedding(12, 5), torch.nn.Linear(5, 1)

            def forward(self, ids):
                n = max(1, int((ids != 0).sum(1).max()))
                return torch.sigmoid(self.out(torch.relu(self.embed(ids[:, :n])).mean(1)))[:, 0]
        ids = np.random.default_rng(21).integers(1, 12, size=(20, 7))
        for threshold in (0.4, 0.5, 0.6):
            self.explain(Trims(), ids, threshold)

    def test_integers_arrive_as_integers(self):
        torch = self.torch
        seen = set()

        class Ids(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(10, 3)

            def forward(self, ids):
                seen.add(ids.dtype)
                return self.embed(ids).sum((1, 2))
        ids = np.random.default_rng(22).integers(0, 10, size=(5, 4))
        for kind, want in ((np.int64, torch.int64), (np.int32, torch.int32), (np.uint8, torch.int64)):
            for convert in (True, False):
                seen.clear()
                explainer = sis.Explainer(Ids(), mask=0, threshold=1, convert=convert)
                explainer(ids.astype(kind))
                self.assertEqual(seen, {want})
                self.assertNotIn("copy", explainer.engine)
        with self.assertRaisesRegex(sis.Error, "takes integers.* 0.5: give a mask of whole numbers"):
            sis.explain(Ids(), ids, 1, mask=0.5, convert=False)
        pixels = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0))  # takes floats only
        self.assertEqual(len(sis.explain(pixels, ids.astype(np.uint8), 0, mask="zero")), 5)

    def test_control_flow_of_all_kinds(self):
        """Random modules that branch, loop and cut by what they are given."""
        torch = self.torch

        class Random(torch.nn.Module):
            def __init__(self, seed):
                super().__init__()
                self.rng = np.random.default_rng(seed)
                self.how, self.at = int(self.rng.integers(5)), float(self.rng.normal())
                self.one, self.two = torch.nn.Linear(6, 1), torch.nn.Linear(6, 1)

            def forward(self, rows):
                if self.how == 0:
                    return (self.one if float(rows.sum()) > self.at else self.two)(rows)[:, 0]
                if self.how == 1:
                    for _ in range(int((rows != 0).sum()) % 3):
                        rows = torch.tanh(rows + self.at)
                elif self.how == 2:
                    n = max(1, int((rows[0] != 0).sum()))
                    return rows[:, :n].mean(1) * self.at
                elif self.how == 3:
                    while rows.norm() > 2:
                        rows = rows / 2
                elif rows.max().item() > 1.5:
                    rows = -rows
                return self.one(rows)[:, 0]
        for seed in range(40):
            module = Random(seed)
            with torch.no_grad():
                threshold = float(np.median([float(module(torch.tensor(row[None]))) for row in self.x]))
            self.explain(module, self.x[:8], threshold)


class Copies(unittest.TestCase):
    """Estimators and boosters that answer differently from what is made of them, where X does not show it."""

    def check(self, model, verb, x, **options):
        """`model` with another answer where most values are masked."""
        whole = getattr(model, verb)

        def other(rows):
            rows = np.asarray(getattr(rows, "get_data", lambda: rows)())
            y = np.array(whole(rows))
            y[(rows == 0).sum(axis=1) > 3] *= 0.5
            return y
        explainer = sis.Explainer(model, mask="zero", threshold=0.6, **options)
        self.assertGreater(explainer(x).counts["explained"], 3)
        self.assertIn("walked", explainer.engine)
        setattr(model, verb, other)
        explainer = sis.Explainer(model, mask="zero", threshold=0.6, **options)
        r = explainer(x)
        self.assertIn("its converted copy answers differently", explainer.engine)
        self.assertTrue(all(a["holds"] for a in r.verify()))
        claims_hold(self, lambda row: np.ravel(other(row[None]))[-1], x, np.zeros(x.shape[1]), r)
        for how in ({"convert": False}, {"exact": True}):
            explainer = sis.Explainer(model, mask="zero", threshold=0.6, **how, **options)
            same = explainer(x)
            self.assertRegex(explainer.engine, "called in batches$")
            self.assertEqual([[s.features for s in e] for e in same], [[s.features for s in e] for e in r])

    def setUp(self):
        rng = np.random.default_rng(23)
        self.x = rng.normal(size=(300, 6))
        self.y = (self.x[:, 0] + self.x[:, 1] + 0.3 * self.x[:, 2] > 0.7).astype(int)

    def test_scikit_learn(self):
        try:
            from sklearn.ensemble import RandomForestClassifier
            from sklearn.linear_model import LogisticRegression
        except ImportError:
            self.skipTest("needs scikit-learn")
        for model in (RandomForestClassifier(n_estimators=9, random_state=0), LogisticRegression()):
            self.check(model.fit(self.x, self.y), "predict_proba", self.x[:30], target_index=1)

    def test_xgboost(self):
        try:
            import xgboost
        except ImportError:
            self.skipTest("needs XGBoost")
        model = xgboost.XGBClassifier(n_estimators=9, max_depth=3, n_jobs=1).fit(self.x, self.y)
        self.check(model, "predict_proba", self.x[:30])

    def test_lightgbm(self):
        try:
            from sklearn.ensemble import GradientBoostingRegressor
        except ImportError:
            self.skipTest("needs scikit-learn")
        from sis._convert import converted
        model = GradientBoostingRegressor(n_estimators=9, random_state=0).fit(self.x, self.y)
        text = converted(model)[0].decode()
        booster = type("Booster", (), {"__module__": "lightgbm.basic", "model_to_string": lambda self: text,
                                       "predict": lambda self, rows: model.predict(rows)})()
        self.check(booster, "predict", self.x[:30])

    def test_no_proof_about_another_model(self):
        try:
            import xgboost
        except ImportError:
            self.skipTest("needs XGBoost")
        model = xgboost.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1).fit(self.x, self.y)
        r = sis.explain(model, self.x[:5], 0.5, guarantee="all")
        self.assertTrue(all(a["holds"] for a in r.verify()))
        whole, given = model.predict_proba, {tuple(row) for row in self.x[:5]}
        model.predict_proba = lambda rows: np.array(whole(rows)) * [[1 if tuple(row) in given else 0.5] for row in rows]
        with self.assertRaisesRegex(sis.Error, "returns other scores, so it cannot prove anything"):
            sis.explain(model, self.x[:5], 0.5, guarantee="all")


class Lifetimes(unittest.TestCase):
    def test_threads(self):
        x = np.eye(4)[np.random.default_rng(7).integers(0, 4, (6, 101))].transpose(0, 2, 1)
        model = os.path.join(SOURCE, "models", "dna-ctcf.onnx")
        explainer = sis.Explainer(model, mask=0.25, threshold=0.01, axis=0, jobs=1, below=False)
        want = lines_without_seconds(b"".join(explainer(x).lines))
        answers = []

        def work():
            answers.append(lines_without_seconds(b"".join(explainer(x).lines)))
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(answers, [want] * 8)

    def test_callables_on_several_threads(self):
        x = np.random.default_rng(8).random((20, 12))
        one, many = [sis.explain(lambda rows: rows.sum(axis=1), x, 3, mask="zero", jobs=j) for j in (1, 4)]
        self.assertEqual([[s.features for s in e] for e in one], [[s.features for s in e] for e in many])

    def test_no_leak(self):
        x = np.random.default_rng(9).random((1, 8))
        explainer = sis.Explainer(lambda rows: rows.sum(axis=1), mask="zero", threshold=2)

        def grown(explain, times):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(times):
                explain(x)
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        for explain, times in ((explainer, 10000), (lambda x: sis.explain(sum_of_rows(), x, 2, mask="zero"), 3000)):
            grown(explain, 300)
            self.assertLess(grown(explain, 300 if SANITIZED else times), 20000 if SANITIZED else 3000)  # KiB

    def test_models_go_with_what_they_hold(self):
        model = sum_of_rows()
        gone = weakref.ref(model)
        sis.explain(model, np.ones((1, 8)), 2, mask="zero")
        del model
        gc.collect()
        self.assertIsNone(gone())

    def test_copies(self):
        x = np.random.default_rng(19).random((3, 1))
        network = os.path.join(SOURCE, "models", "mnist-mlp.onnx")
        for model, rows, asked in ((np.ravel, x, dict(mask=0)),
                                   (network, np.ones((1, 28, 28)), dict(mask=0, features=sis.Grid(patch=4)))):
            explainer = sis.Explainer(model, threshold=0.1, **asked)
            r = explainer(rows)
            for again in (copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))):
                self.assertEqual(again(r), r)
                self.assertEqual(again(r).provenance, r.provenance)
                self.assertEqual(again(r).verify(model, rows, **asked), r.verify())
                self.assertEqual(lines_without_seconds(again(explainer)(rows).lines[0]), lines_without_seconds(r.lines[0]))

    def test_loaded_results_that_keep_a_class_are_verified(self):
        def model(rows):
            return np.c_[rows.sum(axis=1), np.full(len(rows), 2.0)]
        r = sis.explain(model, np.eye(3) * 5, keep="class", mask=0)
        self.assertEqual(r.counts, {"explained": 3})
        for options in ({}, {"keep": "class"}):
            self.assertEqual(copy.deepcopy(r).verify(model, np.eye(3) * 5, mask=0, **options), r.verify())
        self.assertIn("ahead by 3 for output 0   1 sufficient subset", str(r[0]))
        masked = sis.explain(model, np.eye(3) * 5, keep="class", mask=4)[0]
        self.assertIn("ahead by 3 for output 0   decided by default", str(masked))
        page = masked._repr_html_()
        self.assertIn("Take another mask, or ask about another output.", page)
        self.assertNotIn("threshold", page[page.index("Even with everything"):page.index("another output")])

    @unittest.skipIf(SANITIZED, "slow to fork")
    def test_forked_processes_do_not_share_a_program(self):
        explainer = sis.Explainer("cmd:" + shlex.quote(os.path.join(SOURCE, "examples", "credit.sh")), mask="zero", threshold=0.5)
        rows = np.array([[34, 52000, 4000, 12000, 0, 3, 8, 0.15]]) * (1 + 0.1 * np.arange(4)[:, None])
        want = [e.score for e in explainer(rows)]

        def work(queue):
            queue.put([[e.score for e in explainer(rows)] for _ in range(3)])
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        workers = [context.Process(target=work, args=(queue,), daemon=True) for _ in range(3)]
        for w in workers:
            w.start()
        try:
            self.assertEqual([queue.get(timeout=30) for _ in workers], [[want] * 3] * 3)
        finally:
            for w in workers:
                w.terminate()
                w.join()
        self.assertEqual([e.score for e in explainer(rows)], want)

    def test_interrupt_keeps_what_was_found(self):
        calls = 0

        def interrupting(rows):
            nonlocal calls
            calls += 1
            if calls == 300:
                os.kill(os.getpid(), signal.SIGINT)
            return rows.sum(axis=1)
        with self.assertRaises(sis.Interrupted) as caught:
            sis.explain(interrupting, np.random.default_rng(10).random((10000, 4)), 1, mask="zero")
        self.assertGreater(len(caught.exception.results), 0)

    def test_interrupt_of_a_network(self):
        name = "mnist-mlp.onnx" if SANITIZED else "mnist-cnn.onnx"
        x = np.random.default_rng(11).random((500, 28, 28))
        began = time.monotonic()
        timer = threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(sis.Interrupted):
            sis.explain(os.path.join(SOURCE, "models", name), x, 0.01, mask="zero", jobs=1, target_index=0)
        self.assertLess(time.monotonic() - began, 60)


class Texts(unittest.TestCase):
    def test_a_nul_ends_no_text(self):
        r = sis.explain(lambda texts: [float("b" in t) for t in texts], ["a\0x b c"], 1)
        self.assertEqual(r[0].subsets[0].names, ("b",))
        with self.assertRaisesRegex(ValueError, "null"):
            sis.explain(os.path.join(SOURCE, "models", "imdb-cnn.onnx"), ["good\0 bad"], 0.8)


    def test_a_text_without_words_is_an_error_of_its_own(self):
        def model(texts):
            return [len(t) for t in texts]
        cnn = os.path.join(SOURCE, "models", "imdb-cnn.onnx")
        texts = ["", "A wonderful film", "!!", " ", "A bore", ""]
        for asked, threshold in ((model, 5), (cnn, 0.5)):
            r = sis.explain(asked, texts, threshold, labels=list("abcdef"), target_index=[0] * 6 if asked is model else 0)
            self.assertEqual([e.status == "error" for e in r], [True, False, True, True, False, True])
            self.assertEqual([e.id for e in r], list("012345"))
            self.assertEqual([e.label for e in r], list("abcdef"))
            self.assertEqual({e.message for e in r if e.status == "error"}, {"the text has no words"})
            self.assertEqual([a["id"] for a in r.verify() if a["holds"]], ["1", "4"])
            self.assertEqual([a["id"] for a in r.verify(asked, texts) if a["holds"]], ["1", "4"])
            self.assertEqual([a["id"] for a in r[2:5].verify()], ["4"])
            self.assertEqual(sis.explain(asked, texts[1], threshold)[0].subsets[0].names, r[1].subsets[0].names)
            nothing = sis.explain(asked, "", threshold)
            self.assertEqual((nothing.counts, nothing.verify()), ({"error": 1}, []))
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "r.jsonl")
                self.assertEqual([e.status for e in sis.Results.load(r.save(path) and path)], [e.status for e in r])


    def test_sentences_of_callables(self):
        def model(texts):
            return ["superb" in t for t in texts]
        text = "I did not expect much. The acting is superb! Dr. Smith agrees."
        r = sis.explain(model, [text], 0.5, features="sentence")
        self.assertEqual(r[0].subsets[0].names, ("The acting is superb!",))
        self.assertEqual(r[0].n_features, 3)
        self.assertIn("1 of 3 sentences", repr(r[0]))
        self.assertTrue(all(a["holds"] for a in sis.Results(r.lines).verify(model, [text], features="sentence")))
        with self.assertRaisesRegex(sis.Error, "word.*sentence"):
            sis.explain(model, [text], 0.5, features="token")


class LanguageModels(unittest.TestCase):
    """Answers by a rule, behind the protocols of servers."""
    X = [{"id": "mara", "context": "Tom works in Bergen. Mara lives in Oslo. Ines lives in Turin. Mara lives in Oslo.",
          "question": "Where does Mara live?"},
         {"id": "both", "context": "Tom works in Bergen. Mara lives in Oslo. Ines lives in Turin.",
          "question": "Where do Mara and Ines live?"}]
    PROMPT = "{context} Question: {question} Answer:"

    @classmethod
    def setUpClass(cls):
        server = os.path.join(SOURCE, "tests", "llm", "server.py")
        cls.server = subprocess.Popen([sys.executable, server, "rules"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
        cls.at = cls.server.stdout.readline().strip()
        cls.names = ("Mara lives in Oslo.",)
        try:
            cls.model(cls).open()
        except sis.Error as error:
            cls.tearDownClass()
            raise unittest.SkipTest(str(error)) if "libcurl" in str(error) else error

    @classmethod
    def tearDownClass(cls):
        cls.server.stdin.close()
        cls.server.stdout.close()
        cls.server.wait()

    def model(self, **options):
        return sis.LLM(self.at + "/v1/completions", "rules", **dict(dict(prompt=self.PROMPT), **options))

    def test_records_are_those_of_the_program(self):
        r = sis.explain(self.model(), self.X)
        self.assertEqual([[s.names for s in e] for e in r], [[self.names, self.names],
                                                            [("Ines lives in Turin.", "Mara lives in Oslo.")]])
        self.assertEqual([(e.id, e.threshold, e.data["answer"]) for e in r], [("mara", 0, " Oslo"), ("both", 0, " Oslo and Turin")])
        with tempfile.TemporaryDirectory() as folder:
            path, prompt = pathlib.Path(folder, "x.jsonl"), pathlib.Path(folder, "prompt.txt")
            path.write_text("".join(json.dumps(x) + "\n" for x in self.X))
            prompt.write_text(self.PROMPT + "\n")
            done = subprocess.run([PROGRAM, "explain", "-m", self.at + "/v1/completions#rules", "-i", path, "--prompt", prompt,
                                   "--explain", "context", "--trace", "-q"], capture_output=True, check=True)
            ours = [re.sub(rb',"(requests|prompt_tokens|completion_tokens)":\d+', b"", line)
                    for lines in (done.stdout, b"".join(r.lines)) for line in lines_without_seconds(lines, False)]
            self.assertEqual([re.sub(rb',"provenance":.*', b"}", line) for line in ours[:2]], ours[2:])
            same = sis.explain(self.model(prompt=prompt), path)
            self.assertEqual([e.data["subsets"] for e in same], [e.data["subsets"] for e in r])
            r.save(path)
            self.assertTrue(all(a["holds"] for a in sis.load(path).verify(self.model(), self.X)))
        self.assertTrue(all(a["holds"] for a in r.verify()))

    def test_a_false_claim_is_found(self):
        r = sis.explain(self.model(), self.X[:1])
        wrong = sis.Results([r.lines[0].replace(b'"features":[3]', b'"features":[0]')])
        self.assertNotEqual(wrong.lines, r.lines)
        self.assertFalse(wrong.verify(self.model(), self.X[:1])[0]["holds"])

    def test_options(self):
        words = sis.explain(pickle.loads(pickle.dumps(self.model())), self.X[:1], features="word",
                            method="quick", ids=["a"])
        self.assertEqual((words[0].id, set(words[0][0].names)), ("a", {"Mara", "lives", "in", "Oslo."}))
        listed = dict(self.X[0], context=self.X[0]["context"].split(". ")[:3], answer="Oslo")
        self.assertEqual(sis.explain(self.model(), listed)[0][0].names, ("Mara lives in Oslo",))
        alone = sis.LLM(self.at + "/v1/completions", "rules", prompt="{text} Question: Where does Mara live? Answer:",
                        score="logprob")
        self.assertEqual(alone.explain, "text")
        with self.assertRaisesRegex(sis.Error, "threshold"):
            sis.explain(alone, self.X[0]["context"])
        r = sis.explain(alone, self.X[0]["context"], -1, max_subsets=1)
        self.assertEqual([s.names for s in r[0]], [self.names])
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                kept = sis.explain(self.model(cache=os.path.join(folder, "answers")), self.X[:1])
            self.assertEqual(kept[0].data["requests"], 0)
        for wrong, said in ((dict(prompt="{question}{answer}"), "context"), (dict(explain="nothing"), "nothing"),
                            (dict(score="x"), "score")):
            with self.assertRaisesRegex(sis.Error, said):
                sis.explain(self.model(**wrong), self.X)
        for X, options, said in (([{"context": "A."}], {}, "question"), ([{"question": "A."}], {}, "context"), ([], {}, "no examples"),
                                 (self.X, dict(mask="zero"), "remove"), (self.X, dict(ids=["a"]), "ids"),
                                 ([{"context": {1}}], {}, "dicts of texts"), (self.X, dict(labels=["a", "b"]), "labels")):
            with self.assertRaisesRegex(sis.Error, said):
                sis.explain(self.model(), X, **options)

    def test_prompts_are_scored(self):
        llm = self.model()
        whole = [self.PROMPT.format(**x) for x in self.X]
        self.assertEqual(llm.answers(whole), [" Oslo", " Oslo and Turin"])
        self.assertTrue((llm(whole) > 0).all())
        self.assertLess(llm(whole[0], " Turin")[0], 0)
        r = sis.explain(lambda texts: llm([t + " Question: Where does Mara live? Answer:" for t in texts], " Oslo"),
                        [self.X[0]["context"]], 0, features="sentence")
        self.assertEqual([s.names for s in r[0]], [self.names, self.names])
        with self.assertRaises(TypeError):
            llm([1])


class Annotations(unittest.TestCase):
    def functions(self):
        for name in sis.__all__ + ["compat"]:
            thing = getattr(sis, name) if name != "compat" else compat
            if callable(thing) and not isinstance(thing, type):
                yield name, thing
            for key, member in vars(thing).items():
                function = getattr(member, "__func__", getattr(member, "fget", member))
                own = getattr(function, "__module__", "").startswith("sis.")
                if own and callable(function) and not isinstance(function, type) and (not key.startswith("_") or key in ("__init__", "__call__")):
                    yield name + "." + key, function

    def test_public_functions_are_annotated(self):
        seen = dict(self.functions())
        self.assertGreater(len(seen), 40)
        for name, function in seen.items():
            hints = typing.get_type_hints(function)
            wanted = set(inspect.signature(function).parameters) - {"self"} | {"return"}
            self.assertEqual(wanted - set(hints), set(), name)

    def test_options_of_explain_are_those_of_an_explainer(self):
        one, other = (inspect.signature(f).parameters for f in (sis.explain, sis.Explainer))
        self.assertEqual(set(one) - set(other), {"X", "ids", "labels"})
        for name in set(other) - {"threshold"}:
            self.assertEqual((one[name].default, one[name].annotation), (other[name].default, other[name].annotation), name)
        described = [line.split()[0] for line in sis.Explainer.__doc__.splitlines() if re.match(r"    [a-z_]+  ?\S|    [a-z_]+ {2,}\S", line)]
        self.assertEqual(sorted(set(other) - set(described)), ["samples"])


class Compat(unittest.TestCase):
    def test_collections(self):
        def norm(batch):
            return np.linalg.norm(batch, axis=-1)
        found = compat.sis_collection(norm, 1.0, np.array([0.1, 10, 5]), np.zeros(3))
        self.assertEqual([r.sis.tolist() for r in found], [[[1]], [[2]]])
        self.assertEqual(found[0].ordering_over_entire_backselect.tolist(), [[0], [2], [1]])
        np.testing.assert_allclose(found[0].values_over_entire_backselect, [np.sqrt(125), 10, 0])
        self.assertEqual(found[0].mask.tolist(), [False, True, False])
        self.assertEqual(compat.sis_collection(norm, 100, np.array([0.1, 10, 5]), np.zeros(3)), [])

    def test_broadcast_masks(self):
        def total(batch):
            return batch.sum(axis=(1, 2))
        x = np.array([[10, 5], [2, 3]])
        for axis, want in ((0, [[0, 0]]), (1, [[0, 0]])):
            mask = compat.make_empty_boolean_mask_broadcast_over_axis((2, 2), axis)
            r = compat.find_sis(total, 11, x, mask, np.zeros((2, 2)))
            self.assertEqual(r.sis.tolist(), want)

    def test_texts_and_errors(self):
        self.assertEqual(compat.produce_masked_inputs(np.array(["A", "B"]), np.array(["-", "-"]),
                                                      np.array([[False, True]])).tolist(), [["-", "B"]])
        with self.assertRaises(TypeError):
            compat.produce_masked_inputs(np.ones(3), np.zeros(3), np.ones(3, dtype=bool))
        with self.assertRaises(ValueError):
            compat._find_sis_from_backselect([], 1)
        self.assertIsNone(compat.find_sis(lambda b: b.sum(axis=1), 1, np.ones(2), np.zeros(2, dtype=bool), np.zeros(2)))

    def test_same_answers_as_the_library(self):
        rng = np.random.default_rng(12)
        for _ in range(100):
            w, x = rng.normal(size=6), rng.normal(size=6)

            def f(rows):
                return np.maximum(rows * w, -0.3).sum(axis=1)
            t = float(f(x[None])[0] * 0.5 + f(np.zeros((1, 6)))[0] * 0.5)
            if f(np.zeros((1, 6)))[0] >= t:
                continue
            r = sis.explain(f, x[None], t, mask="zero")
            c = compat.sis_collection(f, t, x, np.zeros(6))
            self.assertEqual([s.features for s in r[0].subsets], [tuple(int(i) for i in s.sis[:, 0]) for s in c])

    def test_a_default_decision_ends(self):
        found = compat.sis_collection(lambda b: b.sum(axis=1), -1, np.ones(2), np.zeros(2))
        self.assertEqual([(len(r), r.sis.shape, r.mask.tolist()) for r in found], [(0, (0,), [True, True])])

    def test_a_trace_that_dips_and_a_mask_that_reaches_the_threshold(self):
        found = compat.sis_collection(lambda b: b.prod(1), 0.5, np.array([2, 3]), np.array([-1, -1]))
        self.assertEqual([r.sis.tolist() for r in found], [[[1]]])

    def test_results_as_published(self):
        """Scores without any order, some NaN: every branch of the published procedure."""
        surprising = 0
        for seed in range(200):
            rng = np.random.default_rng(seed)
            n, threshold = 2 + seed % 4, rng.random()
            scores = rng.random(2 ** n)
            scores[rng.random(2 ** n) < (seed % 3) / 4] = np.nan

            def f(rows):
                return scores[(np.asarray(rows) @ (2 ** np.arange(n))).astype(int)]
            want = oracle.published(f, threshold, np.ones(n), np.zeros(n))
            found = compat.sis_collection(f, threshold, np.ones(n), np.zeros(n))
            self.assertEqual([r.sis.ravel().tolist() for r in found], [w[0] for w in want], seed)
            for r, (_, order, values) in zip(found, want):
                self.assertEqual(r.ordering_over_entire_backselect[:, 0].tolist(), order)
                np.testing.assert_array_equal(r.values_over_entire_backselect, values)
            surprising += bool(want) and not scores[0] < threshold
        self.assertGreater(surprising, 20)

    def test_masks_of_numbers(self):
        found = compat.sis_collection(lambda b: b.sum(axis=1), 1, np.ones(3), np.zeros(3), np.array([2, 1, 0]))
        self.assertEqual([r.sis.tolist() for r in found], [[[1]], [[0]]])


class Documents(unittest.TestCase):
    def test_docstrings(self):
        for module in (_explain, _inputs, compat):
            failed, tried = doctest.testmod(module)
            self.assertEqual(failed, 0)
        self.assertGreater(tried + len(json.__all__), 0)

    def test_stubs_name_what_the_module_has(self):
        with open(os.path.join(SOURCE, "python", "sis", "_core.pyi"), encoding="utf-8") as f:
            tree = ast.parse(f.read())
        named = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        named |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
        has = {n for n in dir(_core) if not n.startswith("__")}
        self.assertEqual(named, has)
        model = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model")
        members = {m.name if isinstance(m, ast.FunctionDef) else m.target.id for m in model.body}
        self.assertEqual(members - {"__init__"}, {n for n in dir(_core.Model) if not n.startswith("_")})

    def test_version(self):
        out = subprocess.run([sys.executable, "-m", "sis", "--version"], capture_output=True, text=True)
        self.assertEqual(out.stdout.split(), ["sis", sis.__version__])


if __name__ == "__main__":
    unittest.main()
