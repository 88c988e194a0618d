#!/bin/sh
# Build the documentation as a site with search, BUILD/site, by mkdocs.
#   site.sh BUILD
# mkdocs reads one folder, and the documents link to headers and examples outside of docs/. So what they link to
# is copied into BUILD/site-source/pages with the same relative paths.
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
# mkdocs knows only the first word of "```sh run" and its like; the others are for the tests.
sed -i 's/^\(```[a-z][a-z]*\) .*/\1/' "$source"/pages/*.md "$source"/pages/docs/*.md
mkdocs build --quiet --strict --config-file "$source/mkdocs.yml"
mv "$source/site" "$build/site"
rm -rf "$source"
echo "$build/site/index.html; to search, serve it: python3 -m http.server --bind 127.0.0.1 --directory $build/site"
