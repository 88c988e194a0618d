# A table and a child process, end to end: explain, show, verify.
cp "$SIS_EXAMPLES/credit.csv" .
model="cmd:$SIS_EXAMPLES/credit.sh"
sis explain -m "$model" -i credit.csv --mask mean:credit.csv -t 0.8 -o out.jsonl
# What differs from run to run, or from machine to machine, is taken out.
sed -e 's/"model":"[^"]*"/"model":"M"/' -e 's/"seconds":[0-9.e-]*/"seconds":0/' \
    -e 's/,"provenance":.*}/}/' out.jsonl
sis show out.jsonl
sis verify out.jsonl -m "$model" -i credit.csv --mask mean:credit.csv --exhaustive 8
sis explain -m "$model" -i credit.csv --mask mean:credit.csv -t 0.2 --below --rows 8 --quiet | sis show -
sis explain -m "$model" -i credit.csv --mask mean:credit.csv -t 0.2 --below --rows 2 --quiet | sis show -
