# SPDX-License-Identifier: MIT
"""paper.py - the pages of the paper's scripts agree with the files that they are made from.

    paper.py PAPER-FOLDER
"""
import contextlib
import io
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import claims
import digits
import factors
import minimum
import metrics


def check(what, good):
    if not good:
        sys.exit("paper.py: " + what)


def test_signed_rank():
    """Compared with the plain definition: all signs of all differences, the smaller of both rank sums."""
    p, less, more = factors.signed_rank([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12])
    check("six of six", (p, less, more) == (2 / 64, 6, 0))
    check("no difference", factors.signed_rank([1, 2], [1, 2])[0] == 1)
    rng = random.Random(3)
    for _ in range(20):
        d = rng.sample([-9, -7, -5, 1, 2, 3, 4, 6, 8], 6)
        order = sorted(d, key=abs)
        rank = {v: i + 1 for i, v in enumerate(order)}
        seen = min(sum(rank[v] for v in d if v > 0), sum(rank[v] for v in d if v < 0))
        sums = [sum(r for r, s in zip(range(1, 7), signs) if s) for signs in itertools.product((0, 1), repeat=6)]
        by_hand = sum(min(t, 21 - t) <= seen for t in sums) / 64
        check("p of %s" % d, abs(factors.signed_rank(d, [0] * 6)[0] - by_hand) < 1e-12)


def method(name, percent, p, inside):
    s = {"percent": {"mean": percent, "signed_rank_p": p}, "sufficient_examples": 0.4, "pearson_r": 0.5, "pearson_p": 1e-9}
    return {"name": name, "summary": s, "rationales": [
        {"id": "1", "subset": 0, "inside": inside, "percent": percent}, {"id": "1", "subset": 1, "inside": 0, "percent": 9}]}


