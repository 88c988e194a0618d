# Letters: a page for each example in words; the user's own template.
trees=$SIS_EXAMPLES/credit-trees.json
rows=$SIS_EXAMPLES/credit.csv
words() { sed '/<style>/,/<\/style>/d' "$1" | sed 's/<[^>]*>/ /g; s/  */ /g; s/^ //' | grep .; }
sis explain -q -m "$trees" -i "$rows" -t 0.8 --guarantee all --rows 0:3 -o reasons.jsonl
sis explain -q -m "$trees" -i "$rows" -t 0.8 --method contrast --fixed age --rows 0:3 -o changes.jsonl
sis report reasons.jsonl changes.jsonl --letter --title "A bank" -o letters.html
grep -c '<article>' letters.html
words letters.html
echo "# By mask; one applicant; another template"
sis explain -q -m "$trees" -i "$rows" -t 0.8 --mask missing --rows 0:3 -o masked.jsonl
sis report masked.jsonl --letter --where 'age>50' -q -o one.html && words one.html
echo '<p>{{title}}</p>{{#letters}}<h1>{{id}}, {{column:age}}</h1>{{#reasons}}{{decision}}{{/reasons}}{{/letters}}' > own.html
sis report reasons.jsonl --letter --template own.html -q -o -
sis report reasons.jsonl --letter --template print | cmp - "$SIS_EXAMPLES/../src/report/letter.html" && echo same
echo "# What can be wrong"
echo '{{colour}}' > own.html
sis report reasons.jsonl --letter --template own.html -o x.html 2>&1
echo '<p>{{title}}</p>' > own.html
sis report reasons.jsonl --letter --template own.html -o x.html 2>&1
sis report reasons.jsonl --letter --template none.html -o x.html 2>&1
sis report reasons.jsonl --template own.html -o x.html 2>&1
sis report reasons.jsonl masked.jsonl --letter -o x.html 2>&1
ls x.html 2>/dev/null
true
