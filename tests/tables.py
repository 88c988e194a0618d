#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tables.py - explanations of models of real tables, checked without the code of sis.

    tables.py SIS

Recidivism and credit decisions (../shared/data/table beside the checkout, or $SIS_SHARED/data/table): a
scikit-learn pipeline that takes mixed rows through `cmd:`, as lists and as objects, and an XGBoost model
with missing values. Every subset is checked on the pipeline itself, with masks made by pandas: it is
sufficient, without any one of its features it is not, and the rest without all subsets is not.
Skips (status 77) if data or libraries are missing. $SIS_TABLE_EXAMPLES: examples of each, 4.
"""
import json
import os
import pickle
import subprocess
import sys
import tempfile

SERVE = """
import json, pickle, sys
import pandas
model, columns = pickle.load(open({pickle!r}, "rb"))
for line in sys.stdin:
    rows = json.loads(line)["inputs"]
    frame = pandas.DataFrame(rows, columns=columns)
    print(json.dumps({{"outputs": model.predict_proba(frame)[:, 1].tolist()}}), flush=True)
"""
EXAMPLES, TOLERANCE = int(os.environ.get("SIS_TABLE_EXAMPLES", "4")), 1e-5


ROWS = 1000  # to train the pipeline on


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


try:
    import numpy as np
    import pandas
    import xgboost
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
except ImportError as e:
    skip("needs python3-pandas, python3-sklearn and python3-xgboost (%s)" % e)

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("SIS_SHARED", os.path.join(HERE, "..", "..", "shared"))
FOLDER = os.path.join(SHARED, "data", "table")
TABLES = {  # file: label, the label that counts as 1, has a header
    "compas_two_years_noid.csv": ("two_year_recid", 1, True),
    "german.csv": ("c20", 2, False),
    "modeldata_credit_data.csv": ("Status", "bad", True),
}


def load(name):
    label, positive, header = TABLES[name]
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        skip("there is no " + path)
    frame = pandas.read_csv(path, header=0 if header else None)
    if not header:
        frame.columns = ["c%d" % k for k in range(frame.shape[1])]
    y = (frame.pop(label) == positive).astype(int)
    return path, frame, y, label


def words_of(frame):
    return [c for c in frame.columns if frame[c].dtype == object]


def train(frame, y):
    words = words_of(frame)
    numbers = [c for c in frame.columns if c not in words]
    prepare = ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        ("words", make_pipeline(SimpleImputer(strategy="constant", fill_value="?", missing_values=None),
                                OneHotEncoder(handle_unknown="ignore")), words)])
    return make_pipeline(prepare, LogisticRegression(max_iter=300)).fit(clean(frame)[:ROWS], y[:ROWS])


def clean(frame):
    """Missing words as None, like JSON's null."""
    frame = frame.copy()
    for c in words_of(frame):
        frame[c] = frame[c].where(frame[c].notna(), None)
    return frame


def mask_of(frame):
    """Means, and most frequent words; among equally frequent ones the first alphabetically."""
    out = {}
    for c in frame.columns:
        if frame[c].dtype == object:
            counts = frame[c].dropna().value_counts()
            out[c] = sorted(counts[counts == counts.max()].index)[0]
        else:
            out[c] = frame[c].dropna().mean()
    return out


def masked(row, mask, kept, names):
    return {c: row[c] if k in kept else mask[c] for k, c in enumerate(names)}


def check_record(record, row, mask, names, score_of):
    """Checks all claims of a record with the model itself."""
    t, n = record["threshold"], len(names)
    assert record["status"] == "explained" and record["n_features"] == n, record["status"]
    assert record["names"] == names
    everything = set(range(n))
    subsets = [set(s["features"]) for s in record["subsets"]]
    rows = [row, masked(row, mask, set(), names), masked(row, mask, everything - set().union(*subsets), names)]
    for s in subsets:
        rows.append(masked(row, mask, s, names))
        rows += [masked(row, mask, s - {k}, names) for k in sorted(s)]
    scores = list(score_of(rows))
    close = lambda a, b: abs(a - b) < TOLERANCE
    assert close(scores[0], record["score"]) and close(scores[1], record["masked_score"])
    assert scores[0] >= t > scores[1]
    assert close(scores[2], record["rest_score"]) and scores[2] < t
    at = 3
    for s, found in zip(subsets, record["subsets"]):
        assert close(scores[at], found["score"]) and scores[at] >= t - TOLERANCE
        without = scores[at + 1:at + 1 + len(s)]
        assert all(v < t + TOLERANCE for v in without), (record["id"], s, without)
        at += 1 + len(s)
    return len(subsets)


