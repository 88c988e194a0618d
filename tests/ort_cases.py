#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Small models, one or a few operators each, with the outputs of ONNX Runtime: tests/unit/ort_cases.txt.

    tests/ort_cases.py build/ort > tests/unit/ort_cases.txt

needs python3-onnx, node and the package of ONNX Runtime that tools/install-deps.sh puts into build/ort. Each line
has a name, a model, inputs and outputs (hexadecimal); unit.net_onnx_cases reads them. A case that ONNX Runtime refuses
is left out and reported on standard error.
"""
import json
import os
import subprocess
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

TYPES = {"float32": T.FLOAT, "float64": T.DOUBLE, "int64": T.INT64, "int32": T.INT32, "int8": T.INT8,
         "uint8": T.UINT8, "bool": T.BOOL, "object": T.STRING, "int16": T.INT16, "uint16": T.UINT16, "float16": T.FLOAT16,
         "uint64": T.UINT64}
MS, ML = "com.microsoft", "ai.onnx.ml"
rng = np.random.RandomState(14)
cases = []


def f(*shape, scale=1.0):
    return (np.round(rng.randn(*shape) * 64 * scale) / 64).astype(np.float32)


def ints(low, high, *shape, t=np.int64):
    return rng.randint(low, high, shape).astype(t)


def op(name, inputs, outputs, domain="", **attributes):
    return h.make_node(name, inputs.split(), outputs.split(), domain=domain,
                       **{k: v for k, v in attributes.items() if v is not None})


def skip_names(node):
    """Names of inputs; '-' (omitted) becomes the empty name."""
    for names in (node.input, node.output):
        for k, v in enumerate(names):
            if v == "-":
                names[k] = ""
    return node


def kind(a):
    return "string" if a.dtype == object else str(a.dtype)


def plain(x):
    """A value that survives JSON: large integers become texts."""
    return "NaN" if x != x else str(x) if isinstance(x, int) and not isinstance(x, bool) and abs(x) > 2**53 else x


def case(name, nodes, feeds, const=None, outputs=None, opset=17, raw=(), level="disabled"):
    """feeds are inputs, const initializers (arrays, or TensorProto in raw). Default outputs are the values that no node
    reads. level: ONNX Runtime's optimization level."""
    nodes = [skip_names(n) for n in (nodes if isinstance(nodes, list) else [nodes])]
    read = {i for n in nodes for i in n.input}
    if outputs is None:
        outputs = [o for n in nodes for o in n.output if o and o not in read]
    infos = [h.make_tensor_value_info(k, TYPES[str(v.dtype)], v.shape) for k, v in feeds.items()]
    given = [numpy_helper.from_array(v, k) for k, v in (const or {}).items()] + list(raw)
    graph = h.make_graph(nodes, "g", infos, [h.make_empty_tensor_value_info(o) for o in outputs], given)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset), h.make_opsetid(ML, 5 if opset > 20 else 3),
                                               h.make_opsetid(MS, 1)])
    model.ir_version = 10 if opset > 20 else 8
    data = {k: {"type": kind(v), "dims": list(v.shape), "data": [plain(x) for x in v.ravel().tolist()]} for k, v in feeds.items()}
    cases.append({"name": name, "level": level, "model": model.SerializeToString().hex(), "inputs": data, "outputs": outputs,
                  "given": [numpy_helper.from_array(v).SerializeToString().hex() for v in feeds.values()]})


# ---- What ONNX Runtime's optimizer writes ----------------------------------------------------------------------
for act, params in [("Relu", None), ("LeakyRelu", [0.1]), ("Sigmoid", None), ("Tanh", None), ("Clip", [-0.5, 0.5]),
                    ("HardSigmoid", [0.2, 0.5])]:
    case("fused_conv_" + act, op("FusedConv", "x w b", "y", MS, activation=act, activation_params=params, kernel_shape=[3, 3],
                                 pads=[1, 1, 1, 1]), {"x": f(1, 2, 4, 4)}, {"w": f(3, 2, 3, 3), "b": f(3)})
case("fused_conv_sum", op("FusedConv", "x w b z", "y", MS, activation="Relu"),
     {"x": f(1, 2, 4, 4), "z": f(1, 3, 2, 2)}, {"w": f(3, 2, 3, 3), "b": f(3)})
for act in ("Relu", "Sigmoid", "Tanh"):
    case("fused_gemm_" + act, op("FusedGemm", "x w b", "y", MS, activation=act, transB=1, alpha=0.5),
         {"x": f(2, 3)}, {"w": f(4, 3), "b": f(4)})
case("fused_gemm_leaky", op("FusedGemm", "x w b", "y", MS, activation="LeakyRelu", activation_alpha=0.2),
     {"x": f(2, 3)}, {"w": f(3, 4), "b": f(4)})
for ta in (0, 1):
    for tb in (0, 1):
        case(f"fused_matmul_{ta}{tb}", op("FusedMatMul", "a b", "y", MS, transA=ta, transB=tb, alpha=0.25),
             {"a": f(*((2, 4, 3) if ta else (2, 3, 4)))}, {"b": f(*((5, 4) if tb else (4, 5)))})
case("transpose_matmul", op("TransposeMatMul", "a b", "y", MS, transA=1), {"a": f(2, 4, 3)}, {"b": f(2, 4, 5)})
case("ms_pad", op("Pad", "x p v", "y", MS, mode="constant"), {"x": f(2, 3)}, {"p": np.array([0, 1, 1, 2]), "v": np.float32(2.5).reshape(1)})
case("ms_trilu", op("Trilu", "x", "y", MS, upper=0), {"x": f(3, 3)})
case("ms_range", [op("Range", "a b c", "r", MS), op("Add", "x r", "y")], {"x": f(2, 3)},
     {"a": np.float32(0).reshape(()), "b": np.float32(3).reshape(()), "c": np.float32(1).reshape(())})
