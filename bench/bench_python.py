# SPDX-License-Identifier: MIT
"""Speed of the Python package: ratios of evaluations a second, measured side by side in one run.

    make bench, or: PYTHONPATH=build/python OMP_NUM_THREADS=1 python3 bench/bench_python.py

An evaluation is a masked copy of an input that the model scores. "numpy SIS" is the plain version: one backward
selection that rebuilds every masked copy at every step and scores a step in one call of the model. "sis" is a
whole call of an explainer: finding subsets, verifying them, writing records. The time of work that is done once
for a model (conversion, comparison of answers) is printed separately. Everything runs on one thread.

    sum of 1,024 features   a trivial callable. The sum itself takes much of the time: the first row is the ratio
                            that would remain if calls cost nothing. The second row subtracts the time of the
                            callable alone for batches of that size, on both sides: the overhead of calls
    boosting                tables of 60 and 200 columns, 100 trees: 200 decided rows explained in one call,
                            against predict_proba
    frame over array        the boosting of 60 columns on a frame of the same numbers, against "sis" on the array
    pipeline                one-hot encoder and boosting, 12 columns of numbers and 8 of categories: 200 decided rows,
                            against a plain version in pandas; the pipeline itself, then behind a function of frames
    save over explain       5,000 records a second: explained (boosting, 20 columns), and written to a file
    PyTorch                 a CNN for digits passed as a module, against numpy SIS on the module
"""
import os
import sys
import tempfile
import time

import numpy as np

import sis
from sis import _models


def numpy_backselect(f, x, mask, steps=None):
    """The plain version, which rebuilds every masked copy at every step. Evaluations and seconds, the best within a second."""
    found, end = [], time.perf_counter() + 1
    while len(found) < 3 or time.perf_counter() < end:
        found.append(numpy_selection(f, x, mask, steps))
    return min(found, key=lambda one: one[1])


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
    """Explains all rows: evaluations and seconds, the best within a second; the explainer; seconds of the first call."""
    explainer = sis.Explainer(model, mask=mask, threshold=threshold, jobs=1, progress=False, **options)
    began = time.perf_counter()
    explainer(x[:1])
    first, best, end = time.perf_counter() - began, 1e9, time.perf_counter() + 1
    while best == 1e9 or time.perf_counter() < end:
        began = time.perf_counter()
        r = explainer(x)
        best = min(best, time.perf_counter() - began)
    if set(r.counts) != {"explained"}:
        sys.exit("bench_python: not every row was explained: %s" % r.counts)
    return (sum(e.evaluations for e in r), best), explainer, first


def row(name, theirs, mine, wanted, remark=""):
    (e1, t1), (e2, t2) = theirs, mine
    ratio = (e2 / t2) / (e1 / t1)
    print("%-36s %10.0f %12.0f %8.*fx%s%s%s" % (
        name, e1 / t1, e2 / t2, 1 if ratio >= 2 else 2, ratio, "  wanted %3g" % wanted if wanted else "",
        "" if ratio >= wanted else ", missed", remark))


def alone(f, rows):
    """Seconds that the callable takes for a row in batches of this size."""
    batch = np.random.default_rng(1).random((rows, 1024))
    best = 1e9
    for _ in range(100):
        began = time.perf_counter()
        f(batch)
        best = min(best, time.perf_counter() - began)
    return best / rows


def sums():
    x, mask = np.random.default_rng(0).random(1024), np.zeros(1024)

    def f(rows):
        return rows.sum(axis=1)
    mine, explainer, _ = ours(f, x[None], 100, "zero", max_subsets=1)
    theirs = numpy_backselect(f, x, mask, 300)
    alone_theirs, alone_ours = alone(f, 1024), alone(f, explainer.bound.rows)
    row("sum of 1,024 features", theirs, mine, 0,
        "; the sum alone %.1fx" % (theirs[1] / theirs[0] / alone_ours))
    row("  overhead: without the sum itself", (theirs[0], theirs[1] - theirs[0] * alone_theirs),
        (mine[0], max(mine[1] / 100, mine[1] - mine[0] * alone_ours)), 10)


def trees(columns):
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingClassifier
    x, y = make_classification(2000, columns, n_informative=columns // 2, random_state=0)
    compare("scikit-learn boosting, %d columns" % columns,
            GradientBoostingClassifier(n_estimators=100, random_state=0).fit(x, y), x)
    try:
        import xgboost
    except ImportError:
        return print("left out: XGBoost is not there (Debian: python3-xgboost)")
    compare("XGBoost, %d columns" % columns,
            xgboost.XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1).fit(x, y), x)


