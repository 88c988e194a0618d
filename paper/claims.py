#!/usr/bin/env python3
"""claims.py OUT [--quick] [--doc PAGE.md] - for each claim of the paper: its numbers, our numbers, and whether the claim holds.

Reads the results of paper/all in OUT. A claim whose results are missing cannot be tested. Writes OUT/claims.md,
OUT/claims.html and OUT/claims.json, and prints the first; with --doc, also writes its table into PAGE, between the lines that
name this file."""
import csv
import html
import json
import os
import random
import re
import sys

HOLDS, FAILS, UNTESTED, UNRUN = "holds", "does not hold", "cannot be tested with this data", "not run"
WAYS = ("ig", "lime", "perturb")
CALLED = {"ig": "IG", "lime": "LIME", "perturb": "Perturb."}
NEEDS = {"factors": "peaks of factors (--peaks)", "beer": "rated reviews of beer (--beer)", "human": "marks of people (--human, --palate)"}
FEW = 20  # with fewer differing pairs (or subsets that people marked), a p of 0.05 or more does not decide


class Missing(Exception):
    """The results that a claim needs are missing: the part, and which of its results."""


class Runs:
    def __init__(self, out):
        self.out = out

    def path(self, *names):
        path = os.path.join(self.out, *names)
        if not os.path.exists(path):
            raise Missing(names[0], os.path.join(*names))
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


# ---- Tests: the first line of each docstring is the rule that the page prints ------------------------------------------


def pairs(runs, way, *names):
    """Per cent of the input in the first rationale of SIS and of another method, example by example."""
    found = {m["name"]: {r["id"]: r["percent"] for r in m["rationales"] if r["subset"] == 0} for m in runs.json(*names)["methods"]}
    return [(v, found[way][k]) for k, v in found["sis"].items() if k in found[way]]


def shorter(runs, *names):
    """SIS's mean length is less than each other's, signed-rank p below 0.05"""
    sis = runs.summary("sis", *names)["percent"]
    others = {w: runs.summary(w, *names)["percent"] for w in WAYS}
    ours = "first subsets of %d reviews, mean: SIS %.1f %% of the text; " % (len(pairs(runs, "ig", *names)), sis["mean"]) + ", ".join(
        "%s %.1f (p %.1g)" % (CALLED[w], q["mean"], q["signed_rank_p"]) for w, q in others.items())
    if all(q["mean"] > sis["mean"] and q["signed_rank_p"] < 0.05 for q in others.values()):
        return ours, HOLDS
    unsure = [w for w, q in others.items() if not q["signed_rank_p"] < 0.05]
    differ = {w: sum(a != b for a, b in pairs(runs, w, *names)) for w in unsure}
    contrary = any(others[w]["mean"] <= sis["mean"] for w in others if w not in unsure)
    if contrary or any(n >= FEW for n in differ.values()):
        return ours, FAILS
    return ours + "; differ from SIS: " + ", ".join("%s on %d" % (CALLED[w], n) for w, n in differ.items()) + ", too few to tell", UNTESTED


def interval(share, n):
    """Wilson's, 95 %."""
    z = 1.96
    middle, half = share + z * z / (2 * n), z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def judged_below(ours, shares, limit):
    """True if all shares (each with its number of cases) are below the limit; with fewer than 100 cases, by the interval."""
    ends = [interval(s, n) if n < 100 else (s, s) for s, n in shares]
    if any(low >= limit for low, _ in ends):
        return ours, FAILS
    return (ours, HOLDS) if all(high < limit for _, high in ends) else (ours + "; too few to tell", UNTESTED)


def constrained(runs, *names):
    """each other method is insufficient for more than one decision in ten (of fewer than 100: if the 95 % interval leaves no doubt)"""
    shares = {w: runs.summary(w + " length", *names)["sufficient_examples"] for w in WAYS}
    n = len(runs.json(*names)["examples"])
    ours = "sufficient with as many words as SIS, of %d reviews: " % n + ", ".join("%s %.0f %%" % (CALLED[w], 100 * s) for w, s in shares.items())
    return judged_below(ours, [(s, n) for s in shares.values()], 0.9)


