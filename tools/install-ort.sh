#!/bin/sh
# Install ONNX Runtime into BUILD/ort with npm: for `make bench`, the tests and SIS_ORT=BUILD/ort/libonnxruntime.so.1.
# It is never linked. Exits with 1 and one line without npm or network.
#   install-ort.sh BUILD
build=${1:-build}

# BUILD/ort/libonnxruntime.so.1 is the package's library for this machine.
link_library() {
    case $(uname -m) in
    x86_64 | amd64) machine=x64 ;;
    *) machine=arm64 ;;
    esac
    for file in "$build"/ort/node_modules/onnxruntime-node/bin/napi-v*/linux/$machine/libonnxruntime.so.1; do
        [ -f "$file" ] && ln -sf "${file#"$build/ort/"}" "$build/ort/libonnxruntime.so.1"
    done
}
[ -d "$build/ort/node_modules/onnxruntime-node" ] && link_library && exit 0
command -v npm >/dev/null 2>&1 || {
    echo "no ONNX Runtime: npm is not installed"
    exit 1
}
mkdir -p "$build/ort" &&
    npm install --prefix "$build/ort" --ignore-scripts --no-audit --no-fund --silent \
        onnxruntime-node >/dev/null 2>&1 || {
    echo "no ONNX Runtime: npm could not install onnxruntime-node"
    exit 1
}
link_library
