# Clusters of texts, DNA, images and tables: the table, the JSON, and the files beside them.
text() { # ID FEATURES WORD...
    id=$1 features=$2
    shift 2
    words=$(printf ',"%s"' "$@")
    echo "{\"sis\":2,\"id\":\"$id\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,\"direction\":\">=\",\"threshold\":0.8,\"score\":0.9,\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":$#,\"subsets\":[$(printf '%s' "$features" | sed 's/[^;]*/{"features":[&],"score":0.85}/g; s/;/,/g')],\"rest_score\":0.2,\"kind\":\"text\",\"words\":[${words#,}]}"
}
{
    text 0 '1,0' Creme brulee
    text 1 '0,1;2' creme brulee dull
    text 2 '2,0,1' creme brulee amazing
    text 3 '0' stale
} > a.jsonl
{
    text 0 '0,1' creme brulee
    text 1 '0' stale
    text 2 '1' not stale
} > b.jsonl
sis cluster a.jsonl b.jsonl --eps 0.5 --min-size 3 -o c.json
echo "exit $?"
cat c.json
echo == one file, the same for any number of threads
sis cluster a.jsonl --eps 0.5 --min-size 3 -j 1 -o - > one.json
sis cluster a.jsonl --eps 0.5 --min-size 3 -j 4 -o - | cmp - one.json && echo same
sis cluster - --eps 0.5 --min-size 2 --top 1 --most 1 < a.jsonl
echo == eps
sis cluster a.jsonl b.jsonl --min-size 3 --curve curve.tsv
cat curve.tsv
dna() { # ID FEATURES SEQUENCE
    echo "{\"sis\":2,\"id\":\"$1\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,\"direction\":\">=\",\"threshold\":0.8,\"score\":0.9,\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":${#3},\"subsets\":[{\"features\":[$2],\"score\":0.85}],\"rest_score\":0.2,\"kind\":\"dna\",\"sequence\":\"$3\"}"
}
echo == DNA
{
    dna s1 2,3,4,5,7 TTGATCAAT
    dna s2 3,4,5,6,8 TTTGATCCA
    dna s3 0,1,2,3,4 gatcgat
    dna s4 0,9 ATTTTTTTTA
} > dna.jsonl
printf '>M1 right\nA [ 0 9 0 0 ]\nC [ 0 0 0 9 ]\nG [ 9 0 0 0 ]\nT [ 0 0 9 0 ]\n>M2 wrong\nA [ 9 9 9 9 ]\nC [ 0 0 0 0 ]\nG [ 0 0 0 0 ]\nT [ 0 0 0 0 ]\n' > motifs.pfm
sis cluster dna.jsonl --eps 2 --min-size 3 --motifs motifs.pfm --matrices found.pfm
cat found.pfm
sis cluster dna.jsonl --eps 2 --min-size 3 --motifs found.pfm | tail -1
echo == strands
{
    dna f1 2,3,4,5,6,7,8 CCTGTTTACGG
    dna f2 1,2,3,4,5,6,7 AGTAAACACC
    dna f3 0,1,2,3,4,5 TGTTTAGG
    dna f4 2,3,4,5,6,7 GGTAAACACC
} > strands.jsonl
printf '>MA0148.4 FOXA1\nA [ 0 0 0 0 9 0 ]\nC [ 0 0 0 0 0 9 ]\nG [ 9 0 0 0 0 0 ]\nT [ 0 9 9 9 0 0 ]\n' >> motifs.pfm
for strands in both forward; do
    sis cluster strands.jsonl --eps 1 --min-size 2 --strands $strands --motifs motifs.pfm:FOXA1 -o $strands.json
    grep -o '"strands":"[a-z]*"\|"offset":-*[0-9]*,"reverse":[a-z]*' $strands.json
done
sis cluster strands.jsonl --eps 1 --min-size 2 --motifs motifs.pfm:FOXQ 2>&1
echo "== the whole site under subsets that have a part of it"
awk 'function draw(n) { seed = (seed * 1103515245 + 12345) % 2147483648; return int(seed / 65536) % n }
    BEGIN {
        for (i = 0; i < 30; i++) {
            site = i % 2 ? "TCAGCACCATGGACAGCGCC" : "GGCGCTGTCCATGGTGCTGA"
            at = 12 + draw(20) # of its strand, the subset has bases 4 to 9
            s = ""
            for (k = 0; k < 60; k++) s = s substr("ACGT", 1 + draw(4), 1)
            s = substr(s, 1, at) site substr(s, at + 21)
            from = at + (i % 2 ? 10 : 4)
            print "p" i, from "," from + 1 "," from + 2 "," from + 3 "," from + 4 "," from + 5, s
        }
    }' > planted.txt
while read -r id features sequence; do dna "$id" "$features" "$sequence"; done < planted.txt > planted.jsonl
sis cluster planted.jsonl --eps 1 --top 1 | sed 1,3d
sis cluster planted.jsonl --eps 1 --flank 0 --motifs motifs.pfm --matches 1 --top 1 | sed 1,3d
sis cluster planted.jsonl --flank 1001 2>&1
sis report -q strands.jsonl --clusters both.json -o strands.html
grep -o 'FOXA1</bdi> <span class="soft"><bdi>MA0148.4</bdi> divergence [0-9.]*' strands.html
grep -c '<svg' strands.html
image() { # ID FEATURES
    echo "{\"sis\":2,\"id\":\"$1\",\"model\":\"m\",\"method\":\"sis\",\"target\":$3,\"target_label\":\"digit $3\",\"direction\":\">=\",\"threshold\":0.8,\"score\":0.9,\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":12,\"subsets\":[{\"features\":[$2],\"score\":0.85}],\"rest_score\":0.2,\"kind\":\"image\",\"shape\":[4,3],\"values\":[0,0.5,1,0,0.5,1,0,0.5,1,0,0.5,1]}"
}
echo == images
{
    image 0 0,3,6 1
    image 1 0,3 1
    image 2 3,6 1
    image 3 2,5,8,11 7
    image 4 2,5,8 7
} > image.jsonl
sis cluster image.jsonl --eps 0.5 --min-size 2 --means means.npy
od -An -t f8 -w24 -j 128 -N 192 means.npy
sis cluster image.jsonl --target 'digit 7' --distance energy-sqrt --eps 1 --min-size 2
table() { # ID FEATURES
    echo "{\"sis\":2,\"id\":\"$1\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,\"direction\":\">=\",\"threshold\":0.8,\"score\":0.9,\"masked_score\":0.1,\"status\":\"explained\",\"n_features\":2,\"subsets\":[{\"features\":[$2],\"score\":0.85}],\"rest_score\":0.2,\"kind\":\"table\",\"names\":[\"late\",\"income\"],\"values\":[$3]}"
}
echo == tables
{
    table 0 0 0,100
    table 1 0 0,200
    table 2 1,0 0,100
    table 3 1 3,100
} > table.jsonl
sis cluster table.jsonl --eps 0.5 --min-size 3
echo "== categories are patterns by their name"
sed 's/"names".*/"names":["home","income"],"value_names":["home=own","home=rent","income"],"feature_map":[0,0,1],"values":[0,1,100]}/' \
    table.jsonl > homes.jsonl
sis cluster homes.jsonl --eps 0.5 --min-size 1

echo "== pictures: from the knee down"
sis cluster "$SIS_EXAMPLES/../tests/report/results/image.jsonl" --min-size 3 --force --curve curve.tsv | sed -n 2p
sis cluster "$SIS_EXAMPLES/../tests/report/results/image.jsonl" --min-size 3 --distance energy-sqrt | sed -n 2p
echo "== a name of a file that is no UTF-8 (half of a pair)"
odd=$(printf 'b\355\240\200.jsonl')
cp b.jsonl "$odd"
sis cluster a.jsonl "$odd" --eps 0.5 --min-size 3 -o odd.json > found.txt
sis report a.jsonl "$odd" --clusters odd.json -q -o page.html; grep -c 'None of its members' page.html || true
