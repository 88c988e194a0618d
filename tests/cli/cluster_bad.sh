# Results that cannot be clustered: one clear line, exit 1; wrong usage: exit 2.
record() { # ID STATUS SUBSETS REST
    echo "{\"sis\":2,\"id\":\"$1\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,\"direction\":\">=\",\"threshold\":0.8,\"score\":0.9,\"masked_score\":0.1,\"status\":\"$2\",\"n_features\":4,\"subsets\":[$3],\"rest_score\":0.2$4}"
}
one='{"features":[0,2],"score":0.85}'
try() {
    sis cluster "$@" 2>&1
    echo "exit $?"
}
: > empty.jsonl && try empty.jsonl
echo '{"sis":2' > torn.jsonl && try torn.jsonl
try none.jsonl
record 0 not_decided '' > below.jsonl && try below.jsonl
record 0 explained "$one" ',"kind":"text","words":["a","b","c","d"]' > text.jsonl
record 1 explained "$one" ',"kind":"dna","sequence":"ACGT"' > dna.jsonl
record 2 explained "$one" ',"kind":"image","shape":[2,2],"values":[0,1,0,1]' > image.jsonl
record 3 explained "$one" ',"kind":"table","values":[0,1,0,1]' > table.jsonl
record 4 explained "$one" > bare.jsonl
try text.jsonl dna.jsonl
cat text.jsonl image.jsonl > mixed.jsonl && try mixed.jsonl
try text.jsonl --distance energy
try text.jsonl --distance levenshtein
try text.jsonl --distance overlap
try dna.jsonl --distance jaccard
try table.jsonl --distance energy
try bare.jsonl
record 5 explained "$one" ',"kind":"image","shape":[4]' > flat.jsonl && try flat.jsonl
record 6 explained "$one" ',"kind":"image","shape":[3,5]' > odd.jsonl && try odd.jsonl
record 7 explained '{"features":[9],"score":1}' ',"kind":"text"' > range.jsonl && try range.jsonl
try text.jsonl
try text.jsonl --eps 1e999
try text.jsonl --eps -1
try text.jsonl --eps near
try text.jsonl --eps 0.5 --target 3
try text.jsonl --eps 0.5 --motifs text.jsonl
try text.jsonl --eps 0.5 --means m.npy
try dna.jsonl --eps 1 --min-size 1 --motifs text.jsonl
try text.jsonl text.jsonl --eps 0.5
try text.jsonl --eps 0.5 --output text.jsonl
try text.jsonl --eps 0.5 --output no/such/folder.json
try text.jsonl --distance far
try text.jsonl --min-size 0
try
