# Scores only; several outputs; the model's own choice.
printf 'a,b\n1,2\n3,1\n' > in.csv
both='cmd:awk "{ gsub(/[^-0-9.,\]]/, \"\"); n = split(\$0, r, /\]/); o = \"\"; for (i = 1; i <= n; i++) { sub(/^,/, \"\", r[i]); if (split(r[i], v, \",\") == 2) o = o (o == \"\" ? \"\" : \",\") \"[\" v[1] \",\" v[2] \"]\" } print \"{\\\"outputs\\\":[\" o \"]}\"; fflush(); exit_after++ }"'
case $(awk -W version 2>&1 </dev/null) in mawk*) both=$(printf '%s' "$both" | sed 's/cmd:awk/cmd:awk -W interactive/') ;; esac
sis predict -m "$both" -i in.csv
sis explain -q -m "$both" -i in.csv --mask zero -t 2 | sis show -
sis predict -m "$both" -i in.csv --rows 1 -o scores.jsonl && cat scores.jsonl
