# kill -9 in the middle of a run, then --resume: the same records as a run that nobody killed.
{ echo a,b,c,d; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "$i,2,0.5,$((i % 3))"; done; } > in.csv
set -- -q -m "cmd:$SIS_MODELS/sum.sh 0.02" -i in.csv --mask zero -t 3 --jobs 2
ask() { sis explain -q -m "cmd:$SIS_MODELS/sum.sh 0.02" -i in.csv --mask zero -t 3 --jobs 2 "$@"; }
plain() { sed 's/"seconds":[0-9.e-]*/"seconds":0/' "$1"; }

ask -o whole.jsonl
sis explain "$@" -o part.jsonl & # not through ask: the shell would be killed in its place
pid=$!
tries=0
while [ "$(wc -l < part.jsonl 2>/dev/null || echo 0)" -lt 3 ] && [ $tries -lt 500 ]; do
    sleep 0.02
    tries=$((tries + 1))
done
kill -9 $pid
wait $pid 2>/dev/null
lines=$(wc -l < part.jsonl)
[ "$lines" -ge 3 ] && [ "$lines" -lt 12 ] && echo "killed in the middle"
printf '{"sis":2,"id":"9' >> part.jsonl # and the line it was writing
ask -o part.jsonl --resume
plain whole.jsonl > whole
plain part.jsonl > part
cmp whole part && echo "the same records"
echo "again: nothing is left to do"
ask -o part.jsonl --resume
plain part.jsonl | cmp whole - && echo "the same records"
echo "another question is refused"
ask -o part.jsonl --resume -t 4 2>&1 | sed 's/cmd:[^ ]*sum/cmd:sum/'
ask -o part.jsonl --resume --rows 0:2 2>&1
ask -o part.jsonl --resume --mask value:1 2>&1 | sed "s/ of part.*(/ (/;s/cmd:[^ ]*sum/cmd:sum/"
ask -o part.jsonl --resume --max-subsets 1 2>&1
ask -o part.jsonl --resume --trace 2>&1
ask -o one.jsonl --max-subsets 1 --trace
ask -o one.jsonl --resume --max-subsets 1 --trace && echo "the same extent"
ask -o one.jsonl --resume --trace 2>&1
ask -o one.jsonl --resume --max-subsets 1 2>&1
ask -o part.jsonl --resume --early-stop 2>&1
ask -o early.jsonl --early-stop -r 0 && ask -o early.jsonl --early-stop --resume -r 0:2 && grep -c . early.jsonl
ask -o early.jsonl --resume -r 0:2 2>&1
sed 1p whole.jsonl > twice.jsonl
ask -o twice.jsonl --resume 2>&1
# As many features, but others.
printf '\223NUMPY\001\000\166\000%-117s\n\001\002\003\004\005\006\007\010' "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 2), }" > square.npy
square() { sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i square.npy --mask zero -t 2 -o square.jsonl "$@"; }
square --features axis:0 -r 0
square --features axis:1 --resume 2>&1 | sed 's/(.*)/(...)/'
square --features axis:0 --resume && grep -o '"feature_map":[^]]*]' square.jsonl
printf 'not ours\n' > other.txt
ask -o other.txt --resume 2>&1
cat other.txt
echo "seeds, samples and steps are not in the records, but they show"
lime() { ask --method lime --samples 40 -t 3 "$@" 2>&1; }
lime --seed 1 -r 0:3 -o lime.jsonl && lime --seed 1 --resume -o lime.jsonl && grep -c . lime.jsonl
lime --seed 2 --resume -o lime.jsonl
lime --seed 1 --samples 41 --resume -o lime.jsonl
deck() { ask --mask hotdeck:in.csv --samples 3 "$@" 2>&1; }
deck -t 11 -r 9:12 -o deck.jsonl && deck -t 11 --resume -o deck.jsonl && grep -c . deck.jsonl
echo "over more rows, the file says so, as if they had been asked for at once"
sis verify deck.jsonl --trust 2>&1 >audit.jsonl | tail -2
deck -t 11 -o atonce.jsonl
for f in deck atonce; do sed 's/"seconds":[^,}]*//g' $f.jsonl > $f.same; done; cmp deck.same atonce.same && echo same
deck -t 11 --seed 2 --resume -o deck.jsonl || echo refused
