# SPDX-License-Identifier: MIT
"""What the Python package costs and saves, as ratios of times measured side by side in one run.

    make bench, or: PYTHONPATH=build/python python3 bench/bench_python.py
"""
import os
import sys
import time

import numpy as np

import sis
from sis import _models

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def numpy_backselect(f, x, mask, steps=None):
    """The plain way: every masked copy built anew for every step. Evaluations and seconds, the best of three."""
    return min((numpy_selection(f, x, mask, steps) for _ in range(3)), key=lambda found: found[1])


def numpy_selection(f, x, mask, steps):
    left, evaluations, began = np.ones(x.size, dtype=bool), 0, time.perf_counter()
    shape = x.shape
    while left.any() and (steps is None or steps > 0):
        at = np.flatnonzero(left)
        keep = np.repeat(left[None], len(at), axis=0)
        keep[np.arange(len(at)), at] = False
        rows = np.where(keep, x.ravel(), mask.ravel())
        scores = f(rows.reshape((len(at),) + shape))
        left[at[int(np.argmax(scores))]] = False
        evaluations += len(at)
        steps = None if steps is None else steps - 1
    return evaluations, time.perf_counter() - began


def ours(model, x, threshold, mask, **options):
    explainer = sis.Explainer(model, mask=mask, threshold=threshold, max_subsets=1, jobs=1, progress=False,
                              **options)
    explainer(x[None])
    best = 1e9
    for _ in range(5):
        began = time.perf_counter()
        r = explainer(x[None])
        best = min(best, time.perf_counter() - began)
    return r[0].evaluations, best, explainer


def row(name, theirs, mine, wanted):
    (e1, t1), (e2, t2) = theirs, mine
    ratio = (e2 / t2) / (e1 / t1)
    print("%-34s %12.0f %14.0f %9.1fx %8s" % (name, e1 / t1, e2 / t2, ratio,
                                             "" if ratio >= wanted else "below"))


def alone(f, rows):
    """Seconds that the callable itself takes for one of so many rows."""
    batch = np.random.default_rng(1).random((rows, 1024))
    best = 1e9
    for _ in range(100):
        began = time.perf_counter()
        f(batch)
        best = min(best, time.perf_counter() - began)
    return best / rows


def sums():
    """A trivial callable: what is left is the cost of asking."""
    x, mask = np.random.default_rng(0).random(1024), np.zeros(1024)

    def f(rows):
        return rows.sum(axis=1)
    evaluations, seconds, _ = ours(f, x, 100, "zero")
    row("sum of 1,024 features, all", numpy_backselect(f, x, mask, 300), (evaluations, seconds), 1)
    e1, t1 = numpy_backselect(f, x, mask, 300)
    row("  without the sum itself", (e1, max(t1 / 100, t1 - e1 * alone(f, 1024))),
        (evaluations, max(seconds / 100, seconds - evaluations * alone(f, 64))), 10)


def trees():
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingClassifier
    x, y = make_classification(2000, 60, n_informative=30, random_state=0)
    model = GradientBoostingClassifier(n_estimators=100, random_state=0).fit(x, y)
    best = x[int(np.argmax(model.predict_proba(x).max(axis=1)))]
    compare("scikit-learn boosting, 60 features", model, best, x)
    try:
        import xgboost
    except ImportError:
        return print("left out: XGBoost is not there (Debian: python3-xgboost)")
    booster = xgboost.XGBClassifier(n_estimators=100, max_depth=4).fit(x, y)
    compare("XGBoost, 60 features", booster, best, x)


def compare(name, model, x, background):
    mean = background.mean(axis=0)
    output = int(model.predict_proba(x[None])[0].argmax())
    theirs = numpy_backselect(lambda rows: model.predict_proba(rows)[:, output], x, mean)
    evaluations, seconds, explainer = ours(model, x, 0.7, "mean", background=background)
    row("%s (%s)" % (name, explainer.engine), theirs, (evaluations, seconds),
        100 if not isinstance(explainer.bound, _models.Called) else 1e9)


def digits():
    try:
        import torch
    except ImportError:
        return print("left out: PyTorch is not there (Debian: python3-torch)")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10), nn.Softmax(1))
    x = np.random.default_rng(2).random((1, 28, 28)).astype(np.float32)

    def f(rows):
        with torch.no_grad():
            return model(torch.from_numpy(rows.astype(np.float32)))[:, 0].numpy()
    theirs = numpy_backselect(f, x, np.zeros_like(x), 2)
    score = float(f(x[None])[0])
    evaluations, seconds, explainer = ours(model, x, score * 0.999, "zero", output=0)
    row("PyTorch MNIST CNN (%s)" % explainer.engine, theirs, (evaluations, seconds), 300)


def main():
    print("%-34s %12s %14s %10s" % ("evaluations a second, one thread", "numpy SIS", "sis", "ratio"))
    sums()
    try:
        import sklearn  # noqa: F401
        trees()
    except ImportError:
        print("left out: scikit-learn is not there (Debian: python3-sklearn)")
    digits()


if __name__ == "__main__":
    sys.exit(main())
