# What subsets hold, counted: features, words, pieces of DNA, places of pixels.
record() { # ID OUTPUT LABEL SUBSETS REST
    printf '{"sis":2,"id":"%s","model":"m","method":"sis","target":%s,"n_outputs":2,"direction":">=","threshold":0.5,"score":0.9,"masked_score":0.1,"status":"explained","n_features":4,"subsets":%s,"rest_score":0.2,"label":"%s",%s}\n' "$1" "$2" "$4" "$3" "$5"
}
row='"kind":"table","names":["age","home","debt","x"],"value_names":["age","home=own","home=rent","debt","x"],"feature_map":[0,1,1,2,3]'
{
    record a 1 1 '[{"features":[0,1],"score":0.8},{"features":[0],"score":0.7}]' "\"values\":[30,1,0,5,2],$row"
    record b 1 0 '[{"features":[1],"score":0.8}]' "\"values\":[50,0,1,5,2],$row"
    record c 0 0 '[{"features":[0],"score":0.8}]' "\"values\":[60,0,1,null,2],$row"
} > t.jsonl
sis summary t.jsonl 2>&1
sis summary t.jsonl --json - -q
sis summary t.jsonl --json t.json > table.txt 2>&1 && sis summary t.jsonl 2>&1 | cmp - table.txt && sis summary t.jsonl --json - -q | cmp - t.json
sis summary t.jsonl --where class=1 --top 1 2>&1
echo "categories that look like numbers"
zips='"kind":"table","names":["zip","b","c","d"],"value_names":["zip=01234","zip=00007","b","c","d"],"feature_map":[0,0,1,2,3]'
{
    record z 1 1 '[{"features":[0,1],"score":0.8}]' "\"values\":[1,0,7,0,0],$zips"
    record y 1 1 '[{"features":[0,1],"score":0.8}]' "\"values\":[0,1,9,0,0],$zips"
} | sis summary - -q
echo "words"
record t 1 1 '[{"features":[0,2,3],"score":0.8},{"features":[1],"score":0.8}]' '"kind":"text","words":["Good","a","film","good"]' | sis summary - -q
echo "pieces of DNA"
record d 0 1 '[{"features":[3,0,1],"score":0.8}]' '"kind":"dna","sequence":"ACGT"' | sis summary - -q
echo "places"
record i 0 1 '[{"features":[3],"score":0.8}]' '"kind":"image","shape":[2,2],"values":[0,0.5,1,0.25]' | sis summary - -q
echo "figures"
texts() { grep -o '>[^<>][^<>]*</text>' "$1" | sed 's/^>//; s/<.text>$//' | tr '\n' '|'; echo; }
sis summary t.jsonl --plot t.svg -q > drawn.txt && sis summary t.jsonl -q | cmp - drawn.txt
texts t.svg
sis report t.jsonl --figure features=same.svg -q && cmp t.svg same.svg # one drawing for both
sis summary t.jsonl --plot one.svg --top 1 --where class=1 -q && texts one.svg
sis summary t.jsonl --plot t.png -q > /dev/null && head -c 4 t.png | tail -c 3 && echo
sis summary t.jsonl --plot t.pdf -q > /dev/null && head -c 4 t.pdf && echo
record d 0 1 '[{"features":[3,0,1],"score":0.8}]' '"kind":"dna","sequence":"ACGT"' | sis summary - --plot d.svg -q > /dev/null && texts d.svg
record i 0 1 '[{"features":[3],"score":0.8}]' '"kind":"image","shape":[2,2],"values":[0,0.5,1,0.25]' | sis summary - --plot i.svg -q > /dev/null && texts i.svg
echo "wrong"
sis summary t.jsonl --plot t.gif 2>&1
cp t.jsonl t2.svg; sis summary t2.svg --plot t2.svg 2>&1; cmp t.jsonl t2.svg
sis summary t.jsonl --where class=7 --plot n.svg -q 2>&1
sis summary none.jsonl 2>&1
sis summary t.jsonl --where colour=red 2>&1 | cut -c 1-40
true
