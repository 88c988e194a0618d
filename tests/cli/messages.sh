# Messages that say what to do: one class only, one motif of a file, models that cannot be timed.
printf '>a\nACGT\n>b\nTTTT\n' > one.fa
printf '1 0\n1 0\n' > one.target
echo "nothing to learn"
sis train dna-cnn -i one.fa -o m.onnx 2>&1
echo "one motif of a file"
printf '>M1 ONE\n9 0 0\n0 9 0\n0 0 9\n0 0 0\n>M2 TWO\n0 0 0\n0 0 9\n0 9 0\n9 0 0\n' > two.pfm
printf '{"sis":2,"id":"s","model":"m","method":"sis","target":0,"direction":">=","threshold":0.5,"score":0.9,"masked_score":0.1,"status":"explained","n_features":5,"subsets":[{"features":[1,2,3],"score":0.8}],"rest_score":0.2,"kind":"dna","sequence":"TACGT"}\n' > s.jsonl
sis show s.jsonl --motifs two.pfm:TWO | tail -3
sis show s.jsonl --motifs two.pfm | tail -3
sis show s.jsonl --motifs two.pfm:THREE 2>&1
sis show s.jsonl --motifs none.pfm:ONE 2>&1
true
