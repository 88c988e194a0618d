# With --trust results say how they were made: nothing else is needed to check them.
cp "$SIS_EXAMPLES/credit.csv" . && cp "$SIS_EXAMPLES/../models/credit.onnx" .
sis explain -q -m credit.onnx -i credit.csv --mask hotdeck:credit.csv --samples 5 --seed 3 -t 0.6 --rows 9,0:4 -o deck.jsonl
sis verify deck.jsonl --trust 2>&1 > audit.jsonl
wc -l < audit.jsonl
echo "what is given takes the place of what they say"
sis verify deck.jsonl --trust --seed 4 2>&1 > audit.jsonl
sis verify deck.jsonl --trust --rows 0:4 2>&1 > audit.jsonl
sis verify deck.jsonl --trust -m nothing.onnx 2>&1
echo "parts and merged parts"
for i in 0 1; do sis explain -q -m credit.onnx -i credit.csv --mask zero -t 0.6 --shard $i/2 -o part$i.jsonl; done
sis verify part1.jsonl --trust 2>&1 > audit.jsonl
sis merge -q part0.jsonl part1.jsonl -o all.jsonl && sis verify all.jsonl --trust 2>&1 > audit.jsonl
echo "older results do not say it"
sed 's/,"provenance":.*}/}/' all.jsonl > old.jsonl
sis verify old.jsonl --trust 2>&1
sis verify old.jsonl -m credit.onnx -i credit.csv --mask zero 2>&1 > audit.jsonl
echo "model and input given, mask and seed as the results have them"
sis verify deck.jsonl -m credit.onnx -i credit.csv 2>&1 > audit.jsonl
sis verify old.jsonl -m credit.onnx -i credit.csv 2>&1
true
