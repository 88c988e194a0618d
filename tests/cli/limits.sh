# Runs that are cut short, models that fail: what was found is kept, and going on leads to the same file.
cp "$SIS_EXAMPLES/credit.csv" .
ask() { sis explain -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv --mask mean:credit.csv -t 0.8 "$@" 2>&1; }
plain() { sed 's/"seconds":[0-9.e-]*/"seconds":0/' "$@"; }
same() { plain "$1" > one && plain "$2" > two && cmp one two && echo "the same as undisturbed"; }
statuses() { grep -o '"status":"[a-z_]*"' "$1" | sort | uniq -c | sed 's/^ *//'; }
ask -q -o whole.jsonl
echo "so many evaluations, then no more"
ask -o cut.jsonl --max-evaluations 40
statuses cut.jsonl
sis show cut.jsonl | grep -A 5 'example 2 '
grep '"id":"2"' cut.jsonl | grep -o '"bound":{[^}]*}'
sis verify cut.jsonl -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv --mask mean:credit.csv 2>&1 > audit.jsonl
sed '3s/"bound":{"features":\[/"bound":{"features":[5];"x":[/; s/;/,/' cut.jsonl > false.jsonl
sis verify false.jsonl -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv --mask mean:credit.csv 2>/dev/null | grep -o '"holds":false,"reason":"[a-z ]*'
sis report -q cut.jsonl -o cut.html && grep -c 'Cut short' cut.html
cp cut.jsonl again.jsonl
ask -o cut.jsonl --resume && same whole.jsonl cut.jsonl
echo "so much time"
ask -q -o late.jsonl --time-limit 0.000000001
statuses late.jsonl
ask -q -o late.jsonl --resume --time-limit 0.000000001 && statuses late.jsonl
ask -q -o late.jsonl --resume && same whole.jsonl late.jsonl
ask -q --method lime --time-limit 0.000000001 --rows 0 | grep -o '"status":"cut","n_features":8,"subsets":\[\]'
echo "so much for all"
ask -q -o total.jsonl --time-limit-total 0.000000001 || echo "exit $?"
wc -l < total.jsonl
ask -q -o total.jsonl --resume && same whole.jsonl total.jsonl
echo "killed after a record was cut and done again"
{ cat again.jsonl; grep '"id":"0"' whole.jsonl | sed 's/,"provenance":.*}/}/'; grep '"id":"2"' whole.jsonl | head -c 300; } > killed.jsonl
ask -q -o killed.jsonl --resume && same whole.jsonl killed.jsonl

echo "a model that dies at every seventh request and hangs once"
{ echo a,b,c,d; i=0; while [ $i -lt 20 ]; do echo "$((i % 7)),$((i % 5)),0.5,$((i % 3))"; i=$((i + 1)); done; } > in.csv
moody() { sis explain -q -m "cmd:$SIS_MODELS/moody.sh $word" -i in.csv --mask zero -t 5 "$@" 2>&1 | sed 's/model cmd:.*, request [0-9]*/model/'; }
sum() { sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i in.csv --mask zero -t 5 "$@"; }
answers() { sed 's/"model":"[^"]*"//; s/"seconds":[0-9.e-]*//; s/,"provenance":.*}/}/' "$1"; }
word=
moody --jobs 1 --timeout 20 -o none.jsonl
touch hang
moody --jobs 2 --retries 3 --timeout 2 -o moody.jsonl
sum -o sum.jsonl
answers sum.jsonl > one && answers moody.jsonl > two && cmp one two && echo "the same answers"
ls hang 2>&1
echo "a model that fails for some examples"
word='[[6,1'
moody --jobs 2 --retries 1 --timeout 20 --keep-going -o errors.jsonl
statuses errors.jsonl
echo "--resume is named when a run ends before its end"
moody --jobs 1 --retries 1 --timeout 20 -o stopped.jsonl
sis explain -q -m "cmd:$SIS_MODELS/sum.sh 0.05" -i in.csv --mask zero -t 5 -o signal.jsonl 2> err &
pid=$!
tries=0
while [ ! -s signal.jsonl ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -TERM $pid
wait $pid
cat err
