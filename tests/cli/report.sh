# A page of each kind of input: what it must hold, and what it must not.
results=$SIS_EXAMPLES/../tests/report/results
count() {
    printf '%s: ' "$1"
    grep -o -- "$2" page.html | wc -l | tr -d ' '
}
for kind in image text dna table; do
    sis report --force "$results/$kind.jsonl" --output page.html || exit 1
    grep -o '<title>.*</title>' page.html
    count cards '<article'
    count 'kept walks' 'data-walk='
    count pictures '<img '
    count marks '<mark '
    count 'tables of features' '<table class="features"'
done
grep -o 'Explanations verified</dt><dd>[^<]*' page.html
sis report --force "$results/text.jsonl" "$results/dna.jsonl" --title 'Two <b>files</b> & "more"' -q -o - >page.html
grep -o '<title>.*</title>' page.html
count 'other addresses' '\(src\|href\)="[^d#]'
count scripts '<script'

# Some of the examples, evenly.
sis report --force "$results/image.jsonl" --examples 5 -q -o page.html
grep -o 'article class="card" id="e[0-9]*"' page.html | tr -dc '0-9\n' | tr '\n' ' '
count 'their walks' '{"k":'
sis report --force "$results/text.jsonl" "$results/dna.jsonl" --title 'Two <b>files</b> & "more"' -q -o - >page.html

# The same bytes every time.
sis report --force "$results/text.jsonl" "$results/dna.jsonl" --title 'Two <b>files</b> & "more"' -q -o - | cmp - page.html

# What cannot be.
sis report --force nothing.jsonl 2>&1
echo '{"sis":2}' >bad.jsonl
sis report --force bad.jsonl -o page.html 2>&1
echo "exit $?"
: >empty.jsonl
sis report --force empty.jsonl -o page.html 2>&1
echo "exit $?"
cp "$results/text.jsonl" mine.jsonl
sis report --force mine.jsonl -o mine.jsonl 2>&1
sis report --force mine.jsonl -o page.pdf 2>&1
sis report --force mine.jsonl -o missing/page.html 2>&1
sis report --force mine.jsonl -o /dev/full 2>&1
echo "exit $?"
echo "== subsets of tables beside clusters, with their values"
sis cluster "$results/table.jsonl" --eps 0.1 --min-size 3 -q -o clusters.json >/dev/null
sis report --force "$results/table.jsonl" --clusters clusters.json -q -o - | grep -o '<span class="words">.*' | head -1 | cut -c1-120
