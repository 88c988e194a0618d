# Two models on the same cases: decisions, cross-scores, joint clusters, differences.
score() { # WEIGHTS...: a model that is a clipped sum
    cat > "$1.sh" <<EOF
while read -r line; do
    echo "\$line" | awk '{ gsub(/[^-0-9.,\]]/, ""); n = split(\$0, rows, "]"); out = ""
        for (i = 1; i < n; i++) { sub(/^,/, "", rows[i]); if (split(rows[i], x, ",") < 3) continue
            s = $2 * x[1] + $3 * x[2] + $4 * x[3]; out = out (out == "" ? "" : ",") s }
        print "{\"outputs\":[" out "]}" }'
done
EOF
}
score a 1 1 0
score b 0 1 1
printf 'x,y,z\n1,0,0\n0,1,0\n1,1,1\n1,0,1\n0,0,0\n' > cases.csv
for m in a b; do
    sis explain -q -m "cmd:sh $m.sh" -i cases.csv --mask zero -t 1 -o $m.jsonl
done
sis compare a.jsonl b.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh' --eps 0 --min-size 1 -o c.json
echo "exit $?"
cat c.json
echo == the same model twice
cp a.jsonl again.jsonl
sis compare a.jsonl again.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh a.sh' --eps 0 --min-size 2
echo == what cannot be compared
try() {
    sis compare "$@" --eps 0 --min-size 1 2>&1
    echo "exit $?"
}
: > empty.jsonl
try a.jsonl empty.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
try a.jsonl a.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
try a.jsonl none.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
try a.jsonl b.jsonl --model-a 'cmd:sh a.sh' --model-b none.onnx
try a.jsonl b.jsonl --model-a 'cmd:sh a.sh'
try a.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
try a.jsonl b.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh' -o a.jsonl
sed 's/"threshold":1,/"threshold":2,/' b.jsonl | head -1 | cat b.jsonl - > two.jsonl
try a.jsonl two.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
head -1 b.jsonl | cat b.jsonl - > twice.jsonl
try a.jsonl twice.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
sed 's/">="/"<="/' b.jsonl > below.jsonl
try a.jsonl below.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
sed 's/"kind":"table"/"kind":"text"/' b.jsonl > kinds.jsonl
try a.jsonl kinds.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
sed 's/,"values":\[[^]]*\],"mask":\[[^]]*\]//' b.jsonl > bare.jsonl
try a.jsonl bare.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
for x in a b; do
    sis explain -m "cmd:sh $x.sh" -i cases.csv --mask zero -t 1e9 -o $x.none.jsonl --quiet
done
try a.none.jsonl b.none.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh'
echo == too few subsets for auto: the rest of the report is there all the same
sis compare a.jsonl b.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh' --differ 0 2>&1
echo "exit $?"
sis compare a.jsonl b.jsonl --model-a 'cmd:sh a.sh' --model-b 'cmd:sh b.sh' --curve k.tsv 2>&1
echo "exit $?"
echo == models exchanged
sis compare a.jsonl b.jsonl --model-a 'cmd:sh b.sh' --model-b 'cmd:sh a.sh' --eps 0 --min-size 9 --differ 0 2>&1
echo == an audit with the wrong model
sis verify a.jsonl -m 'cmd:sh b.sh' -i cases.csv --mask zero --force -o audit.jsonl 2>&1
echo "exit $?"
