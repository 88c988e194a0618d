# Models that take inputs in their own way: axes the other way round, another vocabulary, another mask.
motif='>M1.1 Toy
9 0 0 0 1
0 9 0 1 1
0 0 9 0 1
0 0 0 8 1'
echo "$motif" > toy.pfm
sis data dna -q --motifs toy.pfm --motif Toy --dir d --count 30 --length 20 --held-out 0 --seed 3 > /dev/null
make_model tiny-dna first.onnx 3 sis.kind=dna
make_model tiny-dna-last last.onnx 3 sis.kind=dna
for m in first last; do
    sis explain -q -m $m.onnx -i d/dna/train.fa -t p20 --below -o $m.jsonl
done
echo "(4, 20) and (20, 4): the same model"
sis compare first.jsonl last.jsonl --model-a first.onnx --model-b last.onnx --eps 2 --min-size 3 --differ 1
vocabulary='["<padding>","<unknown>"'
for k in $(seq 2 49); do vocabulary="$vocabulary,\"w$k\""; done
turned='["<padding>","<unknown>"'
for k in $(seq 49 -1 2); do turned="$turned,\"w$k\""; done
make_model tiny-text text.onnx 3 "sis.vocabulary=$vocabulary]" sis.kind=text
make_model tiny-text turned.onnx 3 "sis.vocabulary=$turned]" sis.kind=text
awk 'BEGIN { srand(9); for (i = 0; i < 20; i++) { for (v = 0; v < 14; v++) printf "%sw%d", v ? " " : "", 2 + int(rand() * 48); print "" } }' > texts.txt
# the same texts in the words of the other vocabulary: what is w2 to one model is w49 to the other
awk '{ for (v = 1; v <= NF; v++) printf "%sw%d", (v > 1) ? " " : "", 51 - substr($v, 2); print "" }' texts.txt > others.txt
sis explain -q -m text.onnx -i texts.txt -t p60 -o text.jsonl
sis explain -q -m turned.onnx -i others.txt -t p60 -o turned.jsonl
sis explain -q -m turned.onnx -i texts.txt -t p60 -o read.jsonl
echo "ids alike, words not"
grep -o '"features":[^]]*' text.jsonl > a && grep -o '"features":[^]]*' turned.jsonl | cmp - a && echo "same subsets"
echo "words as each model reads them"
sis compare text.jsonl read.jsonl --model-a text.onnx --model-b turned.onnx --eps 0.5 --differ 0 -o - > c.json
sis compare text.jsonl read.jsonl --model-a text.onnx --model-b text.onnx --eps 0.5 --differ 0 -o - > same.json
scores() { grep -o '"a_by_b":.*"own' $1; }
scores c.json > x; scores same.json | cmp -s - x || echo "another vocabulary, other scores"
grep -o '"a_by_b":{"n":[0-9]*,"sufficient":[0-9.]*' same.json
echo "programs that read texts by themselves"
printf 'You are an idiot, and I hate you.\nWhat a stupid idiot.\nHello there.\n' > comments.txt
sed 's/"idiot"/"fool"/' "$SIS_EXAMPLES/moderate.sh" > other.sh && chmod +x other.sh
sis explain -q -m "cmd:$SIS_EXAMPLES/moderate.sh" -i comments.txt -t 0.8 -o rude.jsonl
sis explain -q -m cmd:./other.sh -i comments.txt -t 0.5 -o other.jsonl
sis compare rude.jsonl other.jsonl --model-a "cmd:$SIS_EXAMPLES/moderate.sh" --model-b cmd:./other.sh --eps 0.5 --differ 0 |
    grep ' by '
