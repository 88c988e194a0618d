#!/usr/bin/env python3
"""factors.py OUT FACTOR... - compare DNA data sets by their medians, from the results of paper/dna --factors.

Prints tables in Markdown, and writes the same numbers to OUT/factors.json."""
import itertools
import json
import os
import re
import sys

WAYS = ("ig", "lime", "perturb")
PAPER_FACTORS = 422


def load(out, name, kind):
    with open(os.path.join(out, "%s-%s.json" % (name, kind))) as f:
        return json.load(f)


def ranks(values):
    order = sorted(values)
    return [sum(1 + i for i, w in enumerate(order) if w == v) / order.count(v) for v in values]


def signed_rank(x, y):
    """Two-sided exact p of Wilcoxon's signed-rank test, and the number of pairs in which x is less, and more."""
    d = [a - b for a, b in zip(x, y) if a != b]
    if not d or len(d) > 16:
        return 1.0 if not d else float("nan"), sum(v < 0 for v in d), sum(v > 0 for v in d)
    r = ranks([abs(v) for v in d])
    total = sum(r)
    seen = min(t := sum(w for v, w in zip(d, r) if v > 0), total - t)
    all_signs = [sum(itertools.compress(r, s)) for s in itertools.product((0, 1), repeat=len(r))]
    p = sum(min(t, total - t) <= seen + 1e-9 for t in all_signs) / len(all_signs)
    return p, sum(v < 0 for v in d), sum(v > 0 for v in d)


def of(evaluation, name):
    return next(m["summary"] for m in evaluation["methods"] if m["name"] == name)


def training(out, name):
    text = open(os.path.join(out, name + "-training.txt")).read()
    return float(re.search(r"test: accuracy [\d.]+, AUC ([\d.]+) on", text)[1])


def gather(out, name):
    methods, s3, clusters = (load(out, name, k) for k in ("first", "s3", "clusters"))
    with open(os.path.join(out, name + "-sis.jsonl")) as records:
        tested = sum(1 for _ in records)
    f = {"name": name, "auc": training(out, name), "tested": tested, "explained": len(methods["examples"]),
         "threshold": methods["examples"][0]["threshold"],
         "subsets": of(methods, "sis")["subsets_per_example"], "motif": methods.get("motif"),
         "length": {w: of(methods, w)["length"]["median"] for w in ("sis",) + WAYS},
         "mean_length": {w: of(methods, w)["length"]["mean"] for w in ("sis",) + WAYS},
         "length_p": {w: of(methods, w)["length"]["signed_rank_p"] for w in WAYS},
         "sufficient": {w: of(s3, w + " length")["sufficient_examples"] for w in WAYS},
         "top": of(s3, "ig top")["length"]["median"], "top_sufficient": of(s3, "ig top")["sufficient_examples"],
         "clusters": [{"size": c["size"], "pattern": c["top"][0]["pattern"] if c.get("top") else "",
                       "match": (c.get("matches") or [{}])[0]} for c in clusters["clusters"]],
         "noise": len(clusters["noise"])}
    for c in f["clusters"]:
        c["match"].pop("matrix", None)
    if f["motif"]:
        f["divergence"] = {w: of(methods, w)["divergence"]["median"] for w in ("sis",) + WAYS}
        f["divergence_p"] = {w: of(methods, w)["divergence"]["signed_rank_p"] for w in WAYS}
    return f


def table(header, rows):
    print("\n| %s |\n|%s" % (" | ".join(header), "---|" * len(header)))
    for row in rows:
        print("| %s |" % " | ".join(str(c) for c in row))


def print_factors(found):
    table(["factor", "AUC", "threshold", "explained", "subsets each", "SIS", "Suff. IG", "Suff. LIME", "Suff. Perturb.",
           "Top IG"],
          [[f["name"], "%.3f" % f["auc"], "%.4f" % f["threshold"], "%d of %d" % (f["explained"], f["tested"]),
            "%.2f" % f["subsets"]] + ["%g (%.1f)" % (f["length"][w], f["mean_length"][w]) for w in ("sis",) + WAYS] +
           ["%g, %.0f %% sufficient" % (f["top"], 100 * f["top_sufficient"])] for f in found])
    print("\nLengths in bases: median (mean).")
    table(["factor", "IG", "LIME", "Perturb."],
          [[f["name"]] + ["%.0f %%" % (100 * f["sufficient"][w]) for w in WAYS] for f in found])
    print("\nHow many rationales as long as SIS's are sufficient.")
    known = [f for f in found if f["motif"]]
    if known:
        table(["factor", "motif", "SIS", "Suff. IG", "Suff. LIME", "Suff. Perturb."],
              [[f["name"], f["motif"], "%.2f" % f["divergence"]["sis"]] +
               ["%.2f (p %.1g)" % (f["divergence"][w], f["divergence_p"][w]) for w in WAYS] for f in known])
        print("\nDivergence from the motif of JASPAR, medians; p of the signed-rank test over sequences.")


def print_clusters(found):
    table(["factor", "clusters", "in none", "largest", "pattern", "best match", "q"],
          [[f["name"], len(f["clusters"]), f["noise"]] +
           ([c["size"], "`%s`" % c["pattern"], c["match"].get("name", ""), "%.1g" % c["match"].get("q", float("nan"))]
            if (c := max(f["clusters"], key=lambda c: c["size"], default=None)) else ["", "", "", ""]) for f in found])


def over_data_sets(found):
    """Tests of SIS against each method, with one number for each data set."""
    tests = []
    for what, key, some in (("mean length", "mean_length", found),
                            ("median divergence", "divergence", [f for f in found if f["motif"]])):
        for w in WAYS:
            p, less, more = signed_rank([f[key]["sis"] for f in some], [f[key][w] for f in some])
            tests.append({"what": what, "method": w, "sets": len(some), "less": less, "more": more, "p": p})
    return tests


def seconds_of(line):
    return sum(60 * float(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", line))


def processor_seconds(out, found):
    """Processor time of each data set that was computed from scratch, from the shell's `times` before and after."""
    each = []
    for f in found:
        path = os.path.join(out, f["name"] + "-times.txt")
        lines = open(path).read().split("\n") if os.path.exists(path) else []
        if len(lines) >= 4:
            each.append(seconds_of(lines[3]) - seconds_of(lines[1]))
    return each


def main(out, names):
    found = [gather(out, n) for n in names]
    tests = over_data_sets(found)
    print_factors(found)
    print_clusters(found)
    table(["of each data set", "SIS against", "data sets", "SIS less", "more", "p (signed rank, exact)"],
          [[t["what"], t["method"], t["sets"], t["less"], t["more"], "%.3g" % t["p"]] for t in tests])
    cost = processor_seconds(out, found)
    if cost:
        mean = sum(cost) / len(cost)
        print("\nProcessor time: %.0f s a data set, with training (mean of %d); %d of them would take %.1f hours of one core." % (
            mean, len(cost), PAPER_FACTORS, PAPER_FACTORS * mean / 3600))
    json.dump({"factors": found, "tests": tests}, open(os.path.join(out, "factors.json"), "w"), indent=1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
