# What subsets are enough for: --guarantee all, its domains, --keep class; words, audits, refusals.
trees=$SIS_EXAMPLES/credit-trees.json
rows=$SIS_EXAMPLES/credit.csv
sis explain -m "$trees" -i "$rows" -t 0.8 --guarantee all --rows 0:3 -o any.jsonl
sis show any.jsonl
sis verify any.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl
# Each feature is needed: an input without it that the model itself scores below the threshold.
sis verify any.jsonl -m "$trees" -i "$rows" --counterexamples 2> /dev/null | head -1 > shown.jsonl
head -1 "$rows" > shown.csv
grep -o '"values":\[[^]]*\]' shown.jsonl | sed 's/.*\[//; s/\]//' >> shown.csv
sis predict -m "$trees" -i shown.csv | grep -c '"scores":\[0\.[0-7]'
sed -n '2s/.*/&/p' shown.csv
# Smaller domains leave more subsets, never more features.
for domain in "data:$rows" ball:0 ball:1 ball:1,0:20000; do
    sis explain -q -m "$trees" -i "$rows" -t 0.8 --guarantee all --domain "$domain" --rows 0:3 --force -o d.jsonl
    grep -o '"guarantee":{[^}]*}\|"status":"[a-z_]*"' d.jsonl | sed 's/data:.*credit/data:credit/'
    sis verify d.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl
done
sis explain -q -m "$trees" -i "$rows" -t 0.8 --guarantee all --rows 0 --domain "data:$rows" | sis show - | sed 's/range of .*/range of .../'
sis report any.jsonl -o report.html
grep -c 'enough <bdi>whatever the other 4 features are' report.html
# What it takes to lose it; the fewest features.
sis explain -q -m "$trees" -i "$rows" -t 0.8 --method contrast --max-subsets 3 --rows 0:3 -o contrast.jsonl
sis show contrast.jsonl

echo "# Contrasts are the nearest ones, in units; some features are fixed; the nearest of all"
sis explain -q -m "$trees" -i "$rows" -t 0.8 --method contrast --rows 0 --units income=500 --max-subsets 3 | sis show -
sis explain -q -m "$trees" -i "$rows" -t 0.8 --method contrast --rows 0 --fixed income,late_payments -o fixed.jsonl
sis show fixed.jsonl
sis verify fixed.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl
sis explain -q -m "$trees" -i "$rows" -t 0.8 --method contrast --rows 2 --cheapest -o cheapest.jsonl
sis show cheapest.jsonl
sis export cheapest.jsonl --to csv | cut -d, -f15,16,21,22
for bad in '--units income' '--units nobody=1' '--fixed nobody' '--units income=0'; do
    sis explain -q -m "$trees" -i "$rows" -t 0.8 --method contrast --rows 0 $bad 2>&1
done
sis explain -q -m "$trees" -i "$rows" -t 0.8 --guarantee all --fixed income 2>&1
sis verify contrast.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl
sed 's/"features":\[1\]/"features":[2]/' contrast.jsonl > other.jsonl
sis verify other.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl || grep -o '"reason":"[^"]*"' audit.jsonl
sis explain -q -m "$trees" -i "$rows" -t 0.8 --guarantee all --smallest --max-subsets 2 --rows 0 -o small.jsonl
sis show small.jsonl | head -4
sis verify small.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl
sis report --force contrast.jsonl -o report.html && grep -c 'class="changed"' report.html
# A share of completions: the same bytes for the same seed.
chance() { sis explain -q -m "$trees" -i "$rows" -t 0.8 --guarantee "$@" --rows 0:3 | sed 's/"seconds":[^,]*,//'; }
chance chance:0.9 --mask "hotdeck:$rows" > chance.jsonl
chance chance:0.9 --mask "hotdeck:$rows" | cmp - chance.jsonl && echo same
grep -o '"guarantee":{"kind":"chance","minimal":true,"share":0.9,"confidence":0.95,"seed":1' chance.jsonl
sis show chance.jsonl | grep -c 'is enough for .* % of completions'
sis verify chance.jsonl -m "$trees" -i "$rows" --mask "hotdeck:$rows" --force -o audit.jsonl
sed 's/"features":\[[0-9,]*\]/"features":[0]/' chance.jsonl > lie.jsonl
sis verify lie.jsonl -m "$trees" -i "$rows" --mask "hotdeck:$rows" --force -o audit.jsonl || grep -c '"reason":"subset 0 keeps the decision for' audit.jsonl
# A record that claims too much is found out.
sed 's/"features":\[4,7,1,2\]/"features":[4,7,1]/' any.jsonl > less.jsonl
sis verify less.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl || echo "exit $?"
grep -o '"reason":"[^"]*"' audit.jsonl
sed 's/"features":\[4,7,1,2\]/"features":[4,7,1,2,0]/' any.jsonl > more.jsonl
sis verify more.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl || echo "exit $?"
grep -o '"reason":"[^"]*"' audit.jsonl
# The same question goes on, another does not.
head -1 any.jsonl > r.jsonl
sis explain -m "$trees" -i "$rows" -t 0.8 --guarantee all --rows 0:3 -o r.jsonl --resume
sis explain -m "$trees" -i "$rows" -t 0.8 --guarantee all --domain ball:1 --rows 0:3 -o r.jsonl --resume 2> err || sed 's/ (model.*//' err
resume() { sis explain -q -m "$trees" -i "$rows" -t 0.8 --guarantee all "$@" --resume 2>&1 | sed 's/ (model.*//'; }
cp "$rows" domain.csv
resume --domain data:domain.csv --rows 0 -o dom.jsonl
resume --domain data:domain.csv --rows 0:2 -o dom.jsonl
sed '$d' "$rows" > domain.csv
resume --domain data:domain.csv --rows 0:3 -o dom.jsonl
# Nor are records verified within another file's values.
sis verify dom.jsonl -m "$trees" -i "$rows" --domain data:domain.csv 2>&1
resume --smallest --rows 0:3 -o r.jsonl
resume --smallest --domain ball:1 -t 0.5 --rows 0 -o least.jsonl
sed 's/.*"complete":\([a-z]*\).*/\1/' least.jsonl
resume --smallest --domain ball:1 -t 0.5 --rows 0:3 -o least.jsonl; grep -c . least.jsonl
resume --domain ball:1 -t 0.5 --rows 0:3 -o least.jsonl
sed 's/,"provenance":.*/}/' least.jsonl > bare.jsonl
resume --domain ball:1 -t 0.5 --rows 0:3 -o bare.jsonl
resume --smallest --domain ball:1 -t 0.5 --max-subsets 2 --rows 0:3 -o least.jsonl
# A class that stays on top.
cat > two.sh <<'END'
while read -r line; do
    echo "$line" | sed 's/[^][0-9.,-]//g; s/\],\[/\n/g' | tr -d '[]' |
        awk -F, '{ printf "%s[%g,%g]", (NR > 1 ? "," : "{\"outputs\":["), 3 * $1 + $2 - 1, $3 } END { print "]}" }'
