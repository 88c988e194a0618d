#!/usr/bin/env python3
"""A small language model that answers from its context, and the questions it is asked.

    facts.py train FILE [--steps N] [--seed N]     train with PyTorch on one core, write the weights
    facts.py questions N [--seed N]                print N questions as JSON lines

The world has people, cities and three relations:

    Mara lives in Oslo. Tom works in Bergen. Question: Where does Mara live? Answer: Oslo

A question is about one person or about two ("Where do Mara and Tom live?" -> "Oslo and Bergen", so
that it needs two sentences). If the context does not say where somebody lives, the answer is
"unknown": the model has to read, it cannot guess. The sentences that support an answer are known,
and a printed question names them in "support".

The model is a causal network over words: each word sees the ten before it by a convolution, and all of them
by one layer of attention. It has no absolute positions, so that a context of 40 sentences is read like one of 5.
"""

import argparse
import json
import math
import random
import re
import sys
import time

PEOPLE = ("Mara Tom Ines Jonas Petra Ravi Lena Omar Greta Felix Nora Hugo Yara Emil Clara Ivan Ada "
          "Louis Mina Karl Rosa Otto Tessa Paul Vera Sami Ruth Anton Lucia Bela Dora Milan").split()
CITIES = ("Oslo Bergen Lima Quito Cairo Delhi Turin Lyon Porto Gdansk Tartu Malmo Ghent Basel Graz "
          "Split Varna Cork Leeds Nantes Kyoto Hanoi Accra Dakar").split()
# relation: the sentence's words, the verb of the question
RELATIONS = {"live": "lives", "work": "works", "study": "studies"}
NOBODY = "unknown"
VOCABULARY = (["<end>", "<other>", ".", "?", ":", "Question", "Answer", "Where", "does", "do", "and",
               "in", NOBODY] + list(RELATIONS) + list(RELATIONS.values()) + PEOPLE + CITIES)
IDS = {word: i for i, word in enumerate(VOCABULARY)}
END, OTHER = 0, 1
PIECE = re.compile(r"\s*(?:\w+|[^\w\s]|\Z)")


def pieces(text):
    """The tokens of a text: words and marks, each with the blanks before it."""
    return [piece for piece in PIECE.findall(text) if piece]


def ids_of(text):
    return [IDS.get(piece.strip(), OTHER) for piece in pieces(text)]


def word_of(token):
    """A token as it is written behind other tokens."""
    word = VOCABULARY[token]
    return "" if token == END else word if word in ".?:" else " " + word


class World:
    """Sentences about people, of whom each relation is said at most once unless it is repeated."""

    def __init__(self, rng, n):
        self.rng = rng
        pairs = [(person, verb) for person in PEOPLE for verb in RELATIONS]
        self.facts = [(person, verb, rng.choice(CITIES)) for person, verb in rng.sample(pairs, n)]
        self.sentences = [f"{p} {RELATIONS[v]} in {c}." for p, v, c in self.facts]

    def repeat(self, i):
        """Says sentence i again, in the place of another one; the number of that one."""
        j = self.rng.choice([j for j in range(len(self.facts)) if j != i])
        self.facts[j], self.sentences[j] = self.facts[i], self.sentences[i]
        return j

    def where(self, person, verb):
        return [i for i, fact in enumerate(self.facts) if fact[:2] == (person, verb)]

    def ask(self, people, verb):
        """The question, its answer, and for each person the sentences that tell it."""
        told = [self.where(person, verb) for person in people]
        cities = [self.facts[at[0]][2] if at else NOBODY for at in told]
        does = f"does {people[0]}" if len(people) == 1 else f"do {people[0]} and {people[1]}"
        return f"Where {does} {verb}?", " " + " and ".join(cities), told


def prompt_of(sentences, question):
    return " ".join(sentences) + f" Question: {question} Answer:"


def draw_people(rng, world, n, verb):
    """People to ask about, mostly such as the context mentions with this verb."""
    told = sorted({p for p, v, _ in world.facts if v == verb})
    people = []
    while len(people) < n:
        p = rng.choice(told) if told and rng.random() < 0.8 else rng.choice(PEOPLE)
        if p in people:
            p = rng.choice(PEOPLE)
        if p not in people:
            people.append(p)
    return people


