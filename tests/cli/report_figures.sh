# Every kind of figure as SVG, to the byte, and as PNG and PDF. SIS_GOLDEN=new writes the files anew.
results=$SIS_EXAMPLES/../tests/report/results
golden=$SIS_EXAMPLES/../tests/report/golden
compare() {
    for file in "$1"/*.svg; do
        wanted=$golden/$1-$(basename "$file")
        [ -z "${SIS_GOLDEN-}" ] || cp "$file" "$wanted"
        cmp -s "$file" "$wanted" && echo "$(basename "$wanted")" || echo "$wanted differs: look at it, then SIS_GOLDEN=new"
    done
}
sis report "$results/image.jsonl" --clusters "$results/image-clusters.json" -q -o page.html --figures image
sis report "$results/dna.jsonl" --clusters "$results/dna-clusters.json" -q -o page.html --figures dna
sis report "$results/text.jsonl" "$results/table.jsonl" -o page.html --figures both 2>&1
sis report "$results/image.jsonl" "$results/image-b.jsonl" --comparison "$results/image-comparison.json" -q -o page.html --figures two
for name in decisions cross-scores joint-shares joint-clusters differences; do
    mkdir -p models && mv "two/$name.svg" models
done
sis report "$results/dna.jsonl" --evaluation "$results/dna-evaluation.json" -q -o page.html --figures rated
for name in lengths score-length importance sufficient marked divergence; do
    mkdir -p methods && mv "rated/$name.svg" methods
done
cat > human.json <<END
{"model":"m","examples":[{"id":"a","qhs":-0.1},{"id":"b","qhs":-0.6},{"id":"c","qhs":null}],
 "methods":[{"name":"sis","rationales":[{"id":"b","marked":0.25},{"id":"a","marked":1},{"id":"a","marked":0.5},{"id":"c","marked":0}]}],
 "imputation":{"by_mask":[-0.2,-0.1,0,0,0.1],"by_hotdeck":[-0.3,-0.1,0,0.1,0.3]}}
END
mkdir chosen
sis report "$results/text.jsonl" --evaluation human.json --figure quality=chosen/quality.svg --figure imputation=chosen/imputation.svg
[ -e report.html ] || echo "no page"
compare image
compare dna
compare chosen
compare both
compare models
compare methods

sis report "$results/image.jsonl" -q -o page.html --figures image --format png
sis report "$results/image.jsonl" -q -o page.html --figures image --format pdf
for file in image/*.p*; do
    echo "$file $(head -c 4 "$file" | tr -dc 'A-Z%') $(($(wc -c <"$file") > 2000))"
done
sis report "$results/image.jsonl" -q -o page.html --figures twice --format pdf
cmp image/sizes.pdf twice/sizes.pdf && echo "the same twice"

# Some of the records, one of the figures.
sed '2s|"label":"beam"|"label":"ring"|' "$results/image.jsonl" >labelled.jsonl
sis report labelled.jsonl --mistaken --figure examples=mistaken.svg
grep -o '1: beam\|The first [0-9]* explained' mistaken.svg
sis report labelled.jsonl --class beam --figure sizes=beam.png -o beam.html 2>&1
sis report "$results/image.jsonl" "$results/image-b.jsonl" --figure examples=pairs.svg
grep -o '>image[-b]* [0-9]*: [a-z]*<' pairs.svg | head -4

# Several at once, in several formats, one of them twice.
sis report "$results/image.jsonl" --figure sizes=a.svg --figure scores=b.svg --figure sizes=c.png --figure sizes=d.svg
cmp a.svg image/sizes.svg && cmp a.svg d.svg && cmp b.svg image/scores.svg && cmp c.png image/sizes.png && echo "the same as all"
sis report "$results/image.jsonl" --figure sizes=a.svg --figure lengths=e.pdf --figure scores=b.svg 2>&1
[ -e e.pdf ] || echo "no e.pdf"

# What cannot be.
sis report "$results/image.jsonl" --figure sizes 2>&1
sis report "$results/image.jsonl" --figure sizes=a.gif 2>&1
sis report "$results/image.jsonl" --figure lengths=a.svg 2>&1
: >file
sis report "$results/image.jsonl" -q -o page.html --figures file/in 2>&1
sis report "$results/image.jsonl" -q -o page.html --figures file 2>&1
sis report "$results/image.jsonl" -q -o page.html --figures f --format gif 2>&1
for text in '' '[]' '{"clusters":3}' '{"clusters":[{"members":[{"subset":0}]}]}' '{"clusters":[1]}' '{"clusters":[],"noise":{}}' \
    '{"clusters":[{"id":1,"size":-2,"members":[]}]}' '{"clusters":[],"eps":"x"}'; do
    echo "$text" >clusters.json
    sis report "$results/image.jsonl" -q -o page.html --clusters clusters.json 2>&1
done
sis report "$results/image.jsonl" -q -o page.html --clusters nothing.json 2>&1
cp "$results/image-clusters.json" clusters.json
sis report "$results/image.jsonl" -q -o clusters.json --clusters clusters.json 2>&1
echo "exit $?"
