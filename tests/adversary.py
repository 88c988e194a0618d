#!/usr/bin/env python3
"""An adversary that shares no code with the program: reads the proofs of a results file about a network of dense
layers, and looks for a completion that loses the class: random ones, corners of the box, and steps up the slope
for each rival, in numpy.

    adversary.py MODEL.onnx RESULTS [COMPLETIONS]          attack what was proved, so often a proof (11,560)
    adversary.py --test SIS MODEL.onnx IMAGE               make a proof, attack it, and a false one beside it

Ends with 1 if a proof is refuted.
"""
import json
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print(f"skipped: needs {missing.name}")
    sys.exit(77)


def layers(path):
    """(weights, bias) of each dense layer, with ReLU between. Operators after the last keep the order of scores."""
    graph = onnx.load(path).graph
    constants = {t.name: numpy_helper.to_array(t).astype(np.float64) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    out = []
    for node in graph.node:
        if node.op_type in ("Gemm", "MatMul"):
            w = constants[node.input[1]]
            if any(a.name == "transB" and a.i for a in node.attribute):
                w = w.T
            out.append([w, constants[node.input[2]] if len(node.input) > 2 else np.zeros(w.shape[1])])
        elif node.op_type == "Add":
            out[-1][1] = out[-1][1] + np.ravel(constants[node.input[1] if node.input[1] in constants else node.input[0]])
        elif node.op_type not in ("Relu", "Softmax", "Flatten", "Reshape", "Constant", "Identity"):
            sys.exit(f"{path}: {node.op_type} is not of dense layers")
    return out


class Attack:
    def __init__(self, net, seed=3):
        self.net, self.rng = net, np.random.default_rng(seed)
        self.tried, self.lost, self.least = 0, 0, np.inf

    def see(self, x, output):
        """Outputs of all layers. Counts rows that lose the class by more than float rounding."""
        steps, a = [], x
        for i, (w, b) in enumerate(self.net):
            a = a @ w + b
            steps.append(a)
            a = np.maximum(a, 0)
        lead = steps[-1][:, output] - np.delete(steps[-1], output, 1).max(1)
        self.tried += len(x)
        self.lost += int((lead < -1e-5).sum())
        self.least = min(self.least, lead.min())
        return steps

    def slope(self, steps, d):
        for i in range(len(self.net) - 1, 0, -1):
            d = (d @ self.net[i][0].T) * (steps[i - 1] > 0)
        return d @ self.net[0][0].T

    def one(self, x, output, kept, radius, ends, completions):
        low = np.minimum(x, np.maximum(x - radius, ends[0]))
        high = np.maximum(x, np.minimum(x + radius, ends[1]))
        low[kept] = high[kept] = x[kept]
        n, width, classes = completions // 6, len(x), self.net[-1][0].shape[1]
        self.see(low + (high - low) * self.rng.random((n, width)), output)
        self.see(np.where(self.rng.random((n, width)) < 0.5, low, high), output)
        rivals = np.array([k for k in range(classes) if k != output])
        rivals = np.repeat(rivals, max(1, 4 * n // 21 // len(rivals)))
        d = np.zeros((len(rivals), classes))
        d[np.arange(len(rivals)), rivals] = 1
        d[:, output] -= 1
        x = low + (high - low) * self.rng.random((len(rivals), width))
        for step in range(21):
            g = self.slope(self.see(x, output), d)
            rate = 0.5 if step < 8 else 0.2
            x = np.clip(x + np.sign(g) * (high - low) * rate, low, high) if step % 10 else np.where(g > 0, high, low)


def domain(text):
    radius, _, ends = text.removeprefix("ball:").partition(",")
    low, _, high = ends.partition(":")
    return float(radius), (float(low), float(high)) if ends else (-np.inf, np.inf)


def attack(net, path, completions, spoil=False):
    a, proofs = Attack(net), 0
    with open(path) as f:
        for r in map(json.loads, f):
            if r.get("status") != "explained" or r["keep"] != "class":
                continue
            radius, ends = domain(r["guarantee"]["domain"])
            for s in r["subsets"][:1]:
                kept = s["features"][:len(s["features"]) // 4] if spoil else s["features"]
                a.one(np.array(r["values"], float), r["target"], kept, radius * (4 if spoil else 1), ends, completions)
                proofs += 1
    print(f"{proofs} proofs, {a.tried} completions, {a.lost} counterexamples, least lead {a.least:.6g}")
    return proofs, a.lost


def test(sis, model, image):
    """A proof withstands the attack. A small part of its subset, within four times the radius, does not."""
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/r.jsonl"
        subprocess.run([sis, "explain", "-q", "--model", model, "--input", image, "--guarantee", "all", "--keep", "class",
                        "--domain", "ball:0.06,0:1", "--max-subsets", "1", "--time-limit", "1", "--output", out], check=True)
        net = layers(model)
        proofs, lost = attack(net, out, 1800)
        _, spoiled = attack(net, out, 1800, spoil=True)
    return 0 if proofs == 1 and lost == 0 and spoiled > 0 else 1


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--test":
        return test(*sys.argv[2:])
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    return 1 if attack(layers(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 11560)[1] else 0


if __name__ == "__main__":
    sys.exit(main())
