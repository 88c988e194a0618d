#!/usr/bin/env python3
"""Language models behind the protocols of OpenAI and llama.cpp, for tests and examples.

    server.py rules                          facts.py's questions answered by a rule: needs nothing
    server.py facts WEIGHTS                  the model that facts.py trains: needs PyTorch
    server.py story MODULES FILE.gguf        a model in llama.cpp's runtime: MODULES is the node_modules
                                             folder that holds node-llama-cpp

It listens on a free port of 127.0.0.1 and prints its address. It answers

    POST /v1/completions          prompts, alone or in a list, echo, logprobs
    POST /v1/chat/completions     the messages' contents are the prompt; logprobs, top_logprobs
    POST /completion              as llama.cpp: n_predict, n_probs, and a grammar of one literal
    GET /stats                    {"requests": answered, "faults": refused, "prompts": asked about}

Decoding is greedy. With --like llama.cpp, /v1/completions ignores echo and answers in llama.cpp's form.
--faults 0.05 refuses that share of the requests, in turn by status 429, status 500 and a reset connection.
The server ends when its standard input does (--stay: when it is killed).
"""

import argparse
import array
import base64
import heapq
import json
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import facts  # noqa: E402


class Words:
    """The words of facts.py and a function: rows of ids -> for each row the log-probabilities after each word."""
    begin, end = None, facts.END

    def __init__(self, after):
        self.after, self.vocabulary = after, [facts.word_of(i).encode() for i in range(len(facts.VOCABULARY))]

    def tokens(self, text):
        return facts.ids_of(text), [piece.encode() for piece in facts.pieces(text)]


