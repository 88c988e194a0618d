#!/usr/bin/env python3
"""A ResNet-like network for 224 x 224 x 3 images, explained down to pixels: questions and seconds.

    bench/resnet.py SIS [--images N] [--keep FOLDER] [--width W]

Makes the network: a 7 x 7 convolution with stride 2, a maximum pool, four stages of two residual blocks with batch norm,
18 layers, W to 8 W channels, global mean. It has random filters and a head fitted by least squares that tells images with
a red disc from those with a blue square or nothing, on noise that is partly grey. Then explains N images (3) by --method
quick over 256 parts with --refine, and by --method gradient. Needs numpy and python3-onnx.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 224


class Net:
    def __init__(self, rng):
        self.rng, self.nodes, self.constants, self.n = rng, [], [], 0

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def node(self, op, inputs, **attributes):
        self.n += 1
        out = f"t{self.n}"
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        return out

    def conv(self, x, c_in, c_out, size, stride):
        w = self.rng.normal(0, np.sqrt(2 / (c_in * size * size)), (c_out, c_in, size, size))
        pad = size // 2
        y = self.node("Conv", [x, self.constant(f"w{self.n}", w)], kernel_shape=[size, size], strides=[stride] * 2,
                      pads=[pad] * 4)
        k = self.n
        norm = [self.constant(f"{p}{k}", v) for p, v in zip("sbmv", (np.full(c_out, 0.7), self.rng.normal(0, .1, c_out),
                                                                     np.zeros(c_out), np.ones(c_out)))]
        return self.node("BatchNormalization", [y] + norm)

    def block(self, x, c_in, c_out, stride):
        y = self.node("Relu", [self.conv(x, c_in, c_out, 3, stride)])
        y = self.conv(y, c_out, c_out, 3, 1)
        x = self.conv(x, c_in, c_out, 1, stride) if stride > 1 or c_in != c_out else x
        return self.node("Relu", [self.node("Add", [x, y])])


def features(width, seed):
    """The network up to the global means, and their number."""
    net = Net(np.random.default_rng(seed))
    x = net.node("Relu", [net.conv("x", 3, width, 7, 2)])
    x = net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    c = width
    for stage in range(4):
        for i in range(2):
            x = net.block(x, c, width << stage, 2 if stage and not i else 1)
            c = width << stage
    return net, net.node("Flatten", [net.node("GlobalAveragePool", [x])]), c


def write(net, out, n, path):
    graph = helper.make_graph(net.nodes, "resnet", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
                              [helper.make_tensor_value_info(out, TensorProto.FLOAT, ["n", n])], net.constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)


def photo(rng, label, grey):
    """Noise of three sizes, partly grey, with a red disc (1), a blue square (0) or nothing (2)."""
    x = sum(np.kron(rng.normal(0, 0.05, (3, SIDE // s, SIDE // s)), np.ones((s, s))) for s in (1, 8, 32)) + 0.5
    x[:, np.kron(rng.random((7, 7)) < grey, np.ones((32, 32))) > 0] = 0.5
    r, cy, cx = rng.integers(20, 34), *rng.integers(40, SIDE - 40, 2)
    yy, xx = np.mgrid[:SIDE, :SIDE]
    inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r if label else np.maximum(abs(yy - cy), abs(xx - cx)) < r * 0.9
    if label < 2:
        x[:, inside] = 0.7 * np.array([0.9, 0.1, 0.1] if label else [0.1, 0.1, 0.9])[:, None] + 0.3 * x[:, inside]
    return np.clip(x, 0, 1).astype(np.float32)


def predict(sis, model, images, folder):
    np.save(f"{folder}/x.npy", images)
    out = subprocess.run([sis, "predict", "--model", model, "--input", f"{folder}/x.npy"], check=True, capture_output=True, text=True)
    return np.array([json.loads(line)["scores"] for line in out.stdout.splitlines()])


def make(sis, width, folder, path):
    """Fit the head to 240 images, and print its accuracy on 40 others."""
    rng = np.random.default_rng(7)
    kinds = np.array([1, 0, 1, 2] * 70)
    images = np.stack([photo(rng, k, g) for k, g in zip(kinds, np.where(np.arange(280) < 240, rng.random(280), 0.1))])
    labels = kinds == 1
    net, means, n = features(width, 1)
    write(net, means, n, path)
    f = predict(sis, path, images, folder)
    mean, spread = f[:240].mean(0), f[:240].std(0) + 1e-6
    z = (f - mean) / spread
    w = np.linalg.solve(z[:240].T @ z[:240] + 10 * np.eye(n), z[:240].T @ (labels[:240] * 2.0 - 1))
    w, right = w * 4, ((z[240:] @ w > 0) == labels[240:]).mean()
    head = [net.constant("head.w", (w / spread)[:, None]), net.constant("head.b", [-(mean / spread) @ w])]
    write(net, net.node("Sigmoid", [net.node("Gemm", [means] + head)]), 1, path)
    return images[240:], labels[240:], right


def explain(sis, model, data, how):
    began = time.time()
    out = subprocess.run([sis, "explain", "-q", "--model", model, "--input", data, "--mask", "value:0.5", "--threshold", "0.6",
                          "--max-subsets", "1", "--jobs", "1", "--time-limit", "240"] + how, check=True, capture_output=True, text=True)
    records = [json.loads(line) for line in out.stdout.splitlines()]
    for r in records:
        if "status" in r:
            print(f"  {' '.join(how)}: image {r['id']} {r['status']}, score {r['score']:.3f}, masked {r['masked_score']:.3f}, pixels "
                  f"{[len(s['features']) for s in r['subsets']]}, {r['evaluations']} questions, {r['seconds']:.1f} s, "
                  f"verified {r.get('verified')}", flush=True)
    return time.time() - began


def main():
    p = argparse.ArgumentParser()
    p.add_argument("sis")
    p.add_argument("--images", type=int, default=3)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--keep")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.keep or temporary
        os.makedirs(folder, exist_ok=True)
        model, data = f"{folder}/resnet.onnx", f"{folder}/images.npy"
        images, labels, right = make(a.sis, a.width, folder, model)
        np.save(data, images[labels][:a.images])
        print(f"{os.path.getsize(model) / 1e6:.1f} MB, {right:.0%} of 40 other pictures told apart")
        for how in (["--method", "quick", "--features", "grid:256", "--refine"], ["--method", "quick", "--prefer", "gradient"],
                    ["--method", "gradient", "--step", "256"]):
            print(f"{explain(a.sis, model, data, how):.1f} s with everything", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
