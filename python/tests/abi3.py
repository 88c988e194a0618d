# SPDX-License-Identifier: MIT
"""abi3.py FOLDER: does this Python import the package in FOLDER and explain with its module? Other versions of Python
seldom have numpy: where it is missing, a stand-in shows that the package can be imported."""
import array
import json
import sys
from unittest import mock

sys.path.insert(0, sys.argv[1])
try:
    import numpy
except ImportError:
    sys.modules["numpy"] = sys.modules["numpy.typing"] = mock.MagicMock()
import sis
from sis import _core as core

assert "model       a callable" in sis.explain.__doc__ and ">>> " in sis.explain.__doc__


def sums(rows, n, values, own):
    x = memoryview(rows).cast("B")[:8 * values].cast("d")
    return array.array("d", [sum(x[i * values // n:(i + 1) * values // n]) for i in range(n)])


def raises(rows, n, values, own):
    raise KeyError("from the model")


example = {"id": "a", "model": "sums", "shape": (3,), "values": array.array("d", [1, 1, 1]),
           "mask": array.array("d", [0, 0, 0]), "threshold": 2.0}
for _ in range(100):  # instances of a heap type hold their type, and release it
    lines = []
    core.collect(core.Model(sums, 1, 3), [example], lambda i, line: lines.append(json.loads(line)), None)
    assert [len(s["features"]) for s in lines[0]["subsets"]] == [2], lines
try:
    core.collect(core.Model(raises, 1, 3), [example], lambda i, line: None, None)
    sys.exit("the exception of a model is lost")
except KeyError as e:
    assert e.args == ("from the model",)
try:
    core.Model.open = None
    sys.exit("the type can be changed")
except TypeError:
    pass
print("Python %s: version %s of the module" % (sys.version.split()[0], core.version))
