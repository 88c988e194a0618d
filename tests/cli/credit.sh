# The credit models in awk and in Python speak the protocol and agree to the last digit.
python3 -c 1 2>/dev/null || {
    echo "needs python3"
    exit 77
}
rows=$(sed 1d "$SIS_EXAMPLES/credit.csv" | awk '{ printf "%s[%s]", (NR > 1 ? "," : ""), $0 }')
{
    echo "{\"inputs\":[$rows]}"
    echo '{"inputs": [[34, 52000, 4e3, 12000, 0, 3, 8, 0.15], [0,0,0,0,0,0,0,-1]]}'
    echo '{"inputs":[[1,2,3]]}'
    echo 'nonsense'
} >requests
"$SIS_EXAMPLES/credit.sh" <requests >awk.out
python3 "$SIS_EXAMPLES/credit.py" <requests >python.out
cat awk.out
grep error python.out
python3 - <<'END'
import json
awk, python = ([json.loads(line).get("outputs") for line in open(f + ".out")] for f in ("awk", "python"))
print("the same scores" if awk == python else "different scores: %s %s" % (awk, python))
END

echo "learned from the table, the model knows who repaid:"
PYTHONDONTWRITEBYTECODE=1 python3 - "$SIS_EXAMPLES" <<'END'
import csv, sys
sys.path.insert(0, sys.argv[1])
from credit import COLUMNS, CreditModel
rows = list(csv.reader(open(sys.argv[1] + "/credit.csv")))
assert rows.pop(0) == COLUMNS
rows = [[float(v) for v in row] for row in rows]
repaid = [int(p[1] > 0.5) for p in CreditModel().predict_proba(rows)]
print(repaid)
print([int(p[1] > 0.5) for p in CreditModel().fit(rows, repaid).predict_proba(rows)])
END
