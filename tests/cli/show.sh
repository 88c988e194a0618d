# sis show: every kind, plain and in colour, narrow, several files beside each other.
export COLUMNS=64
head='"model":"m","method":"sis","target":0,"direction":">=","threshold":0.5,"score":0.9,"masked_score":0.1,"status":"explained","rest_score":0.3,"verified":true,"complete":true'
cat > text.jsonl << END
{"sis":2,"id":"a","label":"praise",$head,"n_features":9,"subsets":[{"features":[1,3],"score":0.8},{"features":[6],"score":0.6}],"kind":"text","words":["A","wonderful","and","moving","film","I","loved","every","minute"],"human":[3,4]}
{"sis":2,"id":"wide",$head,"n_features":4,"subsets":[{"features":[0,2],"score":0.8}],"kind":"text","words":["日本語","🎬🎬","cafe\u0301","averyveryveryveryveryveryveryveryveryveryveryveryverylongword"]}
{"sis":2,"id":"hostile",$head,"n_features":3,"subsets":[{"features":[0],"score":0.8}],"kind":"text","words":["\u001b[31mred","\u202ebackwards","<script>"]}
END
cat > other.jsonl << END
{"sis":2,"id":"a","label":"praise",$head,"n_features":9,"subsets":[{"features":[8,6,1],"score":0.7}],"kind":"text","words":["A","wonderful","and","moving","film","I","loved","every","minute"]}
END
cat > dna.jsonl << END
{"sis":2,"id":"peak",$head,"n_features":24,"subsets":[{"features":[9,8,10,12],"score":0.8},{"features":[20],"score":0.6}],"kind":"dna","sequence":"TTGGCCACTAGGGGGCGCTATTAC"}
END
cat > image.jsonl << END
{"sis":2,"id":"grey",$head,"n_features":12,"subsets":[{"features":[5,1],"score":0.8},{"features":[8,11],"score":0.6}],"kind":"image","shape":[3,4],"values":[0,1,0,0,0,1,1,0,1,1,0.2,0.5]}
{"sis":2,"id":"colour",$head,"n_features":4,"subsets":[{"features":[3],"score":0.8}],"kind":"image","shape":[3,2,2],"values":[1,0,0,1,0,1,0,1,0,0,1,1],"feature_map":[0,1,2,3,0,1,2,3,0,1,2,3]}
{"sis":2,"id":"patches",$head,"n_features":4,"subsets":[{"features":[3,0],"score":0.8}],"kind":"image","shape":[1,4,4],"values":[1,1,0,0,1,1,0,0,0,0,1,1,0,0,1,1],"feature_map":[0,0,1,1,0,0,1,1,2,2,3,3,2,2,3,3]}
{"sis":2,"id":"flat",$head,"n_features":12,"subsets":[{"features":[5,1],"score":0.8}],"kind":"image","shape":[1,4,3],"values":[0,1,0,0,0,1,1,0,1,1,0.2,0.5]}
END
cat > table.jsonl << END
{"sis":2,"id":"7",$head,"n_features":3,"subsets":[{"features":[2,0],"score":0.8}],"kind":"table","shape":[3],"values":[1,2,30000],"mask":[0.5,1,2e4],"names":["age","debt","income"]}
END
cat > named.jsonl << END
{"sis":2,"id":"values",$head,"n_features":2,"subsets":[{"features":[1,0],"score":0.8}],"kind":"table","shape":[4],"values":[1,0,0,7],"names":["home=rent","home=own","home=free","income"],"feature_map":[0,0,0,1]}
{"sis":2,"id":"features",$head,"n_features":2,"subsets":[{"features":[1,0],"score":0.8}],"kind":"table","shape":[4],"values":[1,0,0,7],"names":["home","income"],"feature_map":[0,0,0,1]}
END
for f in text dna image table named; do
    echo "== $f"
    sis show $f.jsonl
done
echo "== one subset, as lines"
sis show --subsets 1 --lines text.jsonl | head -6
sis show --lines image.jsonl | head -6
echo "== the page agrees which axis is which, and what a feature is"
sis report image.jsonl --quiet --output page.html
grep -o 'figcaption>original<br><span class="soft">[^<]*\|figcaption>[0-9]* [a-z]*' page.html
echo "== narrow"
COLUMNS=24 sis show text.jsonl | head -12
COLUMNS=24 sis show dna.jsonl
echo "== beside each other"
COLUMNS=100 sis show text.jsonl other.jsonl
echo "== too narrow for that"
sis show other.jsonl text.jsonl
echo "== with motifs"
cat > motifs.pfm << END
>MA0139.1 CTCF
0 0 1 9 0 8 1 0 0 0
1 9 9 0 9 1 8 0 0 1
9 0 0 1 1 1 0 10 10 0
0 1 0 0 0 0 1 0 0 9
>MA0001.1 AGL3
9 0 0 9 9
0 0 0 1 0
1 0 0 0 1
0 10 10 0 0
END
sed 's|\[9,8,10,12\]|[4,5,6,7,9,10,11]|; s|\[20\]|[21,20,22]|' dna.jsonl > site.jsonl
sis show site.jsonl --motifs motifs.pfm
sis show text.jsonl --motifs motifs.pfm | head -3
sis show dna.jsonl --motifs none.pfm 2>&1 || echo "exit $?"
sis show dna.jsonl --motifs text.jsonl 2>&1 || echo "exit $?"
echo "== in colour"
for f in text dna image; do
    sis show --colour always $f.jsonl | sed 's/\x1b/ESC/g'
done
NO_COLOR=1 sis show dna.jsonl | grep -c "$(printf '\033')"
sis show text.jsonl none.jsonl 2>&1 || echo "exit $?"
sis show --colour sometimes text.jsonl 2>&1 || echo "exit $?"
echo "== folded at several spaces"
sed 's|"status"|"target_label":"good one","status"|' table.jsonl > good.jsonl
COLUMNS=86 sis show good.jsonl good.jsonl
