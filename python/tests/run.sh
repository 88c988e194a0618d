#!/bin/sh
# The tests of the Python package.
#   run.sh plain BUILD   the package of the build folder
#   run.sh asan BUILD    the same over the sanitized module
#   run.sh wheel BUILD   a wheel, installed in a virtual environment, far from the checkout
#   run.sh notebook BUILD  examples/tutorial.ipynb, executed; the page has what it draws
set -u
how=$1
build=$(cd "$2" && pwd) || exit 1
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
skip() { echo "skipped: $1" && exit 77; }
[ -x $python ] && $python -c 'import numpy' 2>/dev/null || skip "needs python3-numpy"
module=$(ls "$build"/python/sis/_core*.so 2>/dev/null | head -1)
[ -n "$module" ] || skip "the module was not built: needs python3-dev"
export SIS_PROGRAM="$build/sis" SIS_SOURCE="${here%/python/tests}"
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
case $how in
plain)
    PYTHONPATH=$build/python $python -m unittest discover -s "$here" -t "$here"
    ;;
asan)
    runtime=$(cc -print-file-name=libasan.so)
    LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0 SIS_ASAN=1 PYTHONMALLOC=malloc \
        PYTHONPATH=$build/python-asan $python -m unittest discover -s "$here" -t "$here"
    ;;
notebook)
    $python -c 'import nbconvert, ipykernel, matplotlib, pandas, sklearn' 2>/dev/null ||
        skip "needs jupyter-nbconvert, python3-ipykernel, python3-matplotlib, python3-pandas, python3-sklearn"
    folder=$(mktemp -d) || exit 1
    trap 'rm -rf "$folder"' EXIT
    cp "$SIS_SOURCE/examples/tutorial.ipynb" "$folder" && ln -s "$SIS_SOURCE/models" "$folder/models" || exit 1
    cd "$folder" && HOME=$folder PYTHONPATH=$build/python PYDEVD_DISABLE_FILE_VALIDATION=1 \
        $python -m nbconvert --log-level WARN --to html --execute tutorial.ipynb || exit 1
    [ "$(grep -o '<iframe' tutorial.html | wc -l)" -ge 3 ] || { echo "no cards are drawn" && exit 1; }
    [ "$(grep -o 'data:image/png' tutorial.html | wc -l)" -ge 2 ] || { echo "nothing is plotted" && exit 1; }
    grep -q 'subsets in 3 clusters\|subsets in 2 clusters' tutorial.html || { echo "no clusters" && exit 1; }
    [ -s comments.html ] && [ "$(grep -c . comments.jsonl)" = 18 ]
    ;;
wheel)
    $python -c 'import venv, ensurepip' 2>/dev/null || skip "needs python3-venv"
    folder=$(mktemp -d) || exit 1
    trap 'rm -rf "$folder"' EXIT
    cd "$folder" || exit 1
    $python -m venv --system-site-packages env || exit 1
    SIS_MODULE=$module env/bin/python -m pip wheel -q --no-deps -w wheels "$SIS_SOURCE/python" || exit 1
    env/bin/python -m pip install -q --no-deps --no-index wheels/*.whl || exit 1
    ls wheels
    [ "$(env/bin/python -m sis --version)" = "$("$build/sis" --version)" ] || exit 1
    env/bin/python -c "
import numpy, sis
r = sis.explain(lambda x: x.sum(axis=1), numpy.ones((2, 3)), threshold=2, mask='zero')
assert [len(s) for s in r[0].subsets] == [2], r
print(r)"
    ;;
esac
