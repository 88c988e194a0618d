# ONNX Runtime: asked for, needed for an operator that the engine lacks, and missing.
real=$(cd "$(dirname "$(readlink -f "$(command -v sis)")")" && pwd)/ort/libonnxruntime.so.1
printf 'a,b,c,d\n1,2,3,4\n2,0,0,5\n1,1,1,1\n' >rows.csv

# The determinant of a 2 by 2 matrix, and an operator that ONNX Runtime has for an example of its own alone (it changes nothing): det.onnx
printf '\010\007:]\012\013\012\001x\022\001d"\003Det\012\037\012\001d\022\001y"\010SampleOp:\015com.microsoft\022\001gZ\030\012\001x\022\023\012\021\010\001\022\015\012\003\022\001n\012\002\010\002\012\002\010\002b\020\012\001y\022\013\012\011\010\001\022\005\012\003\022\001nB\004\012\000\020\015B\021\012\015com.microsoft\020\001' >det.onnx

echo "# without it"
for file in det.onnx ort:det.onnx; do
    SIS_ORT=/nowhere/libonnxruntime.so.1 sis predict -m "$file" -i rows.csv 2>&1
done

[ -e "${SIS_ORT:-$real}" ] || { echo "no ONNX Runtime (tools/install-ort.sh)" && exit 77; }
export SIS_ORT="${SIS_ORT:-$real}"
echo "# with it"
sis predict -m det.onnx -i rows.csv 2>&1
sis predict -m ort:det.onnx -i rows.csv --rows 0 2>&1
sis explain -m det.onnx -i rows.csv --mask zero -t 9 --rows 1 --quiet 2>&1 | sis show -
sis model det.onnx 2>&1 | sed "s,Runtime [0-9.]*:,Runtime VERSION:,"
for output in y d; do
    sis predict -m "ort:det.onnx#$output" -i rows.csv --rows 0 2>&1
done
sis explain -m 'ort:det.onnx#y' -i rows.csv --mask zero -t 9 --rows 1 -q | grep -o '"model_sha256":"[0-9a-f]*"' |
    cut -d '"' -f 4 >sum
sha256sum det.onnx | cut -d ' ' -f 1 | cmp - sum && echo "its file is in the results"
cp det.onnx 'a#b.onnx'
sis predict -m 'ort:a#b.onnx#y' -i rows.csv --rows 0 2>&1
sis predict -m 'ort:a#b.onnx' -i rows.csv --rows 0 2>&1
sis predict -m ort:rows.csv -i rows.csv 2>&1 | cut -c 1-60

echo "# rows that depend on each other: sums over rows, less the most of all rows, shares of three rows"
printf '\010\007\022\000:S\012\021\012\001x\012\001a\022\001y"\006CumSum\022\001g*\017\020\007B\001aJ\010\000\000\000\000\000\000\000\000Z\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\002b\024\012\001y\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\002B\004\012\000\020\016' >cum.onnx
printf '\010\007\022\000:p\012/\012\001x\022\001m"\011ReduceMax*\013\012\004axes@\000\240\001\007*\017\012\010keepdims\030\001\240\001\002\012\016\012\001x\012\001m\022\001y"\003Sub\022\001gZ\024\012\001x\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\002b\024\012\001y\022\017\012\015\010\001\022\011\012\003\022\001n\012\002\010\002B\004\012\000\020\016' >most.onnx
printf '\010\007\022\000:K\012\034\012\001x\022\001y"\007Softmax*\013\012\004axis\030\000\240\001\002\022\001gZ\023\012\001x\022\016\012\014\010\001\022\010\012\002\010\003\012\002\010\002b\023\012\001y\022\016\012\014\010\001\022\010\012\002\010\003\012\002\010\002B\004\012\000\020\016' >fix.onnx
printf 'a,b\n1,2\n3,1\n4,4\n' >three.csv
for model in cum most fix; do
    for kind in "" ort:; do
        sis predict -m $kind$model.onnx -i three.csv 2>&1
    done
