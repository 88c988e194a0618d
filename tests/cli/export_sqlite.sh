# Results as a database, which answers by the name of a feature from an index.
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
sis explain -q -m "cmd:$SIS_EXAMPLES/credit.sh" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" \
    -t 0.8 --rows 0:3 -j 1 -o r.jsonl
sed -i 's|"model":"[^"]*"|"model":"m"|' r.jsonl
case $(sis export r.jsonl --to sqlite 2>&1) in
*"has no SQLite"*) echo "built without libsqlite3" && exit 77 ;;
esac
sis export r.jsonl --to sqlite 2>&1
sis export r.jsonl --to sqlite -o r.db 2>&1
sis export r.jsonl --to sqlite -o r.db -q --force # again, over the old one
python3 - <<'END'
import sqlite3
db = sqlite3.connect("r.db")
print(db.execute("PRAGMA integrity_check").fetchone()[0])
ask = "SELECT DISTINCT example FROM found WHERE name = 'late_payments' ORDER BY example"
print([r[0] for r in db.execute(ask)])
print(db.execute("SELECT example, subset, size, value, masked FROM found WHERE name = 'debt' ORDER BY 1").fetchall())
print("by an index:", "features_by_name" in str(db.execute("EXPLAIN QUERY PLAN " + ask).fetchall()))
print([db.execute("SELECT count(*) FROM " + t).fetchone()[0] for t in ("records", "subsets", "features", "found")])
END
# A category that looks like a number is none.
printf 'zip,x\n01234,1\n0x1A,2\n' > zip.csv
sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i zip.csv --categorical=zip --mask zero -t 1 -j 1 -o zip.jsonl
sis export zip.jsonl --to sqlite -o zip.db -q
python3 -c 'import sqlite3; print(sqlite3.connect("zip.db").execute("SELECT name, value FROM found ORDER BY example, name").fetchall())'
sis export r.jsonl --to sqlite -o none/r.db 2>&1
mkdir folder
sis export r.jsonl --to sqlite -o folder 2>&1
[ -d folder ] && echo "still a folder"
true
