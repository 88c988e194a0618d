#!/bin/sh
# Print the tests that took longest in the last run of ctest.
#   slowest.sh BUILD [HOW-MANY]
log=$1/Testing/Temporary/LastTest.log
[ -f "$log" ] || exit 0
awk '/^[0-9]+\/[0-9]+ Test: / { name = $3 }
     /^Test time = / { printf "%9.2f s  %s\n", $4, name; total += $4; n++ }
     END { printf "%9.2f s  all %d tests, one after the other\n", total, n }' "$log" |
    sort -k1,1nr | head -n "$((${2:-10} + 1))" | { echo "Slowest tests:" && cat; }
