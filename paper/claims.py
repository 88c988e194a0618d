#!/usr/bin/env python3
"""claims.py OUT [--quick] - each claim of the paper, theirs, ours, and whether it holds.

Everything is computed from what the scripts of paper/all left in OUT; what is not there cannot be tested. Writes
OUT/claims.md, OUT/claims.html and OUT/claims.json, and prints the first."""
import csv
import html
import json
import os
import re
import sys

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested with this data"
WAYS = ("ig", "lime", "perturb")
CALLED = {"ig": "IG", "lime": "LIME", "perturb": "Perturb."}


class Missing(Exception):
    """The run that a claim needs is not there."""


class Runs:
    def __init__(self, out):
        self.out = out

    def path(self, *names):
        path = os.path.join(self.out, *names)
        if not os.path.exists(path):
            raise Missing(os.path.join(*names))
        return path

    def json(self, *names):
        with open(self.path(*names)) as f:
            return json.load(f)

    def records(self, *names):
        with open(self.path(*names)) as f:
            return [json.loads(line) for line in f]

    def summary(self, name, *names):
        return next(m["summary"] for m in self.json(*names)["methods"] if m["name"] == name)


def verdict(good):
    return HOLDS if good else FAILS


def mean(x):
    x = list(x)
    return sum(x) / len(x) if x else float("nan")


