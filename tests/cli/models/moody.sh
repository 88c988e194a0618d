#!/bin/sh
# A model for tests that is not well: the sum of a row, but it ends without an answer at every seventh
# request of its life, and at any request that holds the word it is given; and once, as long as there is
# a file `hang`, it answers nothing at all.
n=0
while read -r line; do
    n=$((n + 1))
    if rm hang 2>/dev/null; then
        sleep 60
    fi
    [ $n -lt 7 ] || exit 1
    case $line in
    *"${1-nothing}"*) exit 1 ;;
    esac
    printf '%s\n' "$line" | "$(dirname "$0")/sum.sh"
done
