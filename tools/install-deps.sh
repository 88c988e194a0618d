#!/bin/sh
# Install the missing Debian packages. If none is missing, it is silent and needs no network.
#   install-deps.sh [--check] [test|deep|python|mpi|deb]
#       without an argument: what the build needs; test: what `make test` needs; deep: what `make test-deep` needs;
#       python: what the Python package needs; mpi: what sis-mpi needs; deb: what `make deb` needs
#       --check: install nothing; name what is missing and the command that installs it
# It installs as root or by sudo without a password; otherwise it prints the command. Packages for single parts
# (http: models, JPEG images, tokenizers, Python, wheels for other machines, libraries to compare with) are optional:
# without them the part is not built, or its tests are skipped.
set -u
needed="gcc libc6-dev cmake pkg-config libjansson-dev libprotobuf-c-dev protobuf-c-compiler
    zlib1g-dev libpng-dev"
wanted="libcairo2 libcurl4-openssl-dev libmicrohttpd-dev libjpeg-dev libutf8proc-dev libsqlite3-dev"
python="python3-dev python3-numpy python3-venv python3-pip"
check=
[ "${1-}" != --check ] || { check=1 && shift; }
case ${1-} in
mpi) needed="$needed libopenmpi-dev openmpi-bin" ;;
test | deep)
    needed="$needed libcmocka-dev"
    wanted="$wanted curl lld locales libonnx-testdata python3-onnx $python python3-pandas python3-sklearn python3-xgboost"
    ;;
python) needed="$needed $python" wanted="$wanted patchelf" ;;
deb) needed="$needed $wanted dpkg-dev debhelper dh-python python3-dev" && wanted= ;;
esac
[ "${1-}" != deep ] || wanted="$wanted clang libclang-rt-dev musl-tools libopenmpi-dev openmpi-bin jupyter-nbconvert
    python3-ipykernel mypy patchelf gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"

if ! command -v dpkg-query >/dev/null 2>&1; then
    for tool in cmake pkg-config cc protoc-c; do
        command -v "$tool" >/dev/null 2>&1 || missing=1
    done
    [ -z "${missing-}" ] && exit 0
    echo "sis needs: a C11 compiler, cmake, pkg-config, jansson, zlib, libpng, cmocka, protobuf-c with protoc-c. docs/install.md lists them, and the libraries that only a part of it needs." >&2
    echo "Debian calls them:" $needed $wanted >&2
    exit 1
fi

# Print the packages among these that are not installed.
absent() {
    for p in "$@"; do
        case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null) in
        "install ok installed") ;;
        *) printf ' %s' "$p" ;;
        esac
    done
}
missing=$(absent $needed)
missing_parts=$(absent $wanted)
[ -z "$missing$missing_parts" ] && exit 0

command="apt-get install --no-install-recommends$missing$missing_parts"
[ "$(id -u)" = 0 ] || command="sudo $command"
if [ -n "$check" ] || ! { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then
    [ -n "$missing" ] || exit 0 # CMake or the tests report optional parts that are left out
    echo "Missing packages:$missing" >&2
    echo "Install them with: $command" >&2
    exit 1
fi
sudo=
[ "$(id -u)" = 0 ] || sudo="sudo -n"
export DEBIAN_FRONTEND=noninteractive
install() { $sudo apt-get install -y -qq --no-install-recommends "$@" >&2; }
echo "Installing:$missing$missing_parts" >&2
$sudo apt-get update -qq >&2
[ -z "$missing" ] || install $missing || {
    echo "apt-get could not install:$missing" >&2
    echo "Check the network and the package sources, then run this again." >&2
    exit 1
}
[ -z "$missing_parts" ] || install $missing_parts || for p in $missing_parts; do
    install "$p" || echo "left out, since it cannot be installed: $p" >&2
done
exit 0
