#!/bin/sh
# Install llama.cpp's runtime into BUILD/llm with npm, for the tests with the label llm. It is never linked. The tests also
# need the model stories260K.gguf (tests/llm/run.py says where). Exits with 1 and one line without npm or network.
#   install-llama.sh BUILD
build=${1:-build}
[ -z "${SIS_LLM-}" ] || exit 0
[ -d "$build/llm/node_modules/node-llama-cpp" ] && exit 0
command -v npm >/dev/null 2>&1 || {
    echo "no llama.cpp: npm is not installed"
    exit 1
}
mkdir -p "$build/llm" &&
    npm install --prefix "$build/llm" --omit=optional --ignore-scripts --no-audit --no-fund --silent \
        node-llama-cpp @node-llama-cpp/linux-x64 >/dev/null 2>&1 || {
    echo "no llama.cpp: npm could not install node-llama-cpp"
    exit 1
}
