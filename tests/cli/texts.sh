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
echo "texts in a column of a table"
printf 'id,"who, when",text\nc1,"Ann, Mon","You are an idiot,\nand I ""hate"" you."\n\nc2,Bob,Have a nice day!\nc3,Cem,  Stupid idea.  \n' > table.csv
sis explain -q -m "$model" -i table.csv --text text --id id --label 'who, when' -t 0.8 -o table.jsonl
sis show table.jsonl
echo "only what was decided"
sis show table.jsonl --decided | grep '^example'
sis show table.jsonl table.jsonl --decided | grep -c 'example c2'
grep '"c2"' table.jsonl | sis show --decided - 2>&1
echo "single words are counted"
printf 'text\nAn idiot spoke\nStupid plans\nWhat an Idiot\n' > words.csv
sis explain -q -m "$model" -i words.csv --text text -t 0.8 -o words.jsonl
sis cluster words.jsonl
sis cluster words.jsonl --most 1 -o counts.json | tail -1
grep -o '"counts":true\|"size":[0-9]*' counts.json
sis cluster words.jsonl --eps 0 --min-size 1 | sed -n 2p
sis report -q words.jsonl --clusters counts.json -o counts.html
grep -o 'each of one word\|<li><bdi>[a-z]*</bdi>' counts.html
echo "tabs, gzip, and what a table lacks"
tr ',' '\t' < table.csv | sed 's/"who\twhen"/who/; s/"Ann\t Mon"/Ann/; s/idiot\t/idiot/' | gzip > table.tsv.gz
sis explain -q -m "$model" -i table.tsv.gz --text text --id id -t 0.8 | cut -d, -f2
sis verify -q table.jsonl -m "$model" -i table.csv --text text --id id --label 'who, when' | grep -c '"holds":true'
sis explain -q -m "$model" -i table.csv --text comment -t 0.8 2>&1
sis explain -q -m "$model" -i table.csv --text text --id day -t 0.8 2>&1
sis explain -q -m "$model" -i comments.txt --text text -t 0.8 2>&1
sis explain -q -m "$model" -i table.csv --text text --categorical -t 0.8 2>&1
sis explain -q -m "$model" -i table.csv --text text --no-header -t 0.8 2>&1
printf 'id,text\na,one\nb\n' > ragged.csv
sis explain -q -m "$model" -i ragged.csv --text text -t 0.8 2>&1
printf 'id,text\na,one\n ,two\n' > unnamed.csv
sis explain -q -m "$model" -i unnamed.csv --text text --id id -t 0.8 2>&1
printf 'id,text\n' > none.csv
sis explain -q -m "$model" -i none.csv --text text -t 0.8 2>&1
echo "long texts"
awk 'BEGIN { for (i = 1; i <= 150; i++) printf "%s%s", i == 60 || i == 130 ? "idiot," : "word" i, i < 150 ? " " : "\n" }' > long.txt
sis explain -q -m "$model" -i long.txt -t 0.8 -o long.jsonl
sis show long.jsonl
sis show long.jsonl --whole | grep -c 'word1 \|word150'
sis report -q long.jsonl -o long.html
grep -o '<p class="text[^>]*>\|The whole text, <bdi>*[0-9]*[^ ]* words\|The whole text[^/]*words' long.html
sis explain -q -m "$model" -i long.txt -t 0.99999 | sis show - | head -3
