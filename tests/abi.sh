#!/bin/sh
# A program that was compiled before structs got their last fields works with the new library: abi.c prints the same
# when compiled with the headers and with headers whose structs lack these fields.
#   abi.sh BUILD
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Every struct of a stable header can grow: it begins with its size, or ends with reserved fields. Exceptions are
# structs that the library makes and passes by pointer (sis_slopes, sis_progress), and structs that never grow.
for header in "$here"/../include/sis/*.h; do
    grep -q '^ \* Stable: ' "$header" || continue
    awk -v complete=" sis_slopes sis_progress sis_mean sis_piece sis_finder " '
        match($0, /^(typedef )?struct sis_[a-z_]* \{/) { name = $(NF - 1); first = 1; next }
        name && first { sized = /^ *size_t size;/; first = 0 }
        name && /^}/ {
            if (!sized && last !~ /^ *void \*reserved\[/ && !index(complete, " " name " ")) {
                print FILENAME ": struct " name " has neither a size nor reserved fields"
                bad = 1
            }
            name = ""
        }
        { last = $0 }
        END { exit bad }' "$header"
done

mkdir "$tmp/short"
cp -r "$here/../include/sis" "$tmp/short/sis"
cut_from() { # HEADER STRUCT FIELD [WORDS]: remove this field and those after it; their words become reserved
    grep -qE "^(typedef )?struct $2 \{" "$tmp/short/sis/$1" || {
        echo "$1 has no struct $2"
        exit 1
    }
    awk -v start="struct $2 {" -v field="$3" -v words="${4:-0}" '
        substr($0, length($0) - length(start) + 1) == start { inside = 1 }
        inside && /^}/ { inside = gone = 0 }
        inside && words && match($0, /reserved\[[0-9]+\]/) {
            printf "    void *reserved[%d];\n", substr($0, RSTART + 9) + words
            next
        }
        inside && !comment && $0 ~ "[ *]" field "(;|,|\\[)" { gone = 1 }
        { comment = (comment || /\/\*/) && !/\*\// }
        !gone' "$tmp/short/sis/$1" > "$tmp/cut"
    ! cmp -s "$tmp/cut" "$tmp/short/sis/$1" || {
        echo "struct $2 has no field $3"
        exit 1
    }
    mv "$tmp/cut" "$tmp/short/sis/$1"
}
cut_from sis.h sis_opt progress_every
cut_from sis.h sis_model missing
cut_from data.h sis_data_opt needed
cut_from model.h sis_model_opt normalize
cut_from task.h sis_task_question_opt domain
cut_from sis.h sis_input name 1
cut_from sis.h sis_trace start 1
cut_from sis.h sis_subset without 1
cut_from sis.h sis_kept low 2
cut_from sis.h sis_guarantee n_fixed 2
cut_from sis.h sis_collection noise 1
cut_from sis.h sis_subset_audit draws 3
cut_from sis.h sis_audit within_noise 1
cut_from data.h sis_data_with labels 1
cut_from task.h sis_task_cost quick_prompts 2
cut_from results.h sis_question threshold 1
cut_from results.h sis_drawing n_human 3
cut_from results.h sis_prompted requests 3
cut_from results.h sis_record provenance 1
cut_from results.h sis_provenance shard 2

run() { # NAME INCLUDE OPTION
    cc -std=c11 -Wall -Wextra -Werror "$3" -I"$2" "$here/abi.c" -L"$build" -lsis -o "$tmp/$1"
    LD_LIBRARY_PATH=$build "$tmp/$1" "$here/../examples/credit-trees.json" "$here/../examples/credit.csv" \
        > "$tmp/$1.out" 2> "$tmp/$1.sizes" || {
        cat "$tmp/$1.out" "$tmp/$1.sizes"
        exit 1
    }
}
run whole "$here/../include" -DWHOLE
run older "$tmp/short" -DOLDER
paste -d ' ' "$tmp/whole.sizes" "$tmp/older.sizes" | awk '{ for (i = 1; i <= NF / 2; i++) if ($i <= $(i + NF / 2)) exit 1 }' || {
    echo "a struct is as large without its last field: $(cat "$tmp/whole.sizes" "$tmp/older.sizes")"
    exit 1
}
diff "$tmp/whole.out" "$tmp/older.out" || {
    echo "< with the headers, > compiled with fewer fields"
    exit 1
}
[ "$(grep -c '"status":"explained"' "$tmp/whole.out")" -ge 3 ]
[ "$(grep -c '^audit: 1 ' "$tmp/whole.out")" -ge 7 ]
grep -q '^guarantee 1 of [1-9]' "$tmp/whole.out"
[ "$(grep -c 'size is not set; call sis_[a-z_]*_init first' "$tmp/whole.out")" = 4 ]
[ "$(grep -c 'reserved. is not zero' "$tmp/whole.out")" = 1 ]
