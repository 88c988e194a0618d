# Models of XGBoost and LightGBM: described, asked, explained, refused.
cp "$SIS_EXAMPLES/credit-trees.json" model.of.mine
cp "$SIS_EXAMPLES/credit.csv" rows.csv
sis model model.of.mine
sis predict -m model.of.mine -i rows.csv --rows 0:2
# Other columns, another order, missing cells.
awk -F, -v OFS=, 'NR == 2 { $3 = ""; $4 = "NA" } { print $8, $1, $2, $3, $4, $5, $6, $7, "x" NR }' rows.csv > gaps.csv
sis predict -m model.of.mine -i gaps.csv --rows 0:2
sed 's/"age"/" age "/' model.of.mine > blanks.json # as tables with blanks behind their commas leave them
sis predict -m blanks.json -i gaps.csv --rows 0
sis explain -m model.of.mine -i gaps.csv --mask mean:gaps.csv --threshold 0.8 --rows 0 --output r.jsonl
sis show r.jsonl
sis verify r.jsonl -m model.of.mine -i gaps.csv --mask mean:gaps.csv --rows 0 --output audit.jsonl
sis explain -m model.of.mine -i gaps.csv --mask missing --threshold 0.8 --rows 0 --quiet | sis show -
sis explain -j 1 -m cmd:"$SIS_EXAMPLES"/credit.sh -i rows.csv --mask missing --threshold 0.8 2>&1 || echo "exit $?"
sed '2s/^[^,]*/old/' rows.csv > word.csv
sis predict -m model.of.mine -i word.csv 2>&1 || echo "exit $?"
cut -d, -f1-7 rows.csv > short.csv
sis predict -m model.of.mine -i short.csv 2>&1 || echo "exit $?"
printf 'tree\nmax_feature_idx=0\nobjective=binary sigmoid:2\nfeature_names=a\n\nTree=0\nnum_leaves=2\nsplit_feature=0\nthreshold=0.5\ndecision_type=8\nleft_child=-1\nright_child=-2\nleaf_value=-1 1\n\nend of trees\n' > light.txt
printf 'a\n0.5\n0.6\nNA\n' > a.csv
sis model light.txt
sis predict -m light.txt -i a.csv
echo '{"learner":{}}' > bad.json
sis predict -m bad.json -i a.csv 2>&1 || echo "exit $?"
sis predict -m none.ubj -i a.csv 2>&1 || echo "exit $?"
