#!/bin/sh
# train-imdb.sh [DATA [OUT]] - the paper's text networks (its sections S4.2 and S4.7) on IMDB reviews.
#
# Fetches the reviews into DATA (default: the folder of sis data) and writes OUT/imdb-cnn.onnx and
# OUT/imdb-lstm.onnx (default: models). $SIS is the program. After an interruption it continues from the
# last checkpoint.
set -eu
sis=${SIS:-sis}
data=${1:-${XDG_DATA_HOME:-${HOME:-.}/.local/share}/sis}
out=${2:-models}
[ -e "$data/imdb/train.jsonl.gz" ] || "$sis" data imdb --dir "$data"
train() { # NAME ARCHITECTURE OPTIONS...
    name=$1
    shift
    "$sis" train "$@" --input "$data/imdb/train.jsonl.gz" --words 10000 --loss binary --output "$out/$name.onnx" --resume
}
train imdb-cnn text-cnn --test "$data/imdb/test.jsonl.gz" --validation 0.1 --dropout 0.5 --epochs 5 --patience 1
train imdb-lstm text-lstm --seed 2 --validation 0.08 --keep best --length 400 --dropout 0.3 --batch 64 --rate 0.002 --epochs 5
