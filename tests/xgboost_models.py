#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""XGBoost models with all options: predictions of the library against those of sis.

    xgboost_models.py SIS [MODELS] [ROWS]

Random data with missing values and categories, random options, and fresh rows to predict: values at
thresholds, unseen categories, missing values. Each model is saved as .json and .ubj. Scores must agree
within 1e-6 (relative above 1); sums of leaves, if the objective shows them, to the bit. Explanations by
walks must equal those by full passes, and columns must be found by name. Skipped (77) without the
library."""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import xgboost as xgb
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

SIS = sys.argv[1]
MODELS = int(sys.argv[2]) if len(sys.argv) > 2 else 24
ROWS = int(sys.argv[3]) if len(sys.argv) > 3 else 4000
OBJECTIVES = [
    "binary:logistic", "multi:softprob", "reg:squarederror", "rank:pairwise", "count:poisson",
    "binary:logitraw", "binary:hinge", "multi:softmax", "reg:gamma", "reg:tweedie", "reg:logistic",
    "survival:cox", "survival:aft", "reg:absoluteerror", "reg:pseudohubererror", "rank:ndcg",
    "reg:squaredlogerror",
]
AS_SUMS = {"reg:squarederror", "rank:pairwise", "rank:ndcg", "binary:logitraw",
           "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror"}


def make_data(rng, rows, columns, categorical, fresh=None):
    """Numbers and categories, some missing; values of fresh rows sometimes equal thresholds."""
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    for j in range(columns):
        if categorical[j]:
            x[:, j] = rng.integers(0, categorical[j] + (3 if fresh is not None else 0), rows)
        elif j % 3 == 1:
            x[:, j] = np.round(x[:, j] * 2)  # many equal values
        elif fresh is not None and len(fresh):
            at = rng.random(rows) < 0.3
            x[at, j] = rng.choice(fresh, at.sum())
    x[rng.random(x.shape) < 0.15] = np.nan
    return x


def thresholds(model):
    trees = model["learner"]["gradient_booster"]
    trees = trees.get("gbtree", trees)["model"].get("trees", [])
    return np.array([c for t in trees for c in t["split_conditions"]], np.float32)


def target(rng, objective, x, classes):
    score = np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, -1]) * 0.5 + 0.3 * rng.standard_normal(len(x))
    if objective.startswith("multi"):
        return np.clip(np.floor(score + classes / 2), 0, classes - 1)
    if objective in ("binary:logistic", "binary:logitraw", "binary:hinge", "reg:logistic"):
        return (score > 0).astype(float)
    if objective.startswith("rank"):
        return np.clip(np.floor(score + 2), 0, 4)
    if objective in ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"):
        return score
    if objective == "count:poisson":
        return np.floor(np.exp(np.clip(score, -2, 2)))
    return np.exp(np.clip(score, -2, 2))


def train(rng, k):
    objective = OBJECTIVES[k % len(OBJECTIVES)]
    columns = int(rng.integers(3, 12))
    booster = ["gbtree", "gbtree", "dart", "gblinear", "gbtree"][k % 5]
    has_categories = booster != "gblinear" and rng.random() < 0.6
    categorical = [int(rng.choice([0, 3, 40])) if has_categories else 0 for _ in range(columns)]
    x = make_data(rng, 600, columns, categorical)
    classes = int(rng.integers(2, 6)) if objective.startswith("multi") else 0
    y = target(rng, objective, x, classes)
    p = {"objective": objective, "booster": booster, "seed": k, "nthread": 1}
    if classes:
        p["num_class"] = classes
    if rng.random() < 0.5 and objective not in ("survival:cox",):
        p["base_score"] = float(rng.uniform(0.1, 0.9))
    if booster != "gblinear":
        p.update(max_depth=int(rng.integers(1, 8)), eta=float(rng.uniform(0.05, 0.6)),
                 tree_method=str(rng.choice(["hist", "approx"] if has_categories else
                                            ["hist", "approx", "exact"])),
                 num_parallel_tree=int(rng.integers(1, 3)), subsample=0.8,
                 max_cat_to_onehot=int(rng.choice([1, 4, 50])))
        if rng.random() < 0.3 and p["tree_method"] == "hist":
            p.update(grow_policy="lossguide", max_leaves=12, max_depth=0)
    if booster == "dart":
        p.update(rate_drop=0.3, sample_type=str(rng.choice(["uniform", "weighted"])))
    names = [f"c {j}" for j in range(columns)] if rng.random() < 0.5 else None
    d = xgb.DMatrix(x, y, feature_names=names,
                    feature_types=["c" if c else "q" for c in categorical], enable_categorical=True)
    if objective.startswith("rank"):
        d.set_group([60] * 10)
    if objective == "survival:aft":
        d.set_float_info("label_lower_bound", y)
        d.set_float_info("label_upper_bound", y)
    with_trees = xgb.train(p, d, int(rng.integers(1, 30)))
    return with_trees, p, categorical, names


def write_table(path, x, names, rng):
    """Named columns in another order, after an unknown column."""
    order = list(range(x.shape[1]))
    if names:
        rng.shuffle(order)
    head = (["unknown"] if names else []) + [names[j] if names else f"x{j}" for j in order]
    blanks = ["", "NA", "nan"]
    with open(path, "w", encoding="utf-8") as f:
        f.write(",".join(head) + "\n")
        for i, row in enumerate(x):
            cells = [blanks[(i + j) % 3] if np.isnan(row[j]) else repr(float(row[j])) for j in order]
            f.write(",".join((["0"] if names else []) + cells) + "\n")


def sis(*arguments):
    done = subprocess.run([SIS, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"sis {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def predict(path, table):
    return np.array([json.loads(line)["scores"] for line in
                     sis("predict", "--model", path, "--input", table).splitlines()])


def compare(k, p, booster, x, path, table, categorical, names):
    d = xgb.DMatrix(x, feature_names=names, enable_categorical=True,
                    feature_types=["c" if c else "q" for c in categorical])
    if p["objective"] == "multi:softmax":
        wanted = booster.predict(d, output_margin=True).astype(np.float64)
        wanted = np.exp(wanted - wanted.max(1, keepdims=True))
        wanted /= wanted.sum(1, keepdims=True)
    else:
        wanted = booster.predict(d)
    wanted = wanted.reshape(len(x), -1)
    found = predict(path, table)
    off = np.abs(found - wanted) / np.maximum(1, np.abs(wanted))
    exact = p["objective"] in AS_SUMS
    if off.max() > 1e-6 or (exact and not np.array_equal(found, wanted.astype(np.float64))):
        raise SystemExit(f"model {k} {p}: row {off.max(1).argmax()} is off by {off.max()}: "
                         f"{found[off.max(1).argmax()]}, expected {wanted[off.max(1).argmax()]}")
    return off.max(), exact


def explain(path, table, folder):
    """Walks select the same subsets as full passes."""
    question = ["--model", path, "--input", table, "--mask", "mean:" + table, "--rows", "0:12",
                "--target-index", "0", "--threshold", "p60", "--quiet"]
    records = []
    for more in ([], ["--exact"], ["--mask", "missing"], ["--mask", "missing", "--exact"]):
        out = os.path.join(folder, "r.jsonl")
        sis("explain", *question, *more, "--force", "--output", out)
        with open(out, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        for r in lines:
            for name in ("seconds", "evaluations", "options", "run"):
                r.pop(name, None)
        records.append(json.dumps([[r.get("status"), r.get("subsets")] for r in lines[:]]))
    if records[0] != records[1] or records[2] != records[3]:
        raise SystemExit(f"{path}: walks and full passes differ")


def main():
    random.seed(1)
    most, bits = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(MODELS):
            rng = np.random.default_rng(k)
            booster, p, categorical, names = train(rng, k)
            table = os.path.join(folder, "rows.csv")
            path = os.path.join(folder, "model.json")
            booster.save_model(path)
            with open(path, encoding="utf-8") as f:
                cuts = thresholds(json.load(f))
            x = make_data(rng, ROWS, len(categorical), categorical, cuts)
            write_table(table, x, names, rng)
            for kind in (".json", ".ubj"):
                path = os.path.join(folder, "model" + kind)
                booster.save_model(path)
                off, exact = compare(k, p, booster, x, path, table, categorical, names)
            most, bits = max(most, off), bits + exact
            if k % 4 == 0:
                explain(path, table, folder)
    print(f"{MODELS} models, {ROWS} rows each, as .json and .ubj: scores within {most:.2g}, "
          f"{bits} of them to the bit")


main()
