#!/bin/sh
# Every C file compiles without warnings under clang, with the warning options of gcc. The sources of the
# fuzzers are skipped: they have been compiled by clang with warnings as errors.
#   clang.sh BUILD
build=$(cd "${1:-build}" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
command -v clang >/dev/null 2>&1 || {
    echo "skipped: clang is not installed"
    exit 77
}
python=$(/usr/bin/python3 -c "import sysconfig; print(sysconfig.get_paths()['include'])" 2>/dev/null)
mpi=$(pkg-config --cflags-only-I ompi-c 2>/dev/null | sed 's/-I/-isystem /g')
files=$(find bench cli examples mpi python src tests -path tests/fuzz -prune -o -name '*.c' -print |
    while read -r file; do
        object=$build/fuzz/CMakeFiles/sis_objects_fuzz.dir/$file.o
        case $file in
        mpi/*) [ -n "$mpi" ] || continue ;;
        python/*) [ -f "$python/Python.h" ] || continue ;;
        esac
        [ -e "$object" ] && [ "$object" -nt "$file" ] || printf '%s ' "$file"
    done)
[ -n "$files" ] || exit 1
# The driver starts a compiler for each file, which takes half of the time. So the script asks the driver for the
# command that compiles one file, and runs that compiler on all of them.
set -- -fsyntax-only -std=c11 -D_GNU_SOURCE -DSIS_SOURCE_DIR='"."' -DSIS_BINARY_DIR='"."' -DSIS_ONNX_CASES='"."' -DSIS_EMULATOR='""' \
    -Iinclude -Isrc -Icli -Ibench -Itests/unit -isystem "$build/generated" -isystem "$python" \
    $mpi -Wall -Wextra -Wshadow -Wconversion -Werror
one=tests/unit/support.c
compiler=$(clang -### "$@" $one 2>&1 | sed -n "\$s/\"-main-file-name\" \"[^\"]*\"//; \$s|\"$one\"\$||p")
[ -n "$compiler" ] || exit 1
eval "$compiler $files"
