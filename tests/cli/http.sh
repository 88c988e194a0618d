# Models behind a server: the same subsets as from the model itself, options, certificates.
command -v python3 >/dev/null || { echo "no python3" && exit 77; }
no_proxy=127.0.0.1
export no_proxy
server=$SIS_EXAMPLES/../tests/model/server.py

# start NAME ARGUMENTS...: a server that ends with this script; its port goes to the file NAME.
start() {
    name=$1
    shift
    mkfifo "$name.hold"
    python3 "$server" "$@" <"$name.hold" >"$name" 2>"$name.err" &
}
# What ran before, without the port.
plain() {
    sed "s/127.0.0.1:$(cat plain)/HOST/g; s/127.0.0.1:$(cat tls 2>/dev/null)/HOST/g"
}
start plain
exec 3>plain.hold
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=sis \
    -addext "subjectAltName=IP:127.0.0.1" >/dev/null 2>&1 && start tls --tls cert.pem key.pem &&
    exec 4>tls.hold
for i in $(seq 300); do
    [ -s plain ] && { [ ! -p tls.hold ] || [ -s tls ]; } && break
    sleep 0.1
done
at=http://127.0.0.1:$(cat plain)
sis predict -m "$at/ok/v2/models/none" -i "$SIS_EXAMPLES/credit.csv" --retries 0 2>&1 | plain
case $(sis predict -m "$at/ok/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" 2>&1) in
*"has no http: models"*) echo "built without libcurl" && exit 77 ;;
esac

echo "# without the library, which is loaded when it is needed"
: >libcurl.so.4
: >libcurl-gnutls.so.4
LD_LIBRARY_PATH=. sis predict -m "$at/ok/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" 2>&1
: >libmicrohttpd.so.12
LD_LIBRARY_PATH=. sis serve -m "$SIS_EXAMPLES/../models/credit.onnx" --port 0 2>&1 | sed 's/this sis was built without a server.*/sis serve needs libmicrohttpd (libmicrohttpd.so.12); install it (Debian: libmicrohttpd12)/'
rm -f lib*.so*

echo "# the same subsets as from the model itself"
explain() {
    sis explain -m "$1" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" -t 0.8 --quiet \
        "$2" "$3" | sed 's/"model":"[^"]*"//; s/"seconds":[0-9.e+-]*//; s/"provenance":.*//'
}
explain "cmd:python3 $SIS_EXAMPLES/credit.py" --jobs 1 >local
for path in ok/v2/models/credit binary/v2/models/credit ok/v1/models/credit tf/v1/models/credit \
    ok/invocations every-7/v2/models/credit; do
    explain "$at/$path" --jobs 3 >remote
    cmp local remote && echo "$path: $(grep -c '"status":"explained"' remote) explained"
done

echo "# verified over the network, and called by its address"
sis explain -m "$at/ok/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --mask "mean:$SIS_EXAMPLES/credit.csv" \
    -t 0.8 --quiet --output r.jsonl
sis verify r.jsonl -m "$at/ok/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" \
    --mask "mean:$SIS_EXAMPLES/credit.csv" 2>&1 >/dev/null | plain
grep -o '"model":"[^"]*"' r.jsonl | plain | sort -u

echo "# images of any sides, wide and high, as through a network of our own"
python3 "$SIS_EXAMPLES/../tests/model/pictures.py"
for model in lines.onnx "$at/ok/v2/models/lines" "$at/binary/v2/models/lines" "$at/tf/v1/models/lines"; do
    sis explain -m "$model" -i pictures --mask zero -t 0.5 --quiet --jobs 2 --output r.jsonl --force
    sis verify r.jsonl -m "$model" -i pictures 2>&1 >/dev/null | plain
    sis show r.jsonl --quiet >shown
    [ -e first ] || mv shown first
    [ ! -e shown ] || cmp first shown
done
grep -c 'sufficient subset' first

echo "# texts"
echo 'A good film, a Good day.' >texts.txt
sis explain -m "$at/binary/v2/models/mood" -i texts.txt -t 0.8 --target 0 --quiet | sis show -

echo "# rows of a table as they are"
printf 'age,housing,income\n30,own,100\n,rent,NA\n50,own,300\n' >loans.csv
for path in ok/v1/models/loans ok/invocations; do
    for as in values objects; do
        sis explain -m "$at/$path" -i loans.csv --mask "mean:loans.csv" --missing nan --rows-as $as -t 0.5 --below --rows 1 \
            --quiet | grep -o '"subsets":.*"rest'
    done
done
sis predict -m "$at/ok/v2/models/loans" -i loans.csv --missing nan --rows-as values 2>&1 | plain

echo "# tokens and headers"
echo s3cret >token
sis predict -m "$at/auth/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --rows 0 2>&1 | plain
sis predict -m "$at/auth/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --rows 0 --token token
sis predict -m "$at/key/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --rows 0 \
    --header 'X-One: 1' --header 'X-Key: k3y'
sis predict -m "http://ada:pw@127.0.0.1/v2/models/m" -i "$SIS_EXAMPLES/credit.csv" 2>&1

echo "# redirections"
sis predict -m "$at/redirect/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --rows 0 2>&1 | plain
sis predict -m "$at/redirect/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --rows 0 --redirects

echo "# time and trouble"
sis predict -m "$at/slow-9/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --timeout 0.2 --retries 0 2>&1 | plain
sis predict -m "$at/ok/v1/models/credit" -i "$SIS_EXAMPLES/credit.csv" --with age=3 2>&1 | plain
sis predict -m http:// -i "$SIS_EXAMPLES/credit.csv" 2>&1 | cut -c 1-60
sis predict -m https:///# -i "$SIS_EXAMPLES/credit.csv" 2>&1 | cut -c 1-60
sis predict -m "$at/busy-503/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --retries 1 2>&1 | plain
sis explain -m "$at/nan/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --mask zero -t 0.8 2>&1 | plain

echo "# certificates"
if [ -s tls ]; then
    tls=https://127.0.0.1:$(cat tls)
    sis predict -m "$tls/ok/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --rows 0 --retries 0 2>&1 |
        grep -ci certificate
    sis predict -m "$tls/ok/v2/models/credit" -i "$SIS_EXAMPLES/credit.csv" --rows 0 --certificates cert.pem
else
    printf '1\n{"id":"0","scores":[0.9838457461950636]}\n' # no openssl here
fi
