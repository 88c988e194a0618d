# common.sh - functions shared by the experiment scripts, which source it.
#
#   NAME [--quick] [--share N] [--data DIR] [--out DIR] [--jobs N] and the script's own options
#
# --quick uses fewer examples and cheaper settings. --share N uses every N-th example of a full run, with the settings of
# a full run. The DIR of --data is the folder of sis data; results go into OUT (default:
# the folder NAME-results). $SIS is the program. The output is
#
#   OUT/report.html   everything in one page
#   OUT/paper.md      figures and tables, numbered as in the paper
#   OUT/figures/      the figures as files: figure-7.svg, ...
#
# and the results files behind them. OUT/size.txt says which examples were used. An existing results file is continued, so
# a script can be stopped and started again.
set -eu
sis=${SIS:-sis}
here=$(cd "$(dirname "$0")" && pwd)
models=$(cd "$here/../models" && pwd)
data=${XDG_DATA_HOME:-${HOME:-.}/.local/share}/sis
name=$(basename "$0")
out=$name-results
quick=
share=
jobs=
usage() {
    echo "usage: $name [--quick] [--share N] [--data DIR] [--out DIR] [--jobs N]${takes:+$(printf ' [--%s X]' $takes)}" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    key=${1#--}
    case " quick share data out jobs ${takes-} " in
    *" $key "*) ;;
    *) usage ;;
    esac
    if [ "$key" = quick ]; then
        quick=yes
    else
        [ $# -gt 1 ] || usage
        eval "$key=\$2"
        shift
    fi
    shift
done
case ${share:=1} in
*[!0-9]* | 0*) usage ;;
esac
mkdir -p "$out/figures"
paper=$out/paper.md
[ -e "$paper" ] || rm -f "$out/steps.tsv"
printf '# %s\n\nNumbers are those of the paper; S is its supplement.\n' "$name" > "$paper"

# some QUICK FULL: print QUICK with --quick, else FULL
some() { if [ "$quick" ]; then echo "$1"; else echo "$2"; fi; }

if [ "$quick" ]; then
    echo "a quick run"
elif [ "$share" -gt 1 ]; then
    echo "1 in $share"
else
    echo "all"
fi > "$out/size.txt"
[ -z "${words-}" ] || echo "$(cat "$out/size.txt") of at most $words words" > "$out/size.txt"

# first N: select the first N examples, of which a full run takes all and --share S every S-th: the i-th is i S + i % S,
# because kinds of examples can alternate in a file
first() {
    if [ "$share" -gt 1 ]; then
        awk -v n="$1" -v s="$share" 'BEGIN { for (i = 0; i * s + i % s < n; i++) printf "%s%d", i ? "," : "", i * s + i % s }'
    else
        echo "0:$1"
    fi
}

# thin: of numbers separated by commas, print every N-th with --share N
thin() { tr , '\n' | awk -v n="$share" 'NR % n == 1 || n == 1' | paste -s -d , -; }

# spread FILE N: print the numbers of N rows (or all) spread evenly over a file with one row a line, gzipped or not
spread() {
    case $1 in
    *.gz) gzip -dc "$1" ;;
    *) cat "$1" ;;
    esac | awk -v n="$2" '
        END {
            n = n < NR ? n : NR
            for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", int(i * NR / n)
        }'
}

title() { printf '\n== %s\n' "$*"; }

# timed STEP COMMAND...: run it, and add to OUT/steps.tsv: the step, its processor seconds, the factor of a full run
more=1 multiple=1 # of a quick run, and with --share
timed() {
    step=$1
    shift
    times > "$out/before.txt" # not in $( ), a subshell without children
    "$@"
    times > "$out/after.txt"
    awk -v step="$step" -v more="$(some "$more" "$multiple")" -F '[ms ]+' 'FNR == 2 { t = $1 * 60 + $2 + $3 * 60 + $4; s = t - s }
        END { printf "%s\t%.2f\t%.4g\n", step, s, more }' "$out/before.txt" "$out/after.txt" >> "$out/steps.tsv"
    rm "$out/before.txt" "$out/after.txt"
}

# ratio FULL QUICK [MORE]: FULL / QUICK, times MORE
ratio() { awk -v a="$1" -v b="$2" -v c="${3:-1}" 'BEGIN { printf "%.4g", a / b * c }'; }

# explain RESULTS OPTIONS...
explain() {
    results=$1
    shift
    multiple=$share
    timed "$(basename "$results" .jsonl)" "$sis" explain "$@" ${jobs:+--jobs "$jobs"} --output "$results" --resume
    multiple=1
}

