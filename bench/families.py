#!/usr/bin/env python3
"""Families of networks of our own making: `sis explain` beside ONNX Runtime, in processor time.

    bench/families.py SIS [--turns N] [--held-out] [--keep FOLDER] [--beside OTHER] [NAME...]

Makes each network (random weights, one input) and explains one input with --max-subsets 1 on one core. ONNX Runtime
(tools/install-ort.sh) is given the p (p + 1) / 2 masked copies of a backward selection, in its best batch of 1 to 256, on
one thread. Both take turns, the least time of N (3) counts: user and system time of the whole program for us, of calls
alone for ONNX Runtime. OTHER is a second program of ours, for before and after. --held-out: the ten networks that no
one tuned for, instead. NAME: only families whose name contains it. Needs numpy and python3-onnx.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save


class Net:
    """A graph built node by node; the shape of one row is known for each value."""

    def __init__(self, seed, shape, tokens=0):
        self.rng, self.nodes, self.constants = np.random.default_rng(seed), [], []
        self.shape, self.tokens = {"x": tuple(shape)}, tokens

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weights(self, *shape, fan=None):
        return self.constant(self.rng.normal(0, (1.6 / (fan or np.prod(shape[1:]))) ** 0.5, shape).astype(np.float32))

    def node(self, op, inputs, shape, n=1, **attributes):
        out = [f"t{len(self.nodes)}_{i}" for i in range(n)]
        self.nodes.append(helper.make_node(op, inputs, out, **attributes))
        self.shape.update((o, tuple(shape)) for o in out)
        return out[0] if n == 1 else out

    def unary(self, op, x, **attributes):
        return self.node(op, [x], self.shape[x], **attributes)

    def conv(self, x, filters, size, stride=1, dilation=1, groups=1, pad=None, norm=False, act=None):
        c, *space = self.shape[x]
        pad = dilation * (size - 1) // 2 if pad is None else pad
        pads = [pad] * (2 * len(space)) if np.isscalar(pad) else list(pad)
        out = [(s + pads[i] + pads[i + len(space)] - dilation * (size - 1) - 1) // stride + 1 for i, s in enumerate(space)]
        y = self.node("Conv", [x, self.weights(filters, c // groups, *[size] * len(space)),
                               self.constant(self.rng.normal(0, 0.05, filters).astype(np.float32))], [filters] + out,
                      kernel_shape=[size] * len(space), strides=[stride] * len(space), pads=pads, group=groups,
                      dilations=[dilation] * len(space))
        y = self.norm(y) if norm else y
        return self.unary(act, y) if act else y

    def norm(self, x):
        c = self.shape[x][0]
        one = lambda low, high: self.constant(self.rng.uniform(low, high, c).astype(np.float32))
        return self.node("BatchNormalization", [x, one(0.7, 1.3), one(-0.1, 0.1), one(-0.1, 0.1), one(0.7, 1.3)], self.shape[x])

    def pool(self, x, size, op="MaxPool"):
        c, *space = self.shape[x]
        return self.node(op, [x], [c] + [s // size for s in space], kernel_shape=[size] * len(space), strides=[size] * len(space))

    def mean(self, x):
        return self.node("GlobalAveragePool", [x], [self.shape[x][0]] + [1] * (len(self.shape[x]) - 1))

    def flat(self, x):
        return self.node("Flatten", [x], [int(np.prod(self.shape[x]))])

    def dense(self, x, n, act=None):
        y = self.node("Gemm", [x, self.weights(n, self.shape[x][0]), self.constant(self.rng.normal(0, 0.05, n).astype(np.float32))],
                      [n], transB=1)
        return self.unary(act, y) if act else y

    def linear(self, x, n):
        """A dense layer at every position."""
        y = self.node("MatMul", [x, self.weights(self.shape[x][-1], n, fan=self.shape[x][-1])], self.shape[x][:-1] + (n,))
        return self.node("Add", [y, self.constant(self.rng.normal(0, 0.05, n).astype(np.float32))], self.shape[y])

    def add(self, x, y):
        return self.node("Add", [x, y], self.shape[x])

    def concat(self, xs):
        return self.node("Concat", xs, [sum(self.shape[x][0] for x in xs)] + list(self.shape[xs[0]][1:]), axis=1)

    def turn(self, x, perm):
        return self.node("Transpose", [x], [self.shape[x][p - 1] for p in perm[1:]], perm=perm)

    def reshape(self, x, *shape):
        return self.node("Reshape", [x, self.constant(np.array([0, *shape], np.int64))], shape)

    def embed(self, d):
        return self.node("Gather", [self.weights(self.tokens, d, fan=2), "x"], self.shape["x"] + (d,))

    def classes(self, x, n=10):
        return self.node("Softmax", [self.dense(x, n)], [n], axis=1)

    def write(self, out, path):
        kind = TensorProto.INT64 if self.tokens else TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", kind, ["n", *self.shape["x"]])],
                                  [helper.make_tensor_value_info(out, TensorProto.FLOAT, ["n", *self.shape[out]])], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
        checker.check_model(model)
        save(model, path)


# ---- Parts ---------------------------------------------------------------------------------------

def residual(n, x, filters, stride=1, squeeze=0, act="Relu"):
    y = n.conv(x, filters, 3, stride, norm=True, act=act)
    y = n.conv(y, filters, 3, norm=True)
    if squeeze:
        g = n.dense(n.dense(n.flat(n.mean(y)), filters // squeeze, "Relu"), filters, "Sigmoid")
        y = n.node("Mul", [y, n.reshape(g, filters, 1, 1)], n.shape[y])
    x = n.conv(x, filters, 1, stride, norm=True) if stride > 1 or n.shape[x][0] != filters else x
    return n.unary(act, n.add(x, y))


def inverted(n, x, filters, expand, stride):
    y, c = x, n.shape[x][0]
    clip = lambda v: n.node("Clip", [v, n.constant(np.float32(0)), n.constant(np.float32(6))], n.shape[v])
    y = clip(n.conv(y, c * expand, 1, norm=True))
    y = clip(n.conv(y, c * expand, 3, stride, groups=c * expand, norm=True))
    y = n.conv(y, filters, 1, norm=True)
    return n.add(x, y) if stride == 1 and c == filters else y


def dense_block(n, x, layers, growth):
    for _ in range(layers):
        y = n.conv(n.unary("Relu", n.norm(x)), 4 * growth, 1, norm=True, act="Relu")
        x = n.concat([x, n.conv(y, growth, 3)])
    return x


def upscale(n, x, filters, how):
    c, h, w = n.shape[x]
    if how == "transpose":
        return n.node("ConvTranspose", [x, n.weights(c, filters, 2, 2, fan=c)], [filters, 2 * h, 2 * w], kernel_shape=[2, 2], strides=[2, 2])
    x = n.node("Resize", [x, "", n.constant(np.array([1, 1, 2, 2], np.float32))], [c, 2 * h, 2 * w], mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return n.conv(x, filters, 3, act="Relu")


def recurrent(n, x, hidden, op="LSTM", both=True):
    """x (T, d) -> (T, directions * hidden)."""
    t, d = n.shape[x]
    k, gates = 1 + both, 4 if op == "LSTM" else 3
    y = n.node(op, [n.node("Transpose", [x], [t, d], perm=[1, 0, 2]), n.weights(k, gates * hidden, d, fan=d),
                    n.weights(k, gates * hidden, hidden, fan=hidden), n.weights(k, 2 * gates * hidden, fan=20)], [t, k, hidden],
               hidden_size=hidden, direction="bidirectional" if both else "forward")
    y = n.node("Transpose", [y], [t, k, hidden], perm=[2, 0, 1, 3])
    return n.reshape(y, t, k * hidden)


def attention_layer(n, x, heads):
    t, d = n.shape[x]
    split = lambda v, perm: n.node("Transpose", [n.reshape(v, t, heads, d // heads)], [heads] + ([t, d // heads] if perm[2] == 1 else [d // heads, t]), perm=perm)
    q, k, v = split(n.linear(x, d), [0, 2, 1, 3]), split(n.linear(x, d), [0, 2, 3, 1]), split(n.linear(x, d), [0, 2, 1, 3])
    s = n.node("Mul", [n.node("MatMul", [q, k], [heads, t, t]), n.constant(np.float32((d / heads) ** -0.5))], [heads, t, t])
    y = n.node("MatMul", [n.node("Softmax", [s], [heads, t, t], axis=3), v], [heads, t, d // heads])
    y = n.linear(n.reshape(n.node("Transpose", [y], [t, heads, d // heads], perm=[0, 2, 1, 3]), t, d), d)
    x = layer_norm(n, n.add(x, y))
    y = n.linear(n.unary("Relu", n.linear(x, 4 * d)), d)
    return layer_norm(n, n.add(x, y))


def layer_norm(n, x):
    t, d = n.shape[x]
    c = n.node("Sub", [x, n.node("ReduceMean", [x], [t, 1], axes=[-1])], [t, d])
    v = n.node("ReduceMean", [n.node("Mul", [c, c], [t, d])], [t, 1], axes=[-1])
    y = n.node("Div", [c, n.unary("Sqrt", n.node("Add", [v, n.constant(np.float32(1e-5))], [t, 1]))], [t, d])
    y = n.node("Mul", [y, n.constant(np.ones(d, np.float32))], [t, d])
    return n.node("Add", [y, n.constant(np.zeros(d, np.float32))], [t, d])


def last_row(n, x, i=-1):
    return n.node("Gather", [x, n.constant(np.int64(i))], [n.shape[x][-1]], axis=1)


# ---- Families ------------------------------------------------------------------------------------
# name: (shape of a row, words of the vocabulary, side of the blocks that are features, builder)

def cnn(n):
    x = n.pool(n.conv("x", 8, 3, act="Relu"), 2)
    x = n.pool(n.conv(x, 16, 3, act="Relu"), 2)
    return n.classes(n.dense(n.flat(x), 32, "Relu"))


def lenet(n):
    x = n.pool(n.conv("x", 6, 5, act="Tanh"), 2, "AveragePool")
    x = n.pool(n.conv(x, 16, 5, pad=0, act="Tanh"), 2, "AveragePool")
    return n.classes(n.dense(n.dense(n.flat(x), 120, "Tanh"), 84, "Tanh"))


def vgg(n):
    x = "x"
    for c in (16, 32, 64):
        x = n.pool(n.conv(n.conv(x, c, 3, act="Relu"), c, 3, act="Relu"), 2)
    return n.classes(n.dense(n.flat(x), 128, "Relu"))


def resnet(n, width=16, squeeze=0, act="Relu", blocks=2, stages=4):
    x = n.conv("x", width, 3, norm=True, act=act)
    for stage in range(stages):
        for i in range(blocks):
            x = residual(n, x, width << stage, 2 if stage and not i else 1, squeeze, act)
    return n.classes(n.flat(n.mean(x)))


def mobilenet(n):
    x = n.conv("x", 16, 3, norm=True, act="Relu")
    for filters, expand, stride in ((8, 1, 1), (12, 6, 1), (12, 6, 1), (16, 6, 2), (16, 6, 1), (32, 6, 2), (32, 6, 1), (48, 6, 1)):
        x = inverted(n, x, filters, expand, stride)
    return n.classes(n.flat(n.mean(n.conv(x, 128, 1, norm=True, act="Relu"))))


def densenet(n):
    x = n.conv("x", 24, 3)
    for i in range(3):
        x = dense_block(n, x, 4, 12)
        if i < 2:
            x = n.pool(n.conv(n.unary("Relu", n.norm(x)), n.shape[x][0] // 2, 1), 2, "AveragePool")
    return n.classes(n.flat(n.mean(n.unary("Relu", n.norm(x)))))


def unet(n, how, width=12):
    down, x = [], "x"
    for i in range(3):
        x = n.conv(n.conv(x, width << i, 3, act="Relu"), width << i, 3, act="Relu")
        down.append(x)
        x = n.pool(x, 2)
    x = n.conv(x, width << 3, 3, act="Relu")
    for i in (2, 1, 0):
        x = n.concat([down[i], upscale(n, x, width << i, how)])
        x = n.conv(n.conv(x, width << i, 3, act="Relu"), width << i, 3, act="Relu")
    return n.classes(n.flat(n.mean(n.conv(x, 8, 1))), 5)


def tcn(n, filters=32, layers=5):
    x = n.conv("x", filters, 1)
    for i in range(layers):
        y = n.conv(x, filters, 3, dilation=1 << i, pad=(2 << i, 0), act="Relu")
        x = n.unary("Relu", n.add(x, n.conv(y, filters, 3, dilation=1 << i, pad=(2 << i, 0))))
    return n.classes(n.flat(n.mean(x)))


def bpnet(n, filters=32, layers=6):
    x = n.conv("x", filters, 25, act="Relu")
    for i in range(layers):
        x = n.add(x, n.conv(x, filters, 3, dilation=2 << i, act="Relu"))
    return n.classes(n.flat(n.mean(x)), 2)


def basset(n):
    x = n.pool(n.conv("x", 48, 19, norm=True, act="Relu"), 3)
    x = n.pool(n.conv(x, 64, 11, norm=True, act="Relu"), 4)
    x = n.pool(n.conv(x, 64, 7, norm=True, act="Relu"), 4)
    return n.classes(n.dense(n.dense(n.flat(x), 128, "Relu"), 128, "Relu"), 2)


def bilstm(n):
    x = recurrent(n, n.embed(32), 48)
    return n.classes(n.node("ReduceMax", [x], [96], axes=[1], keepdims=0), 2)


def transformer(n, layers, d=64, heads=4):
    x = n.add(n.embed(d), n.constant(n.rng.normal(0, 0.5, (n.shape["x"][0], d)).astype(np.float32)))
    for _ in range(layers):
        x = attention_layer(n, x, heads)
    return n.classes(last_row(n, x, 0), 2)


FAMILIES = {
    "cnn": ((1, 28, 28), 0, 1, cnn),
    "lenet-tanh": ((1, 28, 28), 0, 1, lenet),
    "vgg": ((3, 32, 32), 0, 1, vgg),
    "resnet18": ((3, 32, 32), 0, 2, resnet),
    "mobilenet": ((3, 32, 32), 0, 2, mobilenet),
    "densenet": ((3, 32, 32), 0, 2, densenet),
    "se-resnet": ((3, 32, 32), 0, 2, lambda n: resnet(n, squeeze=4, stages=3)),
    "unet-transpose": ((3, 32, 32), 0, 4, lambda n: unet(n, "transpose")),
    "unet-resize": ((3, 32, 32), 0, 4, lambda n: unet(n, "resize")),
    "tcn": ((8, 200), 0, 1, tcn),
    "bpnet": ((4, 500), 0, 1, bpnet),
    "basset": ((4, 300), 0, 1, basset),
    "bilstm": ((64,), 500, 1, bilstm),
    "transformer2": ((48,), 500, 1, lambda n: transformer(n, 2)),
    "transformer4": ((48,), 500, 1, lambda n: transformer(n, 4)),
}


def strided(n):
    x = "x"
    for c, stride in ((16, 1), (24, 2), (32, 1), (48, 2)):
        x = n.conv(x, c, 3, stride, norm=True, act="LeakyRelu")
    return n.classes(n.flat(n.mean(n.conv(x, 32, 1, act="LeakyRelu"))))


def danq(n):
    x = n.pool(n.conv("x", 32, 15, act="Relu"), 5)
    x = recurrent(n, n.turn(x, [0, 2, 1]), 24)
    return n.classes(n.node("ReduceMax", [x], [48], axes=[1], keepdims=0), 2)


def bigru(n):
    return n.classes(n.node("ReduceMean", [recurrent(n, n.embed(24), 40, "GRU")], [80], axes=[1], keepdims=0), 3)


def one_layer(n):
    return n.classes(n.dense(n.flat(n.pool(n.conv("x", 24, 5, act="Relu"), 4)), 48, "Relu"))


# Not used for tuning.
HELD_OUT = {
    "one-layer": ((1, 28, 28), 0, 1, one_layer),
    "strided": ((3, 24, 24), 0, 2, strided),
    "resnet-elu": ((3, 28, 28), 0, 4, lambda n: resnet(n, 12, act="Elu", blocks=1, stages=3)),
    "se-wide": ((3, 24, 24), 0, 3, lambda n: resnet(n, 24, 6, blocks=1, stages=3)),
    "mobilenet-40": ((3, 40, 40), 0, 4, mobilenet),
    "unet-small": ((1, 32, 32), 0, 4, lambda n: unet(n, "resize", 6)),
    "tcn-long": ((2, 256), 0, 2, lambda n: tcn(n, 16, 7)),
    "danq": ((4, 200), 0, 1, danq),
    "bigru": ((50,), 300, 1, bigru),
    "transformer3": ((40,), 300, 1, lambda n: transformer(n, 3, 96, 6)),
}


# ---- Runs ----------------------------------------------------------------------------------------

def make(name, spec, folder):
    """Write NAME.onnx, NAME.npy and NAME.features.npy. Returns the number of features."""
    shape, tokens, block, build = spec
    n = Net(sum(map(ord, name)), shape, tokens)
    n.write(build(n), f"{folder}/{name}.onnx")
    x = n.rng.integers(2, tokens, (1, *shape)) if tokens else n.rng.random((1, *shape)).astype(np.float32)
    x = np.where(x == x.max(1, keepdims=True), np.float32(1), np.float32(0)) if shape[0] == 4 else x  # bases
    np.save(f"{folder}/{name}.npy", x)
    np.save(f"{folder}/{name}.mask.npy", np.full_like(x, 1 if tokens else 0.25 if shape[0] == 4 else 0)[0])
    place = np.indices(shape)[-2:] if len(shape) > 2 else np.stack([np.zeros(shape, int), np.indices(shape)[-1]])
    features = place[0] // block * -(-shape[-1] // block) + place[1] // block
    np.save(f"{folder}/{name}.features.npy", features)
    return int(features.max()) + 1


def processor_seconds(command):
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit {child.returncode}")
    return usage.ru_utime + usage.ru_stime, out.decode()


def question(sis, path):
    """The output that masking everything lowers most, and a threshold between both scores."""
    x, mask = np.load(f"{path}.npy"), np.load(f"{path}.mask.npy")
    np.save(f"{path}.both.npy", np.concatenate([x, mask[None]]))
    out = processor_seconds([sis, "predict", "-q", "-m", f"{path}.onnx", "-i", f"{path}.both.npy"])[1]
    full, empty = (np.array(json.loads(line)["scores"]) for line in out.splitlines())
    k = int(np.argmax(full - empty))
    return ["--target-index", str(k), "-t", repr(float(full[k] + empty[k]) / 2)]


def explain(sis, path, tokens, asked):
    mask = "token:1" if tokens else f"{path}.mask.npy"
    took, out = processor_seconds([sis, "explain", "-q", "-m", f"{path}.onnx", "-i", f"{path}.npy", "--features", f"{path}.features.npy",
                                   "--mask", mask, "--max-subsets", "1", "-j", "1"] + asked)
    return took, [json.loads(line) for line in out.splitlines() if '"status"' in line][-1]


def ort_rate(path):
    """Rows a second of processor time in the best batch."""
    here = os.path.dirname(os.path.abspath(__file__))
    return float(processor_seconds(["node", f"{here}/ort.js", f"{path}.onnx", "best", "1", "0.3"])[1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sis")
    p.add_argument("names", nargs="*")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--held-out", action="store_true")
    p.add_argument("--keep")
    p.add_argument("--beside")
    a = p.parse_intermixed_args()
    programs = [a.sis] + ([a.beside] if a.beside else [])
    os.environ.setdefault("NODE_PATH", os.path.join(os.path.dirname(os.path.abspath(a.sis)), "ort", "node_modules"))
    print(f"{'family':<16} {'p':>5} {'status':>10} {'ORT rows/s':>11} {'ORT s':>9}" + "".join(f" {'sis s':>8} {'ratio':>7}" for _ in programs))
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for name, spec in (HELD_OUT if a.held_out else FAMILIES).items():
            if a.names and not any(word in name for word in a.names):
                continue
            features, path = make(name, spec, folder), f"{folder}/{name}"
            rate, times, asked = 0, [float("inf")] * len(programs), question(a.sis, path)
            for _ in range(a.turns):
                rate = max(rate, ort_rate(path))
                for i, sis in enumerate(programs):
                    took, record = explain(sis, path, spec[1], asked)
                    times[i] = min(times[i], took)
            needed = features * (features + 1) / 2 / rate
            print(f"{name:<16} {features:>5} {record['status']:>10} {rate:>11.0f} {needed:>9.2f}" +
                  "".join(f" {t:>8.3f} {needed / t:>7.2f}" for t in times), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
