# DNA made up, and DNA as input: bases as features, missing ones as N, channels where the model wants them.
field() { sed -n 's/.*\("'$1'":\(\[[^]]*\]\|"[^"]*"\)\).*/\1/p'; }
features() { grep -o '"features":\[[^]]*\]'; }
printf '>M1.1 Toy\n9 0 0 0 1\n0 9 0 1 1\n0 0 9 0 1\n0 0 0 8 1\n>M2.1 Other\n1 0\n0 0\n0 1\n0 0\n' > toy.pfm
echo "a planted motif"
sis data dna --motifs toy.pfm --motif Toy --dir d --count 10 --length 20 --held-out 0.2 --seed 3
cat d/dna/train.fa
cat d/dna/train.target
cat d/dna/train.planted.tsv d/dna/test.planted.tsv
ls d/dna
echo "the same again"
sis data dna -q --motifs toy.pfm --motif M1 --dir e --count 10 --length 20 --held-out 0.2 --seed 3 > /dev/null
diff -r d e && echo "same files"
sis data dna -q --motifs toy.pfm --motif Toy --force --dir e --count 10 --length 20 --seed 4 > /dev/null
cmp -s d/dna/train.fa e/dna/train.fa || echo "another seed, other sequences"
echo "every site is where it is said to be"
sis data dna -q --motifs toy.pfm --motif Toy --motif M2.1 --composition 0,0,1,1 --name two --dir d --count 400 --length 30 > /dev/null
awk 'NR == FNR { if (/^>/) id = substr($0, 2); else s[id] = $0; next }
    FNR > 1 { n++; strands[$5]++; motifs[$2]++; if (substr(s[$1], $3 + 1, $4 - $3) != $6) print "wrong", $0 }
    END { print n, "sites,", (strands["+"] > 55 && strands["-"] > 55 ? "both strands," : "one strand"), (motifs["M1.1"] > 55 && motifs["M2.1"] > 55 ? "both motifs" : "one motif") }' d/two/train.fa d/two/train.planted.tsv
echo "real peaks and their shuffles"
awk 'BEGIN { srand(5); print "FoldID\tEventID\tseq\tBound"; for (i = 0; i < 40; i++) { s = ""; for (p = 0; p < 20; p++) s = s substr("ACGT", 1 + int(rand() * 4), 1); print "A\tp" i "\t" s "\t" (i % 4 ? 1 : 0) } }' > peaks.seq
sis data dna --peaks peaks.seq --name peaks --dir d 2>&1
awk '/^>/ { next } { n++; for (p = 1; p < length($0); p++) c[n % 2, substr($0, p, 2)]++ } END { for (k in c) { split(k, a, SUBSEP); if (c[1, a[2]] != c[0, a[2]]) bad++ } print n, "sequences,", bad + 0, "pairs differ" }' d/peaks/train.fa
sis data dna -q --peaks peaks.seq --motifs toy.pfm --motif Toy --name both --count 6 --dir d > /dev/null && wc -l < d/both/train.planted.tsv
echo "explained"
make_model tiny-dna dna.onnx 3 sis.kind=dna
make_model tiny-dna-last last.onnx 3 sis.kind=dna
sis predict -m dna.onnx -i d/dna/train.fa > first
sis predict -m last.onnx -i d/dna/train.fa | cmp - first && echo "(4, 20) and (20, 4) score alike"
sis explain -q -m dna.onnx -i d/dna/train.fa -t p100 --below -o dna.jsonl
field id < dna.jsonl | head -2; field label < dna.jsonl | head -2; field sequence < dna.jsonl | head -2
field shape < dna.jsonl | head -1
field mask < dna.jsonl | head -1 | tr ',' '\n' | sort -u | grep -c 0.25
sis verify -q -m dna.onnx -i d/dna/train.fa dna.jsonl | grep -c '"holds":true'
sis explain -q -m last.onnx -i d/dna/train.fa -t p100 --below > last.jsonl
field shape < last.jsonl | head -1
features < dna.jsonl > a; features < last.jsonl | cmp - a && echo "same $(wc -l < a) subsets"
sis explain -q -m last.onnx -i d/dna/train.fa -t p100 --below --features axis:0 --mask uniform | features | cmp - a && echo "axes of the data"
sis explain -q -m dna.onnx -i d/dna/train.fa -t p100 --below --mask mean:d/dna/test.fa > mean.jsonl
sis explain -q -m last.onnx -i d/dna/train.fa -t p100 --below --mask mean:d/dna/test.fa | features > last
features < mean.jsonl | cmp - last && echo "means alike"
echo "sequences of several lengths"
printf '>a\nACGTTTGA\n>b\nTTGAC\n' > mixed.fa
sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i mixed.fa -t 100 | field sequence
sis predict -m "cmd:$SIS_MODELS/sum.sh" -i mixed.fa
printf '>a\nACGTTTGA\n>b\nTTGAC\n>c::chr1:100-106\nTTGACA\n' > mixed.fa
sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i mixed.fa -t 0 --length 6 > same.jsonl
field id < same.jsonl; field sequence < same.jsonl; grep -o '"full_length":[0-9]*' same.jsonl
sis explain -q -m dna.onnx -i mixed.fa -t p100 --below --length 20 -o long.jsonl
field sequence < long.jsonl; sis export long.jsonl --to bed 2>&1 | cut -f 1-4
sis verify -q -m dna.onnx -i mixed.fa long.jsonl --length 20 | grep -c '"holds":true'
sis data dna -q --peaks mixed.fa --length 7 --held-out 0 --count 6 --name cut --dir d > made; grep -A1 '>pos' d/cut/train.fa | grep -v '[>-]' | sort
sis train dna-cnn -q -i d/cut/train.fa --length 40 --epochs 1 -o forty.onnx && sis model forty.onnx | grep -m 1 '(4, 40)'
echo "what can be wrong"
sis data dna --dir d 2>&1
sis data dna --dir d --motif Nothing --motifs toy.pfm 2>&1
sis data dna --dir d --motif Toy --motifs none.pfm 2>&1
sis data dna --dir d --motif Toy --motifs toy.pfm --length 3 --name short 2>&1
find d/short -type f
sis data dna --dir d --motif Toy --motifs toy.pfm --composition 1,2,3 2>&1
sis data dna --dir d --motif Toy --motifs toy.pfm --name a/b 2>&1
sis data dna --dir d --peaks toy.pfm 2>&1
printf '>a\nACGTXX\n' > bad.fa
sis data dna --dir d --peaks bad.fa 2>&1
sis explain -q -m dna.onnx -i bad.fa -t 0.5 2>&1
sis explain -q -m dna.onnx -i mixed.fa -t 0.5 2>&1
true
