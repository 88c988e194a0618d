# Names and sizes made to hurt: nothing steers the terminal, nothing takes for ever.
export COLUMNS=100
head='"model":"m","method":"sis","target":0,"direction":">=","threshold":0.5,"score":0.9,"masked_score":0.1,"status":"explained","rest_score":0.3,"verified":true,"complete":true'
try() { # sis show, cut to what a test can hold
    timeout 30 sis show "$@" > out.txt 2>&1
    echo "exit $?"
    LC_ALL=C tr '\033' E < out.txt | cut -c 1-100 | sed -n '1,4p'
}
repeat() { # N FORMAT: for 0 to N - 1, separated by commas
    awk -v n="$1" -v f="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s" f, i ? "," : "", i }'
}
echo "== names of files"
evil=$(printf 'a\033[31mb.jsonl')
echo "{\"sis\":2,\"id\":\"x\",$head,\"n_features\":1,\"subsets\":[{\"features\":[0],\"score\":0.8}]}" > "$evil"
try "$evil" "$evil"
echo "== a long word"
long=$(head -c 300000 /dev/zero | tr '\0' w)
echo "{\"sis\":2,\"id\":\"x\",$head,\"n_features\":2,\"subsets\":[{\"features\":[0],\"score\":0.8}],\"kind\":\"text\",\"words\":[\"$long\",\"b\"]}" > word.jsonl
try word.jsonl
echo "== a long id beside another file"
echo "{\"sis\":2,\"id\":\"$(printf '%0100000d' 0 | sed 's/0/a /g')\",$head,\"n_features\":1,\"subsets\":[{\"features\":[0],\"score\":0.8}]}" > id.jsonl
try id.jsonl id.jsonl
wc -l < out.txt
echo "== what to do is said however long a name is"
timeout 30 sis cluster -q id.jsonl 2>&1 | grep -o ': the distance.*'
printf 'a,b\n1,2\n' > in.csv
timeout 30 sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i in.csv --mask zero -t 1 -o id.jsonl --resume 2>&1 | grep -o 'which is.*'
echo "== many features that a person marked"
n=50000
all=$(repeat $n %d)
echo "{\"sis\":2,\"id\":\"x\",$head,\"n_features\":$n,\"subsets\":[{\"features\":[0],\"score\":0.8}],\"kind\":\"text\",\"words\":[$(repeat $n '\"w%d\"')],\"human\":[$all]}" > human.jsonl
try human.jsonl --whole
echo "== many features of several values"
echo "{\"sis\":2,\"id\":\"x\",$head,\"n_features\":$n,\"subsets\":[{\"features\":[$all],\"score\":0.8}],\"kind\":\"table\",\"values\":[$all,$all],\"feature_map\":[$all,$all]}" > map.jsonl
try map.jsonl
wc -l < out.txt
timeout 30 sis cluster -q --eps 0.5 --min-size 1 map.jsonl > out.txt && head -1 out.txt
echo "== an image of many subsets"
n=10000
echo "{\"sis\":2,\"id\":\"x\",$head,\"n_features\":$n,\"subsets\":[$(repeat $n '{\"features\":[%d],\"score\":0.8}')],\"kind\":\"image\",\"shape\":[100,100],\"values\":[$(repeat $n %d)]}" > image.jsonl
timeout 30 sis report -q image.jsonl -o - > out.txt
echo "exit $?, $(grep -c 'class="subset"' out.txt) pictures"
grep -o 'And [0-9]* more subsets' out.txt
