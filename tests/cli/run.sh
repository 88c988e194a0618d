#!/bin/sh
# run.sh - golden tests of the program.
#
#   run.sh [--update] [--asan] BUILD [NAME...]
#
# tests/cli/NAME.sh runs in an empty directory with `sis` (BUILD/sis, with --asan BUILD/sis-asan) and
# `try` (the framework's test program) and `make_model` (bench/make_model.c) first in PATH, SIS_EXAMPLES set to the examples folder and SIS_MODELS to models/.
# Its stdout must match NAME.out (if there is none, it must be empty), its stderr NAME.err if there
# is one, and its exit status NAME.exit (0 if there is none). "..." in an expected file is a blank: see
# ../match.awk. A script that exits with status 77 is skipped. --update writes what does not match;
# look at the difference before you commit. Without names: all scripts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
update=0
suffix=
while [ $# -gt 0 ]; do
    case $1 in
    --update) update=1 ;;
    --asan) suffix=-asan ;;
    *) break ;;
    esac
    shift
done
[ $# -ge 1 ] || {
    echo "usage: run.sh [--update] [--asan] BUILD [NAME...]" >&2
    exit 2
}
build=$(cd "$1" && pwd) || exit 2
shift
if [ $# = 0 ]; then
    for script in "$here"/*.sh; do
        name=$(basename "$script" .sh)
        [ "$name" = run ] || set -- "$@" "$name"
    done
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
mkdir "$tmp/bin"
ln -s "$build/sis$suffix" "$tmp/bin/sis"
ln -s "$build/tests/try$suffix" "$tmp/bin/try"
ln -s "$build/bench/make_model" "$tmp/bin/make_model"
PATH=$tmp/bin:$PATH
# By a link, since cmd: models are commands, in which a path with blanks would be several words.
ln -s "$(cd "$here/../.." && pwd)" "$tmp/source"
SIS_EXAMPLES=$tmp/source/examples
SIS_MODELS=$tmp/source/tests/cli/models
LC_ALL=C
export PATH SIS_EXAMPLES SIS_MODELS LC_ALL

# compare NAME SUFFIX ACTUAL: 0 if it matches; otherwise show the difference or update the file.
compare() {
    wanted=$here/$1.$2
    [ -e "$wanted" ] || wanted=/dev/null
    awk -f "$here/../match.awk" "$wanted" "$3" && return 0
    if [ "$update" = 1 ]; then
        cp "$3" "$here/$1.$2"
        echo "updated $1.$2"
        return 0
    fi
    echo "$1.$2: - expected, + found"
    diff -u "$wanted" "$3" | sed 1,2d
    return 1
}

# check NAME: run the script and compare all it left.
check() {
    rm -rf "$tmp/work"
    mkdir "$tmp/work"
    (cd "$tmp/work" && exec sh "$here/$1.sh") >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    if [ "$status" = 77 ]; then
        echo "skipped $1: $(cat "$tmp/out" "$tmp/err")"
        return 77
    fi
    bad=0
    compare "$1" out "$tmp/out" || bad=1
    if [ -e "$here/$1.err" ]; then
        compare "$1" err "$tmp/err" || bad=1
    fi
    wanted=0
    [ -e "$here/$1.exit" ] && wanted=$(cat "$here/$1.exit")
    if [ "$status" != "$wanted" ] && [ "$update" = 1 ]; then
        echo "$status" >"$here/$1.exit"
        echo "updated $1.exit"
    elif [ "$status" != "$wanted" ]; then
        echo "$1: exit status $status, expected $wanted"
        bad=1
    fi
    [ "$bad" = 0 ] || sed 's/^/stderr: /' "$tmp/err"
    return "$bad"
}

failed=0
for name; do
    [ -f "$here/$name.sh" ] || {
        echo "no such test: tests/cli/$name.sh" >&2
        exit 2
    }
    check "$name"
    case $? in
    0) ;;
    77) [ $# = 1 ] && exit 77 ;;
    *) failed=1 ;;
    esac
done
exit "$failed"
