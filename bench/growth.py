# SPDX-License-Identifier: MIT
"""Cost of a masked copy against batched loops of ONNX Runtime and PyTorch, and its growth with the image size, depth and
width of convolutional networks. One core each, all in one run.

    /usr/bin/python3 bench/growth.py BUILD [NAME...] [--seconds S] [--figure FILE.svg]

PyTorch makes and exports the networks with random weights: those of the paper and three families. BUILD/bench/bench_zoo
measures walks, our full passes and ONNX Runtime ($SIS_ORT or BUILD/ort); this script measures PyTorch's passes in batches of
256 masked copies. No pixel equals its mask, so all p features count. NAME: only networks whose name contains it.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

BATCH = 256


class Words(nn.Module):
    """The paper's text networks: words become vectors, then a convolution with its maximum or two LSTMs."""

    def __init__(self, recurrent):
        super().__init__()
        self.embed = nn.Embedding(1000, 100)
        self.lstm = nn.LSTM(100, 200, num_layers=2, batch_first=True) if recurrent else None
        self.conv = None if recurrent else nn.Conv1d(100, 128, 3)
        self.end = nn.Linear(200 if recurrent else 128, 1)

    def forward(self, x):
        h = self.embed(x)
        if self.lstm is not None:
            h = self.lstm(h)[0][:, -1]
        else:
            h = torch.relu(self.conv(h.transpose(1, 2))).max(dim=2)[0]
        return torch.sigmoid(self.end(h))


class Bases(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 128, 24)
        self.end = nn.Sequential(nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, x):
        return self.end(torch.relu(self.conv(x)).max(dim=2)[0])


def convolutions(side, depth, width):
    """`depth` 3 x 3 convolutions that keep the size, a 2 x 2 pool after the second, ten classes."""
    layers, channels = [], 1
    for k in range(depth):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()] + ([nn.MaxPool2d(2)] if k == 1 else [])
        channels = width
    end = width * (side // 2) ** 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(end, 10), nn.Softmax(dim=1))


def digits():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10), nn.Softmax(dim=1))


def perceptron():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 250), nn.ReLU(), nn.Linear(250, 250), nn.ReLU(), nn.Linear(250, 10), nn.Softmax(dim=1))


def networks():
    """(name, module, input of one row, family, position in it)"""
    def image(side):
        return torch.rand(1, 1, side, side) * 0.9 + 0.05
    words = torch.randint(1, 999, (1, 120))
    yield "paper mnist-cnn", digits(), image(28), None, 0
    yield "paper mnist-mlp", perceptron(), image(28), None, 0
    yield "paper dna-cnn", Bases(), torch.nn.functional.one_hot(torch.randint(0, 4, (1, 101)), 4).float().transpose(1, 2), None, 0
    yield "paper text-cnn", Words(False), words, None, 0
    yield "paper text-lstm", Words(True), words, None, 0
    for side in (28, 56, 112):
        yield "size %d" % side, convolutions(side, 2, 16), image(side), "pixels", side * side
    for depth in (2, 4, 8, 16):
        yield "depth %d" % depth, convolutions(28, depth, 16), image(28), "convolutions", depth
    for width in (8, 16, 32, 64):
        yield "width %d" % width, convolutions(28, 2, width), image(28), "filters", width


def write(folder, name, net, x):
    stem = os.path.join(folder, name.replace(" ", "-"))
    axes = {"x": {0: "n"}, "y": {0: "n"}}
    torch.onnx.export(net, x, stem + ".onnx", input_names=["x"], output_names=["y"], dynamic_axes=axes, opset_version=13)
    y = net(x)
    record = {"inputs": {"x": {"type": "int64" if x.dtype == torch.int64 else "float32", "dims": list(x.shape), "data": x.flatten().tolist()}},
              "outputs": {"y": {"type": "float32", "dims": list(y.shape), "data": y.flatten().tolist()}}}
    json.dump(record, open(stem + ".json", "w"))
    return os.path.basename(stem)


def torch_rate(net, x, seconds):
    rows = x.repeat((BATCH,) + (1,) * (x.dim() - 1))
    best, end = 0, time.perf_counter() + seconds
    while best == 0 or time.perf_counter() < end:
        began = time.perf_counter()
        net(rows)
        best = max(best, BATCH / (time.perf_counter() - began))
    return best


