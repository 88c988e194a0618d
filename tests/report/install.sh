#!/bin/sh
# Install what the browser test needs: Debian's chromium and nodejs. Nothing to do: silent and quick.
#   install.sh      0: both are there (now); 1: they are not, and why is on stderr
set -u
have() {
    command -v node >/dev/null 2>&1 && command -v chromium >/dev/null 2>&1
}
have && exit 0
command -v apt-get >/dev/null 2>&1 || {
    echo "needs chromium and nodejs, and this system has no apt-get" >&2
    exit 1
}
sudo=
if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || {
        echo "needs chromium and nodejs; as root: apt-get install chromium nodejs" >&2
        exit 1
    }
    sudo="sudo -n"
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq >/dev/null 2>&1
$sudo apt-get install -y -qq --no-install-recommends chromium nodejs >/dev/null 2>&1
have && exit 0
echo "needs chromium and nodejs, and apt-get could not install them" >&2
exit 1
