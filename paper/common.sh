# common.sh - what the scripts of experiments share; read by them, not run.
#
#   NAME [--quick] [--data DIR] [--out DIR]
#
# --quick takes fewer examples. DIR of data is where sis data puts them; results go into OUT (default:
# the folder NAME-results). SIS names the program. Every table is printed and kept in OUT; a results file
# that is there already is gone on with, so a script can be stopped and started again.
set -eu
sis=${SIS:-sis}
here=$(cd "$(dirname "$0")" && pwd)
models=$here/../models
data=${XDG_DATA_HOME:-$HOME/.local/share}/sis
name=$(basename "$0")
out=$name-results
quick=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=yes ;;
    --data) data=$2 && shift ;;
    --out) out=$2 && shift ;;
    *)
        echo "usage: $name [--quick] [--data DIR] [--out DIR]" >&2
        exit 2
        ;;
    esac
    shift
done
mkdir -p "$out"

# some QUICK FULL: one of the two
some() { if [ "$quick" ]; then echo "$1"; else echo "$2"; fi; }

title() { printf '\n== %s\n' "$*"; }

# explain RESULTS OPTIONS...
explain() {
    results=$1
    shift
    "$sis" explain "$@" --output "$results" --resume
}

# methods PREFIX OPTIONS...: the same decisions by SIS and by the other methods, with as many features as
# it takes (PREFIX-METHOD.jsonl) and with as many as SIS takes (PREFIX-METHOD-length.jsonl).
methods() {
    prefix=$1
    shift
    explain "$prefix-sis.jsonl" "$@"
    for method in ig lime perturb; do
        explain "$prefix-$method.jsonl" "$@" --method $method
        explain "$prefix-$method-length.jsonl" "$@" --method $method --constraint length \
            --lengths "$prefix-sis.jsonl"
    done
}

# table FILE COMMAND...: what it prints, here and in a file
table() {
    file=$1
    shift
    "$@" > "$file"
    cat "$file"
}
