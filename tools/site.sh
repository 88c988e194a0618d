#!/bin/sh
# Build the documentation as a site with search, BUILD/site, by mkdocs.
#   site.sh BUILD
# mkdocs reads one folder, but the documents link to headers and examples outside of docs/. So the linked files
# are copied into BUILD/site-source/pages with the same relative paths.
set -eu
build=$1
command -v mkdocs >/dev/null 2>&1 || {
    echo "make site needs mkdocs. Install it with: apt-get install mkdocs (Debian, Ubuntu), or pip install mkdocs" >&2
    exit 1
}
source=$build/site-source
rm -rf "$source" "$build/site"
mkdir -p "$source/pages"
cp docs/mkdocs.yml "$source"
cp -R ./*.md LICENSE CITATION.cff docs paper "$source/pages"
rm "$source/pages/docs/mkdocs.yml"
grep -oh '](\.\./[^)#]*' docs/*.md | sed 's|^](\.\./||' | sort -u | while read -r path; do
    [ -e "$source/pages/$path" ] && continue
    mkdir -p "$source/pages/$(dirname "$path")"
    cp -R "$path" "$source/pages/$path"
done
# mkdocs understands only the first word of "```sh run" and similar; the others are for the tests.
sed -i 's/^\(```[a-z][a-z]*\) .*/\1/' "$source"/pages/*.md "$source"/pages/docs/*.md
mkdocs build --quiet --strict --config-file "$source/mkdocs.yml"
mv "$source/site" "$build/site"

# Debian's mkdocs has jQuery under another name than its pages use, and lacks theme_extra.js. Without jQuery the menu
# does not open on a phone.
jquery=$build/site/$(grep -o 'js/jquery[^"]*' "$build/site/index.html" | head -n 1)
[ -e "$jquery" ] || cp "$build"/site/js/jquery*.js "$jquery"
[ -e "$build/site/js/theme_extra.js" ] ||
    find "$build/site" -name '*.html' -exec sed -i 's|<script src="[^"]*theme_extra.js"[^>]*></script>||' {} +
rm -rf "$source"
echo "$build/site/index.html; to search, serve it: python3 -m http.server --bind 127.0.0.1 --directory $build/site"
