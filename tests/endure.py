#!/usr/bin/env python3
"""endure.py - runs that are killed, cut and failed on lose nothing.

    endure.py BUILD kills [N] [SEED]     sis-mpi killed N times, then gone on with
    endure.py BUILD faults [N] [SEED]    N examples, models that answer 503 or hang, time limits
    endure.py BUILD whole [N] [SEED]     every command that writes a file, killed N times

`kills`: for every kind of model (ONNX, boosted trees, cmd:, http:) in turn, sis-mpi is killed at a
random moment (one process, the first, all, SIGTERM) and the run gone on with, by another number of
processes. In the end the file must be that of an undisturbed run, to the byte but for the seconds, and
records that were in it before must not have been made again. A cmd: model that keeps a diary tells how
many examples were done but not in the file yet.

`faults`: a server that answers 503 every seventh time, and a child that hangs once; each run is ended
by --time-limit-total again and again, its examples by --time-limit, and gone on with by sis and sis-mpi
in turn.

`whole`: report, export, merge, predict, cluster, evaluate and train are killed (SIGKILL) at random moments
of their run. The file they write must have its old content or all of the new one.

Prints a line a trial; the exit status is 1 if anything differs, 77 if something is missing here.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
ENV = dict(os.environ, OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_ALLOW_RUN_AS_ROOT="1",
           OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           no_proxy="127.0.0.1")
WAYS = ("a process", "the first", "all", "SIGTERM")

# The sum of a row, after a pause of argument 1 seconds. Argument 2 is a log file: for each request it
# gets the largest first value, which identifies the example.
DIARY = r"""#!/bin/sh
case $(awk -W version 2>&1 </dev/null) in mawk*) i="-W interactive" ;; *) i= ;; esac
exec awk $i -v late="$1" -v diary="${2:+$2/$$}" '{
    gsub(/[^-0-9.e,\]]/, ""); n = split($0, rows, /\]/); out = ""; most = 0
    for (r = 1; r <= n; r++) {
        sub(/^,/, "", rows[r])
        if (rows[r] == "") continue
        k = split(rows[r], v, ","); s = 0
        for (j = 1; j <= k; j++) s += v[j]
        if (v[1] > most) most = v[1]
        out = out (out == "" ? "" : ",") s
    }
    if (diary != "") { print most >> diary; fflush(diary) }
    if (late > 0) system("sleep " late)
    else if (NR % 50 == 0 && system("mv hang hung 2>/dev/null") == 0) system("exec sleep 600")
    print "{\"outputs\":[" out "]}"; fflush()
}'
"""


class Server:
    """Runs tests/model/server.py."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "model", "server.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.at = "http://127.0.0.1:" + self.process.stdout.readline().decode().strip()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def without(line):
    """A record without seconds and provenance."""
    line = re.sub(r'"seconds":[0-9.e-]*', '"seconds":0', line)
    return re.sub(r',"provenance":\{.*\}\}\n$', "}\n", line)


def plain(path):
    with open(path) as f:
        return [re.sub(r'"seconds":[0-9.e-]*', '"seconds":0', line) for line in f]


