#!/bin/sh
# mpi.sh BUILD - sis-mpi writes what sis writes, whatever the number of processes, and whatever kills it.
# Skipped (77) without mpirun or where that cannot start processes.
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
bad=0
fail() {
    echo "FAILED: $*"
    bad=1
}
plain() { sed 's/"seconds":[0-9.e-]*/"seconds":0/' "$@"; }
same() { plain "$1" >one && plain "$2" >two && cmp -s one two && echo "the same: $3" || fail "$3: $2 differs from $1"; }

cp "$source/examples/credit.csv" .
i=0
echo age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used >many.csv
while [ $i -lt 60 ]; do
    echo "$((20 + i)),$((20000 + 1000 * (i * 7 % 41))),$((500 * (i % 13))),$((700 * (i % 17))),$((i % 5)),$((i % 6)),$((i % 20)),0.$((i % 9 + 1))" >>many.csv
    i=$((i + 1))
done
printf 'A wonderful film, moving and superb.\nDull. What a waste of time!\nGreat fun and a joy\n' >reviews.txt
# A run a line, behind the number of processes.
cat >kinds <<END
2 -m cmd:$source/examples/credit.sh -i many.csv --mask mean:credit.csv -t 0.8
4 -m $source/models/credit.onnx -i many.csv -t 0.6 --trace
3 -m $source/examples/credit-trees.json -i credit.csv --mask mean:credit.csv -t 0.5
2 -m $source/models/imdb-cnn.onnx -i reviews.txt -t 0.6
4 -m $source/models/credit.onnx -i many.csv -t 0.6 --mask hotdeck:credit.csv --samples 4 --rows 40:50,3,7
END
while read -r n kind; do
    # shellcheck disable=SC2086
    "$sis" explain -q $kind -o whole.jsonl --force || fail "sis explain $kind"
    # shellcheck disable=SC2086
    run "$n" explain -q $kind -o spread.jsonl --force </dev/null || fail "$n processes: $kind"
    same whole.jsonl spread.jsonl "$n processes, ${kind#*-i }"
done <kinds
"$sis" predict -m "$source/models/credit.onnx" -i many.csv >scores
run 3 predict -m "$source/models/credit.onnx" -i many.csv </dev/null >spread
cmp -s scores spread && echo "the same: scores" || fail "scores"

# Checked and compared.
"$sis" explain -q -m "$source/models/credit.onnx" -i many.csv -t 0.6 --method ig -o ig.jsonl
"$sis" explain -q -m "$source/models/credit.onnx" -i many.csv -t 0.6 -o sis.jsonl
"$sis" verify -q sis.jsonl ig.jsonl --exhaustive 4 >scores
run 3 verify -q sis.jsonl ig.jsonl --exhaustive 4 </dev/null >spread 2>log
cmp -s scores spread && echo "the same: findings of verify" || fail "verify: $(cat log)"
set -- sis.jsonl ig.jsonl -m "$source/models/credit.onnx" -i many.csv --robust --yardsticks --imputation --draws 300
"$sis" evaluate -q "$@" --csv whole.csv >whole
run 3 evaluate -q "$@" --csv spread.csv </dev/null >spread 2>log
cmp -s whole spread && cmp -s whole.csv spread.csv && echo "the same: tables of evaluate" || fail "evaluate: $(cat log)"

# Without a shared file system; relative paths only.
cp "$source/models/credit.onnx" .
"$sis" explain -q -m credit.onnx -i many.csv --mask mean:credit.csv -t 0.6 -o whole.jsonl --force
run 3 explain -q --broadcast -m credit.onnx -i many.csv --mask mean:credit.csv -t 0.6 -o spread.jsonl --force </dev/null
same whole.jsonl spread.jsonl "files were sent"

# Killed at some moment: one process, the first, all of them. --resume goes on, and loses nothing.
model="cmd:$source/tests/cli/models/sum.sh 0.02"
head -n 25 many.csv >few.csv
set -- explain -q -m "$model" -i few.csv --mask zero -t 30000 --jobs 1 --max-subsets 1
"$sis" "$@" -o whole.jsonl --force
for how in other first all term; do
    rm -f killed.jsonl
    timeout 120 mpirun --bind-to none -n 3 "$build/sis-mpi" "$@" -o killed.jsonl </dev/null >log 2>&1 &
    pid=$!
    tries=0
    touch killed.jsonl
    while [ "$(wc -l <killed.jsonl)" -lt 8 ] && [ $tries -lt 500 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    ranks=$(ps -o pid= --ppid "$(pgrep -P $pid mpirun || echo $pid)" 2>/dev/null | tr '\n' ' ')
    case $how in
    other) kill -9 "$(echo $ranks | awk '{ print $NF }')" ;;
    first) kill -9 "$(echo $ranks | awk '{ print $1 }')" ;;
    all) kill -9 $ranks ;;
    term) kill -TERM "$(pgrep -P $pid mpirun || echo $pid)" ;;
    esac 2>/dev/null
    wait $pid 2>/dev/null
    lines=$(wc -l <killed.jsonl)
    [ "$lines" -ge 8 ] || fail "$how: only $lines records before"
    run 2 "$@" -o killed.jsonl --resume </dev/null >log 2>&1 || fail "$how: --resume: $(cat log)"
    same whole.jsonl killed.jsonl "killed ($how) after some records, then resumed"
done

# A model that fails: the run ends, says for which example, and what was written is kept.
run 2 explain -q -m "cmd:$source/tests/cli/models/moody.sh 59,[^a]*" -i many.csv --mask zero -t 30000 --jobs 1 \
    -o failed.jsonl </dev/null >log 2>&1 && fail "a model that fails: exit status 0"
grep -q 'example .*ended with exit status 1' log || fail "a model that fails: $(cat log)"
grep -q -- '--resume goes on' log || fail "--resume is not named"
exit $bad
