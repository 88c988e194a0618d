#!/bin/sh
# terminal.sh [DATA] - the session that the picture in the README shows, in colour: a review, a DNA sequence
# and a digit with the shipped models. DATA is where sis data puts data sets. SIS names the program.
#
#   docs/terminal.sh | docs/terminal.py > docs/terminal.svg
set -eu
sis=${SIS:-sis}
models=$(cd "$(dirname "$0")/../models" && pwd)
data=${1:-${XDG_DATA_HOME:-${HOME:-.}/.local/share}/sis}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
COLUMNS=96
export COLUMNS
cat > "$work/review.txt" << 'END'
I went in expecting very little, and what a surprise. The story is simple but moving, the acting is superb and the music is wonderful. A few scenes in the middle are too long. Still, one of the best films I have seen this year, and I would happily watch it again.
END
type() { printf '\033[32m$\033[0m \033[1m%s\033[0m\n' "$*"; }
"$sis" explain -q -m "$models/imdb-cnn.onnx" -i "$work/review.txt" -t 0.85 -o "$work/review.jsonl"
"$sis" explain -q -m "$models/dna-ctcf.onnx" -i "$data/ctcf/test.fa" --rows 0 -t 0.99 -o "$work/dna.jsonl"
"$sis" explain -q -m "$models/mnist-cnn.onnx" -i "$data/mnist/t10k-images-idx3-ubyte.gz" --rows 9 -t 0.7 \
    -o "$work/digit.jsonl"
type sis show review.jsonl
"$sis" show --colour always "$work/review.jsonl"
type sis show dna.jsonl --motifs jaspar.wil
"$sis" show --colour always "$work/dna.jsonl" --motifs "$data/jaspar/jaspar_2016.wil"
type sis show digit.jsonl --subsets 2
"$sis" show --colour always --subsets 2 "$work/digit.jsonl"
