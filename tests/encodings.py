#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""encodings.py - explain models trained on tables that pandas and scikit-learn encode.

    encodings.py SIS PYTHON_FOLDER

A table with numbers, words, booleans, numeric categories, and missing values of each kind is encoded
in the usual ways (get_dummies, OneHotEncoder, OrdinalEncoder, with and without missing values, names
and dropped categories). The program and the Python package explain models trained on it, on raw rows
where possible. Scores of the rows, of the masked row and of every subset must equal those of pandas
and the model. Skips (status 77) if libraries are missing.
"""
import json
import os
import pickle
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import pandas
    import xgboost
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
    sys.path.insert(0, os.path.abspath(sys.argv[2]))
    import sis
except ImportError as e:
    print("skipped: needs python3-pandas, python3-sklearn, python3-xgboost and the module (%s)" % e)
    sys.exit(77)

SIS = os.path.abspath(sys.argv[1])

SERVE = """
import json, pickle, sys
import pandas
model, columns = pickle.load(open({pickle!r}, "rb"))
for line in sys.stdin:
    frame = pandas.DataFrame(json.loads(line)["inputs"], columns=columns)
    print(json.dumps({{"outputs": model.predict_proba(frame)[:, 1].tolist()}}), flush=True)
"""
ROWS, EXAMPLES = 400, 8
NUMBERS, WORDS = ["age", "income"], ["home", "job"]
failures, tried = [], 0


def make(seed, holes):
    """The frame, and the options that describe it."""
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame({
        "age": rng.integers(20, 70, ROWS), "home": rng.choice(["own", "rent", "free"], ROWS),
        "income": rng.normal(50, 20, ROWS).round(1), "flag": rng.choice([True, False], ROWS),
        "zip": rng.choice([2, 9, 10, 100], ROWS), "job": rng.choice(["Nurse", "clerk", "Ärztin"], ROWS)})
    y = (frame.income / 20 + 2 * (frame.home == "own") + frame.flag + (frame.zip == 10) - (frame.job == "clerk") > 4)
    if holes:
        for column in ("home", "income"):
            frame.loc[rng.random(ROWS) < 0.2, column] = None
        y |= frame.home.isna()
    return frame, y.astype(int)


def masked_row(frame):
    """The mean of numbers, the most frequent category; missing values do not count."""
    words = [c for c in frame.columns if c in WORDS or c == "zip"]
    return {c: frame[c].mode()[0] if c in words else frame[c].astype(float).mean() for c in frame.columns}


def with_subset(frame, i, names, mask):
    """Row i with everything but these columns masked."""
    row = {c: [frame[c].iloc[i] if c in names else mask[c]] for c in frame.columns}
    return pandas.DataFrame(row, columns=frame.columns)


def near(name, what, found, wanted):
    global tried
    tried += 1
    if not abs(found - wanted) <= 2e-6:
        failures.append("%s: %s: sis %.7g, model %.7g" % (name, what, found, wanted))


def run(*command):
    done = subprocess.run([SIS, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def write(frame, path):
    frame.to_csv(path, index=False)
    return path


def check_records(name, records, frame, score, mask):
    records = list(records)
    if len(records) != EXAMPLES:
        failures.append("%s: %d records" % (name, len(records)))
    for i, r in enumerate(records):
        near(name, "row %d" % i, r["score"], score(frame.iloc[[i]]))
        if "masked_score" in r:
            near(name, "row %d masked" % i, r["masked_score"], score(with_subset(frame, i, [], mask)))
        for s in r["subsets"]:
            names = [r["names"][f] for f in s["features"]]
            near(name, "row %d with %s" % (i, names), s["score"], score(with_subset(frame, i, names, mask)))


def check(name, folder, model, frame, score, options, mask=None):
    """The program on a table of raw or encoded rows."""
    table = write(frame, os.path.join(folder, "table.csv"))
    status, out, err = run("explain", "-q", "-m", model, "-i", table, "--mask", "mean:" + table, "-t", "0.5",
                           "--rows", "0:%d" % EXAMPLES, *options)
    if status:
        failures.append("%s: %s" % (name, err.strip()))
        return
    check_records(name, map(json.loads, out.splitlines()), frame, score, mask or masked_row(frame))


def refused(name, folder, model, frame, options, words):
    table = write(frame, os.path.join(folder, "table.csv"))
    status, out, err = run("predict", "-q", "-m", model, "-i", table, *options)
    global tried
    tried += 1
    if status != 1 or words not in err:
        failures.append("%s: expected %r, found status %d, %r" % (name, words, status, err or out[:100]))


def boosted(matrix, y, folder, names):
    x = np.asarray(matrix, dtype=float)
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 4, "tree_method": "hist"},
                          xgboost.DMatrix(x, y, feature_names=names), 12)
    path = os.path.join(folder, "model.json")
    model.save_model(path)

    def score(encoded):
        return float(model.predict(xgboost.DMatrix(np.asarray(encoded, dtype=float), feature_names=names))[0])
    return path, score


def dummies(columns, **how):
    """pandas.get_dummies, with the columns of training for single rows."""
    known = {c: None for c in columns}

    def encode(frame, fit=False):
        frame = frame.copy()
        for c in columns:
            if fit:
                known[c] = sorted(frame[c].dropna().unique())
            frame[c] = pandas.Categorical(frame[c], known[c])
        return pandas.get_dummies(frame, columns=columns, **how)
    return encode


def hot(columns, **how):
    """OneHotEncoder, followed by the numbers unchanged."""
    encoder = ColumnTransformer([("cat", OneHotEncoder(sparse_output=False, **how), columns)],
                                remainder="passthrough", verbose_feature_names_out=False)

    def encode(frame, fit=False):
        x = encoder.fit_transform(frame) if fit else encoder.transform(frame)
        return pandas.DataFrame(x, columns=encoder.get_feature_names_out())
    return encode


def count_missing(folder, model, frame):
    """sis summary also counts missing words."""
    global tried
    tried += 1
    table, found = os.path.join(folder, "table.csv"), os.path.join(folder, "found.jsonl")
    run("explain", "-q", "-m", model, "-i", table, "--mask", "mean:" + table, "-t", "0.5", "--output", found)
    with open(found) as lines:
        records = [json.loads(line) for line in lines]
    wanted = sum(pandas.isna(frame.home.iloc[i]) for i, r in enumerate(records) for s in r["subsets"]
                 if "home" in [r["names"][f] for f in s["features"]])
    items = map(json.loads, run("summary", "-q", "--json", "-", found)[1].splitlines())
    counted = [item["words"].get("(none)", 0) for item in items if item["name"] == "home"]
    if counted != [wanted] or not wanted:
        failures.append("summary: %s missing words, there are %d" % (counted, wanted))


def trees(folder):
    """Models of XGBoost on encoded tables, explained on raw ones."""
    for holes in (False, True):
        frame, y = make(1 + holes, holes)
        plain = frame.drop(columns="zip")
        nan = "nan" if holes else "whole"
        for name, encode, raw, options in (
                ("get_dummies", dummies(WORDS), plain, ()),
                ("get_dummies(dummy_na)", dummies(WORDS, dummy_na=True), plain, ()),
                ("get_dummies(prefix_sep)", dummies(WORDS, prefix_sep="="), plain, ()),
                ("get_dummies of numbers", dummies(WORDS + ["zip"]), frame, ("--categorical", "home,job,zip")),
                ("OneHotEncoder", hot(WORDS), plain, ()),
                ("OneHotEncoder(flag)", hot(WORDS + ["flag"]), plain, ()),
                ("OneHotEncoder(ignore)", hot(WORDS, handle_unknown="ignore"), plain, ())):
            known = raw[raw.home.notna()] if "ignore" in name else raw  # missing words are then unknown
            encoded = encode(known, fit=True)
            model, score = boosted(encoded, y[known.index], folder, list(encoded.columns))
            mask = dict(masked_row(raw), **({"flag": raw.flag.mode()[0]} if "flag" in name else {}))
            check("%s, %s" % (name, nan), folder, model, raw, lambda f: score(encode(f)), options, mask)

            if name == "get_dummies" and holes:
                count_missing(folder, model, raw)

        # Without names, values must have the order of the table: words at the position of their column.
        for name, dummy_na in (("unnamed", False), ("unnamed with nan", True)):
            parts = {"home": ["free", "own", "rent"], "job": ["Nurse", "clerk", "Ärztin"], "zip": [2, 9, 10, 100]}

            def encode(f):
                columns = [np.column_stack([f[c] == v for v in parts[c]] + ([f[c].isna()] if dummy_na and f[c].name == "home" else []))
                           if c in parts else f[c].astype(float).to_numpy()[:, None] for c in f.columns]
                return np.hstack(columns).astype(float)
            if holes or not dummy_na:
                model, score = boosted(encode(frame), y, folder, None)
                check("%s, %s" % (name, nan), folder, model, frame, lambda f: score(encode(f)),
                      ("--categorical", "home,job,zip"))

        # Encoded rows are tables of numbers; True and False are 1 and 0.
        ordinal = OrdinalEncoder().set_output(transform="pandas")
        for name, encoded in (("encoded dummies", pandas.get_dummies(plain)),
                              ("encoded, drop_first", pandas.get_dummies(plain, drop_first=True)),
                              ("OrdinalEncoder", pandas.concat([ordinal.fit_transform(plain[WORDS]), plain[NUMBERS + ["flag"]]], axis=1))):
            model, score = boosted(encoded, y, folder, list(encoded.columns))
            mask = {c: encoded[c].astype(float).mean() for c in encoded.columns}
            check("%s, %s" % (name, nan), folder, model, encoded, score, (), mask)

    frame, y = make(3, False)
    plain = frame.drop(columns="zip")
    strange = plain.copy()
    strange.loc[1, "home"] = "tent"
    encode = hot(WORDS, drop="first")
    encoded = encode(plain, fit=True)
    model, _ = boosted(encoded, y, folder, list(encoded.columns))
    refused("drop", folder, model, plain, (), "unknown category ")
    encoded = dummies(WORDS)(plain, fit=True)
    model, _ = boosted(encoded, y, folder, list(encoded.columns))
    refused("unseen", folder, model, strange, (), 'unknown category "tent"')


def pipelines(folder):
    """Pipelines of scikit-learn over raw rows: by the program as a command, and in Python."""
    file = os.path.join(folder, "pipeline.pickle")
    with open(os.path.join(folder, "serve.py"), "w") as out:
        out.write(SERVE.format(pickle=file))
    for holes in (False, True):
        frame, y = make(5 + holes, holes)
        kinds = {"OneHotEncoder": OneHotEncoder(handle_unknown="ignore"),
                 "OneHotEncoder(drop)": OneHotEncoder(drop="first"),
                 "OrdinalEncoder": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)}
        for kind, encoder in kinds.items():
            for model in (LogisticRegression(max_iter=500), RandomForestClassifier(15, random_state=0)):
                name = "%s, %s%s" % (kind, type(model).__name__, ", holes" if holes else "")
                pipeline = make_pipeline(ColumnTransformer([("words", encoder, WORDS + ["zip"]), ("flag", encoder, ["flag"]),
                                                            ("numbers", SimpleImputer(), NUMBERS)]), model).fit(frame, y)

                def score(f):
                    return float(pipeline.predict_proba(f)[0, 1])
                mask = dict(masked_row(frame), flag=frame.flag.mode()[0])
                with open(file, "wb") as out:
                    pickle.dump((pipeline, list(frame.columns)), out)
                form = "values" if holes else "objects"
                if holes != isinstance(model, LogisticRegression):
                    check("%s as %s" % (name, form), folder, "cmd:%s %s" % (sys.executable, os.path.join(folder, "serve.py")),
                          frame, score, ("--rows-as", form, "--types", types(folder), "--jobs", "1"), mask)
                words = frame.astype({"zip": "category"})
                r = sis.explain(pipeline, words[:EXAMPLES], 0.5, background=words, target=1)
                check_records(name + ", Python", [json.loads(line) for line in r.lines], frame, score, mask)


def types(folder):
    path = os.path.join(folder, "types.txt")
    with open(path, "w") as out:
        out.write("flag category\nzip category\n")
    return path


def encoded_arrays():
    """Models of scikit-learn and XGBoost on arrays and frames of dummies, in Python."""
    frame, y = make(7, True)
    encoded = pandas.get_dummies(frame, columns=WORDS + ["zip"], dummy_na=True)
    filled = encoded.fillna(encoded.income.mean())
    for model, table in ((LogisticRegression(max_iter=500), filled), (RandomForestClassifier(15, random_state=0), filled),
                         (xgboost.XGBClassifier(n_estimators=10, max_depth=4, tree_method="hist"), encoded)):
        for x in (table, table.to_numpy(dtype=float)):
            name = "%s on a %s" % (type(model).__name__, type(x).__name__)
            model.fit(x, y)
            output = {} if isinstance(model, xgboost.XGBClassifier) else {"target": 1}
            r = sis.explain(model, x[:EXAMPLES], 0.5, background=x, **output)
            mask = {c: table[c].astype(float).mean() for c in table.columns}
            if x is table:
                mask.update({c: table[c].mode()[0] for c in table.columns if table[c].dtype == bool})

            def score(f):
                return float(model.predict_proba(f if x is table else f.to_numpy(dtype=float))[0, 1])
            records = [json.loads(line) for line in r.lines]
            for record in records:
                record.setdefault("names", list(table.columns))
            check_records(name, records, table, score, mask)


with tempfile.TemporaryDirectory() as temporary:
    trees(temporary)
    pipelines(temporary)
encoded_arrays()
for line in failures[:40]:
    print(line)
print("%d scores and refusals compared, %d differ" % (tried, len(failures)))
sys.exit(1 if failures else 0)
