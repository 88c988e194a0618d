#!/bin/sh
# The command in the comment at the top of an example runs in examples/ and prints tests/examples/NAME.out.
# "..." in that file matches any text: see match.awk.
#   examples.sh PROGRAM
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$1
name=$(basename "$program")
cd "$here/../examples"
command=$(sed -n "s|^ \*     \./$name\(.*\)|\"\$program\"\1|p" "$name.c")
[ -n "$command" ] || {
    echo "examples/$name.c: the comment at its top does not say how it is run (./$name ...)"
    exit 1
}
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
eval "$command" > "$tmp"
awk -f "$here/match.awk" "$here/examples/$name.out" "$tmp" || {
    echo "$name: - expected, + found"
    diff -u "$here/examples/$name.out" "$tmp" | sed 1,2d
    exit 1
}
