#!/usr/bin/env python3
"""bench_scale.py BUILD [--reviews N] [--words MOST] [--rounds R] [--parts 123] - the cost of distribution over processes.

1. Efficiency: reviews of 5 to 400 words on the LSTM, two processes of one thread against one process
   of two threads, on the same two cores, in turns; the best of R rounds each.
2. Time of rank 0 for a bundle of answers, for a record, and for sorting the file, measured with records of
   cheap examples (boosted trees) and 2 to 32 processes.
3. A simulation of more processes than this machine has, with the costs and message times of 1 and 2: parallel
   efficiency, and its limit. `simulate` repeats the rules of mpi/spread.c.

Needs MPI, and python3 without further packages.
"""
import heapq
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENV = dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_ALLOW_RUN_AS_ROOT="1",
           OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


# Results of parts 1 and 2 on two cores, for the simulation if these parts are not run.
REVIEWS = [154.0 * (length / 400) ** 3 for length in range(5, 401, 5)]  # 154 s for 400 words
RANK = (14.0e-6, 14.0e-6, 2.1e-6)
DELAY = 0.002  # seconds of a message: a sleep of either side, and the network


def timed(words, folder):
    """Seconds, processor seconds of all processes, output."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    done = subprocess.run(words, cwd=folder, env=ENV, capture_output=True, text=True)
    seconds, after = time.time() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit("%s\n%s" % (" ".join(words), done.stderr))
    return (seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            done.stderr)


def mpi(build, n, words):
    return ["mpirun", "--bind-to", "none", "-n", str(n), build + "/sis-mpi"] + words


def seconds_of(path):
    with open(path) as f:
        return [float(x) for x in re.findall(r'"seconds":([0-9.e-]+)', f.read())]


# ---- 1 -------------------------------------------------------------------------------------------

def write_reviews(path, n, most):
    """Reviews of 5 to `most` words of the vocabulary; lengths are spread evenly, in random order."""
    rng = random.Random(3)
    with open(SOURCE + "/models/imdb-lstm.onnx", "rb") as f:
        found = re.search(rb'\["<padding>".*?[^\\]"\]', f.read(), re.S).group(0)
    words = json.loads(found)[2:3000]
    lengths = [5 + (most - 5) * i // (n - 1) for i in range(n)]
    rng.shuffle(lengths)
    with open(path, "w") as f:
        for length in lengths:
            f.write(" ".join(rng.choice(words) for _ in range(length)) + "\n")


def efficiency(build, folder, n, most, rounds):
    """Seconds of each review, and of a message from one process to the other."""
    write_reviews(folder + "/reviews.txt", n, most)
    ask = ["explain", "-q", "-m", SOURCE + "/models/imdb-lstm.onnx", "-i", "reviews.txt",
           "-t", "0.5", "--max-subsets", "1", "--force", "-o"]
    runs = [(timed([build + "/sis"] + ask + ["threads.jsonl", "--jobs", "2"], folder),
             timed(mpi(build, 2, ask + ["ranks.jsonl", "--jobs", "1", "--timing"]), folder))
            for _ in range(rounds)]
    threads, ranks = (min(run) for run in zip(*runs))
    costs = seconds_of(folder + "/threads.jsonl")
    inside = float(re.search(r"processes, ([0-9.]+) s", ranks[2]).group(1))
    waited = float(re.search(r"([0-9.]+) ms each", ranks[2]).group(1)) / 1000
    print("%d reviews of 5 to %d words, LSTM: %.3f to %.2f s each, %.2f s in all" % (
        n, most, min(costs), max(costs), sum(costs)))
    print("  one process, two threads    %7.2f s, %7.2f s of processors" % threads[:2])
    print("  two processes, one thread   %7.2f s, %7.2f s of processors; %.2f s without mpirun's "
          "start" % (ranks[0], ranks[1], inside))
    print("  seconds in the records      %7.2f s of the first, %.2f s of the second" % (
        sum(costs), sum(seconds_of(folder + "/ranks.jsonl"))))
    print("  efficiency                  %7.3f, in processor time %.3f" % (
        threads[0] / ranks[0], threads[1] / ranks[1]))
    print("  from an answer to the next review %.2f ms" % (1000 * waited))
    return costs, waited / 2


# ---- 2 -------------------------------------------------------------------------------------------

def rank_costs(build, folder, n=12000):
    """Seconds of rank 0 for a message and for a record, and of the last step for a record."""
    with open(folder + "/table.csv", "w") as f:
        f.write("age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used\n")
        for i in range(n):
            f.write("%d,%d,%d,%d,%d,%d,%d,%g\n" % (
                20 + i % 60, 20000 + 1000 * (i * 7 % 41), 500 * (i % 13), 700 * (i % 17), i % 5,
                i % 6, i % 20, (i % 9 + 1) / 10))
    ask = ["explain", "-q", "-m", SOURCE + "/examples/credit-trees.json", "-i", "table.csv",
           "--mask", "mean:" + SOURCE + "/examples/credit.csv", "-t", "0.5", "--jobs", "1",
           "--force", "-o", "cheap.jsonl", "--timing"]
    rows = []
    for processes in (2, 4, 8, 16, 32):
        said = timed(mpi(build, processes, ask), folder)[2]
        busy, answers, bundles, chunks = (float(x) for x in re.search(
            r"for ([0-9.]+) s: (\d+) answers in (\d+) bundles, (\d+) chunks", said).groups())
        print("  %2d processes: rank 0 busy for %.3f s: %d records in %d bundles, %d chunks, %.1f "
              "us a record" % (processes, busy, answers, bundles, chunks, 1e6 * busy / answers))
        rows.append((bundles + chunks, answers, busy))
    record = max(busy / answers for _, answers, busy in rows)
    size = os.path.getsize(folder + "/cheap.jsonl") / n
    with open(folder + "/cheap.jsonl") as f:
        lines = f.readlines()
    last = settle_cost(folder, lines)
    print("  rank 0: at most %.1f us a record of %.0f bytes, messages included; order at the end "
          "%.1f us a record" % (1e6 * record, size, 1e6 * last))
    return record, record, last  # a message is assumed to cost as much as a record


def settle_cost(folder, lines):
    """Reads lines in another order and writes them again, as cli/lines.c does."""
    places, at = [], 0
    for line in lines:
        places.append((at, len(line)))
        at += len(line)
    random.Random(1).shuffle(places)
    began = time.process_time()
    fd = os.open(folder + "/cheap.jsonl", os.O_RDONLY)
    with open(folder + "/order.jsonl", "wb", buffering=4096) as out:
        for place, length in places:
            out.write(os.pread(fd, length, place))
    os.close(fd)
    return (time.process_time() - began) / len(lines)


# ---- 3 -------------------------------------------------------------------------------------------

AHEAD, WINDOW, BUNDLE, BUNDLE_MOST, MOST = 0.03, 4.0, 0.0005, 0.1, 480

def simulate(processes, n, costs, bundle, record, delay, seed=1):
    """Seconds until all answers have arrived, and busy seconds of rank 0. One thread each."""
    rng = random.Random(seed)
    size = len(costs)
    cost = [costs[int(rng.random() * size)] for _ in range(n)]
    given = answered = 0
    has = [0] * processes       # without an answer, as rank 0 knows it
    done = [0] * processes
    since = [0.0] * processes
    queue = [[] for _ in range(processes)]  # examples that wait there
    idle = [True] * processes
    bag = [0] * processes       # answers not sent yet
    sent = [-1.0] * processes
    gap = min(BUNDLE * processes, BUNDLE_MOST)
    free, busy, end = 0.0, 0.0, 0.0  # the communication thread of rank 0
    events, order = [], 0

    def wish(now, r):
        ahead = int(done[r] * (AHEAD + 2 * gap) / (now - since[r])) if done[r] and now > since[r] else 0
        ahead = min(ahead, (n - given) // (2 * processes))
        return ahead

    def put(at, what, r, count=0):
        nonlocal order
        order += 1
        heapq.heappush(events, (at, order, what, r, count))

    def feed(now, r):
        nonlocal given, free, busy
        ahead = wish(now, r)
        if given < n and (has[r] < 1 or has[r] + ahead / 2 < 1 + ahead):
            count = min(1 + ahead - has[r], MOST, n - given)
            has[r] += count
            free += bundle
            busy += bundle
            put(free + (delay if r else 0), "chunk", r, given * (MOST + 1) + count)
            given += count

    def begin(now, r):
        if queue[r]:
            idle[r] = False
            put(now + cost[queue[r].pop()], "done", r)
        else:
            idle[r] = True

    for r in range(processes):
        feed(0.0, r)
    while events:
        now, _, what, r, count = heapq.heappop(events)
        if what == "chunk":
            first, count = divmod(count, MOST + 1)
            queue[r] = list(range(first + count - 1, first - 1, -1)) + queue[r]
            if idle[r]:
                begin(now, r)
        elif what == "done":
            bag[r] += 1
            begin(now, r)
            if bag[r] and (idle[r] or now - sent[r] >= gap):
                put(now + (delay if r else 0), "heard", r, bag[r])
                bag[r], sent[r] = 0, now
        else:
            free = max(free, now) + bundle + count * record
            busy += bundle + count * record
            has[r] -= count
            done[r] += count
            answered += count
            if free - since[r] > WINDOW:
                done[r] //= 2
                since[r] = free - (free - since[r]) / 2
            end = max(end, free)
            feed(free, r)
    assert answered == n
    return end, busy, sum(cost)


def table(costs, bundle, record, last, delay, name, each):
    print("%s, mean %.3f s, longest %.2f s; %d examples a process" % (
        name, sum(costs) / len(costs), max(costs), each))
    print("  processes   examples    seconds  efficiency  rank 0 busy  with the last step")
    for processes in (2, 64, 256, 1024, 4096):
        n = min(each * processes, 1000000)
        seconds, busy, work = simulate(processes, n, costs, bundle, record, delay)
        ideal = work / processes
        print("  %9d  %9d  %9.2f  %10.3f  %10.1f %%  %18.3f" % (
            processes, n, seconds, ideal / seconds, 100 * busy / seconds,
            ideal / (seconds + last * n)), flush=True)


def main():
    build, n, most, parts = os.path.abspath(sys.argv[1]), 16, 400, "123"
    rounds = 1
    for name, value in zip(sys.argv[2::2], sys.argv[3::2]):
        n = int(value) if name == "--reviews" else n
        most = int(value) if name == "--words" else most
        rounds = int(value) if name == "--rounds" else rounds
        parts = value if name == "--parts" else parts
    costs, rank, delay = REVIEWS, RANK, DELAY
    with tempfile.TemporaryDirectory() as folder:
        if "1" in parts:
            costs, delay = efficiency(build, folder, n, most, rounds)
        if "2" in parts:
            rank = rank_costs(build, folder)
    if "3" in parts:
        table(costs, *rank, delay, "Reviews", 100)
        table([0.01], *rank, delay, "Examples of 10 ms", 1000)


main()
