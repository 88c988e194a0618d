#!/usr/bin/env python3
"""llm.py WEIGHTS [--n 200] [--jobs 2] [--doc docs/results.md] - are the sentences found that an answer needs?

WEIGHTS are those of the small language model of tests/llm/facts.py (trained first if the file is missing: four
minutes). It answers questions about 10 to 40 sentences. The sets of sentences that support an answer are known. Every
prompt that a method scores is counted:

    sis, quick       sufficient subsets (threshold 0 on the margin of the answer)
    leave-one-out    sentences by how far the margin falls without them
    ablations        sentences by the weights of a LASSO regression of the margin on random halves of the context
                     (as ContextCite: standardised, penalty 0.01), with as many prompts as quick and as sis
                     needed for this question, and with five times as many

The last two give rankings, not sets. They are judged twice: by their first n sentences, where n is the size of the
support (which users do not know), and by the shortest beginning of the ranking that keeps the answer.
Prints the table, and writes it into --doc between the lines that name this file.
Needs numpy, PyTorch and the Python package (PYTHONPATH=build/python)."""
import argparse
import multiprocessing
import os
import re
import sys

import numpy as np

import sis

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "tests", "llm"))
import facts  # noqa: E402

SENTENCE = re.compile(r"[^\s.][^.]*\.")
KINDS = facts.KINDS


class Question:
    """One question: scores its answer for parts of the context, and counts prompts."""

    def __init__(self, model, example):
        self.model, self.example, self.asked = model, example, 0
        self.sentences = SENTENCE.findall(example["context"])
        self.answer = facts.ids_of(example["answer"])
        self.support = [frozenset(s) for s in example["support"]]

    def margins(self, contexts):
        """The minimum, over the answer's words, of the log-probability minus that of the best other word."""
        self.asked += len(contexts)
        rows = [facts.ids_of(facts.prompt_of([c] if c else [], self.example["question"])) + self.answer[:-1] for c in contexts]
        found = []
        for logprobs in facts.next_words(self.model, rows, len(self.answer)):
            own = logprobs[np.arange(len(self.answer)), self.answer]
            logprobs[np.arange(len(self.answer)), self.answer] = -np.inf
            found.append(float((own - logprobs.max(axis=1)).min()))
        return np.array(found)

    def of_masks(self, masks):
        return self.margins([" ".join(s for s, kept in zip(self.sentences, m) if kept) for m in masks])

    def explain(self, method):
        """The subsets, whether every claim was verified, and the prompts it took."""
        self.asked = 0
        cut = lambda text: [m.span() for m in SENTENCE.finditer(text)]
        results = sis.explain(self.margins, [self.example["context"]], threshold=0, tokenizer=cut, method=method,
                              ids=[self.example["id"]], progress=False)
        asked = self.asked
        record = results[0]
        return [frozenset(s.features) for s in record.subsets], record, asked

    def without_one(self):
        n, self.asked = len(self.sentences), 0
        return -self.of_masks(1 - np.eye(n)), self.asked

    def ablations(self, budgets):
        """Weights of the sentences for each number of prompts."""
        rng = np.random.default_rng(len(self.example["context"]))
        masks = rng.integers(0, 2, (max(budgets), len(self.sentences)))
        margins = self.of_masks(masks)
        return [lasso(masks[:n], margins[:n]) for n in budgets]

    def prefix(self, ranking):
        """The shortest beginning of a ranking that keeps the answer."""
        n = len(ranking)
        masks = np.zeros((n, n))
        for k in range(n):
            masks[k, ranking[:k + 1]] = 1
        enough = np.nonzero(self.of_masks(masks) >= 0)[0]
        return frozenset(int(i) for i in ranking[:enough[0] + 1]) if len(enough) else frozenset()


def lasso(masks, margins, penalty=0.01, rounds=200):
    """Weights of standardised columns by coordinate descent on |y - x w|^2 / 2n + penalty |w|."""
    spread = masks.std(axis=0)
    x, y = (masks - masks.mean(axis=0)) / np.where(spread > 0, spread, 1), margins - margins.mean()
    gram, wanted, w = x.T @ x / len(x), x.T @ y / len(x), np.zeros(x.shape[1])
    for _ in range(rounds):
        before = w.copy()
        for k in np.nonzero(spread > 0)[0]:
            pull = wanted[k] - gram[k] @ w + gram[k, k] * w[k]
            w[k] = np.sign(pull) * max(abs(pull) - penalty, 0) / gram[k, k]
        if np.abs(w - before).max() < 1e-6:
            break
    return w


def alternatives(support):
    """The largest number of disjoint supporting sets."""
    chosen = []
    for s in support:
        if all(not s & c for c in chosen):
            chosen.append(s)
    return len(chosen)