def median(x):
    x = sorted(x)
    return (x[(len(x) - 1) // 2] + x[len(x) // 2]) / 2 if x else float("nan")


# ---- What is compared ------------------------------------------------------------------------------------------------


def shorter(runs, *names):
    """SIS's first subsets against each other method: means, p of the signed-rank test."""
    sis = runs.summary("sis", *names)["percent"]
    others = {w: runs.summary(w, *names)["percent"] for w in WAYS}
    ours = "SIS %.1f %% of the input on average; " % sis["mean"] + ", ".join(
        "%s %.1f (p %.1g)" % (CALLED[w], q["mean"], q["signed_rank_p"]) for w, q in others.items())
    good = all(q["mean"] > sis["mean"] and q["signed_rank_p"] < 0.05 for q in others.values())
    return ours, verdict(good)


def constrained(runs, *names):
    shares = {w: runs.summary(w + " length", *names)["sufficient_examples"] for w in WAYS}
    ours = "sufficient with as many features as SIS: " + ", ".join("%s %.0f %%" % (CALLED[w], 100 * s) for w, s in shares.items())
    return ours, verdict(max(shares.values()) < 0.95)


def important(runs, *names):
    """One rationale of each method an example: medians of the importance of their features."""
    found = {m["name"]: median(r["inside"] for r in m["rationales"] if r["subset"] == 0 and r.get("inside") is not None)
             for m in runs.json(*names)["methods"]}
    ours = "median importance inside: " + ", ".join("%s %.3g" % (CALLED.get(n, "SIS"), v) for n, v in found.items())
    return ours, verdict(all(found["sis"] >= found[w] for w in ("ig", "lime")))


def people(runs, *names):
    s = runs.summary("sis", *names)
    ours = "r %.3f, p %.1g" % (s["pearson_r"], s["pearson_p"])
    return ours, verdict(s["pearson_r"] > 0 and s["pearson_p"] < 0.05)


def crossed(runs, *names):
    cross = runs.json(*names)["cross"]
    shares = [c["sufficient"] for c in cross if c.get("sufficient") is not None]
    ours = "sufficient for the other network: " + " and ".join("%.0f %%" % (100 * s) for s in shares)
    return ours, verdict(shares and max(shares) < 0.5)


def pure(runs, *names):
    clusters = runs.json(*names)["joint"]["clusters"]
    alone = sum(max(c["share"].values()) >= 0.9 for c in clusters)
    return "%d of %d joint clusters are of one network by at least 90 %%" % (alone, len(clusters)), \
        verdict(clusters and 2 * alone > len(clusters))


# ---- Claims ----------------------------------------------------------------------------------------------------------


def sis_files(runs):
    for folder, _, files in os.walk(runs.out):
        for name in files:
            if re.fullmatch(r"(.*-)?(sis|cnn|mlp|below|mistaken|nines|fours)\.jsonl", name):
                yield os.path.join(folder, name)


def all_subsets(runs):
    explained = verified = subsets = complete = 0
    for path in sis_files(runs):
        for line in open(path):
            r = json.loads(line)
            if r["status"] != "explained" or r["method"] != "sis":
                continue
            explained += 1
            subsets += len(r["subsets"])
            verified += r["verified"]
            sign = 1 if r["direction"] == ">=" else -1
            complete += sign * r["rest_score"] < sign * r["threshold"]
    if not explained:
        raise Missing("results of SIS")
    return explained, subsets, verified, complete


def minimal(runs):
    explained, subsets, verified, _ = all_subsets(runs)
    return "%d of %d explained inputs (%d subsets) verified by full passes" % (verified, explained, subsets), \
        verdict(verified == explained)


def complete(runs):
    explained, _, _, good = all_subsets(runs)
    return "%d of %d" % (good, explained), verdict(good == explained)


def over_sets(what):
    def test(runs):
        tests = [t for t in runs.json("factors", "factors.json")["tests"] if t["what"] == what]
        ours = ", ".join("%s: less in %d of %d data sets (p %.2g)" % (CALLED[t["method"]], t["less"], t["sets"], t["p"]) for t in tests)
        if any(2 / 2 ** (t["less"] + t["more"]) >= 0.05 for t in tests):
            return ours + "; too few data sets that differ for any p below 0.05", UNTESTED
        return ours, verdict(all(t["less"] > t["more"] and t["p"] < 0.05 for t in tests))
    return test


def sets_constrained(runs):
    found = runs.json("factors", "factors.json")["factors"]
    shares = {w: mean(f["sufficient"][w] for f in found) for w in WAYS}
    top = mean(f["top_sufficient"] for f in found)
    return "mean over %d data sets: " % len(found) + ", ".join("%s %.0f %%" % (CALLED[w], 100 * s) for w, s in shares.items()) + \
        ", Top IG %.0f %%" % (100 * top), verdict(max(shares.values()) < 0.95)


def accurate(runs):
    found = runs.json("factors", "factors.json")["factors"]
    return "%d data sets: AUC %.3f on average, %.3f to %.3f" % (len(found), mean(f["auc"] for f in found), min(f["auc"] for f in found),
                                                               max(f["auc"] for f in found)), verdict(mean(f["auc"] for f in found) > 0.8)


def one_each(runs):
    found = runs.json("factors", "factors.json")["factors"]
    share = mean(f["subsets"] for f in found)
    return "%.2f subsets a sequence on average over %d data sets" % (share, len(found)), verdict(share < 1.5)


def motifs_found(runs):
    found = [f for f in runs.json("factors", "factors.json")["factors"] if f["motif"] and f["clusters"]]
    best = {f["name"]: [c["match"].get("name", "") for c in f["clusters"]] for f in found}
    own = [n for n, names in best.items() if any(m[:3].upper() == n[:3].upper() for m in names)]
    return "the best match of a cluster is of the factor's family (the same first three letters) in %d of %d data sets: %s" % (
        len(own), len(found), ", ".join("%s %s" % (n, "/".join(names)) for n, names in best.items())), verdict(2 * len(own) > len(found))


def planted(runs):
    clusters = runs.json("dna", "CTCF-clusters.json")["clusters"]
    best = max(clusters, key=lambda c: c["size"])
    match = best["matches"][0]["name"]
    return "largest cluster of %d, best match among all motifs: %s" % (best["size"], match), verdict(match == "CTCF")


def decided(runs):
    records = runs.records("mnist", "cnn.jsonl")
    share = mean(r["status"] == "explained" for r in records)
    return "%.1f %% of %d digits" % (100 * share, len(records)), verdict(share > 0.95)


def fours(runs):
    clusters = runs.json("mnist", "clusters-cnn-4.json")
    return "%d clusters of %d subsets" % (len(clusters["clusters"]), clusters["n"]), verdict(len(clusters["clusters"]) >= 2)


def chosen(record):
    return {f for s in record["subsets"] for f in s["features"]}


def attacked(runs):
    before = {r["id"]: r for r in runs.records("mnist", "nines.jsonl") if r["status"] == "explained"}
    after = {r["id"]: r for r in runs.records("mnist", "fours.jsonl") if r["status"] == "explained"}
    same = [k for k in before if k in after]
    overlap = mean(len(chosen(before[k]) & chosen(after[k])) / len(chosen(before[k]) | chosen(after[k])) for k in same)
    turned = sum(after[k]["output"] == 4 for k in same)
    return "%d of %d nines became fours; subsets before and after share %.0f %% of their pixels (Jaccard)" % (turned, len(same), 100 * overlap), \
        verdict(same and turned == len(same) and overlap < 0.5)


def touching(record):
    """The share of a record's chosen pixels that have a neighbour in the same subset."""
    width = record["shape"][-1]
    near = total = 0
    for s in record["subsets"]:
        here = set(s["features"])
        for f in here:
            total += 1
            around = {f - width, f + width} | ({f - 1} if f % width else set()) | ({f + 1} if (f + 1) % width else set())
            near += bool(here & around)
    return near / total


def strokes(runs):
    share = {net: mean(touching(r) for r in runs.records("mnist", net + ".jsonl") if r["status"] == "explained" and r["output"] == 4)
             for net in ("cnn", "mlp")}
    return "pixels of fours' subsets with a neighbour in the same subset: CNN %.0f %%, MLP %.0f %%" % (100 * share["cnn"], 100 * share["mlp"]), \
        verdict(share["cnn"] > share["mlp"])


def minimum(runs):
    with open(runs.path("mnist", "minimum.csv")) as f:
        rows = [(int(r["whole"]), int(r["early"])) for r in csv.DictReader(f)]
    more = sum(early > whole for whole, early in rows)
    return "%d of %d digits have one" % (more, len(rows)), verdict(more > 0)


def imputed(runs):
    study = runs.json("text", "imputation.json")["imputation"]
    spread = {}
    for k in ("by_mask", "by_hotdeck"):
        m = mean(study[k])
        spread[k] = m, mean((v - m) ** 2 for v in study[k]) ** 0.5
    good = all(abs(m) < 0.1 * s for m, s in spread.values()) and spread["by_mask"][1] <= spread["by_hotdeck"][1]
    return "mask %.1e (%.3f), hot-deck %.1e (%.3f)" % (spread["by_mask"] + spread["by_hotdeck"]), verdict(good)


def beer(aspect, what):
    def test(runs):
        return what(runs, "beer-" + aspect)
    return test


CLAIMS = [  # where, claim, theirs, test
    ("Proposition 1", "No feature of a subset can be left out", "proved", minimal),
    ("Proposition 2", "Without all subsets the decision is not reached", "proved", complete),
    ("Figure S5", "The score has local minima along backward selection", "an example shown", minimum),
    ("Figure S12", "The mask changes the score as little as a random word", "mask -7.0e-4 (0.013), hot-deck -7.4e-4 (0.018)", imputed),
    ("Table S2, LSTM", "SIS is shorter than the others made sufficient (films)", "3.9 % (median); IG 7.7 (p 5e-26), LIME 7.2 (4e-23), Perturb. 5.1 (1e-6)",
     lambda r: shorter(r, "text", "lstm-first.json")),
    ("Table S2, CNN", "The same on the CNN of films", "not in the paper", lambda r: shorter(r, "text", "cnn-first.json")),
    ("Figure 3, LSTM", "With as many words as SIS the others often fail", "often badly fail", lambda r: constrained(r, "text", "lstm-length.json")),
    ("Table S2, S13", "The others hold more unimportant words", "SIS 0.011, IG 0.007, LIME 0.008, Perturb. 0.021",
     lambda r: important(r, "text", "lstm-methods.json")),
    ("Figure 4", "Subsets lie inside what people marked where that is enough (films)", "r 0.491, p 1.5e-25 (aroma)",
     lambda r: people(r, "text", "human-only.json")),
    ("Figure 4", "The same on the paper's own palate reviews", "r 0.491, p 1.5e-25 (aroma)",
     lambda r: people(r, "beer-palate", "human-only.json")),
    ("Figure 10a", "Subsets of one text network are insufficient for the other", "typically insufficient",
     lambda r: crossed(r, "text", "compare-sis.json")),
    ("Table 2", "Joint clusters of LSTM and CNN lean to one of them", "0, 0, 20, 33, 70 % of the LSTM", lambda r: pure(r, "text", "compare-sis.json")),
] + [
    ("Table %s" % where, "Beer, %s: SIS is shorter than the others (LSTM)" % a, theirs,
     beer(a, lambda r, d: shorter(r, d, "lstm-first.json"))) for a, where, theirs in (
         ("appearance", "S7", "2.6 % (median); IG 3.7 (p 2e-9), LIME 3.7 (8e-9), Perturb. 3.0 (9e-3)"),
         ("aroma", "S2", "3.9 % (median); IG 7.7 (p 5e-26), LIME 7.2 (4e-23), Perturb. 5.1 (1e-6)"),
         ("palate", "S10", "2.4 % (median); IG 3.2 (p 2e-6), LIME 3.0 (7e-6), Perturb. 2.8 (3e-3)"))
] + [
    ("Figure 10a, beer %s" % a, "Subsets of one network are insufficient for the other", "typically insufficient (aroma)",
     beer(a, lambda r, d: crossed(r, d, "compare-sis.json"))) for a in ("appearance", "aroma", "palate")
] + [
    ("Figure 1", "Each aspect's subset holds words about that aspect alone", "an example shown", lambda r: r.path("marks of all three aspects")),
    ("Figure S1", "The networks predict binding well", "422 data sets", accurate),
    ("Figure S3", "DNA: SIS is shorter than the others", "422 data sets", over_sets("mean length")),
    ("Figure S4", "DNA: with as many bases as SIS the others fail", "422 data sets", sets_constrained),
    ("Figure 6a", "DNA: SIS has the lowest divergence from JASPAR", "p at most 1e-5 against each, 422 data sets", over_sets("median divergence")),
    ("Figure 6b, c", "Clusters of subsets are the factor's motif", "two clusters of one factor shown", motifs_found),
    ("Figure 6b, c", "The same where the motif was planted (CTCF)", "two clusters of one factor shown", planted),
    ("S2", "DNA: mostly a single subset", "generally only a single SIS per example", one_each),
    ("Figure S6", "Nearly all test digits are decided", "almost all", decided),
    ("Figure 7", "Subsets of fours form clusters", "eight", fours),
    ("Figure 8a", "An attack changes the subsets drastically", "an example shown", attacked),
    ("Figure 9", "Joint clusters of CNN and MLP are mostly of one network", "most clusters purely from a single model",
     lambda r: pure(r, "mnist", "compare.json")),
    ("Figure 10b", "Subsets of one digit network are insufficient for the other", "typically insufficient",
     lambda r: crossed(r, "mnist", "compare.json")),
    ("Section 4.4", "The CNN's subsets are strokes, the MLP's spread over the digit", "seen in figures", strokes),
]


def judge(runs):
    rows = []
    for where, claim, theirs, test in CLAIMS:
        try:
            ours, said = test(runs)
        except Missing as e:
            ours, said = "no " + str(e), UNTESTED
        rows.append({"where": where, "claim": claim, "paper": theirs, "ours": ours, "verdict": said})
    return rows


# ---- The page --------------------------------------------------------------------------------------------------------

# How many times as much the full run of a part is: examples, and for reviews the samples of LIME as well.
FULL = {"dna": 4000 / 1000, "factors": 20000 / 4000, "mnist": 10000 / 150, "text": 530 / 60 * 6, "beer-appearance": 247 / 60 * 6,
        "beer-aroma": 247 / 60 * 6, "beer-palate": 247 / 60 * 6, "yardsticks": 25}


def times(out):
    folder, found = os.path.join(out, "times"), {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        text = open(os.path.join(folder, name)).read()
        found[name] = sum(60 * float(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", text))
    return found


def lines_of(rows, spent, quick):
    yield "# The paper's claims on our models and data"
    yield ""
    counts = ", ".join("%d %s" % (sum(r["verdict"] == v for r in rows), v) for v in (HOLDS, FAILS, UNTESTED))
    yield "%d claims: %s. %s" % (len(rows), counts, "A quick run: fewer examples than a full one." if quick else "")
    yield ""
    yield "| in the paper | claim | paper | ours | |"
    yield "|---|---|---|---|---|"
    for r in rows:
        yield "| %(where)s | %(claim)s | %(paper)s | %(ours)s | **%(verdict)s** |" % r
    if spent:
        yield ""
        yield "Processor time of this run, in minutes: " + ", ".join("%s %.1f" % (k, v / 60) for k, v in spent.items()) + \
            "; %.1f in all." % (sum(spent.values()) / 60)
        if quick:
            yield "A full run, from these by the number of examples (and LIME's samples): %.1f hours of one core." % (
                sum(FULL.get(k, 1) * v for k, v in spent.items()) / 3600)


COLOURS = {HOLDS: "#116d4c", FAILS: "#a32a1b", UNTESTED: "#5c6672"}


def page(rows, lines):
    body = "".join("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td style=\"color:%s\"><b>%s</b></td></tr>\n" % (
        tuple(html.escape(r[k]) for k in ("where", "claim", "paper", "ours")) + (COLOURS[r["verdict"]], r["verdict"])) for r in rows)
    words = [html.escape(line) for line in lines if line and not line.startswith(("|", "#"))]
    return ("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
            "<title>The paper's claims</title><style>body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;"
            "color:#1d2329}table{border-collapse:collapse;width:100%%}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;"
            "border-top:1px solid #d8dde3}th{border:0}</style><h1>The paper's claims on our models and data</h1><p>%s</p>"
            "<table><thead><tr><th>in the paper</th><th>claim</th><th>paper</th><th>ours</th><th></th></tr></thead><tbody>\n%s</tbody></table>"
            "%s</html>\n") % (words[0], body, "".join("<p>%s</p>" % w for w in words[1:]))


def main(out, quick):
    rows = judge(Runs(out))
    lines = list(lines_of(rows, times(out), quick))
    for name, text in (("claims.md", "\n".join(lines) + "\n"), ("claims.html", page(rows, lines)),
                       ("claims.json", json.dumps(rows, indent=1) + "\n")):
        with open(os.path.join(out, name), "w") as f:
            f.write(text)
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], "--quick" in sys.argv[2:])