case("ms_expand_dims", op("ExpandDims", "x a", "y", MS), {"x": f(2, 3)}, {"a": np.array(1, np.int32)})
case("nhwc_max_pool", op("NhwcMaxPool", "x", "y", MS, kernel_shape=[2, 2], strides=[2, 2]), {"x": ints(0, 255, 1, 4, 4, 3, t=np.uint8)})
case("quick_gelu", op("QuickGelu", "x", "y", MS, alpha=1.5), {"x": f(2, 3)})

# ---- Quantised ----------------------------------------------------------------------------------------------------
u8, s8 = np.uint8, np.int8
Q = {"xs": np.float32(0.05), "xz": np.array(120, u8), "ys": np.float32(0.04), "yz": np.array(10, u8)}
def q(n=("xs", "xz", "ys", "yz")): return {k: np.array(Q[k]) for k in n}
case("qlinear_sigmoid", op("QLinearSigmoid", "x xs xz ys yz", "y", MS), {"x": ints(0, 256, 3, 4, t=u8)}, {**q(), "ys": np.array(0.0039, np.float32), "yz": np.array(0, u8)})
case("qlinear_leaky_relu", op("QLinearLeakyRelu", "x xs xz ys yz", "y", MS, alpha=0.1), {"x": ints(0, 256, 3, 4, t=u8)}, q())
case("qlinear_softmax", op("QLinearSoftmax", "x xs xz ys yz", "y", MS, axis=-1, opset=13), {"x": ints(0, 256, 3, 4, t=u8)},
     {**q(), "ys": np.array(0.00390625, np.float32), "yz": np.array(0, u8)})
case("qlinear_average_pool", op("QLinearAveragePool", "x xs xz ys yz", "y", MS, kernel_shape=[2, 2], strides=[2, 2]),
     {"x": ints(0, 256, 1, 2, 4, 4, t=u8)}, q())
case("qlinear_average_pool_nhwc", op("QLinearAveragePool", "x xs xz ys yz", "y", MS, kernel_shape=[2, 2], strides=[2, 2], channels_last=1),
     {"x": ints(0, 256, 1, 4, 4, 2, t=u8)}, q())
case("qlinear_global_average_pool", op("QLinearGlobalAveragePool", "x xs xz ys yz", "y", MS), {"x": ints(0, 256, 1, 2, 4, 4, t=u8)}, q())
case("qlinear_global_average_pool_nhwc", op("QLinearGlobalAveragePool", "x xs xz ys yz", "y", MS, channels_last=1), {"x": ints(0, 256, 1, 4, 4, 2, t=u8)}, q())
case("qlinear_concat", op("QLinearConcat", "ys yz x xs xz z zs zz", "y", MS, axis=1), {"x": ints(0, 256, 2, 3, t=u8), "z": ints(0, 256, 2, 2, t=u8)},
     {**q(), "zs": np.array(0.03, np.float32), "zz": np.array(7, u8)})
case("qlinear_add", op("QLinearAdd", "x xs xz z zs zz ys yz", "y", MS), {"x": ints(0, 256, 2, 3, t=u8), "z": ints(0, 256, 3, t=u8)},
     {**q(), "zs": np.array(0.03, np.float32), "zz": np.array(7, u8)})
case("qlinear_mul", op("QLinearMul", "x xs xz z zs zz ys yz", "y", MS), {"x": ints(100, 140, 2, 3, t=u8), "z": ints(0, 50, 2, 3, t=u8)},
     {**q(), "zs": np.array(0.03, np.float32), "zz": np.array(7, u8)})
case("qlinear_where", op("QLinearWhere", "c x xs xz z zs zz ys yz", "y", MS), {"c": np.array([True, False, True]), "x": ints(0, 256, 2, 3, t=u8), "z": ints(0, 256, 2, 3, t=u8)},
     {**q(), "zs": np.array(0.03, np.float32), "zz": np.array(7, u8)})
case("qlinear_conv", op("QLinearConv", "x xs xz w ws wz ys yz b", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), {"x": ints(0, 255, 1, 3, 5, 5, t=u8)},
     {**q(), "w": ints(-60, 60, 4, 3, 3, 3, t=s8), "ws": np.abs(f(4)) / 64 + 0.002, "wz": np.zeros(4, s8), "b": ints(-500, 500, 4, t=np.int32)})
case("qlinear_conv_depthwise", op("QLinearConv", "x xs xz w ws wz ys yz", "y", group=4, strides=[2, 2]), {"x": ints(0, 255, 1, 4, 7, 7, t=u8)},
     {**q(), "w": ints(0, 255, 4, 1, 3, 3, t=u8), "ws": np.array(0.002, np.float32), "wz": np.array(128, u8)})
case("qlinear_conv_nhwc", op("QLinearConv", "x xs xz w ws wz ys yz", "y", MS, channels_last=1), {"x": ints(0, 255, 1, 5, 5, 3, t=u8)},
     {**q(), "w": ints(-60, 60, 4, 3, 3, 3, t=s8), "ws": np.array(0.002, np.float32), "wz": np.array(0, s8)})
case("matmul_integer", op("MatMulInteger", "x w xz wz", "y"), {"x": ints(0, 255, 3, 300, t=u8)}, {"w": ints(-60, 60, 300, 3, t=s8), "xz": np.array(100, u8), "wz": np.array([3, -7, 0], s8)})
case("matmul_integer_rounded", [op("QuantizeLinear", "r ws wz", "w"), op("MatMulInteger", "x w xz wz", "y")], {"x": ints(0, 255, 3, 40, t=u8)},
     {"r": f(40, 3), "ws": np.array(0.02, np.float32), "xz": np.array(100, u8), "wz": np.array(3, s8)})
