# Results of version 1, which releases before 1.0 wrote, are read as those of version 2: every kind of record.
root=$SIS_EXAMPLES/..
old=$root/tests/cli/version1.jsonl
sed -e 's/"sis":1,/"sis":2,/' -e 's/"output":/"target":/' -e 's/"output_label":/"target_label":/' \
    -e 's/"made":/"provenance":/' -e 's/"status":"below_threshold"/"status":"not_decided"/' "$old" > new.jsonl
! cmp -s "$old" new.jsonl || echo "nothing was renamed"
for command in "show" "summary" "export --to csv"; do
    sis $command "$old" > old.txt
    sis $command new.jsonl > new.txt
    [ -s old.txt ] && cmp old.txt new.txt && echo "$command: the same"
done
# A file of version 1 is finished; its records are not found again.
head -n 1 "$old" > part.jsonl
sis explain -q -m "$root/models/credit.onnx" -i "$SIS_EXAMPLES/credit.csv" --rows 0:3 -t 0.5 --trace -o part.jsonl --resume
grep -o '"sis":[0-9],"id":"[0-9]"' part.jsonl
seconds() { sed -n '1s/.*"seconds":\([^,]*\),.*/\1/p' "$1"; }
[ "$(seconds "$old")" = "$(seconds part.jsonl)" ] && echo "the first record was kept"
# Later versions are refused.
sed 's/"sis":1/"sis":3/' "$old" > later.jsonl
sis show later.jsonl 2>&1
