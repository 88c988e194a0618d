# Nothing is explained: the remark at the end and sis show say why, and what to ask instead.
ask() {
    echo "== $*"
    sis explain -m "cmd:$SIS_EXAMPLES/credit.sh" -i "$SIS_EXAMPLES/credit.csv" \
        --mask "mean:$SIS_EXAMPLES/credit.csv" -o out.jsonl --force "$@" 2>&1
}
ask -t 70
ask -t 0.9999
sis show out.jsonl | sed -n 1,3p
ask -t 0.0001 --below
ask -t 0.9 --below --rows 0,2
ask -t 0.3 --rows 4:6
sis show out.jsonl | sed -n 1,3p
ask -t 0.55 --rows 1,3
ask -t 0.4 --rows 0:3
echo "== as it says"
ask -t 0.6 --rows 5
ask -t 0.51 --below --rows 1

echo "== a model that looks at nothing"
cat > flat.sh <<'M'
while read -r line; do
    n=$(echo "$line" | tr -cd '[' | wc -c)
    echo "{\"outputs\":[$(yes 1 | head -n $((n - 1)) | paste -sd, -)]}"
done
M
sis explain -m 'cmd:sh flat.sh' -i "$SIS_EXAMPLES/credit.csv" --mask zero -t 0.8 --rows 0 -q | sis show - | tail -3

# On a terminal (where there may be one) it says how to read what goes by.
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    script -qec "sis explain -m 'cmd:$SIS_EXAMPLES/credit.sh' -i $SIS_EXAMPLES/credit.csv --mask zero -t 0.8 --rows 0" \
        /dev/null </dev/null | tr -d '\r' | grep -q '^sis explain: to read records, put | sis show - behind' ||
        echo "on a terminal: nothing says how to read records"
fi
