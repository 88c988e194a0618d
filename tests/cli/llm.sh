# Language models behind an address: the three protocols find the same sentences; answers that are wrong are refused.
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
no_proxy=127.0.0.1
export no_proxy
unset OPENAI_API_KEY
server=$SIS_EXAMPLES/../tests/model/llm_server.py

# The server ends with this script. Its address may begin with a mode (see there).
mkfifo hold
python3 "$server" port <hold >server.out 2>server.err &
exec 3>hold
for i in $(seq 600); do
    [ -s port ] && break
    sleep 0.1
done
host=http://127.0.0.1:$(cat port)
at=$host
plain() {
    sed "s/127.0.0.1:[0-9]*/HOST/g"
}
requests() {
    python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' "$at/"
}
printf 'Context: {context}\nQuestion: {question}\nAnswer:\n' >prompt.txt
cat >in.jsonl <<'END'
{"id":"twice","context":"Tom has a dog. Mara lives in Oslo. Ann sings. It is known that Mara lives in Oslo.","question":"Where does Mara live?","answer":"Oslo"}
{"id":"own","context":"Tom has a dog. Ann lives in Rome.\n\nMara lives in Oslo.","question":"Where does Ann live?"}
{"id":"list","context":["[1] Tom has a dog.",{"title":"[2] Mara","text":"Mara lives in Oslo."},"[3] Ann sings."],"question":"Where does Mara live?","answer":"Oslo"}
{"id":"script","context":"Tom has a dog. Mara lives in 東京.","question":"Where does Mara live?","answer":"東京"}
{"id":"other","context":"Tom has a dog.","question":"Where does Mara live?","answer":"Lima"}
END
ask() {
    path=$1
    shift
    sis explain -m "$at/$path" -i in.jsonl --prompt prompt.txt --explain context --quiet "$@" 2>&1 | plain
}
brief() {
    python3 -c '
import json, sys
for line in sys.stdin:
    if not line.startswith("{"):
        print(line.rstrip())
        continue
    r = json.loads(line)
    print(r["id"], r["status"], "%.4f" % r["score"], "%.4f" % r["masked_score"],
          [[r["words"][k] for k in s["features"]] for s in r["subsets"]], repr(r["answer"]), r["bounded"], r["noise"])'
}

case $(ask v1/completions#m --rows 0) in
*"has no http: models"*) echo "built without libcurl" && exit 77 ;;
esac
for path in v1/completions#m v1/chat/completions#m completion; do
    echo "# $path"
    sis model "$at/$path"
    ask "$path" | tee "$(basename "$path")" | brief
done

echo "# shown, and verified"
ask completion --rows 0,2 >r.jsonl
sis show r.jsonl
sis verify r.jsonl -m "$at/completion" -i in.jsonl --prompt prompt.txt --explain context --rows 0,2 2>&1 >/dev/null | plain

echo "# what it takes to lose the answer"
ask v1/completions#m --rows 0,1,4 --method contrast >w.jsonl
sis show w.jsonl
sis verify w.jsonl -m "$at/v1/completions#m" -i in.jsonl --prompt prompt.txt --explain context 2>&1 >/dev/null
sed -n '1s/"features":\[3,1\]/"features":[3]/p' w.jsonl |
    sis verify - -m "$at/v1/completions#m" -i in.jsonl --prompt prompt.txt --explain context --rows 0 2>/dev/null |
    sed 's/"score".*//' | head -1

echo "# other scores, other parts"
ask v1/completions#m --rows 0 --score logprob -t -1 | brief
ask v1/completions#m --rows 0 --score label:Oslo,Rome -t 0.8 | brief
ask v1/chat/completions#m --rows 0 --score label:Oslo,Rome -t 0.8 | brief
ask completion --rows 1 --features paragraph | brief
ask completion --rows 0 --features word --max-subsets 1 | brief

echo "# fewer questions, and what it would cost"
ask completion --rows 0 --method quick | brief
ask completion --dry-run