def important(runs, *names):
    """the median importance of a word inside is at least that of IG and of LIME"""
    found = {m["name"]: median(r["inside"] for r in m["rationales"] if r["subset"] == 0 and r.get("inside") is not None)
             for m in runs.json(*names)["methods"]}
    ours = "first rationales of %d reviews: " % len(runs.json(*names)["examples"]) + \
        ", ".join("%s %.3g" % (CALLED.get(n, "SIS"), v) for n, v in found.items())
    return ours, verdict(all(found["sis"] >= found[w] for w in ("ig", "lime")))


def people(runs, *names):
    """the share of a subset that people marked grows with how well the marks alone do: r above 0, p below 0.05"""
    s = runs.summary("sis", *names)
    n = len(runs.json(*names)["methods"][0]["rationales"])
    ours = "r %.3f, p %.1g of %d subsets" % (s["pearson_r"], s["pearson_p"], n)
    if not s["pearson_p"] < 0.05 and n < FEW:
        return ours + ", too few to tell", UNTESTED
    return ours, verdict(s["pearson_r"] > 0 and s["pearson_p"] < 0.05)


def crossed(runs, *names):
    """less than half of them is sufficient for the other, both ways (of fewer than 100: if the 95 % interval leaves no doubt)"""
    scores = runs.json(*names)["scores"]
    cross = [scores[k] for k in ("a_by_b", "b_by_a") if scores.get(k, {}).get("n")]
    if not cross:
        raise Missing(names[0], "subsets of both networks")
    ours = "sufficient for the other network: " + " and ".join("%.0f %% of %d" % (100 * c["sufficient"], c["n"]) for c in cross)
    return judged_below(ours, [(c["sufficient"], c["n"]) for c in cross], 0.5)


def lean(runs, *names, share=2 / 3):
    """more than half of the joint clusters are of one network by two thirds or more"""
    clusters = runs.json(*names)["joint"]["clusters"]
    alone = sum(max(c["share"].values()) >= share for c in clusters)
    if not clusters:
        return "no joint clusters in so few subsets", UNTESTED
    return "%d of %d joint clusters" % (alone, len(clusters)), verdict(2 * alone > len(clusters))


def pure(runs, *names):
    """more than half of the joint clusters are of one network by at least 90 %"""
    return lean(runs, *names, share=0.9)


def chance(x, y, draws=5000):
    """One-sided p that the mean of x is above that of y by chance, by resampling from both together."""
    rng, both, seen = random.Random(1), list(x) + list(y), mean(x) - mean(y)
    more = 0
    for _ in range(draws):
        rng.shuffle(both)
        more += mean(both[:len(x)]) - mean(both[len(x):]) >= seen - 1e-12
    return (more + 1) / (draws + 1)


def aspects(runs):
    """the palate network's subsets lie inside the sentences marked for palate more than those of both other networks, p below 0.05"""
    share = {a: [r["marked"] for r in runs.json("beer-" + a, "human-only.json")["methods"][0]["rationales"] if "marked" in r]
             for a in ("palate", "appearance", "aroma")}
    p = {a: chance(share["palate"], share[a]) for a in share if a != "palate"}
    ours = "words of subsets inside sentences about palate: palate's %.0f %% (%d subsets), " % (100 * mean(share["palate"]), len(share["palate"])) + \
        ", ".join("%s's %.0f %% (p %.1g)" % (a, 100 * mean(share[a]), p[a]) for a in p)
    return ours, verdict(all(v < 0.05 for v in p.values()))


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
        raise Missing("all", "results of SIS")
    return explained, subsets, verified, complete


def minimal(runs):
    """full passes confirm each subset of each explained input"""
    explained, subsets, verified, _ = all_subsets(runs)
    return "%d of %d explained inputs (%d subsets) verified by full passes" % (verified, explained, subsets), \
        verdict(verified == explained)


def complete(runs):
    """so it is for each explained input"""
    explained, _, _, good = all_subsets(runs)
    return "%d of %d explained inputs" % (good, explained), verdict(good == explained)


def over_sets(runs, what):
    """SIS has less than each other in more data sets than not, exact signed-rank p below 0.05"""
    tests = [t for t in runs.json("factors", "factors.json")["tests"] if t["what"] == what]
    ours = what + " of SIS against " + ", ".join("%s: less in %d, more in %d of %d data sets (p %.2g)" % (
        CALLED[t["method"]], t["less"], t["more"], t["sets"], t["p"]) for t in tests)
    if any(2 / 2 ** (t["less"] + t["more"]) >= 0.05 for t in tests):
        return ours + "; too few data sets that differ for any p below 0.05", UNTESTED
    return ours, verdict(all(t["less"] > t["more"] and t["p"] < 0.05 for t in tests))


