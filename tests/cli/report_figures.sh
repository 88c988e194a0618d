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
sis report --force "$results/image.jsonl" --clusters "$results/image-clusters.json" -q -o page.html --figures image
sis report --force "$results/dna.jsonl" --clusters "$results/dna-clusters.json" -q -o page.html --figures dna
sis report --force "$results/text.jsonl" "$results/table.jsonl" -o page.html --figures both 2>&1
sis report --force "$results/image.jsonl" "$results/image-b.jsonl" --comparison "$results/image-comparison.json" -q -o page.html --figures two
for name in decisions cross-scores joint-clusters differences; do
    mkdir -p models && mv "two/$name.svg" models
done
sis report --force "$results/dna.jsonl" --evaluation "$results/dna-evaluation.json" -q -o page.html --figures rated
for name in lengths score-length importance sufficient marked divergence; do
    mkdir -p methods && mv "rated/$name.svg" methods
done
cat > human.json <<END
{"model":"m","examples":[{"id":"a","qhs":-0.1},{"id":"b","qhs":-0.6},{"id":"c","qhs":null}],
 "methods":[{"name":"sis","rationales":[{"id":"b","marked":0.25},{"id":"a","marked":1},{"id":"a","marked":0.5},{"id":"c","marked":0}]}],
 "imputation":{"by_mask":[-0.2,-0.1,0,0,0.1],"by_hotdeck":[-0.3,-0.1,0,0.1,0.3]}}
END
mkdir chosen
sis report --force "$results/text.jsonl" --evaluation human.json --figure quality=chosen/quality.svg --figure imputation=chosen/imputation.svg
[ -e report.html ] || echo "no page"
compare image
compare dna
compare chosen
compare both
compare models
compare methods

sis report --force "$results/image.jsonl" -q -o page.html --figures image --format png
sis report --force "$results/image.jsonl" -q -o page.html --figures image --format pdf
for file in image/*.p*; do
    echo "$file $(head -c 4 "$file" | tr -dc 'A-Z%') $(($(wc -c <"$file") > 2000))"
done
sis report --force "$results/image.jsonl" -q -o page.html --figures twice --format pdf
cmp image/sizes.pdf twice/sizes.pdf && echo "the same twice"

# Some of the records, one of the figures.
sed '2s|"label":"beam"|"label":"ring"|' "$results/image.jsonl" >labelled.jsonl
sis report --force labelled.jsonl --mistaken --figure examples=mistaken.svg
grep -o '1: beam\|The first [0-9]* explained' mistaken.svg
sis report --force labelled.jsonl --target beam --figure sizes=beam.png -o beam.html 2>&1
sis report --force "$results/image.jsonl" "$results/image-b.jsonl" --figure examples=pairs.svg
grep -o '>image[-b]* [0-9]*: [a-z]*<' pairs.svg | head -4

# Several at once, in several formats, one of them twice.
sis report --force "$results/image.jsonl" --figure sizes=a.svg --figure scores=b.svg --figure sizes=c.png --figure sizes=d.svg
cmp a.svg image/sizes.svg && cmp a.svg d.svg && cmp b.svg image/scores.svg && cmp c.png image/sizes.png && echo "the same as all"
sis report --force "$results/image.jsonl" --figure sizes=a.svg --figure lengths=e.pdf --figure scores=b.svg 2>&1
[ -e e.pdf ] || echo "no e.pdf"

# Without cairo, which is loaded by the first PNG or PDF.
: >libcairo.so.2
for to in d.svg f.png f.pdf; do
    rm -f "$to"
    LD_LIBRARY_PATH=. sis report "$results/image.jsonl" --figure "sizes=$to" 2>&1
    [ -e "$to" ] && echo "$to" || echo "no $to"
done
rm libcairo.so.2

# What cannot be.
sis report --force "$results/image.jsonl" --figure sizes 2>&1
sis report --force "$results/image.jsonl" --figure sizes=a.gif 2>&1
sis report --force "$results/image.jsonl" --figure lengths=a.svg 2>&1
: >file
sis report --force "$results/image.jsonl" -q -o page.html --figures file/in 2>&1
sis report --force "$results/image.jsonl" -q -o page.html --figures file 2>&1
sis report --force "$results/image.jsonl" -q -o page.html --figures f --format gif 2>&1
for text in '' '[]' '{"clusters":3}' '{"clusters":[{"members":[{"subset":0}]}]}' '{"clusters":[1]}' '{"clusters":[],"noise":{}}' \
    '{"clusters":[{"id":1,"size":-2,"members":[]}]}' '{"clusters":[],"eps":"x"}'; do
    echo "$text" >clusters.json
    sis report --force "$results/image.jsonl" -q -o page.html --clusters clusters.json 2>&1
done
sis report --force "$results/image.jsonl" -q -o page.html --clusters nothing.json 2>&1
cp "$results/image-clusters.json" clusters.json
sis report --force "$results/image.jsonl" -q -o clusters.json --clusters clusters.json 2>&1
echo "exit $?"

# One example is not "1 examples": captions of figures of one of each kind, with one cluster, comparison and rationale.
for kind in image dna text table; do
    grep '"status":"explained"' "$results/$kind.jsonl" | head -n 1 >one-$kind.jsonl
    sis report --force one-$kind.jsonl -q -o page.html --figures one-$kind
done
cp one-image.jsonl one-b.jsonl
clusters='"distance":"energy","eps":1,"min_size":1,"n":1,"noise":[],"clusters":[{"id":1,"size":1,"core":1,"members":[{"id":"0","subset":0,"source":"one-image.jsonl"}]}]'
echo "{$clusters}" >clusters.json
cat >comparison.json <<END
{"a":{"results":"one-image.jsonl","model":"a","n":1,"subsets":1,"threshold":0.7,"direction":">="},
 "b":{"results":"one-b.jsonl","model":"b","n":1,"subsets":1,"threshold":0.7,"direction":">="},
 "decisions":{"common":1,"same":1,"other_output":0,"only_a":0,"only_b":0,"neither":0,"agreement":1},
 "scores":{"a_by_b":{"n":1,"sufficient":1,"scores":[0.8]},"b_by_a":{"n":1,"sufficient":1,"scores":[0.8]}},
 "joint":{$clusters},"differ":[{"id":"0","distance":1,"a":["1"],"b":["2"]}]}
END
echo '{"model":"m","examples":[{"id":"0"}],"methods":[{"name":"sis","rationales":[{"id":"0","length":3,"fraction":0.5,"score":0.8}]}],
 "imputation":{"by_mask":[-0.2],"by_hotdeck":[-0.3]}}' >evaluation.json
sis report --force one-image.jsonl one-b.jsonl --clusters clusters.json --comparison comparison.json --evaluation evaluation.json -q -o page.html \
    --figures one-two
for folder in one-image one-dna one-text one-table one-two; do
    for file in "$folder"/*.svg; do
        echo "$file: $(sed 's/.*font-size="11" fill="#5c636e">/~/; s/<.*//' "$file" | sed -n 's/^~//p' | tr '\n' ' ')"
    done
done >captions.txt
grep '[^0-9.]1 \(sufficient \|explained \)*[a-z]*s[ .,;:]' captions.txt
grep -h 'one-image\|one-two\|passages' captions.txt | grep -v 'scores\.\|sizes\.\|numbers\.\|places\.'
