# A comparison of two models in a page: with the results compared, with one of them, and damaged.
results=$SIS_EXAMPLES/../tests/report/results
compared=$results/image-comparison.json
count() {
    printf '%s: ' "$1"
    sed '1,/id="comparison"/d' page.html | grep -o -- "$2" | wc -l | tr -d ' '
}
look() {
    count tiles 'class="tile"'
    count plots '<figure class="plot"'
    count 'joint clusters' '<h4>Cluster'
    count differences 'class="pair"'
    count halves 'class="half'
    count pictures '<img '
    count 'patterns instead' '<ul class="patterns"'
}
sis report --force "$results/image.jsonl" "$results/image-b.jsonl" --comparison "$compared" -q -o page.html && look
sis report --force "$results/image.jsonl" --comparison "$compared" --comparison "$compared" -q -o page.html --figures both && look
ls both | grep cross
sis report --force "$results/image.jsonl" -q -o page.html
grep -c 'id="comparison"' page.html

# What sis compare writes is what is read.
sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" -t 0.8 -o granted.jsonl
sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" -t 0.9 -o strict.jsonl
sis compare granted.jsonl strict.jsonl --model-a "cmd:$SIS_EXAMPLES/credit.sh" --model-b "cmd:$SIS_EXAMPLES/credit.sh" --eps 0.4 --min-size 2 -q -o both.json >printed
grep -o 'Decisions on.*' printed
sis report --force granted.jsonl strict.jsonl --comparison both.json -q -o page.html && look
grep -o '<b>[0-9.]* %</b><span class="soft">agree, of [^<]*' page.html

# What cannot be: each is one line and status 1.
bad() {
    echo "$1" >bad.json
    sis report --force "$results/image.jsonl" -q -o page.html --comparison bad.json 2>&1
    echo "exit $?"
}
bad ''
bad '[]'
bad '{"clusters":[]}'
bad '{"decisions":{}}'
bad '{"decisions":3,"a":{},"b":{}}'
bad '{"decisions":{"common":1,"same":2},"a":{},"b":{}}'
bad '{"decisions":{"common":-1},"a":{},"b":{}}'
bad '{"decisions":{},"a":{"n":"many"},"b":{}}'
bad '{"decisions":{},"a":{"threshold":[]},"b":{}}'
bad '{"decisions":{},"a":{},"b":{},"scores":[]}'
bad '{"decisions":{},"a":{},"b":{},"scores":{"a_by_b":{"scores":["x"]}}}'
bad '{"decisions":{},"a":{},"b":{},"scores":{"a_by_b":{"sufficient":7}}}'
bad '{"decisions":{},"a":{},"b":{},"scores":{"a_by_b":{"own_quantiles":[1]}}}'
bad '{"decisions":{},"a":{},"b":{},"joint":{}}'
bad '{"decisions":{},"a":{},"b":{},"joint":{"clusters":[{"members":7}]}}'
bad '{"decisions":{},"a":{},"b":{},"differ":[{}]}'
bad '{"decisions":{},"a":{},"b":{},"differ":[{"id":"1","a":"x"}]}'
head -c 2000 "$compared" >bad.json
sis report --force "$results/image.jsonl" -q -o page.html --comparison bad.json 2>&1
sis report --force "$results/image.jsonl" -q -o page.html --comparison nothing.json 2>&1
cp "$compared" same.json
sis report --force "$results/image.jsonl" -q -o same.json --comparison same.json 2>&1
echo "exit $?"

# As little as there can be, and texts that are markup.
echo '{"decisions":{},"a":{"model":"<script>x"},"b":{"results":"<style>"},"differ":[{"id":"<b>","a":["<i>"],"b":[]}]}' >odd.json
sis report --force "$results/image.jsonl" -q -o page.html --comparison odd.json --figures odd && look
grep -c '<script>x\|<b>[^0-9]*<i>' page.html
grep -o '&lt;script&gt;x' page.html | sort | uniq -c | tr -s ' '
