# What cannot be compared, and why.
cat > four.jsonl << 'END'
{"id":"a","values":[0.1,0.5,0.8,0.1],"human":[1,2]}
{"id":"b","values":[1,1,1,1]}
{"id":"c","values":[0,0,0,0.1]}
END
cp "$SIS_MODELS/sum.sh" .
model=cmd:./sum.sh
sis explain -q -m $model -i four.jsonl --mask zero -t 1 -o sis.jsonl
try() { # TITLE arguments: the message and the exit status
    echo "== $1"
    shift
    sis evaluate "$@" 2>&1
    echo "exit $?"
}
with() { try "$@" -m $model -i four.jsonl --mask zero; }
derive() { sed -e 's/"method":"sis"/"method":"lime"/' -e "$1" sis.jsonl > other.jsonl; }

: > empty.jsonl
try "an empty file" empty.jsonl
echo '{"model":"m","methods":[{"name":"sis","method":"sis"}]}' > evaluation.json
try "an evaluation instead of results" evaluation.json
try "no such file" nowhere.jsonl
head -c 100 sis.jsonl > torn.jsonl
try "a torn record" torn.jsonl
sed 's/"n_features":4,//' sis.jsonl > other.jsonl
try "a record without a field" other.jsonl
sed 's/\("subsets":\[{"features":\[\)[^]]*/\17/' sis.jsonl > other.jsonl
try "a feature that is not there" other.jsonl
try "a table instead of results" four.jsonl

derive '2d'
try "an example is missing" sis.jsonl other.jsonl
try "an example is missing in the first file" other.jsonl sis.jsonl
derive 's/"id":"b"/"id":"x"/'
try "different examples" sis.jsonl other.jsonl
derive 's/"model":"[^"]*"/"model":"m.onnx"/'
try "another model" sis.jsonl other.jsonl
derive 's/"threshold":1,/"threshold":1.2,/'
try "another threshold" sis.jsonl other.jsonl
derive 's/"direction":">="/"direction":"<="/'
try "another direction" sis.jsonl other.jsonl
derive 's/"values":\[0.1,/"values":[0.2,/'
try "another input" sis.jsonl other.jsonl
derive '2s/"method":"lime"/"method":"ig"/'
try "two methods in a file" other.jsonl
cat sis.jsonl sis.jsonl > other.jsonl
try "a record twice" other.jsonl
sis explain -q -m $model -i four.jsonl --mask zero -t 5 -o none.jsonl
try "nothing explained" none.jsonl

sed -n 2p four.jsonl > less.jsonl
try "an example that is not in the input" sis.jsonl -m $model -i less.jsonl --mask zero
sed 's/0.5,0.8/0.8,0.5/' four.jsonl > swapped.jsonl
try "an input that has changed" sis.jsonl -m $model -i swapped.jsonl --mask zero
try "another mask" sis.jsonl -m $model -i four.jsonl --mask value:0.1
cat > double.sh << 'END'
sh ./sum.sh | sed -u 's/outputs":\[\([0-9.]*\)/outputs":[1\1/'
END
try "a model with other scores" sis.jsonl -m 'cmd:sh double.sh' -i four.jsonl --mask zero -j 1
derive 's/\("features":\[[^]]*\],"score":\)[0-9.]*/\13/'
with "a subset with another score" other.jsonl
try "a model that is not there" sis.jsonl -m nowhere.onnx -i four.jsonl

sed 's/,"human":\[1,2\]//' sis.jsonl > other.jsonl
try "nothing marked by people" other.jsonl --human
printf '>M1 first\n1 0\n0 1\n0 0\n0 0\n>M2 second\n0 1\n1 0\n0 0\n0 0\n' > two.pfm
try "no sequence" sis.jsonl --motif two.pfm:first
try "which motif" sis.jsonl --motif two.pfm
try "no such motif" sis.jsonl --motif two.pfm:third
try "no such file of motifs" sis.jsonl --motif nowhere.pfm:CTCF
with "the second mask is the first" sis.jsonl --robust
with "output over input" sis.jsonl --csv sis.jsonl
with "output nowhere" sis.jsonl --json no/where.json | tail -2

try "nothing to do"
try "a model without input" sis.jsonl -m $model
try "an input without model" sis.jsonl -i four.jsonl
try "a study without model" --imputation
try "people without results" --imputation --human -m $model -i four.jsonl --mask zero
try "robustness without model" sis.jsonl --robust
try "metrics without model" sis.jsonl --metrics
try "by number without metrics" sis.jsonl --by-count -m $model -i four.jsonl --mask zero
try "metrics without results" --imputation --metrics -m $model -i four.jsonl --mask zero
try "a mask without model" sis.jsonl --mask zero
try "a second mask without --robust" sis.jsonl --second-mask zero
try "a class without --imputation" sis.jsonl --target 0
try "two outputs in one file" sis.jsonl --csv x --json x
