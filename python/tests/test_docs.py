# SPDX-License-Identifier: MIT
"""The examples of README.md and docs/python.md, run one after the other; "..." in what they print
stands for anything."""
import contextlib
import io
import os
import re
import tempfile
import unittest

SOURCE = os.environ.get("SIS_SOURCE", ".")


def blocks(path):
    """(code, expected output or None) in order."""
    with open(path, encoding="utf-8") as f:
        found = re.findall(r"^```(\w+)\n(.*?)^```$", f.read(), re.S | re.M)
    for k, (kind, code) in enumerate(found):
        if kind == "python":
            after = found[k + 1] if k + 1 < len(found) else ("", "")
            yield code, after[1] if after[0] == "text" else None


@unittest.skipIf("SIS_ASAN" in os.environ, "asks nothing of the module that other tests do not")
class Documents(unittest.TestCase):
    def run_blocks(self, *path):
        """Run the document's Python blocks in a new folder; how many there were."""
        here, scope, ran = os.getcwd(), {}, 0
        document = os.path.join(os.path.abspath(SOURCE), *path)
        folder = tempfile.mkdtemp()
        for name in ("models", "tests"):
            os.symlink(os.path.join(os.path.abspath(SOURCE), name), os.path.join(folder, name))
        os.chdir(folder)
        try:
            for code, expected in blocks(document):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(code, document, "exec"), scope)
                ran += 1
                if expected is not None:
                    pattern = re.escape(expected.strip()).replace(re.escape("..."), ".*")
                    self.assertRegex(out.getvalue().strip(), re.compile("^" + pattern + "$", re.S))
        finally:
            os.chdir(here)
        return ran

    def test_readme(self):
        self.assertEqual(self.run_blocks("README.md"), 1)

    def test_tutorial(self):
        try:
            import pandas  # noqa: F401
            import sklearn  # noqa: F401
        except ImportError:
            self.skipTest("needs pandas and scikit-learn")
        self.assertGreaterEqual(self.run_blocks("docs", "python.md"), 6)
