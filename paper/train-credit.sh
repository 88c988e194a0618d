#!/bin/sh
# train-credit.sh [DATA [OUT]] - a small table model: will a loan be paid back?
#
# The cases are made up here, after a rule that is easy to check explanations against: income, savings
# and years in the job count for an applicant, debt, late payments and credit in use against, each with
# some noise; age and the number of accounts do not matter. Writes DATA/credit/train.csv and test.csv
# (default: where sis data puts data sets) and OUT/credit.onnx (default: models). SIS names the program.
set -eu
sis=${SIS:-sis}
data=${1:-${XDG_DATA_HOME:-${HOME:-.}/.local/share}/sis}
out=${2:-models}
mkdir -p "$data/credit"
cases() { # COUNT SEED; numbers come from a generator of our own, so that every awk makes the same
    awk -v n="$1" -v s="$2" '
        function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
        function noise() { return u() + u() + u() + u() - 2 }
        BEGIN {
            print "age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used,repaid"
            for (i = 0; i < n; i++) {
                age = 20 + int(50 * u()); income = 15000 + int(85000 * u() * u())
                debt = int(20000 * u() * u()); savings = int(30000 * u() * u() * u())
                late = int(6 * u() * u()); accounts = 1 + int(8 * u()); years = int((age - 18) * u())
                used = int(100 * u()) / 100
                z = (income - 36000) / 15000 + (savings - 7500) / 6000 + (years - 8) / 8
                z += (4500 - debt) / 4000 + 1.2 * (1.2 - late) + 2 * (0.5 - used) + noise()
                printf "%d,%d,%d,%d,%d,%d,%d,%.2f,%d\n", age, income, debt, savings, late, accounts,
                    years, used, (z > 0)
            }
        }'
}
cases 5000 1 > "$data/credit/train.csv"
cases 1000 2 > "$data/credit/test.csv"
"$sis" train mlp --input "$data/credit/train.csv" --label repaid --test "$data/credit/test.csv" \
    --validation 0.2 --hidden 32 --output "$out/credit.onnx" --resume