def sets_constrained(runs):
    """each other method is insufficient for more than one decision in ten"""
    found = runs.json("factors", "factors.json")["factors"]
    shares = {w: mean(f["sufficient"][w] for f in found) for w in WAYS}
    top = mean(f["top_sufficient"] for f in found)
    return "mean over %d data sets: " % len(found) + ", ".join("%s %.0f %%" % (CALLED[w], 100 * s) for w, s in shares.items()) + \
        ", Top IG %.0f %%" % (100 * top), verdict(max(shares.values()) < 0.9)


def accurate(runs):
    """the mean AUC is above 0.8"""
    found = runs.json("factors", "factors.json")["factors"]
    return "%d data sets: AUC %.3f on average, %.3f to %.3f" % (len(found), mean(f["auc"] for f in found), min(f["auc"] for f in found),
                                                               max(f["auc"] for f in found)), verdict(mean(f["auc"] for f in found) > 0.8)


def one_each(runs):
    """fewer than 1.5 subsets a sequence"""
    found = runs.json("factors", "factors.json")["factors"]
    share = mean(f["subsets"] for f in found)
    return "%.2f subsets a sequence on average over %d data sets" % (share, len(found)), verdict(share < 1.5)


def motifs_found(runs):
    """a cluster's best match in JASPAR is of the factor's family (same first three letters), in most data sets"""
    found = [f for f in runs.json("factors", "factors.json")["factors"] if f["motif"] and f["clusters"]]
    best = {f["name"]: [c["match"].get("name", "") for c in f["clusters"]] for f in found}
    own = [n for n, names in best.items() if any(m[:3].upper() == n[:3].upper() for m in names)]
    return "in %d of %d data sets: %s" % (
        len(own), len(found), ", ".join("%s %s" % (n, "/".join(names)) for n, names in best.items())), verdict(2 * len(own) > len(found))


def planted(runs):
    """the largest cluster's best match in JASPAR is CTCF"""
    clusters = runs.json("dna", "CTCF-clusters.json")["clusters"]
    best = max(clusters, key=lambda c: c["size"])
    match = best["matches"][0]["name"]
    return "largest cluster of %d, best match among all motifs: %s" % (best["size"], match), verdict(match == "CTCF")


def decided(runs):
    """more than 95 % have a subset"""
    records = runs.records("mnist", "cnn.jsonl")
    share = mean(r["status"] == "explained" for r in records)
    return "%.1f %% of %d digits" % (100 * share, len(records)), verdict(share > 0.95)


def fours(runs):
    """there are two or more"""
    clusters = runs.json("mnist", "clusters-cnn-4.json")
    return "%d clusters of %d subsets" % (len(clusters["clusters"]), clusters["n"]), verdict(len(clusters["clusters"]) >= 2)


def chosen(record):
    return {f for s in record["subsets"] for f in s["features"]}


def attacked(runs):
    """every attacked nine is a four, and subsets before and after share less than half of their pixels (Jaccard)"""
    before = {r["id"]: r for r in runs.records("mnist", "nines.jsonl") if r["status"] == "explained"}
    after = {r["id"]: r for r in runs.records("mnist", "fours.jsonl") if r["status"] == "explained"}
    same = [k for k in before if k in after]
    overlap = mean(len(chosen(before[k]) & chosen(after[k])) / len(chosen(before[k]) | chosen(after[k])) for k in same)
    turned = sum(after[k]["target"] == 4 for k in same)
    return "%d of %d nines became fours; Jaccard index of pixels before and after %.2f" % (turned, len(same), overlap), \
        verdict(same and turned == len(same) and overlap < 0.5)


def spread(record):
    """Distance of a subset's pixels from their centre (root mean square, in pixels); mean over a record's subsets."""
    width, found = record["shape"][-1], []
    for s in record["subsets"]:
        at = [complex(*divmod(f, width)) for f in s["features"]]
        centre = mean(at)
        found.append(mean(abs(z - centre) ** 2 for z in at) ** 0.5)
    return mean(found)


