# On a terminal the bar is drawn and erased; not with --quiet, not on a dumb one.
command -v script >/dev/null || {
    echo "needs script(1) for a terminal"
    exit 77
}
script -qec true /dev/null </dev/null >/dev/null 2>&1 || {
    echo "needs a pseudo-terminal"
    exit 77
}
drawings() {
    script -qec "$1" /dev/null </dev/null | tr '\r' '\n' | tr -d '\033' | sed 's/\[[=> ].*left/.../'
}
TERM=xterm
export TERM
drawings "stty cols 60; try bar --play"
echo
echo "quiet: $(drawings "try bar --play --quiet" | wc -c) bytes"
TERM=dumb
echo "dumb: $(drawings "try bar --play" | wc -c) bytes"
echo "a terminal gets no control characters of tables, a pipe gets the bytes"
printf '%s\n' '{"sis":2,"id":"a\u001b[31mb\u009b1mc\u202ed","model":"m","method":"sis","target":0,"direction":">=","threshold":0.5,"score":0.9,"masked_score":0.1,"status":"explained","n_features":1,"subsets":[{"features":[0],"score":0.8}],"rest_score":0.3,"verified":true,"complete":true}' > steer.jsonl
for to in "csv" "tsv --each subset"; do
    script -qec "sis export steer.jsonl --to $to" /dev/null < /dev/null | grep -o 'a.\{1,7\}31mb.\{1,4\}1mc.\{1,4\}d' | LC_ALL=C tr '\033' E
done
sis export --to csv steer.jsonl | grep -c "$(printf '\033')"