def explain(sis, model, path, label, threshold, rows, *more):
    command = [sis, "explain", "--quiet", "--jobs", "1", "--model", model, "--input", path, "--label", label,
               "--mask", "mean:" + path, "--threshold", repr(threshold), "--target-index", "0",
               "--rows", ",".join(map(str, rows)), *more]
    out = subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def choose(scores, masked_score):
    """Decided examples, and a threshold above the score of the masked row."""
    threshold = float(round(max(np.quantile(scores, 0.8), masked_score + 0.05), 3))
    return threshold, [int(i) for i in np.flatnonzero(scores >= threshold + 1e-4)[:EXAMPLES]]


def by_pipeline(sis, folder, name):
    path, frame, y, label = load(name)
    names = list(frame.columns)
    model = train(frame, y)
    stored = os.path.join(folder, name + ".pickle")
    with open(stored, "wb") as f:
        pickle.dump((model, names), f)
    script = os.path.join(folder, name + ".py")
    with open(script, "w") as f:
        f.write(SERVE.format(pickle=stored))
    mask = mask_of(frame)
    score_of = lambda rows: model.predict_proba(pandas.DataFrame(rows, columns=names))[:, 1]
    table = clean(frame).to_dict("records")
    threshold, rows = choose(score_of(table), score_of([mask])[0])
    assert len(rows) == EXAMPLES, (name, len(rows))
    for form in ["values"] if name.startswith("german") else ["objects"]:
        records = explain(sis, "cmd:%s %s" % (sys.executable, script), path, label, threshold, rows,
                          "--rows-as", form)
        assert [r["id"] for r in records] == [str(i) for i in rows]
        found = sum(check_record(r, table[int(r["id"])], mask, names, score_of) for r in records)
        print("%s: pipeline, rows as %s: %d subsets of %d examples hold" % (name, form, found, len(rows)))


def one_hot(frame):
    """The table as sis encodes it: a column for each word, all 0 for a missing one."""
    parts = []
    for c in frame.columns:
        if frame[c].dtype != object:
            parts.append(frame[c].astype(float).rename(c))
            continue
        for word in sorted(frame[c].dropna().unique()):
            parts.append((frame[c] == word).astype(float).rename("%s=%s" % (c, word)))
    return pandas.concat(parts, axis=1)


def by_xgboost(sis, folder, name):
    path, frame, y, label = load(name)
    names = list(frame.columns)
    wide = one_hot(frame)
    data = xgboost.DMatrix(wide.to_numpy(), label=y, nthread=1, feature_names=[c.replace("[", "(") for c in wide.columns])
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 4, "eta": 0.3, "seed": 1, "nthread": 1},
                            data, 15)
    stored = os.path.join(folder, name + ".json")
    booster.save_model(stored)
    mask = mask_of(frame)

    def score_of(rows):
        both = pandas.concat([frame, pandas.DataFrame(rows, columns=names)], ignore_index=True)
        last = one_hot(both)[list(wide.columns)].to_numpy()[len(frame):]
        return booster.predict(xgboost.DMatrix(last, feature_names=data.feature_names)).astype(float)

    table = frame.to_dict("records")
    threshold, rows = choose(booster.predict(data).astype(float), score_of([mask])[0])
    absent = [i for i in np.flatnonzero(frame.isna().any(axis=1) & (booster.predict(data) >= threshold + 1e-4))]
    rows = sorted(set(rows[:EXAMPLES // 2]) | {int(i) for i in absent[:EXAMPLES // 2]})
    records = explain(sis, stored, path, label, threshold, rows)
    found = sum(check_record(r, table[int(r["id"])], mask, names, score_of) for r in records)
    print("%s: XGBoost: %d subsets of %d examples hold, %d of these with missing values" %
          (name, found, len(rows), int(frame.iloc[rows].isna().any(axis=1).sum())))


def main():
    sis = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name in TABLES:
            by_pipeline(sis, folder, name)
        for name in TABLES:
            by_xgboost(sis, folder, name)


main()
