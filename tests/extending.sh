#!/bin/sh
# The operators and the rule of docs/extending.md compile in a copy of src/: the new files and the tables that
# name them.
#   extending.sh BUILD
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp -r src include "$tmp"
awk -v to="$tmp" '
    /^```c src\// { file = to "/" $2; next }
    /^```/ { file = "" }
    file { print > file ".new" }' docs/extending.md
for table in net/ops/ops.h:'define SIS__OPS' net/walk/walk.h:'define SIS__RULES'; do
    file=$tmp/src/${table%%:*}
    sed "/${table#*:}/r $file.new" "$file" > "$tmp/with"
    mv "$tmp/with" "$file"
    rm "$file.new"
done
find "$tmp" -name '*.c.new' | while read -r file; do mv "$file" "${file%.new}"; done
for file in net/ops/hump.c net/ops/mirror.c net/walk/first.c net/ops/ops.c net/walk/walk.c; do
    cc -fsyntax-only -std=c11 -D_GNU_SOURCE -I"$tmp/include" -I"$tmp/src" -isystem "$build/generated" \
        -Wall -Wextra -Wshadow -Wconversion -Werror "$tmp/src/$file"
done
grep -q HUMP "$tmp/src/net/ops/ops.h" && grep -q MIRROR "$tmp/src/net/ops/ops.h" && grep -q 'X(first)' "$tmp/src/net/walk/walk.h"