def strokes(runs):
    """pixels of the CNN's subsets are nearer to their centre than those of the MLP's, p below 0.05"""
    far = {net: [spread(r) for r in runs.records("mnist", net + ".jsonl") if r["status"] == "explained" and r["target"] == 4]
           for net in ("cnn", "mlp")}
    if not all(far.values()):
        raise Missing("mnist", "fours explained by both networks")
    p = chance(far["mlp"], far["cnn"])
    ours = "mean distance in %d and %d fours: CNN %.2f pixels, MLP %.2f (p %.1g)" % (
        len(far["cnn"]), len(far["mlp"]), mean(far["cnn"]), mean(far["mlp"]), p)
    if 0.05 <= p < 0.5 and len(far["cnn"]) < FEW:
        return ours + ", too few to tell", UNTESTED
    return ours, verdict(p < 0.05)


def minimum(runs):
    """one digit or more has one; if none of fewer than 9,000 has, nothing is said"""
    with open(runs.path("mnist", "minimum.csv")) as f:
        rows = [(r["id"], int(r["early"]) > int(r["whole"])) for r in csv.DictReader(f)]
    digits, more = len({d for d, _ in rows}), len({d for d, found in rows if found})
    return "%d of %d digits have one, %d of %d selections" % (more, digits, sum(found for _, found in rows), len(rows)), \
        UNTESTED if not more and digits < 9000 else verdict(more > 0)


def imputed(runs):
    """both mean changes are below a tenth of their deviation, and the mask's deviation is at most hot-deck's"""
    study = runs.json("text", "imputation.json")["imputation"]
    spread = {}
    for k in ("by_mask", "by_hotdeck"):
        m = mean(study[k])
        spread[k] = m, mean((v - m) ** 2 for v in study[k]) ** 0.5
    good = all(abs(m) < 0.1 * s for m, s in spread.values()) and spread["by_mask"][1] <= spread["by_hotdeck"][1]
    return "mask %.1e (%.3f), hot-deck %.1e (%.3f)" % (spread["by_mask"] + spread["by_hotdeck"]), verdict(good)


CLAIMS = [  # section, claim, the paper's numbers, test, its arguments
    ("Proposition 1", "No feature of a subset can be left out", "proved", minimal),
    ("Proposition 2", "Without all subsets the decision is not reached", "proved", complete),
    ("Figure S5", "The score has local minima along backward selection", "an example shown", minimum),
    ("Figure S12", "The mask changes the score as little as a random word", "mask -7.0e-4 (0.013), hot-deck -7.4e-4 (0.018)", imputed),
    ("Table S2, LSTM", "SIS is shorter than the others made sufficient (films)", "3.9 % (median); IG 7.7 (p 5e-26), LIME 7.2 (4e-23), Perturb. 5.1 (1e-6)",
     shorter, "text", "lstm-first.json"),
    ("Table S2, CNN", "The same on the CNN of films", "not in the paper", shorter, "text", "cnn-first.json"),
    ("Figure 3, LSTM", "With as many words as SIS the others often fail", "often badly fail", constrained, "text", "lstm-length.json"),
    ("Table S2, S13", "The others hold more unimportant words", "SIS 0.011, IG 0.007, LIME 0.008, Perturb. 0.021",
     important, "text", "lstm-methods.json"),
    ("Figure 4", "Subsets lie inside what people marked where that is enough (films)", "r 0.491, p 1.5e-25 (aroma)",
     people, "text", "human-only.json"),
    ("Figure 4", "The same on the paper's own palate reviews", "r 0.491, p 1.5e-25 (aroma)",
     people, "beer-palate", "human-only.json"),
    ("Figure 10a", "Subsets of one text network are insufficient for the other", "typically insufficient",
     crossed, "text", "compare-sis.json"),
    ("Table 2", "Joint clusters of LSTM and CNN lean to one of them", "0, 0, 20, 33, 70 % of the LSTM", lean, "text", "compare-sis.json"),
] + [
    ("Table %s" % where, "Beer, %s: SIS is shorter than the others (LSTM)" % a, theirs,
     shorter, "beer-" + a, "lstm-first.json") for a, where, theirs in (
         ("appearance", "S7", "2.6 % (median); IG 3.7 (p 2e-9), LIME 3.7 (8e-9), Perturb. 3.0 (9e-3)"),
         ("aroma", "S2", "3.9 % (median); IG 7.7 (p 5e-26), LIME 7.2 (4e-23), Perturb. 5.1 (1e-6)"),
         ("palate", "S10", "2.4 % (median); IG 3.2 (p 2e-6), LIME 3.0 (7e-6), Perturb. 2.8 (3e-3)"))
] + [
    ("Figure 10a, beer %s" % a, "Subsets of one network are insufficient for the other", "typically insufficient (aroma)",
     crossed, "beer-" + a, "compare-sis.json") for a in ("appearance", "aroma", "palate")
] + [
    ("Figure 1", "Each aspect's subset holds words about that aspect alone", "an example shown", aspects),
    ("Figure S1", "The networks predict binding well", "422 data sets", accurate),
    ("Figure S3", "DNA: SIS is shorter than the others", "422 data sets", over_sets, "mean length"),
    ("Figure S4", "DNA: with as many bases as SIS the others fail", "422 data sets", sets_constrained),
    ("Figure 6a", "DNA: SIS has the lowest divergence from JASPAR", "p at most 1e-5 against each, 422 data sets", over_sets, "median divergence"),
    ("Figure 6b, c", "Clusters of subsets are the factor's motif", "two clusters of one factor shown", motifs_found),
    ("Figure 6b, c", "The same where the motif was planted (CTCF)", "two clusters of one factor shown", planted),
    ("S2", "DNA: mostly a single subset", "generally only a single SIS per example", one_each),
    ("Figure S6", "Nearly all test digits are decided", "almost all", decided),
    ("Figure 7", "Subsets of fours form clusters", "eight", fours),
    ("Figure 8a", "An attack changes the subsets drastically", "an example shown", attacked),
    ("Figure 9", "Joint clusters of CNN and MLP are mostly of one network", "most clusters purely from a single model",
     pure, "mnist", "compare.json"),
    ("Figure 10b", "Subsets of one digit network are insufficient for the other", "typically insufficient",
     crossed, "mnist", "compare.json"),
    ("Section 4.4", "The CNN's subsets are strokes, the MLP's spread over the digit", "seen in figures", strokes),
]


