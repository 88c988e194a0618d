#!/usr/bin/env python3
"""run.py story SIS FOLDER | run.py faults SIS - explanations of language models behind test servers.

story    A model in llama.cpp's runtime, asked by /v1/completions with echo and by llama.cpp's /completion, has the same
         margins within 1e-4. FOLDER/node_modules holds node-llama-cpp ($SIS_LLM names another folder). The model is
         FOLDER/stories260K.gguf, or data/llm/stories260K.gguf in $SIS_SHARED or in the folder shared beside the checkout.
faults   1,000 requests by 8 connections, 5 % of them refused (429, 500, resets), give the same records as without
         faults. A second run and a verification are answered from the cache: they ask nothing.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("SIS_SHARED") or os.path.join(HERE, "..", "..", "..", "shared")
STORIES = [
    ("girl", "Once upon a time, there was a little girl named", " Lily"),
    ("park", "Tom was a happy boy. One day, Tom went to the", " park"),
]
VARY = ("id", "status", "threshold", "score", "masked_score", "subsets", "answer", "text")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "server.py"), *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.at = self.process.stdout.readline().strip()
        if not self.at:
            skip("the model's runtime does not start here")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)

    def stats(self):
        with urllib.request.urlopen(self.at + "/stats", timeout=60) as answer:
            return json.load(answer)


def run(sis, command, *options):
    done = subprocess.run([sis, command, *options, "--input", "in.jsonl", "--prompt", "prompt.txt"], capture_output=True,
                          text=True, timeout=300)
    if "without libcurl" in done.stderr:
        skip("built without libcurl")
    if done.returncode not in (0, 3) or not done.stdout:
        sys.exit(f"sis {command}: status {done.returncode}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def explain(sis, address, field, *options):
    """Records, without what differs from run to run."""
    found = run(sis, "explain", "--model", address, "--explain", field, "--quiet", *options)
    return [{k: v for k, v in record.items() if k in VARY} for record in found]


def write_inputs(prompt, examples):
    with open("prompt.txt", "w") as f:
        f.write(prompt)
    with open("in.jsonl", "w") as f:
        f.writelines(json.dumps(e) + "\n" for e in examples)


def drawn(record):
    """The text with the words of subset 1 in brackets."""
    words, chosen = record["text"].split(), record["subsets"][0]["features"] if record["subsets"] else []
    return " ".join(f"[{w}]" if i in chosen else w for i, w in enumerate(words))


def margins(record):
    """Not that of the empty prompt: there the answer begins the text, and a tokenizer cuts it in another way."""
    return [record["score"]] + [s["score"] for s in record["subsets"]]


def story(sis, folder):
    folder = os.path.abspath(os.environ.get("SIS_LLM") or folder)
    modules = os.path.join(folder, "node_modules")
    models = [os.path.join(place, "stories260K.gguf") for place in (folder, os.path.join(SHARED, "data", "llm"))]
    model = next((os.path.abspath(m) for m in models if os.path.exists(m)), None)
    if not shutil.which("node"):
        skip("node is not installed")
    if not os.path.isdir(os.path.join(modules, "node-llama-cpp")):
        skip(f"no node-llama-cpp in {modules} (tools/install-llama.sh)")
    if not model:
        skip("stories260K.gguf is not in " + " or ".join(os.path.dirname(m) for m in models))
    with Server("story", modules, model) as server:
        write_inputs("{story}", [{"id": i, "story": s, "answer": a} for i, s, a in STORIES])
        options = ("--features", "word", "--method", "quick", "--max-subsets", "1", "--jobs", "2")
        echo = explain(sis, server.at + "/v1/completions#story", "story", *options)
        plain = explain(sis, server.at + "/completion", "story", *options)
    for a, b in zip(echo, plain, strict=True):
        far = max(abs(x - y) for x, y in zip(margins(a), margins(b), strict=True))
        print(f"{a['id']}: {a['status']}, margin {a['score']:.4f}, the two paths differ by {far:.1e}")
        print(f"   {drawn(a)} ->{a['answer']}")
        assert far < 1e-4, (a, b)
        assert [set(s["features"]) for s in a["subsets"]] == [set(s["features"]) for s in b["subsets"]], (a, b)
    assert any(r["subsets"] for r in echo), echo


def facts_of(n):
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    import facts
    return [{k: e[k] for k in ("id", "context", "question", "answer")} for e in facts.questions(n, 3)]


def check_estimate(sis, address):
    """--dry-run, held against one subset of each example: within a tenth."""
    done = subprocess.run([sis, "explain", "--model", address, "--explain", "context", "--input", "in.jsonl", "--prompt",
                           "prompt.txt", "--dry-run"], capture_output=True, text=True, timeout=60, check=True)
    told = float(re.search(r"--method quick: about ([0-9.e+]+) prompts", done.stdout)[1])
    found = run(sis, "explain", "--model", address, "--explain", "context", "--quiet", "--method", "quick", "--max-subsets", "1",
                "--jobs", "8")
    asked = sum(r["evaluations"] for r in found)
    print(f"--method quick, one subset: {told:g} prompts estimated, {asked} asked")
    assert abs(told - asked) < 0.1 * asked, (told, asked)


def faults(sis):
    write_inputs("{context} Question: {question} Answer:", facts_of(9))
    options = ("context", "--method", "quick", "--jobs", "8")
    with Server("rules") as server:
        wanted = explain(sis, server.at + "/completion", *options)
        check_estimate(sis, server.at + "/v1/completions#rules")
    with Server("rules", "--faults", "0.05") as server:
        address = server.at + "/completion"
        while server.stats()["requests"] < 1000:
            assert explain(sis, address, *options, "--retries", "10") == wanted
        stats = server.stats()
        print(f"{stats['requests']} requests at 8 connections, {stats['faults']} refused: the same records")
        assert stats["faults"] > 20, stats
        assert all(r["status"] == "explained" for r in wanted)
        assert explain(sis, address, *options, "--cache", "c.sqlite", "--retries", "10") == wanted
        before = server.stats()
        assert explain(sis, address, *options, "--cache", "c.sqlite") == wanted
        with open("r.jsonl", "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in run(sis, "explain", "--model", address, "--explain", "context", "--method",
                                                          "quick", "--quiet", "--cache", "c.sqlite"))
        audits = run(sis, "verify", "r.jsonl", "--model", address, "--explain", "context", "--cache", "c.sqlite")
        assert all(a["holds"] for a in audits), audits
        after = server.stats()
        print(f"from the cache: {after['requests'] - before['requests']} requests")
        assert after == before, (before, after)


def main():
    os.environ["no_proxy"] = "127.0.0.1"
    kind, sis = sys.argv[1], os.path.abspath(sys.argv[2])
    folder = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else "."
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        story(sis, folder) if kind == "story" else faults(sis)
        os.chdir("/")


if __name__ == "__main__":
    main()
