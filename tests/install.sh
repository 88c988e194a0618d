#!/bin/sh
# What is installed is enough: headers, libraries and pkg-config file build and run an example.
#   install.sh BUILD
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
DESTDIR=$tmp cmake --install "$build" >/dev/null
prefix=$tmp$(sed -n 's/^prefix=//p' "$build/sis.pc")
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$(dirname "$(find "$tmp" -name sis.pc)")
set -- $(pkg-config --define-variable=prefix="$prefix" --cflags --libs sis)
cc -std=c11 "$here/../examples/01_callback.c" "$@" -o "$tmp/shared"
libdir=$(dirname "$(find "$tmp" -name libsis.so)")
LD_LIBRARY_PATH=$libdir "$tmp/shared" > "$tmp/out"
grep -q "subset 1" "$tmp/out"
set -- $(pkg-config --static --define-variable=prefix="$prefix" --cflags --libs sis)
cc -std=c11 "$here/../examples/01_callback.c" $(echo "$@" | sed "s|-lsis|$libdir/libsis.a|") -o "$tmp/static"
"$tmp/static" | cmp - "$tmp/out"
for page in sis sis-explain sis-show; do
    [ -s "$(find "$tmp" -name "$page.1")" ]
done
"$prefix/bin/sis" --version | grep -q '^sis '
# Nothing but the documented API is visible.
nm -D --defined-only "$libdir/libsis.so" | awk '{ print $3 }' | while read -r symbol; do
    grep -qw "$symbol" "$here"/../include/sis/*.h || { echo "$symbol is exported but in no header"; exit 1; }
done
echo "installed files are enough"
