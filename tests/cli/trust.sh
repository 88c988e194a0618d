# A results file is data: reading it runs nothing and opens nothing that only the file names.
cp "$SIS_EXAMPLES/credit.csv" . && cp "$SIS_EXAMPLES/../models/credit.onnx" . && cp "$SIS_EXAMPLES/credit-trees.json" .
head -9 credit.csv > train.csv
sis explain -q -m credit.onnx -i credit.csv --mask zero -t 0.6 -r 0:3 -o good.jsonl
# hostile WORD... : good.jsonl with this command
hostile() {
    words=
    for word; do words="$words,\"$word\""; done
    sed "1s#\"command\":\[[^]]*\]#\"command\":[\"sis\",\"explain\"$words]#" good.jsonl > bad.jsonl
}
opened() { ls run.txt sent.txt 2>/dev/null; rm -f run.txt sent.txt; }
echo "what it names is not run"
hostile '--model=cmd:touch run.txt' --input=credit.csv
sis verify bad.jsonl 2>&1 | tail -2; opened
for command in show report export summary cluster evaluate merge; do
    case $command in export) set -- --to csv ;; *) set -- ;; esac
    sis $command bad.jsonl "$@" > out.txt 2>&1; opened
done
sis compare bad.jsonl good.jsonl --model-a credit.onnx --model-b credit.onnx > out.txt 2>&1; opened
sis explain -q -m credit.onnx -i credit.csv --mask zero -t 0.6 -o bad.jsonl --resume > out.txt 2>&1; opened
hostile '--model=cmd:touch run.txt' --input=credit.csv
echo "with --trust it is, and is shown as a whole"
sis verify bad.jsonl --trust --timeout 5 2>&1 | head -2; opened
echo "given by the caller, the rest of the file counts, but for files"
hostile '--model=cmd:touch run.txt' --input=nothing --rows=0:3 --mask=zero --output=sent.txt --token=train.csv --force --trust
sis verify bad.jsonl -m credit.onnx -i credit.csv 2>&1 > audit.jsonl; opened
hostile --mask=mean:credit.csv; sis verify bad.jsonl -m credit.onnx -i ./credit.csv 2>&1 > audit.jsonl
for word in --mask=mean:train.csv --mask=hotdeck:train.csv --mask=m.npy --mask=new:train.csv --features=f.npy --types=t.txt \
    --tokenizer=v.txt --with=a=b.npy; do
    hostile "$word"; sis verify bad.jsonl -m credit.onnx -i credit.csv 2>&1 > audit.jsonl
done
hostile --mask=mean:train.csv
sis verify bad.jsonl -m credit.onnx -i credit.csv --mask zero 2>&1 > audit.jsonl
echo "a domain is one of its files too"
sis explain -q -m credit-trees.json -i credit.csv -t 0.6 -r 0:3 --guarantee all --domain data:train.csv -o all.jsonl
sis verify all.jsonl -m credit-trees.json -i credit.csv 2>&1 > audit.jsonl
sis verify all.jsonl -m credit-trees.json -i credit.csv --domain data:train.csv 2>&1 > audit.jsonl
sis verify all.jsonl -m credit-trees.json -i credit.csv --trust 2>&1 > audit.jsonl | tail -1
true
