#!/bin/sh
# Lines of at most 100 columns, functions of at most 60 lines, files of at most 500: what is longer is
# hard to read, and wants to be two things.
#
#     tests/sizes.sh
set -eu
cd "$(dirname "$0")/.."
LC_ALL=C.UTF-8
export LC_ALL
git ls-files '*.c' '*.h' >/dev/null 2>&1 || { echo "not a git checkout: the files are not known"; exit 77; }
git ls-files '*.c' '*.h' | xargs awk '
FNR == 1 { end_of_file(); file = FILENAME; begin = 0 }
length($0) > 100 { tell(FILENAME ":" FNR ": " length($0) " columns") }
/^[A-Za-z_].*\{$/ && !/^(typedef|struct|enum|union|extern|static const|const)/ { begin = FNR; name = $0 }
/^}/ {
    if (begin && FNR - begin + 1 > 60)
        tell(FILENAME ":" begin ": " FNR - begin + 1 " lines: " name)
    begin = 0
}
{ lines = FNR }
END { end_of_file(); exit bad }
function end_of_file() {
    if (file != "" && lines > 500)
        tell(file ": " lines " lines")
}
function tell(what) { print what; bad = 1 }
'