def whole_lines(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [line for line in f if line.endswith("\n")]


class Runner:
    """sis and sis-mpi in a folder."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, ranks, words):
        if ranks == 1:
            return [os.path.join(self.build, "sis")] + words
        return ["mpirun", "--bind-to", "none", "-n", str(ranks),
                os.path.join(self.build, "sis-mpi")] + words

    def start(self, ranks, words):
        return subprocess.Popen(self.command(ranks, words), cwd=self.folder, env=ENV,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True)

    def run(self, ranks, words, seconds=600):
        process = self.start(ranks, words)
        try:
            said = process.communicate(timeout=seconds)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said = process.communicate()[0].decode(errors="replace") + "\n(took too long)"
        return process.returncode, said


def table(path, n, columns, row):
    with open(path, "w") as f:
        f.write(",".join(columns) + "\n")
        for i in range(n):
            f.write(",".join(str(v) for v in row(i)) + "\n")


CREDIT = "age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used".split(",")


def credit_row(i):
    """No two have the same first value."""
    return (20 + i, 20000 + 1000 * (i * 7 % 41), 500 * (i % 13), 700 * (i % 17), i % 5, i % 6,
            i % 20, (i % 9 + 1) / 10)


# ---- Kills ---------------------------------------------------------------------------------------

def kinds(folder, server, brief):
    """Name: the arguments of a command that takes some seconds."""
    rng = random.Random(5)
    model = os.path.join(folder, "diary.sh")
    with open(model, "w") as f:
        f.write(DIARY)
    os.chmod(model, 0o755)
    few, many = (40, 4000) if brief else (60, 20000)
    table(os.path.join(folder, "few.csv"), few, CREDIT, credit_row)
    table(os.path.join(folder, "many.csv"), many, CREDIT, credit_row)
    words = "a wonderful film moving and superb dull waste of time great fun joy not very good".split()
    with open(os.path.join(folder, "reviews.txt"), "w") as f:
        for _ in range(60 if brief else 250):
            f.write(" ".join(rng.choice(words) for _ in range(rng.randint(4, 40))) + "\n")
    models, examples = os.path.join(SOURCE, "models"), os.path.join(SOURCE, "examples")
    mask = "mean:" + os.path.join(examples, "credit.csv")
    return {
        "onnx": ["-m", models + "/imdb-cnn.onnx", "-i", "reviews.txt", "-t", "0.5"],
        "trees": ["-m", examples + "/credit-trees.json", "-i", "many.csv", "--mask", mask,
                  "-t", "0.5"],
        "cmd": ["-m", "cmd:./diary.sh 0.01 diary", "-i", "few.csv", "--mask", "zero",
                "-t", "30000", "--max-subsets", "1"],
        "http": ["-m", server.at + "/slow-0.01/v2/models/credit", "-i", "few.csv",
                 "--mask", mask, "-t", "0.8", "--max-subsets", "1"],
    }


def ranks_of(launcher):
    """Process ids by rank."""
    found = {}
    try:
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(launcher)], text=True,
                                capture_output=True).stdout.split()
        for pid in listed:
            with open("/proc/%s/environ" % pid, "rb") as f:
                rank = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", f.read())
            if rank:
                found[int(rank.group(1))] = int(pid)
    except OSError:
        pass
    return found


def strike(process, way, rng):
    """Kill; False if there was nothing left to kill."""
    ranks = ranks_of(process.pid)
    try:
        if way == "SIGTERM":
            os.kill(process.pid, signal.SIGTERM)
        elif way == "all":
            for pid in list(ranks.values()) + [process.pid]:
                os.kill(pid, signal.SIGKILL)
        else:
            os.kill(ranks[0 if way == "the first" else rng.choice([r for r in ranks if r])],
                    signal.SIGKILL)
    except (ProcessLookupError, KeyError, IndexError):
        return False
    return True


def unwritten(folder, lines):
    """Examples that a child had finished, because it was asked about another one, but that are not in
    the file."""
    done = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as f:
            asked = [line.strip() for line in f]
        done |= set(asked) - set(asked[-1:])
    written = set(re.search(r'"values":\[(\d+)', line).group(1) for line in lines)
    return len(done - written)


def wait_end(process):
    """Waits for the end, with a time limit, and ends the rest of the process group."""
    try:
        process.communicate(timeout=60)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()


def trial(runner, words, way, moment, rng):
    """The error, or None; and a line to print."""
    out, diary = runner.path("killed.jsonl"), runner.path("diary")
    shutil.rmtree(diary, ignore_errors=True)
    os.mkdir(diary)
    if os.path.exists(out):
        os.remove(out)
    ask = ["explain", "-q"] + words + ["--jobs", "1", "-o", "killed.jsonl"]
    process = runner.start(3, ask)
    time.sleep(moment)
    before = len(whole_lines(out))
    struck = strike(process, way, rng)
    if not wait_end(process):
        return "it does not end", ""
    kept = whole_lines(out)
    lost = unwritten(diary, kept) if os.listdir(diary) else 0
    again = rng.choice((1, 2, 4))
    code, said = runner.run(again, ask + ["--resume"])
    line = "%d records%s, %d done but not in the file, gone on with by %d" % (
        len(kept), "" if struck else " (it was over)", lost, again)
    if len(kept) < before:
        return "%d records before, %d after" % (before, len(kept)), line
    if code != 0:
        return "--resume: exit status %d: %s" % (code, said), line
    if plain(out) != plain(runner.path("whole.jsonl")):
        return "the file differs from that of an undisturbed run", line
    anew = set(map(lambda l: re.sub(r',"provenance":\{.*\}\}\n$', "}\n", l), whole_lines(out)))
    if any(re.sub(r',"provenance":\{.*\}\}\n$', "}\n", k) not in anew for k in kept):
        return "records that were there were made again", line
    if lost > 6:
        return "more than two examples a process were done and not written", line
    return None, line


def kill_kind(build, name, trials, seed, server, brief, wrong):
    """The trials of one kind of model, in their own folder."""
    rng = random.Random("%s %s" % (seed, name))
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(build, folder)
        words = kinds(folder, server, brief)[name]
        os.mkdir(runner.path("diary"))
        code, said = runner.run(1, ["explain", "-q"] + words + ["-o", "whole.jsonl"])
        began = time.time()
        code2, said2 = runner.run(3, ["explain", "-q"] + words + ["--jobs", "1", "-o", "x.jsonl"])
        took = time.time() - began
        if code or code2:
            wrong.append("%s: %s%s" % (name, said, said2))
            return
        for way in trials:
            moment = rng.uniform(0.15, 1) * took
            problem, line = trial(runner, words, way, moment, rng)
            print("%-5s %-9s after %.2f of %.2f s: %s%s" % (
                name, way, moment, took, line, "" if not problem else "  FAILED: " + problem),
                flush=True)
            if problem:
                wrong.append(name)


def kills(build, n, seed):
    names = ("onnx", "trees", "cmd", "http")
    rng = random.Random(seed)
    shares = {name: [] for name in names}
    for k in range(n):
        shares[names[k % 4]].append(WAYS[k % 4] if n <= 4 else rng.choice(WAYS))
    wrong = []
    with Server() as server:
        threads = [threading.Thread(target=kill_kind,
                                    args=(build, name, shares[name], seed, server, n <= 4, wrong))
                   for name in names if shares[name]]
        for t in threads:
            t.start()
            if n > 4:
                t.join()  # quietly, one after the other
        for t in threads:
            t.join()
    return wrong


# ---- Faults --------------------------------------------------------------------------------------

def go_on(runner, words, out, rng, slices, slow, has_mpi):
    """Runs ended by time limits and resumed until complete. Returns the number of runs and of cut
    examples."""
    ends = cuts = 0
    for k in range(1000):
        last = k >= slices
        limits = [] if last else ["--time-limit-total", "%.2f" % rng.uniform(*SLICE)]
        if not last and k % 2 == 0:
            limits += ["--time-limit", "%g" % slow]
        ranks = 1 + k % 2 if has_mpi else 1
        code, said = runner.run(ranks, words + limits + ["--resume", "-o", out], 3000)
        lines = whole_lines(runner.path(out))
        cuts = max(cuts, sum('"status":"cut"' in line for line in lines))
        ends += code != 0
        if code != 0 and "--time-limit-total" not in said:
            return None, said
        if code == 0 and last:
            return (ends, cuts), ""
    return None, "no end"


SLICE = (0.5, 2)


def faults(build, n, seed):
    wrong = []
    rng = random.Random(seed)
    has_mpi = os.path.exists(os.path.join(build, "sis-mpi")) and shutil.which("mpirun") is not None
    slices = 4 if n <= 1000 else 20
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        runner = Runner(build, folder)
        with open(runner.path("diary.sh"), "w") as f:
            f.write(DIARY)
        os.chmod(runner.path("diary.sh"), 0o755)
        table(runner.path("in.csv"), n, ("a", "b", "c"),
              lambda i: (i * 7 % 60, i * 11 % 50, i * 3 % 40))
        http = server.at + "/%s/v2/models/sum8"
        runs = {
            "503": (["-m", http % "ok", "-t", "90"], ["-m", http % "every-7", "-t", "90"]),
            "hang": (["-m", "cmd:./diary.sh 0", "-t", "90"], ["-m", "cmd:./diary.sh 0", "-t", "90"]),
        }
        for name, (quiet, loud) in runs.items():
            ask = ["explain", "-q", "-i", "in.csv", "--mask", "zero"]
            if name == "503":
                ask += ["--jobs", "16"]
                loud = loud + ["--retries", "12"]  # one request in 7^13 fails every time
            code, said = runner.run(1, ask + quiet + ["-o", name + ".whole"], 3000)
            if name == "hang":
                open(runner.path("hang"), "w").close()
                loud = loud + ["--retries", "2", "--timeout", "3"]
            began = time.time()
            got, why = go_on(runner, ask + loud, name + ".jsonl", rng, slices,
                             0.02 if name == "503" else 0.003, has_mpi)
            if code or not got:
                wrong.append("%s: %s%s" % (name, said, why))
                continue
            same = [l.replace("every-7", "ok") for l in plain(runner.path(name + ".jsonl"))] == \
                [l for l in plain(runner.path(name + ".whole"))]
            hung = name != "hang" or os.path.exists(runner.path("hung"))
            print("%-4s %d examples: ended %d times, up to %d examples cut, %.0f s%s: %s" % (
                name, n, got[0], got[1], time.time() - began,
                ", the child has hung" if name == "hang" and hung else "",
                "the same as undisturbed" if same and hung else "FAILED"), flush=True)
            if not (same and hung):
                wrong.append(name)
    return wrong


def whole(build, n, seed):
    """Files are written atomically. Each command first runs once, to record its time and its output."""
    sis, rng = os.path.join(build, "sis"), random.Random(seed)
    model = os.path.join(SOURCE, "models", "credit.onnx")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        table(os.path.join(folder, "many.csv"), 2000, CREDIT, credit_row)

        def run(*words):
            return subprocess.Popen([sis, *words], cwd=folder, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
        run("explain", "-q", "-m", model, "-i", "many.csv", "-t", "0.6", "-o", "r.jsonl").wait()
        commands = {"report": ["report", "r.jsonl"], "csv": ["export", "r.jsonl", "--to", "csv"],
                    "sqlite": ["export", "r.jsonl", "--to", "sqlite"], "merge": ["merge", "r.jsonl"],
                    "predict": ["predict", "-m", model, "-i", "many.csv"],
                    "cluster": ["cluster", "r.jsonl", "--eps", "0.5"],
                    "evaluate": ["evaluate", "r.jsonl", "--draws", "10"],
                    "train": ["train", "mlp", "-i", "many.csv", "--label", "age", "--loss", "mse",
                              "--range", "0:3000", "--epochs", "3"]}
        for name, words in commands.items():
            out = name + (".onnx" if name == "train" else ".out")
            words = words + ["-q", "--force", "--json" if name == "evaluate" else "-o", out]
            path = os.path.join(folder, out)
            start = time.monotonic()
            if run(*words).wait() != 0:
                wrong.append("%s does not run" % name)
                continue
            took, whole_size = time.monotonic() - start, os.path.getsize(path)
            for k in range(n):
                with open(path, "wb") as f:
                    f.write(b"old")
                process = run(*words)
                time.sleep(rng.uniform(0, took * 1.1))
                process.kill()
                done = process.wait() == 0
                size = os.path.getsize(path) if os.path.exists(path) else 0
                # a network records its training time, so its size differs a little
                if not (abs(size - whole_size) <= 64 if done or size != 3 else size == 3):
                    wrong.append("%s, kill %d: %d bytes" % (name, k, size))
            print("%s: %d kills in runs of %.2f s" % (name, n, took))
    return wrong


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("kills", "faults", "whole"):
        sys.exit(__doc__)
    build, what = os.path.abspath(sys.argv[1]), sys.argv[2]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else {"kills": 4, "faults": 400, "whole": 20}[what]
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    if what == "kills":
        if not os.path.exists(os.path.join(build, "sis-mpi")) or not shutil.which("mpirun"):
            print("skipped: needs MPI (Debian: libopenmpi-dev, openmpi-bin)")
            sys.exit(77)
    wrong = {"kills": kills, "faults": faults, "whole": whole}[what](build, n, seed)
    for w in wrong:
        print("FAILED:", w)
    sys.exit(1 if wrong else 0)


main()
