#!/bin/sh
# Check the include rules of docs/architecture.md: folders are dependency units. Fails and prints the line if a
# file includes a header that its folder may not. Public headers (<sis/...>) of a lower or the same folder are allowed.
# Also checks that some functions of the C library are called only in the file that wraps them.
cd "$(dirname "$0")/.." || exit 1
bad=0
checked=

# allow FOLDER-OR-FILE "internal folders or headers" "public headers"
allow() {
    for f in "$1" "$1"/*.c "$1"/*.h; do
        [ -f "$f" ] || continue
        checked="$checked $f"
        out=$(awk -v internal=" $2 " -v public=" $3 " -v file="$f" '
            match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]+"/) {
                name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
                dir = name; if (!sub(/\/[^\/]*$/, "", dir)) dir = "."
                if (index(internal, " " dir " ") == 0 && index(internal, " " name " ") == 0)
                    printf "%s:%d: must not include \"%s\"\n", file, FNR, name
            }
            match($0, /^[ \t]*#[ \t]*include[ \t]*<sis\/[^>]+>/) {
                name = $0; sub(/^[^<]*<sis\//, "", name); sub(/>.*/, "", name)
                if (public != " * " && index(public, " " name " ") == 0)
                    printf "%s:%d: must not include <sis/%s>\n", file, FNR, name
            }' "$f")
        if [ -n "$out" ]; then
            echo "$out"
            bad=1
        fi
    done
}

# Public headers: each may include some of those before it.
allow include/sis/error.h "" ""
allow include/sis/sis.h "" "error.h"
allow include/sis/kind.h "" ""
allow include/sis/walk.h "" "error.h sis.h"
allow include/sis/data.h "" "error.h kind.h"
allow include/sis/text.h "" "data.h error.h"
allow include/sis/dna.h "" "error.h"
allow include/sis/files.h "" "data.h error.h"
allow include/sis/net.h "" "error.h sis.h"
allow include/sis/train.h "" "data.h net.h text.h"
allow include/sis/model.h "" "net.h sis.h"
allow include/sis/handle.h "" "error.h model.h sis.h"
allow include/sis/results.h "" "error.h kind.h sis.h"
allow include/sis/record.h "" "error.h results.h sis.h"
allow include/sis/export.h "" "error.h results.h"
allow include/sis/explain.h "" "error.h sis.h"
allow include/sis/attack.h "" "error.h net.h sis.h"
allow include/sis/task.h "" "data.h error.h explain.h model.h results.h sis.h"
allow include/sis/example.h "" "error.h results.h sis.h task.h"
allow include/sis/prove.h "" "error.h explain.h sis.h"
allow include/sis/analysis.h "" "attack.h data.h dna.h error.h example.h explain.h net.h results.h sis.h task.h"
allow include/sis/report.h "" "data.h dna.h error.h results.h"
allow include/sis/serve.h "" "error.h task.h"
allow src/base "base" "error.h kind.h"
allow src/core "base core" "error.h sis.h walk.h"
# The folders of networks, each based on those above it. Plans and operators include each other's headers:
# a plan executes steps, a shape function fills them.
net="error.h sis.h net.h walk.h"
allow src/trees "base trees" "error.h"
allow src/net/kernels "base net/kernels" ""
allow src/net/onnx "base net/onnx" "$net"
allow src/net/plan "base net/onnx net/kernels net/ops net/plan" "$net"
allow src/net/ops "base trees net/onnx net/kernels net/plan net/ops" "$net"
allow src/net/lower "base net/onnx net/plan net/ops net/lower" "$net"
allow src/net/walk "base core/input.h trees net/onnx net/kernels net/plan net/ops net/walk" "$net"
allow src/net "base net/lower net/onnx net/kernels net/plan net/ops net/walk" "$net"
allow src/train "base net/onnx net/kernels net/plan net/ops train" "$net data.h files.h text.h train.h"
allow src/prove "base trees model prove net/plan net/ops" "error.h sis.h explain.h model.h prove.h"
allow src/model "base model trees" "error.h sis.h handle.h model.h net.h walk.h"
allow src/data "base data" "error.h sis.h data.h dna.h files.h text.h"
allow src/results "base data results" "error.h sis.h data.h files.h record.h results.h export.h"
allow src/task "base task" "error.h sis.h data.h example.h files.h handle.h model.h net.h record.h results.h explain.h prove.h task.h text.h"
allow src/methods "base core/input.h methods" "error.h sis.h net.h data.h explain.h attack.h walk.h"
allow src/analysis "base analysis results" "error.h sis.h data.h dna.h example.h files.h handle.h model.h net.h record.h results.h explain.h task.h text.h analysis.h"
allow src/report "base report" "error.h sis.h record.h results.h analysis.h export.h report.h"
allow src/serve "base serve" "error.h sis.h data.h dna.h files.h handle.h analysis.h model.h net.h results.h task.h report.h serve.h"
allow cli ". base" "*"
allow mpi ". base ../cli" "*"
allow examples "" "*"
allow python/src "." "*"

# Every header and folder must be listed above.
for f in $(find include/sis src -name "*.[ch]" | sort); do
    case "$checked " in
    *" $f "*) ;;
    *) echo "$f: no rule says what it may include" && bad=1 ;;
    esac
done

# A T ** is not a void **: functions that take the address of any pointer take a void * (see sis__reserve).
grep -n '(void \*\*)&' $(find src cli mpi python/src -name "*.[ch]") && bad=1

# The C library depends on the host program's setlocale(). Numbers and letters must not: use
# src/base/number.h and src/base/ascii.h. The programs never set a locale, so they may use printf().
code=$(find src cli mpi python/src -name "*.[ch]" ! -path "src/base/number.[ch]" \
    ! -path "src/base/json.[ch]" ! -path src/base/ascii.h)
word='(^|[^A-Za-z0-9_>.])'
class='is(alnum|alpha|digit|lower|print|punct|space|upper|xdigit)|to(lower|upper)'
grep -nE "$word(strto(d|f|ld)(_l)?|atof|strn?casecmp|strcoll|setlocale|$class) *\\(" $code && bad=1
grep -nE "$word(vsnprintf|json_(load|dump)[a-z_]*) *\\(" $(echo "$code" | grep ^src/) && bad=1
for f in $code; do
    awk -v file="$f" 'BEGIN { RS = ";"; line = 1 }
        function refuse(what) {
            printf "%s:%d: %s follows the locale: see src/base/number.h\n", file, line, what; bad = 1
        }
        {
            double = "%[-+#0]*([0-9]+|[*])?([.]([0-9]+|[*]))?l?[aefgAEFG]"
            if (file ~ /^src/ && $0 ~ "(^|[^a-z_])(f|sn|d|as)?printf\\([^;]*" double "[^A-Za-z_]")
                refuse("printf of a double")
            if ($0 ~ "(^|[^a-z_])f?s?scanf\\([^;]*" double) refuse("scanf of a double")
            line += gsub(/\n/, "")
        }
        END { exit bad }' "$f" || bad=1
done

[ "$bad" = 0 ] && echo "include rules hold"
exit "$bad"
