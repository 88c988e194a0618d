#!/bin/sh
# Test the README's two commands, or the Debian packages, on a minimal system.
#
#   fresh-check.sh [--keep] [FOLDER]           as root; a quarter of an hour, 4 GB and the network
#   fresh-check.sh [--keep] --deb DEBS [FOLDER]    as root; two minutes
#
# Makes a minimal system of this machine's own release in FOLDER (default: a temporary one; it must be
# new or empty): Debian's base with git, make and ca-certificates, and nothing else. Then it either clones
# HEAD of this checkout into it, checks that `make` installs nothing and names what is missing, and runs the
# commands of the README's section "Two commands"; or it installs the packages in DEBS (`make deb` writes
# them to build/dist) and uses each of them. Commands get an empty environment, no home folder, no terminal,
# no locale. It prints the seconds of each command.
#
# Packages come from the sources of this machine: apt's sources, keys, download settings, certificates and
# proxies are copied. Everything runs in separate mount and process namespaces, so that no mount and no
# process is left behind. The folder is removed unless --keep is given. Exit status: 0 if everything
# succeeded.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
say() { printf '== %s\n' "$*"; }
die() {
    echo "fresh-check: $*" >&2
    exit 1
}

# ---- In separate namespaces: make the system, run the commands ----------------------------------

# The first package source of this machine's release.
mirror() {
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk -v release="$1" '$1 == release { print $2; exit }'
}

