# sis model on files that cannot be timed: NaN for made-up numbers, rows of any length, inputs of which more must be said.
/usr/bin/python3 -c 'import onnx' 2>/dev/null || { echo "needs python3-onnx" && exit 77; }
/usr/bin/python3 - <<'END'
import onnx
from onnx import TensorProto as T, helper as h
def save(path, nodes, dims):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, dims)],
                         [h.make_tensor_value_info("y", T.FLOAT, [None, 1])])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=7), path)
save("nan.onnx", [h.make_node("Neg", ["x"], ["n"]), h.make_node("Sqrt", ["n"], ["r"]),
                  h.make_node("ReduceMean", ["r"], ["y"], axes=[1], keepdims=1)], [None, 3])
save("free.onnx", [h.make_node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=1)], [None, None])
save("image.onnx", [h.make_node("ReduceMean", ["x"], ["m"], axes=[1, 3], keepdims=0), h.make_node("ReduceMax", ["m"], ["y"], axes=[1], keepdims=1)],
     [None, 1, None, None])
state = h.make_tensor_value_info("state", T.FLOAT, [2, None])
graph = h.make_graph([h.make_node("ReduceMean", ["x"], ["m"], axes=[1], keepdims=1), h.make_node("ReduceSum", ["state"], ["s"], keepdims=0),
                      h.make_node("Add", ["m", "s"], ["y"])],
                     "g", [h.make_tensor_value_info("x", T.FLOAT, [None, None]), state], [h.make_tensor_value_info("y", T.FLOAT, [None, 1])])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=7), "state.onnx")
END
echo "NaN"
sis model nan.onnx 2>&1 | tail -1
echo "any length"
sis model free.onnx 2>&1 | tail -3
echo "several inputs of any length"
sis model state.onnx
printf 'a,b\n1,2\n' > x.csv
sis predict -m state.onnx -i x.csv --explain x --with state=2 2>&1
echo "two sizes free"
/usr/bin/python3 - <<'END'
import numpy as np
values = np.arange(16, dtype=np.float32)
np.save("square.npy", values.reshape(1, 1, 4, 4))
np.save("wide.npy", values.reshape(1, 1, 2, 8))
np.save("planes.npy", values.reshape(1, 2, 2, 4))
np.save("list.npy", values.reshape(1, 16)[:, :15])
END
for data in square wide planes list; do
    sis predict -m image.onnx -i $data.npy 2>&1
    echo "status $?"
done
sis explain -q -m image.onnx -i wide.npy --mask zero --threshold 11 -o wide.jsonl && sis verify -q wide.jsonl -m image.onnx -i wide.npy | grep -o '"holds":true'
grep -o '"shape":[^"]*' wide.jsonl
echo "evaluated, wide and high in one folder"
/usr/bin/python3 "$SIS_EXAMPLES/../tests/model/pictures.py"
sis explain -q -m lines.onnx -i pictures --mask zero -t 0.5 -o r.jsonl
sis evaluate r.jsonl -q -m lines.onnx -i pictures --mask zero --jobs 2 --csv r.csv | sed -n 1,6p
cut -d , -f 2 r.csv | sort | uniq -c | tr -s ' '
sis evaluate r.jsonl -q -m lines.onnx -i pictures --mask zero --second-mask value:0.5 --robust 2>&1
sis evaluate -q -m lines.onnx -i pictures --mask zero --imputation 2>&1
sis explain -q -m lines.onnx -i pictures --mask zero -t 0.5 --rows 0,2 | sis evaluate - -q -m lines.onnx -i pictures --mask zero --metrics --rows 0,2 2>&1
cp lines.onnx same.onnx
sis explain -q -m same.onnx -i pictures --mask zero -t 0.5 -o same.jsonl
sis compare -q r.jsonl same.jsonl --model-a lines.onnx --model-b same.onnx | sed -n '/^Scores/,/^$/p'
echo "exported for four rows"
/usr/bin/python3 - <<'END'
import numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper
def save(path, nodes, out):
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, [4, 1, 2, 3])], [h.make_tensor_value_info("y", T.FLOAT, out)],
                         [numpy_helper.from_array(np.array([4, 6]), "s")])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=7), path)
save("four.onnx", [h.make_node("Reshape", ["x", "s"], ["f"]), h.make_node("ReduceMean", ["f"], ["y"], axes=[1], keepdims=1)], [4, 1])
save("mean.onnx", [h.make_node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=0)], [1, 2, 3])
np.save("rows.npy", np.arange(12, dtype=np.float32).reshape(2, 1, 2, 3))
np.save("batch.npy", np.arange(24, dtype=np.float32).reshape(1, 4, 1, 2, 3))
END
for model in four mean; do
    for data in rows batch; do
        sis predict -m $model.onnx -i $data.npy 2>&1
    done
done
sis explain -q -m four.onnx -i rows.npy --mask zero --threshold 2 -o four.jsonl && sis verify -q four.jsonl -m four.onnx -i rows.npy | grep -o '"holds":true'
