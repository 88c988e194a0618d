"""Small models for tests/cli/ort.sh, into the working directory: words.onnx, text.onnx, sure.onnx, beside.onnx, ids.onnx."""
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper


def save(path, nodes, inputs, outputs, constants=None, **how):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(*i) for i in inputs], [h.make_tensor_value_info(o, T.FLOAT, None) for o in outputs],
                         [numpy_helper.from_array(np.array(v), k) for k, v in (constants or {}).items()])
    opsets = [h.make_opsetid("", 15), h.make_opsetid("ai.onnx.ml", 2)]
    onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=8), path, **how)


def encode(words, values):
    return h.make_node("LabelEncoder", ["word"], ["code"], domain="ai.onnx.ml", keys_strings=words, values_floats=values, default_float=0.0)


f = np.float32
# A column of words and two of numbers: no, yes, perhaps are -30, 30, 10.
save("words.onnx", [encode(["no", "yes", "perhaps"], [-30.0, 30.0, 10.0]), h.make_node("Concat", ["number", "code"], ["x"], axis=1),
                    h.make_node("MatMul", ["x", "w"], ["z"]), h.make_node("Sigmoid", ["z"], ["y"])],
     [("number", T.FLOAT, [None, 2]), ("word", T.STRING, [None, 1])], ["y"], {"w": f([[1], [-1], [1]])})
# One text: it has to be "good film", or a part of it.
save("text.onnx", [encode(["good film", "good", " film"], [3.0, 1.0, -1.0]), h.make_node("Sigmoid", ["code"], ["y"])], [("word", T.STRING, [None, 1])], ["y"])
# So sure that single precision tells no two masked copies apart; behind its last activation, values are moved only.
sure = [h.make_node("Gemm", ["x", "w"], ["z"]), h.make_node("Softmax", ["z"], ["p"]), h.make_node("Identity", ["p"], ["q"]), h.make_node("Flatten", ["q"], ["y"])]
weights = f([[60, 0], [40, 0], [90, 0], [50, 0]])
save("sure.onnx", sure, [("x", T.FLOAT, [None, 4])], ["y"], {"w": weights})
# The same with its weights in another file, which is in the same folder.
save("folder/beside.onnx", sure, [("x", T.FLOAT, [None, 4])], ["y"], {"w": weights}, save_as_external_data=True, location="beside.bin", size_threshold=0)
# Token ids, their mask, and a mean of embeddings of those that are there.
rng = np.random.default_rng(1)
save("ids.onnx", [h.make_node("Gather", ["e", "input_ids"], ["x"]), h.make_node("Cast", ["attention_mask"], ["m"], to=T.FLOAT), h.make_node("Unsqueeze", ["m", "last"], ["ms"]),
                  h.make_node("Mul", ["x", "ms"], ["xm"]), h.make_node("ReduceSum", ["xm", "second"], ["s"], keepdims=0), h.make_node("ReduceSum", ["m", "second"], ["n0"]), h.make_node("Add", ["n0", "one"], ["n"]),
                  h.make_node("Div", ["s", "n"], ["mean"]), h.make_node("MatMul", ["mean", "w"], ["z"]), h.make_node("Softmax", ["z"], ["y"])],
     [("input_ids", T.INT64, [None, 6]), ("attention_mask", T.INT64, [None, 6])], ["y"],
     {"e": rng.normal(size=(9, 3)).astype(f), "w": 20 * rng.normal(size=(3, 2)).astype(f), "last": np.array([-1]), "second": np.array([1]), "one": f([1])})
np.save("ids.npy", np.array([[5, 3, 8, 1, 0, 0], [2, 2, 7, 4, 6, 1]]))
