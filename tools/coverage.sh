#!/bin/sh
# Line coverage of src/ by the unit tests: by folder, and the files with the lowest coverage.
#   coverage.sh BUILD [HOW-MANY]     BUILD: configured with --coverage, its unit tests run
# Only .c files are counted. The annotated sources are left in BUILD/gcov: "#####" is a line not reached.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
objects=$build/CMakeFiles/sis_objects.dir/src
rm -rf "$build/gcov"
mkdir "$build/gcov"
cd "$build/gcov"
find "$objects" -name '*.gcno' | sort | while read -r notes; do
    gcov --preserve-paths --relative-only --source-prefix "$here" "$notes" 2>/dev/null
done | awk -v most="${2:-15}" -v source="$here/" '
    /^File / { file = $0; gsub(/^File .|.$/, "", file); sub(source, "", file) }
    /^Lines executed:/ && file ~ /^src\/.*\.c$/ {
        sub(/^Lines executed:/, "")
        split($0, part, /% of /)
        reached = int(part[1] * part[2] / 100 + 0.5)
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        lines[folder] += part[2]; hit[folder] += reached
        lines["src"] += part[2]; hit["src"] += reached
        printf "%6.1f %%  %5d not reached  %s\n", part[1], part[2] - reached, file > "files"
        file = ""
    }
    END {
        for (f in lines)
            printf "%6.1f %%  %6d of %6d lines  %s\n", 100 * hit[f] / lines[f], hit[f], lines[f], f | "sort -k6"
        close("sort -k6")
        close("files")
        print "least of all:"
        fflush()
        system("sort -n files | head -n " most)
        print "most lines not reached:"
        fflush()
        system("sort -k3,3nr files | head -n " most)
    }'
