# Options of explain, each on a small case whose answer is known.
printf 'a,b,c,d\n0.1,0.5,0.8,0.1\n1,1,1,1\n' > four.csv
brief() { sed -e 's/.*"id":"\([^"]*\)".*"threshold":\([^,]*\),.*"status":"\([^"]*\)".*"subsets":\(.*\),"rest.*/\1 \2 \3 \4/' -e 's/.*"id":"\([^"]*\)".*"status":"\([^"]*\)".*/\1 \2/'; }
ask() { sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i four.csv "$@" | brief; }
echo "the reference's example"; ask --mask zero -t 1.0 --rows 0 --trace
echo "ties"; ask --mask zero -t 2 --rows 1
echo "one subset at most"; ask --mask zero -t 2 --rows 1 --max-subsets 1
echo "default decision and not decided"; ask --mask value:1 -t 3
echo "percentile: halfway between 1.5 and 4"; ask --mask zero -t p50
echo "below"; ask --mask value:1 --below -t 1.5
echo "any number of jobs"; ask --mask zero -t 1 --jobs 1 > one; ask --mask zero -t 1 --jobs 2 > two; cmp one two && echo same
echo "hot-deck is fixed by its seed"; ask --mask hotdeck:four.csv --samples 5 --seed 3 -t 1.4 > one; ask --mask hotdeck:four.csv --samples 5 --seed 3 -t 1.4 > two; cmp one two && echo same
echo "standard input"; sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i - --mask zero -t 1 < four.csv | brief
echo "class"; ask --mask zero -t 1 --rows 0 --target 0
