# What must not happen by accident: files overwritten, false claims passed, escape sequences shown,
# children left behind.
model="cmd:$SIS_MODELS/sum.sh"
printf 'a,b,c\n1,2,3\n' > in.csv
cp in.csv copy.csv
echo "an output that is read"
sis explain -q -m "$model" -i in.csv --mask zero -t 1 -o in.csv 2>&1
sis explain -q -m "$model" -i in.csv --mask mean:copy.csv -t 1 -o copy.csv 2>&1
sis predict -q -m "$model" -i in.csv -o in.csv 2>&1
sis explain -q -m "$model" -i in.csv --mask zero -t 1 -o out.jsonl
sis verify -q -m "$model" -i in.csv --mask zero out.jsonl -o out.jsonl 2>&1
cmp in.csv copy.csv && wc -l < out.jsonl
echo "records without their mask"
sed 's/,"provenance":.*}/}/' out.jsonl > old.jsonl
sis verify -q -m "$model" -i in.csv old.jsonl 2>&1
echo "records that were tampered with"
check() { sis verify -q -m "$model" -i in.csv --mask "${1-zero}" false.jsonl 2>&1 | sed 's/"score".*//'; }
sed 's/"score":6/"score":9/' out.jsonl > false.jsonl && check
sed 's/"n_features":3/"n_features":4/' out.jsonl > false.jsonl && check
sed 's/"values":\[1,2,3\]/"values":[1,2,4]/' out.jsonl > false.jsonl && check
cp out.jsonl false.jsonl && check value:1
: > false.jsonl && check
echo "escape sequences"
sis explain -q -m 'cmd:read l; printf "{\"error\":\"\\\\u001b]0;x\\\\u0007\\\\u009b31m\\\\u202eend\"}\n"; read l' -i in.csv --mask zero -t 1 2>&1 | sed 's/.*reports: //'
printf 'a\033[31m,b\302\2332J\n1,2\n' > escape.csv
sis explain -q -m "$model" -i escape.csv --mask zero -t 1 | sis show - | grep masked
echo "pipes are read once, and whole"
cat out.jsonl | sis verify -q - 2>&1
mkfifo pipe.jsonl pipe.csv
cat out.jsonl > pipe.jsonl &
timeout 20 sis verify -q -m "$model" -i in.csv --mask zero pipe.jsonl | sed 's/"score".*//'
cat out.jsonl > pipe.jsonl &
timeout 20 sis summary -q pipe.jsonl
cat in.csv > pipe.csv &
timeout 20 sis explain -q -m "$model" -i pipe.csv --mask zero -t 1 | wc -l
echo "a full disk"
sis explain -q -m "$model" -i in.csv --mask zero -t 1 -o /dev/full 2>&1
echo "Ctrl-C ends the children too"
cat > hang.sh <<'END'
echo $$ > pid
exec sleep 60
END
sis explain -q -m 'cmd:exec sh hang.sh' -i in.csv --mask zero -t 1 &
sis=$!
tries=0
while [ ! -s pid ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -TERM $sis
wait $sis
echo "exit $?"
tries=0
while kill -0 "$(cat pid)" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
kill -0 "$(cat pid)" 2>/dev/null && echo "still there" || echo "gone"
