#!/bin/sh
# docs.sh - the examples in a document work as shown.
#
#   docs.sh SIS FILE.md
#
# Every fenced block whose info string is `sh run` is executed, in order, in one temporary directory
# with `sis` first in PATH; `build/sis`, `build/libsis.so`, `include`, `examples`, `models` and `tests`
# are there as in the source tree. A block `c file NAME.c` is the file NAME.c there. A `sh run` block
# must succeed, a `sh run fails` block must fail. If the next block is `text output`, it must match the
# output (stdout and stderr). In it, "..." matches parts that differ from run to run, such as times:
# within a line any text, alone on a line any lines.
#
#     ```sh run
#     sis --version
#     ```
#     ```text output
#     sis 0....
#     ```
set -u
[ $# = 2 ] || {
    echo "usage: docs.sh SIS FILE.md" >&2
    exit 2
}
sis=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

mkdir "$tmp/bin" "$tmp/work" "$tmp/work/build"
# Block k of the document becomes k.sh (or k.fails), its output k.out if it has one, and its line number k.line.
awk -v dir="$tmp" '
    function stop(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1; exit 1 }
    !fence && /^[-*+>0-9. \t]+```+ *(sh run|text output)/ {
        stop("an indented block is not run: move it to the margin")
    }
    !fence && /^(```|~~~)/ {
        fence = $0; sub(substr($0, 1, 1) == "`" ? "[^`].*" : "[^~].*", "", fence)
        info = substr($0, length(fence) + 1); sub(/^ +/, "", info); sub(/ +$/, "", info)
        file = ""
        if (info == "sh run" || info == "sh run fails") {
            k++
            print FNR > (dir "/" k ".line")
            file = dir "/" k (info == "sh run" ? ".sh" : ".fails")
            wants = 1
        } else if (info == "text output") {
            if (!wants) stop("this output follows no block that is run")
            file = dir "/" k ".out"
            wants = 0
        } else if (info ~ /^c file [a-z_]+\.c$/) {
            file = dir "/work/" substr(info, 8)
        } else if (info ~ /^c file/ || info ~ /^sh run/ || info ~ /^text output/) {
            stop("unknown kind of block: " info)
        } else wants = 0
        if (file) printf "" > file
        next
    }
    fence && $0 ~ ("^" fence "[`~]*[ \t]*$") { fence = ""; if (file) close(file); next }
    fence && file { print > file }
    END {
        if (bad) exit 1
        if (fence) { printf "%s: a block is not closed\n", FILENAME; exit 1 }
        print k + 0 > (dir "/blocks")
    }' "$2" || exit 1

ln -s "$sis" "$tmp/bin/sis"
ln -s "$sis" "$tmp/work/build/sis"
ln -s "$(dirname "$sis")"/libsis.so* "$tmp/work/build"
for folder in include examples models tests; do
    [ -d "$here/../$folder" ] && ln -s "$(cd "$here/../$folder" && pwd)" "$tmp/work/$folder"
done
PATH=$tmp/bin:$PATH
LC_ALL=C
export PATH LC_ALL

bad=0
k=0
while [ "$k" -lt "$(cat "$tmp/blocks")" ]; do
    k=$((k + 1))
    where=$2:$(cat "$tmp/$k.line")
    script=$tmp/$k.sh
    wanted=succeed
    [ -e "$tmp/$k.fails" ] && script=$tmp/$k.fails && wanted=fail
    got=fail
    (cd "$tmp/work" && exec sh -e "$script") >"$tmp/found" 2>&1 </dev/null && got=succeed
    if [ "$got" != "$wanted" ]; then
        echo "$where: should $wanted, printed:"
        cat "$tmp/found"
        bad=1
    elif [ -e "$tmp/$k.out" ] && ! awk -f "$here/match.awk" "$tmp/$k.out" "$tmp/found"; then
        echo "$where: - the document, + what was printed"
        diff -u "$tmp/$k.out" "$tmp/found" | sed 1,2d
        bad=1
    fi
done
[ "$bad" = 0 ] && echo "$2: $k blocks run"
exit "$bad"
