# Texts for models that are given them as they are: a child process with words of its own.
model=cmd:$SIS_EXAMPLES/moderate.sh
printf 'You are an idiot, and I "hate" you.\nHave a nice day!\nStupid, stupid idea: the caf\303\251.\n' > comments.txt
sis predict -q -m "$model" -i comments.txt
sis explain -q -m "$model" -i comments.txt -t 0.8 -o out.jsonl
sis show out.jsonl
sis verify -m "$model" -i comments.txt out.jsonl 2>&1 >/dev/null
echo "another word in the place of a masked one"
sis explain -q -m "cmd:tee asked | $SIS_EXAMPLES/moderate.sh" -i comments.txt -r 0 -t p50 --mask token:so -j 1 | grep -o '"features":\[[0-9,]*\]'
grep -m 1 '\["so ' asked | cut -c1-90
echo "words, labels and marks from JSON Lines"
printf '{"id":"c1","text":"What a stupid\\n\\"plan\\"","label":"rude","human":[2]}\n' > c.jsonl
sis explain -q -m "$model" -i c.jsonl -t 0.5 | sis show -
echo "going on"
head -n 1 out.jsonl > part.jsonl
sis explain -q -m "$model" -i comments.txt -t 0.8 --resume -o part.jsonl && cut -d, -f2 part.jsonl
sed 's/idiot/fool/' comments.txt > others.txt
sis explain -q -m "$model" -i others.txt -t 0.8 --resume -o part.jsonl 2>&1 | cut -c1-70
echo "what can be wrong"
sis explain -q -m "$model" -i comments.txt -t 0.8 --mask zero 2>&1; echo "exit $?"
sis explain -q -m "$model" -i comments.txt -t 0.8 --features axis:0 2>&1; echo "exit $?"
echo "a text without a word is an error of its own: the others are explained"
printf '\nYou idiot\n\nno\n\n' > empty.txt
printf '{"text":""}\n{"text":"You idiot"}\n' > empty.jsonl
printf 'a\tYou idiot\nb\t\n' > empty.tsv
for f in empty.txt empty.jsonl empty.tsv; do
    sis explain -q -m "$model" -i $f -t 0.8 2>/dev/null | grep -o '"id":"[0-9]*"\|"status":"[a-z_]*"' | tr '\n' ' '
    echo
done
printf '...\nYou idiot\n!\n' > none.txt
sis explain -m "$model" -i none.txt -t 0.8 -o none.jsonl; echo "exit $?"
sis show none.jsonl
sis explain -m "$model" -i none.txt -t 0.8 -o none.jsonl --resume 2>&1; echo "exit $?"
grep -c . none.jsonl
