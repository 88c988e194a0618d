#!/bin/sh
# --method quick against sis: rows that the model scores, and size of the first subset (pixels, words or columns).
#
#     bench/quick.sh [--http PORT] SIS MODEL INPUT [OPTION...]
#
# Prints a line for each method: explained examples, rows (questions) an example, median size of the first subset, seconds.
# --http: the model runs behind `sis serve` on this machine (Open Inference Protocol v2), and the server counts rows and
# requests.
set -eu
port=
[ "$1" = --http ] && { port=$2; shift 2; }
sis=$1 model=$2 input=$3
shift 3
work=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
asked=$model

if [ -n "$port" ]; then
    "$sis" serve --model "$model" --name m --port "$port" >"$work/log" 2>&1 &
    server=$!
    asked=http://127.0.0.1:$port/v2/models/m
    for i in 1 2 3 4 5 6 7 8 9 10; do
        curl -sf "http://127.0.0.1:$port/v2/health/ready" >/dev/null && break
        sleep 0.2
    done
fi

# Rows and requests that the server has counted so far; this query is a request too.
counted() {
    [ -z "$port" ] || curl -s "http://127.0.0.1:$port/metrics" |
        awk '/^sis_predictions_total/ { rows = $2 } /^sis_requests_total/ { n += $2 } END { print rows, n }'
}

for method in sis quick; do
    before=$(counted)
    "$sis" explain -q --model "$asked" --input "$input" --max-subsets 1 --jobs 1 --method $method \
        --output "$work/$method.jsonl" "$@"
    said=$([ -z "$port" ] || echo "$before $(counted)" |
        awk '{ printf ", the server counted %d rows in %d requests", $3 - $1, $4 - $2 - 1 }')
    grep '"status":"explained"' "$work/$method.jsonl" |
        sed 's/.*"subsets":\[{"features":\[\([^]]*\)\].*"evaluations":\([0-9]*\).*"seconds":\([0-9.e-]*\).*/\1 \2 \3/' |
        awk '{ print split($1, f, ","), $2, $3 }' | sort -n |
        awk -v m=$method -v said="$said" '{ size[NR] = $1; rows += $2; seconds += $3 }
            END { if (NR) printf "%-6s %d explained, %.0f rows each, median size %g, %.2f s%s\n", m, NR, rows / NR,
                (size[int((NR + 1) / 2)] + size[int(NR / 2) + 1]) / 2, seconds, said }'
done
