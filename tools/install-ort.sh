#!/bin/sh
# Install ONNX Runtime for `make bench` into BUILD/ort with npm. It is only ever compared with, never
# linked. Fails quietly (exit 1, one line) where npm or the network is missing.
#   install-ort.sh BUILD
build=${1:-build}
[ -d "$build/ort/node_modules/onnxruntime-node" ] && exit 0
command -v npm >/dev/null 2>&1 || {
    echo "ONNX Runtime is not compared: npm is not installed"
    exit 1
}
mkdir -p "$build/ort" &&
    npm install --prefix "$build/ort" --ignore-scripts --no-audit --no-fund --silent \
        onnxruntime-node >/dev/null 2>&1 || {
    echo "ONNX Runtime is not compared: npm could not install onnxruntime-node"
    exit 1
}
