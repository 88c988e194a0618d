# SPDX-License-Identifier: MIT
"""A language model of a few lines behind the protocols that sis speaks, for tests.

It answers "Where does NAME live?" from sentences "NAME lives in PLACE." of its prompt, and "nowhere" without one. Tokens are words with
the blank in front of them, punctuation marks, or single bytes of characters that are not ASCII.

usage: llm_server.py FILE: writes its port to FILE. The address may begin with a mode, as in /noise/v1/completions. It
changes how the server behaves:
    noecho       /v1/completions gives nothing back, as llama.cpp's does
    lists        /v1/completions refuses echo, and answers with lists of tokens, as OpenAI's does
    five         no more than five alternatives
    nologprobs   no log-probabilities
    one          max_tokens of 0, and lists of prompts, are refused
    noise        scores differ from answer to answer
    flaky        every few requests fail: 429, 500, 503, a reset
    busy         every few requests fail with 429 and no Retry-After
    slow         an answer takes a second
    key          asks for the key secret-key
    merge        the token before the answer and its first are one
    html, truncated, mistyped, nan, few, error   what comes back is wrong
    bos          a token that is not in the text comes first, and moves the offsets of the others, as vLLM's does
    bytes        offsets count bytes, not characters
    repeat       every choice has the number 0
    above        log-probabilities above 0
    null, list, object, number, deep   the answer is that
    huge, endless, drip   an answer of many megabytes, one that never ends, one that comes byte by byte
    away         every question is sent to another address
    later, never, soon, someday   429, with Retry-After of a day, of a date, below 0, of a word
    escapes      the error message has control characters
    parrot       what the model writes is the header with the key
"""
import json
import math
import os
import random
import re
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

local = threading.local()  # .mode: of the request that a thread answers
lock = threading.Lock()
counts = {}  # requests of each mode
VOCABULARY = [" Oslo", " Rome", " nowhere", " Lima", ".", "\n"]


def tokens_of(text):
    """[(bytes, first character)]"""
    found = []
    pattern = r" ?[A-Za-z0-9']+|[^A-Za-z0-9']" if local.mode != "merge" else r"Answer: ?[A-Za-z]+| ?[A-Za-z0-9']+|[^A-Za-z0-9']"
    for m in re.finditer(pattern, text, re.S):
        piece = m.group(0)
        if len(piece) == 1 and ord(piece) > 127:
            found += [(bytes([b]), m.start()) for b in piece.encode()]
        else:
            found.append((piece.encode(), m.start()))
    return found


def first_token(rest):
    """Of bytes that may begin in the middle of a character."""
    return rest[:1] if rest[0] > 127 else tokens_of(rest.decode())[0][0]


def answer_of(prompt):
    """The text that the model would write, and how sure it is."""
    asked = re.findall(r"Where does (\w+) live\?", prompt)
    places = re.findall(r"%s lives in ([^.\s]+)\." % asked[-1], prompt) if asked else []
    blank = "" if places and ord(places[-1][0]) > 127 else " "
    return (blank + (places[-1] if places else "nowhere") + ".").encode(), 2.0 + len(places)


def distribution(before, prompt):
    """Log-probabilities of some tokens after `prompt` + what was written since."""
    wanted, sure = answer_of(prompt)
    rest = wanted[len(before):] if wanted.startswith(before) else b"\n"
    first = first_token(rest or b"\n")
    logits = {t.encode(): -0.1 * i for i, t in enumerate(VOCABULARY)}
    logits[first] = sure
    if local.mode == "noise":
        logits = {t: v + random.uniform(-0.02, 0.02) for t, v in logits.items()}
    top = max(logits.values())
    total = top + math.log(sum(math.exp(v - top) for v in logits.values()))
    return {t: v - total for t, v in logits.items()}


def show(token):
    try:
        return token.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join("\\x%02x" % b for b in token)


def split_prompt(text):
    """Where the prompt ends and the answer begins: behind "Answer:", or at the end."""
    at = text.rfind("Answer:")
    return (text[: at + 7], text[at + 7:]) if at >= 0 else (text, "")


