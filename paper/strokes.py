#!/usr/bin/env python3
"""strokes.py SIS DATA OUT [--train N] [--seeds N] [--digits N] [--models DIR] - section 4.4 of the paper: does the CNN decide
by strokes in a small part of the digit, and the MLP by pixels throughout it?

Explains the first N test fours (and the first N digits of all classes) by the first subset of each network: of the shipped
networks, and of networks that it trains here on the first N digits, with several seeds, numbers of epochs and without dropout;
with the mean of each pixel as mask, and with 0. The trace of a selection has the subsets for other thresholds. OUT keeps the
files; an existing file is used again. Prints a table: means over digits, the CNN first, of

  far      distance of the pixels from their centre: root of the mean square
  reach    share of the digit's ink within 2 pixels of a pixel of the subset
  biggest  share of the pixels in the largest connected part (8 neighbours)
  parts    number of connected parts
  ink      share of the pixels that are ink (value above 0)

A p (two-sided, by resampling) is of the difference; "not" if it goes against the paper: it wants the CNN's subsets near, in
a small part, connected, and on ink."""
import argparse
import gzip
import json
import os
import random
import re
import struct
import subprocess
import sys

WANTED = {"far": -1, "reach": -1, "biggest": 1, "parts": -1, "ink": 1}  # sign of CNN - MLP by the paper
SIDE = 28


def mean(x):
    x = list(x)
    return sum(x) / len(x) if x else float("nan")


def read_idx(path):
    with gzip.open(path) as f:
        data = f.read()
    n_dims = data[3]
    n = struct.unpack(">I", data[4:8])[0]
    body = data[4 + 4 * n_dims:]
    size = len(body) // n
    return [body[i * size:(i + 1) * size] for i in range(n)]


def parts(pixels):
    """Sizes of the connected parts of a set of pixels."""
    left, found = set(pixels), []
    while left:
        stack, size = [left.pop()], 0
        while stack:
            y, x = divmod(stack.pop(), SIDE)
            size += 1
            near = [yy * SIDE + xx for yy in (y - 1, y, y + 1) for xx in (x - 1, x, x + 1) if 0 <= xx < SIDE and 0 <= yy < SIDE]
            stack += [p for p in near if p in left]
            left.difference_update(near)
        found.append(size)
    return found


def reach(pixels, ink):
    at = [divmod(p, SIDE) for p in pixels]
    return mean(any(max(abs(y - v), abs(x - u)) <= 2 for v, u in at) for y, x in (divmod(p, SIDE) for p in ink))


def measure(pixels, ink):
    at = [complex(*divmod(p, SIDE)) for p in pixels]
    centre, found = mean(at), parts(pixels)
    return {"size": len(pixels), "far": mean(abs(z - centre) ** 2 for z in at) ** 0.5, "reach": reach(pixels, ink),
            "biggest": max(found) / len(pixels), "parts": len(found), "ink": mean(p in ink for p in pixels)}


def different(x, y, draws=2000):
    """Two-sided p for a difference of means, by resampling from both together."""
    rng, both, seen, more = random.Random(1), list(x) + list(y), abs(mean(x) - mean(y)), 0
    for _ in range(draws):
        rng.shuffle(both)
        more += abs(mean(both[:len(x)]) - mean(both[len(x):])) >= seen - 1e-12
    return (more + 1) / (draws + 1)


