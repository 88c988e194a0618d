# Which output is explained: a label if the model has labels, a position by --target-index. The labels are 1, 2 and 3.
awk 'BEGIN { srand(3); print "a,b,class"
    for (i = 0; i < 300; i++) { c = 1 + i % 3; printf "%.3f,%.3f,%d\n", (c == 2) * 2 + rand(), (c == 3) * 2 + rand(), c } }' > rows.csv
sis train mlp -i rows.csv --label class --epochs 30 --rate 0.01 -q -o m.onnx
cut -d, -f1,2 rows.csv > x.csv
ask() { sis explain -q -m m.onnx -i x.csv --rows 0 -t 0 --mask zero "$@" 2>&1 | sed 's/.*\("target":[0-9]*\).*\("target_label":"[^"]*"\).*/\1 \2/'; }
ask --target 1
ask --target 3
ask --target-index 1
ask --target-index=2
echo "no label, no position, both, the old name"
ask --target 0
ask --target 4
ask --target-index 3
ask --target-index one
ask --target 1 --target-index 1
ask --class 1
ask --class=1
echo "a model without labels: a position"
printf 'a,b\n1,2\n' > two.csv
cat > two.sh <<'end'
while read -r line; do
    echo "$line" | sed 's/\[[^][]*\]/[0.25,0.75]/g; s/inputs/outputs/'
done
end
sis explain -q -m 'cmd:sh two.sh' -i two.csv --mask zero -t 0 --target 1 -j 1 | grep -o '"target":[0-9]*'
echo "records by label, by position"
sis explain -q -m m.onnx -i x.csv --rows 0:30 -t 0.4 --mask mean:x.csv -o r.jsonl
for which in "--target 2" "--target-index 1" "--target 0" "--target-index 7"; do
    rm -f page.html c.json
    sis report r.jsonl $which -o page.html > /dev/null 2>&1 && grep -o '<article' page.html | wc -l
    sis cluster r.jsonl --eps 1 --min-size 2 $which -o c.json 2>&1 | sed -n '/nothing/p; s/^\([0-9]* subsets\).*/\1/p'
done
sis show r.jsonl --where class=1 | grep -c '^example'
sis show r.jsonl --where class=0 2>&1
sis attack -q -m m.onnx -i x.csv --rows 0 --low -9 --high 9 --towards 2 | grep -o '"target":[0-9]'
sis attack -q -m m.onnx -i x.csv --rows 0 --low -9 --high 9 --towards 0 2>&1
sis attack -q -m m.onnx -i x.csv --rows 0 --low -9 --high 9 --target 2 2>&1 || true
