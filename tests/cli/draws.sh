# Masks drawn from data: each feature by itself, whole rows, and what fresh draws say of the subsets.
awk 'BEGIN { srand(3); print "a,b,c"; for (i = 0; i < 60; i++) { v = int(rand() * 16) / 4; print v "," v "," int(rand() * 16) / 4 } }' > t.csv
ask() { sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i t.csv -t 7 --rows 0:20 "$@"; }
for kind in hotdeck rows; do
    echo "$kind"
    ask --mask $kind:t.csv --samples 4 -o $kind.jsonl
    sis verify $kind.jsonl -m "cmd:$SIS_MODELS/sum.sh" -i t.csv > $kind.audit 2> $kind.said
    sed 's/\(fresh draws: \).*of.*\( subsets reach the threshold; the standard error of their scores is \)[0-9.]*/\1...\2.../' $kind.said
    [ "$(grep -c '"drawn_score":[0-9.]*,"drawn_error":[0-9.]*[1-9]' $kind.audit)" -gt 0 ] && echo "each has a score and an error"
done
cut -d, -f4- hotdeck.audit > one; cut -d, -f4- rows.audit > other
cmp -s one other || echo "the draws differ"
echo "no draws, no such score"
ask --mask mean:t.csv -o mean.jsonl && sis verify mean.jsonl -m "cmd:$SIS_MODELS/sum.sh" -i t.csv 2>&1 | grep -c "draw"
ask --mask rows: -o none.jsonl 2>&1 || echo refused
