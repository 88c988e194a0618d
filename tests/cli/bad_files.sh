# Wrong, truncated, empty and hostile input files: one clear line that says where, exit 1.
model="cmd:sed -u 's/\[[0-9.,]*\]/1/g; s/inputs/outputs/'"
try() { # FILE [OPTIONS]
    printf '%s: ' "$1"
    file=$1
    shift
    sis explain -q -m "$model" -i "$file" --mask zero -t 1 "$@" 2>&1
    echo "exit $?"
}
try none.csv
: > empty.csv && try empty.csv
: > empty.npy && try empty.npy
printf 'a,b\n' > header.csv && try header.csv
printf 'a,b\n1,2\n3\n' > ragged.csv && try ragged.csv
printf 'a,b\n1,2\n3,x\n' > word.csv && try word.csv
printf 'label,text\n1,a good film\n' > text.csv && try text.csv
printf 'a,b\n1,\n' > hole.csv && try hole.csv --missing error
printf 'a,b\n1,nan\n' > nan.csv && try nan.csv --missing error
printf 'a;b\n1;2,5\n' > semi.csv && try semi.csv
printf 'a,b\n1,"2,5"\n' > comma.csv && try comma.csv
mkdir folder && try folder
printf 'x,y,x\n3,4,5\n' > twice.csv && try twice.csv
printf 'a,b\n1,"2\n' > quote.csv && try quote.csv
head -c 300 /dev/zero | tr '\0' '\377' > garbage.npy && try garbage.npy
printf '\223NUMPY\001\000\166\000' > cut.npy && try cut.npy
header() { # DESCR SHAPE
    printf '\223NUMPY\001\000\166\000'
    printf "%-117s\n" "{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
}
{ header '<f8' '(1000000000000, 1000)'; printf '12345678'; } > huge.npy && try huge.npy
{ header '<f8' '(2, 3)'; printf '12345678'; } > short.npy && try short.npy
{ header '<U8' '(2, 3)'; head -c 192 /dev/zero; } > text.npy && try text.npy
{ header '<f8' '()'; head -c 8 /dev/zero; } > scalar.npy && try scalar.npy
printf 'a,b\n1,2\n3,4\n' > good.csv
try good.csv --rows 5
try good.csv --rows 1:1
try good.csv --mask none.npy
try good.csv --mask mean:ragged.csv
printf 'a\n1\n' > narrow.csv && try good.csv --mask mean:narrow.csv
try good.csv --mask mean:
try good.csv --mask uniform
try good.csv --features axis:3
try good.csv --target 4
try plain.doc
sis show none.jsonl 2>&1; echo "exit $?"
printf '{"sis":2,"id":"0"}\n' > broken.jsonl
sis show broken.jsonl 2>&1; echo "exit $?"
printf 'hello\n' > broken.jsonl
sis show broken.jsonl 2>&1; echo "exit $?"
: > broken.jsonl
sis show broken.jsonl 2>&1; echo "exit $?"
printf '{"id":"a\\u0000b","values":[1]}\n' > nul.jsonl && try nul.jsonl
sis show nul.jsonl 2>&1; echo "exit $?"
echo "a wrong command line has status 2"
try good.csv --rows 1,,2
try good.csv --rows -1
try good.csv --mask ''
try good.csv --memory 0
echo "two examples of one name"
printf '{"id":"a","values":[1]}\n{"id":"a","values":[2]}\n' > twins.jsonl && try twins.jsonl
try twins.jsonl --rows 1 | grep -o 'exit.*'
