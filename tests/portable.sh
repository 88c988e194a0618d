#!/bin/sh
# Systems other than Linux with glibc: 32-bit and big-endian ones are refused with a message, and every source compiles
# with musl (if musl-gcc is installed). unit/test_base_platform.c tests the Linux-only calls.
#   portable.sh BUILD
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
refused() { # SENTENCE FLAG...
    sentence=$1
    shift
    ! cc -fsyntax-only -Isrc -Iinclude "$@" src/base/error.c 2>"$tmp/said" || { echo "not refused: $*" && exit 1; }
    grep -q "error: .*$sentence" "$tmp/said" || { cat "$tmp/said" && exit 1; }
}
cc -fsyntax-only -D_GNU_SOURCE -Isrc -Iinclude src/base/error.c
refused "sis needs a 64-bit system" -U__SIZEOF_POINTER__ -D__SIZEOF_POINTER__=4
refused "sis needs a little-endian system" -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__

command -v musl-gcc >/dev/null 2>&1 || {
    echo "without musl-gcc (Debian: musl-tools)"
    exit 0
}
# The headers of other libraries, without those of glibc.
mkdir "$tmp/include"
for name in jansson jansson_config zlib zconf png pngconf pnglibconf protobuf-c sqlite3 utf8proc jpeglib jmorecfg jerror jconfig \
    microhttpd curl; do
    for at in $(echo | cc -E -v - 2>&1 | sed -n 's/^ \(\/.*\)/\1/p'); do
        [ -e "$tmp/include/$name" ] || [ ! -d "$at/$name" ] || ln -s "$at/$name" "$tmp/include/$name"
        [ -e "$tmp/include/$name.h" ] || [ ! -e "$at/$name.h" ] || ln -s "$at/$name.h" "$tmp/include/$name.h"
    done
done
parts=
for part in curl/curl:CURL jpeglib:JPEG sqlite3:SQLITE utf8proc:UTF8PROC microhttpd:MICROHTTPD; do
    [ ! -e "$tmp/include/${part%:*}.h" ] || parts="$parts -DSIS_${part#*:}"
done
find src cli -name '*.c' | sort | xargs musl-gcc -fsyntax-only -std=c11 -D_GNU_SOURCE $parts -Iinclude -Isrc -Icli \
    -isystem "$build/generated" -isystem "$tmp/include" -Wall -Wextra -Werror
echo "every source compiles with musl"