class Study:
    def __init__(self, o):
        self.o = o
        folder = os.path.join(o.data, "mnist")
        self.train = os.path.join(folder, "train-images-idx3-ubyte.gz")
        self.test = os.path.join(folder, "t10k-images-idx3-ubyte.gz")
        self.images = read_idx(self.test)
        self.labels = [b[0] for b in read_idx(os.path.join(folder, "t10k-labels-idx1-ubyte.gz"))]
        fours = [i for i, v in enumerate(self.labels) if v == 4][:o.digits]
        self.rows = {"fours": fours, "all": list(range(o.digits))}

    def run(self, *words):
        subprocess.run([self.o.sis, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def network(self, net, seed, epochs, *options, digits=None):
        """Train a network once; its path."""
        words = [net, "s%d" % seed, "e%d" % epochs] + [w.strip("-") for w in options] + (["n%d" % digits] if digits else [])
        path = os.path.join(self.o.out, "-".join(words) + ".onnx")
        if not os.path.exists(path):
            self.run("train", net, "--input", self.train, "--rows", "0:%d" % (digits or self.o.train), "--test", self.test, "--seed", seed, "--epochs",
                     epochs, "--jobs", 1, "--force", "--output", path, *options)
        return path

    def accuracy(self, path):
        said = subprocess.run([self.o.sis, "model", path], capture_output=True, text=True).stdout
        found = re.search(r"test accuracy ([\d.]+)", said)
        return found[1] if found else ""

    def records(self, path, rows, mask=None):
        """The first subset of each digit, with its trace."""
        name = "%s-%s%s.jsonl" % (os.path.basename(path)[:-5], rows, "-" + mask if mask else "")
        out = os.path.join(self.o.out, name)
        self.run("explain", "--model", path, "--input", self.test, "--rows", ",".join(map(str, self.rows[rows])), "--threshold", 0.7,
                 "--max-subsets", 1, "--trace", "--jobs", 1, "--output", out, "--resume", *(["--mask", mask] if mask else []))
        with open(out) as f:
            return [r for r in map(json.loads, f) if r["status"] == "explained"]

    def subset(self, record, threshold):
        """Its pixels for another threshold, from the trace; none if the digit does not reach it."""
        first = record["subsets"][0]
        enough = [s >= threshold for s in first["trace"]]
        last = max((k for k, good in enumerate(enough) if good), default=-1)
        return first["order"][last + 1:] if last >= 0 else []

    def spread(self, path, rows, mask=None, threshold=0.7):
        """The measures of each digit."""
        found = []
        for r in self.records(path, rows, mask):
            pixels = r["subsets"][0]["features"] if threshold == 0.7 else self.subset(r, threshold)
            if pixels and (rows == "all" or r["target"] == 4):
                found.append(measure(pixels, {i for i, v in enumerate(self.images[int(r["id"])]) if v}))
        return found


HEAD = "| networks | test accuracy | digits | pixels | " + " | ".join("%s (p)" % m for m in WANTED) + " |"


def row(name, accuracy, cnn, mlp):
    """One line: both networks, CNN first."""
    if not cnn or not mlp:
        return
    cells = [name, accuracy, "%d, %d" % (len(cnn), len(mlp)), ", ".join("%.0f" % mean(m["size"] for m in s) for s in (cnn, mlp))]
    for key, sign in WANTED.items():
        a, b = [m[key] for m in cnn], [m[key] for m in mlp]
        contrary = "not, " if sign * (mean(a) - mean(b)) < 0 else ""
        cells.append("%.2f, %.2f (%s%.1g)" % (mean(a), mean(b), contrary, different(a, b)))
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sis")
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--train", type=int, default=60000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--digits", type=int, default=100)
    parser.add_argument("--models", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))
    o = parser.parse_args()
    os.makedirs(o.out, exist_ok=True)
    study = Study(o)
    shipped = [os.path.join(o.models, "mnist-%s.onnx" % net) for net in ("cnn", "mlp")]

    def compare(name, paths, rows="fours", mask=None, threshold=0.7):
        row(name, ", ".join(study.accuracy(p) for p in paths), *(study.spread(p, rows, mask, threshold) for p in paths))

    print(HEAD + "\n" + "|---" * (HEAD.count("|") - 1) + "|")
    compare("shipped", shipped)
    for threshold in (0.5, 0.9, 0.99):
        compare("shipped, threshold %g" % threshold, shipped, threshold=threshold)
    compare("shipped, mask 0", shipped, mask="zero")
    compare("shipped, all classes", shipped, rows="all")
    epochs = 12, 20  # of Keras's examples
    every = []
    for seed in range(1, o.seeds + 1):
        paths = study.network("mnist-cnn", seed, epochs[0]), study.network("mnist-mlp", seed, epochs[1])
        compare("seed %d" % seed, paths)
        every.append(paths)
    for seed in range(2, o.seeds + 1):  # training the perceptron is cheap
        compare("shipped CNN, MLP of seed %d on 60,000 digits" % seed,
                (shipped[0], study.network("mnist-mlp", seed, epochs[1], digits=60000)))
    compare("seed 1, mask 0", every[0], mask="zero")
    compare("seed 1, 1 epoch", (study.network("mnist-cnn", 1, 1), study.network("mnist-mlp", 1, 1)))
    compare("seed 1, no dropout before the last layer", (study.network("mnist-cnn", 1, epochs[0], "--dropout", "0"),
                                                        study.network("mnist-mlp", 1, epochs[1], "--dropout", "0")))
    together = [[m for paths in every for m in study.spread(paths[i], "fours")] for i in (0, 1)]
    row("all seeds together", "", *together)


if __name__ == "__main__":
    sys.exit(main())
