#!/bin/sh
# mpi.sh BUILD - sis-mpi writes the same files as sis, for any number of processes and after any kill.
# Skipped (77) if mpirun is missing or cannot start processes.
set -u
build=$(cd "$1" && pwd) || exit 2
source=$(cd "$(dirname "$0")/.." && pwd)
[ -x "$build/sis-mpi" ] && command -v mpirun >/dev/null || {
    echo "skipped: needs MPI (Debian: libopenmpi-dev, openmpi-bin)"
    exit 77
}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
cd "$work" || exit 1
sis=$build/sis
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() { # processes, then the command
    n=$1
    shift
    timeout 120 mpirun --bind-to none -n "$n" "$build/sis-mpi" "$@"
}
run 2 --version >version 2>&1 || {
    echo "skipped: mpirun does not work here: $(head -n 1 version)"
    exit 77
}
# Each part runs in its own folder, all at the same time, because most of the time is waiting for processes.
fail() { echo "FAILED: $*"; }
plain() { sed 's/"seconds":[0-9.e-]*/"seconds":0/' "$@"; }
same() { plain "$1" >one && plain "$2" >two && cmp -s one two && echo "the same: $3" || fail "$3: $2 differs from $1"; }
parts=0
part() { # FUNCTION ARGUMENT...
    parts=$((parts + 1))
    mkdir $parts
    (cd $parts && ln -s ../*.csv ../reviews.txt . && cp "$source/models/credit.onnx" . && "$@") </dev/null >$parts.log 2>&1 &
}

cp "$source/examples/credit.csv" .
i=0
echo age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used >many.csv
while [ $i -lt 60 ]; do
    echo "$((20 + i)),$((20000 + 1000 * (i * 7 % 41))),$((500 * (i % 13))),$((700 * (i % 17))),$((i % 5)),$((i % 6)),$((i % 20)),0.$((i % 9 + 1))" >>many.csv
    i=$((i + 1))
done
printf 'A wonderful film, moving and superb.\nDull. What a waste of time!\nGreat fun and a joy\n' >reviews.txt

explains() {
    "$sis" explain -q "$@" -o whole.jsonl || fail "sis explain $*"
    for n in 2 4; do
        run "$n" explain -q "$@" -o spread.jsonl --force || fail "$n processes: $*"
        same whole.jsonl spread.jsonl "$n processes, $2 $4"
    done
}
part explains -m "cmd:$source/examples/credit.sh" -i many.csv --mask mean:credit.csv -t 0.8
part explains -m "$source/models/credit.onnx" -i many.csv -t 0.6 --trace
part explains -m "$source/examples/credit-trees.json" -i credit.csv --mask mean:credit.csv -t 0.5
part explains -m "$source/models/imdb-cnn.onnx" -i reviews.txt -t 0.6
part explains -m "$source/models/credit.onnx" -i many.csv -t 0.6 --mask hotdeck:credit.csv --samples 4 --rows 40:50,3,7

predicts() {
    "$sis" predict -m credit.onnx -i many.csv >scores
    run 3 predict -m credit.onnx -i many.csv >spread
    cmp -s scores spread && echo "the same: scores" || fail "scores"
    "$sis" explain -q -m credit.onnx -i many.csv -t 0.6 >whole.jsonl
    run 3 explain -q -m credit.onnx -i many.csv -t 0.6 >spread.jsonl
    same whole.jsonl spread.jsonl "records on standard output"
}
part predicts

# verify and evaluate, with files that are sent first.
audits() {
    "$sis" explain -q -m credit.onnx -i many.csv --mask mean:credit.csv -t 0.6 --method ig -o ig.jsonl
    "$sis" explain -q -m credit.onnx -i many.csv --mask mean:credit.csv -t 0.6 -o sis.jsonl
    "$sis" verify -q --trust sis.jsonl ig.jsonl --exhaustive 4 >whole
    run 3 verify -q --trust sis.jsonl ig.jsonl --exhaustive 4 >spread
    cmp -s whole spread && echo "the same: findings of verify" || fail "verify"
    run 2 verify -q --trust --broadcast sis.jsonl ig.jsonl --exhaustive 4 >spread
    cmp -s whole spread && echo "the same: findings of verify, files were sent" || fail "verify --broadcast"
}
part audits
compares() {
    "$sis" explain -q -m credit.onnx -i many.csv -t 0.6 --method ig -o ig.jsonl
    "$sis" explain -q -m credit.onnx -i many.csv -t 0.6 -o sis.jsonl
    set -- sis.jsonl ig.jsonl -m credit.onnx -i many.csv --robust --metrics --imputation --draws 300
    "$sis" evaluate -q "$@" --csv whole.csv >whole
    run 3 evaluate -q --broadcast "$@" --csv spread.csv >spread
    cmp -s whole spread && cmp -s whole.csv spread.csv && echo "the same: tables of evaluate, files were sent" || fail "evaluate"
}
part compares

# Without a shared file system; relative paths only.
sends() {
    set -- explain -q -m credit.onnx -i many.csv --mask mean:credit.csv -t 0.6
    "$sis" "$@" -o whole.jsonl
    run 3 "$@" --broadcast -o spread.jsonl
    same whole.jsonl spread.jsonl "files were sent"
}
part sends

# If a model fails, the run ends and names the example, and written records are kept.
fails() {
    printf '#!/bin/sh\nwhile read -r line; do\n case $line in\n *79,*) sleep 1 && exit 1 ;;\n esac\n printf "%%s\\n" "$line" | %s/tests/cli/models/sum.sh\ndone\n' \
        "$source" >last.sh && chmod +x last.sh
    run 2 explain -q -m "cmd:$source/tests/cli/models/moody.sh 59,[^a]*" -i many.csv --mask zero -t 30000 --jobs 1 \
        -o failed.jsonl >log 2>&1 && fail "a model that fails: exit status 0"
    grep -q 'example .*ended with exit status 1' log || fail "a model that fails: $(cat log)"
    grep -q -- 'use --resume' log || fail "--resume is not named"
    # The last example fails while the other threads of its process wait for more.
    for n in 1 2; do
        run $n explain -q -m "cmd:./last.sh" -i many.csv --mask zero -t 30000 --max-subsets 1 --jobs 3 --rows 54:60 -o last$n.jsonl >log 2>&1
        [ $? = 1 ] && grep -q 'example 59: .*ended with exit status 1' log || fail "the last example fails, $n processes: $(cat log)"
    done
    run 2 explain -q -m credit.onnx -i many.csv -t 0.6 --time-limit-total 0.000000001 -o late.jsonl >log 2>&1 && fail "late: exit status 0"
    grep -q 'time-limit-total' log && grep -q -- 'use --resume' log || fail "late: $(cat log)"
    run 2 explain -m absent.onnx -i many.csv -t 0.6 >log 2>&1 && fail "no model: exit status 0"
    [ "$(grep -c 'cannot open absent.onnx' log)" = 1 ] || fail "no model: $(cat log)"
}
part fails

# Processes divide the cores, and their children use only the same cores.
pins() {
    printf '#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status >>%s/cores\nexec %s/tests/cli/models/sum.sh\n' "$PWD" "$source" >model.sh
    chmod +x model.sh
    run 2 explain -q -m "cmd:./model.sh" -i many.csv --mask zero -t 30000 --max-subsets 1 --rows 0:6 -o pinned.jsonl >log 2>&1 ||
        fail "pinning: $(cat log)"
    [ "$(nproc)" -lt 2 ] || [ "$(sort -u cores | wc -l)" -ge 2 ] || fail "two processes, cores of their children: $(cat cores)"
}
part pins

# Rank 0 uses almost no processor time while it waits.
waits() {
    run 2 explain -q --timing -m "cmd:$source/tests/cli/models/sum.sh 0.2" -i many.csv --mask zero -t 30000 --max-subsets 1 --rows 0:3 \
        -o slow.jsonl >log 2>&1 || fail "waiting: $(cat log)"
    awk '/rank 0 was busy/ { ok = 1; sub(/.*processes, /, ""); s = $1; sub(/.*writing for /, ""); if ($1 > 0.1 * s) ok = 0 } END { exit !ok }' log ||
        fail "rank 0 is busy while it waits: $(cat log)"
}
part waits

wait
cat ./*.log
if grep -q FAILED ./*.log; then
    exit 1
fi
