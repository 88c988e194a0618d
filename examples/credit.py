#!/usr/bin/env python3
"""credit.py - a Python model, for `--model 'cmd:python3 examples/credit.py'`.

The credit score of credit.sh again: a logistic regression over the eight columns of credit.csv.
Only the standard library is needed. A model of your own, say from scikit-learn, takes three lines
in place of the last two of this file:

    import joblib
    model = joblib.load("model.joblib")                      # anything with predict_proba
    serve(lambda rows: model.predict_proba(rows).tolist())   # all classes; or [:, 1] for one score
"""
import json
import math
import sys

COLUMNS = ["age", "income", "debt", "savings", "late_payments", "open_accounts", "years_employed",
           "credit_used"]


def logistic(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


class CreditModel:
    """Logistic regression on standardised columns, with scikit-learn's method names."""

    def __init__(self):
        self.mean_ = [42, 38000, 9000, 6000, 1.2, 4, 7, 0.4]
        self.scale_ = [12, 15000, 8000, 7000, 1.8, 2.5, 6, 0.3]
        self.coef_ = [0.25, 0.90, -0.80, 0.60, -1.40, -0.20, 0.55, -1.10]
        self.intercept_ = 0.4

    def fit(self, rows, repaid, steps=2000, rate=0.5):
        """Learn from rows and 0/1 labels by gradient descent."""
        n, columns = len(rows), list(zip(*rows))
        self.mean_ = [math.fsum(c) / n for c in columns]
        self.scale_ = [math.sqrt(math.fsum((v - m) ** 2 for v in c) / n) or 1
                       for c, m in zip(columns, self.mean_)]
        self.coef_, self.intercept_ = [0.0] * len(columns), 0.0
        scaled = [[(v - m) / s for v, m, s in zip(row, self.mean_, self.scale_)] for row in rows]
        for _ in range(steps):
            errors = [p[1] - y for p, y in zip(self.predict_proba(rows), repaid)]
            self.intercept_ -= rate * math.fsum(errors) / n
            self.coef_ = [w - rate * math.fsum(e * row[i] for e, row in zip(errors, scaled)) / n
                          for i, w in enumerate(self.coef_)]
        return self

    def predict_proba(self, rows):
        """[[P(not repaid), P(repaid)], ...]"""
        scores = [self._score(row) for row in rows]
        return [[1 - p, p] for p in scores]

    def _score(self, row):
        if len(row) != len(self.coef_):
            raise ValueError(f"expected {len(self.coef_)} values a row, found {len(row)}")
        z = self.intercept_
        for value, mean, scale, weight in zip(row, self.mean_, self.scale_, self.coef_):
            z += weight * ((value - mean) / scale)
        return logistic(z)


def serve(predict):
    """Answer requests until the input ends: one JSON object a line, flushed each time."""
    for line in sys.stdin:
        try:
            answer = {"outputs": predict(json.loads(line)["inputs"])}
        except Exception as problem:  # whatever a model may raise is reported, not fatal
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    model = CreditModel()
    serve(lambda rows: [p[1] for p in model.predict_proba(rows)])
