#!/usr/bin/env python3
"""run.py SIS FOLDER - explanations of a language model in llama.cpp's runtime.

The story model, asked by /v1/completions with echo and by llama.cpp's /completion, has the same margins within 1e-4; a
thousand requests by 8 connections, 5 % of them refused, give the same records as without faults; a second run
is answered from the cache. FOLDER/node_modules holds node-llama-cpp, FOLDER/stories260K.gguf is the model.
$SIS_LLM names another folder."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
STORIES = [
    ("girl", "Once upon a time, there was a little girl named", " Lily"),
    ("time", "Once upon a time, there was a little", " girl"),
    ("park", "Tom was a happy boy. One day, Tom went to the", " park"),
    ("lily", "Lily had a big red ball. She loved to play with it. One day,", " Lily"),
]
VARY = ("id", "status", "threshold", "score", "masked_score", "subsets", "answer", "words")


class Server:
    def __init__(self, folder, *options):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "server.py"), "story", os.path.join(folder, "node_modules"),
             os.path.join(folder, "stories260K.gguf"), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.at = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def stats(self):
        with urllib.request.urlopen(self.at + "/stats") as answer:
            return json.load(answer)


def explain(sis, address, *options):
    """Records, without what differs from run to run."""
    done = subprocess.run([sis, "explain", "--model", address, "--input", "in.jsonl", "--prompt", "prompt.txt", "--explain",
                           "story", "--features", "word", "--quiet", *options], capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 3) or not done.stdout:
        sys.exit(f"sis explain: status {done.returncode}: {done.stderr}")
    return [{k: v for k, v in json.loads(line).items() if k in VARY} for line in done.stdout.splitlines()]


def margins(record):
    """Not that of the empty prompt: there the answer begins the text, and a tokenizer cuts it in another way."""
    return [record["score"]] + [s["score"] for s in record["subsets"]]


def main():
    sis, folder = os.path.abspath(sys.argv[1]), os.path.abspath(os.environ.get("SIS_LLM") or sys.argv[2])
    if not glob.glob(folder + "/node_modules/node-llama-cpp") or not os.path.exists(folder + "/stories260K.gguf"):
        print("skipped: needs the packages node-llama-cpp and @node-llama-cpp/linux-x64 of npm (tools/install-llama.sh) "
              f"and stories260K.gguf in {folder}, or a folder with both in $SIS_LLM")
        sys.exit(77)
    os.environ["no_proxy"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        with open("prompt.txt", "w") as f:
            f.write("{story}")
        with open("in.jsonl", "w") as f:
            f.writelines(json.dumps({"id": i, "story": s, "answer": a}) + "\n" for i, s, a in STORIES)
        with Server(folder) as server:
            echo = explain(sis, server.at + "/v1/completions#story")
            plain = explain(sis, server.at + "/completion")
            for a, b in zip(echo, plain):
                assert a["words"] == b["words"] and len(a["subsets"]) == len(b["subsets"]), (a, b)
                far = max(abs(x - y) for x, y in zip(margins(a), margins(b)))
                assert far < 1e-4, (a["id"], far)
                print(f"{a['id']}: {a['status']}, margin {a['score']:.4f}, the two paths differ by {far:.1e}")
                print("   " + "; ".join(" ".join(a["words"][i] for i in sorted(s["features"])) for s in a["subsets"]))
            assert any(r["subsets"] for r in echo)
            before = server.stats()["requests"]
            assert explain(sis, server.at + "/completion", "--cache", "c.sqlite") == plain
            middle = server.stats()["requests"]
            assert explain(sis, server.at + "/completion", "--cache", "c.sqlite") == plain
            again = server.stats()["requests"] - middle
            print(f"{middle - before} requests; from the cache {again}")
        with Server(folder, "--faults", "0.05") as server:
            while server.stats()["requests"] < 1000:
                assert explain(sis, server.at + "/completion", "--jobs", "8") == plain
            stats = server.stats()
            print(f"{stats['requests']} requests at 8 connections, {stats['faults']} refused: the same records")
            assert stats["faults"] > 20, stats
        assert again <= 1, f"{again} requests although all answers are in the cache"  # opening asks one


if __name__ == "__main__":
    main()
