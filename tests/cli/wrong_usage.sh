# Each line is a mistake: one line on stderr and exit status 2.
wrong() {
    "$@"
    status=$?
    [ "$status" = 2 ] || echo "exit $status: $*"
}
wrong try
wrong try pars
wrong try prase
wrong try something-else
wrong try --quiet parse
wrong try parse
wrong try parse --file
wrong try parse --file --quiet
wrong try parse --fiel x
wrong try parse --thresh 3
wrong try parse --xyzzy
wrong try parse -x
wrong try parse --below=1
wrong try parse --threshold abc
wrong try parse --threshold nan
wrong try parse --threshold ""
wrong try parse --threshold "1 "
wrong try parse --threshold " 1"
wrong try parse --threshold 1e999
wrong try parse -tabc
wrong try parse --share 1.5
wrong try parse --times 0
wrong try parse --times -3
wrong try parse --times 1.5
wrong try parse --times 18446744073709551616
wrong try parse --method lim
wrong try parse --method ""
wrong try parse --file x a b c
wrong try help nonsense
wrong try --help nonsense
wrong sis xplain
wrong sis explain model.onnx cases.csv 0.8
