#!/usr/bin/env python3
"""strokes.py SIS DATA OUT [--train N] [--seeds N] [--digits N] [--models DIR] - section 4.4: does the CNN decide by strokes in
a small part of the digit, and the MLP by pixels throughout it?

Trains both networks (N of the 60,000 digits) with several seeds, epochs, dropouts, and explains the first N test fours (and
as many digits of all classes) by their first subset, with two masks. From the trace of the selection, it takes the subset
for each of several thresholds. Prints a table with several measures of spread for each variant. OUT keeps the files;
an existing file is used again.

Measures, means over digits (for random pixels: as many pixels of the digit's ink as the subset has, 20 draws each):
  far      distance of the pixels from their centre: root of the mean square
  box      share of the box around the digit's ink that the box around the subset's pixels covers
  biggest  share of the pixels in the largest connected part (8 neighbours)
  parts    number of connected parts
  ink      share of the pixels that are ink (value above 0)
"""
import argparse
import gzip
import json
import os
import random
import struct
import subprocess
import sys

MEASURES = ("far", "box", "biggest", "parts", "ink")
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


def box(pixels):
    ys, xs = [p // SIDE for p in pixels], [p % SIDE for p in pixels]
    return min(ys), max(ys) + 1, min(xs), max(xs) + 1


def covered(pixels, ink):
    """Share of the box of the ink that lies in the box of the pixels."""
    a, b = box(pixels), box(ink)
    high = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    wide = max(0, min(a[3], b[3]) - max(a[2], b[2]))
    return high * wide / ((b[1] - b[0]) * (b[3] - b[2]))


def measure(pixels, ink):
    at = [complex(*divmod(p, SIDE)) for p in pixels]
    centre, found = mean(at), parts(pixels)
    return {"far": mean(abs(z - centre) ** 2 for z in at) ** 0.5, "box": covered(pixels, ink), "biggest": max(found) / len(pixels),
            "parts": len(found), "ink": mean(p in ink for p in pixels)}


def by_chance(size, ink, draws=20):
    """The measures of random pixels of the ink."""
    rng = random.Random(size)
    return [measure(rng.sample(sorted(ink), min(size, len(ink))), ink) for _ in range(draws)]


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

    def network(self, net, seed, epochs, *options):
        """Train a network once; its path."""
        path = os.path.join(self.o.out, "-".join([net, "s%d" % seed, "e%d" % epochs] + [w.strip("-") for w in options]) + ".onnx")
        if not os.path.exists(path):
            self.run("train", net, "--input", self.train, "--rows", "0:%d" % self.o.train, "--test", self.test, "--seed", seed, "--epochs",
                     epochs, "--jobs", 1, "--force", "--output", path, *options)
        return path

    def accuracy(self, path):
        said = subprocess.run([self.o.sis, "model", path], capture_output=True, text=True).stdout
        return next((line.split("accuracy")[1].split()[0].strip(",;") for line in said.splitlines()
                     if "test" in line and "accuracy" in line), "")

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
        """The measures of each digit, and of random pixels."""
        found = []
        for r in self.records(path, rows, mask):
            pixels = r["subsets"][0]["features"] if threshold == 0.7 else self.subset(r, threshold)
            if not pixels or (rows == "fours" and r["target"] != 4):
                continue
            ink = {i for i, v in enumerate(self.images[int(r["id"])]) if v}
            drawn = by_chance(len(pixels), ink)
            found.append(dict(measure(pixels, ink), size=len(pixels), chance=mean(m["far"] for m in drawn),
                              chance_parts=mean(m["parts"] for m in drawn)))
        return found


HEAD = "| networks | accuracy | digits | pixels | " + " | ".join(MEASURES) + " | of random ink: far | parts | CNN nearer: p | fewer parts: p |"


def row(name, accuracy, cnn, mlp):
    """One line: both networks, CNN first."""
    pair = lambda key, form: ", ".join(form % mean(m[key] for m in s) for s in (cnn, mlp))
    p = []
    for key in ("far", "parts"):
        sign = "" if mean(m[key] for m in cnn) < mean(m[key] for m in mlp) else ", contrary"
        p.append("%.1g%s" % (different([m[key] for m in cnn], [m[key] for m in mlp]), sign))
    cells = [name, accuracy, "%d, %d" % (len(cnn), len(mlp)), pair("size", "%.0f"), pair("far", "%.2f"), pair("box", "%.2f"),
             pair("biggest", "%.2f"), pair("parts", "%.1f"), pair("ink", "%.2f"), pair("chance", "%.2f"), pair("chance_parts", "%.1f")]
    print("| " + " | ".join(cells + p) + " |", flush=True)


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

    print(HEAD + "\n" + "|---" * HEAD.count(" | ") + "|---|")
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
    compare("seed 1, mask 0", every[0], mask="zero")
    compare("seed 1, 1 epoch", (study.network("mnist-cnn", 1, 1), study.network("mnist-mlp", 1, 1)))
    compare("seed 1, no dropout before the last layer", (study.network("mnist-cnn", 1, epochs[0], "--dropout", "0"),
                                                        study.network("mnist-mlp", 1, epochs[1], "--dropout", "0")))
    together = [[m for paths in every for m in study.spread(paths[i], "fours")] for i in (0, 1)]
    row("all seeds together", "", *together)


if __name__ == "__main__":
    sys.exit(main())