case("conv_integer", op("ConvInteger", "x w xz", "y", group=2, dilations=[2, 1], strides=[1, 2], pads=[2, 0, 1, 1]), {"x": ints(0, 255, 2, 60, 4, 3, t=u8)},
     {"w": ints(0, 120, 4, 30, 3, 3, t=u8), "xz": np.array(17, u8)})
case("qlinear_conv_long", op("QLinearConv", "x xs xz w ws wz ys yz b", "y", pads=[1, 1, 1, 1]), {"x": ints(0, 255, 1, 40, 3, 3, t=u8)},
     {**q(), "w": ints(-60, 60, 2, 40, 3, 3, t=s8), "ws": np.array([0.001, 0.0004], np.float32), "wz": np.zeros(2, s8), "b": ints(-500, 500, 2, t=np.int32)})
case("qlinear_matmul", op("QLinearMatMul", "x xs xz w ws wz ys yz", "y"), {"x": ints(0, 255, 2, 3, 8, t=u8)},
     {**q(), "w": ints(-60, 60, 8, 5, t=s8), "ws": np.abs(f(5)) / 64 + 0.002, "wz": np.zeros(5, s8)})
case("qgemm_columns", op("QGemm", "x xs xz w ws wz b ys yz", "y", MS, alpha=0.5), {"x": ints(0, 255, 2, 6, t=u8)},
     {**q(), "w": ints(0, 250, 6, 4, t=u8), "ws": np.abs(f(4)) / 64 + 0.002, "wz": ints(100, 130, 4, t=u8), "b": ints(-500, 500, 4, t=np.int32)})
case("qlinear_network", [op("QuantizeLinear", "r xs xz", "x"), op("QLinearConv", "x xs xz w ws wz ys yz", "c", pads=[1, 1, 1, 1]), op("QLinearSigmoid", "c ys yz gs gz", "g", MS),
                         op("QLinearMul", "c ys yz g gs gz ys yz", "m", MS), op("QLinearConcat", "ys yz m ys yz x xs xz", "j", MS, axis=1), op("QLinearGlobalAveragePool", "j ys yz ys yz", "p", MS),
                         op("Flatten", "p", "f"), op("QGemm", "f ys yz u us uz - ys yz", "o", MS), op("DequantizeLinear", "o ys yz", "y")], {"r": f(1, 3, 12, 12)},
     {**q(), "w": ints(-60, 60, 4, 3, 3, 3, t=s8), "ws": np.array(0.002, np.float32), "wz": np.array(0, s8), "gs": np.array(0.0039, np.float32), "gz": np.array(0, u8), "u": ints(-60, 60, 7, 3, t=s8),
      "us": np.array(0.01, np.float32), "uz": np.array(0, s8)})
case("ms_dequantize", op("DequantizeLinear", "x s z", "y", MS), {"x": ints(0, 60000, 2, 3, t=np.uint16)}, {"s": np.array(0.02, np.float32), "z": np.array(300, np.uint16)})
case("ms_quantize", op("QuantizeLinear", "x s z", "y", MS), {"x": f(2, 3)}, {"s": np.array(0.002, np.float32), "z": np.array(300, np.uint16)})
case("qgemm", op("QGemm", "x xs xz w ws wz b ys yz", "y", MS, transB=1), {"x": ints(0, 255, 2, 6, t=u8)},
     {**q(), "w": ints(-60, 60, 4, 6, t=s8), "ws": np.array(0.01, np.float32), "wz": np.array(0, s8), "b": ints(-500, 500, 4, t=np.int32)})
case("qgemm_float", op("QGemm", "x xs xz w ws wz", "y", MS), {"x": ints(0, 255, 2, 6, t=u8)},
     {**q(("xs", "xz")), "w": ints(-60, 60, 6, 4, t=s8), "ws": np.array(0.01, np.float32), "wz": np.array(0, s8)})

# ---- Transformers -------------------------------------------------------------------------------------------------
case("attention_ms", op("Attention", "x w b m", "y", MS, num_heads=2), {"x": f(2, 3, 4), "m": np.array([[1, 1, 0], [1, 1, 1]], np.int32)}, {"w": f(4, 12), "b": f(12)})
case("attention_ms_uni", op("Attention", "x w b", "y", MS, num_heads=2, unidirectional=1), {"x": f(2, 3, 4)}, {"w": f(4, 12), "b": f(12)})
case("attention_ms_sizes", op("Attention", "x w b", "y", MS, num_heads=2, qkv_hidden_sizes=[4, 4, 6]), {"x": f(2, 3, 4)}, {"w": f(4, 14), "b": f(14)})
case("attention_ms_added", op("Attention", "x w b - - a", "y", MS, num_heads=2), {"x": f(2, 3, 4), "a": f(1, 2, 3, 3)}, {"w": f(4, 12), "b": f(12)})
case("mha", op("MultiHeadAttention", "q k v b m", "y", MS, num_heads=2), {"q": f(2, 3, 4), "k": f(2, 5, 4), "v": f(2, 5, 4), "m": np.array([[1, 1, 0, 1, 1], [1, 1, 1, 1, 1]], np.int32)}, {"b": f(12)})
case("attention_ms_3d", op("Attention", "x w b m", "y", MS, num_heads=2, scale=0.4, mask_filter_value=-5.0), {"x": f(2, 3, 4), "m": ints(0, 2, 2, 3, 3, t=np.int32)}, {"w": f(4, 12), "b": f(12)})
case("mha_values", op("MultiHeadAttention", "q k v b", "y", MS, num_heads=2, unidirectional=1), {"q": f(2, 3, 4), "k": f(2, 3, 4), "v": f(2, 3, 6)}, {"b": f(14)})
case("rotary_ms_part", op("RotaryEmbedding", "x p c s", "y", MS, num_heads=2, rotary_embedding_dim=4), {"x": f(1, 3, 12), "p": np.array([[2, 0, 1]])}, {"c": f(5, 2), "s": f(5, 2)})
case("rotary_ms_pairs", op("RotaryEmbedding", "x p c s", "y", MS, num_heads=2, interleaved=1), {"x": f(2, 3, 8), "p": np.array([[2, 0, 1], [0, 1, 2]])}, {"c": f(5, 2), "s": f(5, 2)})
case("skip_simplified", op("SkipSimplifiedLayerNormalization", "x z g", "y - - t", MS), {"x": f(2, 3, 4), "z": f(2, 3, 4)}, {"g": f(4)})
case("embed_layer_norm", op("EmbedLayerNormalization", "i t w p s g b m", "y n", MS, epsilon=1e-5), {"i": ints(0, 7, 2, 4, t=np.int32), "t": ints(0, 2, 2, 4, t=np.int32), "m": np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)},
     {"w": f(7, 6), "p": f(9, 6), "s": f(2, 6), "g": f(6), "b": f(6)})
