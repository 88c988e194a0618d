# sis model: how each layer walks, and what a walk keeps in memory, which --memory bounds.
models=$SIS_EXAMPLES/../models
keeps() { # MIB FILE OPTIONS...: does a walk stay below? (Sanitizers hide what is allocated.)
    limit=$1
    shift
    sis model --no-timing "$@" | awk -v limit="$limit" '
        /^A walk keeps/ { kept = $4 } /^no walk/ { none = 1 }
        END { print none ? "full passes" : kept < limit ? "below " limit " MiB" : "keeps " kept " MiB" }'
}
sis model --no-timing "$models/mnist-cnn.onnx" | grep -v '^A walk keeps'
keeps 64 "$models/mnist-cnn.onnx"
keeps 64 "$models/mnist-cnn.onnx" --memory 4
sis model --no-timing "$models/credit.onnx" | sed -n '1,/^scores/p'
make_model tiny-dna odd.onnx 3 'sis.kind=5' 'sis.names=["a\u001b[31m",7]' 'sis.labels={}' 'sis.training={"options":{"rate":[1]},"scores":4,"data":[]}'
sis model --no-timing odd.onnx | sed -n '2,/operator/p'
LC_ALL=C sed 's/\x1a\x02d1/\x1a\x02\x1b[/; s/\x1a\x02d3/\x1a\x02\n-/' "$models/credit.onnx" > names.onnx
sis model --no-timing names.onnx | grep Gemm | tr '\033' E
make_model text-lstm lstm.onnx
sis model --no-timing lstm.onnx | grep LSTM
keeps 1024 lstm.onnx
keeps 256 lstm.onnx --memory 256
sis model --no-timing "$models/imdb-cnn.onnx" | grep 'Gather\|Conv\|Pool'
make_model tiny-dna dna.onnx 3
sis model dna.onnx | grep -c 'by the walk [-0-9.e]* s, by full passes [-0-9.e]* s (\(full passes are faster here\|[0-9.]* times as long\))\.$'
sis model "$models/dna-ctcf.onnx" --memory 1 | sed -n '/^no walk/,$ s/: \(about (from its first [0-9.e+-]* %) \)\?[-0-9.e]* s,/: N s,/p'
sis model cmd:cat 2>&1
sis model . 2>&1
sis model no.onnx 2>&1 || echo "exit $?"
