# Methods side by side: a sum of four values and its subsets, against a method that keeps everything
# and one that keeps the first value only.
cat > four.jsonl << 'END'
{"id":"a","values":[0.1,0.5,0.8,0.1],"human":[1,2]}
{"id":"b","values":[1,1,1,1],"human":[0]}
{"id":"c","values":[0.2,0.9,0.4,0],"human":[0,3]}
{"id":"d","values":[0.1,0.1,0.1,0.2]}
{"id":"e","values":[0,2,0,0.5],"human":[1]}
END
cp "$SIS_MODELS/sum.sh" .
model=cmd:./sum.sh
sis explain -q -m "$model" -i four.jsonl --mask zero -t 1 -o sis.jsonl
# The same decisions by method $1, whose subset is $2 and scores $3: \1 is the whole input's score, \4
# its first value.
other() {
    sed -e "s/\"method\":\"sis\"/\"method\":\"$1\"/" \
        -e "s/\"threshold\":1,\"score\":\([^,]*\),\(.*\)\"subsets\":\[.*\],\"rest_score\"\(.*\)\"values\":\[\([^,]*\),/\"threshold\":1,\"score\":\1,\2\"subsets\":[{\"features\":$2,\"score\":$3}],\"rest_score\"\3\"values\":[\4,/" sis.jsonl
}
other all '[0,1,2,3]' '\1' > all.jsonl
other one '[0]' '\4' > one.jsonl
echo "== without a model"
sis evaluate sis.jsonl all.jsonl one.jsonl
echo "== one method, with a model, people and other masks"
sis evaluate sis.jsonl -m "$model" -i four.jsonl --mask zero --human --robust --second-mask value:-1 --samples 4
echo "== the first subset of each example only, every value"
sis evaluate --first sis.jsonl all.jsonl -m "$model" -i four.jsonl --mask zero --human --csv v.csv --json v.json > tables
head -6 tables
cat v.csv v.json
echo "== two files of one method"
cp sis.jsonl again.jsonl
sis evaluate sis.jsonl again.jsonl | sed -n '/^Length/,/^$/p'
echo "== inputs of different widths: tables, file and page have the same p-values of the same names"
cat > wide.jsonl << 'END'
{"id":"a","values":[0.1,0.5,0.8]}
{"id":"b","values":[1,1,0,0,0,0,0,0,0]}
{"id":"c","values":[0.2,0.9,0.4,0,0]}
{"id":"d","values":[0.4,0.4,0.4,0.2,0,0,0,0,0,0,0,0]}
END
sis explain -q -m "$model" -i wide.jsonl --mask zero -t 1 -o narrow.jsonl
sis explain -q -m "$model" -i wide.jsonl --mask zero -t 1.19 -o broad.jsonl
sed 's/"threshold":1.19/"threshold":1/; s/"method":"sis"/"method":"more"/' broad.jsonl > more.jsonl
sis evaluate narrow.jsonl more.jsonl --json wide.json | sed -n '/^Length/,/^Score/p'
grep -o '"\(length\|percent\)":{[^}]*_p[^}]*}' wide.json | sed 's/"median.*"rank/"rank/'
sis report narrow.jsonl --evaluation wide.json -q -o wide.html
grep -o '<tr><td>length in[^/]*.*more.*' wide.html | sed 's/<[^>]*>/ /g'
echo "== decisions of low scores, proofs and contrasts: nothing falls that rises, nothing is masked that is not"
trees=$SIS_EXAMPLES/credit-trees.json rows=$SIS_EXAMPLES/credit.csv
sis explain -q -m "$trees" -i "$rows" --mask "mean:$rows" -t 0.2 --below -o low.jsonl
sis evaluate low.jsonl -m "$trees" -i "$rows" --mask "mean:$rows" --metrics --samples 4 | grep 'masking one\|: the rise\|: the fall'
sis explain -q -m "$trees" -i "$rows" -t 0.3 --below --guarantee all -o proof.jsonl
sis evaluate proof.jsonl | grep ^Score
sis explain -q -m "$trees" -i "$rows" -t 0.3 --method contrast --rows 0 -o contrast.jsonl
sis evaluate contrast.jsonl 2>&1
sed 's/"id":"0"/"id":"zero"/' contrast.jsonl > other.jsonl
sis compare contrast.jsonl other.jsonl --model-a "$trees" --model-b "$trees" 2>&1
sed 's/"target":0/"keep":"class","target":0/; s/"threshold":1/"threshold":0/' sis.jsonl > keep.jsonl
sis evaluate keep.jsonl | head -1
sis compare keep.jsonl sis.jsonl --model-a "$model" --model-b "$model" 2>&1
echo "== the study of masks"
sis evaluate --imputation -m "$model" -i four.jsonl --mask zero --draws 50 --json study.json
grep -o '"by_hotdeck":\[[^,]*,' study.json
echo "== metrics"
sis explain -q -m "$model" -i four.jsonl --mask zero -t 1 --method perturb --trace -o perturb.jsonl
sis evaluate sis.jsonl perturb.jsonl -m "$model" -i four.jsonl --mask zero --human --metrics --samples 4 --json y.json \
    --csv y.csv | sed -n '/^Token/,$p'
grep -o '"cuts":{[^}]*}' y.json
cut -d , -f 1-3,22-32 y.csv
sis report sis.jsonl --evaluation y.json -q --figure stability=s.svg --figure aopc-sufficiency=a.svg --figure token-f1=t.svg \
    --figure aopc-comprehensiveness=c.svg && grep -c '<svg' s.svg a.svg t.svg c.svg
echo "== rankings cut by number"
sis evaluate sis.jsonl perturb.jsonl -m "$model" -i four.jsonl --mask zero --metrics --by-count --samples 4 --json k.json |
    sed -n '/^Sufficiency/,/^PGI/p; /^Stability/,/^$/p'
grep -o '"cuts":{[^}]*"comprehensiveness":[^]]*' k.json
echo "== any number of jobs"
for j in 1 3; do
    sis evaluate sis.jsonl all.jsonl -m "$model" -i four.jsonl --mask zero --human --robust --second-mask value:-1 --imputation --metrics \
        --draws 600 -j $j --json jobs$j.json > jobs$j
done
cmp jobs1 jobs3 && cmp jobs1.json jobs3.json && echo same
