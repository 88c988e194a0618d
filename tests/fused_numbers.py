#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The expected numbers of tests/unit/test_net_fused.c, by the operators' definitions in numpy.

Every tensor is sin(0.7 i + seed); weights in single precision, sums in double.
"""
import numpy as np


def values(seed, *shape):
    n = int(np.prod(shape))
    return np.sin(0.7 * np.arange(n) + seed).astype(np.float32).astype(np.float64).reshape(shape)


def attend(q, k, v, heads, seen=None):
    out = []
    size = q.shape[1] // heads
    for h in range(heads):
        at = slice(h * size, (h + 1) * size)
        scores = q[:, at] @ k[:, at].T / np.sqrt(size)
        if seen is not None:
            scores = scores + np.where(np.array(seen) == 0, -10000.0, 0.0)
        e = np.exp(scores - scores.max(1, keepdims=True))
        out.append(e / e.sum(1, keepdims=True) @ v[:, at])
    return np.concatenate(out, 1)


def show(name, y):
    print(f"static const double {name}[] = {{" + ", ".join(f"{v:.9g}" for v in y.ravel()) + "};")


x = values(1, 3, 4)
qkv = x @ values(2, 4, 12) + values(3, 12)
show("attention", attend(qkv[:, :4], qkv[:, 4:8], qkv[:, 8:], 2, [1, 1, 0]))
bias = values(3, 12)
show("multi_head", attend(x + bias[:4], x @ values(4, 4, 4) + bias[4:8],
                          x @ values(5, 4, 4) + bias[8:], 2))
cosine, sine = values(6, 5, 1), values(7, 5, 1)
turned = np.empty_like(x)
for place in range(3):
    for h in range(2):
        a, b = x[place, 2 * h], x[place, 2 * h + 1]
        turned[place, 2 * h] = a * cosine[place, 0] - b * sine[place, 0]
        turned[place, 2 * h + 1] = b * cosine[place, 0] + a * sine[place, 0]
show("rotary", turned)
s = values(8, 6, 4)[[4, 0, 5]] + values(9, 3, 4)
d = s - s.mean(1, keepdims=True)
show("embedded", d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-12) * values(10, 4) + values(11, 4))
