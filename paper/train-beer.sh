#!/bin/sh
# train-beer.sh REVIEWS.tsv [ASPECT [OUT [NETWORK [OPTIONS]]]] - the paper's text networks on the ratings of beer reviews
# (its sections S4.2 and S4.7): mean squared error and correlation.
#
# REVIEWS.tsv has a header with a column "text" and one for each aspect, rated 1 to 5. Writes
# OUT/beer-ASPECT.onnx for the LSTM, or OUT/beer-ASPECT-lstm.onnx and -cnn.onnx if NETWORK is text-lstm or
# text-cnn (defaults: aroma, the current folder). OPTIONS are passed to sis train. $SIS is the program. Every
# tenth line is held out for the test.
set -eu
sis=${SIS:-sis}
reviews=${1:?usage: train-beer.sh REVIEWS.tsv [ASPECT [OUT [NETWORK]]]}
aspect=${2:-aroma}
out=${3:-.}
network=${4:-text-lstm}
name=$out/beer-$aspect${4:+-${4#text-}}.onnx
[ $# -le 4 ] && set -- || shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'NR == 1 || NR % 10 == 0' "$reviews" > "$work/test.tsv"
awk 'NR == 1 || NR % 10 != 0' "$reviews" > "$work/train.tsv"
"$sis" train "$network" --input "$work/train.tsv" --test "$work/test.tsv" --label "$aspect" \
    --range 1:5 --validation 0.1 --batch 32 --rate 0.002 --epochs 4 \
    --force --output "$name" "$@"
