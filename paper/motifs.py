#!/usr/bin/env python3
"""motifs.py MOTIFS OUT FACTOR... - does the largest cluster of each factor's subsets look like the factor's own motif?

OUT has FACTOR-sis.jsonl for each factor, as paper/dna --factors writes it. The largest cluster is compared with all motifs
of a file twice: by the bases of the subsets alone (--flank 0) and by the whole site. Prints a table in Markdown. $SIS
is the program."""
import json
import os
import subprocess
import sys

SIS = os.environ.get("SIS", "sis")
RELATIVES = {"CTCFL": "CTCF"}  # binds the same site; JASPAR has no matrix of it


def consensus(matrix):
    """The matrix as sis cluster prints it."""
    text = ""
    for k in range(0, len(matrix), 4):
        column = matrix[k:k + 4]
        share = max(column) / sum(column)
        base = "ACGT"[column.index(max(column))]
        text += base if share >= 0.75 else base.lower() if share >= 0.4 else "N"
    return text


def largest(motifs, results, flank):
    """The largest cluster, with all motifs as its matches."""
    made = subprocess.run([SIS, "cluster", results, "--motifs", motifs, "--matches", "1000000", "--output", "-"] + flank,
                          check=True, stdout=subprocess.PIPE)
    return max(json.loads(made.stdout)["clusters"], key=lambda c: c["size"])


def own(cluster, factor):
    """Rank and match of the factor's own motif (the best of several); None if the file lacks it."""
    name = RELATIVES.get(factor, factor).upper()
    return next(((k + 1, m) for k, m in enumerate(cluster["matches"]) if m["name"].upper() == name), None)


def cells(cluster, factor):
    found, best = own(cluster, factor), cluster["matches"][0]
    return ["`%s`" % consensus(cluster["matrix"]), "%s, %.1g" % (best["name"], best["q"])] + (
        ["%d" % found[0], "%.1g" % found[1]["q"]] if found else ["none there", ""])


def main(motifs, out, factors):
    print("| factor | subsets | of the subsets alone | best, q | own: rank | q | of the site | best, q | own: rank | q |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for factor in factors:
        results = os.path.join(out, factor + "-sis.jsonl")
        before, after = largest(motifs, results, ["--flank", "0"]), largest(motifs, results, [])
        print("| %s | %d | %s |" % (factor, after["size"], " | ".join(cells(before, factor) + cells(after, factor))))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__.split("\n")[0])
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
