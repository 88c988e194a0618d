#!/bin/sh
# The tests of the Python package.
#   run.sh plain BUILD   the package of the build folder
#   run.sh asan BUILD    the same over the sanitized module
#   run.sh wheel BUILD   a wheel, installed in a fresh virtual environment whose path has blanks
#   run.sh sdist BUILD   the source archive, compiled by pip as another user, offline, in a path with blanks
#   run.sh editable BUILD  pip install --editable
#   run.sh abi3 BUILD    the wheel in each Python from 3.11 on that is here, if there are two
#   run.sh mypy BUILD    the annotations, and a program that uses them
#   run.sh notebook BUILD  examples/tutorial.ipynb, executed; the page has what it draws
set -u
how=$1
build=$(cd "$2" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
skip() { echo "skipped: $1" && exit 77; }
[ -x $python ] && $python -c 'import numpy' 2>/dev/null || skip "needs python3-numpy"
module=$(ls "$build"/python/sis/_core.abi3.so 2>/dev/null | head -1)
[ -n "$module" ] || skip "the module was not built: needs python3-dev"
export SIS_PROGRAM="$build/sis" SIS_SOURCE="${here%/python/tests}"
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
# make_wheel FOLDER: the wheel of the build; nothing is compiled
make_wheel() { SIS_BUILT=$build $python "$SIS_SOURCE/python/backend.py" "$1"; }
# new_folder: an empty folder with blanks in its path becomes the current one, until the end
new_folder() {
    $python -c 'import venv, ensurepip' 2>/dev/null || skip "needs python3-venv"
    top=$(mktemp -d) || exit 1
    trap 'rm -rf "$top"' EXIT
    folder="$top/a folder" && mkdir "$folder" && cd "$folder" || exit 1
}
fail() { echo "$*" && exit 1; }
# try_package ENV: version, an explanation by the module, one by the program
try_package() {
    [ "$("$1/bin/sis" --version)" = "$("$build/sis" --version)" ] || fail "no program, or another version"
    [ "$("$1/bin/python" -m sis --version)" = "$("$build/sis" --version)" ] || fail "no module, or another version"
    "$1/bin/python" -c "
import numpy, sis
r = sis.explain(lambda x: x.sum(axis=1), numpy.ones((2, 3)), threshold=2, mask='zero')
assert [len(s) for s in r[0].subsets] == [2], r
print(r)" || exit 1
    "$1/bin/sis" explain --model "$SIS_SOURCE/models/credit.onnx" --input "$SIS_SOURCE/examples/credit.csv" --threshold 0.7 \
        --mask zero --output rows.jsonl --force && grep -q '"subsets":\[{' rows.jsonl || fail "the program explains nothing"
}
case $how in
plain)
    PYTHONPATH=$build/python $python -m unittest discover -s "$here" -t "$here"
    ;;
asan)
    runtime=$(cc -print-file-name=libasan.so)
    LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 SIS_ASAN=1 PYTHONMALLOC=malloc \
        PYTHONPATH=$build/python-asan $python -m unittest discover -s "$here" -t "$here"
    ;;
mypy)
    command -v mypy >/dev/null || skip "needs mypy"
    folder=$(mktemp -d) || exit 1
    trap 'rm -rf "$folder"' EXIT
    check="mypy --cache-dir=/dev/null --python-executable $python --ignore-missing-imports"
    $check "$SIS_SOURCE/python/sis" || exit 1
    cd "$folder" && cp "$here/typed.py" . || exit 1
    MYPYPATH=$SIS_SOURCE/python $check --strict --follow-imports=silent typed.py >said
    # each line that ends in "# wrong" and no other is refused
    grep -n '# wrong$' typed.py | cut -d: -f1 >wanted
    sed -n 's/^typed.py:\([0-9]*\): error.*/\1/p' said | sort -nu >found
    [ -s wanted ] && cmp wanted found || { cat said && exit 1; }
    ;;
notebook)
    $python -c 'import nbconvert, ipykernel, pandas, sklearn' 2>/dev/null ||
        skip "needs jupyter-nbconvert, python3-ipykernel, python3-pandas, python3-sklearn"
    folder=$(mktemp -d) || exit 1
    trap 'rm -rf "$folder"' EXIT
    cp "$SIS_SOURCE/examples/tutorial.ipynb" "$folder" && ln -s "$SIS_SOURCE/models" "$folder/models" || exit 1
    cd "$folder" && HOME=$folder PYTHONPATH=$build/python PYDEVD_DISABLE_FILE_VALIDATION=1 \
        $python -m nbconvert --log-level WARN --to html --execute tutorial.ipynb || exit 1
    [ "$(grep -o '<iframe' tutorial.html | wc -l)" -ge 3 ] || { echo "no cards are drawn" && exit 1; }
    grep -q 'data:image/png' tutorial.html && grep -q 'RenderedSVG' tutorial.html || { echo "nothing is drawn" && exit 1; }
    grep -q 'subsets in 3 clusters\|subsets in 2 clusters' tutorial.html || { echo "no clusters" && exit 1; }
    [ -s comments.html ] && [ "$(grep -c . comments.jsonl)" = 18 ]
    ;;