def lacking(runs, part, what):
    """Our column and the verdict for missing results."""
    failed = os.path.join(runs.out, "failed", part)
    if os.path.exists(failed):
        return "not run: %s failed: %s" % (part, open(failed).read().strip() or "no reason given"), UNRUN
    key = part.split("-")[0]
    if not os.path.isdir(os.path.join(runs.out, part)):
        return ("not given: " + NEEDS[key], UNTESTED) if key in NEEDS else ("not run: no results of " + part, UNRUN)
    ended = os.path.join(runs.out, "times", part)
    if not os.path.exists(ended) or not os.path.getsize(ended):
        return "not run: %s has not ended" % part, UNRUN
    if "human" in what:
        return "not given: " + NEEDS["human"], UNTESTED
    return "not made: %s (too few subsets; see %s.log)" % (what, part), UNTESTED


def judge(runs):
    rows = []
    for where, claim, theirs, test, *rest in CLAIMS:
        try:
            ours, said = test(runs, *rest)
        except Missing as e:
            ours, said = lacking(runs, *e.args)
        except (KeyError, ValueError, TypeError, IndexError, ZeroDivisionError) as e:
            ours, said = "not run: its results cannot be read: %s: %s" % (type(e).__name__, e), UNRUN
        rows.append({"where": where, "claim": claim, "paper": theirs, "ours": ours, "rule": test.__doc__.split("\n")[0], "verdict": said})
    return rows


# ---- The page --------------------------------------------------------------------------------------------------------


