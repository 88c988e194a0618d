#!/usr/bin/env python3
"""metrics.py OUT - one table for each metric, with a column for each model and a row for each method, from the files of paper/metrics."""
import json
import os
import sys

MODELS = "credit mnist-cnn mnist-mlp dna-ctcf imdb-cnn imdb-lstm people".split()
MEASURES = [  # in the summary of a method: name, title, format
    ("length", "Length of the first rationale of each example (median)", "median", "%g"),
    ("sufficiency", "Sufficiency, AOPC (mean; low is good)", "mean", "%.3f"),
    ("comprehensiveness", "Comprehensiveness, AOPC (mean; high is good)", "mean", "%.3f"),
    ("pgi", "PGI (mean; high is good)", "mean", "%.3f"),
    ("pgu", "PGU (mean; low is good)", "mean", "%.3f"),
    ("token_f1", "Token F1 against people (mean; high is good)", "mean", "%.3f"),
    ("iou_f1", "IOU F1 against people (mean; high is good)", "mean", "%.3f"),
]


def load(out, name):
    path = os.path.join(out, name + ".json")
    return json.load(open(path)) if os.path.exists(path) else None


def cell(method, measure, what, form):
    found = method["summary"].get(measure)
    if found is None:
        return ""
    p = found.get("signed_rank_p")
    return form % found[what] + (" (p %.1g)" % p if p is not None and p < 0.05 else "")


def table(title, columns, rows):
    print("\n**%s**\n\n| method | %s |\n|%s" % (title, " | ".join(columns), "---|" * (len(columns) + 1)))
    for name, cells in rows:
        print("| %s | %s |" % (name, " | ".join(cells)))


def by_method(models, of):
    names = [m["name"] for m in next(iter(models.values()))["methods"]]
    return [(n, [of(next(m for m in e["methods"] if m["name"] == n)) for e in models.values()]) for n in names]


def stability(method):
    c = method["summary"]["cuts"]
    return "%.1f (%.1f to %.1f)" % tuple(100 * c[k][3] for k in ("stable", "stable_low", "stable_high"))


def again(out, models):
    rows = []
    for way in ("sis", "quick", "lime"):
        cells = []
        for model in models:
            found = load(out, "%s-%s-again" % (model, way))
            s = found["methods"][1]["summary"] if found else None
            cells.append("%.0f %%, %.3f" % (100 * s["same"]["mean"], s["jaccard"]["mean"]) if s else "")
        rows.append((way, cells))
    return rows


def main(out):
    models = {m: load(out, m) for m in MODELS}
    models = {m: e for m, e in models.items() if e}
    print("Examples: " + ", ".join("%s %d" % (m, len(e["examples"])) for m, e in models.items()) +
          ". p: signed-rank test against SIS, where it is below 0.05.")
    first = {m: load(out, m + "-first") for m in models}
    for measure, title, what, form in MEASURES:
        of = first if measure == "length" else models
        some = {m: e for m, e in of.items() if e and measure in e["methods"][0]["summary"]}
        if some:
            table(title, some, by_method(some, lambda m: cell(m, measure, what, form)))
    table("Stability: per cent that stay sufficient when 20 % of all others come back (95 % interval)", models,
          by_method(models, stability))
    table("Another seed: examples with the same subsets, mean Jaccard index", models, again(out, models))


if __name__ == "__main__":
    main(sys.argv[1])
