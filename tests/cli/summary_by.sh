# Groups: decisions and reasons by the values of a column.
trees=$SIS_EXAMPLES/credit-trees.json
rows=$SIS_EXAMPLES/credit.csv
sis explain -q -m "$trees" -i "$rows" -t 0.5 --mask missing -o r.jsonl
sis summary r.jsonl --by age:35,50 --top 3 --json groups.json
cat groups.json
sis summary r.jsonl --by late_payments --top 1 --where 'age<50' --json - | head -1
sis report r.jsonl --by age:35,50 -q -o r.html
grep -A12 'id="t-groups"' r.html | sed 's/<[^>]*>/ /g; s/  */ /g'
echo "# What can be wrong"
sis summary r.jsonl --by colour 2>&1
sis report r.jsonl --by colour -o x.html 2>&1
sis report r.jsonl --by age:35 --letter -o x.html 2>&1
true
