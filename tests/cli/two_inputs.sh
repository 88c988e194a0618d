# A network of two inputs: side by side in a row, or one explained and the other given.
make_model tiny-two two.onnx
printf 'a,b,c,d\n1,2,0.5,-1\n' > both.csv
printf 'a,b\n1,2\n-1,0.25\n' > x.csv
sis predict -m two.onnx -i both.csv
sis predict -m two.onnx -i x.csv --explain x --with w=3
sis predict -m two.onnx -i x.csv --explain w --with x=-1
array() { # SHAPE BYTES
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': $1, }"
    printf "$2"
}
array '(2,)' '\003\003' > list.npy
array '(1, 2)' '\003\003' > row.npy
array '()' '\003' > number.npy
array '(3,)' '\003\003\003' > long.npy
for f in list row number; do
    sis predict -m two.onnx -i x.csv --explain x --with w=$f.npy
done
sis predict -m two.onnx -i x.csv --explain x --with w=long.npy 2>&1
sis explain -q -m two.onnx -i x.csv --explain x --with w=3 --mask zero --threshold 0.9 |
    sed 's/.*"id":"\([^"]*\)".*"status":"\([^"]*\)".*/\1 \2/'
sis explain -q -m two.onnx -i both.csv --mask zero --threshold 0.1 |
    sed 's/.*"id":"\([^"]*\)".*"status":"\([^"]*\)".*/\1 \2/'
for options in "--explain z --with w=3" "--with v=1" "--with w" "--with w=1 --with w=2"; do
    sis predict -m two.onnx -i x.csv $options 2>&1
    echo "status $?"
done
echo "# whole numbers are given as they are: y = x + k modulo 10"
printf '\010\007:\221\001\012\016\012\001k\012\001c\022\001r"\003Mod\012\027\012\001r\022\001f"\004Cast*\011\012\002to\030\001\240\001\002\012\016\012\001x\012\001f\022\001y"\003Add\022\001g*\021\010\001\020\007B\001cJ\010\012\000\000\000\000\000\000\000Z\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\002Z\024\012\001k\022\017\012\015\010\007\022\011\012\003\022\001N\012\002\010\001b\024\012\001y\022\017\012\015\010\001\022\011\012\003\022\001N\012\002\010\002B\004\012\000\020\015' >mod.onnx
for k in 16777217 1700000003 2.5 1e400 none.npy; do
    sis predict -m mod.onnx -i x.csv --rows 0 --explain x --with k=$k 2>&1
done
echo "# and rows that floats do not hold are refused where they go into whole numbers"
printf 'a,b,k\n1700000003,0,1700000004\n0,1700000003,1700000128\n' >large.csv
sis predict -m mod.onnx -i large.csv --rows 1
sis predict -m mod.onnx -i large.csv 2>&1
printf 'k\n16777216\n-16777217\n' >k.csv
sis predict -m mod.onnx -i k.csv --rows 0 --explain k --with x=0
sis predict -m mod.onnx -i k.csv --explain k --with x=0 2>&1
printf 'k\n-0.96\n' >part.csv
sis predict -m mod.onnx -i part.csv --explain k --with x=0 2>&1
echo "# an output by its name"
for output in y r none; do
    sis predict -m mod.onnx#$output -i x.csv --rows 0 --explain x --with k=3 2>&1
done
echo "# models without names for inputs"
for model in "cmd:$SIS_EXAMPLES/credit.sh" "$SIS_EXAMPLES/credit-trees.json"; do
    sis predict -m "$model" -i "$SIS_EXAMPLES/credit.csv" --with age=3 2>&1
    sis predict -m "$model" -i "$SIS_EXAMPLES/credit.csv" --explain age 2>&1
done
echo "# what is in it, with the other input given"
sis model two.onnx --no-timing | sed -n '1,3p'
sis model two.onnx --no-timing --explain x --with w=3 | sed -n '1,3p'
sis model two.onnx --explain z 2>&1
echo "status $?"