class Story:
    """A model in llama.cpp's runtime."""

    def __init__(self, modules, path):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "story.mjs")
        self.node = subprocess.Popen(["node", script, modules, path], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        hello = json.loads(self.node.stdout.readline() or sys.exit("node-llama-cpp does not start"))
        self.vocabulary = [bytes.fromhex(word) for word in hello["vocabulary"]]
        self.begin, self.end = hello["begin"], hello["end"]

    def ask(self, **question):
        self.node.stdin.write(json.dumps(question) + "\n")
        self.node.stdin.flush()
        return json.loads(self.node.stdout.readline())

    def tokens(self, text):
        """A blank that the tokenizer puts in front belongs to no piece."""
        ids = self.ask(text=text)["ids"] if text else []
        pieces = [self.vocabulary[i] for i in ids]
        if b"".join(pieces) == b" " + text.encode():
            pieces[0] = pieces[0][1:]
        return ids, pieces

    def after(self, rows, last=None):
        return [[array.array("d", base64.b64decode(found)) for found in self.ask(ids=row, last=last or len(row))["logprobs"]]
                for row in rows]


def literal(grammar):
    """The text of a grammar that allows one text only: root ::= "text"."""
    found = re.fullmatch(r'\s*root\s*::=\s*("(?:[^"\\]|\\.)*")\s*', grammar)
    if not found:
        raise ValueError("grammar: this server knows root ::= \"text\" only")
    return json.loads(found[1]).encode()


class Model:
    def __init__(self, backend):
        self.backend, self.lock = backend, threading.Lock()

    def rows(self, prompts):
        with self.lock:
            found = [self.backend.tokens(prompt) for prompt in prompts]
        begin = [] if self.backend.begin is None else [self.backend.begin]
        return [(begin + ids, pieces) for ids, pieces in found]

    def after(self, rows, last=None):
        with self.lock:
            return self.backend.after(rows, last)

    def token(self, i, logprobs, k, piece=None):
        """One token: its bytes and log-probability, and the k most probable ones with theirs."""
        piece = self.backend.vocabulary[i] if piece is None else piece
        if i == self.backend.end:
            piece = b""
        if logprobs is None:
            return {"id": i, "bytes": piece, "logprob": None, "top": None}
        best = heapq.nlargest(k, range(len(logprobs)), key=logprobs.__getitem__)
        return {"id": i, "bytes": piece, "logprob": float(logprobs[i]),
                "top": [(j, self.backend.vocabulary[j], float(logprobs[j])) for j in best]}

    def read(self, row, pieces, k, after):
        """The tokens of a prompt; after: what after() answers about it."""
        logprobs = [None] * (len(row) == len(pieces)) + list(after)
        return [self.token(i, lp, k, piece) for i, piece, lp in zip(row[-len(pieces):], pieces, logprobs)]

    def write(self, row, count, k, text=None):
        """Up to `count` tokens that follow; text: no others than those of this text."""
        row, found = list(row), []
        while len(found) < count and row:
            logprobs = self.after([row], 1)[0][-1]
            allowed = range(len(logprobs))
            if text is not None:
                allowed = [i for i in allowed if (word := self.backend.vocabulary[i]) and i != self.backend.end
                           and text.startswith(word)] if text else [self.backend.end]
                if not allowed:  # a word that the model does not know
                    found.append(self.token(max(range(len(logprobs)), key=logprobs.__getitem__), logprobs, k))
                    break
            i = max(allowed, key=logprobs.__getitem__)
            found.append(self.token(i, logprobs, k))
            if i == self.backend.end:
                break
            text = text[len(self.backend.vocabulary[i]):] if text is not None else None
            row.append(i)
        return found


def shown(data):
    return data.decode(errors="replace")


def joined(tokens):
    return shown(b"".join(t["bytes"] for t in tokens))


def contents(tokens, ids=False):
    """Tokens as chat answers and llama.cpp list them."""
    def entry(i, data, logprob):
        e = {"token": shown(data), "bytes": list(data), "logprob": logprob}
        return dict(e, id=i) if ids else e
    return [dict(entry(t["id"], t["bytes"], t["logprob"]), top_logprobs=[entry(*other) for other in t["top"]])
            for t in tokens]


def arrays(tokens):
    """Tokens as completions list them."""
    offsets, n = [], b""
    for t in tokens:
        offsets.append(len(shown(n)))
        n += t["bytes"]
    tops = [t["top"] and dict([(shown(d), lp) for _, d, lp in reversed(t["top"])], **{shown(t["bytes"]): t["logprob"]})
            for t in tokens]
    return {"tokens": [shown(t["bytes"]) for t in tokens], "token_logprobs": [t["logprob"] for t in tokens],
            "text_offset": offsets, "top_logprobs": tops}


def reason(tokens, end):
    return "stop" if tokens and tokens[-1]["id"] == end else "length"


def completions(model, asked, like):
    prompts = asked["prompt"] if isinstance(asked["prompt"], list) else [asked["prompt"]]
    k, count, choices, used = asked.get("logprobs"), asked.get("max_tokens", 16), [], [0, 0]
    rows, echo = model.rows(prompts), asked.get("echo") and like != "llama.cpp"
    told = model.after([row for row, _ in rows]) if echo and all(prompts) else [None] * len(rows)
    for index, ((row, pieces), known) in enumerate(zip(rows, told)):
        before = model.read(row, pieces, k or 0, known) if known is not None else []
        after = model.write(row, count, k or 0)
        used = [used[0] + len(row), used[1] + len(after)]
        ended = reason(after, model.backend.end)
        if ended == "stop":
            after.pop()
        logprobs = None
        if k is not None:
            logprobs = {"content": contents(after, True)} if like == "llama.cpp" else arrays(before + after)
        choices.append({"index": index, "text": joined(before + after), "logprobs": logprobs, "finish_reason": ended})
    return {"id": "cmpl-0", "object": "text_completion", "model": asked.get("model"), "choices": choices,
            "usage": {"prompt_tokens": used[0], "completion_tokens": used[1], "total_tokens": sum(used)}}


def chat(model, asked, _):
    [(row, _)] = model.rows(["\n".join(m["content"] for m in asked["messages"])])
    after = model.write(row, asked.get("max_completion_tokens", asked.get("max_tokens", 16)), asked.get("top_logprobs", 0))
    usage = {"prompt_tokens": len(row), "completion_tokens": len(after), "total_tokens": len(row) + len(after)}
    ended = reason(after, model.backend.end)
    if ended == "stop":
        after.pop()
    logprobs = {"content": contents(after)} if asked.get("logprobs") else None
    return {"id": "chat-0", "object": "chat.completion", "model": asked.get("model"), "usage": usage, "choices": [
        {"index": 0, "message": {"role": "assistant", "content": joined(after)}, "logprobs": logprobs,
         "finish_reason": ended}]}


def completion(model, asked, _):
    [(row, _)] = model.rows([asked["prompt"]])
    text = literal(asked["grammar"]) if asked.get("grammar") else None
    after = model.write(row, asked.get("n_predict", 16), asked.get("n_probs", 0), text)
    answer = {"content": joined(after), "tokens_evaluated": len(row), "tokens_predicted": len(after),
              "stop": True, "stop_type": "eos" if reason(after, model.backend.end) == "stop" else "limit"}
    return dict(answer, completion_probabilities=contents(after, True)) if asked.get("n_probs") else answer


ROUTES = {"/v1/completions": completions, "/v1/chat/completions": chat, "/completion": completion}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/stats":
            self.answer(200, self.server.stats)
        elif self.path == "/v1/models":
            self.answer(200, {"object": "list", "data": [{"id": self.server.name, "object": "model"}]})
        else:
            self.answer(404, {"error": {"message": "unknown path", "code": 404}})

    def fault(self):
        """Refuses the request? Which kind comes next is counted, which request is drawn."""
        with self.server.count:
            if self.server.draw.random() >= self.server.faults:
                return False
            kind = self.server.stats["faults"] % 3
            self.server.stats["faults"] += 1
        if kind == 2:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        else:
            self.answer((429, 500)[kind], {"error": {"message": "try again", "code": (429, 500)[kind]}},
                        **{"Retry_After": "0"} if kind == 0 else {})
        return True

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.fault():
            return
        if self.path not in ROUTES:
            self.answer(404, {"error": {"message": "unknown path", "code": 404}})
            return
        try:
            asked = json.loads(data)
            body = ROUTES[self.path](self.server.model, asked, self.server.like)
        except (KeyError, TypeError, ValueError) as wrong:
            self.answer(400, {"error": {"message": f"{type(wrong).__name__}: {wrong}", "code": 400}})
            return
        with self.server.count:
            self.server.stats["requests"] += 1
            self.server.stats["prompts"] += len(body.get("choices", "1"))
        self.answer(200, body)


class Server(ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, *_):
        """A client that goes away is no error of the server."""
        if not isinstance(sys.exc_info()[1], OSError) and not isinstance(sys.exc_info()[1], ValueError):
            super().handle_error(*_)


def start(backend, name, like="vllm", faults=0.0, port=0, seed=1):
    """A server, not yet serving; its port is server_address[1]."""
    server = Server(("127.0.0.1", port), Handler)
    server.model, server.name, server.like, server.faults = Model(backend), name, like, faults
    server.draw, server.count = random.Random(seed), threading.Lock()
    server.stats = {"requests": 0, "faults": 0, "prompts": 0}
    return server


def backend_of(kind, files):
    if kind == "story":
        return Story(*files)
    if kind == "facts":
        weights = facts.load(*files)
        return Words(lambda rows, last: facts.next_words(weights, rows, last))
    return Words(facts.by_rule)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("rules", "facts", "story"))
    parser.add_argument("files", nargs="*")
    parser.add_argument("--like", choices=("vllm", "llama.cpp"), default="vllm")
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--stay", action="store_true")
    args = parser.parse_args()
    server = start(backend_of(args.kind, args.files), args.kind, args.like, args.faults, args.port)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=server.serve_forever, daemon=not args.stay).start()
    if not args.stay:
        sys.stdin.read()


if __name__ == "__main__":
    main()
