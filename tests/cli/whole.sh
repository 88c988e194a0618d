# Files are written whole or not at all, beside their target, and by one process at a time.
cp "$SIS_EXAMPLES/credit.csv" in.csv && cp "$SIS_EXAMPLES/../models/credit.onnx" m.onnx
sis explain -q -m m.onnx -i in.csv -t 0.6 -o r.jsonl
left() { ls -A | grep '^\.sis-\|part\|sorting\|journal' || true; }
echo "the mode and the link stay"
echo mine > page.html && chmod 640 page.html && ln -s page.html link.html
sis report r.jsonl -q --force -o link.html && stat -c %a page.html && [ -h link.html ] && [ -s page.html ] && echo linked
ln -s nowhere/else.html dangling.html && sis report r.jsonl -q -o dangling.html && [ -f dangling.html ] && echo replaced
echo "a disk that is full"
echo mine > page.html; echo mine > r.db; echo mine > r.csv
full() { (trap '' XFSZ; ulimit -f 8; exec "$@" --force) 2>&1 | sed 's/: database.*//'; }
full sis report r.jsonl -q -o page.html
full sis export r.jsonl --to sqlite -o r.db
cat page.html r.db
left
echo "a file that cannot be read to its end"
(cat r.jsonl; echo '{') > torn.jsonl
for to in csv sqlite; do sis export torn.jsonl --to $to --force -o r.csv > /dev/null 2>&1; cat r.csv; done
left
echo "names that can be foreseen are nobody's"
echo victim > victim
for name in s.jsonl.sorting n.onnx.train.part s.jsonl.part; do ln -s victim $name; done
sed '2{h;d};${p;x}' r.jsonl > s.jsonl
sis explain -q -m m.onnx -i in.csv -t 0.6 -o s.jsonl --resume; sed 's/"seconds":[^,}]*//g' s.jsonl > a; sed 's/"seconds":[^,}]*//g' r.jsonl | cmp - a && echo sorted
sis train linear -q -i in.csv --label age --loss mse --range 0:100 --epochs 1 -o n.onnx --jobs 1 && cat victim
rm -f *.sorting *.part
echo "killed while it writes"
# seen PATTERN: wait until there is such a file.
seen() {
    for i in $(seq 100); do ls -A | grep -q "$1" && echo "under way" && return; sleep 0.1; done
    echo "never seen: $1"
}
echo old > scores.jsonl
for signal in KILL TERM; do
    sis predict -q -m "cmd:$SIS_MODELS/sum.sh 1" -i in.csv --force -o scores.jsonl 2>/dev/null &
    pid=$!
    seen '^\.sis-'
    kill -$signal $pid; wait $pid 2>/dev/null
    cat scores.jsonl
    [ $signal = KILL ] && rm -f .sis-*
    left
done
echo "two processes, one output"
sis explain -q -m "cmd:$SIS_MODELS/sum.sh 1" -i in.csv --mask zero -t 1 -o two.jsonl --jobs 1 2>/dev/null &
pid=$!
seen '^two.jsonl$'
for how in --force --resume; do sis explain -q -m m.onnx -i in.csv --mask zero -t 0.6 -o two.jsonl $how 2>&1; done
kill -TERM $pid; wait $pid 2>/dev/null
sis explain -q -m m.onnx -i in.csv --mask zero -t 0.6 -o two.jsonl --force && wc -l < two.jsonl
echo "a file that appears while the command runs"
mkfifo slow
for command in "report -q" "merge -q" "export --to csv"; do
    rm -f late
    sis $command slow -o late 2>&1 &
    exec 3> slow # waits until it reads, after it has looked at the options
    echo mine > late && cat r.jsonl >&3
    exec 3>&-
    wait $! 2>/dev/null
    cat late
done
left
true
