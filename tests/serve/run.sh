#!/bin/sh
# The server's tests; skipped, with a message, where what they need is missing and cannot be installed.
#   run.sh api SIS SOURCE            protocols and strangers: see api.py
#   run.sh page SIS SOURCE FOLDER    the page in Chromium: see page.js; with SIS_PICTURES screenshots in FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="suppressions=$here/../lsan.supp:print_suppressions=0"
case $1 in
api)
    command -v python3 >/dev/null 2>&1 || { echo "skipped: needs python3" && exit 77; }
    exec timeout 400 python3 -W ignore "$here/api.py" "$2" "$3"
    ;;
page)
    why=$(timeout 240 "$here/../report/install.sh" 2>&1) || {
        echo "skipped: ${why:-installing chromium and nodejs took too long}"
        exit 77
    }
    exec timeout 400 node "$here/page.js" "$(command -v chromium)" "$2" "$3" "$4"
    ;;
esac