def echo(text, number, k):
    prompt, _ = split_prompt(text)
    tokens, own, offsets, top = [], [], [], []
    written = b""
    for i, (token, at) in enumerate(tokens_of(text)):
        if at + len(token) <= len(prompt):
            dist = {token: -1.0, b" else": -1.5}
        else:
            dist = distribution(written, prompt)
            written += token
            if token.startswith(b"Answer:"):
                written = token[7:]
                dist = {b"Answer:" + t: v for t, v in dist.items()}
        tokens.append(show(token))
        offsets.append(at)
        own.append(None if i == 0 else dist.get(token, -12.0))
        best = sorted(dist.items(), key=lambda d: -d[1])[:k]
        top.append(None if i == 0 else {show(t): v for t, v in best + [(token, own[-1])]})
    return {"index": number, "text": text, "finish_reason": "length",
            "logprobs": {"tokens": tokens, "token_logprobs": own, "top_logprobs": top, "text_offset": offsets}}


def generate(prompt, most, k, forced=None):
    written, content = b"", []
    while len(content) < most:
        dist = distribution(written, prompt)
        if forced is not None:
            left = forced.encode()[len(written):]
            if not left:
                break
            token = first_token(left)
        else:
            token = max(dist, key=dist.get)
            if token == b"\n":
                break
        entry = lambda t: {"token": show(t) if not show(t).startswith("bytes:") else "\ufffd", "bytes": list(t), "logprob": dist.get(t, -12.0)}
        best = sorted(dist, key=lambda t: -dist[t])[:k]
        content.append(dict(entry(token), top_logprobs=[entry(t) for t in best]))
        written += token
    return written.decode(errors="ignore"), content


def lists_of(content):
    """Tokens as /v1/completions lists them; those that are no characters are written as bytes."""
    name = lambda entry: show(bytes(entry["bytes"]))
    return {"tokens": [name(c) for c in content], "token_logprobs": [c["logprob"] for c in content],
            "top_logprobs": [{name(t): t["logprob"] for t in c["top_logprobs"]} for c in content]}


class Refused(Exception):
    pass


def reply(path, q):
    if path == "/completion":
        grammar = q.get("grammar")
        forced = json.loads(grammar[len("root ::= "):]) if grammar else None
        text, content = generate(q["prompt"], q["n_predict"], q.get("n_probs", 0), forced)
        return {"content": text, "tokens_evaluated": len(tokens_of(q["prompt"])), "tokens_predicted": len(content),
                "completion_probabilities": content}
    if path == "/v1/chat/completions":
        prompt = q["messages"][-1]["content"]
        if local.mode == "five" and q["top_logprobs"] > 5:
            raise Refused("top_logprobs must be at most 5")
        text, content = generate(prompt, q["max_tokens"], q["top_logprobs"])
        if content and content[0]["token"].startswith(" "):
            for c in [content[0]] + content[0]["top_logprobs"]:
                c["token"] = c["token"].lstrip(" ")
                c["bytes"] = list(c["token"].encode())
        choice = {"index": 0, "message": {"role": "assistant", "content": text.lstrip()}, "logprobs": {"content": content}}
        n = len(tokens_of(prompt))
        return {"choices": [choice], "usage": {"prompt_tokens": n, "completion_tokens": len(content)}}
    prompts = q["prompt"]
    if local.mode == "lists" and q.get("echo"):
        raise Refused("echo and logprobs cannot be used together")
    if local.mode == "one" and (isinstance(prompts, list) or q["max_tokens"] == 0):
        raise Refused("max_tokens must be at least 1 and prompt a string")
    prompts = prompts if isinstance(prompts, list) else [prompts]
    choices, written = [], 0
    for i, prompt in enumerate(prompts):
        if q.get("echo") and local.mode != "noecho":
            choices.append(echo(prompt, i, q["logprobs"]))
        else:
            text, content = generate(prompt, q["max_tokens"], q.get("logprobs", 0))
            written += len(content)
            choices.append({"index": i, "text": text, "logprobs": lists_of(content) if local.mode == "lists" else {"content": content}})
    random.shuffle(choices)
    return {"choices": choices[:-1] if local.mode == "few" and len(choices) > 1 else choices,
            "usage": {"prompt_tokens": sum(len(tokens_of(p)) for p in prompts), "completion_tokens": written}}


def distort(body):
    """What a server may do wrong with numbers, and still look right."""
    for c in body.get("choices", []):
        own = c.get("logprobs") or {}
        if local.mode == "repeat":
            c["index"] = 0
        if "text_offset" not in own:
            continue
        if local.mode == "bos":
            own.update(tokens=["<s>"] + own["tokens"], token_logprobs=[None] + own["token_logprobs"],
                       top_logprobs=[None] + own["top_logprobs"], text_offset=[0] + [at + 3 for at in own["text_offset"]])
        if local.mode == "bytes":
            own["text_offset"] = [len(c["text"][:at].encode()) for at in own["text_offset"]]
    if local.mode == "parrot":
        said = local.key or "none"
        body["content"] = said
        for c in body.get("choices", []):
            c["text"] = said
            c["message"] = {"role": "assistant", "content": said}
    return body


