# Children that die, stall, or answer nonsense: one clear line, exit 1, written records kept.
printf 'a,b\n1,2\n3,4\n' > in.csv
try() { # NAME COMMAND
    printf '%s: ' "$1"
    sis explain -q -m "cmd:$2" -i in.csv --mask zero -t 1 --timeout 1 --jobs 1 2>&1
    echo "exit $?"
}
try "not there" ./no-such-program
try "dies at once" 'echo "no licence" >&2; exit 3'
try "is killed" 'kill -9 $$'
try "stalls" 'sleep 30'
try "nonsense" 'while read l; do echo hello; done'
try "not an answer" 'while read l; do echo "{\"scores\":[1]}"; done'
try "too few" 'while read l; do echo "{\"outputs\":[]}"; done'
try "too many" 'while read l; do echo "{\"outputs\":[1,2,3,4,5,6,7]}"; done'
try "a word" 'while read l; do echo "{\"outputs\":[\"high\"]}"; done'
try "its own error" 'while read l; do echo "{\"error\":\"columns are missing\"}"; done'
try "NaN" 'while read l; do echo "{\"outputs\":[NaN]}"; done'
try "infinite" 'while read l; do echo "{\"outputs\":[-Infinity]}"; done'
try "too large" 'while read l; do echo "{\"outputs\":[1e400]}"; done'
try "cut off" 'read l; printf "{\"outp"; exit 0'
# a server with noise: every answer is a little higher than the one before
cat > noise.sh <<'end'
while read -r line; do
    answers=
    for i in row $(printf '%s' "$line" | grep -o '\],\['); do
        k=$((k + 1))
        answers=$answers,2.$((1000 + k))
    done
    echo "{\"outputs\":[${answers#,}]}"
done
end
printf 'noise: '
sis explain -q -m 'cmd:sh noise.sh' -i in.csv --mask zero -t 1 --jobs 1 -o noise.jsonl 2>&1
echo "exit $?"
grep -c '"status":"error".*"verified":false' noise.jsonl
for model in m.bin llm:m; do
    printf '%s: ' "unknown kind"
    sis explain -q -m "$model" -i in.csv --mask zero -t 1 2>&1
    echo "exit $?"
done
