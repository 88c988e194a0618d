# The models that come with the program: each needs no other option, and carries how it was trained.
models=$SIS_EXAMPLES/../models
for m in "$models"/*.onnx; do
    sis model --no-timing "$m" > about || echo "$m: cannot be read"
    grep -aq '"scores":{' "$m" || echo "$m: no record of its training"
    grep -aq 'sis.mask' "$m" || echo "$m: no mask"
done
cat > cases.csv << 'END'
age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used
40,80000,500,20000,0,3,15,0.05
40,16000,18000,100,5,3,0,0.95
END
sis predict -m "$models/credit.onnx" -i cases.csv | awk -F'[][]' '{ print ($2 > 0.5 ? "repaid" : "not repaid") }'
# A CTCF site (the consensus of its motif) in a row of As, and the row without it.
awk 'BEGIN { for (i = 0; i < 40; i++) a = a "A"; for (i = 0; i < 101; i++) b = b "A"
    print ">site"; print substr(a "TGGCCACCAGGGGGCGCTA" a a, 1, 101); print ">none"; print b }' > bases.fa
sis predict -m "$models/dna-ctcf.onnx" -i bases.fa | awk -F'[][]' '{ print ($2 > 0.5 ? "bound" : "not bound") }'
sis explain -q -m "$models/dna-ctcf.onnx" -i bases.fa -t 0.5 | grep -o '"id":"[a-z]*"\|"status":"[a-z_]*"'
printf 'A wonderful, moving film. I loved every minute.\nThe worst film I have seen: boring, a waste of time.\n' > reviews.txt
sis predict -m "$models/imdb-cnn.onnx" -i reviews.txt | awk -F'[][]' '{ print ($2 > 0.5 ? "praise" : "blame") }'
sis explain -q -m "$models/imdb-cnn.onnx" -i reviews.txt -r 0 -t 0.8 | grep -o '"status":"[a-z_]*"'
sis predict -m "$models/imdb-lstm.onnx" -i reviews.txt | awk -F'[][]' '{ print ($2 > 0.5 ? "praise" : "blame") }'
sis explain -q -m "$models/imdb-lstm.onnx" -i reviews.txt -r 1 -t 0.2 --below | grep -o '"status":"[a-z_]*"'