case("embed_layer_norm_places", op("EmbedLayerNormalization", "i - w p - g b - q", "y n e", MS), {"i": ints(0, 7, 2, 4, t=np.int32), "q": ints(0, 9, 2, 4, t=np.int32)},
     {"w": f(7, 6), "p": f(9, 6), "g": f(6), "b": f(6)}, outputs=["y", "e"])
case("mha_added", op("MultiHeadAttention", "q k v - - a", "y", MS, num_heads=2), {"q": f(2, 3, 4), "k": f(2, 5, 4), "v": f(2, 5, 4), "a": f(1, 2, 3, 5)})
case("attention_23", op("Attention", "q k v", "y"), {"q": f(1, 2, 3, 4), "k": f(1, 2, 5, 4), "v": f(1, 2, 5, 4)}, opset=23)
case("attention_23_mask", op("Attention", "q k v m", "y"), {"q": f(1, 2, 3, 4), "k": f(1, 2, 5, 4), "v": f(1, 2, 5, 4), "m": f(3, 5)}, opset=23)
case("attention_23_bool", op("Attention", "q k v m", "y", is_causal=0), {"q": f(1, 2, 3, 4), "k": f(1, 2, 5, 4), "v": f(1, 2, 5, 4), "m": np.array([[1, 1, 0, 1, 1]] * 3, bool)}, opset=23)
hides = np.array([[0, 0, 0, 0, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]], bool)
for causal in (0, 1):
    case(f"attention_23_hidden_{causal}", op("Attention", "q k v m", "y", is_causal=causal), {"q": f(1, 2, 3, 4), "k": f(1, 2, 5, 4), "v": f(1, 2, 5, 4), "m": hides}, opset=23)
case("attention_23_infinite", op("Attention", "q k v m", "y"), {"q": f(1, 2, 3, 4), "k": f(1, 2, 5, 4), "v": f(1, 2, 5, 4)}, {"m": np.where(hides, 0, -np.inf).astype(np.float32)}, opset=23)
case("attention_23_causal", op("Attention", "q k v", "y", is_causal=1, scale=0.3), {"q": f(1, 2, 3, 4), "k": f(1, 2, 3, 4), "v": f(1, 2, 3, 4)}, opset=23)
case("attention_23_flat", op("Attention", "q k v", "y", q_num_heads=2, kv_num_heads=2, softcap=2.0), {"q": f(1, 3, 8), "k": f(1, 4, 8), "v": f(1, 4, 8)}, opset=23)
case("rotary_23", op("RotaryEmbedding", "x c s p", "y", num_heads=2), {"x": f(1, 3, 8), "p": np.array([[0, 1, 2]])}, {"c": f(5, 2), "s": f(5, 2)}, opset=23)
case("rotary_23_4d", op("RotaryEmbedding", "x c s", "y", interleaved=1), {"x": f(1, 2, 3, 4)}, {"c": f(1, 3, 2), "s": f(1, 3, 2)}, opset=23)
case("rotary_ms_4d", op("RotaryEmbedding", "x p c s", "y", MS), {"x": f(1, 2, 3, 4), "p": np.array([[0, 1, 2]])}, {"c": f(5, 2), "s": f(5, 2)})
case("rms_23", op("RMSNormalization", "x g", "y"), {"x": f(2, 3, 4)}, {"g": f(4)}, opset=23)
case("skip_layer_norm", op("SkipLayerNormalization", "x z g b c", "y - - t", MS), {"x": f(2, 3, 4), "z": f(2, 3, 4)}, {"g": f(4), "b": f(4), "c": f(4)})
case("swish_24", op("Swish", "x", "y", alpha=1.0), {"x": f(2, 3)}, opset=24)

def encoder(name, nodes, feeds, more=(), classes=3, **attributes):
    """A transformer of one layer, as ONNX Runtime's optimizer writes it; nodes compute h from e (batch, 5, 8)."""
    weights = dict(g=f(8), b=f(8), ao=f(8, 8, scale=0.4), ab=f(8), g1=f(8), b1=f(8), f1=f(8, 16, scale=0.4), fb=f(16), f2=f(16, 8, scale=0.4), f2b=f(8), g2=f(8), b2=f(8), c=f(8, classes))
    tail = [op("MatMul", "h ao", "o"), op("SkipLayerNormalization", "o e g1 b1 ab", "n1 - - k1", MS), op("MatMul", "n1 f1", "u"), op("BiasGelu", "u fb", "r", MS), op("MatMul", "r f2", "d"),
            op("SkipLayerNormalization", "d n1 g2 b2 f2b", "n2", MS), op("Gather", "n2 zero", "first", axis=1), op("MatMul", "first c", "z"), op("Softmax", "z", "y", axis=-1)]
    case(name, nodes + tail, feeds, {**weights, **dict(more), "zero": np.array(0)}, outputs=["y"], **attributes)


