#!/bin/sh
# manual.sh - the manual pages in docs/ equal those that the program prints.
#
#   manual.sh [--update] SIS
#
# `sis help --man` must print docs/sis.1, `sis help --man NAME` docs/sis-NAME.1, and every page must
# belong to a command. --update writes them. If groff is installed, it must not warn. Help must fit 80
# columns, and show more than 15 options in groups.
set -u
update=0
[ "${1-}" = --update ] && update=1 && shift
[ $# = 1 ] || {
    echo "usage: manual.sh [--update] SIS" >&2
    exit 2
}
sis=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/../docs" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0

"$sis" help --man >"$tmp/sis.1" || exit 1
for name in $("$sis" help --names); do
    "$sis" help --man "$name" >"$tmp/sis-$name.1" || exit 1
done

if [ "$update" = 1 ]; then
    rm -f ./*.1
    cp "$tmp"/*.1 .
fi
for page in "$tmp"/*.1 ./*.1; do
    page=$(basename "$page")
    if [ ! -e "$tmp/$page" ]; then
        echo "docs/$page belongs to no command"
        bad=1
    elif ! diff -u "$page" "$tmp/$page"; then
        bad=1
    fi
done
[ "$bad" = 0 ] || echo "run: tests/manual.sh --update build/sis"

for name in "" $("$sis" help --names); do
    "$sis" help $name | awk -v name="$name" 'length > 80 { print "sis help " name ": more than 80 columns: " $0; bad = 1 }
        /^ +(-., )?--/ { n++ }
        /^[A-Z][a-z]+:$/ { groups++ }
        END { if (name && n > 15 && !groups) { print "sis help " name ": " n " options, not in groups"; bad = 1 }
              exit bad }' || bad=1
done

if command -v groff >/dev/null 2>&1; then
    warnings=$(groff -man -Tascii -ww -z "$tmp"/*.1 2>&1)
    [ -z "$warnings" ] || {
        echo "$warnings"
        bad=1
    }
else
    echo "groff is not here: the pages' macros were not checked"
fi
exit "$bad"
