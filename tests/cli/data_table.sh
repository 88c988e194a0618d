# Tables with categories and labels: a column is one feature, whatever the number of its values.
cat > people.csv <<'END'
age,sex,charge,priors,risk
0.3,Male,F,2,high
0.9,Female,M,0,low
0.1,Male,"O, other",5,high
END
model="cmd:$SIS_MODELS/sum.sh"
echo "words are an error"
sis explain -q -m "$model" -i people.csv --mask zero -t 3 2>&1
echo "unless they are categories, or the label"
sis explain -q -m "$model" -i people.csv --label risk --categorical --mask zero -t 2.5 > out.jsonl
sed 's/.*"status":"\([^"]*\)".*"n_features":\([0-9]*\).*"subsets":\(.*\),"rest.*"shape":\([^]]*\]\),"values":\([^]]*\]\).*"names":\([^]]*\]\),"value_names.*"feature_map":\([^]]*\]\),"label":"\([^"]*\)".*/\1 \2 \3 \4 \5 \6 \7 \8/' out.jsonl | sed 's/.*not_decided.*/below the threshold/'
sis explain -q -m "$model" -i people.csv --label risk --categorical --mask mean:people.csv -t 2.5 | grep -o '"mask":[^]]*]' | head -1
echo "a category is shown by its name"
sis show out.jsonl | sed -n 1,6p
sis report out.jsonl -q -o - | grep -o '<tr data-f="[12]"[^>]*>.*' | head -3
echo "so are columns of 0 and 1 that are put together by their names"
printf 'age,home_own,home_rent,job=a,job=b\n0,1,0,0,1\n0,0,1,0.5,0.5\n' > hot.csv
printf '\223NUMPY\001\000\166\000%-117s\n\000\001\001\002\002' "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }" > map.npy
sis explain -q -m "$model" -i hot.csv --features map.npy --mask zero -t 2 -o hot.jsonl
grep -o '"names":.*' hot.jsonl | head -1 | sed 's/,"provenance":.*}/}/'
sis show hot.jsonl
echo "unless two features would have one name"
printf '\223NUMPY\001\000\166\000%-117s\n\000\001\001\001\002' "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }" > map.npy
printf 'age,home_x_1,home_x_2,home_y,home\n0,1,0,0,1\n' > hot.csv
sis explain -q -m "$model" -i hot.csv --features map.npy --mask zero -t 2 | grep -o '"names":.*' | sed 's/,"provenance":.*}/}/'
printf '\223NUMPY\001\000\166\000%-117s\n\000\000\001\001\002\002' "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }" > map.npy
printf 'x=1,x=2,x=1=p,x=1=q,x=3,x=4\n0,1,0,0,1,0\n' > hot.csv
sis explain -q -m "$model" -i hot.csv --features map.npy --mask zero -t 2 | grep -o '"names":.*"value'
echo "a mask is made of columns by name, whatever their order and what else is there"
printf 'a,b\n1,20\n' > ab.csv
printf 'b,note,a\n40,x,3\n60,y,5\n' > train.csv
sis explain -q -m "$model" -i ab.csv --mask mean:train.csv -t 3 | grep -o '"mask":[^]]*]'
sis explain -q -m "$model" -i train.csv --label note --mask mean:ab.csv -t 3 --rows 0 | grep -o '"mask":[^]]*]'
echo "what can be wrong"
sis explain -q -m "$model" -i people.csv --label none --categorical --mask zero -t 3 2>&1
printf 'age,sex\n1,Male\n' > men.csv
sis explain -q -m "$model" -i people.csv --categorical --mask mean:men.csv -t 3 2>&1
printf 'age,sex,charge,priors,risk\n0.3,1,F,2,high\n' > others.csv
sis explain -q -m "$model" -i people.csv --categorical --mask mean:others.csv -t 3 2>&1
echo "categories come from the input and the data of the mask together"
sed s/Female/Other/ people.csv > others.csv
sis explain -q -m "$model" -i people.csv --categorical --mask mean:others.csv -t 3 | grep -o '"value_names":[^]]*]' | head -1
sis explain -q -m "$model" -i people.csv --label risk --categorical sex,charge --mask mean:others.csv -t 3 | grep -o '"value_names":[^]]*]' | head -1
sis predict -q -m "$model" -i people.csv --label risk --categorical sex 2>&1
echo "a child that takes cells is told what it got"
sis predict -m 'cmd:read -r l; echo too many values >&2; exit 1' -i people.csv --label risk --categorical 2>&1
echo "a model knows its categories"
make_model tiny-colours c.onnx 1 'sis.names=["sex=Male","age"]'
sis explain -q -m c.onnx -i people.csv --mask zero -t 3 2>&1
make_model tiny-colours c.onnx 1 'sis.names=["sex=Male","sex=Female","height"]'
sis explain -q -m c.onnx -i people.csv --mask zero -t 3 2>&1
make_model tiny-colours c.onnx 1 'sis.names=7'
sis explain -q -m c.onnx -i people.csv --mask zero -t 3 2>&1
true