class Row:
    """One method: whether it is right for each question, and its prompts."""

    def __init__(self, name):
        self.name, self.right, self.prefix, self.every, self.asked = name, {k: [] for k in KINDS}, [], [], []
        self.verified, self.wrong = [], []

    def subsets(self, q, found, record, asked):
        first = found[0] if found else frozenset()
        self.right[q.example["kind"]].append(first in q.support)
        self.prefix.append(first in q.support)
        n = alternatives(q.support)
        if n > 1:
            self.every.append(len(found) == n and all(f in q.support for f in found))
        self.asked.append(asked)
        self.verified.append(bool(record.verified))
        for f in found:
            if f not in q.support:
                near = max(q.support, key=lambda s: len(s & f))
                self.wrong.append(f"{q.example['id']}: missing {sorted(near - f)}, extra {sorted(f - near)}")
        if len(found) < n:
            self.wrong.append(f"{q.example['id']} ({record.status}): {len(found)} of {n} subsets")

    def ranking(self, q, weights, asked):
        order, every = np.argsort(-weights, kind="stable"), frozenset().union(*q.support)
        self.right[q.example["kind"]].append(frozenset(order[:len(q.support[0])].tolist()) in q.support)
        self.prefix.append(q.prefix(order) in q.support)
        if alternatives(q.support) > 1:
            self.every.append(frozenset(order[:len(every)].tolist()) == every)
        self.asked.append(asked)

    def add(self, other):
        """Add the results of other questions."""
        for kind in KINDS:
            self.right[kind] += other.right[kind]
        for name in ("prefix", "every", "asked", "verified", "wrong"):
            getattr(self, name).extend(getattr(other, name))

    def line(self):
        share = lambda found: f"{100 * np.mean(found):.1f} %" if found else "-"
        checked = f"{sum(self.verified)} of {len(self.verified)}" if self.verified else "no claims"
        return "| " + " | ".join([self.name] + [share(self.right[k]) for k in KINDS] + [
            share(sum(self.right.values(), [])), share(self.prefix), share(self.every), f"{np.mean(self.asked):.0f}", checked]) + " |"


def table(rows, n, unanswered):
    head = ["method", *KINDS.values(), "all", "all, size not told", "every alternative", "prompts a question", "verified"]
    text = [f"{n} questions that the model answers as the context says ({unanswered} others were drawn, and left out).", "",
            "| " + " | ".join(head) + " |", "|---" * len(head) + "|"] + [row.line() for row in rows]
    for row in rows[:2]:
        text += ["", f"{row.name}: " + ("; ".join(row.wrong) if row.wrong else "no wrong, missing or extra sentence") + "."]
    return "\n".join(text) + "\n"


def put(path, text):
    """Replaces the text between the lines that name this file."""
    with open(path) as f:
        old = f.read()
    new, n = re.subn(r"(<!-- paper/llm\.py -->\n).*?(<!-- end -->)", lambda m: m[1] + text + m[2], old, flags=re.S)
    if n != 1:
        sys.exit(f"{path}: expected one <!-- paper/llm.py --> and one <!-- end -->")
    with open(path, "w") as f:
        f.write(new)


METHODS = ("sis", "quick", "leave-one-out", "ablations, as many prompts as quick", "ablations, five times as many as quick",
           "ablations, as many as sis", "ablations, five times as many as sis")
MODEL = {}  # one for each process, loaded at its first use


def questions(path, n):
    """The first n questions that the model answers correctly, and the number that it does not."""
    model, found = facts.load(path), []
    for asked, example in enumerate(facts.questions(10 * n, 2)):
        if len(found) == n:
            break
        if Question(model, example).margins([example["context"]])[0] >= 0:
            found.append(example)
    return found, asked - n


def examine(job):
    """One question by all methods: a row for each method."""
    path, example = job
    if path not in MODEL:
        MODEL[path] = facts.load(path)
    q, rows = Question(MODEL[path], example), [Row(name) for name in METHODS]
    found, quick = q.explain("sis"), q.explain("quick")
    rows[0].subsets(q, *found)
    rows[1].subsets(q, *quick)
    rows[2].ranking(q, *q.without_one())
    budgets = (quick[2], 5 * quick[2], found[2], 5 * found[2])
    for row, weights, budget in zip(rows[3:], q.ablations(budgets), budgets):
        row.ranking(q, weights, budget)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights")
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--doc")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    if not os.path.exists(args.weights):
        facts.train(args.weights, facts.STEPS, 1)
    rows, (examples, unanswered) = [Row(name) for name in METHODS], questions(args.weights, args.n)
    with multiprocessing.get_context("spawn").Pool(args.jobs) as pool:
        for number, found in enumerate(pool.imap(examine, [(args.weights, example) for example in examples])):
            for row, more in zip(rows, found):
                row.add(more)
            if sys.stderr.isatty() or number % 20 == 19:
                print(f"{number + 1} of {args.n}", file=sys.stderr)
    text = table(rows, args.n, unanswered)
    print(text, end="")
    if args.doc:
        put(args.doc, text)


if __name__ == "__main__":
    main()
