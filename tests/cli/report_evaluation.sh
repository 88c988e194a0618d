# An evaluation of methods in a page, as sis evaluate writes it, and damaged.
results=$SIS_EXAMPLES/../tests/report/results
count() {
    printf '%s: ' "$1"
    sed '1,/id="methods"/d' page.html | grep -o -- "$2" | wc -l | tr -d ' '
}
sis report --force "$results/dna.jsonl" --evaluation "$results/dna-evaluation.json" -q -o page.html
count plots '<figure class="plot"'
count 'rows of the table' '<tr><td>'
grep -o 'lime</bdi>: .*' page.html
sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" -t 0.8 -o granted.jsonl
sis evaluate granted.jsonl -m "cmd:$SIS_EXAMPLES/credit.sh" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" --json e.json -q >printed
sis report --force granted.jsonl --evaluation e.json -q -o page.html
count plots '<figure class="plot"'
sed '1,/id="methods"/d' page.html | grep -o '<tr><td>.*'

# What cannot be: each is one line and status 1.
bad() {
    echo "$1" >bad.json
    sis report --force "$results/dna.jsonl" -q -o page.html --evaluation bad.json 2>&1
    echo "exit $?"
}
bad '{'
bad '{"clusters":[]}'
bad '{"methods":{}}'
bad '{"methods":[1]}'
bad '{"methods":[{}]}'
bad '{"methods":[{"rationales":[1]}]}'
bad '{"methods":[{"rationales":[{"length":"x"}]}]}'
bad '{"methods":[{"rationales":[{"deck_holds":2}]}]}'
bad '{"methods":[{"summary":3,"rationales":[]}]}'
bad '{"methods":[{"summary":{"length":{"rank_sum_p":"x"}},"rationales":[]}]}'
echo '{"methods":[{"name":"<script>x","rationales":[{"length":1e308},{"length":-3,"score":1e308}]}],"model":"<b>"}' >odd.json
sis report --force "$results/dna.jsonl" -q -o page.html --evaluation odd.json --figures odd && count markup '<script>x'
