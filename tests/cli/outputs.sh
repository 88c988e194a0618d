# A record says how many outputs its model has, so that output 0 of several is called by its number.
printf 'a,b,c,kind\n1,2,3,0\n3,1,-9,0\n' > three.csv
cp "$SIS_MODELS/sum.sh" .
# Two outputs: the sum of the values, and its opposite.
sed 's/: ",") s$/: ",") "[" s "," (-s) "]"/' sum.sh > pair.sh
chmod +x pair.sh
sis explain -q -m cmd:./pair.sh -i three.csv --label kind --mask zero -t 4 -o two.jsonl
grep -o '"target":.,"n_outputs":.' two.jsonl
sis explain -q -m cmd:./sum.sh -i three.csv --label kind --mask zero -t 4 --rows 0 -o one.jsonl
grep -o '"target":.,"n_outputs":.' one.jsonl
sed 's/,"n_outputs":[0-9]*//' two.jsonl > old.jsonl
for f in two one old; do
    echo "== $f"
    sis show $f.jsonl | grep score.*sufficient
    sis report $f.jsonl -q -o - | grep -o '<p class="verdict">.*</p>'
    sis report $f.jsonl -q --mistaken -o - 2>&1 | grep -o '<article[^>]*\|sis report.*'
done
echo "== verify"
for f in two old; do
    sis verify -q $f.jsonl -m cmd:./pair.sh -i three.csv --label kind --mask zero | grep -c '"holds":true'
done
sis verify one.jsonl -m cmd:./pair.sh -i three.csv --label kind --mask zero 2>&1
echo "== resume"
for f in two old; do
    head -1 $f.jsonl > on.jsonl
    sis explain -m cmd:./pair.sh -i three.csv --label kind --mask zero -t 4 -o on.jsonl --resume 2>&1
done
sed -i 's/"n_outputs":2/"n_outputs":3/' on.jsonl
sis explain -m cmd:./pair.sh -i three.csv --label kind --mask zero -t 4 -o on.jsonl --resume 2>&1
sed 's/"n_outputs":2/"n_outputs":1/' two.jsonl | sis show - 2>&1 | tail -1
true
echo "== a number for a label is called a class"
sed 's/"n_outputs":1/&,"target_label":"1"/' one.jsonl > numbered.jsonl
sis show numbered.jsonl | grep -o 'for class 1'
sis report numbered.jsonl -q -o - | grep -o '<p class="verdict">.*</p>'
