#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""accuracy.py SIS DATA [NAME...] - accuracy of the shipped models on their test examples, and AUC for two classes.

DATA is the folder of sis data (mnist, imdb, and ctcf: sis data dna --motif MA0139.1 --count 20000 --name ctcf). NAMEs are
models without .onnx (default: all but imdb-lstm, which takes minutes)."""
import gzip
import json
import os
import subprocess
import sys

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models")


def digits(data):
    with gzip.open(os.path.join(data, "mnist", "t10k-labels-idx1-ubyte.gz")) as f:
        return os.path.join(data, "mnist", "t10k-images-idx3-ubyte.gz"), list(f.read()[8:])


def reviews(data):
    path = os.path.join(data, "imdb", "test.jsonl.gz")
    with gzip.open(path, "rt") as f:
        return path, [json.loads(line)["label"] for line in f]


def sequences(data):
    with open(os.path.join(data, "ctcf", "test.target")) as f:
        rows = [line.split() for line in f if line.strip()]
    return os.path.join(data, "ctcf", "test.fa"), [int(r[0]) for r in rows]


TESTS = {"mnist-cnn": digits, "mnist-mlp": digits, "imdb-cnn": reviews, "imdb-lstm": reviews, "dna-ctcf": sequences}


def auc(scores, labels):
    """Share of pairs of a positive and a negative example in the right order; ties count half."""
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    ranks, at = [0.0] * len(scores), 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        for i in order[at:end]:
            ranks[i] = (at + 1 + end) / 2
        at = end
    n = sum(labels)
    return (sum(r for r, label in zip(ranks, labels) if label) - n * (n + 1) / 2) / (n * (len(labels) - n))


def main(sis, data, *names):
    for name in names or [n for n in TESTS if n != "imdb-lstm"]:
        path, labels = TESTS[name](data)
        run = subprocess.run([sis, "predict", "--model", os.path.join(MODELS, name + ".onnx"), "--input", path, "--quiet"],
                             stdout=subprocess.PIPE, text=True, check=True)
        scores = [json.loads(line)["scores"] for line in run.stdout.splitlines()]
        many = len(scores[0]) > 1
        said = [s.index(max(s)) if many else int(s[0] >= 0.5) for s in scores]
        right = sum(a == b for a, b in zip(said, labels)) / len(labels)
        print("%-10s %6d examples  accuracy %.4f%s" % (
            name, len(labels), right, "" if many else "  AUC %.4f" % auc([s[0] for s in scores], labels)))


if __name__ == "__main__":
    main(*sys.argv[1:])
