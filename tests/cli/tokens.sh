# Networks with tokenizers of their own: words made of tokens, an attention mask that follows, masks.
shared=${SIS_SHARED:-$SIS_EXAMPLES/../../shared}
model=$shared/data/zoo/torch-bert_tiny_ids_mask_op14.onnx
[ -e "$model" ] || { echo "no $model"; exit 77; }
{ printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' a film wonder '##ful' moving , . i loved it ! don "'" t '##ed' caf '##e'; } > vocab.txt
printf "A wonderful, moving film! I don't love the caf\303\251. It moved.\nI loved it.\n" > reviews.txt
sis predict -q -m "$model" -i reviews.txt --tokenizer vocab.txt > scores 2>&1 || {
    grep libutf8proc scores && exit 77
    cat scores
}
explain() { # more options
    sis explain -q -m "$model" -i reviews.txt --tokenizer vocab.txt -c 0 -t 0.33 "$@"
}
field() { grep -o "\"$1\":\(\[[^]]*\]\|\"[^\"]*\"\)"; }
for mask in 'token:[MASK]' pad remove; do
    explain --mask "$mask" > out.jsonl
    explain --mask "$mask" --exact > exact.jsonl
    field subsets < out.jsonl > a; field subsets < exact.jsonl | cmp - a && echo "$mask: $(grep -c explained out.jsonl) explained"
    sis verify -m "$model" -i reviews.txt --tokenizer vocab.txt --mask "$mask" out.jsonl 2>&1 >/dev/null
done
explain > out.jsonl
field masking < out.jsonl | uniq
head -n 1 out.jsonl | field text
head -n 1 out.jsonl | field words
head -n 1 out.jsonl | field spans
head -n 1 out.jsonl | field values | cut -d, -f1-24
head -n 1 out.jsonl | field feature_map | cut -d, -f1-24
echo "tokens and sentences"
explain --features token -r 0 | field words
explain --features sentence -r 0 > sentences.jsonl
field words < sentences.jsonl
field unit < sentences.jsonl
sis show sentences.jsonl | sed -n 3,5p
echo "the same as tokenizer.json, ids alike"
python3 - 2>/dev/null <<'END' || cp vocab.txt tokenizer.json
import json
words = open("vocab.txt", encoding="utf8").read().split("\n")[:-1]
json.dump({"added_tokens": [{"id": i, "content": words[i], "special": True} for i in range(5)],
           "normalizer": {"type": "BertNormalizer", "lowercase": True},
           "pre_tokenizer": {"type": "BertPreTokenizer"},
           "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
           "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {w: i for i, w in enumerate(words)}}},
          open("tokenizer.json", "w"))
END
sis predict -q -m "$model" -i reviews.txt --tokenizer tokenizer.json | cmp - scores && echo alike
echo "what can be wrong"
sis explain -q -m "$model" -i reviews.txt -t 0.5 2>&1
explain --mask token:wonderful 2>&1
explain --features each2 2>&1
sis explain -q -m "$SIS_EXAMPLES/../models/credit.onnx" -i "$SIS_EXAMPLES/credit.csv" -t 0.5 --tokenizer vocab.txt 2>&1
sis explain -q -m "$SIS_EXAMPLES/../models/credit.onnx" -i "$SIS_EXAMPLES/credit.csv" -t 0.5 --features word 2>&1
echo '{"model":{"type":"Unigram","vocab":{"a":0}}}' > unigram.json
sis explain -q -m "$model" -i reviews.txt --tokenizer unigram.json -t 0.5 2>&1
true
