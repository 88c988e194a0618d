# Parts of images as features: grids, superpixels, and from parts to pixels.
cat > bright.sh <<'END'
while read -r line; do
    echo "$line" | sed 's/[^][0-9.,-]//g; s/\],\[/\n/g' | tr -d '[]' |
        awk -F, '{ s = 0; for (i = 1; i <= NF; i++) { y = int((i - 1) / 16); x = (i - 1) % 16
            if (y > 3 && y < 9 && x > 5 && x < 11) s += $i } printf "%s%g", (NR > 1 ? "," : "{\"outputs\":["), s / 25 }
        END { print "]}" }'
done
END
{
    printf '\223NUMPY\001\000\166\000'
    printf "%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 16, 16), }"
    for v in $(seq 0 255); do printf '\001'; done
} > ones.npy
ask() { sis explain -q -m 'cmd:sh bright.sh' -i ones.npy --mask zero -t 0.3 --jobs 1 --timeout 20 --method quick "$@"; }
for features in grid:16 superpixel:16; do
    ask --features $features -o parts.jsonl
    grep -o '"n_features":[0-9]*\|"complete":[a-z]*' parts.jsonl
    ask --features $features --refine --max-subsets 1 -o pixels.jsonl
    grep -o '"n_features":[0-9]*\|"score":0.32' pixels.jsonl | sort -u
    sis verify -q pixels.jsonl -m 'cmd:sh bright.sh' -i ones.npy --mask zero --jobs 1 --timeout 20 --features $features --refine --force -o audit.jsonl && echo holds
done
ask --features grid:none 2>&1 || echo "exit $?"
ask --refine 2>&1 || echo "exit $?"
ask --features grid:4 --refine --method perturb 2>&1 || echo "exit $?"