matrices = dict(word=f(20, 8), place=f(6, 8), type=f(2, 8))
projected = dict(w=f(8, 24, scale=0.5), wb=f(24))
tokens = np.array([[4, 7, 19, 3, 1]], np.int32)
embedding = op("EmbedLayerNormalization", "input_ids token_type_ids word place type g b attention_mask", "e lengths", MS)
seen = np.array([[1, 1, 1, 1, 0]], np.int32)
encoder("encoder_lengths", [embedding, op("Attention", "e w wb lengths", "h", MS, num_heads=2)], {"input_ids": tokens, "token_type_ids": tokens * 0, "attention_mask": seen}, {**matrices, **projected})
encoder("encoder_mask", [embedding, op("Attention", "e w wb attention_mask", "h", MS, num_heads=2)], {"input_ids": tokens, "token_type_ids": tokens * 0, "attention_mask": seen}, {**matrices, **projected})
single = [op("EmbedLayerNormalization", "input_ids - word place - g b", "e none", MS)]
own = [op("MatMul", f"e {n}w", f"{n}") for n in "qkv"]
encoder("encoder_heads", single + own + [op("MultiHeadAttention", "q k v qkvb", "h", MS, num_heads=2)], {"input_ids": tokens}, {**matrices, **{n + "w": f(8, 8, scale=0.5) for n in "qkv"}, "qkvb": f(24)})
encoder("encoder_standard", single + own + [op("Attention", "q k v", "h", q_num_heads=2, kv_num_heads=2)], {"input_ids": tokens}, {**matrices, **{n + "w": f(8, 8, scale=0.5) for n in "qkv"}}, opset=23)
encoder("encoder_rotary", single + own + [op("RotaryEmbedding", "q p cosines sines", "qr", MS, num_heads=2), op("RotaryEmbedding", "k p cosines sines", "kr", MS, num_heads=2),
                                          op("MultiHeadAttention", "qr kr v", "h", MS, num_heads=2)],
        {"input_ids": tokens}, {**matrices, **{n + "w": f(8, 8, scale=0.5) for n in "qkv"}, "p": np.array([[0, 1, 2, 3, 4]]), "cosines": f(6, 2), "sines": f(6, 2)})

