# One rule for every command: an output that is there is refused without --force, one that is read always.
cp "$SIS_EXAMPLES/credit.csv" in.csv && cp "$SIS_EXAMPLES/../models/credit.onnx" m.onnx && cp "$SIS_EXAMPLES/credit-trees.json" t.json
cp "$SIS_EXAMPLES/../models/mnist-cnn.onnx" digits.onnx
cp in.csv dom.csv && echo 'secret' > token.txt && printf 'age number\n' > types.txt
cp "$SIS_MODELS/sum.sh" sum.sh && ln in.csv hard.csv && ln -s in.csv soft.csv && gzip -c in.csv > packed.csv.gz
mkdir pictures && cp "$SIS_EXAMPLES/../docs/live-digit.png" pictures/a.png
sis explain -q -m m.onnx -i in.csv -t 0.6 -r 0:4 -o r.jsonl && cp r.jsonl s.jsonl
cksum * pictures/a.png 2>/dev/null > before
echo "inputs, with --force"
never() { "$@" --force 2>&1 | sed 's/: Is a directory//'; }
explain="sis explain -q -m m.onnx -i in.csv -t 0.6 -r 0:2"
for same in in.csv ./in.csv hard.csv soft.csv m.onnx; do never $explain -o $same; done
never sis explain -q -m t.json -i in.csv -t 0.6 --guarantee all --domain data:dom.csv -o dom.csv
never $explain --types types.txt -o types.txt
never $explain --mask mean:dom.csv -o dom.csv
never $explain --token token.txt -o token.txt
never $explain --with n=dom.csv -o dom.csv
never sis explain -q -m m.onnx#score -i in.csv -t 0.6 -o m.onnx
never sis explain -q -m 'cmd:sh ./sum.sh --fast' -i in.csv -t 0.6 -o sum.sh
never sis explain -q -m "cmd:cat<'in.csv'" -i packed.csv.gz -t 0.6 -o in.csv
never sis predict -q -m m.onnx -i packed.csv.gz -o packed.csv.gz
never sis predict -q -m digits.onnx -i pictures -o pictures/a.png
never sis train mlp -q -i in.csv --label age -o n.onnx --curve in.csv
never sis attack -q -m digits.onnx -i pictures --towards 3 --values pictures/a.png
never sis merge r.jsonl -o r.jsonl
never sis report r.jsonl -o s.jsonl --clusters s.jsonl
never sis report r.jsonl --figure sizes=r.jsonl
never sis summary r.jsonl --json r.jsonl
never sis data describe in.csv --json in.csv
never sis verify r.jsonl --trust -o m.onnx 2>&1 | tail -1
never sis verify r.jsonl -m m.onnx -i in.csv -o r.jsonl
echo "files that are there, without --force"
for out in page.html r.csv r.db a.jsonl c.json x.json e.json p.jsonl n.onnx s.json f.svg k.svg; do echo mine > $out; done
cksum * pictures/a.png 2>/dev/null > before
sis report r.jsonl -o page.html 2>&1
sis report r.jsonl -q -o new.html --figure sizes=f.svg 2>&1
sis export r.jsonl --to csv -o r.csv 2>&1
sis export r.jsonl --to sqlite -o r.db 2>&1
sis verify r.jsonl -m m.onnx -i in.csv -o a.jsonl 2>&1
sis cluster r.jsonl -o c.json 2>&1
sis compare r.jsonl s.jsonl --model-a m.onnx --model-b m.onnx -o x.json 2>&1
sis evaluate r.jsonl --json e.json 2>&1
sis predict -m m.onnx -i in.csv -o p.jsonl 2>&1
sis train mlp -i in.csv --label age -o n.onnx 2>&1
sis summary r.jsonl --json s.json 2>&1
sis summary r.jsonl --plot k.svg 2>&1
sis merge r.jsonl -o page.html 2>&1
sis explain -m m.onnx -i in.csv -t 0.6 -o page.html 2>&1
sis data describe in.csv --json s.json 2>&1
cksum * pictures/a.png 2>/dev/null | grep -v ' before$\| after$' > after; grep -v ' before$' before | cmp - after && echo untouched
echo "devices and pipes are written to, never replaced"
mkfifo pipe && (timeout 5 sh -c 'sis export r.jsonl --to sqlite -o pipe --force' 2>&1 & timeout 5 cat pipe > got; wait)
[ -p pipe ] && echo "still a pipe"
sis report r.jsonl -q -o /dev/null && [ -c /dev/null ] && echo "still a device"
echo "one file for two outputs"
sis evaluate r.jsonl --csv both --json ./both 2>&1
echo "with --force, and empty files"
: > empty.html && sis report r.jsonl -q -o empty.html && [ -s empty.html ] && echo written
sis report r.jsonl -q -o page.html --force && [ -s page.html ] && ! grep -q mine page.html && echo written
$explain -o p.jsonl --force && sis explain -q -m m.onnx -i in.csv -t 0.6 -r 0:4 -o p.jsonl --resume && wc -l < p.jsonl
mkdir drawn && echo mine > drawn/sizes.svg && sis report r.jsonl -q -o new.html --force --figures other && sis report r.jsonl -q -o last.html --figures drawn 2>&1
cat drawn/sizes.svg
echo "files that are read though nobody names them"
cp "$SIS_EXAMPLES/../models/dna-ctcf.onnx" dna.onnx
for i in 1 2; do printf '>s%d\n' $i; head -c 101 /dev/zero | tr '\0' A; echo; done > peaks.fa && printf '1\n0\n' > peaks.target
{ printf '\0\0\10\3\0\0\0\1\0\0\0\34\0\0\0\34' && head -c 784 /dev/zero; } > t-images-idx3-ubyte
printf '\0\0\10\1\0\0\0\1\7' > t-labels-idx1-ubyte
cksum peaks.target t-labels-idx1-ubyte > before
ln peaks.target link.target
never sis predict -q -m dna.onnx -i peaks.fa -o peaks.target
never sis predict -q -m dna.onnx -i peaks.fa -o link.target
never sis explain -q -m dna.onnx -i peaks.fa -t 0.9 -o peaks.target
sis explain -q -m dna.onnx -i peaks.fa -t 0.9 -o peaks.target --resume 2>&1
never sis predict -q -m digits.onnx -i t-images-idx3-ubyte -o t-labels-idx1-ubyte
never sis explain -q -m digits.onnx -i t-images-idx3-ubyte -t 0.7 -o t-labels-idx1-ubyte
cksum peaks.target t-labels-idx1-ubyte | cmp - before && echo untouched
python=$(PATH=/usr/bin:$PATH command -v python3)
if "$python" -c 'import onnx' 2>/dev/null; then
    "$python" -c 'import onnx
onnx.save_model(onnx.load("m.onnx"), "x.onnx", save_as_external_data=True, location="x.data", size_threshold=0)'
    cksum x.data > before
    never sis predict -q -m x.onnx -i in.csv -o x.data | grep -v 'both input and output'
    never sis explain -q -m x.onnx -i in.csv -t 0.6 -o x.data | grep -v 'both input and output'
    cksum x.data | cmp - before
fi
true
