#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write docs/evidence.md: what README and docs claim, each with the command that shows it and what it printed.

    bench/evidence.py BUILD [NAME...]      measure all, or only these; sections of others stay as they are
    bench/evidence.py --list

A section holds the claim, the command, the end of its output, the commit, the machine and the date. A command that fails
or whose output lacks the expected figure leaves its section as it was, and the exit status is 1. Build first:
`make tests && cmake --build build --target benches`; "kills" and "faults" also need `make test-deep LABEL=kills` and
`LABEL=llm`. "peers" reads $PUBLISHED (the published sis.py) and $ANCHOR (a folder with the packages anchor and lime);
"follow-up" and "claims" read the results of runs of hours from $OVER and $PAPER (folders of paper/overinterpretation.py
and paper/all).
"""
import argparse
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evidence.md"
HEAD = """# Evidence

`bench/evidence.py` writes this page; nobody types a figure here. Each section has a claim, the command that shows it, and the end of
what the command printed. Commands run in the root of a checkout. Ratios come from one run, side by side; the load is that of the machine
when the command began.
"""

# name: (claim, command, what the output must contain, lines of it that are kept)
CHECKS = {
    "tests": ("The fast tier runs every unit, command, document, example and Python test.",
              "ctest --test-dir {build} -N -LE deep | tail -n 1", r"Total Tests: [1-9]\d\d", 1),
    "lines": ("Size of the code, in lines.",
              "for d in src/* cli include mpi python; do printf '%s ' $d; find $d -name '*.[ch]' -o -name '*.py' | xargs cat | wc -l; done",
              r"src/net \d+\n(.*\n)*cli \d+", 40),
    "walks": ("Walks give the order and the subsets of full passes: a million random networks and inputs.",
              "{build}/tests/walk_cases 1000000", r"^1000000 cases .*no difference$", 1),
    "zoo": ("Networks of other people that the engine loads give ONNX Runtime's recorded answers (models, loaded, equal).",
            "{build}/tests/unit_net net_zoo", r"^all +116 +(\d+) +\1$", 25),
    "networks": ("Walks on the paper's networks against ONNX Runtime.",
                 "NODE_PATH=$PWD/{build}/ort/node_modules {build}/bench/bench_net --seconds 0.5", r"^text-lstm .*\dx", 30),
    "transformers": ("Walks on small transformer encoders against ONNX Runtime; scores agree, and orders with full passes.",
                     "SIS_ORT=$PWD/{build}/ort/libonnxruntime.so.1 {build}/bench/bench_transformer --seconds 0.5", r"\A(?![\s\S]*DIFFERENT)[\s\S]*^encoder-6 ", 30),
    "trees": ("Tree walks against XGBoost's own predictions.",
              "/usr/bin/python3 bench/bench_xgboost.py {build}/sis", r"columns", 12),
    "proofs": ("Proved subsets of boosted trees beside the published sizes and times of XReason (AAAI 2022).",
               "{build}/bench/bench_prove", r"mean size [\d.]+, published [\d.]+", 24),
    "adversary": ("A search that shares no code with the program finds no counterexample to a proof about a network, and does find one "
                  "to a false proof.",
                  "ctest --test-dir {build} -R '^prove.adversary$' --verbose", r"100% tests passed", 12),
    "peers": ("Beside the published implementation and Anchors, on the same rows. Anchors answer another question: they are not made to "
              "keep the decision when everything else is masked.",
              "PYTHONPATH={build}/python OMP_NUM_THREADS=1 /usr/bin/python3 -W ignore bench/peers.py --published \"$PUBLISHED\" "
              "--anchor \"$ANCHOR\" --rows 10", r"^Anchors[\s\S]*collections equal: yes", 8),
    "core": ("Overhead of the core against a plain loop that rebuilds every masked copy.",
             "{build}/bench/bench_core", r"overhead: [\d.]+ %", 8),
    "clusters": ("Clustering without a matrix of distances against clustering with one.",
                 "{build}/bench/bench_analysis", r"\d+ times faster", 18),
    "python": ("What the Python package costs and saves.",
               "PYTHONPATH={build}/python OMP_NUM_THREADS=1 /usr/bin/python3 bench/bench_python.py", r"frame over array", 24),
    "kills": ("A program that is killed at any moment leaves no wrong results file.",
              "ctest --test-dir {build} -R '^cli.kills$' --verbose", r"100% tests passed", 8),
    "faults": ("A language model's address that refuses, fails and breaks off gives the same records; a second run asks nothing.",
               "ctest --test-dir {build} -R '^llm.faults$' --verbose", r"100% tests passed", 8),
    "follow-up": ("Carter et al., NeurIPS 2021: 5 % of the pixels, meaningless to people, are enough to decide and to learn.",
                  "paper/overinterpretation.py {build}/sis \"$OVER\" --train 10000 --test 2000 --epochs 12 --width 16 --images 60 "
                  "> /dev/null && cat \"$OVER/overinterpretation.md\"", r"^\| 5 % subsets \|[\s\S]*^\| 0\.9 \|", 16),
    "claims": ("The claims of the SIS paper, from the runs of `paper/all` that are done.",
               "/usr/bin/python3 paper/claims.py \"$PAPER\"", r"^\|.*(holds|hold)", 60),
}


def sections():
    """The page as it is: name -> text."""
    text = PAGE.read_text() if PAGE.exists() else ""
    parts = re.split(r"^## (\S+)\n", text, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    cpu = re.search(r"model name\s*: (.*)", info)
    best = next((f for f in ("avx512f", "avx2", "asimd") if f in info), "")
    return f"{cpu.group(1) if cpu else platform.machine()} ({best}), {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def git(*words):
    return subprocess.check_output(["git", *words], cwd=ROOT, text=True).strip()


def measure(name, build):
    claim, command, wanted, kept = CHECKS[name]
    where = machine()
    command = command.format(build=build)
    run = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode or not re.search(wanted, run.stdout, re.M):
        print(f"{name}: failed, status {run.returncode}\n{run.stdout[-2000:]}", file=sys.stderr)
        return None
    output = "\n".join(line.rstrip().replace(f"{ROOT}/", "") for line in run.stdout.strip().splitlines()[-kept:])
    commit = git("rev-parse", "--short", "HEAD") + ("-dirty" if git("status", "--porcelain", "--", ".", ":!docs/evidence.md") else "")
    return (f"\n{claim}\n\n    {command}\n\n```text\n{output}\n```\n\nCommit {commit}, {datetime.date.today()}, {where}.\n\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    o = parser.parse_args()
    if o.list:
        print("\n".join(f"{name:13} {claim}" for name, (claim, *_) in CHECKS.items()))
        return 0
    unknown = [n for n in o.names if n not in CHECKS]
    if unknown:
        parser.error(f"unknown name {unknown[0]}; see --list")
    have, failed = sections(), 0
    for name in o.names or CHECKS:
        text = measure(name, o.build)
        failed |= text is None
        if text:
            have[name] = text
            PAGE.write_text(HEAD + "\n" + "".join(f"## {n}\n{have[n]}" for n in CHECKS if n in have).rstrip() + "\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
