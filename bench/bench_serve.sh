#!/bin/sh
# `sis serve` with each shipped model: time until it listens, explanations a second with 32 connections, and memory.
# The load needs wrk.
#   bench_serve.sh SIS SOURCE [SECONDS]
set -u
sis=$1 source=$2 seconds=${3:-10}
tmp=$(mktemp -d) || exit 1
for model in "$source"/models/*.onnx; do # cold start: the best of three
    best=1000000
    for _ in 1 2 3; do
        : > "$tmp/log"
        began=$(date +%s%N)
        "$sis" serve --port 0 -m "$model" 2>"$tmp/log" &
        server=$!
        until grep -q listening "$tmp/log"; do kill -0 $server || exit 1; done
        took=$((($(date +%s%N) - began) / 100000))
        [ $took -lt $best ] && best=$took
        kill $server && wait $server
    done
    printf '%-10s listens after %d.%d ms\n' "$(basename "$model" .onnx)" $((best / 10)) $((best % 10))
done
command -v wrk >/dev/null 2>&1 || {
    echo "no load: needs wrk (Debian: wrk)"
    rm -rf "$tmp"
    exit 0
}
"$sis" serve --port 0 --queue 100 -m "$source/models/credit.onnx" -m "$source/models/imdb-cnn.onnx" 2>"$tmp/log" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$tmp"' EXIT
until grep -q listening "$tmp/log"; do kill -0 $server || exit 1; sleep 0.1; done
base=$(sed -n 's/.*\(http:[^ ]*[0-9]\)\/.*/\1/p' "$tmp/log")
memory() { awk '/VmRSS/ { print int($2 / 1024) }' /proc/$server/status; }
load() { # MODEL BODY
    printf 'wrk.method = "POST"\nwrk.body = [==[%s]==]\n' "$2" > "$tmp/ask.lua"
    before=$(memory)
    wrk -t1 -c32 -d"$seconds"s --timeout 30s -s "$tmp/ask.lua" "$base/v1/models/$1:explain" > "$tmp/out"
    awk -v model="$1" -v before="$before" -v after="$(memory)" '
        /Requests\/sec/ { rate = $2 } /requests in/ { n = $1 } /Non-2xx/ { bad = $NF } /Socket errors/ { sockets = $0 }
        /^ *Latency/ { latency = $2 }
        END { printf "%-10s %8.0f explanations a second over 32 connections, %s on average, %d answered, %d errors%s, memory %d to %d MiB\n",
              model, rate, latency, n, bad, sockets, before, after }' "$tmp/out"
}
load credit '{"instances":[[40,52000,4000,12000,0,3,8,0.15]],"parameters":{"threshold":0.8}}'
load imdb-cnn '{"instances":["A wonderful, moving film with a great cast and a story that stays with you; the end is dull, though."],"parameters":{"threshold":0.8}}'
load credit '{"instances":[[40,52000,4000,12000,0,3,8,0.15]],"parameters":{"threshold":0.8}}'
