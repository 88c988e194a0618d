# Texts as input: token ids by the model's own vocabulary, words as they were written in the results.
words='["<padding>","<unknown>"'
for w in the head is thin and white a good beer with taste of malt hops it was bad but not great i like this one very much too sweet dry "isn't" pour smell dark light; do words="$words,\"$w\""; done
n=$(echo "$words" | tr ',' '\n' | wc -l)
for i in $(seq "$n" 49); do words="$words,\"w$i\""; done
words="$words]"
make_model tiny-text text.onnx 3 "sis.vocabulary=$words" sis.kind=text sis.tokenizer=words
make_model tiny-text bare.onnx 3
make_model tiny-text other.onnx 3 "sis.vocabulary=$words" sis.tokenizer=bpe
make_model tiny-dna dna.onnx 3
field() { sed -n 's/.*\("'$1'":\(\[[^]]*\]\|"[^"]*"\)\).*/\1/p'; }
cat > a.txt <<'END'
The head is THIN, and white; a Good beer -- isn't it?
Zebra! This beer was bad but not too sweet, with a taste of malt and hops. I like this one very very much indeed.
END
echo "as lines"
sis explain -q -m text.onnx -i a.txt -t 0 -o a.jsonl && field words < a.jsonl
field values < a.jsonl
field kind < a.jsonl
sis verify -q -m text.onnx -i a.txt a.jsonl | grep -c '"holds":true'
echo "as ids"
sis predict -m text.onnx -i a.txt > scores
{ seq -s, 0 19; sed 's/.*"values":\[\([^]]*\)\].*/\1/' a.jsonl; } | sed 1s/^/v/ > ids.csv
sis predict -m text.onnx -i ids.csv | cmp - scores && echo "same scores"
echo "with labels and what people marked"
cat > b.jsonl <<'END'
{"id":"r1","text":"Good beer, good head","label":"pos","human":[0,2]}
{"id":"r2","text":"one two three this beer was bad but not too sweet with a taste of malt and hops i like this one very","label":"neg","human":[0,1,3,22]}
END
sis explain -q -m text.onnx -i b.jsonl -t 0 > b.out
field id < b.out; field label < b.out; field human < b.out; field words < b.out
printf '{"words":["The","Head","isn'"'"'t","x-y"],"stars":4.5}\n' > c.jsonl
sis explain -q -m text.onnx -i c.jsonl --label stars -t 0 > c.out
field words < c.out; field values < c.out; field label < c.out
printf '4.5 3\tgood beer\n1 2\tbad beer\n' > d.tsv
sis explain -q -m text.onnx -i d.tsv --label 1 -t 0 | field label
echo "masks"
features() { grep -o '"features":\[[^]]*\]'; }
for mask in pad remove token:bad zero hotdeck:a.txt; do
    sis explain -q -m text.onnx -i a.txt --mask $mask -t p50 | features > walk
    sis explain -q -m text.onnx -i a.txt --mask $mask -t p50 --exact | features > exact
    cmp walk exact && echo "$mask: $(wc -l < walk) subsets, walks and full passes agree"
done
echo "masks in the page"
for mask in own pad remove token:bad zero embedding-mean value:2 hotdeck:a.txt; do
    [ $mask = own ] && set -- || set -- --mask $mask
    sis explain -q -m text.onnx -i a.txt "$@" -t p50 | sis report - -q -o - | grep -o 'A masked feature becomes<.*'
done
echo "what can be wrong"
sis explain -q -m bare.onnx -i a.txt -t 0 2>&1
sis explain -q -m other.onnx -i a.txt -t 0 2>&1
sis explain -q -m dna.onnx -i a.txt -t 0 2>&1
sis explain -q -m cmd:cat -i a.txt -t 0 2>&1
printf '...\n' > empty.txt
sis explain -q -m text.onnx -i empty.txt -t 0 | grep -o '"status.*"n_features":[0-9]*'
printf '...\nGood beer\n' > some.txt
sis evaluate --imputation -m text.onnx -i some.txt --draws 10 | grep -c hot-deck
printf 'good\nba\377d\n' > broken.txt
sis explain -q -m text.onnx -i broken.txt -t 0 2>&1
sis explain -q -m text.onnx -i c.jsonl --label none -t 0 2>&1
true
