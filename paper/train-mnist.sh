#!/bin/sh
# train-mnist.sh [DATA [OUT]] - the paper's two MNIST networks (its sections S3.1 and S3.5).
#
# Fetches MNIST into DATA (default: the folder of sis data) and writes OUT/mnist-cnn.onnx and
# OUT/mnist-mlp.onnx (default: models). $SIS is the program. After an interruption it continues from the
# last checkpoint.
set -eu
sis=${SIS:-sis}
data=${1:-${XDG_DATA_HOME:-${HOME:-.}/.local/share}/sis}
out=${2:-models}
[ -e "$data/mnist/train-images-idx3-ubyte.gz" ] || "$sis" data mnist --dir "$data"
train() { # ARCHITECTURE EPOCHS
    "$sis" train "$1" --input "$data/mnist/train-images-idx3-ubyte.gz" \
        --test "$data/mnist/t10k-images-idx3-ubyte.gz" --epochs "$2" --output "$out/$1.onnx" --resume
}
train mnist-cnn 7
train mnist-mlp 20
