# --method quick: the promises of sis with fewer questions, counted at the model.
cat > count.sh <<'END'
while read -r line; do
    echo "$line" | sed 's/[^][0-9.,-]//g; s/\],\[/\n/g' | tr -d '[]' > rows
    wc -l < rows >> asked
    awk -F, '{ s = 0; for (i = 1; i <= NF; i++) s += $i * (i % 9 == 0); printf "%s%g", (NR > 1 ? "," : "{\"outputs\":["), s }
        END { print "]}" }' rows
done
END
awk 'BEGIN { for (v = 0; v < 100; v++) printf "%sv%d", v ? "," : "", v; print ""
    for (v = 0; v < 100; v++) printf "%s1", v ? "," : ""; print "" }' > ones.csv
ask() { sis explain -q -m 'cmd:sh count.sh' -i ones.csv --mask zero -t 6 --jobs 1 --timeout 20 "$@"; }
count() { awk '{ n += $1 } END { print n, "rows in", NR, "requests" }' asked; rm asked; }
ask --method quick -o quick.jsonl && count
ask --method sis -o sis.jsonl && awk '{ n += $1 } END { print (n > 4000) }' asked && rm asked
ask --method quick --prefer none -o none.jsonl && rm asked
for f in quick none; do
    grep -o '"method":"[a-z]*"\|"features":[^]]*]\|"complete":[a-z]*' $f.jsonl
done
sis verify -q quick.jsonl -m 'cmd:sh count.sh' -i ones.csv --mask zero --jobs 1 --timeout 20 --force -o audit.jsonl && echo holds
sis show quick.jsonl | head -3
ask --method quick --constraint length 2>&1 || echo "exit $?"
ask --method quick --prefer gradient 2>&1 || echo "exit $?"
ask --method sis --prefer none 2>&1 || echo "exit $?"
ask --method quick --max-subsets 1 | grep -o '"complete":[a-z]*'
# an order of the caller's: most important last
ask --method perturb --trace -o traced.jsonl
for order in "$(seq -s, 0 99)" "$(seq -s, 99 -1 0)" 1,1; do
    sed "s/\"order\":[^]]*/\"order\":[$order/" traced.jsonl > order.jsonl
    ask --method quick --orders order.jsonl --max-subsets 1 2>&1 | grep -o '"features":[^]]*]\|^sis.*'
done
ask --method gradient --orders traced.jsonl 2>&1 || echo "exit $?"