# ---------------------------------------------------------------------------- the model

SEEN = 10  # words that the convolution reads: "Mara and Tom live? Answer: Oslo and" are ten


def network(width=32):
    import torch
    from torch import nn

    class Model(nn.Module):
        """Log-probabilities of the next word. The words of a fact are near each other, so the keys read four words;
        the question is further from its answer, so the queries read ten."""

        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(len(VOCABULARY) + 1, width)  # the last one: before the text
            self.key, self.value = nn.Linear(4 * width, width), nn.Linear(4 * width, width)
            self.query = nn.Sequential(nn.Linear(SEEN * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
            self.nothing = nn.Parameter(torch.zeros(2, 1, width))  # key and value if no fact fits
            self.out = nn.Sequential(nn.Linear(SEEN * width + width, 2 * width), nn.ReLU(),
                                     nn.Linear(2 * width, len(VOCABULARY)))

        def facts(self, words):
            """words (b,n) -> keys and values (b,n+1,width)"""
            padded = nn.functional.pad(words, (3, 0), value=len(VOCABULARY))
            place = torch.tensor([(len(VOCABULARY) + 1) ** i for i in range(4)])
            codes, at = torch.unique((padded.unfold(1, 4, 1) * place).sum(-1), return_inverse=True)
            x = self.words(codes[:, None] // place % (len(VOCABULARY) + 1)).flatten(1)  # each four words once
            k, v = torch.relu(self.key(x))[at], self.value(x)[at]
            first = self.nothing[:, None].expand(2, len(words), 1, width)
            return torch.cat([first[0], k], 1), torch.cat([first[1], v], 1)

        def windows(self, words, n, last=0):
            """words (b,m) -> the embeddings of each (last) word and of the n-1 before it (b,m,n*width)"""
            padded = nn.functional.pad(words, (n - 1, 0), value=len(VOCABULARY))
            return self.words(padded.unfold(1, n, 1)[:, -last:]).flatten(2)

        def answer(self, x, keys, values, hidden):
            """x (b,q,SEEN*width), hidden (b,q,n+1) or None: what a query does not see -> (b,q,vocabulary), and
            the scores of attention (b,q,n+1)"""
            scores = self.query(x) @ keys.transpose(1, 2) / math.sqrt(width)
            if hidden is not None:
                scores = scores.masked_fill(hidden, -1e9)
            found = torch.softmax(scores, -1) @ values
            return torch.log_softmax(self.out(torch.cat([x, found], -1)), -1), scores

        def forward(self, words, last):
            """words (b,n) -> log-probabilities after each of the last words (b,last,vocabulary)"""
            keys, values = self.facts(words)
            n = words.shape[1]
            later = torch.ones(n, n + 1, dtype=torch.bool).triu(2)[n - last:]
            return self.answer(self.windows(words, SEEN, last), keys, values, later)[0]

    return Model()


def lesson(rng, n_sentences, n_questions):
    """A context, and of each word of answers to questions about it: the words before it, the word, and the word of
    the context that tells it (0: none)."""
    world = World(rng, n_sentences)
    if n_sentences > 1 and rng.random() < 0.3:
        world.repeat(rng.randrange(n_sentences))
    before, after, source = [], [], []
    while len(after) < 3 * n_questions:
        verb = rng.choice(list(RELATIONS))
        question, answer, told = world.ask(draw_people(rng, world, rng.choice((1, 2)), verb), verb)
        said = ids_of(answer) + [END]
        words = ids_of(f". Question: {question} Answer:") + said
        before += [words[i - SEEN:i] for i in range(len(words) - len(said), len(words))]
        after += said
        for at in told:  # a sentence is five words, the fourth is the city
            source += [5 * rng.choice(at) + 4 if at else 0, 0]
    cut, seen = slice(3 * n_questions), (words + [END] * 16)[:16]  # one question stands behind the context
    return ids_of(" ".join(world.sentences)) + seen[1:], before[cut], after[cut], source[cut]


def train(path, steps, seed):
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng, model, losses, start = random.Random(seed), network(), [], time.process_time()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1, (step + 1) / 50) * (1.01 - step / steps)
        n = rng.randint(1, 8 if step < steps / 4 else 41)
        words, before, after, source = (torch.tensor(part) for part in zip(*[lesson(rng, n, 12) for _ in range(12)]))
        out, scores = model.answer(model.words(before).flatten(2), *model.facts(words), None)
        loss = torch.nn.functional.nll_loss(out.flatten(0, 1), after.flatten())
        seen = torch.nn.functional.cross_entropy(scores.flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        (loss + seen).backward()  # attention is told where to look: it learns sooner
        optimizer.step()
        losses = losses[-99:] + [loss.item()]
        if step % 100 == 99:
            print(f"step {step + 1} of {steps}, {time.process_time() - start:.0f} s: "
                  f"loss {sum(losses) / len(losses):.4f}", file=sys.stderr)
    torch.save(model.state_dict(), path)


def load(path):
    import torch
    torch.set_num_threads(1)
    model = network()
    model.load_state_dict(torch.load(path))
    return model.eval()


def next_words(model, rows, last=None):
    """Lists of ids -> for each row the log-probabilities after each of its (last) words (n,vocabulary). Rows of the
    same length are computed together."""
    import torch
    found, lengths = [None] * len(rows), {}
    for i, row in enumerate(rows):
        lengths.setdefault(len(row), []).append(i)
    for n, group in lengths.items():
        with torch.no_grad():
            out = model(torch.tensor([rows[i] for i in group]), last or n).numpy()
        for i, logprobs in zip(group, out):
            found[i] = logprobs
    return found


def by_rule(rows, last=None):
    """What next_words() answers, without a network: the answer that the context tells, else the end."""
    def logprobs(wanted):
        scores = [4.0 if i == wanted else 0.0 for i in range(len(VOCABULARY))]
        total = math.log(sum(map(math.exp, scores)))
        return [s - total for s in scores]

    def after(row):
        words = [VOCABULARY[i] for i in row]
        starts = [i + 2 for i in range(len(words) - 1) if words[i:i + 2] == ["Answer", ":"]]
        if "Question" not in words or not starts:
            return [logprobs(END)] * len(row)
        context = words[:words.index("Question")]
        told = {tuple(context[i - 3:i - 1]): context[i] for i in range(3, len(context)) if context[i - 1] == "in"}
        asked = words[words.index("Question"):starts[0]]
        verbs = [RELATIONS[w] for w in asked if w in RELATIONS]
        cities = [told.get((w, verbs[0]), NOBODY) for w in asked if w in PEOPLE] if verbs else []
        said = [IDS[w] for w in " and ".join(cities).split()] + [END]
        begun = [row[starts[0]:i + 1] for i in range(starts[0] - 1, len(row))]
        return [logprobs(END)] * (starts[0] - 1) + [
            logprobs(said[len(b)] if len(b) < len(said) and b == said[:len(b)] else END) for b in begun]
    return [after(row)[-last if last else 0:] for row in rows]


# ---------------------------------------------------------------------------- the questions

def questions(n, seed):
    """Examples of three kinds, in turn: one sentence tells it; it is told twice; two are needed."""
    rng = random.Random(seed)
    for i in range(n):
        kind = ("one", "twice", "two")[i % 3]
        world = World(rng, rng.randint(10, 40))
        person, verb, _ = world.facts[at := rng.randrange(len(world.facts))]
        people = [person]
        if kind == "twice":
            world.repeat(at)
        if kind == "two":
            others = [p for p, v, _ in world.facts if v == verb and p != person]
            people.append(rng.choice(others))
        question, answer, told = world.ask(people, verb)
        yield {"id": f"{kind}-{i}", "kind": kind, "context": " ".join(world.sentences),
               "question": question, "answer": answer,
               "support": [told[0][:1] + told[1][:1]] if kind == "two" else [[j] for j in told[0]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    teach = commands.add_parser("train")
    teach.add_argument("file")
    teach.add_argument("--steps", type=int, default=1500)
    teach.add_argument("--seed", type=int, default=1)
    ask = commands.add_parser("questions")
    ask.add_argument("n", type=int)
    ask.add_argument("--seed", type=int, default=2)
    args = parser.parse_args()
    if args.command == "train":
        train(args.file, args.steps, args.seed)
    else:
        for example in questions(args.n, args.seed):
            print(json.dumps(example))


if __name__ == "__main__":
    main()
