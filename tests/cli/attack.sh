# Drawings of digits, taken for others by the shipped perceptron.
models=$SIS_EXAMPLES/../models
shapes() { # a vertical bar, a slanted one, a ring: OFF and ON for each pixel
    awk -v off="$1" -v on="$2" 'BEGIN { for (k = 0; k < 3; k++) { for (v = 0; v < 784; v++) {
        r = int(v / 28) - 14; c = v % 28 - 14 + (k == 1 ? r / 2 : 0); d = sqrt(r * r + c * c)
        printf "%s", (k == 2 ? d > 6 && d < 9 : r > -10 && r < 10 && c > -1.5 && c < 1.5) ? on : off } } }'
}
{
    printf '\000\000\010\003\000\000\000\003\000\000\000\034\000\000\000\034'
    printf "$(shapes '\\000' '\\377')"
} > digits-ubyte
sis attack -m "$models/mnist-mlp.onnx" -i digits-ubyte --towards next --confidence 10 \
    --values fooled.npy --before whole.npy --images drawn -o found.jsonl
sed -e 's/"distance":[0-9.]*/"distance"/' -e 's/"lead":1[0-9.]*/"lead"/' -e 's/"constant":[0-9.]*/"constant"/' \
    -e 's/"score":\(0.99\|1.0\)[0-9]*/"score"/g' found.jsonl
sis predict -m "$models/mnist-mlp.onnx" -i fooled.npy | awk -F'[][]' '{ n = split($2, s, ","); b = 1
    for (i = 2; i <= n; i++) if (s[i] > s[b]) b = i; print b - 1 }'
for file in digits-ubyte whole.npy; do
    sis predict -m "$models/mnist-mlp.onnx" -i $file | cksum
done | uniq | wc -l
ls drawn
for picture in drawn/0.png drawn/2-attacked.png; do
    sis predict -m "$models/mnist-mlp.onnx" -i $picture | awk -F'[][]' '{ n = split($2, s, ","); b = 1
        for (i = 2; i <= n; i++) if (s[i] > s[b]) b = i; print b - 1 }'
done
for jobs in 1 3; do
    sis attack -q -m "$models/mnist-mlp.onnx" -i digits-ubyte --towards 3 --steps 40 --searches 2 --jobs $jobs | cksum
done | uniq | wc -l
sis attack -q -m "$models/mnist-mlp.onnx" -i digits-ubyte --towards second --rows 0 | grep -o '"reached":[a-z]*'
printf 'age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used\n40,80000,500,20000,0,3,15,0.05\n' > cases.csv
sis attack -q -m "$models/credit.onnx" -i cases.csv --high 100000 --towards 0 --rate 0.5 | grep -o '"reached":[a-z]*\|"after":{"output":[01]'

echo "what is refused"
try() { sis attack -q "$@" 2>&1; echo "status $?"; }
m=$models/mnist-mlp.onnx
try -m "$m" -i digits-ubyte
try -m "$m" -i digits-ubyte --towards 10
try -m "$m" -i digits-ubyte --towards third
try -m "$m" -i digits-ubyte --towards 3 --high 0.5
try -m "$m" -i digits-ubyte --towards 3 --low 2
try -m "$m" -i digits-ubyte --towards 3 --values digits.gz
try -m "$m" -i digits-ubyte --towards 3 --rate 0
try -m "$m" -i digits-ubyte --towards 3 --images digits-ubyte/drawn
try -m "$models/credit.onnx" -i cases.csv --high 1e6 --towards 0 --images drawn
try -m "cmd:$SIS_MODELS/sum.sh" -i digits-ubyte --towards 0
echo "A film." > text.txt
try -m "$models/imdb-cnn.onnx" -i text.txt --towards 0
try -m "$m" -i digits-ubyte --towards 3 --before x.png
