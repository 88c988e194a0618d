# Records chosen by the example's own columns: every command that reads results takes --where.
trees=$SIS_EXAMPLES/credit-trees.json
rows=$SIS_EXAMPLES/credit.csv
sis explain -q -m "$trees" -i "$rows" -t 0.5 --mask missing -o r.jsonl
sis show r.jsonl --where 'age>30 and late_payments=0' | grep '^example'
sis show r.jsonl --where id=2 | head -1
sis summary r.jsonl --where 'age>30 and late_payments=0' --top 2 2>&1
sis export r.jsonl --to csv --each subset --where 'debt<4000' | cut -d, -f1 | uniq
sis cluster r.jsonl --where "debt<4000" --eps 0 --min-size 1 -q | head -1
sis report r.jsonl --where 'debt<4000' -q -o r.html
grep -c 'class="verdict"' r.html
sis evaluate r.jsonl --where 'debt<4000' -q | head -1
cp r.jsonl s.jsonl
sis compare r.jsonl s.jsonl --model-a "$trees" --model-b "$trees" --where 'debt<4000' -q | head -2
sis verify r.jsonl -m "$trees" -i "$rows" --mask missing --where 'debt<4000' -o a.jsonl
sis verify r.jsonl -m "$trees" -i "$rows" --mask missing --where 'debt<4000' -j 1 -q | cmp - a.jsonl && echo same
echo "# What can be wrong"
for where in 'debt<0' 'colour=red' "late_payments='none'" 'age<old' 'age>30 or debt<3' 'age>30 and'; do
    for command in show cluster "evaluate" "verify -m $trees -i $rows --mask missing -o a.jsonl --force"; do
        sis $command r.jsonl --where "$where" 2>&1 | head -1
    done
done