# The files that apt needs to reach it: sources, keys, download settings, certificates, names.
copy_settings() {
    rm -f "$1/etc/apt/sources.list"
    mkdir -p "$1/etc/apt/keyrings" "$1/usr/share/keyrings" "$1/usr/local/share/ca-certificates"
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
        /etc/apt/trusted.gpg.d/* /etc/apt/keyrings/* /usr/share/keyrings/* \
        /usr/local/share/ca-certificates/*.crt /etc/resolv.conf; do
        [ ! -f "$f" ] || cp -L "$f" "$1$f"
    done
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|Check-Valid-Until)' \
        > "$1/etc/apt/apt.conf.d/90host" || true
}

# inside COMMAND...: run it in the new system, with only the proxy settings in the environment.
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
        ${no_proxy:+no_proxy="$no_proxy"} "$@" </dev/null
}

make_system() {
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    from=$(mirror "$release")
    [ -n "$from" ] || die "apt here has no source for $release: apt-get update, then run this again"
    proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy)
    [ -z "$proxy" ] || export http_proxy="${http_proxy:-$proxy}"
    say "a minimal $release"
    debootstrap --variant=minbase --include=git,make,ca-certificates "$release" "$root" "$from" \
        > "$root.log" 2>&1 || die "debootstrap failed: $(tail -n 3 "$root.log")"
    rm -f "$root.log"
    copy_settings "$root"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    ln -sf pts/ptmx "$root/dev/ptmx"
    inside update-ca-certificates > /dev/null 2>&1
    say "$(inside dpkg-query -W | wc -l) packages, $(inside git --version), $(inside make --version | head -n 1)"
}

run_commands() {
    git -C "$here" bundle create -q "$root/sis.bundle" HEAD $(git -C "$here" symbolic-ref -q HEAD || :)
    inside git clone -q /sis.bundle /sis
    say "commit $(inside git -C /sis log -1 --format='%h %s')"
    awk '/^## / { on = ($0 == "## Two commands") } on && /^    make / { sub(/^ +/, ""); print }' \
        "$root/sis/README.md" > "$root/commands"
    [ "$(wc -l < "$root/commands")" = 2 ] || die "README.md: expected two commands in \"Two commands\""
    before=$(inside dpkg-query -W | wc -l)
    if inside sh -c "cd /sis && make" > "$root/make.log" 2>&1 ||
        ! grep -q "^Install them with: apt-get install .*cmake" "$root/make.log" ||
        [ "$(inside dpkg-query -W | wc -l)" != "$before" ]; then
        die "make on a fresh machine must name what is missing, install nothing and fail: $(cat "$root/make.log")"
    fi
    say "make installs nothing: $(cat "$root/make.log")"
    while read -r command; do
        timed "$command" sh -c "cd /sis && $command"
    done < "$root/commands"
}

# timed WHAT COMMAND...: run it inside and print its seconds
timed() {
    what=$1
    shift
    say "$what"
    begun=$(date +%s)
    inside "$@" || die "failed on a fresh machine: $what"
    say "done in $(($(date +%s) - begun)) s"
}

# Use each package. -dev and Python come last, because they install compilers and libraries.
use_packages() {
    mkdir "$root/debs" "$root/try"
    cp "$1"/*.deb "$root/debs"
    rm -f "$root"/debs/*-dbgsym_*
    cp -r "$here/examples" "$root/try"
    get="DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
    timed "apt-get install sis" sh -ec "apt-get update -qq; $get /debs/sis_* >/dev/null; sis --version"
    timed "sis explain, show, verify" sh -ec 'cd /try
        sis explain -m cmd:examples/credit.sh -i examples/credit.csv --mask mean:examples/credit.csv \
            --threshold 0.8 --rows 0 --output granted.jsonl
        sis show granted.jsonl
        sis verify granted.jsonl -m cmd:examples/credit.sh -i examples/credit.csv --mask mean:examples/credit.csv \
            --rows 0 --output audit.jsonl
        sis explain -m /usr/share/sis/models/mnist-cnn.onnx -i examples/seven.png --threshold 0.7 --quiet | grep -q \"explained\"'
    timed "a C program with libsis-dev" sh -ec "$get /debs/libsis1_* /debs/libsis-dev_* gcc libc6-dev pkg-config >/dev/null; cd /try
        cc -std=c11 examples/01_callback.c \$(pkg-config --cflags --libs sis) -o callback; ./callback
        cc -std=c11 examples/01_callback.c \$(pkg-config --static --cflags --libs sis | sed 's/-lsis/-l:libsis.a/') -o static
        ./static >/dev/null"
    timed "Python with python3-sis" sh -ec "$get /debs/python3-sis_* >/dev/null; cd /try
        python3 -c \"import sis, numpy as np
r = sis.explain(lambda x: x[:, 0] + x[:, 1], np.array([[3.0, 2.0, 1.0]]), threshold=4, mask=0.0)
print(sis.__version__, sorted(r[0].subsets[0].features))\""
    timed "apt-get purge" sh -ec 'cd /try
        dpkg -L sis libsis1 libsis-dev python3-sis | while read -r f; do [ -d "$f" ] || echo "$f"; done > files
        apt-get purge -y -qq sis libsis1 libsis-dev python3-sis >/dev/null
        [ -s files ] && ! xargs ls -d < files 2>/dev/null | grep . && [ ! -e /usr/lib/python3/dist-packages/sis ]'
}

if [ "${1-}" = --inside ]; then
    root=$2
    make_system
    if [ -n "$3" ]; then use_packages "$3"; else run_commands; fi
    exit 0
fi

# ---- Outside: requirements, the folder, and its removal -------------------------------------------

keep= debs=
[ "${1-}" != --keep ] || { keep=1 && shift; }
if [ "${1-}" = --deb ] && [ -n "${2-}" ]; then
    debs=$(cd "$2" && pwd)
    ls "$debs"/libsis1_*.deb > /dev/null || die "no packages in $2: run make deb"
    shift 2
fi
case ${1-} in
-*) die "usage: tools/fresh-check.sh [--keep] [--deb DEBS] [FOLDER]" ;;
esac
[ "$(id -u)" = 0 ] || die "needs root, to make a system in a folder: sudo tools/fresh-check.sh"
for tool in debootstrap unshare chroot git apt-get; do
    command -v "$tool" > /dev/null || die "needs $tool (Debian: apt-get install debootstrap util-linux git)"
done
[ -n "$debs" ] || [ -z "$(git -C "$here" status --porcelain)" ] || say "note: what is not committed is not checked"

root=${1:-$(mktemp -d)}
mkdir -p "$root"
root=$(cd "$root" && pwd)
[ -z "$(ls -A "$root")" ] || die "$root is not empty"
chmod 755 "$root"
clean() {
    if [ -n "$keep" ]; then say "kept in $root"; else rm -rf --one-file-system "$root" "$root.log"; fi
}
trap clean EXIT
trap 'exit 1' INT TERM HUP
unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
    "$here/tools/fresh-check.sh" --inside "$root" "$debs"
if [ -n "$debs" ]; then say "the packages install and run on a fresh machine"; else say "a fresh machine needs nothing but git and make"; fi