# ---- Images --------------------------------------------------------------------------------------------------------
case("pad_wrap", op("Pad", "x p", "y", mode="wrap"), {"x": f(2, 3)}, {"p": np.array([0, 2, 1, 1])}, opset=19)
case("pad_axes", op("Pad", "x p - a", "y", mode="constant"), {"x": f(2, 3, 4)}, {"p": np.array([2, 1]), "a": np.array([-1])}, opset=18)
case("average_pool_dilated", op("AveragePool", "x", "y", kernel_shape=[2, 2], dilations=[2, 2]), {"x": f(1, 2, 5, 5)}, opset=19)
case("average_pool_ceil", op("AveragePool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1], count_include_pad=1), {"x": f(1, 2, 6, 6)}, opset=19)
case("max_pool_ceil", op("MaxPool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), {"x": f(1, 2, 6, 6)})

# ---- Tables and texts ---------------------------------------------------------------------------------------------
tensor = lambda a: numpy_helper.from_array(a)
case("label_encoder_tensors", op("LabelEncoder", "x", "y", ML, keys_tensor=tensor(np.array([1, 2, 5])), values_tensor=tensor(np.array([0.5, 1.5, 2.5], np.float32)), default_tensor=tensor(np.array([-1], np.float32))),
     {"x": np.array([1, 5, 7])}, opset=21)
case("label_encoder_words", op("LabelEncoder", "x", "y", ML, keys_strings=["a", "b"], values_int64s=[3, 4], default_int64=9), {"x": np.array(["b", "q", "a"], dtype=object)})
case("tree_ensemble_5", op("TreeEnsemble", "x", "y", ML, aggregate_function=1, n_targets=2, post_transform=0, tree_roots=[0],
                           nodes_featureids=[0, 0, 0], nodes_modes=tensor(np.array([0, 0, 0], np.uint8)), nodes_splits=tensor(np.array([3.14, 1.2, 4.2], np.float32)),
                           nodes_truenodeids=[1, 0, 1], nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[2, 2, 3], nodes_falseleafs=[0, 1, 1],
                           leaf_targetids=[0, 1, 0, 1], leaf_weights=tensor(np.array([5.23, 12.12, -12.23, 7.21], np.float32))),
     {"x": np.array([[1.2], [3.4], [-0.12], [1.66], [4.14], [1.77]], np.float32)}, opset=21)
case("tree_ensemble_member", op("TreeEnsemble", "x", "y", ML, aggregate_function=1, n_targets=4, post_transform=0, tree_roots=[0],
                                nodes_featureids=[0, 0, 0], nodes_modes=tensor(np.array([0, 6, 6], np.uint8)), nodes_splits=tensor(np.array([11, 232344.0, 2], np.float32)),
                                nodes_truenodeids=[1, 0, 1], nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[2, 2, 3], nodes_falseleafs=[1, 0, 1],
                                leaf_targetids=[0, 1, 2, 3], leaf_weights=tensor(np.array([1, 10, 1000, 100], np.float32)),
                                membership_values=tensor(np.array([1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan], np.float32))),
     {"x": np.array([[1.2], [3.4], [-0.12], [np.nan], [12], [7], [8], [11.5]], np.float32)}, opset=21)
for name, how, post in (("average", 0, 0), ("min", 2, 0), ("max", 3, 0), ("code_1", 1, 1), ("code_2", 1, 2), ("code_3", 1, 3)):
    case("tree_ensemble_" + name, op("TreeEnsemble", "x", "y", ML, aggregate_function=how, n_targets=2, post_transform=post, tree_roots=[0, 1, 3],
                                     nodes_featureids=[0, 1, 0, 1], nodes_modes=tensor(np.array([1, 3, 4, 5], np.uint8)),
                                     nodes_splits=tensor(np.array([0.5, -1.25, 2, 3], np.float32)), nodes_missing_value_tracks_true=[1, 0, 1, 0],
                                     nodes_truenodeids=[0, 2, 2, 1], nodes_trueleafs=[1, 0, 1, 1], nodes_falsenodeids=[1, 1, 3, 1], nodes_falseleafs=[1, 1, 1, 1],
                                     leaf_targetids=[0, 1, 0, 1], leaf_weights=tensor(np.array([0.75, -0.5, 1.5, 0.125], np.float32))),
         {"x": np.array([[0.5, 0], [0.25, -2], [2, 3], [np.nan, 1], [1, np.nan], [2, 7]], np.float32)}, opset=21)
words = np.array(["It is a good day, isn't it?", "no", "x y zz  12_b"], dtype=object)
case("tokenizer_expression", op("Tokenizer", "x", "y", MS, mark=0, mincharnum=2, pad_value="#", tokenexp="[a-zA-Z0-9_]+"), {"x": words})
case("tokenizer_word_class", op("Tokenizer", "x", "y", MS, mark=1, mincharnum=1, pad_value="#", tokenexp=r"\w+"), {"x": words})
case("tokenizer_characters", op("Tokenizer", "x", "y", MS, mark=0, mincharnum=1, pad_value="#", separators=[""]), {"x": words})
case("tokenizer_dot", op("Tokenizer", "x", "y", MS, mark=0, mincharnum=1, pad_value="#", tokenexp="."), {"x": words})
case("tokenizer_separators", op("Tokenizer", "x", "y", MS, mark=1, mincharnum=1, pad_value="#", separators=[" ", ","]), {"x": words})
case("array_feature_extractor", op("ArrayFeatureExtractor", "x i", "y", ML), {"x": f(3, 4)}, {"i": np.array([[1, 3]])})

# ---- Small and unusual types -------------------------------------------------------------------------------------
case("reduce_18", op("ReduceMean", "x a", "y", keepdims=0), {"x": f(2, 3, 4)}, {"a": np.array([1])}, opset=18)
case("split_18", op("Split", "x", "a b", num_outputs=2, axis=1), {"x": f(2, 5)}, opset=18)
case("group_norm_21", op("GroupNormalization", "x s b", "y", num_groups=2), {"x": f(1, 4, 3, 3)}, {"s": f(4), "b": f(4)}, opset=21)
case("cum_sum", op("CumSum", "x a", "y", exclusive=1, reverse=1), {"x": f(2, 4)}, {"a": np.array(1)})
case("mod_float", op("Mod", "x z", "y", fmod=1), {"x": f(4), "z": f(4) + 2})

# ---- Attention with masks -------------------------------------------------------------------------------------------
case("attention_ms_uni_mask", op("Attention", "x w b m", "y", MS, num_heads=2, unidirectional=1), {"x": f(2, 3, 4), "m": np.array([[0, 1, 1], [1, 1, 0]], np.int32)}, {"w": f(4, 12), "b": f(12)})
case("attention_23_cap_mask", op("Attention", "q k v m", "y", q_num_heads=4, kv_num_heads=2, softcap=0.5), {"q": f(2, 3, 16), "k": f(2, 5, 8), "v": f(2, 5, 8), "m": f(3, 5)}, opset=23)

case("gather_nd_ms", op("GatherND", "x i", "y", MS), {"x": f(2, 3, 4), "i": np.array([[1], [0]])})

# ---- Old opsets ------------------------------------------------------------------------------------------------------
case("dropout_mask_10", op("Dropout", "x", "y m"), {"x": f(2, 3)}, opset=10)
case("reshape_1", op("Reshape", "x", "y", shape=[0, -1]), {"x": f(2, 3, 4)}, opset=1)
for post in ("NONE", "SOFTMAX", "SOFTMAX_ZERO"):
    case(f"linear_one_row_{post}", op("LinearClassifier", "x", "l p", ML, coefficients=f(4).tolist(), intercepts=[0.1], classlabels_ints=[3, 5], post_transform=post), {"x": f(6, 4)})
case("label_encoder_nan", op("LabelEncoder", "x", "y", ML, keys_floats=[1.0, float("nan")], values_floats=[5.0, 6.0], default_float=-1.0), {"x": np.array([1, np.nan, 3], np.float32)})
case("trees_doubles", op("TreeEnsembleRegressor", "x", "y", ML, nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
                         nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], nodes_values_as_tensor=numpy_helper.from_array(np.array([0.3, 0, 0])),
                         nodes_hitrates_as_tensor=numpy_helper.from_array(np.ones(3)), target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
                         target_weights_as_tensor=numpy_helper.from_array(np.array([0.5, -1.5])), base_values_as_tensor=numpy_helper.from_array(np.array([0.25])), n_targets=1),
     {"x": f(4, 2).astype(np.float64)})

# ---- Patterns of real exporters that other cases lack ----------------------------------------------------------------------
stump = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0],
             nodes_falsenodeids=[2, 0, 0], nodes_values=[0.3, 0.0, 0.0], target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[0.5, -1.5], n_targets=1)
for post in ("LOGISTIC", "SOFTMAX"):
    case(f"found_tree_one_target_{post}", op("TreeEnsembleRegressor", "x", "y", ML, post_transform=post, **stump), {"x": f(4, 2)})
for ta, tb, ba, bb in ((0, 0, 1, 0), (0, 1, 1, 1), (1, 0, 1, 1), (0, 0, 0, 1)):
    left, right = [2, 3, 4] if ba else [3, 2, 4], [4, 3, 5] if bb else [3, 4, 5]  # before the last two are swapped
    left = [left[2], left[1], left[0]] if ta and ba else left
    right = [right[2], right[1], right[0]] if tb and bb else right
    case(f"found_fused_matmul_batch_{ta}{tb}{ba}{bb}", op("FusedMatMul", "a b", "y", MS, transA=ta, transB=tb, transBatchA=ba, transBatchB=bb, alpha=0.5),
         {"a": f(*left), "b": f(*right)})

spread = dict(coefficients=[0.1, -0.05, 0.08, 0.02, 0.06, -0.1, -0.07, 0.05, 0.03], intercepts=[0.4, 0.5, 0.6], post_transform="PROBIT")
near = {"x": f(5, 3)}
case("probit_linear_classes", op("LinearClassifier", "x", "l p", ML, classlabels_ints=[1, 2, 3], **spread), near)
case("probit_linear_targets", op("LinearRegressor", "x", "y", ML, targets=3, **spread), near)
case("probit_linear_target", op("LinearRegressor", "x", "y", ML, targets=1, coefficients=[0.1, -0.05, 0.08], intercepts=[0.4], post_transform="PROBIT"), near)
leaves = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0],
              nodes_falsenodeids=[2, 0, 0], nodes_values=[0.3, 0.0, 0.0])
