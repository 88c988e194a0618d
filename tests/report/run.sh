#!/bin/sh
# Reports in a real browser: see check.js. Skipped, with a message, where there is no Chromium and none
# can be installed.
#   run.sh SIS FOLDER     screenshots are left in FOLDER
set -u
[ $# = 2 ] || {
    echo "usage: run.sh SIS FOLDER" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
why=$(timeout 240 "$here/install.sh" 2>&1) || {
    echo "skipped: ${why:-installing chromium and nodejs took too long}"
    exit 77
}
mkdir -p "$2" || exit 1
exec timeout 240 node "$here/check.js" "$(command -v chromium)" "$1" "$2"
