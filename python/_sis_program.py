# SPDX-License-Identifier: MIT
"""The command `sis` of an installed package: the program that lies in the package. This file is outside of
the package, so that starting the program does not import numpy."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sis", "bin", "sis")
    os.execv(program, ["sis"] + sys.argv[1:])
