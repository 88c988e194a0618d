#!/bin/sh
# sklearn.sh - compare labels with scikit-learn, if it is installed.
#
#   sklearn.sh TEST
#
# TEST is build/tests/unit_analysis, whose test analysis_cases reads new cases of dbscan_cases.py. Without
# scikit-learn it prints a line and exits with status 77.
[ $# = 1 ] || {
    echo "usage: sklearn.sh TEST" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import sklearn' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || {
    echo "skipped: scikit-learn is not installed (Debian: python3-sklearn)"
    exit 77
}
for seed in 11 12; do
    "$python" "$here/dbscan_cases.py" $seed 10 > "$tmp/cases.txt" && "$1" analysis_cases "$tmp/cases.txt" || exit 1
done