echo "# leave-one-out, random ablations, an order of the caller, marked sentences"
samples() {
    [ "$1" = lime ] && echo --samples 40
}
for method in perturb lime; do
    ask v1/completions#m --rows 0 --method $method $(samples $method) --trace >$method.jsonl
    brief <$method.jsonl
done
ask completion --rows 0 --method quick --orders perturb.jsonl | brief
sed 1q in.jsonl | sed 's/}$/,"human":[1,3]}/' >marked.jsonl
for method in sis lime; do
    sis explain -m "$at/v1/completions#m" -i marked.jsonl --prompt prompt.txt --explain context --quiet --method $method $(samples $method) >$method.jsonl
done
sis evaluate sis.jsonl lime.jsonl -m "$at/v1/completions#m" -i marked.jsonl --prompt prompt.txt --explain context --metrics --by-count --human --quiet | plain

echo "# budgets"
ask completion --rows 0 --max-evaluations 6 | brief
ask completion --rows 0 --method quick --max-evaluations 12 | brief

echo "# answers that are kept are not asked again"
ask v1/completions#m --cache c.sqlite --jobs 4 >first.jsonl
before=$(requests)
ask v1/completions#m --cache c.sqlite --jobs 2 >second.jsonl
after=$(requests)
echo "$before $after" | tr -dc '0-9 ' | awk '{ print $2 - $1, "questions" }'
same() {
    sed 's/"model":"[^"]*"//; s/"seconds":[0-9.e+-]*//; s/"requests":[0-9]*,"prompt_tokens":[0-9]*,"completion_tokens":[0-9]*//; s/"provenance":.*//' "$1"
}
same first.jsonl >a
same second.jsonl >b
cmp a b && echo same

echo "# any number of connections gives the same records"
for path in v1/chat/completions#m completion; do
    ask "$path" --jobs 1 | sed 's/"seconds":[0-9.e+-]*//; s/"provenance":.*//' >one
    ask "$path" --jobs 8 | sed 's/"seconds":[0-9.e+-]*//; s/"provenance":.*//' >eight
    cmp one eight && echo same
done

echo "# mistakes"
sis explain -m "$at/completion" -i in.jsonl --prompt prompt.txt 2>&1
sis explain -m "$at/completion" -i in.jsonl --prompt prompt.txt --explain nothing 2>&1
sis explain -m "$at/completion" -i in.jsonl -t 0 2>&1 | plain
ask completion --features grid:3
ask completion --mask zero
ask completion --score sum -t 0
sis explain -m "cmd:cat" -i in.jsonl --prompt prompt.txt --explain context 2>&1
for line in '{"question":"x"}' '{"context":"A.","question":"x","answer":" "}' '{"context":"A.","question":"x","answer":["a"]}' \
    '{"context":"","question":"x","answer":"y","human":[0]}' '{"context":"","question":"x","answer":"y"}' '{"context":[],"question":"x"}'; do
    echo "$line" >bad.jsonl
    sis explain -m "$at/completion" -i bad.jsonl --prompt prompt.txt --explain context --quiet 2>&1 >/dev/null
done

echo "# answers as the model writes them, or as they are given; numbered lines, lists, other scripts"
cat >odd.jsonl <<'END'
{"id":"arabic","context":"Tom has a dog. Mara lives in أوسلو. Ann sings.","question":"Where does Mara live?"}
{"id":"number","context":"Tom has a dog. Mara lives in 42.","question":"Where does Mara live?","answer":42}
{"id":"accent","context":"Tom has a dog. Mara lives in Café.","question":"Where does Mara live?","answer":"Café"}
{"id":"lines","context":"1. Tom has a dog.\n2. Mara lives in Oslo.\n3. Ann sings.","question":"Where does Mara live?"}
{"id":"single","context":["Mara lives in Oslo."],"question":"Where does Mara live?"}
{"id":"marks","context":"क्या टॉम गाता है? हाँ। Mara lives in Oslo. هل تغني آن؟ نعم۔","question":"Where does Mara live?"}
END
for path in v1/completions#m v1/chat/completions#m completion; do
    sis explain -m "$at/$path" -i odd.jsonl --prompt prompt.txt --explain context --quiet >odd.out
    brief <odd.out
    sis verify odd.out -m "$at/$path" -i odd.jsonl --prompt prompt.txt --explain context 2>&1 >/dev/null