# try COMMAND...: run it; if there are too few subsets or examples, print its message and continue
try() {
    if "$@" 2> "$out/said.txt"; then
        cat "$out/said.txt" >&2
    elif grep -q 'no eps can be found\|there is nothing to\|none of [0-9]* records is explained' "$out/said.txt"; then
        sed 's/^/Not made. /' "$out/said.txt"
    else
        cat "$out/said.txt" >&2
        exit 1
    fi
    rm "$out/said.txt"
}

# effort METHOD: set `fewer` to the options if STEPS of ig or SAMPLES of lime are fewer than the paper's, `more` to the
# factor of a full run, and `most` to the previous `more`
effort() {
    most=$more
    case $1 in
    ig) fewer=${steps:+--steps $steps} && more=$(ratio 300 "${steps:-300}" "$more") ;;
    lime) fewer=${samples:+--samples $samples} && more=$(ratio 5000 "${samples:-5000}" "$more") ;;
    *) fewer= ;;
    esac
}

# methods PREFIX OPTIONS...: explain the decisions of PREFIX-sis.jsonl by the other methods, with sufficient
# rationales (PREFIX-METHOD.jsonl) and with rationales as long as SIS's (PREFIX-METHOD-length.jsonl). STEPS of
# ig and SAMPLES of lime may be fewer than the default.
methods() {
    prefix=$1
    shift
    for method in ig lime perturb; do
        effort $method
        explain "$prefix-$method.jsonl" "$@" --method $method $fewer --trace
        more=$most
        explain "$prefix-$method-length.jsonl" "$@" --method $method $fewer --constraint length \
            --lengths "$prefix-sis.jsonl" --orders "$prefix-$method.jsonl"
    done
}

# compared PREFIX NUMBER CAPTION OPTIONS...: three tables of these methods: all rationales; the first subset of
# each example only, for p-values; and rationales as long as those of SIS
compared() {
    prefix=$1 number=$2 caption=$3
    shift 3
    table "$number" "$caption: as many features as it takes" "$sis" evaluate "$prefix-sis.jsonl" \
        "$prefix-ig.jsonl" "$prefix-lime.jsonl" "$prefix-perturb.jsonl" "$@" \
        --force --csv "$prefix-methods.csv" --json "$prefix-methods.json"
    table "$number, first subsets" "$caption: the first subset of each example alone" "$sis" evaluate --first \
        "$prefix-sis.jsonl" "$prefix-ig.jsonl" "$prefix-lime.jsonl" "$prefix-perturb.jsonl" \
        ${motif:+--motif "$motifs:$motif"} --force --json "$prefix-first.json"
    table "$number, as long as SIS" "$caption: as many features as SIS takes" "$sis" evaluate \
        "$prefix-sis.jsonl" "$prefix-ig-length.jsonl" "$prefix-lime-length.jsonl" \
        "$prefix-perturb-length.jsonl" "$@" --force --json "$prefix-length.json"
}

# entry NUMBER CAPTION: add a heading to paper.md
entry() { printf '\n## %s\n\n%s\n\n' "$1" "$2" >> "$paper"; }

# figure NUMBER NAME CAPTION OPTIONS...: draw figure NAME of sis report, if the results have it
figure() {
    number=$1 kind=$2 caption=$3
    shift 3
    file=figures/figure-$number.svg
    entry "Figure $number" "$caption"
    if said=$("$sis" report "$@" --quiet --force --figure "$kind=$out/$file" 2>&1); then
        printf '![Figure %s](%s)\n' "$number" "$file" >> "$paper"
        return
    fi
    case $said in
    *"these results have no figure"* | *"cannot open $out/"*"No such file"*) printf 'Nothing to draw of these examples.\n' >> "$paper" ;;
    *)
        printf '%s\n' "$said" >&2
        exit 1
        ;;
    esac
}

# table NUMBER CAPTION COMMAND...: print the output of COMMAND (see try) and add it to paper.md
table() {
    title "$1: $2"
    entry "$1" "$2"
    shift 2
    printf '```\n' >> "$paper"
    timed "table" try "$@" > "$out/table.txt"
    tee -a "$paper" < "$out/table.txt"
    printf '```\n' >> "$paper"
    rm "$out/table.txt"
}

# report OPTIONS...: write the page, without options whose files are missing
report() {
    for word; do
        shift
        case $word in
        "$out"/*.json) [ -e "$word" ] && set -- "$@" "$option" "$word" ;;
        --clusters | --comparison | --evaluation) option=$word ;;
        *) set -- "$@" "$word" ;;
        esac
    done
    "$sis" report "$@" --examples "$(some 100 200)" --force --output "$out/report.html"
}
