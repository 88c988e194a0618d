#!/bin/sh
# The server's tests; skipped, with a message, where what they need is missing and cannot be installed.
#   run.sh api SIS SOURCE            protocols and strangers: see api.py
#   run.sh image SIS SOURCE          the folder that is a container image
#   run.sh page SIS SOURCE FOLDER    the page in Chromium: see page.js; with SIS_PICTURES screenshots in FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="suppressions=$here/../lsan.supp:print_suppressions=0"
case $1 in
api)
    command -v python3 >/dev/null 2>&1 || { echo "skipped: needs python3" && exit 77; }
    exec timeout 400 python3 -W ignore "$here/api.py" "$2" "$3"
    ;;
image) # the folder of tools/image.sh runs by itself: as the root of the file system if we may, else by its own loader
    tmp=$(mktemp -d) || exit 1
    trap 'rm -rf "$tmp"' EXIT
    "$here/../../tools/image.sh" "$2" "$tmp/image" "$3/models/credit.onnx" || exit 1
    if [ "$(id -u)" = 0 ]; then
        set -- env -i LD_LIBRARY_PATH=/lib "$(command -v chroot)" "$tmp/image" /bin/sis
        model=/models/credit.onnx
    else
        set -- env -i "$(ls "$tmp"/image/lib*/ld-*.so*)" --library-path "$tmp/image/lib" "$tmp/image/bin/sis"
        model=$tmp/image/models/credit.onnx
    fi
    "$@" serve --port 0 --model "$model" 2>"$tmp/log" &
    server=$!
    for _ in $(seq 100); do grep -q listening "$tmp/log" && break; sleep 0.1; done
    port=$(sed -n 's/.*127.0.0.1:\([0-9]*\).*/\1/p' "$tmp/log")
    answer=$(curl -s "http://127.0.0.1:$port/v1/models/credit:predict" -d '{"instances":[[40,52000,4000,12000,0,3,8,0.15]]}')
    kill $server
    wait $server && case $answer in '{"predictions":[0.99'*) exit 0 ;; esac
    echo "answered: $answer"
    cat "$tmp/log"
    exit 1
    ;;
page)
    why=$(timeout 240 "$here/../report/install.sh" 2>&1) || {
        echo "skipped: ${why:-installing chromium and nodejs took too long}"
        exit 77
    }
    exec timeout 400 node "$here/page.js" "$(command -v chromium)" "$2" "$3" "$4"
    ;;
esac
