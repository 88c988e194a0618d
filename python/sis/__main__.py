# SPDX-License-Identifier: MIT
"""python -m sis --version | show RESULTS | report RESULTS PAGE"""
import sys

import sis


def main(args=None):
    args = sys.argv[1:] if args is None else args
    if args == ["--version"]:
        print("sis", sis.__version__)
    elif len(args) == 2 and args[0] == "show":
        for e in sis.load(args[1]):
            print(e)
    elif len(args) == 3 and args[0] == "report":
        sis.load(args[1]).report(args[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
