# Parts of a run: chosen by number or by what started the program, put together again to the byte.
cp "$SIS_EXAMPLES/credit.csv" .
sed 's/^/n/; 1s/^n/name,/; 1!s/^n\([0-9]*\),/n\1,\1,/' credit.csv | awk -F, 'NR > 1 { $1 = "case" NR } { print }' OFS=, > named.csv
ask() { sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv --mask mean:credit.csv -t 0.8 "$@"; }
plain() { sed 's/"seconds":[0-9.e-]*/"seconds":0/' "$@"; }
same() { plain "$1" > one && plain "$2" > two && cmp one two && echo "$3"; }

ask -o whole.jsonl
for i in 0 1 2 3 4; do ask --shard $i/5 -o part$i.jsonl --trace; done
wc -l < part0.jsonl
sis merge part3.jsonl part1.jsonl part4.jsonl part0.jsonl part2.jsonl -o traced.jsonl
ask --trace | plain > one && plain traced.jsonl | cmp one - && echo "the same bytes, traces and all"
echo "rows in an order of their own"
ask --rows 9,2,4:8,0 -o some.jsonl
for i in 0 1 2; do ask --rows 9,2,4:8,0 --shard $i/3 -o some$i.jsonl; done
sis merge -q some?.jsonl -o again.jsonl && same some.jsonl again.jsonl "the same bytes"
echo "examples with names"
name() { sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i named.csv --id name --mask mean:credit.csv -t 0.8 "$@"; }
name -o named.jsonl
for i in 0 1; do name --shard $i/2 -o named$i.jsonl; done
sis merge -q named1.jsonl named0.jsonl -o again.jsonl --force && same named.jsonl again.jsonl "the same bytes"
grep -o '"row":[0-9]*' again.jsonl | head -n 2
echo "more parts than examples"
for i in 0 1 2; do ask --rows 0:2 --shard $i/3 -o few$i.jsonl; done
wc -c < few2.jsonl
sis merge few?.jsonl | plain > one && ask --rows 0:2 | plain | cmp one - && echo "the same bytes"

echo "auto"
env SLURM_PROCID=1 SLURM_NTASKS=5 sh -c 'exec "$@"' - sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv --mask mean:credit.csv -t 0.8 --trace --shard auto -o slurm.jsonl
same slurm.jsonl part1.jsonl "srun"
auto() { # variables, then the file they should lead to
    wanted=$1
    shift
    env "$@" sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv --mask mean:credit.csv -t 0.8 --trace --shard auto --force -o auto.jsonl 2>&1 && same auto.jsonl "$wanted" "$*"
}
auto part2.jsonl SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_MIN=0
auto part1.jsonl SLURM_ARRAY_TASK_ID=13 SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_MAX=22 SLURM_ARRAY_TASK_STEP=3
auto part3.jsonl OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=5 SLURM_PROCID=0 SLURM_NTASKS=2
auto part4.jsonl PMI_RANK=4 PMI_SIZE=5
auto part0.jsonl PMIX_RANK=0 PMIX_SIZE=5
auto part4.jsonl SGE_TASK_ID=5 SGE_TASK_FIRST=1 SGE_TASK_LAST=5 SGE_TASK_STEPSIZE=1
ask --shard 3/4 -o quarter.jsonl
env SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0 SLURM_PROCID=1 SLURM_NTASKS=2 \
    sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv --mask mean:credit.csv -t 0.8 --shard auto -o both.jsonl
same both.jsonl quarter.jsonl "tasks inside an array"
auto none SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=1
auto none SLURM_PROCID=x SLURM_NTASKS=2
auto none PMI_RANK=5 PMI_SIZE=5
ask --shard auto 2>&1
ask --shard 5/5 2>&1
ask --shard 1 2>&1
ask --shard -1/4 2>&1

echo "what is missing is said, what is there is written"
sis merge part0.jsonl part2.jsonl part4.jsonl -o most.jsonl 2>&1
echo "exit $?"
wc -l < most.jsonl
head -c 3000 part2.jsonl > torn.jsonl
sis merge -q part0.jsonl part1.jsonl torn.jsonl part3.jsonl part4.jsonl -o most.jsonl --force 2>&1
echo "what is none of this run is refused"
sis merge part0.jsonl part0.jsonl -o x.jsonl 2>&1
sis merge part0.jsonl some1.jsonl -o x.jsonl 2>&1
sis merge part0.jsonl credit.csv -o x.jsonl 2>&1
sed 's/,"provenance":.*}/}/' part0.jsonl > old.jsonl
sis merge old.jsonl -o x.jsonl 2>&1
sis merge nothing.jsonl -o x.jsonl 2>&1
: > empty.jsonl && sis merge empty.jsonl -o x.jsonl 2>&1
sis merge part0.jsonl -o part0.jsonl 2>&1
ls x.jsonl 2>&1

echo "parts are one source"
sis report -q part?.jsonl -o page.html && grep -c 'How it was made' page.html
sis cluster part?.jsonl --eps 1 --min-size 1 -q -o clusters.json > text && grep -o 'part[0-9]' clusters.json | sort -u
sis cluster part0.jsonl part2.jsonl part0.jsonl 2>&1
echo "nothing is overwritten by accident"
ask -o whole.jsonl 2>&1
sis predict -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i credit.csv -o whole.jsonl 2>&1
sis merge part?.jsonl -o whole.jsonl 2>&1
ask -o whole.jsonl --force --rows 0 && wc -l < whole.jsonl
echo "another part, another file: not gone on with"
ask --trace --shard 1/5 -o part0.jsonl --resume 2>&1
tail -n 1 "$SIS_EXAMPLES/credit.csv" >> credit.csv
ask --trace --shard 0/5 -o part0.jsonl --resume 2>&1
echo "exit $?"
