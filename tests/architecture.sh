#!/bin/sh
# The documents about the source code match it.
#   - docs/architecture.md: its table of folders has the same folders, and allows the same includes, as
#     tools/check-deps.sh.
#   - CONTRIBUTING.md and docs/architecture.md: every file they name exists, and every function is defined in the
#     file that its line names first.
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
bad=0

# "FOLDER: sorted list of what it may include", without its own folder
sorted() {
    while IFS=: read -r folder list; do
        echo "$folder: $(printf '%s\n' $list | grep -vx -e "${folder#src/}" -e '\.' -e '' | sort | tr '\n' ' ')"
    done | sort
}
sed -n 's/^allow \([a-z/]*\) "\([^"]*\)".*/\1:\2/p' tools/check-deps.sh | grep -v '^examples:' | sorted >"$tmp/rules"
sed -n 's/^| `\([a-z/]*\)` |.*| *\([^|]*\)|$/\1:\2/p' docs/architecture.md | tr -d , | sorted >"$tmp/table"
[ "$(wc -l <"$tmp/rules")" -gt 20 ] || { echo "tools/check-deps.sh: the rules were not found" && bad=1; }
diff "$tmp/rules" "$tmp/table" >"$tmp/diff" ||
    { echo "docs/architecture.md (>) differs from tools/check-deps.sh (<):" && cat "$tmp/diff" && bad=1; }

for document in CONTRIBUTING.md docs/architecture.md; do
    awk -v document=$document '{
        file = "-"
        n = split($0, parts, "`")
        for (i = 2; i <= n; i += 2) {
            if (parts[i] ~ /^[a-z_/]+[/][a-z_0-9]+\.(c|h|sh)$/) {
                if (file == "-")
                    file = parts[i]
                print document ":" FNR, parts[i], "-"
            } else if (parts[i] ~ /^[a-z_0-9]+\(\)$/)
                calls[++wanted] = parts[i]
        }
        for (k = 1; k <= wanted; k++) {
            sub(/\(\)/, "", calls[k])
            print document ":" FNR, file, calls[k]
        }
        wanted = 0
    }' $document
done >"$tmp/names"
names=0
while read -r where file name; do
    names=$((names + 1))
    if [ ! -f "$file" ]; then
        echo "$where: there is no file $file"
        bad=1
    elif [ "$name" != - ] && ! grep -qE "^[a-z][A-Za-z_0-9 *]*[ *]$name\(" "$file"; then
        echo "$where: $file defines no function $name"
        bad=1
    fi
done <"$tmp/names"
[ "$names" -gt 30 ] || { echo "only $names names were found" && bad=1; }
[ "$bad" = 0 ] && echo "$(wc -l <"$tmp/rules") folders and $names names agree with the tree"
exit "$bad"