for kind_of in ("class", "target"):
    votes = {kind_of + "_treeids": [0] * 6, kind_of + "_nodeids": [1, 1, 1, 2, 2, 2], kind_of + "_ids": [0, 1, 2] * 2, kind_of + "_weights": [0.2, 0.3, 0.5, 0.7, 0.05, 0.25]}
    more = dict(classlabels_int64s=[0, 1, 2]) if kind_of == "class" else dict(n_targets=3)
    case("probit_trees_" + kind_of, op("TreeEnsembleClassifier" if kind_of == "class" else "TreeEnsembleRegressor", "x", "l p" if kind_of == "class" else "y", ML,
                                       post_transform="PROBIT", **leaves, **votes, **more), near)

# Half precision: unit.net_short converts these networks to float, too.
half = np.float16
case("half_cnn", [op("Cast", "x", "h", to=10), op("Conv", "h w b", "c", pads=[1, 1, 1, 1]), op("BatchNormalization", "c g o m v", "n"), op("Relu", "n", "r"), op("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
                  op("Flatten", "p", "f"), op("Gemm", "f u a", "z"), op("Softmax", "z", "s", axis=1), op("Cast", "s", "y", to=1)], {"x": f(1, 2, 6, 6)},
     {k: v.astype(half) for k, v in dict(w=f(3, 2, 3, 3), b=f(3), g=f(3), o=f(3), m=f(3), v=f(3) ** 2 + 0.5, u=f(27, 4, scale=0.3), a=f(4)).items()}, level="all")
case("half_attention", [op("Cast", "x", "h", to=10), op("LayerNormalization", "h g b", "n"), op("MatMul", "n w", "q"), op("Transpose", "n", "t", perm=[0, 2, 1]), op("MatMul", "q t", "s"),
                        op("Softmax", "s", "e", axis=-1), op("MatMul", "e n", "o"), op("Concat", "o h", "j", axis=1), op("Reshape", "j d", "k"), op("MatMul", "k u", "z"), op("Cast", "z", "y", to=1)],
     {"x": f(1, 3, 4)}, {**{k: v.astype(half) for k, v in dict(g=f(4), b=f(4), w=f(4, 4, scale=0.5), u=f(24, 2, scale=0.3)).items()}, "d": np.array([1, 24])}, level="all")

# Found by random graphs.
backwards = {"s": np.array([-4, 9]), "e": np.array([-2**62, -2**62]), "a": np.array([-1, 0]), "t": np.array([-1, -2])}
case("found_slice_from_in_front", op("Slice", "x s e a t", "y"), {"x": f(5, 3)}, backwards)
for post in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
    case("found_linear_target_" + post, op("LinearRegressor", "x", "y", ML, targets=1, coefficients=[0.1, -0.05, 0.08], post_transform=post), {"x": f(5, 3)})
one_target = dict(target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[0.2, 0.7], n_targets=1)
case("found_probit_tree_target", op("TreeEnsembleRegressor", "x", "y", ML, post_transform="PROBIT", **leaves, **one_target), {"x": f(5, 3)})
for how in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):  # ties, and near-ties within rounding
    for grid, tall, wide in (("half_pixel_symmetric", 1.6, 2.3), ("half_pixel_symmetric", 0.3, 1.1), ("asymmetric", 2 / 7, 8 / 7), ("tf_crop_and_resize", 11 / 8, 1.6)):
        roi = {"r": np.array([0, 0, 0.1, 0.1, 1, 1, 0.9, 0.9], np.float32)} if grid == "tf_crop_and_resize" else {}
long = np.array([[2**53 + 1, 2**53, 5], [2**60 + 3, 2**60 + 4, -2**60], [-2**60 - 1, 2**63 - 1, -2**63]])  # equal as doubles
for name in ("ReduceMax", "ReduceMin"):
    case("long_" + name, op(name, "x", "y", axes=[1], keepdims=0), {"x": long})
case("long_ArgMax", op("ArgMax", "x", "y", axis=1), {"x": long})


