# Every way to write an option, and every kind of value.
try parse --file x
try parse --file=x --note= --method ig --threshold -0.5 --share=1 --times 18446744073709551615 -q
try parse -f x -t1e-3 -j2 -qi a --input b --input=c -- --file -q
try parse -fx --file y -q - 2>&1
try parse --file x --note=--quiet -q
try parse --file x --below
echo "exit $?"
