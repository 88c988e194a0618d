#!/bin/sh
# Install the Debian packages that are missing. Nothing to do: silent and quick, no network.
# On another system it prints what is needed and fails only if the build tools are not there.
#   install-deps.sh [test|python]   what the build needs; with "test" also what the tests need, with
#                                   "python" what the Python package needs
set -u
packages="gcc libc6-dev cmake pkg-config libjansson-dev libprotobuf-c-dev protobuf-c-compiler
    libonnx-dev zlib1g-dev libpng-dev libcairo2-dev libcurl4-openssl-dev"
[ "${1-}" = test ] && packages="$packages libcmocka-dev libonnx-testdata python3-onnx clang
    libclang-rt-dev python3-pandas python3-sklearn
    python3-xgboost"
case ${1-} in
test | python) packages="$packages python3-dev python3-numpy python3-venv python3-pip" ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    for tool in cmake pkg-config cc protoc-c; do
        command -v "$tool" >/dev/null 2>&1 || missing=1
    done
    [ -z "${missing-}" ] && exit 0
    echo "sis needs: a C11 compiler, cmake, pkg-config, jansson, zlib, libpng, cairo, cmocka, protobuf-c with protoc-c, onnx.proto; libcurl for http: models." >&2
    echo "Debian calls them: $packages" >&2
    exit 1
fi

missing=
for p in $packages; do
    case $(dpkg-query -W -f '${Status}' "$p" 2>/dev/null) in
    "install ok installed") ;;
    *) missing="$missing $p" ;;
    esac
done
[ -z "$missing" ] && exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
        echo "These packages are missing:$missing" >&2
        echo "Run as root: apt-get install$missing" >&2
        exit 1
    }
    sudo=sudo
fi
echo "Installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq >&2 &&
    $sudo apt-get install -y -qq --no-install-recommends $missing >&2 || {
    echo "apt-get could not install:$missing" >&2
    echo "Check the network and the package sources, then run this again." >&2
    exit 1
}