def stumps(ids, weights):
    """Two trees of two leaves for these classes."""
    at = [(t, n, k) for t in (0, 1) for n in (1, 2) for k in ids]
    nodes = dict(nodes_treeids=[0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2] * 2, nodes_featureids=[0, 0, 0, 1, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
                 nodes_values=[0.0, 0.0, 0.0, 0.25, 0.0, 0.0], nodes_truenodeids=[1, 0, 0] * 2, nodes_falsenodeids=[2, 0, 0] * 2)
    return dict(class_treeids=[a[0] for a in at], class_nodeids=[a[1] for a in at], class_ids=[a[2] for a in at], class_weights=weights[:len(at)], **nodes)


mixed, positive = [0.3, -0.4, 0.2, 0.7, -0.6, 0.1, 0.45, -0.2], [0.3, 0.1, 0.2, 0.35, 0.05, 0.1, 0.25, 0.4]
for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
    for name, weights in (("mixed", mixed), ("positive", positive))[:2 if post in ("NONE", "LOGISTIC") else 1]:
        for ids, labels, base in (([0], [3], None), ([0], [3, 5], None), ([1], [3, 5], None), ([0, 1], [3, 5], None), ([0, 1], [3, 5], [0.25]), ([1], [3, 5], [0.25]), ([0], [3, 5], [0.25, 0.5])):
            case(f"found_classes_{post}_{name}_{len(labels)}_{''.join(map(str, ids))}_{len(base or [])}",
                 op("TreeEnsembleClassifier", "x", "l p", ML, post_transform=post, classlabels_int64s=labels, base_values=base, **stumps(ids, weights)), {"x": f(6, 3)})
        case(f"found_classes_{post}_{name}_words", op("TreeEnsembleClassifier", "x", "l p", ML, post_transform=post, classlabels_strings=["no", "yes"], **stumps([0, 1], weights)), {"x": f(6, 3)})
for name, end in (("int32", np.array([2**31 - 1], np.int32)), ("long_int32", np.array([2**31 - 1])), ("int64", np.array([2**63 - 1])), ("less", np.array([2**63 - 2]))):
    case(f"found_slice_back_{name}", op("Slice", "x s e a t", "y"), {"x": f(5, 2)}, {"s": np.array([3], end.dtype), "e": end, "a": np.array([0], end.dtype), "t": np.array([-2], end.dtype)})
case("found_sign_nan", op("Sign", "x", "y"), {"x": np.array([np.nan, -2, 0, 3], np.float32)})
case("found_text_digits", op("Cast", "x", "y", to=T.STRING), {"x": np.array([10, -200, 1.1e5, 12345678, 1e8, 1e10, -0.25, 1e-7, 0.1, 3, -0.0, 16777216, 4000.5], np.float32)})
for norm in ("MAX", "L1", "L2"):
    for t in (np.int64, np.int32):
        case(f"found_whole_norm_{norm}_{t.__name__}", op("Normalizer", "x", "y", ML, norm=norm), {"x": ints(-3, 4, 3, 4, t=t)})
case("found_constant_texts", [op("Constant", "", "k", value_strings=["a", "b"]), op("Equal", "x k", "y")], {"x": np.array([["a", "x"], ["b", "b"]], object)}, opset=19)
case("found_constant_text", [op("Constant", "", "k", value_string="b"), op("Equal", "x k", "y")], {"x": np.array([["a", "x"], ["b", "b"]], object)}, opset=19)
twice = np.array([["a"], ["b"], ["c"]], object)  # which of two equal keys wins
case("found_twice_words", op("LabelEncoder", "x", "y", ML, keys_strings=["a", "b", "a"], values_int64s=[1, 2, 3]), {"x": twice})
case("found_twice_floats", op("LabelEncoder", "x", "y", ML, keys_floats=[1.0, 2.0, 1.0], values_floats=[1.5, 2.5, 3.5]), {"x": np.array([1, 2, 3], np.float32)})
case("found_twice_one_hot", op("OneHotEncoder", "x", "y", ML, cats_strings=["a", "b", "a"]), {"x": twice})


RUN = r"""
const ort = require(process.argv[1] + '/node_modules/onnxruntime-node');
const arrays = {float32: Float32Array, float64: Float64Array, int32: Int32Array, int8: Int8Array, uint8: Uint8Array,
  int16: Int16Array, uint16: Uint16Array, uint32: Uint32Array, bool: Uint8Array};
function feed(t) {
  if (t.type === 'string') return new ort.Tensor('string', t.data, t.dims);
  if (t.type === 'int64') return new ort.Tensor('int64', BigInt64Array.from(t.data.map(BigInt)), t.dims);
  if (t.type === 'uint64') return new ort.Tensor('uint64', BigUint64Array.from(t.data.map(BigInt)), t.dims);
  return new ort.Tensor(t.type, arrays[t.type].from(t.data), t.dims);
}
function plain(v) {
  return typeof v === 'bigint' ? String(v) : typeof v === 'number' && !isFinite(v) ? String(v)
    : typeof v === 'number' ? Number(v.toPrecision(8)) : v;
}
(async () => {
  for await (const line of require('readline').createInterface({input: process.stdin})) {
    const c = JSON.parse(line);
    try {
      const s = await ort.InferenceSession.create(Buffer.from(c.model, 'hex'),
        {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4, graphOptimizationLevel: c.level});
      const feeds = {};
      for (const k in c.inputs) feeds[k] = feed(c.inputs[k]);
      const out = await s.run(feeds);
      c.found = c.outputs.map(k => ({type: out[k].type, dims: Array.from(out[k].dims), data: Array.from(out[k].data).map(plain)}));
      console.log(JSON.stringify(c));
    } catch (e) {
      console.error(c.name + ': ' + String(e.message || e).slice(0, 300));
    }
  }
})();
"""


def message(t):
    """An output of ONNX Runtime as a tensor of the standard."""
    names = {"float64": "float64", "string": "object"}
    data = [float(v) if t["type"].startswith("float") else int(v) if t["type"] in ("int64", "uint64") else v for v in t["data"]]
    return numpy_helper.from_array(np.array(data, dtype=names.get(t["type"], t["type"])).reshape(t["dims"]))


if __name__ == "__main__":
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    lines = "".join(json.dumps(c) + "\n" for c in cases if only in c["name"])
    done = subprocess.run(["node", "-e", RUN, os.path.abspath(sys.argv[1])], input=lines, text=True, check=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        c = json.loads(line)
        found = [message(t).SerializeToString().hex() for t in c["found"]]
        print(c["name"], c["model"], ",".join(c["given"]) or "-", ",".join(found))
