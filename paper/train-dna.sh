#!/bin/sh
# train-dna.sh [DATA [OUT]] - the paper's DNA network (its section S2.1) on sequences with planted
# CTCF motifs.
#
# Makes 20,000 sequences of 101 bases in DATA (default: the folder of sis data), half of them with a motif
# drawn from JASPAR's matrix MA0139.1 on either strand, and writes OUT/dna-ctcf.onnx (default: models).
# $SIS is the program.
set -eu
sis=${SIS:-sis}
data=${1:-${XDG_DATA_HOME:-${HOME:-.}/.local/share}/sis}
out=${2:-models}
[ -e "$data/jaspar" ] || "$sis" data jaspar --dir "$data"
[ -e "$data/ctcf/train.fa" ] ||
    "$sis" data dna --motif MA0139.1 --count 20000 --name ctcf --dir "$data"
"$sis" train dna-cnn --input "$data/ctcf/train.fa" --test "$data/ctcf/test.fa" --validation 0.125 \
    --output "$out/dna-ctcf.onnx" --resume
