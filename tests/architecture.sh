#!/bin/sh
# docs/architecture.md speaks of what is there: every file it names exists, and every function is defined
# in the file that its line names first.
cd "$(dirname "$0")/.." || exit 1
document=docs/architecture.md
list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
trap 'exit 1' INT TERM
awk '{
    file = "-"
    n = split($0, parts, "`")
    for (i = 2; i <= n; i += 2) {
        if (parts[i] ~ /^[a-z_/]+[/][a-z_0-9]+\.(c|h|sh)$/) {
            if (file == "-")
                file = parts[i]
            print FNR, parts[i], "-"
        } else if (parts[i] ~ /^[a-z_0-9]+\(\)$/)
            calls[++wanted] = parts[i]
    }
    for (k = 1; k <= wanted; k++) {
        sub(/\(\)/, "", calls[k])
        print FNR, file, calls[k]
    }
    wanted = 0
}' "$document" > "$list"
bad=0 names=0
while read -r line file name; do
    names=$((names + 1))
    if [ ! -f "$file" ]; then
        echo "$document:$line: there is no file $file"
        bad=1
    elif [ "$name" != - ] && ! grep -qE "^[a-z][A-Za-z_0-9 *]*[ *]$name\(" "$file"; then
        echo "$document:$line: $file defines no function $name"
        bad=1
    fi
done < "$list"
[ "$names" -gt 100 ] || { echo "$document: only $names names were found" && bad=1; }
[ "$bad" = 0 ] && echo "$names names are those of the tree"
exit "$bad"
