# Training: tables, texts and images in, models out that need nothing else; the same file every time.
table() { # a point is "in" if it lies in a ring; the last column is noise
    awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); print "x,y,noise,place"
        for (i = 0; i < n; i++) { x = 4 * rand() - 2; y = 4 * rand() - 2; r = x * x + y * y
            printf "%.4f,%.4f,%.4f,%d\n", 100 + x, y / 100, rand(), (r > 0.8 && r < 3) } }'
}
table 600 1 > ring.csv
table 200 2 > test.csv
train() { sis train mlp -i ring.csv --label place --validation 0.2 --epochs 60 --rate 0.01 "$@"; }
echo "a table"
train -j 1 -o ring.onnx --test test.csv --curve curve.csv 2> log
sed -n -e '1p' -e 's/ [0-9.]* s$//' -e '$p' log | sed -e 's/epoch [0-9]*$/epoch .../' | sed -n -e '1p' -e '$p'
sed -n 's/.*test: accuracy \(0\.[0-9]*\).*/\1/p' log | awk '{ print ($1 > 0.85 ? "good" : "bad: " $1) }'
head -n 1 curve.csv
awk -F, 'NR > 1 && (NF != 8 || $1 != NR - 1 || $2 == "" || $3 == "" || $7 == "") { print "bad line", $0 }' curve.csv
ls
echo "the same again, with more threads, and killed on the way"
train -q -j 3 -o again.onnx --test test.csv && cmp ring.onnx again.onnx && echo same
train -q -o other.onnx --test test.csv --seed 2 && { cmp -s ring.onnx other.onnx || echo "another seed, other weights"; }
( # killed once its checkpoint is there
    sis train mlp -i ring.csv --label place --validation 0.2 --epochs 4000 --rate 0.01 -q --patience 4000 -j 1 -o cut.onnx &
    while [ ! -e cut.onnx.train ] && kill -0 $!; do :; done # at once: 60 epochs take little time
    kill -9 $! && wait $!
) 2> /dev/null
[ -e cut.onnx ] && echo "it was not killed"
train -q --patience 60 --resume -o cut.onnx && train -q --patience 60 -o whole.onnx && cmp cut.onnx whole.onnx && echo "resumed: same"
ls ./*.train 2> /dev/null
echo "the model needs no other option"
sis model --no-timing ring.onnx | grep -c Gemm
cut -d, -f1-3 test.csv > cases.csv
sis predict -m ring.onnx -i cases.csv | wc -l
sis explain -q -m ring.onnx -i cases.csv -r 0:20 -t 0.9 | grep -c '"status"'
echo "categories"
awk 'BEGIN { srand(6); split("red green blue", c); print "size,colour,ripe"
    for (i = 0; i < 300; i++) { k = 1 + int(rand() * 3); z = rand(); printf "%.3f,%s,%s\n", z, c[k], (k == 1 || (k == 3 && z > 0.5)) ? "yes" : "no" } }' > fruit.csv
sis train mlp -q -i fruit.csv --label ripe --categorical --epochs 40 --rate 0.01 -o fruit.onnx
printf 'size,colour\n0.1,red\n0.9,green\n0.9,blue\n0.1,blue\n' > basket.csv
sis predict -m fruit.onnx -i basket.csv --categorical | awk -F'[][]' '{ print ($2 > 0.5 ? "ripe" : "not ripe") }'
echo "numbers"
awk 'BEGIN { srand(3); print "a,b,c"; for (i = 0; i < 300; i++) { a = rand(); b = rand(); printf "%.5f,%.5f,%.5f\n", a, b, 50 + 3 * a - 2 * b } }' > line.csv
sis train linear -i line.csv --label c --loss mse --validation 0.2 --optimizer sgd -o line.onnx 2>&1 |
    awk '/wrote/ { print } /correlation/ { c = $0 } END { sub(/.*correlation /, "", c); print (c + 0 > 0.999 ? "found" : "not found: " c) }'
echo "texts"
awk 'BEGIN { srand(4); split("good fine great lovely", g); split("bad poor awful sad", b)
    for (i = 0; i < 300; i++) { good = rand() < 0.5; n = 3 + int(rand() * 20); t = ""
        for (k = 0; k < n; k++) t = t " w" int(rand() * 30)
        w = good ? g[1 + int(rand() * 4)] : b[1 + int(rand() * 4)]
        printf "{\"label\":\"%s\",\"text\":\"The %s%s film.\"}\n", good ? "praise" : "blame", w, t } }' > films.jsonl
sis train text-cnn -q -i films.jsonl --length 40 --words 60 --validation 0.2 --epochs 12 --rate 0.01 -o films.onnx
printf 'A great film!\nWhat an awful film.\n' > new.txt
sis predict -m films.onnx -i new.txt | awk -F'[][]' '{ print ($2 > 0.5 ? "praise" : "blame") }'
sis explain -q -m films.onnx -i new.txt -r 0 -t 0.5 | grep -o '"words":\[[^]]*\]' | head -n 1
sis train text-lstm -q -i films.jsonl --length 40 --words 60 --hidden 16 --epochs 2 -o lstm.onnx && sis predict -m lstm.onnx -i new.txt | wc -l
echo "what can be wrong"
sis train resnet -i ring.csv -o x.onnx 2>&1
sis train mlp -i ring.csv -o x.onnx 2>&1
sis train mlp -i ring.csv --label nowhere -o x.onnx 2>&1
sis train mlp -i none.csv --label place -o x.onnx 2>&1
sis train text-cnn -i ring.csv --label place -o x.onnx 2>&1
sis train mlp -i films.jsonl -o x.onnx 2>&1
sis train mnist-cnn -i ring.csv --label place -o x.onnx 2>&1
sis train dna-cnn -i ring.csv --label place -o x.onnx 2>&1
sis train mlp -i ring.csv --label place --hidden 0 --words 5 -o x.onnx 2>&1
sis train linear -i ring.csv --label place --hidden 5 -o x.onnx 2>&1
sis train mlp -i ring.csv --label place --rate 0 -o x.onnx 2>&1
sis train mlp -i ring.csv --label x --loss binary -o x.onnx 2>&1
sis train linear -i line.csv --label c --range 5:1 -o x.onnx 2>&1
sis train linear -i line.csv --label c --range 0:1 -o x.onnx 2>&1
sis train mlp -q -i ring.csv --label place --epochs 1 -o nowhere/x.onnx 2>&1
head -n 5 ring.csv | cut -d, -f4 | tail -n 4 > few.txt
sis train mlp -i ring.csv --labels few.txt -o x.onnx 2>&1
sis train mlp -i ring.csv --labels place -o x.onnx 2>&1
sis train mlp -i ring.csv --label place -o x.pt 2>&1
printf 'who,age,old\nann,1,no\nbob,9,yes\neve,8,yes\n' > named.csv
sis train linear -i named.csv --label old --categorical --epochs 1 -o named.onnx 2>&1 | head -1
sis train -i ring.csv --label place -o x.onnx 2>&1
sis train mlp -i ring.csv --label place --labels few.txt -o x.onnx 2>&1
echo garbage > x.onnx.train
sis train mlp -i ring.csv --label place --resume -o x.onnx 2>&1 | tail -n 1
true