wheel)
    new_folder
    make_wheel wheels || exit 1
    ls -l wheels
    $python -m venv --system-site-packages env && env/bin/python -m pip install -q --no-deps --no-index wheels/*.whl || exit 1
    try_package env
    # Stripped; nothing from outside but the C library, if patchelf put the rest inside; the tag is its version.
    package=$(env/bin/python -c 'import sis; print(sis.__path__[0])')
    set -- "$package/_core.abi3.so" "$package/bin/sis"
    for f in "$@"; do
        readelf -SW "$f" | grep -q '\.symtab\|\.debug' && fail "$f is not stripped"
    done
    case $(ls wheels) in
    *-cp311-abi3-manylinux_*) ;;
    *-cp311-abi3-linux_*) command -v patchelf || skip "the rest needs patchelf" && fail "the libraries are not inside" ;;
    *) fail "wrong tag" ;;
    esac
    outside=$(ldd "$@" "$package"/libs/* | grep '=> ' | grep -v "=> $package" | grep -v '^.lib[cm]\.so\.6 ')
    [ -z "$outside" ] || fail "from outside: $outside"
    glibc=$(objdump -T "$@" "$package"/libs/* | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -1)
    case $(ls wheels) in
    *-manylinux_2_${glibc#GLIBC_2.}_*) ;;
    *) fail "the symbols need $glibc" ;;
    esac
    ;;
sdist)
    unset TMPDIR # another user must be able to go there
    new_folder
    $python -c "import sys; sys.path[:0] = ['$SIS_SOURCE/python']; import backend; backend.build_sdist('.')" || exit 1
    ls -l
    as="setpriv --reuid=65534 --regid=65534 --clear-groups"
    [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || { as= && echo "left out: another user, which needs root"; }
    alone="unshare --net"
    $alone true 2>/dev/null || alone="unshare --map-root-user --net"
    $alone true 2>/dev/null || { alone= && echo "left out: without a network, which needs namespaces"; }
    chmod 755 "$top" && chmod 777 "$folder" || exit 1
    # Compiled without -O2: how the code runs is no question here.
    env -i PATH="$PATH" HOME="$folder" SIS_CMAKE_FLAGS="-DCMAKE_C_FLAGS_RELEASE=-O0" $alone $as sh -ec "
        tar xzf *.tar.gz && cd */ && $python -m venv --system-site-packages ../env
        PATH= ../env/bin/python -c 'import sys; sys.path[:0] = [\"python\"]
import backend; backend.prepare_metadata_for_build_wheel(\"..\")'
        ../env/bin/python -m pip install -v --no-deps --no-index . > ../log 2>&1" || { tail -n 20 log && exit 1; }
    grep -q '^Name: sufficient-input-subsets$' sufficient_input_subsets-*.dist-info/METADATA || fail "no metadata"
    grep -q '\[ *[1-9][0-9]%\]' log || fail "pip -v shows no progress"
    try_package env
    ;;
editable)
    new_folder
    $python -m venv --system-site-packages env || exit 1
    SIS_BUILT=$build env/bin/python -m pip install -q --no-deps --no-index --editable "$SIS_SOURCE" || exit 1
    [ "$(env/bin/python -c 'import sis, os; print(os.path.realpath(sis.__file__))')" = \
        "$SIS_SOURCE/python/sis/__init__.py" ] || fail "not the files of the checkout"
    try_package env
    ;;
abi3)
    new_folder
    make_wheel . || exit 1
    tried=
    for other in $(IFS=: && for d in $PATH; do ls "$d"/python3.1[1-9] "$d"/python3.[2-9][0-9]; done 2>/dev/null) \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
        version=$("$other" -c 'import sys, pip
assert sys.version_info >= (3, 11)
print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
        case " $tried " in *" $version "*) continue ;; esac
        "$other" -m pip install -q --root-user-action ignore --no-index --no-deps --target "$version" *.whl &&
            "$other" "$here/abi3.py" "$version" || exit 1
        tried="$tried $version"
    done
    case $tried in *" "*" "*) ;; *) skip "there is one Python only:$tried" ;; esac
    ;;
esac