def raised(value):
    """The same with log-probabilities above 0."""
    if isinstance(value, dict):
        return {k: v + 20 if k == "logprob" else raised(v) for k, v in value.items()}
    return [raised(v) for v in value] if isinstance(value, list) else value


WHOLE = {"null": b"null", "list": b"[1,2]", "object": b'{"choices":{"0":{}},"content":7,"completion_probabilities":{}}',
         "number": b'{"choices":[7,"a",null],"content":null,"completion_probabilities":[1]}', "deep": b"[" * 100000}
WAIT = {"later": "86400", "never": "Fri, 31 Dec 2100 23:59:59 GMT", "soon": "-5", "someday": "someday"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json", length=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if status == 429 and local.mode != "busy":
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def take_mode(self):
        """The mode in front of the path, "good" without one; the path without it."""
        found = re.match(r"/(\w+)(/(?:v1/.*|completion)|/)$", self.path)
        local.mode, path = found.groups() if found and found[1] != "v1" else ("good", self.path)
        return path

    def do_GET(self):
        self.take_mode()
        self.answer(200, str(counts.get(local.mode, 0)).encode())

    def pour(self, pieces, seconds=0.0):
        """A body that has no end."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.close_connection = True
        try:
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(seconds)
        except OSError:
            pass

    def play(self):
        """The modes that answer no question."""
        if local.mode in WHOLE:
            self.answer(200, WHOLE[local.mode])
        elif local.mode in WAIT:
            self.send_response(429)
            self.send_header("Retry-After", WAIT[local.mode])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif local.mode == "away":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.1:9/v1/completions")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif local.mode == "escapes":
            self.answer(400, json.dumps({"error": {"message": "a\x1b[31mb\nc\u202ed\r" + "long " * 5000}}).encode())
        elif local.mode == "huge":
            self.answer(200, b'{"choices":"' + b"x" * (100 << 20) + b'"}')
        elif local.mode == "endless":
            self.pour(b" " * (1 << 20) for _ in iter(int, 1))
        elif local.mode == "drip":
            self.pour((b" " for _ in range(600)), 0.1)
        else:
            return False
        return True

    def do_POST(self):
        q = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.take_mode()
        with lock:
            number = counts[local.mode] = counts.get(local.mode, 0) + 1
        if local.mode == "flaky" and number % 7 == 2:
            kind = number // 7 % 4
            if kind == 3:
                self.close_connection = True
                self.connection.close()
                return
            self.answer([429, 500, 503][kind], b'{"error":{"message":"busy"}}')
            return
        if local.mode == "busy" and number % 5 == 2:
            self.answer(429, b'{"error":{"message":"busy"}}')
            return
        if self.play():
            return
        if local.mode == "slow":
            time.sleep(1)
        if local.mode == "key" and self.headers.get("Authorization") != "Bearer secret-key":
            said = self.headers.get("Authorization")  # some servers repeat what they were given
            self.answer(401, json.dumps({"error": {"message": f"wrong key: {said}" if said else "no key"}}).encode())
            return
        try:
            body = reply(path, q)
        except Refused as why:
            self.answer(400, json.dumps({"error": {"message": str(why)}}).encode())
            return
        for c in body.get("choices", []) if local.mode == "nologprobs" else []:
            c["logprobs"] = None
        local.key = self.headers.get("Authorization")
        body = raised(distort(body)) if local.mode == "above" else distort(body)
        late = number > 2
        if local.mode == "mistyped" and late:
            for c in body["choices"]:
                c["logprobs"]["text_offset"] = ["a"] * len(c["logprobs"]["tokens"])
        if local.mode == "nan" and late:
            for c in body["choices"]:
                c["logprobs"]["token_logprobs"] = ["x"] * len(c["logprobs"]["tokens"])
        text = json.dumps(body).encode()
        if local.mode == "html" and late:
            self.answer(200, b"<html>hello</html>", "text/html")
        elif local.mode == "truncated" and late:
            self.answer(200, text[: len(text) // 2])
        elif local.mode == "error" and late:
            self.answer(400, b'{"error":{"message":"context too long"}}')
        else:
            self.answer(200, text)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64


server = Server(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + ".part", "w") as f:
    f.write(str(server.server_address[1]))

os.replace(sys.argv[1] + ".part", sys.argv[1])
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()  # ends with who started it
