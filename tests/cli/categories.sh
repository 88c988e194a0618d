# Columns of categories that a tree model takes as numbers: the words come from the model's file or from --categories.
tree='{"default_left":[1,0,0,0,0],"left_children":[1,3,-1,-1,-1],"right_children":[2,4,-1,-1,-1],"split_conditions":[0,31,-2,-2,2],
    "split_indices":[0,1,0,0,0],"split_type":[1,0,0,0,0],"categories":[2],"categories_nodes":[0],"categories_segments":[0],
    "categories_sizes":[1],"tree_param":{"num_nodes":"5","size_leaf_vector":"0"}}'
xgboost() { # what the booster has besides its trees
    printf '{"learner":{"feature_names":["housing","age"],"feature_types":["c","int"],"gradient_booster":{"model":{%s"tree_info":[0],
    "trees":[%s]},"name":"gbtree"},"learner_model_param":{"base_score":"5E-1","num_class":"0","num_feature":"2","num_target":"1"},
    "objective":{"name":"binary:logistic"}},"version":[3,1,0]}\n' "$1" "$tree"
}
xgboost '' >old.json
# free, own and rent, as bytes
xgboost '"cats":{"enc":[{"offsets":[0,4,7,11],"values":[102,114,101,101,111,119,110,114,101,110,116]},{"offsets":[],"values":[]}]},' >new.json
xgboost '"cats":{"enc":[{"type":14,"values":[10,20,30]},{"offsets":[],"values":[]}]},' >numbers.json
cat >words.json <<'END'
{"housing":["free","own","rent"]}
END
cat >people.csv <<'END'
id,housing,age,sex
a,own,40,f
b,rent,50,m
c,free,20,f
d,,35,m
END
printf 'tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\nobjective=binary sigmoid:1\nfeature_names=housing age\nfeature_infos=0:1:2 [20:60]\n\nTree=0\nnum_leaves=2\nnum_cat=1\nsplit_feature=0\nthreshold=0\ndecision_type=1\nleft_child=-1\nright_child=-2\nleaf_value=2 -2\ncat_boundaries=0 1\ncat_threshold=3 \nis_linear=0\nshrinkage=1\n\n\nend of trees\n\nparameters:\nend of parameters\n\npandas_categorical:[["free", "own", "rent"]]\n' >light.txt

echo "# words from a file, from XGBoost's file, from LightGBM's"
sis predict -m old.json -i people.csv --id id --categories words.json
sis predict -m new.json -i people.csv --id id
sis predict -m light.txt -i people.csv --id id
echo "# numbers, as before"
sed 's/own/1/; s/rent/2/; s/free/0/' people.csv >codes.csv
sis predict -m old.json -i codes.csv --id id
sis predict -m new.json -i codes.csv --id id
sed 's/own/20/; s/rent/30/; s/free/10.0/' people.csv >tens.csv
sis predict -m numbers.json -i tens.csv --id id

echo "# subsets, proofs, changes: words everywhere"
sis explain -m new.json -i people.csv --id id --keep-columns sex --mask missing -t 0.5 --quiet --output subsets.jsonl
sis explain -m new.json -i people.csv --id id --keep-columns sex --mask mean:people.csv -t 0.5 --below --rows 1 --quiet | sis show -
sis explain -m new.json -i people.csv --id id --keep-columns sex --guarantee all -t 0.5 --rows 0 --quiet | sis show -
sis explain -m new.json -i people.csv --id id --keep-columns sex --method contrast -t 0.5 --fixed age --quiet --output changes.jsonl
sis show changes.jsonl
sis verify changes.jsonl -m new.json -i people.csv --id id >/dev/null
sis export changes.jsonl --to csv --each feature --where 'housing=own' | cut -d, -f1,9,15,16,21,22
sis summary changes.jsonl --by housing --quiet | head -4
sis explain -m old.json -i people.csv --id id --categories words.json --method contrast -t 0.5 --fixed age --rows 0 --quiet | sis show -
sis explain -m new.json -i people.csv --id id --missing median --mask missing -t 0.5 --rows 3 --quiet | sis show - | head -1
sis report changes.jsonl --output page.html --quiet && grep -c 'own 1, missing 1' page.html; grep -o '[0-9]* % are' page.html

echo "# mistakes"
printf 'housing,age\ncastle,30\n' >castle.csv
sis predict -m new.json -i castle.csv 2>&1
sis predict -m old.json -i people.csv --id id 2>&1
sis predict -m new.json -i people.csv --id id --missing error 2>&1
for text in '{"town":["a"]}' '{"age":["a"]}' '{"housing":"own"}' '{"housing":[]}' '{"housing":[["own"]]}' '[]' '{"housing":["own"' \
    '{"housing":["own","rent","own"]}' '{"housing":["own","rent"],"housing":["free"]}'; do
    echo "$text" >bad.json
    sis predict -m old.json -i people.csv --id id --categories bad.json 2>&1
done
sis predict -m old.json -i people.csv --id id --categories none.json 2>&1
sis predict -m cmd:cat -i people.csv --id id --categories words.json 2>&1
xgboost '"cats":{"enc":[{"offsets":[0,4,99],"values":[102,114,101,101]},{"offsets":[],"values":[]}]},' >wrong.json
sis predict -m wrong.json -i people.csv --id id 2>&1
sis show changes.jsonl | head -1
sed 's/"categories":\[\[/"categories":[7,[/' changes.jsonl | sis show - 2>&1 | head -1
sed 's/"categories":\[\["free"/"categories":[[1/' changes.jsonl | sis show - 2>&1 | head -1
true
