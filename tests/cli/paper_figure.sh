# Scripts of experiments: a figure that nothing can be drawn of is said to be none; any other failure ends them.
results=$SIS_EXAMPLES/../tests/report/results
mkdir paper models
cp "$SIS_EXAMPLES/../paper/common.sh" paper
cat > paper/toy <<'END'
. "$(dirname "$0")/common.sh"
figure 1 sizes "Sizes" "$results"
figure 2 clusters "Clusters" "$results"
figure 3 sizes "Sizes again" "${broken:-$results}"
echo "all drawn"
END
export results="$results/image.jsonl" broken
sh paper/toy 2>&1
cat toy-results/paper.md
ls toy-results/figures
echo "a file that is missing"
broken=nothing.jsonl
sh paper/toy 2>&1
echo "exit $?"
echo "a file that cannot be written"
broken=
rm toy-results/figures/figure-1.svg
mkdir toy-results/figures/figure-1.svg
sh paper/toy 2>&1
echo "exit $?"