def frames():
    """Numbers as a frame against the same numbers as an array."""
    import pandas
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingClassifier
    x, y = make_classification(2000, 60, n_informative=30, random_state=0)
    frame, found = pandas.DataFrame(x, columns=["c%d" % k for k in range(60)]), []
    for data in (x, frame):
        model = GradientBoostingClassifier(n_estimators=100, random_state=0).fit(data, y)
        scores = model.predict_proba(data)[:, 1]
        found.append(ours(model, data[scores >= 0.9][:200], 0.9, "mean", background=data, target_index=1))
    row("scikit-learn boosting, frame over array", found[0][0], found[1][0], 0.8, "; %s" % found[1][1].engine)


def pandas_selection(f, x, mask):
    """The plain version for a frame of one row: every masked copy of a step in one call."""
    left, gone, evaluations, began = list(x.columns), [], 0, time.perf_counter()
    while left:
        rows = x.loc[x.index.repeat(len(left))].reset_index(drop=True)
        for c in gone:
            rows[c] = mask[c]
        for i, c in enumerate(left):
            rows.iat[i, rows.columns.get_loc(c)] = mask[c]
        best = left[int(np.argmax(f(rows)))]
        left.remove(best)
        gone.append(best)
        evaluations += len(rows)
    return evaluations, time.perf_counter() - began


def pipeline():
    import pandas
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    rng, named = np.random.default_rng(0), ["c%d" % k for k in range(8)]
    frame = pandas.DataFrame(rng.normal(size=(2000, 12)), columns=["n%d" % k for k in range(12)])
    for c in named:
        frame[c] = rng.choice(["a", "b", "c", "d"], len(frame))
    y = frame.iloc[:, :6].sum(axis=1) + 2 * (frame[named] == "a").sum(axis=1) > 3
    model = make_pipeline(make_column_transformer((OneHotEncoder(), named), remainder="passthrough"),
                          GradientBoostingClassifier(n_estimators=100, random_state=0)).fit(frame, y)

    def score(rows):
        return model.predict_proba(rows)[:, 1]
    decided = frame[score(frame) >= 0.9][:200]
    mask = {c: frame[c].mode()[0] if c in named else frame[c].mean() for c in frame}
    theirs = min((pandas_selection(score, decided[:1], mask) for _ in range(3)), key=lambda one: one[1])
    mine, explainer, first = ours(model, decided, 0.9, "mean", background=frame, target="True")
    row("pipeline over pandas", theirs, mine, 50, "; %s, first call %.0f ms" % (explainer.engine, 1000 * first))
    mine, explainer, _ = ours(score, decided, 0.9, "mean", background=frame)
    row("callable pipeline over pandas", theirs, mine, 10, "; " + explainer.engine)


def saving():
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingClassifier
    x, y = make_classification(5000, 20, n_informative=10, random_state=0)
    model = GradientBoostingClassifier(n_estimators=100, random_state=0).fit(x, y)
    explainer = sis.Explainer(model, background=x, threshold=0.9, target_index=1, jobs=1, progress=False)
    explainer(x[:1])
    began = time.perf_counter()
    r = explainer(x)
    explained = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        r.save(os.path.join(folder, "r.jsonl"))
        row("save over explain, records", (len(r), explained - began), (len(r), time.perf_counter() - explained), 5)


def compare(name, model, background):
    mean = background.mean(axis=0)

    def score(rows):
        return model.predict_proba(rows)[:, 1]
    masked = score(mean[None])[0]
    threshold = float(1 - (1 - masked) / 2)
    decided = background[score(background) >= threshold][:200]
    theirs = numpy_backselect(score, decided[0], mean)
    mine, explainer, first = ours(model, decided, threshold, "mean", background=background,
                                  target_index=0 if family(model) == "xgboost" else 1)
    if isinstance(explainer.bound, _models.Called):
        sys.exit("bench_python: %s was not walked" % name)
    row(name, theirs, mine, 100, "; %s, first call %.0f ms" % (explainer.engine, 1000 * first))


def family(model):
    return type(model).__module__.split(".")[0]


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
    masked, score = (float(f(v[None])[0]) for v in (np.zeros_like(x), x))
    threshold = masked + 0.6 * (score - masked)
    theirs = numpy_backselect(f, x, np.zeros_like(x), 2)
    mine, explainer, first = ours(model, x[None], threshold, "zero", target_index=0, below=bool(score < masked))
    row("PyTorch CNN of digits", theirs, mine, 300, "; %s, first call %.0f ms" % (explainer.engine, 1000 * first))


def main():
    print("%-36s %10s %12s %9s" % ("evaluations a second, one thread", "numpy SIS", "sis", "ratio"))
    sums()
    try:
        import sklearn  # noqa: F401
        trees(60)
        trees(200)
        saving()
        import pandas  # noqa: F401
        frames()
        pipeline()
    except ImportError:
        print("left out: scikit-learn or pandas is not there (Debian: python3-sklearn, python3-pandas)")
    digits()


if __name__ == "__main__":
    sys.exit(main())
