#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write docs/evidence.md: what README and docs claim, each with the command that shows it and what it printed.

    bench/evidence.py BUILD [NAME...]      measure all, or only these; sections of others stay as they are
    bench/evidence.py --list

A section holds the claim, the pages that make it, the command, the lines of its output that matter, the commit, the machine and
the date. A command that fails or whose output lacks the expected figure leaves its section as it was, and the exit status is 1.
Build first: `make tests && cmake --build build --target benches`; "kills" and "faults" also need `make test-deep LABEL=kills`
and `LABEL=llm`, sections that name ONNX Runtime need `tools/install-ort.sh build`. Variables: $DATA is the folder of sis data
(mnist, imdb, ctcf), $XREASON the models of a published benchmark, $PUBLISHED the published sis.py, $ANCHOR a folder with the packages
anchor and lime. "follow-up" and "claims" read the results of long runs from $OVER and $PAPER (folders of
paper/overinterpretation.py and paper/all).
"""
import argparse
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

LINES = 40  # of a section at most: a page is read
ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "evidence.md"
HEAD = """# Evidence

`bench/evidence.py` writes this page; nobody types a figure here. Each section has a claim, the pages that make it, the command that
shows it, and the lines of its output that matter. Commands run in the root of a checkout. Ratios come from one run, side by side;
the load is that of the machine when the command began. Other pages may have figures of other runs and machines; they say which.
"""

# name: (claim, pages that make it, command, what the output must contain, which of its lines are kept)
ALL = "."
CHECKS = {
    # the program as a whole
    "tests": ("The fast tier runs every unit, command, document, example and Python test.", "README, CONTRIBUTING",
              "ctest --test-dir {build} -N -LE '^(asan|tsan|clang|fuzz|browser|mpi|ort|python|image|kills|arm64|llm)$' | tail -n 1", r"Total Tests: [1-9]\d\d", ALL),
    "lines": ("Size of the code, in lines.", "design.md",
              "for d in src/* cli include mpi python; do printf '%s ' $d; find $d -name '*.[ch]' -o -name '*.py' | xargs cat | wc -l; done",
              r"src/net \d+\n(.*\n)*cli \d+", ALL),
    # what is guaranteed
    "procedures": ("The library finds what a plain version of the paper's procedures finds; subsets suffice, are minimal and disjoint.",
                   "README, algorithm.md", "for t in reference properties verify; do {build}/tests/unit_core core_$t; done", r"(PASSED[\s\S]*){3}",
                   r"^\[ +OK \]"),
    "threads": ("The same input, options and seed give the same results, whatever the number of threads.", "README, algorithm.md",
                "for j in 1 2 4; do {build}/sis explain --model models/credit.onnx --input examples/credit.csv --threshold 0.7 --jobs $j "
                "--quiet --force --output {build}/threads.jsonl; sed 's/\"seconds\":[^,]*,//' {build}/threads.jsonl | sha256sum; done",
                r"\A(\w{64}).*\n\1.*\n\1", ALL),
    "walks": ("Walks give the order and the subsets of full passes: a million random networks and inputs.", "networks.md, CONTRIBUTING",
              "{build}/tests/walk_cases 1000000", r"^1000000 cases .*no difference$", r"cases"),
    "kills": ("A program that is killed at any moment leaves no wrong results file.", "scale.md, design.md",
              "ctest --test-dir {build} -R '^cli.kills$' --verbose", r"100% tests passed", r"^\d+: (?!Test|Working|Environment| )"),
    "faults": ("A language model's address that refuses, fails and breaks off gives the same records; a second run asks nothing.",
               "llm.md, remote.md", "ctest --test-dir {build} -R '^llm.faults$' --verbose", r"100% tests passed",
               r"^\d+: (?!Test|Working|Environment| )"),
    # references: other people's programs
    "zoo": ("Networks of other people that the engine loads give ONNX Runtime's recorded answers (models, loaded, equal).",
            "results.md, networks.md", "{build}/tests/unit_net net_zoo", r"^all +116 +(\d+) +\1$", r" \d+ +\d+ +\d+$|^family"),
    "elsewhere": ("The shipped models pass the checker of the ONNX project, and numpy gives their scores.", "models.md",
                  "/usr/bin/python3 tests/models.py {build}/sis models/*.onnx", r"\d", ALL),
    "models": ("Test scores of the shipped models.", "models.md", "bench/accuracy.py {build}/sis \"$DATA\"", r"mnist-cnn .*0\.99", ALL),
    "distances": ("Clusters are those of scikit-learn's DBSCAN on the plain distances.", "clusters.md",
                  "tests/sklearn.sh {build}/tests/unit_analysis", r"PASSED", r" cases, |OK \]"),
    # speed
    "networks": ("Walks on the paper's networks against ONNX Runtime.", "results.md, article.md",
                 "NODE_PATH=$PWD/{build}/ort/node_modules {build}/bench/bench_net --seconds 0.5", r"^text-lstm .*\d", ALL),
    "transformers": ("Walks on small transformer encoders against ONNX Runtime; scores agree, and orders with full passes.",
                     "results.md, networks.md",
                     "SIS_ORT=$PWD/{build}/ort/libonnxruntime.so.1 {build}/bench/bench_transformer --seconds 0.5",
                     r"\A(?![\s\S]*DIFFERENT)[\s\S]*^encoder-6 ", ALL),
    "growth": ("How the cost grows with size, depth and width, against ONNX Runtime and PyTorch.", "results.md, article.md",
               "SIS_ORT=$PWD/{build}/ort/libonnxruntime.so.1 /usr/bin/python3 bench/growth.py {build} --seconds 0.45", r"^\|? *width.64", ALL),
    "trees": ("Tree walks against XGBoost's own predictions.", "results.md, trees.md",
              "/usr/bin/python3 bench/bench_xgboost.py {build}/sis", r"columns", ALL),
    "core": ("Overhead of the core against a plain loop that rebuilds every masked copy.", "algorithm.md",
             "{build}/bench/bench_core", r"overhead: [\d.]+ %", ALL),
    "quick": ("The method quick asks for far fewer copies, and its subsets are a little larger.", "howto.md, methods.md, results.md",
              "bench/quick.sh {build}/sis models/mnist-mlp.onnx \"$DATA/mnist/t10k-images-idx3-ubyte.gz\" --rows 0:10 --threshold 0.7",
              r"quick", ALL),
    "images": ("A ResNet on 224 x 224 x 3 images is explained down to pixels.", "results.md, images.md",
               "/usr/bin/python3 bench/resnet.py {build}/sis", r"\d", ALL),
    "clusters": ("Clustering without a matrix of distances against clustering with one.", "clusters.md",
                 "{build}/bench/bench_analysis", r"\d+ times faster", ALL),
    "memory": ("Memory that a walk keeps.", "networks.md",
               "for m in models/*-*.onnx; do echo \"$m: $({build}/sis model $m | grep '^A walk keeps')\"; done", r"mnist-cnn.*MiB", ALL),
    "serve": ("The server listens some milliseconds after its start.", "serve.md", "bench/bench_serve.sh {build}/sis . 2", r"listens after",
              r"listens after"),
    "training": ("Seconds of an epoch of the paper's networks.", "results.md", "{build}/bench/bench_train --seconds 1", r"mnist-cnn", ALL),
    "many": ("What many processes cost rank 0, and the efficiency simulated from it.", "results.md, scale.md",
             "/usr/bin/python3 bench/bench_scale.py {build} --parts 3", r"4,?096", ALL),
    "python": ("What the Python package costs and saves.", "python.md",
               "PYTHONPATH={build}/python OMP_NUM_THREADS=1 /usr/bin/python3 bench/bench_python.py", r"frame over array", ALL),
    "peers": ("Beside the published implementation and Anchors, on the same rows. Anchors answer another question: they are not made to "
              "keep the decision when everything else is masked.", "results.md",
              "PYTHONPATH={build}/python OMP_NUM_THREADS=1 /usr/bin/python3 -W ignore bench/peers.py --published \"$PUBLISHED\" "
              "--anchor \"$ANCHOR\" --rows 10", r"^Anchors[\s\S]*collections equal: yes", ALL),
    # proofs
    "proofs": ("Proved subsets of boosted trees beside the published sizes and times of XReason (AAAI 2022).", "results.md, guarantees.md",
               "{build}/bench/bench_prove \"$XREASON\"", r"mean size [\d.]+, published [\d.]+", ALL),
    "proofs-verified": ("The same from the command line; sis verify proves and attacks every record again.", "results.md",
                        "bench/xreason.sh {build}/sis \"$XREASON\"", r"zoo", ALL),
    "adversary": ("A search that shares no code with the program finds no counterexample to a proof about a network, and does find one "
                  "to a false proof.", "results.md, guarantees.md",
                  "ctest --test-dir {build} -R '^prove.adversary$' --verbose", r"100% tests passed", r"proofs, "),
    "radius": ("The largest radius at which subsets proved for all values have less than half of the pixels.", "results.md",
               "/usr/bin/python3 bench/radius.py {build}/sis models/mnist-mlp.onnx \"$DATA/mnist/t10k-images-idx3-ubyte.gz\"", r"ball:", ALL),
    # the papers
    "follow-up": ("Carter et al., NeurIPS 2021: 5 % of the pixels, meaningless to people, are enough to decide and to learn.", "results.md",
                  "paper/overinterpretation.py {build}/sis \"$OVER\" --train 10000 --test 2000 --epochs 12 --width 16 --images 60 "
                  "> /dev/null && cat \"$OVER/overinterpretation.md\"", r"^\| 5 % subsets \|[\s\S]*^\| 0\.9 \|", ALL),
    "claims": ("The claims of the SIS paper, from the runs of `paper/all` that are done.", "claims.md, article.md",
               "/usr/bin/python3 paper/claims.py \"$PAPER\"", r"^\d+ claims: \d+ hold", r"^\d+ claims|^Examples"),
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


def headline(name):
    claim, pages, *_ = CHECKS[name]
    return f"{claim} Claimed in {pages}."


def write(have):
    """The page, with the claims in their present words."""
    parts = [f"## {n}\n" + re.sub(r"\A\n[^\n]*", lambda _: "\n" + headline(n), have[n]) for n in CHECKS if n in have]
    PAGE.write_text(HEAD + "\n" + "".join(parts).rstrip() + "\n")


def measure(name, build):
    _, _, command, wanted, kept = CHECKS[name]
    where = machine()
    command = command.replace("{build}", build)
    run = subprocess.run(command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode or not re.search(wanted, run.stdout, re.M):
        print(f"{name}: failed, status {run.returncode}\n{run.stdout[-2000:]}", file=sys.stderr)
        return None
    lines = [re.sub(r"^\d+: ", "", line.rstrip().replace(f"{ROOT}/", "")) for line in run.stdout.strip().splitlines() if re.search(kept, line)]
    if len(lines) > LINES:
        print(f"{name}: {len(lines)} lines are too many for the page", file=sys.stderr)
        return None
    output = "\n".join(lines)
    commit = git("rev-parse", "--short", "HEAD") + ("-dirty" if git("status", "--porcelain", "--", ".", ":!docs/evidence.md") else "")
    return (f"\n{headline(name)}\n\n    {command}\n\n```text\n{output}\n```\n\nCommit {commit}, {datetime.date.today()}, {where}.\n\n")


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
            write(have)
    return failed


if __name__ == "__main__":
    sys.exit(main())
