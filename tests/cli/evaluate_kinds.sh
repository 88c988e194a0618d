# Texts, DNA and images by the models that come with the program.
models=$SIS_EXAMPLES/../models
columns() { # FILE NAME...: these columns of a CSV file
    file=$1
    shift
    awk -F, -v names="$*" 'NR == 1 { n = split(names, wanted, " "); for (i = 1; i <= NF; i++) at[$i] = i }
        { line = ""; for (k = 1; k <= n; k++) line = line (k > 1 ? " " : "") $at[wanted[k]]; print line }' "$file"
}

# A CTCF site (the consensus of its motif) in a row of As, and its reverse complement in another.
awk 'BEGIN { for (i = 0; i < 82; i++) a = a "A"
    print ">plus"; print substr(a, 1, 40) "TGGCCACCAGGGGGCGCTA" substr(a, 1, 42)
    print ">minus"; print substr(a, 1, 30) "TAGCGCCCCCTGGTGGCCA" substr(a, 1, 52) }' > bases.fa
cat > ctcf.pfm << 'END'
>MA0139.1 CTCF
87 167 281 56 8 744 40 107 851 5 333 54 12 56 104 372 82 117 402
291 145 49 800 903 13 528 433 11 0 3 12 0 8 733 13 482 322 181
76 414 449 21 0 65 334 48 32 903 566 504 890 775 5 507 307 73 266
459 187 134 36 2 91 11 324 18 3 9 341 8 71 67 17 37 396 59
END
sis explain -q -m "$models/dna-ctcf.onnx" -i bases.fa -t 0.9 -o dna.jsonl
sis evaluate dna.jsonl --motif ctcf.pfm --csv dna.csv > tables
grep '^Divergence' tables
columns dna.csv id motif_start motif_strand sufficient
sis evaluate dna.jsonl -m "$models/dna-ctcf.onnx" -i bases.fa --robust --samples 2 --force --csv dna.csv > tables
columns dna.csv id around | awk 'NR > 1 { print $1, ($2 > 0.9 ? "stands with its neighbours" : "falls") }'

cat > reviews.jsonl << 'END'
{"id":"praise","text":"A wonderful, moving film. I loved every minute.","human":[1,2,5]}
{"id":"blame","text":"The worst film I have seen: boring, a waste of time."}
END
sis explain -q -m "$models/imdb-cnn.onnx" -i reviews.jsonl -t 0.8 -o text.jsonl
sis evaluate text.jsonl -m "$models/imdb-cnn.onnx" -i reviews.jsonl --human --robust --samples 2 --csv text.csv > tables
grep -c 'mask pad' tables
columns text.csv id marked qhs around | awk 'NR > 1 && ($2 < 0 || $2 > 1 || $3 == "" || $4 == "") { print "wrong:", $0 }'
sis evaluate --imputation --draws 100 -m "$models/imdb-cnn.onnx" -i reviews.jsonl | head -1

# A stroke down a field of 28 by 28, as an IDX file of one image.
printf "$(awk 'BEGIN { printf "\\000\\000\\010\\003\\000\\000\\000\\001\\000\\000\\000\\034\\000\\000\\000\\034"
    for (i = 0; i < 784; i++) { x = i % 28; y = int(i / 28)
        printf "%s", (((x == 14 || x == 13) && y > 4 && y < 23) ? "\\377" : "\\000") } }')" > stroke.idx
sis explain -q -m "$models/mnist-mlp.onnx" -i stroke.idx -t 0.4 --max-subsets 1 -o image.jsonl
sis evaluate image.jsonl -m "$models/mnist-mlp.onnx" -i stroke.idx --robust --second-mask value:0.5 --samples 2 --csv image.csv > tables
columns image.csv id sufficient around | awk 'NR > 1 { print $1, $2, ($3 == "" ? "has no neighbours" : "has neighbours") }'
