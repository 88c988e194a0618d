#!/bin/sh
# Every relative link of the documents names an existing file, and every #anchor a heading of it. The index,
# docs/README.md, links to every page of docs/.
#   links.sh [FOLDER]     the source folder; by default the one that holds tests/
set -u
cd "${1:-$(dirname "$0")/..}" || exit 2

# "FILE:LINE TARGET" for each link outside of code; "#FILE#ANCHOR" for each heading, as GitHub names it.
scan() {
    awk '
        FNR == 1 { fence = "" }
        /^ *(```|~~~)/ {
            mark = $1; sub(/[^`~].*/, "", mark)
            if (!fence) fence = mark
            else if (index($1, fence) == 1) fence = ""
            next
        }
        fence { next }
        /^#+ / {
            name = tolower($0); sub(/^#+ +/, "", name); sub(/ +$/, "", name)
            gsub(/\]\([^)]*\)/, "", name); gsub(/[^a-z0-9 _-]/, "", name); gsub(/ /, "-", name)
            again = seen[FILENAME, name]++
            print "#" FILENAME "#" name (again ? "-" again : "")
        }
        !/^    / || /^ *[-*0-9]/ {
            text = $0; gsub(/`[^`]*`/, "", text)
            while (match(text, /\]\([^) ]+/)) {
                print FILENAME ":" FNR " " substr(text, RSTART + 2, RLENGTH - 2)
                text = substr(text, RSTART + RLENGTH)
            }
        }' "$@"
}

tmp=$(mktemp) || exit 1
trap 'rm -f "$tmp"' EXIT
scan ./*.md docs/*.md paper/*.md >"$tmp"

bad=0
n=0
while read -r where target; do
    case $where in \#*) continue ;; esac
    case $target in http://* | https://* | mailto:*) continue ;; esac
    n=$((n + 1))
    file=${where%:*}
    path=${target%%#*}
    case $path in
    "") path=$file ;;
    *) path=$(dirname "$file")/$path ;;
    esac
    if [ ! -e "$path" ]; then
        echo "$where: no such file: $target"
        bad=1
        continue
    fi
    case $target in
    *.md\#* | \#*)
        folder=$(cd "$(dirname "$path")" && pwd)
        name=.${folder#"$(pwd)"}/$(basename "$path")
        case $name in ./docs/* | ./paper/*) name=${name#./} ;; esac
        grep -qxF "#$name#${target#*#}" "$tmp" || {
            echo "$where: no such heading: $target"
            bad=1
        }
        ;;
    esac
done <"$tmp"

for page in docs/*.md; do
    name=$(basename "$page")
    [ "$name" = README.md ] || grep -q "^docs/README.md:[0-9]* $name\(#.*\)\{0,1\}$" "$tmp" || {
        echo "docs/README.md does not link $name"
        bad=1
    }
done
[ "$bad" = 0 ] && echo "$n links lead to files and headings"
exit "$bad"
