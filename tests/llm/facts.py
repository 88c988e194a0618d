#!/usr/bin/env python3
"""A small language model that answers from its context, and the questions it is asked.

    facts.py train FILE [--steps N] [--seed N]     train with PyTorch on one core, write the weights
    facts.py questions N [--seed N]                print N questions as JSON lines

The world has people, cities and four relations:

    Mara lives in Oslo. Tom works in Bergen. Question: Where does Mara live? Answer: Oslo
    Ines stays with Mara. Mara lives in Oslo. Question: Where does Ines stay? Answer: Oslo

A question is about one person or about two ("Where do Mara and Tom live?" -> "Oslo and Bergen"). If the
context does not tell it, the answer is "unknown": the model has to read, it cannot guess. The sets of
sentences that support an answer are known, and a printed question names them in "support".

The model is a causal network over words: each word sees the ten before it by a convolution, and all of them
by two steps of attention, of which the second starts from what the first found. It has no absolute positions,
so that a context of 40 sentences is read like one of 5. Logits are rounded to bfloat16, as most servers do.
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
# the verb of the question: the verb of the sentence
RELATIONS = {"live": "lives", "work": "works", "study": "studies", "stay": "stays"}
NOBODY = "unknown"
VOCABULARY = (["<end>", "<other>", ".", "?", ":", "Question", "Answer", "Where", "does", "do", "and",
               "in", "with", NOBODY] + list(RELATIONS) + list(RELATIONS.values()) + PEOPLE + CITIES)
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
    """Facts (person, verb, city), or (person, "stay", host), each told by one sentence of five words. `told` are
    some of them; the others are about other pairs of person and verb than these and the silent ones, and each is told once."""

    def __init__(self, rng, n, told=(), silent=()):
        known = {fact[:2] for fact in [*told, *silent]}
        free = [(p, v) for p in PEOPLE for v in RELATIONS if (p, v) not in known]
        pairs = rng.sample(free, n - len(told))
        hosts = [fact[0] for fact in [*told, *pairs] if fact[1] == "live"]
        self.facts = list(told) + [(p, v, self.draw(rng, p, hosts) if v == "stay" else rng.choice(CITIES)) for p, v in pairs]
        rng.shuffle(self.facts)
        self.sentences = [f"{p} {RELATIONS[v]} {'with' if v == 'stay' else 'in'} {c}." for p, v, c in self.facts]

    @staticmethod
    def draw(rng, guest, hosts):
        """Mostly a host who lives somewhere."""
        return rng.choice([p for p in (hosts if rng.random() < 0.7 else PEOPLE) if p != guest] or [PEOPLE[guest == PEOPLE[0]]])

    def where(self, person, verb):
        return [i for i, fact in enumerate(self.facts) if fact[:2] == (person, verb)]

    def ways(self, person, verb):
        """The sets of sentences that tell it: one sentence, or a guest's and the host's."""
        if verb != "stay":
            return [[i] for i in self.where(person, verb)]
        return [[i, j] for i in self.where(person, verb) for j in self.where(self.facts[i][2], "live")]

    def ask(self, people, verb):
        """The question, its answer, and for each person the sets of sentences that tell it."""
        told = [self.ways(person, verb) for person in people]
        cities = [self.facts[ways[0][-1]][2] if ways else NOBODY for ways in told]
        does = f"does {people[0]}" if len(people) == 1 else f"do {people[0]} and {people[1]}"
        return f"Where {does} {verb}?", " " + " and ".join(cities), told


# kinds of questions: what they need
KINDS = {"one": "one sentence", "twice": "one sentence, told twice", "two": "two sentences", "two-twice": "two sentences, each told twice",
         "chain": "a chain of two", "chains": "either of two chains"}


def plan(rng, kind):
    """The people and the verb of a question of this kind, and the facts that tell its answer."""
    a, b, c = rng.sample(PEOPLE, 3)
    here, there = rng.sample(CITIES, 2)
    verb = "stay" if kind.startswith("chain") else rng.choice([v for v in RELATIONS if v != "stay"])
    if kind.startswith("chain"):
        hosts = (b, c)[:2 if kind == "chains" else 1]
        return [a], verb, [fact for host in hosts for fact in ((a, "stay", host), (host, "live", here))]
    people = [a, b] if kind.startswith("two") else [a]
    told = [(person, verb, city) for person, city in zip(people, (here, there))]
    return people, verb, told * (2 if kind.endswith("twice") else 1)


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
        the question is further from its answer, so the queries read ten. The second query also has what the first
        one found."""

        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(len(VOCABULARY) + 1, width)  # the last one: before the text
            self.key, self.value = nn.Linear(4 * width, width), nn.Linear(4 * width, width)
            self.query, self.second = (nn.Sequential(nn.Linear(n * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
                                       for n in (SEEN, SEEN + 1))
            self.nothing = nn.Parameter(torch.zeros(2, 1, width))  # key and value if no fact fits
            self.out = nn.Sequential(nn.Linear((SEEN + 2) * width, 2 * width), nn.ReLU(),
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

        def look(self, query, keys, values, hidden):
            scores = query @ keys.transpose(1, 2) / math.sqrt(width)
            if hidden is not None:
                scores = scores.masked_fill(hidden, -1e9)
            return torch.softmax(scores, -1) @ values, scores

        def answer(self, x, keys, values, hidden):
            """x (b,q,SEEN*width), hidden (b,q,n+1) or None: what a query does not see -> logits (b,q,vocabulary), and
            the scores of both steps of attention (b,q,n+1)"""
            first, scores = self.look(self.query(x), keys, values, hidden)
            second, more = self.look(self.second(torch.cat([x, first], -1)), keys, values, hidden)
            return self.out(torch.cat([x, first, second], -1)), scores, more

        def forward(self, words, last):
            """words (b,n) -> log-probabilities after each of the last words (b,last,vocabulary)"""
            keys, values = self.facts(words)
            n = words.shape[1]
            later = torch.ones(n, n + 1, dtype=torch.bool).triu(2)[n - last:]
            logits = self.answer(self.windows(words, SEEN, last), keys, values, later)[0]
            return torch.log_softmax(logits.bfloat16().float(), -1)

    return Model()


def looks(rng, world, person, verb, ways):
    """The words (from 1; 0: none) that tell where somebody is, for the two steps: the last word of a sentence's four."""
    if verb == "stay" and not ways:
        guests = world.where(person, verb)
        return (5 * rng.choice(guests) + 4 if guests else 0), 0
    way = rng.choice(ways) if ways else []
    return tuple([5 * i + 4 for i in way] + [0, 0])[:2]


STEPS = 4000


def lesson(rng, n_sentences, n_questions):
    """A context, and of each word of answers to questions about it: the words before it, the word, and the words of
    the context that tell it. Some of what a question needs may not be told."""
    people, verb, told = plan(rng, rng.choice(list(KINDS)))
    some = [fact for fact in told if rng.random() < 0.85]
    some += near_misses(rng, told)[:rng.choice((0, 6))]
    world = World(rng, n_sentences, some[:n_sentences], told)
    before, after, source = [], [], []
    while len(after) < 3 * n_questions:
        if after and rng.random() < 0.6:
            verb = rng.choice(list(RELATIONS))
            people = draw_people(rng, world, rng.choice((1, 2)), verb)
        question, answer, ways = world.ask(people, verb)
        said = ids_of(answer) + [END]
        words = ids_of(f". Question: {question} Answer:") + said
        before += [words[i - SEEN:i] for i in range(len(words) - len(said), len(words))]
        after += said
        for person, each in zip(people, ways):
            source += [looks(rng, world, person, verb, each), (0, 0)]
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
        out, *scores = model.answer(model.words(before).flatten(2), *model.facts(words), None)
        cross = torch.nn.functional.cross_entropy
        loss = cross(out.flatten(0, 1), after.flatten())
        seen = sum(cross(s.flatten(0, 1), source[..., i].flatten()) for i, s in enumerate(scores))
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
        told = {tuple(context[i - 3:i - 1]): context[i] for i in range(3, len(context)) if context[i - 1] in ("in", "with")}
        asked = words[words.index("Question"):starts[0]]
        verbs = [RELATIONS[w] for w in asked if w in RELATIONS]
        cities = [told.get((w, verbs[0]), NOBODY) for w in asked if w in PEOPLE] if verbs else []
        if verbs == ["stays"]:
            cities = [told.get((host, "lives"), NOBODY) for host in cities]
        said = [IDS[w] for w in " and ".join(cities).split()] + [END]
        begun = [row[starts[0]:i + 1] for i in range(starts[0] - 1, len(row))]
        return [logprobs(END)] * (starts[0] - 1) + [
            logprobs(said[len(b)] if len(b) < len(said) and b == said[:len(b)] else END) for b in begun]
    return [after(row)[-last if last else 0:] for row in rows]


# ---------------------------------------------------------------------------- the questions

def near_misses(rng, told):
    """Facts that have a name, a city or a host in common with the told ones, and do not tell the answer."""
    known, others = {fact[:2] for fact in told}, [p for p in PEOPLE if p not in {fact[0] for fact in told}]
    names = sorted({fact[0] for fact in told})
    same_name = [(p, v, rng.choice(CITIES)) for p in names for v in ("work", "study", "live") if (p, v) not in known]
    cities = sorted({fact[2] for fact in told if fact[1] != "stay"})
    hosts = sorted({fact[2] for fact in told if fact[1] == "stay"})
    same_end = [(p, "stay", host) for host in hosts for p in rng.sample(others, 2)]
    same_end += [(p, v, city) for city in cities for v in ("live", "work", "study") for p in rng.sample(others, 1)]
    near, seen = [], set(known)
    for fact in rng.sample(same_name + same_end, len(same_name + same_end)):
        if fact[:2] not in seen:
            near.append(fact)
            seen.add(fact[:2])
    return near


def supports(told):
    """Every choice of one way for each person."""
    return [sorted(one + other) for one in told[0] for other in (told[1] if len(told) > 1 else [[]])]


def questions(n, seed):
    """Examples of the kinds in turn, over 10 to 40 sentences, of which up to six are near misses."""
    rng = random.Random(seed)
    for i in range(n):
        kind = list(KINDS)[i % len(KINDS)]
        people, verb, told = plan(rng, kind)
        world = World(rng, rng.randint(10, 40), told + near_misses(rng, told)[:6])
        question, answer, ways = world.ask(people, verb)
        yield {"id": f"{kind}-{i}", "kind": kind, "context": " ".join(world.sentences),
               "question": question, "answer": answer, "support": supports(ways)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    teach = commands.add_parser("train")
    teach.add_argument("file")
    teach.add_argument("--steps", type=int, default=STEPS)
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
