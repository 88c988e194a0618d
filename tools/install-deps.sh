#!/bin/sh
# Install the Debian packages that are missing. Nothing to do: silent and quick, no network.
# On another system it prints what is needed and fails only if the build tools are not there.
#   install-deps.sh [test|python|mpi]   what the build needs; with "test" also what the tests need, with
#                                   "python" what the Python package needs, with "mpi" what sis-mpi needs
# What is only wanted for a part (http: models, JPEG, tokenizers, Python, other people's libraries to compare with) is
# left out with a message where it cannot be had; that part is then not built, or its tests skip.
set -u
needed="gcc libc6-dev cmake pkg-config libjansson-dev libprotobuf-c-dev protobuf-c-compiler
    libonnx-dev zlib1g-dev libpng-dev libcairo2-dev"
wanted="libcurl4-openssl-dev libmicrohttpd-dev libjpeg-dev libutf8proc-dev libsqlite3-dev"
python="python3-dev python3-numpy python3-venv python3-pip"
case ${1-} in
mpi) needed="$needed libopenmpi-dev openmpi-bin" ;;
test)
    needed="$needed libcmocka-dev libonnx-testdata python3-onnx clang libclang-rt-dev"
    wanted="$wanted lld libopenmpi-dev openmpi-bin $python python3-pandas python3-sklearn python3-xgboost
        jupyter-nbconvert python3-ipykernel python3-matplotlib"
    ;;
python) needed="$needed $python" ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    for tool in cmake pkg-config cc protoc-c; do
        command -v "$tool" >/dev/null 2>&1 || missing=1
    done
    [ -z "${missing-}" ] && exit 0
    echo "sis needs: a C11 compiler, cmake, pkg-config, jansson, zlib, libpng, cairo, cmocka, protobuf-c with protoc-c, onnx.proto; libcurl for http: models, libmicrohttpd for sis serve, libjpeg for JPEG images, libutf8proc for tokenizers, libsqlite3 for sis export --to sqlite." >&2
    echo "Debian calls them:" $needed $wanted >&2
    exit 1
fi

# The packages among these that are not installed.
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

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
        [ -z "$missing" ] && echo "left out, since not installed:$missing_parts" >&2 && exit 0
        echo "These packages are missing:$missing" >&2
        echo "Run as root: apt-get install$missing" >&2
        exit 1
    }
    sudo=sudo
fi
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