done

echo "# images of any sides, wide and high, as through our own engine"
/usr/bin/python3 "$SIS_EXAMPLES/../tests/model/pictures.py" || { echo "no python3" && exit 77; }
for model in lines.onnx ort:lines.onnx; do
    sis predict -m $model -i pictures | sed 's/\(\.[0-9]\{5\}\)[0-9]*/\1/'
    sis explain -m $model -i pictures --mask zero -t 0.5 --quiet --output r.jsonl --force
    sis verify r.jsonl -m $model -i pictures 2>&1 >/dev/null
    grep -o '"id":[^,]*\|"shape":[^"]*' r.jsonl | paste -sd ' '
    sis show r.jsonl --quiet >"${model%%:*}.shown"
done
cmp lines.onnx.shown ort.shown && grep -c 'sufficient subset' ort.shown

echo "# colours go where the network wants them"
for model in hues.onnx ort:hues.onnx; do
    sis predict -m $model -i pictures 2>&1
    sis explain -m $model -i coloured --mask zero -t 0.4 --quiet | grep -o '"features":[^]]*'
done

/usr/bin/python3 -c 'import onnx' 2>/dev/null || { echo "no python3-onnx" && exit 77; }
mkdir folder && /usr/bin/python3 "$SIS_EXAMPLES/../tests/model/ort_models.py"
# both MODEL INPUT OPTION...: what is found through the engine and through ONNX Runtime; one is shown if they agree
both() {
    file=$1 input=$2
    shift 2
    for model in "$file" "ort:$file"; do
        sis explain -m "$model" -i "$input" "$@" --quiet --output r.jsonl --force 2>&1
        sis verify r.jsonl -m "$model" -i "$input" 2>&1 >/dev/null
        sis show r.jsonl --quiet >"${model%%:*}.found"
    done
    cmp "$file.found" ort.found && cat ort.found
}

echo "# saturated scores are ranked by margins, also with weights in another file"
printf 'a,b,c,d\n1,1,1,1\n' >ones.csv
both sure.onnx ones.csv --mask zero -t 0.9
sis explain -m ort:folder/beside.onnx -i ones.csv --mask zero -t 0.9 -q | sis show - | cmp - sure.onnx.found && echo "the same"

echo "# words, a text, token ids with an embedding as mask"
printf 'number1,number2,word\n1,0,yes\n0,40,perhaps\n50,1,no\n' >words.csv
both words.onnx words.csv --mask mean:words.csv -t 0.5
echo '{"id":"a","text":"good film"}' >text.jsonl
both text.onnx text.jsonl -t 0.6
both ids.onnx ids.npy --target top -t 0.6
both ids.onnx ids.npy --target top -t 0.6 --mask remove

echo "# the same bytes with other neighbours and jobs, and the engine in the results"
for jobs in 1 3; do
    sis explain -m ort:lines.onnx -i pictures --mask zero -t 0.5 --quiet --jobs $jobs --trace | sed 's/"command":[^]]*//; s/"seconds":[^,]*//' >jobs$jobs
done
cmp jobs1 jobs3 && grep -o '"engine":"ONNX Runtime [0-9]' jobs1
sis predict -m ort:words.onnx -i words.csv --rows 1 >alone
sis predict -m ort:words.onnx -i words.csv | sed -n 2p | cmp - alone && echo "no difference"

echo "# found beside the program, and nowhere"
library=$SIS_ORT
unset SIS_ORT
mkdir found && cp "$(readlink -f "$(command -v sis)")" found/sis
PATH=/usr/bin:/bin HOME=/nowhere found/sis predict -m ort:sure.onnx -i ones.csv 2>&1
ln -s "$(dirname "$library")" found/ort && PATH=/usr/bin:/bin HOME=/nowhere found/sis predict -m ort:sure.onnx -i ones.csv
