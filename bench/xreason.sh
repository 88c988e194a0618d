#!/bin/sh
# Explain every instance of a published benchmark of formal explanations with --guarantee all, and let `sis
# verify` prove and attack every record again.
#
#     bench/xreason.sh SIS FOLDER [NAME...]
#
# FOLDER holds NAME.json (XGBoost) and NAME.csv (instances). Prints a line for each model: instances, mean
# size of the subset, records that hold, seconds to explain and to verify, peak memory in MiB (with GNU time).
set -eu
sis=$1 folder=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
peak=
[ -x /usr/bin/time ] && peak="/usr/bin/time -a -o $work/peak -f %M"
[ $# -gt 0 ] || set -- $(cd "$folder" && ls ./*.json | sed 's|^\./||; s|\.json$||')

now() { date +%s.%N; }

# Both sides of a decision: --keep class if there are classes, else 0.5 from above and from below.
decisions() {
    if "$sis" explain -q -m "$folder/$1.json" -i "$folder/$1.csv" --rows 0 --guarantee all --keep class \
        --max-subsets 1 >/dev/null 2>&1; then
        echo "--keep class"
    else
        echo "--threshold 0.5"
        echo "--threshold 0.5 --below"
    fi
}

printf '%-18s %9s %9s %13s %8s %8s %6s\n' model instances "mean size" "records hold" explain verify MiB
for name; do
    n=0 features=0 hold=0 records=0 explain=0 verify=0
    : >"$work/peak"
    decisions "$name" >"$work/decisions"
    while read -r decision; do
        rm -f "$work/r.jsonl" "$work/a.jsonl"
        t0=$(now)
        $peak "$sis" explain -q -m "$folder/$name.json" -i "$folder/$name.csv" $decision \
            --guarantee all --max-subsets 1 --output "$work/r.jsonl"
        t1=$(now)
        $peak "$sis" verify "$work/r.jsonl" -m "$folder/$name.json" -i "$folder/$name.csv" \
            --output "$work/a.jsonl" >"$work/said" 2>&1 || true
        t2=$(now)
        decided=$(grep -c '"status":"\(explained\|default_decision\)"' "$work/r.jsonl" || true)
        sizes=$(grep '"status":"explained"' "$work/r.jsonl" |
            sed 's/.*"subsets":\[{"features":\[\([^]]*\)\].*/\1/' | awk -F, '{ n += NF } END { print n + 0 }')
        said=$(sed -n 's/.*: \([0-9]*\) of \([0-9]*\) records hold.*/\1 \2/p' "$work/said")
        n=$((n + decided)) features=$((features + sizes))
        hold=$((hold + ${said% *})) records=$((records + ${said#* }))
        explain=$(echo "$explain $t0 $t1" | awk '{ print $1 + $3 - $2 }')
        verify=$(echo "$verify $t1 $t2" | awk '{ print $1 + $3 - $2 }')
    done <"$work/decisions"
    printf '%-18s %9d %9.3f %6d/%6d %8.2f %8.2f %6.1f\n' "$name" "$n" \
        "$(echo "$features $n" | awk '{ print $1 / $2 }')" "$hold" "$records" "$explain" "$verify" \
        "$(sort -n "$work/peak" | tail -1 | awk '{ print $1 / 1024 }')"
done
