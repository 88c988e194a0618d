#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tree walks against XGBoost's own predictions: masked copies a second, on one thread.

    bench_xgboost.py SIS

The walk: evaluations and seconds that `sis explain` reports, the median over 40 examples, verification included.
XGBoost: batches of 2,000 masked copies through DMatrix and predict, the best of eight. Needs xgboost and numpy."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import xgboost as xgb

SIZES = [(10, 100, 4), (50, 100, 6), (50, 500, 6), (200, 200, 6)]  # columns, trees, depth


def train(rng, columns, trees, depth):
    x = rng.standard_normal((2000, columns)).astype(np.float32)
    y = x @ rng.standard_normal(columns) + 0.5 * rng.standard_normal(len(x)) > 0
    options = {"objective": "binary:logistic", "max_depth": depth, "nthread": 1}
    return x, xgb.train(options, xgb.DMatrix(x, y), trees)


def walk_rate(sis, model, x, folder):
    path, table = os.path.join(folder, "m.json"), os.path.join(folder, "x.csv")
    model.save_model(path)
    header = ",".join(f"x{j}" for j in range(x.shape[1]))
    np.savetxt(table, x[:40], delimiter=",", header=header, comments="", fmt="%.9g")
    masked = float(model.predict(xgb.DMatrix(np.zeros((1, x.shape[1]), np.float32)))[0])
    done = subprocess.run([sis, "explain", "-m", path, "-i", table, "--mask", "zero", "--threshold",
                           str((1 + masked) / 2), "--jobs", "1", "--quiet"],
                          capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return statistics.median(r["evaluations"] / r["seconds"] for r in records
                             if r["status"] == "explained")


def batch_rate(rng, model, x):
    rows = np.repeat(x[:100], 20, 0)
    rows[rng.random(rows.shape) < 0.5] = 0
    best = float("inf")
    for _ in range(8):
        began = time.perf_counter()
        model.predict(xgb.DMatrix(rows, nthread=1))
        best = min(best, time.perf_counter() - began)
    return len(rows) / best


def main():
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        for columns, trees, depth in SIZES:
            x, model = train(rng, columns, trees, depth)
            walk, batch = walk_rate(sys.argv[1], model, x, folder), batch_rate(rng, model, x)
            print(f"{columns} columns, {trees} trees of depth {depth}: walk {walk:.2g} a second, "
                  f"XGBoost {batch:.2g}: {walk / batch:.0f} times")


main()
