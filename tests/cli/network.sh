# Networks from ONNX files: what is in them, scores, explanations by walks and by full passes.
brief() { sed -e 's/.*"id":"\([^"]*\)".*"status":"\([^"]*\)".*"n_features":\([0-9]*\),"subsets":\(.*\),"rest.*/\1 \2 \3 \4/' -e 's/"score":[-0-9.e+]*/"score"/g' -e 's/^{.*"id":"\([^"]*\)".*"status":"\([^"]*\)".*/\1 \2/'; }
same() { # NAME OPTIONS: are subsets by walks those of full passes?
    name=$1
    shift
    sis explain -q "$@" | brief > walk && sis explain -q --exact "$@" | brief > exact
    cmp walk exact && echo "$name: $(grep -c explained walk) explained, walks and full passes agree"
}
make_model tiny-dna dna.onnx 3
make_model tiny-text text.onnx 3
make_model tiny-lstm lstm.onnx 2
awk 'BEGIN { srand(7); for (v = 0; v < 80; v++) printf "%sv%d", v ? "," : "", v; print ""
    for (i = 0; i < 6; i++) { for (p = 0; p < 20; p++) b[p] = int(rand() * 4)
        for (v = 0; v < 80; v++) printf "%s%d", v ? "," : "", b[v % 20] == int(v / 20); print "" } }' > dna.csv
awk 'BEGIN { srand(9); for (v = 0; v < 20; v++) printf "%sv%d", v ? "," : "", v; print ""
    for (i = 0; i < 6; i++) { for (v = 0; v < 20; v++) printf "%s%d", v ? "," : "", v < 6 ? 0 : 1 + int(rand() * 49); print "" } }' > text.csv
{ # which of the 20 bases each of the 4 x 20 values belongs to
    printf '\223NUMPY\001\000\166\000'
    printf "%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 20), }"
    for v in $(seq 0 79); do printf "\\$(printf %o $((v % 20)))"; done
} > bases.npy
dna() { name=$1; shift; same "$name" -m dna.onnx -i dna.csv --features bases.npy "$@"; }
sis model --no-timing dna.onnx | grep -v "^A walk keeps"
sis predict -m dna.onnx -i dna.csv | wc -l
dna "dna" --mask uniform -t p50
dna "dna below" --mask uniform -t p100 --below
dna "dna, hot-deck" --mask hotdeck:dna.csv --samples 3 -t p50
same "text, the mean embedding" -m text.onnx -i text.csv -t p50
same "text, zeros" -m text.onnx -i text.csv -t p50 --mask zero
same "text, a token" -m text.onnx -i text.csv -t p50 --mask token:17
same "text, padding" -m text.onnx -i text.csv -t p50 --mask pad
same "text, words removed" -m text.onnx -i text.csv -t p50 --mask remove
same "LSTM" -m lstm.onnx -i text.csv -t p50
same "LSTM below" -m lstm.onnx -i text.csv -t p50 --below
sis explain -q -m text.onnx -i text.csv -t p50 -o text.jsonl
sis verify -m text.onnx -i text.csv text.jsonl -q > /dev/null && echo "verified"
sis show --lines text.jsonl | grep -c 'word [0-9]'
echo "what can be wrong"
sis explain -q -m dna.onnx -i dna.csv -t 0.5 2>&1
sis explain -q -m text.onnx -i text.csv -t 0.5 --mask mean:text.csv 2>&1
sis explain -q -m dna.onnx -i text.csv -t 0.5 --mask zero 2>&1
sis explain -q -m text.onnx -i dna.csv -t 0.5 2>&1
sis explain -q -m dna.onnx -i dna.csv --target cat -t 0.5 --mask zero 2>&1
make_model tiny-dna good.onnx 3 'sis.labels=["good"]'
sis explain -q -m good.onnx -i dna.csv --target cat -t 0.5 --mask zero 2>&1
sis explain -q -m "$SIS_EXAMPLES/../models/mnist-mlp.onnx" -i "$SIS_EXAMPLES/seven.png" --target cat -t 0.5 2>&1
head -c 100 dna.onnx > cut.onnx
sis model cut.onnx 2>&1
sis model none.onnx 2>&1
sis model cmd:true 2>&1
true
