# Results for other programs: tables, BED, SQLite; and which records are meant.
sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" \
    -t 0.8 --rows 0:3 -j 1 -o r.jsonl
sed -i 's|"model":"[^"]*"|"model":"m"|' r.jsonl
echo "a row a feature"
sis export r.jsonl --to csv | sed -n 1,5p
echo "a row a subset"
sis export r.jsonl --to tsv --each subset | cut -f 1,9-13 | tr '\t' '|'
echo "which records"
sis export r.jsonl --to csv --each subset --where 'feature=savings' | cut -d, -f1 | uniq
sis export r.jsonl --to csv --each subset --where 'status=not_decided and score<0.5' | cut -d, -f1,9
sis export r.jsonl --to csv --each subset --where 'feature=debt and size=1' | wc -l
sis export r.jsonl --to csv --each subset --where 'feature=debt and size=2 and class=0 and example!=2' | cut -d, -f1 | uniq
sis show r.jsonl --where 'feature=savings' | head -1
sis show r.jsonl --where 'savings' 2>&1
sis show r.jsonl --where 'label<3' 2>&1
sis show r.jsonl --where 'status==explained' | grep -c '^example'
sis show r.jsonl --where 'feature=salary' 2>&1
sis export r.jsonl --to csv --each subset --where 'feature=salary' 2>&1 | tail -1
sis summary r.jsonl --where 'feature=salary' 2>&1 | head -1
echo "cells that need quotes"
printf '{"sis":2,"id":"a,\\"b","model":"m","method":"sis","target":0,"direction":">=","threshold":0.5,"score":0.9,"masked_score":0.1,"status":"explained","n_features":2,"subsets":[{"features":[1],"score":0.8}],"rest_score":0.2,"words":["x\\ty","two\\nlines"]}\n' > odd.jsonl
sis export odd.jsonl --to csv
sis export odd.jsonl --to tsv | tail -1 | tr '\t' '|'
echo "on a genome"
dna() { # ID
    printf '{"sis":2,"id":"%s","model":"m","method":"sis","target":0,"direction":">=","threshold":0.5,"score":0.9,"masked_score":0.1,"status":"explained","n_features":10,"subsets":[{"features":[7,2,3],"score":0.8}],"rest_score":0.2,"kind":"dna","sequence":"ACGTACGTAC"}\n' "$1"
}
{ dna chr1:100-110; dna chr1:101-110; dna 'p1::chrX:100-110(-)'; dna chr1:100-300; dna peak; } > dna.jsonl
sis export dna.jsonl --to bed 2>&1 | tr '\t' ' '
sis export dna.jsonl --to csv | cut -d, -f1,13- | sed -n '2,3p;8p;14p'
sis export r.jsonl --to bed 2>&1
echo "cropped and padded"
for full in 21 5; do # of 21 bases 5 are gone in front, of 5 there are 2 N in front
    dna chr1:100-$((100 + full)); dna "chr1:100-$((100 + full))(-)"; dna chr1:101-$((100 + full)); dna chr1:0-$full
done | awk '{ sub(/"sequence"/, "\"full_length\":" (NR <= 4 ? 21 : 5) ",&"); print }' > cropped.jsonl
sis export cropped.jsonl --to bed 2>&1 | cut -f 1-4,11,12 | tr '\t' ' '
sis export cropped.jsonl --to csv | cut -d, -f1,14,15,18- | sed -n '14,16p'
sis export cropped.jsonl --to csv --each subset | cut -d, -f1,14- | sed -n '6p'
dna chr1:0-2 | sed 's/"sequence"/"full_length":2,&/' > padding.jsonl # all of the subset is padding
sis export padding.jsonl --to bed 2>&1
printf '>peak7 chr1:100-120(-)\nACGTACGTACGTACGTACGT\n>short chr2:5-8\nCCC\n' > places.fa
sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i places.fa -t 10 --length 10 --mask zero -o places.jsonl
sis export places.jsonl --to bed | tr '\t' ' '
echo "what can be wrong"
: > none.jsonl
sis export none.jsonl --to csv -o kept.csv 2>&1
ls kept.csv 2>/dev/null
sis export none.jsonl --to csv 2>&1
sis export r.jsonl --to xml 2>&1
sis export r.jsonl --to csv -o r.jsonl 2>&1
true
