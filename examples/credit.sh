#!/bin/sh
# credit.sh - a model in awk, for `--model cmd:examples/credit.sh`.
#
# A credit score by logistic regression over the eight columns of credit.csv; credit.py is the same
# model in Python. It speaks the protocol of `cmd:` models: a line {"inputs":[[...],[...]]} comes in,
# a line {"outputs":[0.1,0.9]} goes out, as soon as it is known.

# mawk waits for a full buffer unless it is told that somebody is waiting for the answer.
case $(awk -W version 2>&1 </dev/null) in
mawk*) interactive="-W interactive" ;;
*) interactive= ;;
esac

exec awk $interactive '
# name, mean, scale, weight: one column of the table each
function column(name, m, s, w) { n++; names[n] = name; mean[n] = m; scale[n] = s; weight[n] = w }

BEGIN {
    column("age",             42,    12,    0.25)
    column("income",          38000, 15000, 0.90)
    column("debt",            9000,  8000, -0.80)
    column("savings",         6000,  7000,  0.60)
    column("late_payments",   1.2,   1.8,  -1.40)
    column("open_accounts",   4,     2.5,  -0.20)
    column("years_employed",  7,     6,     0.55)
    column("credit_used",     0.4,   0.3,  -1.10)
    bias = 0.4
}

# One row of numbers separated by commas -> the probability that the loan is repaid.
function score(row,    values, found, i, z) {
    found = split(row, values, ",")
    if (found != n) { problem = "expected " n " values a row, found " found; return 0 }
    z = bias
    for (i = 1; i <= n; i++) {
        if (values[i] !~ /^[-+0-9.eE]+$/) { problem = names[i] " is not a number"; return 0 }
        z += weight[i] * ((values[i] - mean[i]) / scale[i])
    }
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z))
}

{
    problem = ""
    gsub(/[ \t\r]/, "")
    if ($0 !~ /^\{"inputs":\[\[.*\]\]\}$/) problem = "expected {\"inputs\":[[...],...]}"
    count = problem ? 0 : split(substr($0, 13, length($0) - 15), rows, /\],\[/)
    for (r = 1; r <= count && !problem; r++)
        scores[r] = score(rows[r])
    answer(count)
    fflush()
}

function answer(count,    r) {
    if (problem) {
        gsub(/["\\]/, "\\\\&", problem)
        print "{\"error\":\"" problem "\"}"
        return
    }
    printf "{\"outputs\":["
    for (r = 1; r <= count; r++)
        printf "%s%.17g", (r > 1 ? "," : ""), scores[r]
    print "]}"
}
'