def measure(build, folder, names, seconds):
    """The rows of bench_zoo by name: p, walk, walks, full passes and ONNX Runtime a second, seconds of a selection."""
    with open(os.path.join(folder, "index.tsv"), "w") as f:
        f.write("file\tfamily\ttoday\trepository\tpath\n" + "".join("%s\tCNN\tloads\t-\t-\n" % n for n in names))
    done = subprocess.run([os.path.join(build, "bench", "bench_zoo"), "--seconds", str(seconds), "--folder", folder],
                          stdout=subprocess.PIPE, text=True, check=True)
    found = {}
    for line in done.stdout.split("\n"):
        row = re.match(r"(\S+)\s+\S+\s+(\d+) (\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+\s+\S+\s+(\S+)", line)
        if row and row[1] in names:
            found[row[1]] = (int(row[2]), row[3]) + tuple(float(v) for v in row.groups()[3:])
    return found


# ---- The figure --------------------------------------------------------------------------------------------------------

SERIES = (("sis, walk", "#0072b2"), ("sis, full passes", "#56b4e9"), ("ONNX Runtime", "#d55e00"), ("PyTorch", "#009e73"))
WIDE, HIGH, LEFT, TOP = 300, 300, 62, 46


def panel(k, family, places, rates, low, high):
    """One family: microseconds of a masked copy, both axes logarithmic."""
    x0, bottom, top = LEFT + k * (WIDE + 10), TOP + HIGH - 50, TOP
    across = [math.log(p / places[0]) / math.log(places[-1] / places[0]) for p in places]
    def up(v):
        return bottom - (math.log10(v) - low) / (high - low) * (bottom - top)
    out = []
    for e in range(low, high + 1):
        out.append('<line x1="%g" x2="%g" y1="%g" y2="%g" stroke="#d8dde3"/>' % (x0, x0 + WIDE - 30, up(10 ** e), up(10 ** e)))
        if k == 0:
            out.append('<text x="%g" y="%g" text-anchor="end">%s</text>' % (x0 - 6, up(10 ** e) + 4, "%g" % 10 ** e))
    for p, a in zip(places, across):
        out.append('<text x="%g" y="%g" text-anchor="middle">%d</text>' % (x0 + 10 + a * (WIDE - 50), bottom + 18, p))
    out.append('<text x="%g" y="%g" text-anchor="middle">%s</text>' % (x0 + (WIDE - 30) / 2, bottom + 38, family))
    for (name, colour), values in zip(SERIES, zip(*rates)):
        points = [(x0 + 10 + a * (WIDE - 50), up(v)) for a, v in zip(across, values) if v == v]
        out.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (colour, " ".join("%.1f,%.1f" % p for p in points)))
        out += ['<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (p + (colour,)) for p in points]
    return out


def draw(path, rows):
    families = {}
    for family, place, rates in rows:
        families.setdefault(family, []).append((place, [1e6 / r for r in rates]))
    values = [v for rows in families.values() for _, r in rows for v in r if v == v]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    width = LEFT + len(families) * (WIDE + 10)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#1d2329">' % (width, TOP + HIGH),
           '<rect width="100%" height="100%" fill="#fff"/>']
    for k, (name, colour) in enumerate(SERIES):
        out.append('<circle cx="%d" cy="16" r="4" fill="%s"/><text x="%d" y="20">%s</text>' % (LEFT + 10 + 160 * k, colour, LEFT + 20 + 160 * k, name))
    out.append('<text transform="translate(14 %d) rotate(-90)" text-anchor="middle">microseconds of a masked copy</text>' % (TOP + (HIGH - 50) // 2))
    for k, (family, found) in enumerate(families.items()):
        out += panel(k, family, [p for p, _ in found], [r for _, r in found], low, high)
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n</svg>\n")


def main(build, seconds, figure, wanted):
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    if "SIS_ORT" not in os.environ and os.path.exists(os.path.join(build, "ort", "libonnxruntime.so.1")):
        os.environ["SIS_ORT"] = os.path.join(build, "ort", "libonnxruntime.so.1")
    drawn = []
    with tempfile.TemporaryDirectory() as folder:
        nets = [n for n in networks() if not wanted or any(w in n[0] for w in wanted)]
        files = {n[0]: write(folder, *n[:3]) for n in nets}
        found = measure(build, folder, list(files.values()), seconds)
        print("| network | p | walk | walks/s | full passes/s | ONNX Runtime/s | PyTorch/s | walk/ORT | walk/PyTorch |\n|%s" % ("---|" * 9))
        for name, net, x, family, place in nets:
            theirs = torch_rate(net.eval(), x, seconds)
            p, rule, walk, plain, ort, _ = found[files[name]]
            print("| %s | %d | %s | %.0f | %.0f | %.0f | %.0f | %.1f | %.1f |" % (name, p, rule, walk, plain, ort, theirs, walk / ort, walk / theirs), flush=True)
            if family:
                drawn.append((family, place, (walk, plain, ort, theirs)))
    if figure and drawn:
        draw(figure, drawn)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--figure")
    asked = parser.parse_intermixed_args()
    main(asked.build, asked.seconds, asked.figure, asked.names)
