# Absent values, types of columns, files without a header, rows as they are.
cat > loans.csv <<'END'
id,age,housing,income,paid
a,30,own,100,yes
b,,rent,NA,no
c,50,NA,300,yes
d,40,own,200,no
END
sum="cmd:$SIS_MODELS/sum.sh"
echo "columns have types, one by one"
sis data describe loans.csv --id id --label paid
sis data describe loans.csv -q --json - --types /dev/null | grep -o '"name":"housing".*' | head -c 110
echo
echo "what a missing value is"
for how in nan mean median drop error; do
    echo "$how"
    sis predict -m "$sum" -i loans.csv --id id --label paid --categorical --missing $how 2>&1
done
echo "a network is asked about it"
make_model tiny-colours t.onnx 1
printf 'a,b,c\n1,,2\n' > hole.csv
sis predict -m t.onnx -i hole.csv 2>&1
sis predict -m t.onnx -i hole.csv --missing mean 2>&1
echo "what describe prints is a file of types"
sis data describe loans.csv -q | sed 's/^id .*/id ignore/; s/^paid .*/paid label/; s/^age .*/age category/' > types.txt
cat types.txt
sis explain -q -m "$sum" -i loans.csv --types types.txt --mask missing -t 100 --rows 0 | grep -o '"value_names":[^]]*]'
echo "no header"
cut -d, -f2-4 loans.csv | sed 1d > headless.csv
sis predict -q -m "$sum" -i headless.csv --categorical --no-header --missing mean
printf '1,2,1\n3,4,5\n' | sis predict -m "$sum" -i -
echo "lines of JSON on standard input"
printf '\357\273\277{"values":[1,2]}\n' | sis predict -m "$sum" -i - # marked as UTF-8
printf '{"id":"x","values":[1,null]}\n{"id":"y","values":[2,4]}\n' | sis predict -q -m "$sum" -i - --missing mean
echo "rows as they are"
cat > own.sh <<'END'
while read -r line; do
    echo "$line" >> seen
    echo "$line" | awk '{ n = split($0, rows, /[]}],[[{]/); out = ""
        for (i = 1; i <= n; i++) out = out (i > 1 ? "," : "") (rows[i] ~ /"own"/)
        print "{\"outputs\":[" out "]}" }'
done
END
for as in values objects one-hot; do
    rm -f seen
    sis explain -q -m "cmd:sh own.sh" -j 1 -i loans.csv --id id --label paid --rows-as $as --categorical --mask mean:loans.csv -t 5 --rows 1 > /dev/null
    cat seen
done
echo "a masked word is one that exists"
sis explain -q -m "cmd:sh own.sh" -i loans.csv --id id --label paid --rows-as values --mask zero -t 1 2>&1
sis explain -q -m "cmd:sh own.sh" -i loans.csv --id id --label paid --rows-as values --mask hotdeck:loans.csv --samples 3 -t 1 --rows 0 | grep -o '"status":"[^"]*"'
echo "not for models of numbers, not for arrays"
sis predict -m t.onnx -i loans.csv --id id --label paid --rows-as values 2>&1
printf '{"values":[1,2]}\n' | sis predict -m "$sum" -i - --rows-as objects 2>&1
sis predict -m "$sum" -i loans.csv --missing maybe 2>&1
true