done
sis explain -m "$at/completion" -i odd.jsonl --prompt prompt.txt --explain context --rows 5 --quiet |
    python3 -c 'import json, sys; print(json.loads(sys.stdin.read())["words"])'

for mode in noecho one merge lists; do
    echo "# $mode"
    at=$host/$mode
    sis model "$at/v1/completions#m" 2>&1 | plain | tail -3
    ask v1/completions#m --rows 0,1 | brief
done

at=$host/five
sis model "$at/v1/chat/completions#m" | tail -1
ask v1/chat/completions#m --rows 0 | brief

echo "# failures on the way"
at=$host/flaky
ask v1/completions#m --retries 20 >c
same c >b
cmp a b && echo same

at=$host/busy
ask v1/chat/completions#m --rows 0 --retries 20 --jobs 1 | brief
at=$host/slow
ask v1/completions#m --rows 0 --retries 0 --timeout 0.3

echo "# answers that differ from time to time"
at=$host/noise
ask v1/completions#m --rows 0 | tee n.jsonl | python3 -c '
import json, sys
r = json.loads(sys.stdin.read())
print(r["status"], sorted(r["words"][k] for s in r["subsets"] for k in s["features"]), 0 < r["noise"] < 0.2)
'
verify_noise() {
    sis verify - -m "$at/v1/completions#m" -i in.jsonl --prompt prompt.txt --explain context --rows 0 2>&1 | grep -c "$1"
}
verify_noise '"holds":true' <n.jsonl
echo "# the same record that does not admit the noise, and one whose claim is within it"
sed 's/"noise":[0-9.e-]*/"noise":0/' n.jsonl | verify_noise ': claimed '
sed 's/"noise":[0-9.e-]*/"noise":9/; s/"features":\[[13]\]/"features":[0]/' n.jsonl |
    verify_noise 'contradicted by less than the noise'

echo "# keys"
at=$host/key
ask v1/completions#m --rows 0 | brief
OPENAI_API_KEY=guessed-key
export OPENAI_API_KEY
ask v1/completions#m --rows 0
OPENAI_API_KEY=secret-key
ask v1/completions#m --rows 0 --cache k.sqlite >k.jsonl
brief <k.jsonl
grep -c secret-key k.jsonl k.sqlite

at=$host/parrot
ask v1/completions#m --rows 1 --cache k.sqlite --retries 0
grep -c secret-key k.sqlite

echo "# a token that is not in the text moves the offsets of the others"
at=$host/bos
ask v1/completions#m --rows 0,1 | brief
echo '{"context":"Tom has a dög. Mara lives in Oslo.","question":"Where does Mara live?","answer":"Oslo"}' >accent.jsonl
sis explain -m "$host/bytes/v1/completions#m" -i accent.jsonl --prompt prompt.txt --explain context --quiet 2>&1 | plain

for mode in repeat above null list object number huge endless away later never; do
    echo "# $mode"
    at=$host/$mode
    case $mode in
    repeat) ask v1/completions#m --rows 0 ;;
    *) ask completion --rows 0 ;;
    esac | sed 's/wait [0-9]\{7,\} s/wait N s/'
done
at=$host/drip
ask completion --rows 0 --retries 0 --timeout 0.5
at=$host/someday
ask completion --rows 0 --retries 1
at=$host/escapes
ask completion --rows 0 | cut -c 1-100

for mode in nologprobs html truncated mistyped nan few error; do
    echo "# $mode"
    at=$host/$mode
    ask v1/completions#m --rows 0 --retries 0
done
