#!/bin/sh
# train-beer.sh REVIEWS.tsv [ASPECT [OUT]] - the paper's LSTM on the ratings of beer reviews (its
# section S4.2): mean squared error and correlation.
#
# REVIEWS.tsv has a header with a column "text" and one for each aspect, rated 1 to 5. Writes
# OUT/beer-ASPECT.onnx (default: aroma, the folder one is in). SIS names the program. Every tenth line is
# kept for the test and never seen in training.
set -eu
sis=${SIS:-sis}
reviews=${1:?usage: train-beer.sh REVIEWS.tsv [ASPECT [OUT]]}
aspect=${2:-aroma}
out=${3:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'NR == 1 || NR % 10 == 0' "$reviews" > "$work/test.tsv"
awk 'NR == 1 || NR % 10 != 0' "$reviews" > "$work/train.tsv"
"$sis" train text-lstm --input "$work/train.tsv" --test "$work/test.tsv" --labels "$aspect" \
    --range 1:5 --validation 0.1 --batch 32 --rate 0.002 --epochs 4 --output "$out/beer-$aspect.onnx"
