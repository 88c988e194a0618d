#!/bin/sh
# Do the README's two commands work on a machine that has never seen this project?
#
#   fresh-check.sh [--keep] [FOLDER]      as root; a quarter of an hour, 4 GB and the network
#
# Makes a minimal system of this machine's own release in FOLDER (default: a temporary one; it must be
# new or empty): Debian's base with git, make and ca-certificates, and nothing else. Clones HEAD of this
# checkout into it and runs there, one after the other, the commands of the README's section "Two
# commands", as they are written: with an empty environment, no home folder, no terminal, no locale.
#
# Packages come from where this machine gets its own: apt's sources, keys and download settings are
# copied, and certificates and proxies with them. Everything runs in mount and process spaces of its
# own, so that no mount and no process is left behind however it ends; the folder is removed unless
# --keep is given. Exit status: 0 if both commands succeeded.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
say() { printf '== %s\n' "$*"; }
die() {
    echo "fresh-check: $*" >&2
    exit 1
}

# ---- In spaces of its own: make the system, run the commands ------------------------------------

# The first place from which this machine gets packages of its release.
mirror() {
    apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
        awk -v release="$1" '$1 == release { print $2; exit }'
}

# What apt here needs to reach it: sources, keys, settings of the download, certificates, names.
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

# inside COMMAND...: in the new system, with nothing in the environment but the way to the network.
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
    while read -r command; do
        say "$command"
        begun=$(date +%s)
        inside sh -c "cd /sis && $command" || die "failed on a fresh machine: $command"
        say "done in $(($(date +%s) - begun)) s"
    done < "$root/commands"
}

if [ "${1-}" = --inside ]; then
    root=$2
    make_system
    run_commands
    exit 0
fi

# ---- Outside: what is needed, a folder, and its end ----------------------------------------------

keep=
[ "${1-}" != --keep ] || { keep=1 && shift; }
case ${1-} in
-*) die "usage: tools/fresh-check.sh [--keep] [FOLDER]" ;;
esac
[ "$(id -u)" = 0 ] || die "needs root, to make a system in a folder: sudo tools/fresh-check.sh"
for tool in debootstrap unshare chroot git apt-get; do
    command -v "$tool" > /dev/null || die "needs $tool (Debian: apt-get install debootstrap util-linux git)"
done
[ -z "$(git -C "$here" status --porcelain)" ] || say "note: what is not committed is not checked"

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
    "$here/tools/fresh-check.sh" --inside "$root"
say "a fresh machine needs nothing but git and make"
