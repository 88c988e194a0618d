#!/bin/sh
# moderate.sh - a model of texts in awk, for `--model cmd:examples/moderate.sh`.
#
# How rude is a comment, from 0 to 1? A stand-in for a moderation service: a line
# {"inputs":["You are ...","Have a ..."]} comes in, a line {"outputs":[0.9,0]} goes out, as soon as it
# is known. Texts come as they were written, with the masked words left out.

# mawk waits for a full buffer unless it is told that somebody is waiting for the answer.
case $(awk -W version 2>&1 </dev/null) in
mawk*) interactive="-W interactive" ;;
*) interactive= ;;
esac

exec awk $interactive '
function rude(text,    sum, word) {
    text = " " tolower(text) " "
    gsub(/[^a-z]+/, " ", text)
    for (word in weight)
        if (index(text, " " word " "))
            sum += weight[word]
    return 1 - exp(-sum)
}

BEGIN { weight["idiot"] = 2.5; weight["stupid"] = 2; weight["hate"] = 1.5; weight["you"] = 0.5 }

{
    sub(/^\{"inputs":\["/, "")
    sub(/"\]\}$/, "")
    n = split($0, text, /","/)
    if (n == 0)
        n = split(" ", text, /,/) # one text without a word
    printf "{\"outputs\":["
    for (i = 1; i <= n; i++)
        printf "%s%.17g", (i > 1 ? "," : ""), rude(text[i])
    print "]}"
    fflush()
}'
