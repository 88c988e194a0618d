#!/bin/sh
# A program that was compiled before a struct got its last fields runs with the new library: abi.c, compiled with
# the headers and with headers whose structs lack these fields, prints the same.
#   abi.sh BUILD
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir "$tmp/short"
cp -r "$here/../include/sis" "$tmp/short/sis"
cut_from() { # HEADER STRUCT FIELD: this field and those behind it go
    grep -qE "^typedef struct $2 \{" "$tmp/short/sis/$1" || {
        echo "$1 has no struct $2"
        exit 1
    }
    awk -v start="typedef struct $2 {" -v end="} $2;" -v field="$3" '
        $0 == start { inside = 1 }
        $0 == end { inside = gone = 0 }
        inside && !comment && $0 ~ "[ *]" field "(;|\\[)" { gone = 1 }
        { comment = (comment || /\/\*/) && !/\*\// }
        !gone { print; last = $0 }' "$tmp/short/sis/$1" > "$tmp/cut"
    mv "$tmp/cut" "$tmp/short/sis/$1"
}
cut_from sis.h sis_opt progress_every
cut_from sis.h sis_model missing
cut_from data.h sis_data_opt needed
cut_from model.h sis_model_opt normalize
cut_from task.h sis_task_question_opt domain

run() { # NAME INCLUDE
    cc -std=c11 -Wall -Wextra -Werror -I"$2" "$here/abi.c" -L"$build" -lsis -o "$tmp/$1"
    LD_LIBRARY_PATH=$build "$tmp/$1" "$here/../examples/credit-trees.json" "$here/../examples/credit.csv" \
        > "$tmp/$1.out" 2> "$tmp/$1.sizes" || {
        cat "$tmp/$1.out" "$tmp/$1.sizes"
        exit 1
    }
}
run whole "$here/../include"
run older "$tmp/short"
paste -d ' ' "$tmp/whole.sizes" "$tmp/older.sizes" | awk '{ for (i = 1; i <= NF / 2; i++) if ($i <= $(i + NF / 2)) exit 1 }' || {
    echo "a struct is as large without its last field: $(cat "$tmp/whole.sizes" "$tmp/older.sizes")"
    exit 1
}
diff "$tmp/whole.out" "$tmp/older.out" || {
    echo "< with the headers, > compiled with fewer fields"
    exit 1
}
[ "$(grep -c '"status":"explained"' "$tmp/whole.out")" -ge 4 ]
[ "$(grep -c 'size is not set; call sis_[a-z_]*_init first' "$tmp/whole.out")" = 4 ]
