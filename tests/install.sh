#!/bin/sh
# Test the installed files: headers, libraries and pkg-config file build and run an example, also in folders
# with blanks in their names; each header compiles alone, in C and C++; the shared library exports exactly the
# functions of the headers; the versions agree.
#   install.sh BUILD
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad() {
    echo "$*"
    exit 1
}

DESTDIR="$tmp/ro ot" cmake --install "$build" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$tmp" -name sis.pc)")
export PKG_CONFIG_PATH
config() { pkg-config "$@" sis; } # quoted for a shell
variable() { eval "echo $(config --variable="$1")"; }
prefix=$(variable prefix)
libdir=$(variable libdir)
include=$(variable includedir)

# A program with the shared and with the static library.
example=$here/../examples/01_callback.c
eval "cc -std=c11 '$example' $(config --cflags --libs) -o $tmp/shared"
LD_LIBRARY_PATH=$libdir "$tmp/shared" | cmp - "$here/examples/01_callback.out"
eval "cc -std=c11 '$example' $(config --static --cflags --libs | sed "s|-lsis|-l:libsis.a|") -o $tmp/static"
"$tmp/static" | cmp - "$here/examples/01_callback.out"
for page in sis sis-explain sis-show; do
    [ -s "$(find "$tmp" -name "$page.1")" ] || bad "$page.1 is not installed"
done

# The pkg-config file finds its prefix, also under another prefix and with other folders.
config --cflags | grep -qE 'cairo|glib' && bad "the cflags are of libraries that no header uses: $(config --cflags)"
folders() { # LIBDIR PATH: what sis.pc says after --prefix if CMAKE_INSTALL_LIBDIR is LIBDIR, which is PATH then
    cmake -S "$here/.." -B "$tmp/pc" -DSIS_TESTS=OFF -DCMAKE_INSTALL_LIBDIR="$1" >/dev/null 2>&1
    cmake --install "$tmp/pc" --component pkgconfig --prefix "$tmp/mo ved" >/dev/null
    PKG_CONFIG_PATH=$2/pkgconfig
    eval "set -- $(config --cflags-only-I) $(config --libs-only-L)" # the first -I and the only -L
    for last; do :; done
    echo "$(realpath -m "${1#-I}") $(realpath -m "${last#-L}")"
}
[ "$(folders lib "$tmp/mo ved/lib")" = "$tmp/mo ved/include $tmp/mo ved/lib" ] || bad "sis.pc is wrong after --prefix"
[ "$(folders "$tmp/o wn" "$tmp/o wn")" = "$tmp/mo ved/include $tmp/o wn" ] ||
    bad "sis.pc is wrong with an absolute CMAKE_INSTALL_LIBDIR"

# One version, in header, program, pkg-config file, news and Debian's packages; the ABI number in the library's name.
version=$(sed -n 's/^#define SIS_VERSION "\(.*\)"/\1/p' "$include/sis/sis.h")
abi=$(sed -n 's/^#define SIS_ABI //p' "$include/sis/sis.h")
[ "$("$prefix/bin/sis" --version)" = "sis $version" ] || bad "sis --version is not $version"
[ "$(config --modversion)" = "$version" ] || bad "sis.pc is not of version $version"
grep -q "^## $version\$" "$here/../NEWS.md" || bad "NEWS.md does not tell of version $version"
head -n 1 "$here/../debian/changelog" | grep -qF "sis ($version)" || bad "debian/changelog is not of version $version"
grep -q "^Package: libsis$abi\$" "$here/../debian/control" || bad "debian/control has no package libsis$abi"
[ -f "$libdir/libsis.so.$abi" ] || bad "there is no libsis.so.$abi"
objdump -p "$libdir/libsis.so" | grep -q "SONAME *libsis.so.$abi\$" || bad "the SONAME is not libsis.so.$abi"

# Libraries that are loaded when needed are in the table for packagers.
for name in $(grep -ohE '"lib[a-z0-9-]+\.(so[.0-9]*|[0-9.]*dylib)"' -r "$here/../src" | tr -d '"' | sort -u); do
    grep -q "\`$name\`" "$here/../docs/install.md" || bad "docs/install.md does not name $name"
done

# Each header alone; in C++ if there is a compiler for it, which may differ from cc's.
for header in "$include"/sis/*.h; do
    echo "#include <sis/${header##*/}>" | tee "$tmp/alone.c" > "$tmp/alone.cc"
    set -- -fsyntax-only -pedantic -Wall -Wextra -Werror -I"$include"
    cc "$@" "$tmp/alone.c"
    ! command -v c++ >/dev/null || c++ "$@" "$tmp/alone.cc"
done

# Every header says in its first lines whether it is stable or experimental.
stable=0
for header in "$include"/sis/*.h; do
    n=$(grep -cE '^[a-z].*\bsis_[a-z0-9_]+\(' "$header")
    case $(sed -n '1,12p' "$header") in
    *"* Stable: "*) stable=$((stable + n)) ;;
    *"* Experimental: "*) ;;
    *) bad "${header##*/} does not say whether it is stable or experimental" ;;
    esac
done

# Stable headers include only stable ones.
for header in "$include"/sis/*.h; do
    grep -q '^ \* Stable: ' "$header" || continue
    for used in $(sed -n 's/^#include <sis\/\(.*\)>/\1/p' "$header"); do
        grep -q '^ \* Stable: ' "$include/sis/$used" || bad "${header##*/} is stable, but includes $used, which is not"
    done
done

# Exported symbols are the declared functions that are not inline. Other symbols of the static library have our prefix.
awk '{ text = text $0 "\n" }
     END {
         while ((from = index(text, "/*")) > 0) {
             rest = substr(text, from)
             text = substr(text, 1, from - 1) substr(rest, index(rest, "*/") + 2)
         }
         print text
     }' "$include"/sis/*.h | grep -v '^ *#\|^typedef' | grep -oE '\bsis_[a-z0-9_]+\(' | tr -d '(' | sort -u > "$tmp/named"
sed -n 's/^static inline .*\b\(sis_[a-z0-9_]*\)(.*/\1/p' "$include"/sis/*.h | sort > "$tmp/inline"
comm -23 "$tmp/named" "$tmp/inline" > "$tmp/declared"
nm -D --defined-only "$libdir/libsis.so" | awk '{ print $3 }' | sort > "$tmp/exported"
diff "$tmp/declared" "$tmp/exported" > "$tmp/diff" ||
    bad "$(sed -n -e 's/^< \(.*\)/\1 is declared in a header but not exported/p' \
        -e 's/^> \(.*\)/\1 is exported but declared in no header/p' "$tmp/diff")"
nm -g --defined-only "$libdir/libsis.a" | awk 'NF == 3 && $3 !~ /^sis_/ { print $3 }' > "$tmp/others"
[ ! -s "$tmp/others" ] || bad "libsis.a defines names without our prefix: $(cat "$tmp/others")"
echo "installed files are enough; $(wc -l < "$tmp/declared") functions are declared and exported, $stable of them stable"