done
END
printf 'a,b,c\n2,1,3\n0,1,3\n' > abc.csv
sis explain -m 'cmd:sh two.sh' -i abc.csv --mask zero --keep class --jobs 1 --timeout 5 -o class.jsonl
sis show class.jsonl
sis verify class.jsonl -m 'cmd:sh two.sh' -i abc.csv --mask zero --timeout 5 --force -o audit.jsonl
# Nothing to explain, and there is no threshold to change: terminal and page.
for class in top 0; do
    sis explain -m 'cmd:sh two.sh' -i abc.csv --mask zero --keep class --target $class --rows 1 --jobs 1 --timeout 5 -o none.jsonl --force 2>&1
    sis show none.jsonl
    sis report --force none.jsonl -q -o none.html && grep -o 'class="verdict">[a-z]* by\|class="reason">[^<]*' none.html
done
# A model with one output, a probability: each example stays on its side of 0.5. Verified, proved and resumed.
for how in "--mask mean:$rows" '--guarantee all'; do
    sis explain -m "$trees" -i "$rows" --keep class $how --rows 0:4 -o side.jsonl --force 2>&1
    grep -o '"direction":"..","threshold":[0-9.]*,"score":0.[0-9][0-9]\|"status":"[a-z_]*"' side.jsonl
    sis verify side.jsonl -m "$trees" -i "$rows" ${how%--guarantee*} --force -o audit.jsonl 2>&1
done
sis explain -m "$trees" -i "$rows" --keep class --mask "mean:$rows" --rows 0 -o none.jsonl --force 2>&1
head -2 side.jsonl > part.jsonl
sis explain -m "$trees" -i "$rows" --keep class --guarantee all --rows 0:4 -o part.jsonl --resume 2>&1
# Where nothing is masked, neither terminal nor page speaks of masks; --below turns at least into at most.
for how in '--guarantee all' '--method contrast'; do
    sis explain -m "$trees" -i "$rows" -t 0.3 --below $how --rows 0:2 -o low.jsonl --force 2>&1
    sis show low.jsonl | tee low.txt | grep 'score at\|changes the score\|meet'
    sis report low.jsonl -q -o "${how##* }.html"
    grep 'class="tile"\|class="found\|class="verdict\|<dt>\|class="explain"\|class="banner"' "${how##* }.html" |
        sed 's/<[^>]*>/ /g; s/  */ /g; s/evaluations, .*/evaluations, .../' | grep -v Model | tee -a low.txt
    grep -i mask low.txt
done
sis explain -m "$trees" -i "$rows" -t 0.001 --guarantee all --rows 0 -o low.jsonl --force 2>&1
# Refusals.
sis verify class.jsonl -m 'cmd:sh two.sh' -i abc.csv --mask zero --timeout 5 --counterexamples 2>&1 || echo "exit $?"
try_all() { sis explain -i "$rows" "$@" 2>&1 || echo "exit $?"; }
try_all -m "cmd:$SIS_EXAMPLES/credit.sh" -t 0.8 --guarantee all
try_all -m "$trees" -t 0.8 --guarantee all --mask zero
try_all -m "$trees" -t 0.8 --guarantee all --domain box
try_all -m "$trees" -t 0.8 --guarantee all --domain ball:1,2
try_all -m "$trees" -t 0.8 --guarantee all --domain ball:1,2:1
try_all -m "$trees" -t 0.8 --domain any --mask zero
try_all -m "$trees" -t 0.8 --guarantee all --method perturb
try_all -m "cmd:$SIS_EXAMPLES/credit.sh" --mask zero --keep class
try_all -m "$trees" -t 0.8 --keep class
try_all -m "$trees" --mask zero
try_all -m "$trees" -t 0.8 --guarantee chance:2 --mask "hotdeck:$rows"
try_all -m "$trees" -t 0.8 --guarantee chance:0.9 --mask zero
try_all -m "$trees" -t 0.8 --guarantee chance:0.999 --mask "hotdeck:$rows"
try_all -m "$trees" -t 0.8 --smallest --mask zero
echo "# A bound that is better than the worst input is found out"
sed 's/"bounds":\[0.82[0-9]*\]/"bounds":[0.83]/' any.jsonl > bound.jsonl
sis verify bound.jsonl -m "$trees" -i "$rows" --force -o audit.jsonl
grep -o '"reason":"[^"]*"' audit.jsonl