def seconds_in(text):
    return sum(60 * float(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", text))


def times(out):
    """For each part: seconds of processor time, and by the clock."""
    folder, found = os.path.join(out, "times"), {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        text = open(os.path.join(folder, name)).read()
        clock = re.search(r"clock (\d+)", text)
        found[name] = seconds_in(text), float(clock[1]) if clock else 0
    return found


def whole(out, part, spent):
    """Processor seconds of a full run of a part: each step times its factor in OUT/PART/steps.tsv, the rest once."""
    path, total = os.path.join(out, part, "steps.tsv"), spent
    if not os.path.exists(path):
        return spent
    for _, seconds, more in csv.reader(open(path), delimiter="\t"):
        total += float(seconds) * (float(more) - 1)
    return total


def sizes(out):
    """Which examples each part used: "all", "1 in N" or "a quick run" -> the parts."""
    found = {}
    for part in sorted(os.listdir(out)):
        path = os.path.join(out, part, "size.txt")
        if os.path.exists(path):
            found.setdefault(open(path).read().strip(), []).append(part)
    return found


def lines_of(rows, out, quick):
    yield "# The paper's claims on our models and data"
    yield ""
    many = {HOLDS: "hold", FAILS: "do not hold"}
    said = ((v, sum(r["verdict"] == v for r in rows)) for v in (HOLDS, FAILS, UNTESTED, UNRUN))
    counts = ", ".join("%d %s" % (n, v if n == 1 else many.get(v, v)) for v, n in said if n or v != UNRUN)
    yield "%d claims: %s. %s" % (len(rows), counts, "A quick run: fewer examples than a full one." if quick else "")
    used = sizes(out)
    if used and not quick:
        yield ""
        yield "Examples, of those of a full run: " + "; ".join("%s: %s" % (size, ", ".join(parts)) for size, parts in used.items()) + "."
    yield ""
    yield "| in the paper | claim | paper | ours | holds if | |"
    yield "|---|---|---|---|---|---|"
    for r in rows:
        yield "| %(where)s | %(claim)s | %(paper)s | %(ours)s | %(rule)s | **%(verdict)s** |" % r
    spent = times(out)
    if not spent:
        return
    full = {k: whole(out, k, v) for k, (v, _) in spent.items()}
    yield ""
    yield "Minutes of processor time (by the clock): " + ", ".join("%s %.1f (%.1f)" % (k, v / 60, c / 60) for k, (v, c) in spent.items()) + \
        "; %.1f (%.1f) in all." % tuple(sum(x[i] for x in spent.values()) / 60 for i in (0, 1))
    if quick:
        yield ""
        yield "A full run, computed from the steps of this one (OUT/PART/steps.tsv), in hours of one core: " + \
            ", ".join("%s %.1f" % (k, v / 3600) for k, v in full.items()) + "; %.1f in all." % (sum(full.values()) / 3600)


COLOURS = {HOLDS: "#116d4c", FAILS: "#a32a1b", UNTESTED: "#5c6672", UNRUN: "#8a5a00"}


def page(rows, lines):
    body = "".join("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td style=\"color:%s\"><b>%s</b></td></tr>\n" % (
        tuple(html.escape(r[k]) for k in ("where", "claim", "paper", "ours", "rule")) + (COLOURS[r["verdict"]], r["verdict"])) for r in rows)
    words = [html.escape(line) for line in lines if line and not line.startswith(("|", "#"))]
    return ("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
            "<title>The paper's claims</title><style>body{font:15px/1.45 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;"
            "color:#1d2329}table{border-collapse:collapse;width:100%%}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;"
            "border-top:1px solid #d8dde3}th{border:0}</style><h1>The paper's claims on our models and data</h1><p>%s</p>"
            "<table><thead><tr><th>in the paper</th><th>claim</th><th>paper</th><th>ours</th><th>holds if</th><th></th></tr></thead><tbody>\n%s</tbody></table>"
            "%s</html>\n") % (words[0], body, "".join("<p>%s</p>" % w for w in words[1:]))


def put(page, lines):
    """Replace what the page has between the lines that name this file."""
    with open(page) as f:
        text = f.read()
    head, rest = text.split("<!-- paper/claims.py -->\n", 1)
    tail = rest.split("<!-- end -->", 1)[1]
    with open(page, "w") as f:
        f.write(head + "<!-- paper/claims.py -->\n" + "\n".join(lines).strip() + "\n<!-- end -->" + tail)


def main(out, quick, page_file=None):
    rows = judge(Runs(out))
    lines = list(lines_of(rows, out, quick))
    for name, text in (("claims.md", "\n".join(lines) + "\n"), ("claims.html", page(rows, lines)),
                       ("claims.json", json.dumps(rows, indent=1) + "\n")):
        with open(os.path.join(out, name), "w") as f:
            f.write(text)
    if page_file:
        put(page_file, lines[1:])
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1], "--quick" in sys.argv[2:], sys.argv[sys.argv.index("--doc") + 1] if "--doc" in sys.argv else None)
