#!/bin/sh
# Every C file is clean under clang with the warnings gcc is given. What the fuzzers are built of has been
# compiled that way already, warnings as errors: it is not read again.
#   clang.sh BUILD
build=$(cd "${1:-build}" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
command -v clang >/dev/null 2>&1 || {
    echo "skipped: clang is not installed"
    exit 77
}
git ls-files '*.c' 2>/dev/null | grep -v '^tests/fuzz/' |
    while read -r file; do
        object=$build/fuzz/CMakeFiles/sis_objects_fuzz.dir/$file.o
        [ -e "$object" ] && [ "$object" -nt "$file" ] || echo "$file"
    done > /tmp/sis-clang.$$
[ -s /tmp/sis-clang.$$ ] || exit 1
status=0
cairo=$(pkg-config --cflags cairo)
python=$(/usr/bin/python3 -c "import sysconfig; print(sysconfig.get_paths()['include'])" 2>/dev/null)
mpi=$(pkg-config --cflags-only-I ompi-c 2>/dev/null | sed 's/-I/-isystem /g')
[ -n "$mpi" ] || sed -i '/^mpi\//d' /tmp/sis-clang.$$
[ -f "$python/Python.h" ] || sed -i '/^python\//d' /tmp/sis-clang.$$
while read -r file; do
    clang -fsyntax-only -std=c11 -D_GNU_SOURCE -DSIS_SOURCE_DIR='"."' \
        -DSIS_BINARY_DIR='"."' -DSIS_ONNX_CASES='"."' -Iinclude -Isrc -Icli -Ibench -Itests/unit -isystem "$build/generated" -isystem "$python" $cairo $mpi \
        -Wall -Wextra -Wshadow -Wconversion -Werror "$file" || status=1
done < /tmp/sis-clang.$$
rm -f /tmp/sis-clang.$$
exit $status
