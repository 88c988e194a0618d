# A file that is not what the model takes: what it is, and what is wanted.
models=$SIS_EXAMPLES/../models
printf '>s1\nACGTACGT\n' > short.fa
wrong() { # MODEL FILE
    sis explain -q -m "$1" -i "$2" --mask zero -t 0.5 2>&1
}
for model in imdb-cnn dna-ctcf mnist-mlp; do
    wrong "$models/$model.onnx" "$SIS_EXAMPLES/credit.csv"
done
wrong "$models/credit.onnx" short.fa
wrong "$models/dna-ctcf.onnx" short.fa
wrong "$models/imdb-cnn.onnx" "$SIS_EXAMPLES/seven.png"

array() { # SHAPE BYTES
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': $1, }"
    head -c "$2" /dev/zero | tr '\0' '\1'
}
make_model tiny-dna dna.onnx 3
array '(2, 20, 4)' 160 > turned.npy
array '(4, 20)' 80 > single.npy
array '(1, 4, 1, 20)' 80 > right.npy
array '(1, 80)' 80 > flat.npy
array '(1, 4, 5, 4)' 80 > split.npy
array '(1, 8, 10)' 80 > other.npy
array '(1, 2, 8, 5)' 80 > more.npy
{ array '(8, 10)' 0; head -c 80 /dev/zero; } > map.npy
{ array '(80,)' 0; head -c 80 /dev/zero; } > flat0.npy
wrong dna.onnx turned.npy
wrong dna.onnx single.npy
wrong dna.onnx other.npy
wrong dna.onnx more.npy
for option in "--mask other.npy" "--mask zero --features map.npy" "--mask right.npy --features flat0.npy"; do
    sis explain -q -m dna.onnx -i right.npy -t 0.5 $option 2>&1 | grep -o 'sis explain.*\|"n_features":[0-9]*'
done
for f in right flat split; do
    wrong dna.onnx $f.npy | grep -o '"n_features":[0-9]*'
done
awk -v OFS=, '{ for (k = 1; k <= 81; k++) printf "%s%s", NR == 1 ? "c" k : k, k < 81 ? "," : "\n" }' > wide.csv <<END
header
row
END
wrong dna.onnx wide.csv
true
