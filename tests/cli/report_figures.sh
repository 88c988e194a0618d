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
compare image
compare dna
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

# What cannot be.
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