def put(out, value, *names):
    path = os.path.join(out, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(value if isinstance(value, str) else json.dumps(value))


def verdicts(out):
    return {(r["where"], r["claim"]): r["verdict"] for r in claims.judge(claims.Runs(out))}


def find(found, where):
    return [v for (w, _), v in found.items() if w == where]


def test_claims():
    with tempfile.TemporaryDirectory() as out:
        check("nothing to test with", set(verdicts(out).values()) == {claims.UNTESTED, claims.UNRUN})
        lengths = [method("sis", 2, None, 0.3), method("ig", 5, 1e-9, 0.1), method("lime", 4, 1e-3, 0.2), method("perturb", 3, 0.01, 0.4)]
        put(out, {"methods": lengths, "examples": [1]}, "text", "lstm-first.json")
        put(out, {"methods": lengths, "examples": [1]}, "text", "lstm-methods.json")
        put(out, {"scores": {"a_by_b": {"n": 40, "sufficient": 0.1}}, "joint": {"clusters": [
            {"share": {"a": 1}}, {"share": {"a": 0.05, "b": 0.95}}, {"share": {"a": 0.5, "b": 0.5}}]}}, "mnist", "compare.json")
        record = {"status": "explained", "method": "sis", "direction": ">=", "threshold": 0.7, "rest_score": 0.6, "verified": True,
                  "target": 4, "id": "1", "shape": [28, 28], "subsets": [{"features": [0, 1]}]}
        apart = dict(record, subsets=[{"features": [27, 28]}])  # ends of two rows, far from each other
        put(out, 5 * (json.dumps(record) + "\n"), "mnist", "cnn.jsonl")
        put(out, 5 * (json.dumps(apart) + "\n"), "mnist", "mlp.jsonl")
        put(out, "id,subset,whole,early\n1,1,5,5\n2,1,5,5\n2,2,5,8\n", "mnist", "minimum.csv")
        found = verdicts(out)
        for where in ("Table S2, LSTM", "Table S2, S13", "Figure 9", "Figure 10b", "Section 4.4", "Figure S5", "Proposition 1", "Proposition 2"):
            check("%s should hold" % where, find(found, where) == [claims.HOLDS])
        lengths[2]["summary"]["percent"] = {"mean": 1, "signed_rank_p": 1e-3}
        put(out, {"methods": lengths}, "text", "lstm-first.json")
        put(out, json.dumps(dict(record, verified=False, rest_score=0.8)) + "\n", "mnist", "cnn.jsonl")
        put(out, "id,subset,whole,early\n1,1,5,5\n", "mnist", "minimum.csv")
        found = verdicts(out)
        check("no minimum in one digit says nothing", find(found, "Figure S5") == [claims.UNTESTED])
        for where in ("Table S2, LSTM", "Proposition 1", "Proposition 2"):
            check("%s should not hold" % where, find(found, where) == [claims.FAILS])
        tests = [{"what": "mean length", "method": w, "sets": 6, "less": 6, "more": 0, "p": 2 / 64} for w in claims.WAYS]
        put(out, {"factors": [], "tests": tests}, "factors", "factors.json")
        check("six data sets", claims.over_sets(claims.Runs(out), "mean length")[1] == claims.HOLDS)
        tests[1].update(less=4, p=0.125)
        put(out, {"factors": [], "tests": tests}, "factors", "factors.json")
        check("too few data sets", claims.over_sets(claims.Runs(out), "mean length")[1] == claims.UNTESTED)
        os.remove(os.path.join(out, "factors", "factors.json"))
        put(out, "0m0.1s 0m0s\n2m30.5s 0m1.5s\nclock 200\n", "times", "mnist")
        put(out, "cnn\t100\t10\ntable\t20\t2\n", "mnist", "steps.tsv")
        spent, clock = claims.times(out)["mnist"]
        check("processor time", abs(spent - 152.1) < 1e-9 and clock == 200)
        check("a full run", abs(claims.whole(out, "mnist", spent) - (152.1 + 900 + 20)) < 1e-9)
        os.remove(os.path.join(out, "mnist", "compare.json"))
        check("too few subsets", find(verdicts(out), "Figure 9") == [claims.UNTESTED])
        put(out, "", "times", "mnist")
        check("a part that was broken off", find(verdicts(out), "Figure 9") == [claims.UNRUN])
        put(out, "sis train: no memory\n", "failed", "beer-aroma")
        aroma = next(r for r in claims.judge(claims.Runs(out)) if "aroma: SIS" in r["claim"])
        check("a part that failed", aroma["verdict"] == claims.UNRUN and aroma["ours"].endswith("sis train: no memory"))
        with open(os.devnull, "w") as nowhere:
            stdout, sys.stdout = sys.stdout, nowhere
            claims.main(out, True)
            sys.stdout = stdout
        text = open(os.path.join(out, "claims.html")).read()
        check("a page", text.count("<tr>") == len(claims.CLAIMS) + 1 and "does not hold" in text)


def test_too_few():
    """One differing pair of reviews does not decide; a clear contrary difference does."""
    names = ("text", "lstm-first.json")
    with tempfile.TemporaryDirectory() as out:
        for percent, p, said in ((5, 0.3, claims.UNTESTED), (5, 0.01, claims.HOLDS), (1, 0.01, claims.FAILS)):
            put(out, {"methods": [method("sis", 2, None, 0)] + [method(w, percent, p, 0) for w in claims.WAYS]}, *names)
            check("%g %%, p %g: %s" % (percent, p, said), claims.shorter(claims.Runs(out), *names)[1] == said)
    for share, n, said in ((0.1, 40, claims.HOLDS), (0.4, 40, claims.UNTESTED), (0.4, 400, claims.HOLDS), (0.9, 40, claims.FAILS), (0.5, 400, claims.FAILS)):
        check("%g of %d" % (share, n), claims.judged_below("", [(0, 500), (share, n)], 0.5)[1] == said)
    low, high = claims.interval(0.5, 10)  # by hand: 0.5 -+ 0.2634
    check("Wilson's interval", abs(low - 0.2366) < 1e-3 and abs(high - 0.7634) < 1e-3)
    check("drawn anew", claims.chance([1, 2, 3] * 9, [0, 1, 2] * 9) < 0.01 and claims.chance([1, 2], [2, 1]) > 0.5)


def test_cost():
    with tempfile.TemporaryDirectory() as out:
        put(out, "0m0s 0m0s\n0m1s 0m0.5s\n0m0s 0m0s\n1m10s 0m1s\n", "A-times.txt")
        put(out, "0m0s 0m0s\n0m1s 0m0.5s\n", "B-times.txt")  # was not finished
        check("cost", factors.processor_seconds(out, [{"name": "A"}, {"name": "B"}, {"name": "C"}]) == [69.5])


def test_all_fail():
    """A program that always fails: every part is tried, and the page reports the failures."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run([os.path.join(sys.argv[1], "all"), "--quick", "--data", out, "--out", out], text=True, capture_output=True,
                             env=dict(os.environ, SIS="false"))
        check("status of a run that fails: " + run.stderr, run.returncode == 1 and "failed: dna text metrics mnist" in run.stderr)
        rows = json.load(open(os.path.join(out, "claims.json")))
        check("the page of a run that fails", {r["verdict"] for r in rows} == {claims.UNRUN, claims.UNTESTED})


def test_minimum():
    """Five features masked one after the other; scores: sufficient, sufficient, too low, sufficient, too low."""
    record = {"direction": ">=", "threshold": 0.7, "subsets": [{"trace": [0.9, 0.8, 0.6, 0.75, 0.1]}]}
    check("a local minimum", minimum.sizes(record) == (1, 3))
    record["subsets"][0]["trace"] = [0.9, 0.8, 0.75, 0.6, 0.1]
    check("none", minimum.sizes(record) == (2, 2))
    below = {"direction": "<=", "threshold": 0.2, "subsets": [{"trace": [0.1, 0.3, 0.2, 0.5]}]}
    check("the other direction", minimum.sizes(below) == (1, 3))
    record.update(id="7", status="explained", subsets=record["subsets"] + [{"trace": [0.9, 0.6, 0.75, 0.1]}])
    with tempfile.TemporaryDirectory() as out:
        put(out, json.dumps(record) + "\n", "mnist", "cnn.jsonl")
        path, said = os.path.join(out, "mnist", "cnn.jsonl"), io.StringIO()
        with contextlib.redirect_stdout(said):
            minimum.find(os.path.join(out, "minimum.csv"), [path, path])
            minimum.only("7", 2, path)
        lines = said.getvalue().split("\n")
        check("a minimum in the second selection", lines[:2] == ["1 of 2 selections, in 1 of 1 digits, have a local minimum", "7 2 1 3"])
        check("that subset alone", json.loads(lines[2])["subsets"] == record["subsets"][1:])


def test_digits():
    """Two fours, one of them taken for a nine; two of three joint clusters belong to one network."""
    four = {"status": "explained", "target": 4, "label": "4", "subsets": [{"features": [1, 2]}, {"features": [3, 4, 5, 6]}]}
    nine = dict(four, target=9, subsets=[{"features": [7]}])
    with tempfile.TemporaryDirectory() as out:
        put(out, "".join(json.dumps(r) + "\n" for r in (four, nine, {"status": "below"})), "cnn.jsonl")
        put(out, json.dumps(four) + "\n", "mlp.jsonl")
        put(out, {"clusters": [{"size": 3}, {"size": 7}]}, "clusters-cnn-4.json")
        joint = [{"size": 9, "share": {"cnn.jsonl": 0.2, "mlp.jsonl": 0.8}}, {"size": 4, "share": {"mlp.jsonl": 1}},
                 {"size": 4, "share": {"cnn.jsonl": 0.96, "mlp.jsonl": 0.04}}]
        scores = {"a_by_b": {"n": 3, "sufficient": 1 / 3}, "b_by_a": {"n": 0, "sufficient": None}}
        put(out, {"decisions": {"common": 8, "agreement": 0.75}, "scores": scores, "joint": {"clusters": joint}}, "compare-4.json")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            digits.main(out)
        said = said.getvalue()
    for line in ("CNN: 2 digits explained by 3 subsets (1.50 each); pixels of a subset: 2 in the median, 4 at most",
                 "CNN, taken for another digit: 1 digit explained by 1 subset (1.00 each)",
                 "| 4 | 1, 1 | 2.0, 2.0 | 3, 3 | 2 (7) |  | 3 | 1, 1 | 9, 20 % | 1 of 3 |  |", "| 9 | 1, 0 | 1.0,  | 1,  |  |  |",
                 "2 of 3 joint clusters", "1 of 3 subsets (33.3 %) of the CNN", "agree on 75.0 to 75.0 %"):
        check("digit by digit, %s:\n%s" % (line, said), line in said)
    check("no other digit is mistaken", "MLP, taken" not in said)


def test_metrics():
    """Lengths are those of first rationales; p is printed if it is small."""
    cuts = {"stable": [1, 1, 1, 0.5], "stable_low": [1, 1, 1, 0.25], "stable_high": [1, 1, 1, 0.75]}
    both = [{"name": n, "summary": {"length": {"median": v}, "pgi": {"mean": v, "signed_rank_p": p}, "cuts": cuts}}
            for n, v, p in (("sis", 3, None), ("ig", 4, 0.001), ("lime", 5, 0.4))]
    first = [{"name": m["name"], "summary": {"length": {"median": 1}}} for m in both]
    with tempfile.TemporaryDirectory() as out:
        put(out, {"examples": [1, 2], "methods": both}, "credit.json")
        put(out, {"examples": [1, 2], "methods": first}, "credit-first.json")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            metrics.main(out)
    for line in ("Examples: credit 2.", "| sis | 1 |", "| ig | 1 |", "| ig | 4.000 (p 0.001) |", "| lime | 5.000 |", "| sis | 50.0 (25.0 to 75.0) |"):
        check("metrics, %s:\n%s" % (line, said.getvalue()), line in said.getvalue())
    check("lengths of all subsets", "| sis | 3 |" not in said.getvalue())


test_signed_rank()
test_digits()
test_metrics()
test_minimum()
test_cost()
test_too_few()
test_claims()
test_all_fail()
print("pages of the paper's scripts hold")
