# Examples are called by a column of their table: explain, show, verify, resume, predict, train.
cat > cases.csv <<'END'
application_id,age,income,repaid
A-17,3,2,1
"B, 2",1,4,0
A-19,0,1,1
END
model="cmd:$SIS_MODELS/sum.sh"
sis predict -m "$model" -i cases.csv --id application_id --label repaid
sis explain -q -m "$model" -i cases.csv --id application_id --label repaid --mask mean:cases.csv -t 4 -o out.jsonl
sis show out.jsonl | grep example
echo "the column is no feature: $(grep -o '"n_features":.' out.jsonl | sort -u), $(grep -o '"names":[^]]*]' out.jsonl | sort -u)"
sis verify out.jsonl -m "$model" -i cases.csv --id application_id --label repaid --mask mean:cases.csv 2>&1 > /dev/null
head -2 out.jsonl > part.jsonl
sis explain -m "$model" -i cases.csv --id application_id --label repaid --mask mean:cases.csv -t 4 -o part.jsonl --resume 2>&1
echo "the mask need not have the column"
cut -d, -f2- cases.csv | sed 's/^ 2",//' > train.csv
sis explain -q -m "$model" -i cases.csv --id application_id --label repaid --mask mean:train.csv -t 4 | cut -c1-25
echo "a first column without a name, as pandas writes its index"
sed '1s/application_id//' cases.csv > index.csv
sis predict -m "$model" -i index.csv --label repaid
cut -d, -f2- train.csv | sed '1s/^/,/; 2s/^/x,/; 3s/^/y,/; 4s/^/z,/' > numbers.csv
sis explain -q -m "$model" -i numbers.csv --mask zero -t 1 | grep -o '"id":"[^"]*"\|"names":[^]]*]'
sed 's/^/7,/; 1s/^7//' cases.csv > both.csv
sis data describe both.csv --id application_id --label repaid -q
echo "what can be wrong"
sis verify out.jsonl -m "$model" -i train.csv --label repaid --mask zero 2>&1
sis explain -m "$model" -i cases.csv --id aplication_id --mask zero -t 4 2>&1
sis explain -m "$model" -i cases.csv --id repaid --label application_id --mask zero -t 4 2>&1
sis explain -m "$model" -i cases.csv --id repaid --label repaid --mask zero -t 4 2>&1
sed 's/A-19//' cases.csv > hole.csv
sis explain -m "$model" -i hole.csv --id application_id --mask zero -t 4 2>&1
sis explain -m "$model" -i cases.csv --mask zero -t 4 2>&1
echo "a network learns nothing from it"
sis train linear -q -i cases.csv --label repaid --id application_id --epochs 1 -o m.onnx 2>&1
sis explain -q -m m.onnx -i cases.csv --id application_id --label repaid -t 0 2>&1 | cut -c1-40
