# Groups: decisions and reasons by the values of a column.
trees=$SIS_EXAMPLES/credit-trees.json
rows=$SIS_EXAMPLES/credit.csv
sis explain -q -m "$trees" -i "$rows" -t 0.5 --mask missing -o r.jsonl
sis summary r.jsonl --by age:35,50 --top 3 --json groups.json
cat groups.json
sis summary r.jsonl --by late_payments --top 1 --where 'age<50' --json - | head -1
sis report r.jsonl --by age:35,50 -q -o r.html
grep -A12 'id="t-groups"' r.html | sed 's/<[^>]*>/ /g; s/  */ /g'
echo "# Columns that the model does not take"
awk -F, 'NR == 1 { print "sex," $0 } NR > 1 { print (NR % 3 ? "f" : NR % 2 ? "" : "m") "," $0 }' "$rows" > people.csv
sis explain -q -m "$trees" -i people.csv -t 0.5 --mask missing --keep-columns sex -o people.jsonl
head -2 people.jsonl | grep -o '"n_features":[0-9]*\|"columns":{[^}]*}'
sis summary people.jsonl --by sex --top 1
sis show people.jsonl --where 'sex=m and score>0.5' | grep -c ^example
sis verify people.jsonl -m "$trees" -i people.csv 2>&1 > /dev/null
sis explain -q -m "$trees" -i people.csv -t 0.5 --mask "mean:$rows" --keep-columns sex --rows 0 | grep -o '"columns":{[^}]*}'
printf 'sex kept\n' > types.txt
sis explain -q -m "$trees" -i people.csv -t 0.5 --mask missing --types types.txt --rows 0 | grep -o '"columns":{[^}]*}'
echo "# What can be wrong"
sis explain -m "$trees" -i people.csv -t 0.5 --mask missing --keep-columns sex,, 2>&1
sis explain -m "$trees" -i people.csv -t 0.5 --mask missing --keep-columns gender 2>&1
sed 's/"columns":{[^}]*}/"columns":7/' people.jsonl | sis show - 2>&1 | head -1
sis summary r.jsonl --by colour 2>&1
sis report r.jsonl --by colour -o x.html 2>&1
sis report r.jsonl --by age:35 --letter -o x.html 2>&1
true
