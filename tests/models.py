"""The shipped models in an independent evaluator: models.py SIS MODEL.onnx...

Each file must pass the standard's own checker. A plain numpy evaluation of its nodes, written from the
standard's text, must give the scores of the program within 1e-4. Exit status 77 (skipped) without
Debian's python3-onnx.
"""
import json
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError:
    print("skipped: needs Debian's python3-onnx")
    sys.exit(77)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def conv(x, w, b, a):
    """One group, no padding, stride 1, which is all that our architectures need. Any number of axes."""
    assert a.get("group", 1) == 1 and not any(a.get("pads", [])) and all(s == 1 for s in a.get("strides", []))
    kernel = w.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=tuple(range(2, x.ndim)))
    k = len(kernel)
    y = np.tensordot(windows, w, axes=([1] + list(range(2 + k, 2 + 2 * k)), list(range(1, 2 + k))))
    y = np.moveaxis(y, -1, 1)
    return y + b.reshape((1, -1) + (1,) * k)


def max_pool(x, a):
    h, w = a["kernel_shape"]
    assert list(a["strides"]) == [h, w] and not any(a.get("pads", []))
    n, c, rows, cols = x.shape
    return x.reshape(n, c, rows // h, h, cols // w, w).max(axis=(3, 5))


def lstm(x, w, r, b, hidden):
    """Gates in the standard's order: input, output, forget, cell."""
    steps, n, _ = x.shape
    h, c, ys = np.zeros((n, hidden)), np.zeros((n, hidden)), []
    bias = b[0, : 4 * hidden] + b[0, 4 * hidden :]
    for t in range(steps):
        i, o, f, g = np.split(x[t] @ w[0].T + h @ r[0].T + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    return np.stack(ys)[:, None], h[None], c[None]


def gemm(x, w, b, a):
    assert a.get("alpha", 1) == 1 and a.get("beta", 1) == 1 and not a.get("transA", 0)
    return x @ (w.T if a.get("transB", 0) else w) + b


def squeeze(x, axes):
    return x.reshape([d for i, d in enumerate(x.shape) if i not in [int(k) % x.ndim for k in axes]])


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def run_node(op, x, a):
    """Inputs x and attributes a to the list of outputs."""
    if op == "LSTM":
        assert a.get("direction", b"forward") == b"forward"
        return lstm(x[0], x[1], x[2], x[3], a["hidden_size"])
    y = {
        "Conv": lambda: conv(x[0], x[1], x[2], a),
        "MaxPool": lambda: max_pool(x[0], a),
        "Gemm": lambda: gemm(x[0], x[1], x[2], a),
        "Relu": lambda: np.maximum(x[0], 0),
        "Sigmoid": lambda: sigmoid(x[0]),
        "Softmax": lambda: softmax(x[0]),
        "Flatten": lambda: x[0].reshape(len(x[0]), -1),
        "Transpose": lambda: x[0].transpose(a["perm"]),
        "Gather": lambda: np.take(x[0], x[1], axis=a.get("axis", 0)),
        "GlobalMaxPool": lambda: x[0].max(axis=tuple(range(2, x[0].ndim)), keepdims=True),
        "Squeeze": lambda: squeeze(x[0], x[1] if len(x) > 1 else a["axes"]),
    }[op]()
    return [y]


def evaluate(graph, rows):
    values = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    values = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in values.items()}
    given = [i for i in graph.input if i.name not in values]
    values[given[0].name] = rows
    for node in graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        outputs = run_node(node.op_type, [values.get(i) for i in node.input], attributes)
        values.update(zip(node.output, outputs))
    return values[graph.output[0].name]


def make_rows(graph, r):
    """A few rows for the model's input: token ids, or numbers between 0 and 1."""
    names = {t.name for t in graph.initializer}
    given = next(i for i in graph.input if i.name not in names).type.tensor_type
    shape = [d.dim_value or 4 for d in given.shape.dim]
    if given.elem_type == onnx.TensorProto.INT64:
        words = next(t for t in graph.initializer if t.name == graph.node[0].input[0]).dims[0]
        rows = r.integers(1, words, shape)
        rows[:, : shape[1] // 2] = 0  # padding
        return rows
    return r.random(shape)


def scores_of_program(sis, path, rows):
    with tempfile.NamedTemporaryFile(suffix=".npy") as f:
        np.save(f, rows.astype(np.float64))
        f.flush()
        said = subprocess.run([sis, "predict", "-q", "-m", path, "-i", f.name], capture_output=True, text=True)
    if said.returncode:
        sys.exit(f"{path}: {said.stderr}")
    return np.array([json.loads(line)["scores"] for line in said.stdout.splitlines()])


def main():
    sis, bad = sys.argv[1], 0
    for path in sys.argv[2:]:
        model = onnx.load(path)
        onnx.checker.check_model(model)
        rows = make_rows(model.graph, np.random.default_rng(1))
        plain = evaluate(model.graph, rows).reshape(len(rows), -1)
        off = np.abs(plain - scores_of_program(sis, path, rows)).max()
        print(f"{path.split('/')[-1]}: sound; largest difference of a score {off:.1e}")
        bad += not off < 1e-4
    sys.exit(1 if bad or len(sys.argv) < 3 else 0)


main()
