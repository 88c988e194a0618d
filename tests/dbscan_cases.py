#!/usr/bin/env python3
"""Random points, their distances by definition, and their labels by scikit-learn's DBSCAN.

    dbscan_cases.py SEED [CASES] > cases.txt

tests/unit/analysis_cases.txt is the output for seed 1. unit.analysis_cases reads it; analysis.sklearn makes and
reads a new one. Exit status 77 without scikit-learn. Format of a case:

    case DISTANCE EPS MIN_SIZE N
    a point a line: words, letters, row,column pairs, or name=value pairs, separated by blanks
    labels L1 ... LN
    distance I J VALUE        some pairs
"""
import math
import random
import sys

try:
    from sklearn.cluster import DBSCAN
except ImportError:
    print("scikit-learn is not installed (Debian: python3-sklearn)")
    sys.exit(77)


def jaccard(a, b):
    a, b = set(a), set(b)
    return (len(a | b) - len(a & b)) / len(a | b)


def jaccard_bag(a, b):
    words = set(a) | set(b)
    larger = sum(max(a.count(w), b.count(w)) for w in words)
    smaller = sum(min(a.count(w), b.count(w)) for w in words)
    return (larger - smaller) / larger


def levenshtein(a, b):
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1,
                              table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    return float(table[len(a)][len(b)])


def sum_of_gaps(a, b):
    total = 0.0
    for p in a:
        one = 0.0
        for q in b:
            one += math.sqrt((p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2)
        total += one
    return total


def energy(a, b):
    a, b = sorted(a), sorted(b)
    if a == b:
        return 0.0
    first, second = sorted([a, b], key=lambda s: (len(s), s))
    n, m = float(len(a)), float(len(b))
    d = 2 * (sum_of_gaps(first, second) / (n * m)) - (
        sum_of_gaps(a, a) / (n * n) + sum_of_gaps(b, b) / (m * m))
    return max(d, 0.0)


def overlap(a, b):
    a, b = dict(a), dict(b)
    names = len(set(a) | set(b))
    both = set(a) & set(b)
    same = sum(a[k] == b[k] for k in both)
    return (2 * names - len(both) - same) / (2 * names)


def some_words(r, size):
    return [r.choice("abcdefghijkl"[:size]) * 2 for _ in range(r.randint(1, 6))]


def some_letters(r, size):
    if r.random() < 0.7:  # a few edits of one of a few strings
        base = list(random.Random(r.randint(0, 2)).choices("ACGTN", k=12 if size < 10 else 70))
        for _ in range(r.randint(0, 4)):
            at = r.randrange(len(base))
            base[at:at + r.randint(0, 1)] = r.choice(["", "A", "C", "N"])
        return "".join(base)
    longest = [5, 14, 40, 150][r.randint(0, min(3, size // 3))]
    return "".join(r.choices("ACGTN", k=r.randint(1, longest)))


def some_pixels(r, size):
    y, x = r.randint(0, 20), r.randint(0, 20)
    side = 2 + size // 3
    cells = [(y + i, x + j) for i in range(side) for j in range(side)]
    return r.sample(cells, r.randint(1, min(len(cells), 12)))


def some_cells(r, size):
    names = r.sample(["age", "income", "debt", "savings", "late"], r.randint(1, 4))
    return [(k, r.randint(0, 1 + size // 3) / 4) for k in names]


KINDS = [
    ("jaccard", jaccard, some_words, " ".join),
    ("jaccard-bag", jaccard_bag, some_words, " ".join),
    ("levenshtein", levenshtein, some_letters, str),
    ("energy", energy, some_pixels, lambda p: " ".join("%d,%d" % q for q in p)),
    ("energy-sqrt", lambda a, b: math.sqrt(energy(a, b)), some_pixels,
     lambda p: " ".join("%d,%d" % q for q in p)),
    ("overlap", overlap, some_cells, lambda c: " ".join("%s=%r" % q for q in c)),
]


def case(r, name, distance, make, text, number):
    n = [1, 2, 40, 40, 40, 30, 40, 40][number % 8]
    size = r.randint(3, 12)
    points = [make(r, size) for _ in range(n)]
    if number % 8 == 3:  # many duplicates
        points = [r.choice(points[:8]) for _ in points]
    matrix = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            matrix[i][j] = matrix[j][i] = distance(points[i], points[j])
    flat = sorted(matrix[i][j] for i in range(n) for j in range(i)) or [0.5]
    positive = [d for d in flat if d > 0] or [0.5]
    near = positive[min(len(positive) - 1, int(len(positive) * r.choice([0.02, 0.05, 0.1, 0.2])))]
    eps = [near, near, near, near, positive[0] / 2, flat[-1] + 1, near, near * 1.1][number % 8]
    min_size = [r.randint(1, 6), 2, r.randint(2, 6), r.randint(3, 9), 4, 5, 1, 3][number % 8]
    labels = DBSCAN(eps=eps, min_samples=min_size, metric="precomputed").fit(matrix).labels_
    print("case", name, repr(eps), min_size, n)
    for p in points:
        print(text(p))
    print("labels", " ".join(map(str, labels)))
    for _ in range(min(n, 4)):
        i, j = r.randrange(n), r.randrange(n)
        print("distance", i, j, repr(matrix[i][j]))


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    r = random.Random(seed)
    for kind in KINDS:
        for number in range(cases):
            case(r, *kind, number)


main()
