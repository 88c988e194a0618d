#!/usr/bin/env python3
"""digits.py OUT - a table of both networks, digit by digit, from the results of paper/mnist in OUT: NET.jsonl,
clusters-NET-D.json and compare-D.json. Cells without results are empty."""
import json
import os
import sys

ALONE = 0.95  # a joint cluster belongs to one network if that has at least this share
NETS = ("cnn", "mlp")


def median(x):
    x = sorted(x)
    return (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2 if x else float("nan")


def load(out, name):
    path = os.path.join(out, name)
    return json.load(open(path)) if os.path.exists(path) else None


def explained(out, net):
    """For each decided digit: the sizes of the subsets of each example, and whether the decision is right. Reads line by
    line, because traces are long."""
    found = {d: [] for d in range(10)}
    with open(os.path.join(out, net + ".jsonl")) as f:
        for record in map(json.loads, f):
            if record["status"] == "explained":
                right = record.get("label") in (None, str(record["target"]))
                found[record["target"]].append(([len(s["features"]) for s in record["subsets"]], right))
    return found


def sizes(examples):
    return [s for some, _ in examples for s in some]


def count(n, noun):
    return "%d %s%s" % (n, noun, "" if n == 1 else "s")


def describe(what, examples):
    found = sizes(examples)
    print("%s: %s explained by %s (%.2f each); pixels of a subset: %g in the median, %d at most" % (
        what, count(len(examples), "digit"), count(len(found), "subset"), len(found) / len(examples), median(found), max(found)))


def largest(found):
    clusters = found["clusters"] if found else []
    return max(clusters, key=lambda c: c["size"]) if clusters else None


def share(cluster, net):
    return sum(v for source, v in cluster["share"].items() if os.path.basename(source).startswith(net))


def clusters(found):
    big = largest(found)
    return "%d (%d)" % (len(found["clusters"]), big["size"]) if big else "0" if found else ""


def joint(found):
    """Joint clusters; those of one network alone; the largest with its share; subsets sufficient for the other network."""
    if not found:
        return ["", "", "", "", ""]
    groups, big = found["joint"]["clusters"], largest(found["joint"])
    alone = ["%d" % sum(share(c, net) >= ALONE for c in groups) for net in NETS]
    cross = ["%d of %d" % (round(c["sufficient"] * c["n"]), c["n"]) if c["n"] else "" for c in (found["scores"][k] for k in ("a_by_b", "b_by_a"))]
    return ["%d" % len(groups), ", ".join(alone), "%d, %.0f %%" % (big["size"], 100 * share(big, NETS[0])) if big else ""] + cross


def total(found):
    """Over all digits: joint clusters, those of one network, sufficient subsets of all, and the lowest agreement on decisions."""
    found = [f for f in found if f]
    groups = [c for f in found for c in f["joint"]["clusters"]]
    alone = sum(max(share(c, net) for net in NETS) >= ALONE for c in groups)
    print("\n%d of %d joint clusters are of one network (at least %.0f %% of their subsets)." % (alone, len(groups), 100 * ALONE))
    for key, who in (("a_by_b", "of the CNN are sufficient for the MLP"), ("b_by_a", "of the MLP are sufficient for the CNN")):
        n = sum(f["scores"][key]["n"] for f in found)
        enough = sum(round(f["scores"][key]["sufficient"] * f["scores"][key]["n"]) for f in found if f["scores"][key]["n"])
        print("%d of %d subsets (%.1f %%) %s." % (enough, n, 100 * enough / n if n else 0, who))
    agree = [f["decisions"]["agreement"] for f in found if f["decisions"]["common"]]
    if agree:
        print("Decisions agree on %.1f to %.1f %% of the examples, digit by digit." % (100 * min(agree), 100 * max(agree)))


def main(out):
    found = {net: explained(out, net) for net in NETS}
    for net in NETS:
        examples = [e for some in found[net].values() for e in some]
        mistaken = [e for e in examples if not e[1]]
        for what, some in (("", examples), (", taken for another digit", mistaken)):
            if some:
                describe(net.upper() + what, some)
    print("\n| digit | explained: CNN, MLP | subsets each: CNN, MLP | pixels (median): CNN, MLP | clusters (largest): CNN | MLP | joint clusters | "
          "of one network alone: CNN, MLP | largest, of the CNN | still sufficient: CNN's for the MLP | MLP's for the CNN |\n|" + 11 * "---|")
    compared = [load(out, "compare-%d.json" % d) for d in range(10)]
    for d in range(10):
        of = [found[net][d] for net in NETS]
        cells = [", ".join("%d" % len(some) for some in of), ", ".join("%.1f" % (len(sizes(some)) / len(some)) if some else "" for some in of),
                 ", ".join("%g" % median(sizes(some)) if some else "" for some in of)]
        cells += [clusters(load(out, "clusters-%s-%d.json" % (net, d))) for net in NETS] + joint(compared[d])
        print("| %d | %s |" % (d, " | ".join(cells)))
    total(compared)


if __name__ == "__main__":
    main(sys.argv[1])
