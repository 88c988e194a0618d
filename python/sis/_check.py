# SPDX-License-Identifier: MIT
"""Claims about a converted model, checked with the model itself.

A torch module, an estimator or a booster may be explained through a copy that the library runs with
walks. The copy proposes; what is reported has to hold for the object that the caller gave: the score of
the input and of the fully masked input, each subset alone, each subset without any one of its features,
and the rest. All claims of many records are asked in one call.
"""
import json

import numpy as np

BYTES = 32 << 20  # rows that are asked in one call
ALONE = 8  # rows of the first record that are asked one at a time too


def close(found, wanted):
    """Are these the same scores, but for rounding?"""
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-5, atol=1e-6)


def decided(score, limit, below):
    """As sis_decided: equal in single precision counts as equal."""
    return np.float32(score) <= np.float32(limit) if below else np.float32(score) >= np.float32(limit)


def claims(record):
    """What a record claims: (features that are present, score or None, decided or None)."""
    everything = set(range(record["n_features"]))
    explained = record["status"] in ("explained", "cut")
    yield everything, record["score"], record["status"] != "not_decided"
    yield set(), record["masked_score"], False if explained else (
        True if record["status"] == "default_decision" else None)
    gone = set()
    for subset in record["subsets"]:
        features = set(subset["features"])
        gone |= features
        yield features, subset["score"], True
        for feature in features:
            yield features - {feature}, None, False
    if record["subsets"]:
        yield everything - gone, record["rest_score"], False if record["complete"] else None
    if "bound" in record:
        yield set(record["bound"]["features"]), record["bound"]["score"], True


def masked_rows(example, asked):
    """The example with only these features present: (claims, samples, values)."""
    values, masks = example["values"], example["mask"].reshape(-1, len(example["values"]))
    owner = np.asarray(example.get("feature_map", np.arange(len(values))))
    present = np.zeros((len(asked), owner.max() + 2), dtype=bool)
    present[:, -1] = True  # of values that are never masked: their owner is -1
    for k, (features, _, _) in enumerate(asked):
        present[k, list(features)] = True
    return np.where(present[:, owner][:, None, :], values, masks)


class Judge:
    """Rows are kept until there are enough for one call."""

    def __init__(self, core):
        self.core, self.rows, self.scores, self.bytes = core, [], [], 0

    def ask(self, example, asked):
        step = max(1, BYTES // (example["mask"].size * 8))
        for k in range(0, len(asked), step):
            rows = masked_rows(example, asked[k:k + step])
            self.rows.append(rows.reshape(-1, rows.shape[-1]))
            self.bytes += rows.nbytes
            if self.bytes >= BYTES:
                self.flush()

    def flush(self):
        if self.rows:
            rows = np.ascontiguousarray(np.concatenate(self.rows), dtype=float)
            self.scores.append(np.frombuffer(self.core.predict(rows, len(rows), 1)).reshape(len(rows), -1))
        self.rows, self.bytes = [], 0

    def answers(self):
        self.flush()
        return np.concatenate(self.scores)


def same_alone(core, example, asked, scores):
    """Does the model answer the same if rows are not asked together? A few of them tell."""
    rows = masked_rows(example, asked).reshape(-1, len(example["values"]))
    some = np.unique(np.linspace(0, len(rows) - 1, ALONE).astype(int))
    alone = [np.frombuffer(core.predict(np.ascontiguousarray(rows[k]), 1, 1)) for k in some]
    return close(np.array(alone), scores[some])


def verdict(asked, scores, limit, below):
    """"holds"; "close": a decision differs although the scores are the same but for rounding;
    "differs"."""
    said = [k for k, (_, score, _) in enumerate(asked) if score is not None]
    if not close(scores[said], np.array([asked[k][1] for k in said], dtype=float)):
        return "differs"
    return "holds" if all(want is None or bool(decided(score, limit, below)) == want
                          for (_, _, want), score in zip(asked, scores)) else "close"


def confirm(core, examples, lines, below):
    """Ask the model itself about every claim of these records: a verdict for each."""
    judge, parts, found = Judge(core), [], []
    for example, line in zip(examples, lines):
        record = json.loads(line)
        asked = [] if record["status"] == "error" else list(claims(record))
        if asked:
            judge.ask(example, asked)
        parts.append(asked)
    if not any(parts):
        return ["close"] * len(parts)
    answers, at, alone = judge.answers(), 0, False
    for example, asked in zip(examples, parts):
        samples = example["mask"].size // len(example["values"])
        n = len(asked) * samples
        if asked and not alone:  # the first one
            alone = same_alone(core, example, asked, answers[at:at + n])
        scores = answers[at:at + n, example["target"]].reshape(len(asked), samples).mean(axis=1)
        found.append("close" if not asked else "differs" if not alone else
                     verdict(asked, scores, example["threshold"], below))
        at += n
    return found
