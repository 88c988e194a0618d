#!/bin/sh
# Copy the program and everything that it needs to run into a folder, the content of a container image: see
# examples/Dockerfile. Prints the size of the folder.
#   tools/image.sh SIS FOLDER [MODEL...]     SIS: the program, e.g. build/sis; models go to FOLDER/models
set -eu
[ $# -ge 2 ] || {
    echo "usage: tools/image.sh SIS FOLDER [MODEL...]" >&2
    exit 2
}
sis=$1 folder=$2
shift 2
[ ! -e "$folder" ] || {
    echo "tools/image.sh: $folder is there already" >&2
    exit 1
}
mkdir -p "$folder/bin" "$folder/lib" "$folder/tmp" "$folder/models"
chmod 1777 "$folder/tmp"
cp "$sis" "$folder/bin/sis"
! command -v strip >/dev/null 2>&1 || strip "$folder/bin/sis"

# Libraries go where the loader looks first, including those that are loaded when needed (src/base/library.h); the loader
# goes to the path that the program names.
needed() { ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'; }
PATH=$PATH:/sbin:/usr/sbin
{
    needed "$sis"
    for name in libmicrohttpd.so.12 libcurl.so.4; do
        library=$(ldconfig -p | awk -v name="$name" '$1 == name { print $NF; exit }')
        [ -z "$library" ] || { echo "$library" && needed "$library"; }
    done
} | sort -u | while read -r library; do
    cp -L "$library" "$folder/lib/"
done
loader=$(ldd "$sis" | awk '$1 ~ /^\/.*ld-/ { print $1 }')
mkdir -p "$folder$(dirname "$loader")"
cp -L "$loader" "$folder$loader"

# Certificates, for predictors behind https.
if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$folder/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
fi
for model in "$@"; do
    cp "$model" "$folder/models/"
done
echo "$folder: $(du -sm "$folder" | cut -f1) MB, as tar.gz $(tar -C "$folder" -cf - . | gzip -6 | wc -c | awk '{ printf "%.0f", $1 / 1e6 }') MB"
