#!/bin/sh
# Cross-build sis for arm64 and run it under qemu-user: unit tests (every 24th random case), commands, and the results
# of all shipped models, which are compared with those of BUILD/sis.
#   arm64.sh BUILD
# The libraries are Debian's packages for arm64, unpacked into BUILD/arm64/root: nothing is installed, and root is not
# needed. Skips (77) without a cross compiler, qemu-user or these packages.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$here")
arm=$build/arm64
root=$arm/root
libraries="libc6-dev libjansson-dev libprotobuf-c-dev zlib1g-dev libpng-dev libcmocka-dev libutf8proc-dev libjpeg-dev
    libsqlite3-dev libcurl4-openssl-dev libmicrohttpd-dev"
skip() {
    echo "skipped: $*"
    exit 77
}
for tool in aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu qemu-aarch64:qemu-user apt-get:apt dpkg-deb:dpkg; do
    command -v "${tool%:*}" >/dev/null || skip "there is no ${tool%:*} (Debian: ${tool#*:})"
done

# A separate apt configuration: the sources of this system, no packages installed, another architecture.
own_apt() {
    apt-get -qq -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$arm/apt" \
        -o Dir::State::status="$arm/apt/status" -o Dir::Cache="$arm/apt" -o APT::Sandbox::User= \
        -o APT::Install-Recommends=false -o Acquire::Languages=none "$@" >>"$arm/apt/log" 2>&1
}
if [ ! -e "$arm/root.made" ]; then
    rm -rf "$root" "$arm/apt"
    mkdir -p "$root" "$arm/apt/lists/partial" "$arm/apt/archives/partial"
    : >"$arm/apt/status"
    own_apt update || true # sources without arm64 fail
    own_apt --download-only install $libraries || { tail -3 "$arm/apt/log" && skip "no packages for arm64"; }
    for package in "$arm"/apt/archives/*.deb; do
        dpkg-deb -x "$package" "$root"
    done
    rm -rf "$arm/apt"
    : >"$arm/root.made"
fi

export PKG_CONFIG_SYSROOT_DIR="$root"
export PKG_CONFIG_LIBDIR="$root/usr/lib/aarch64-linux-gnu/pkgconfig:$root/usr/share/pkgconfig"
cores=$(nproc)
cmake -S "$source" -B "$arm" -DSIS_TESTS=ON -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_SYSROOT="$root" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
    "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;$root" >"$arm/log" 2>&1 &&
    cmake --build "$arm" -j "$cores" --target sis_program unit_core unit_net unit_model unit_analysis >>"$arm/log" 2>&1 ||
    { tail -20 "$arm/log" && exit 1; }

tests='unit\.(core_(properties|reference|stops|verify|walks)|analysis_cases|model_command|net_(kernels.*|attention|conv|walk_(dense|elements|found|trees|window_input)))'
(cd "$arm" && ctest -j "$cores" -R "^$tests\$" --no-tests=error --output-on-failure) || exit 1

# A wrapper that starts the program under qemu.
mkdir -p "$arm/emulated"
printf '#!/bin/sh\nexec qemu-aarch64 -L "%s" "%s/sis" "$@"\n' "$root" "$arm" >"$arm/emulated/sis"
chmod +x "$arm/emulated/sis"
"$here/cli/run.sh" "$arm/emulated" credit explain_table verify_alone

# Decisions, subsets and the order of each walk equal those of this machine, and sis verify confirms them here.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
examples=$source/examples
echo 'A wonderful and moving story, beautifully acted, one of the best.' >text.txt
awk 'BEGIN { for (i = 0; i < 82; i++) a = a "A"; print ">site"; print substr(a, 1, 40) "TGGCCACCAGGGGGCGCTA" substr(a, 1, 42) }' >dna.fa
found() { # FILE: the fields that must be equal
    grep -o '"id":"[^"]*"\|"status":"[^"]*"\|"\(target\|features\|order\)":\(\[[0-9,]*\]\|[0-9]*\)' "$1"
}
same() { # MODEL INPUT THRESHOLD [OPTION...]
    model=$source/models/$1.onnx input=$2 threshold=$3
    shift 3
    "$build/sis" explain -q -m "$model" -i "$input" -t "$threshold" --trace "$@" >here.jsonl
    "$arm/emulated/sis" explain -q -m "$model" -i "$input" -t "$threshold" --trace "$@" >there.jsonl
    grep -q '"kernels":"neon"' there.jsonl
    grep -q '"features":\[[0-9]' here.jsonl || { echo "$model: nothing to compare" && exit 1; }
    found here.jsonl >here
    found there.jsonl >there
    diff here there >&2 || { echo "$model: other results on arm64" && exit 1; }
    ! "$build/sis" verify -q there.jsonl -m "$model" -i "$input" | grep '"holds":false' || exit 1
    echo "same: $(basename "$model") on $(basename "$input")"
}
same credit "$examples/credit.csv" 0.7 --mask "mean:$examples/credit.csv"
same dna-ctcf dna.fa 0.9
same imdb-cnn text.txt 0.7
same imdb-lstm text.txt 0.85
same mnist-mlp "$examples/seven.png" 0.7 --max-subsets 1
same mnist-cnn "$examples/seven.png" 0.7 --max-subsets 1
