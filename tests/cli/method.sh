# Every method on shipped models: the same results file, what each claims, and what is refused.
models=$SIS_EXAMPLES/../models
brief() { sed -n 's/.*"id":"\([^"]*\)".*"method":"\([a-z]*\)","constraint":"\([a-z]*\)".*"status":"\([a-z_]*\)".*/\1 \2 \3 \4/p'; }
sizes() { sed 's/.*"subsets":\[{"features":\[\([0-9,]*\)\].*"sufficient":\([a-z]*\).*/\1 \2/' | awk '{ print split($1, f, ","), $2 }'; }
cat > cases.csv <<'END'
age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used
40,80000,500,20000,0,3,15,0.05
40,16000,18000,100,5,3,0,0.95
END
awk 'BEGIN { for (i = 0; i < 40; i++) a = a "ACGTTGCA"; print ">site"; print substr(a, 1, 41) "TGGCCACCAGGGGGCGCTA" substr(a, 1, 41) }' > bases.fa
printf 'A wonderful, moving film. I loved every minute of it.\n' > reviews.txt
explain() { sis explain -q --trace "$@"; }
credit() { explain -m "$models/credit.onnx" -i cases.csv -t 0.7 "$@"; }
dna() { explain -m "$models/dna-ctcf.onnx" -i bases.fa -t 0.7 "$@"; }
text() { explain -m "$models/imdb-cnn.onnx" -i reviews.txt -t 0.7 "$@"; }
few=
for m in perturb "lime --samples 50" gradient ig; do
    [ "$m" = ig ] && few="--steps 100" # of the long one: it adds up with these
    credit --method $m -o credit.jsonl --force && brief < credit.jsonl
    sis verify -q credit.jsonl -m "$models/credit.onnx" -i cases.csv | grep -c '"holds":true'
    dna --method $m -o dna.jsonl --force && brief < dna.jsonl
    sis verify -q dna.jsonl -m "$models/dna-ctcf.onnx" -i bases.fa | grep -c '"holds":true'
    text --method $m $few -o text.jsonl --force && brief < text.jsonl
    sis verify -q text.jsonl -m "$models/imdb-cnn.onnx" -i reviews.txt | grep -c '"holds":true'
done

echo "integrated gradients add up within one per cent"
for run in credit dna text; do
    grep '"explained"' $run.jsonl | sed 's/.*"completeness":{.*"error":\([-0-9.e]*\)}.*/\1/' | awk '{ print ($1 < 0.01 ? "yes" : "no: " $1) }'
done

echo "as long as the median subset"
dna -o sis.jsonl
dna --method perturb --constraint length | sizes > anew
dna --method perturb --constraint length --lengths sis.jsonl | sizes > given
cmp anew given && echo "the same length"
dna --method ig --constraint top --baseline zero | brief
credit --method lime --constraint length -r 0 -o length.jsonl
sis show length.jsonl | sed 's/[0-9.]* of/N of/'

echo "seeds"
for seed in 1 1 2; do dna --method lime --seed $seed --samples 200 | grep -o '"attributions":[^]]*' | cksum; done | uniq | wc -l
echo "words removed for lime"
text --method lime --samples 60 --remove | brief
echo "jobs"
credit --method lime --samples 300 --jobs 1 | sed 's/"seconds":[^,]*//' > one
credit --method lime --samples 300 --jobs 2 | sed 's/"seconds":[^,]*//' > two
cmp one two && echo same
echo "several subsets by gradient"
dna --method gradient --max-subsets 5 --step 3 | grep -o '"complete":[a-z]*'

echo "an order that was found before"
credit -o sis.jsonl --force
for method in ig lime perturb; do
    credit --method $method --trace > before.jsonl
    credit --method $method --constraint length --lengths sis.jsonl | grep -o '"subsets":.*"rest_score":[^,]*' > anew
    credit --method $method --constraint length --lengths sis.jsonl --orders before.jsonl | grep -o '"subsets":.*"rest_score":[^,]*' > again
    cmp anew again && echo "same $(wc -l < again | tr -d ' ')"
done
sis explain -q -m "$models/credit.onnx" -i cases.csv -t 0.7 --method perturb > untraced.jsonl

echo "what is refused"
try() { sis explain -q "$@" 2>&1; echo "status $?"; }
try -m "cmd:$SIS_MODELS/sum.sh" -i cases.csv --mask zero -t 100 --method ig
try -m "cmd:$SIS_MODELS/sum.sh" -i cases.csv --mask zero -t 100 --method gradient
try -m "$models/imdb-cnn.onnx" -i reviews.txt -t 0.7 --mask remove --method ig
try -m x.onnx -i x.csv -t 1 --method lime --constraint top
try -m x.onnx -i x.csv -t 1 --method gradient --constraint length
try -m x.onnx -i x.csv -t 1 --constraint length
try -m x.onnx -i x.csv -t 1 --method lime --steps 10
try -m x.onnx -i x.csv -t 1 --method perturb --step 10
try -m x.onnx -i x.csv -t 1 --method perturb --max-subsets 2
try -m x.onnx -i x.csv -t 1 --method perturb --lengths x.jsonl
try -m x.onnx -i x.csv -t 1 --method perturb --early-stop
try -m x.onnx -i x.csv -t 1 --method shap
try -m "$models/credit.onnx" -i cases.csv -t 0.7 --method lime --remove
try -m "$models/credit.onnx" -i cases.csv -t 0.7 --method perturb --constraint length --lengths length.jsonl
try -m "$models/credit.onnx" -i cases.csv -t 0.7 --method perturb --constraint length --lengths none.jsonl
try -m "$models/credit.onnx" -i cases.csv -t 0.7 --method perturb --orders untraced.jsonl
try -m "$models/credit.onnx" -i cases.csv -t 0.7 --method lime --orders untraced.jsonl
try -m "$models/credit.onnx" -i cases.csv -t 0.7 --method ig --constraint top --orders untraced.jsonl
try -m x.onnx -i x.csv -t 1 --orders x.jsonl
sed 's/"order":\[[0-9]*,/"order":[0,/; s/"order":\[0,0,/"order":[1,1,/' before.jsonl > torn.jsonl
try -m "$models/credit.onnx" -i cases.csv -t 0.7 --method perturb --orders torn.jsonl
