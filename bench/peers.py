#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sis beside the published implementation of SIS and beside Anchors, on one model and the same rows, in one run.

    PYTHONPATH=build/python OMP_NUM_THREADS=1 /usr/bin/python3 bench/peers.py [--published FILE] [--anchor DIR] [--rows N]

The model is scikit-learn's GradientBoostingClassifier (100 trees) that tells even from odd digits, of 64 pixels each,
which scikit-learn ships. N test rows (40) whose probability of "odd" is 0.9 or more are explained; the mask is the mean.

--published FILE  sis.py of google-research/sufficient_input_subsets. Its collections must equal ours
--anchor DIR      a folder with the packages anchor (marcotcr/anchor) and lime (marcotcr/lime), or nothing if they are
                  installed. Anchors answer another question (rules that keep the class for 95 % of perturbed rows), so
                  cost and size are shown, not agreement

Prints a line for each: seconds, rows that the model scores, size of the first subset or rule, and whether the decision
holds when everything else is masked. sis appears twice: with the classifier itself, whose trees it walks, and with an
opaque function, called in batches.
"""
import argparse
import importlib.util
import sys
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

import sis

THRESHOLD = 0.9


class Counted:
    """Probability of the class `target`, and the number of scored rows."""

    def __init__(self, model, target=1):
        self.model, self.target, self.rows = model, target, 0

    def __call__(self, rows):
        self.rows += len(rows)
        return self.model.predict_proba(np.asarray(rows))[:, self.target]


def by_published(path, f, x, mask):
    """The collections that the published file finds: a list of lists of sets."""
    np.bool = bool  # the file needs an old numpy that had this name
    spec = importlib.util.spec_from_file_location("published", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [[set(s.sis.flatten().tolist()) for s in module.sis_collection(f, THRESHOLD, row, mask)] for row in x]


def by_sis(f, x, mask):
    options = {} if isinstance(f, Counted) else {"target": 1}
    records = sis.explain(f, x, threshold=THRESHOLD, mask=mask, jobs=1, progress=False, **options)
    return [[set(int(i) for i in s.features) for s in r.subsets] for r in records]


def by_anchor(f, x, train):
    from anchor import anchor_tabular
    names = [str(i) for i in range(x.shape[1])]
    explainer = anchor_tabular.AnchorTabularExplainer(["no", "yes"], names, train)
    found = []
    for row in x:
        rule = explainer.explain_instance(row, lambda rows: (f(rows) >= 0.5).astype(int), threshold=0.95)
        found.append([set(rule.features())])
    return found


def report(name, collections, seconds, rows, score, x, mask, threshold):
    first = [c[0] for c in collections if c]
    alone = np.array([np.where(np.isin(np.arange(x.shape[1]), list(c[0])), row, mask)
                      for c, row in zip(collections, x) if c])
    print(f"{name:<22} {seconds:>9.3f} {rows:>12} {np.mean([len(s) for s in first]):>10.2f} "
          f"{int((score(alone) >= threshold).sum()):>6} of {len(first)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--published", help="the published sis.py")
    parser.add_argument("--anchor", help="folder of the packages anchor and lime")
    parser.add_argument("--rows", type=int, default=40)
    o = parser.parse_args()
    if o.anchor:
        sys.path.insert(0, o.anchor)
    x, y = load_digits(return_X_y=True)
    train, test, labels, _ = train_test_split(x, y % 2, random_state=1, test_size=0.5)
    model = GradientBoostingClassifier(random_state=1).fit(train, labels)
    score, mask = Counted(model), train.mean(0)
    rows = test[score(test) >= THRESHOLD][:o.rows]
    np.random.seed(1)
    ways = [("sis, the classifier", None, lambda f: by_sis(model, rows, mask)),
            ("sis, a function", Counted(model), lambda f: by_sis(f, rows, mask))]
    if o.published:
        ways.append(("published sis.py", Counted(model), lambda f: by_published(o.published, f, rows, mask)))
    if o.anchor or importlib.util.find_spec("anchor"):
        ways.append(("Anchors", Counted(model), lambda f: by_anchor(f, rows, train)))
    print(f"{len(rows)} rows of {rows.shape[1]} features, score >= {THRESHOLD}\n"
          f"{'':<22} {'seconds':>9} {'rows asked':>12} {'first size':>10} {'enough':>6}")
    found = {}
    for name, f, explain in ways:
        began = time.process_time()
        found[name] = explain(f)
        seconds = time.process_time() - began
        report(name, found[name], seconds, f.rows if f else "walked", score, rows, mask, THRESHOLD)
    same = [found[name] == found["sis, a function"] for name in ("sis, the classifier", "published sis.py") if name in found]
    print(f"collections equal: {'yes' if all(same) else 'NO'} ({' and '.join(n for n, _, _ in ways if n != 'Anchors')})")
    return not all(same)


if __name__ == "__main__":
    sys.exit(main())
