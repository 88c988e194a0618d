#!/usr/bin/env python3
"""minimum.py RESULTS.jsonl [OUT.csv] - local minima of backward selection (the paper's Figure S5).

RESULTS have the first subset of each example with its order (sis explain --max-subsets 1 --trace). An example has a local minimum if the
score falls below the threshold and reaches it again as more is masked: selection that ends at the first fall keeps too much. Prints how
many have one, and the clearest (the most features too many): id, features of the subset, features if selection ends early."""
import csv
import json
import sys


def sizes(record):
    """Features that are left when the score is enough for the last time, and before it is too low for the first time."""
    subset = record["subsets"][0]
    sign = 1 if record["direction"] == ">=" else -1
    enough = [sign * s >= sign * record["threshold"] for s in subset["trace"]]
    n = len(enough)
    last = max((k for k, good in enumerate(enough) if good), default=-1)
    first = next((k for k, good in enumerate(enough) if not good), n)
    return n - 1 - last, n - first


def main(path, out):
    rows = []
    with open(path) as f:
        for line in f:
            record = json.loads(line)
            if record["status"] == "explained":
                rows.append((record["id"],) + sizes(record))
    found = [r for r in rows if r[2] > r[1]]
    if out:
        with open(out, "w") as f:
            csv.writer(f, lineterminator="\n").writerows([("id", "whole", "early")] + rows)
    print("%d of %d have a local minimum" % (len(found), len(rows)))
    worst = max(rows, key=lambda r: r[2] - r[1], default=None)
    if worst:
        print("%s %d %d" % worst)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
