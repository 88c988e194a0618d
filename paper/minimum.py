#!/usr/bin/env python3
"""minimum.py OUT.csv RESULTS.jsonl... - local minima of backward selection (the paper's Figure S5).
minimum.py --only ID NUMBER RESULTS.jsonl - the record of that example with this subset alone, to be drawn.

RESULTS have subsets with their order (sis explain --trace). A selection has a local minimum if the score falls below the
threshold and reaches it again as more is masked: a selection that ends at the first fall keeps too many features. Prints how
many have one, and the clearest (the most extra features): id, number of the subset, its features, features at an early end."""
import csv
import json
import sys


def sizes(record, number=1):
    """Features left when the score last reaches the threshold, and just before it first falls below."""
    sign = 1 if record["direction"] == ">=" else -1
    enough = [sign * s >= sign * record["threshold"] for s in record["subsets"][number - 1]["trace"]]
    n = len(enough)
    last = max((k for k, good in enumerate(enough) if good), default=-1)
    first = next((k for k, good in enumerate(enough) if not good), n)
    return n - 1 - last, n - first


def records(path):
    with open(path) as f:
        for line in f:
            record = json.loads(line)
            if record["status"] == "explained":
                yield record


def find(out, paths):
    rows = {}
    for path in paths:
        for record in records(path):
            for number in range(1, len(record["subsets"]) + 1):
                rows[record["id"], number] = sizes(record, number)
    rows = [key + value for key, value in rows.items()]
    with open(out, "w") as f:
        csv.writer(f, lineterminator="\n").writerows([("id", "subset", "whole", "early")] + rows)
    found = [r for r in rows if r[3] > r[2]]
    print("%d of %d selections, in %d of %d digits, have a local minimum" % (
        len(found), len(rows), len({r[0] for r in found}), len({r[0] for r in rows})))
    if rows:
        print("%s %d %d %d" % max(rows, key=lambda r: r[3] - r[2]))


def only(name, number, path):
    for record in records(path):
        if record["id"] == name and len(record["subsets"]) >= number:
            print(json.dumps(dict(record, subsets=[record["subsets"][number - 1]])))
            return


if __name__ == "__main__":
    if sys.argv[1] == "--only":
        only(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        find(sys.argv[1], sys.argv[2:])
