#!/bin/sh
# Fuzz a reader: run.sh FUZZER SEEDS-PROGRAM SECONDS. Seeds are made on the spot, those of data by the
# fuzzer's own starting examples; findings stay in the temporary folder, whose name is printed.
set -eu
fuzzer=$(realpath "$1") seeds=$(realpath "$2") seconds=$3
folder=$(mktemp -d)
mkdir "$folder/corpus"
case $fuzzer in
*onnx) "$seeds" "$folder/corpus" ;;
*trees*) "$seeds" "$folder/corpus" "${fuzzer##*_}" ;;
*walk) "$seeds" "$folder/corpus" walk && cp "$(dirname "$0")"/walk/* "$folder/corpus" ;;
esac
cd "$folder"
if ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 "$fuzzer" corpus \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -malloc_limit_mb=3000 -max_len=20000 \
    -print_final_stats=1 >log 2>&1; then
    grep -E '^stat::(number_of_executed_units|peak_rss_mb)' log
    rm -rf "$folder"
else
    tail -60 log
    echo "what was found lies in $folder"
    exit 1
fi
