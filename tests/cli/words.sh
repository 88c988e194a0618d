# Pipelines with an input a column, words among them, on rows of a table as they are.
/usr/bin/python3 -c 'import onnx' 2>/dev/null || { echo "needs python3-onnx" && exit 77; }
/usr/bin/python3 - <<'END'
import onnx
from onnx import TensorProto as T, helper as h
def ml(op, inputs, outputs, **attributes):
    return h.make_node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)
def save(path, nodes, inputs, constants=()):
    probabilities = onnx.ValueInfoProto()
    probabilities.name = "prob"
    map_type = probabilities.type.sequence_type.elem_type.map_type
    map_type.key_type, map_type.value_type.tensor_type.elem_type = T.INT64, T.FLOAT
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, t, [None, k]) for n, t, k in inputs],
                         [h.make_tensor_value_info("label", T.INT64, [None]), probabilities], constants)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 15), h.make_opsetid("ai.onnx.ml", 2),
                                             h.make_opsetid("com.microsoft", 1)], ir_version=8), path)
def classify(n):
    weights = [.5, -.3, -1, 1, .1, .2, -.7][:n]
    return [ml("LinearClassifier", ["x"], ["label", "p"], coefficients=weights + [-w for w in weights], intercepts=[-.1, .1],
               classlabels_ints=[0, 1], post_transform="LOGISTIC"),
            ml("Normalizer", ["p"], ["pn"], norm="L1"), ml("ZipMap", ["pn"], ["prob"], classlabels_int64s=[0, 1])]
numbers = [h.make_node("Cast", ["age"], ["agef"], to=T.FLOAT), h.make_node("Concat", ["agef", "fare"], ["num"], axis=1),
           ml("Scaler", ["num"], ["nums"], offset=[30., 20.], scale=[.1, .05])]
save("pipe.onnx", numbers + [
    ml("OneHotEncoder", ["sex"], ["sexh"], cats_strings=["female", "male"], zeros=1),
    ml("OneHotEncoder", ["class"], ["classh"], cats_strings=["1", "2", "3"], zeros=1),
    h.make_node("Concat", ["sexh", "classh"], ["both"], axis=2), h.make_node("Reshape", ["both", "flat"], ["cat"]),
    h.make_node("Concat", ["nums", "cat"], ["x"], axis=1)] + classify(7),
    [("age", T.INT64, 1), ("sex", T.STRING, 1), ("fare", T.FLOAT, 1), ("class", T.STRING, 1)],
    [h.make_tensor("flat", T.INT64, [2], [-1, 5])])
save("block.onnx", [
    ml("LabelEncoder", ["words"], ["codes"], keys_strings=["female", "male", "1", "2", "3"], values_floats=[0., 1., 1., 2., 3.],
       default_float=-1.),
    h.make_node("Concat", ["numbers", "codes"], ["x"], axis=1)] + classify(4),
    [("numbers", T.FLOAT, 2), ("words", T.STRING, 2)])
save("review.onnx", [
    h.make_node("Reshape", ["review", "one"], ["flat"]),
    h.make_node("StringNormalizer", ["flat"], ["lower"], case_change_action="LOWER"),
    h.make_node("Tokenizer", ["lower"], ["tokens"], domain="com.microsoft", mark=0, mincharnum=1, pad_value="#", tokenexp="[a-z]+"),
    h.make_node("TfIdfVectorizer", ["tokens"], ["x"], mode="TF", max_gram_length=2, min_gram_length=1, max_skip_count=0,
                ngram_counts=[0, 4], ngram_indexes=[0, 1, 2, 3, 4], pool_strings=["good", "bad", "great", "awful", "not", "good"]),
    ml("LinearClassifier", ["x"], ["label", "p"], coefficients=[-1., 1, -2, 2, 3, 1, -1, 2, -2, -3], intercepts=[0., 0],
       classlabels_ints=[0, 1], post_transform="SOFTMAX"),
    ml("ZipMap", ["p"], ["prob"], classlabels_int64s=[0, 1])],
    [("review", T.STRING, 1)], [h.make_tensor("one", T.INT64, [1], [-1])])
END
cat > people.csv <<'END'
class,age,sex,fare,lived
3,22,male,7.25,no
1,38,female,71.3,yes
3,26,female,7.9,yes
3,35,male,8.05,no
END
echo "columns are found by name, and numbers are words where the model takes words"
sis predict -m pipe.onnx -i people.csv --label lived
echo "a masked word is the most frequent one"
sis explain -q -m pipe.onnx -i people.csv --label lived --mask mean:people.csv -t 0.5 > r.jsonl
sis show r.jsonl
sis verify -m pipe.onnx -i people.csv --label lived --mask mean:people.csv r.jsonl 2>&1 | tail -1
sis explain -q -m pipe.onnx -i people.csv --label lived --mask zero -t 0.5 2>&1
echo "a word that the model does not know, and none at all"
printf 'class,age,sex,fare\n9,22,other,7.25\n' > unknown.csv
sis predict -m pipe.onnx -i unknown.csv 2>&1
printf 'class,age,sex,fare\n3,22,,7.25\n3,22,male,7.25\n' > absent.csv
sis predict -m pipe.onnx -i absent.csv --missing nan 2>&1
echo "columns that are missing, too many or of the wrong kind"
cut -d, -f1,2,4 people.csv > few.csv
sis predict -m pipe.onnx -i few.csv 2>&1
sis predict -m pipe.onnx -i people.csv 2>&1
sed 's/7.25/cheap/' people.csv > cheap.csv
sis predict -m pipe.onnx -i cheap.csv --label lived 2>&1
sis explain -q -m pipe.onnx -i people.csv --label lived --mask mean:people.csv -t 0.5 --method ig --rows 3 2>&1
echo "inputs of several columns take them in their order"
printf 'age,fare,sex,class\n-0.8,-0.6,male,3\n0.8,2.5,female,1\n' > block.csv
sis predict -m block.onnx -i block.csv 2>&1
echo "class category" > types.txt
sis predict -m block.onnx -i block.csv --types types.txt 2>&1
true
echo == texts: words are left out of the string, as the pipeline gets it
printf 'Great plot, and a good cast!\nNot good at all. A bad, bad film\n' > reviews.txt
sis predict -m review.onnx -i reviews.txt
sis explain -q -m review.onnx -i reviews.txt -t 0.7 -o reviews.jsonl
sis show reviews.jsonl
sis verify reviews.jsonl --trust 2>/dev/null | grep -c '"holds":true'
sis explain -q -m review.onnx -i reviews.txt -t 0.7 --mask token:thing --rows 1:2 | grep -o '"subsets":[^]]*]'
sis explain -q -m review.onnx -i reviews.txt -t 0.7 --mask zero || echo "exit $?"
sis explain -q -m pipe.onnx -i reviews.txt -t 0.7 || echo "exit $?"
