#!/usr/bin/env python3
"""server.py - models behind HTTP for the tests, by the published protocols, with faults on demand.

    server.py [--tls CERTIFICATE KEY]

Listens on 127.0.0.1, prints its port on one line, and ends when its standard input does. The first
part of a path says what goes wrong, the rest is the address of a model:

    http://127.0.0.1:PORT/ok/v2/models/credit          Open Inference Protocol, JSON
    http://127.0.0.1:PORT/binary/v2/models/credit      ... with Triton's binary tensors
    http://127.0.0.1:PORT/ok/v1/models/credit          KServe v1; /tf/: with TensorFlow's metadata
    http://127.0.0.1:PORT/ok/invocations               MLflow, the model credit

Requests are judged strictly: anything that the protocols do not allow is answered with status 400 and
{"error": "..."}. Models and faults are listed in MODELS and FAULTS.
"""
import gzip
import importlib.util
import json
import math
import os
import socket
import ssl
import struct
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location(
    "credit", os.path.join(HERE, "..", "..", "examples", "credit.py"))
credit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(credit)

FORMATS = {"FP32": "f", "FP64": "d", "INT8": "b", "INT16": "h", "INT32": "i", "INT64": "q",
           "UINT8": "B", "UINT16": "H", "UINT32": "I", "UINT64": "Q", "BOOL": "?"}
TENSORFLOW = {"FP32": "DT_FLOAT", "FP64": "DT_DOUBLE", "INT32": "DT_INT32", "BYTES": "DT_STRING"}


class Wrong(Exception):
    """A request that the protocol does not allow."""


# ---- Models: rows in, one list of scores a row out -----------------------------------------------

def predict_credit(rows, _):
    return [[p] for p in (q[1] for q in credit.CreditModel().predict_proba(rows))]


def predict_mood(rows, _):
    """Texts: 1 for each "good", the share of capital letters as a second score."""
    return [[1 - math.exp(-t.lower().count("good")), sum(c.isupper() for c in t) / max(1, len(t))]
            for t in rows]


def predict_connection(rows, handler):
    """Which connection, the how manieth request on it, rows in it."""
    return [[handler.connection_number, handler.requests, len(rows)] for _ in rows]


def predict_loans(rows, _):
    """Rows of a table as they are: 1 for people who own their house and say what they earn."""
    rows = [list(r.values()) if isinstance(r, dict) else r for r in rows]
    for r in rows:
        if not isinstance(r[1], (str, type(None))) or isinstance(r[0], str):
            raise Wrong("expected a number, a word and a number, found %r" % (r,))
    return [[0.6 * (r[1] == "own") + 0.4 * (r[2] is not None and r[2] > 150)] for r in rows]


def predict_lines(rows, handler):
    """Images of any sides: the mean of the brightest line."""
    width = handler.row_shape[-1]
    return [[max(math.fsum(r[i:i + width]) / width for i in range(0, len(r), width))] for r in rows]


MODELS = {  # name: input, datatype, shape of a row, outputs (name, datatype), function
    "credit": ("row", "FP64", [8], [("score", "FP64")], predict_credit),
    "credit32": ("row", "FP32", [2, 2, 2], [("score", "FP64")], predict_credit),
    "lines": ("x", "FP32", [1, -1, -1], [("score", "FP32")], predict_lines),
    "loans": ("row", "FP64", [3], [("score", "FP64")], predict_loans),
    "two": ("row", "FP64", [8], [("label", "INT64"), ("score", "FP64")], predict_credit),
    "mood": ("text", "BYTES", [1], [("scores", "FP32")], predict_mood),
    "connection": ("x", "FP64", [-1], [("numbers", "FP64")], predict_connection),
    "sum8": ("x", "INT8", [3], [("sum", "INT32")], lambda rows, _: [[sum(r)] for r in rows]),
    "any": ("x", "BOOL", [2], [("any", "BOOL")], lambda rows, _: [[any(r)] for r in rows]),
    "odd": ("x", "FP8", [2], [("y", "FP32")], lambda rows, _: [[0] for _ in rows]),
    "fixed": ("x", "FP64", [4, 3], [("sum", "FP64")], lambda rows, _: [[sum(r)] for r in rows]),
    "shelf": ("text", "BYTES", [1], [("scores", "FP32")], predict_mood),
    "endless": ("x", "FP64", [4], [("sum", "FP64")], lambda rows, _: [[sum(r)] for r in rows]),
    "single": ("x", "FP64", [5], [("sum", "FP64")], lambda rows, _: [[sum(r)] for r in rows]),
}
NO_BATCH = {"fixed": [4, 3], "single": [5], "endless": [10**14, 4], "shelf": [2**20, 1]}  # shapes without a free axis of rows


# ---- The server ----------------------------------------------------------------------------------

class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    lock = threading.Lock()
    connections = 0
    seen = {}

    def handle_error(self, request, client_address):
        pass  # a client that went away is what some tests are about


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        with Server.lock:
            Server.connections += 1
            self.connection_number = Server.connections
        self.requests = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(None)

    def do_POST(self):
        length = self.headers.get("Content-Length")
        self.answer(self.rfile.read(int(length)) if length else b"")

    def answer(self, body):
        self.requests += 1
        self.fault, _, path = self.path[1:].partition("/")
        self.path_rest = "/" + path
        with Server.lock:
            self.turn = Server.seen[self.fault] = Server.seen.get(self.fault, 0) + 1
        try:
            if not self.fault_before(body):
                self.reply(200, *self.route(body))
        except Wrong as problem:
            self.reply(400, {"error": str(problem)})

    # ---- Faults

    def fault_before(self, body):
        """1 if the request has been answered, or never will be."""
        name, _, number = self.fault.partition("-")
        number = float(number or 0)
        infers = body is not None
        if name == "slow" and infers:
            time.sleep(number)
        elif name == "slowonce" and infers and self.turn <= 4:
            time.sleep(number)
        elif name == "every" and self.turn % number == 0:
            self.reply(503, {"error": "busy, come back later"})
            return 1
        elif name == "busy" and infers:
            self.reply(int(number or 503), {"error": "busy"}, {"Retry-After": "0"})
            return 1
        elif name == "cut" and infers or name == "cutonce" and self.turn % 4 == 3:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"outputs\":[")
            self.drop()
            return 1
        elif name == "drop" and infers:
            self.drop()
            return 1
        elif name in ("auth", "key", "login"):
            wanted = {"auth": ("Authorization", "Bearer s3cret"), "key": ("X-Key", "k3y"),
                      "login": ("Authorization", "Basic YWRhOmwwdmVs")}[name]
            if self.headers.get(wanted[0]) != wanted[1]:
                self.reply(401, {"detail": "who are you?"})
                return 1
        elif name == "redirect":
            self.reply(307, {}, {"Location": "/ok" + self.path_rest})
            return 1
        elif name == "away":
            self.reply(308, {}, {"Location": "http://ada:l0vel@localhost:1" + self.path_rest})
            return 1
        elif name == "circle":
            self.reply(302, {}, {"Location": self.path})
            return 1
        elif name == "large" and infers and len(body) > number:
            self.reply(413, {"error": "too large"})
            return 1
        elif name == "status" and infers:
            self.reply(int(number), {"error": "as you wish"})
            return 1
        return 0

    def drop(self):
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def spoil(self, data):
        """The answer to a prediction, made wrong."""
        fault = self.fault
        text = data.decode("latin-1")
        if fault == "html":
            return b"<html>It works!</html>"
        if fault == "malformed":
            return data[:-2]
        if fault == "nul":
            return b'{"note": "a\\u0000b", ' + data[1:]
        if fault == "nothing":
            return b""
        if fault == "error":
            return b'{"error": "weights are missing"}'
        if fault in ("nan", "inf"):
            value = {"nan": "NaN", "inf": "-Infinity"}[fault]
            found = json.loads(text)
            return json.dumps(found).replace(json.dumps(first_number(found)), value, 1).encode()
        if fault in ("shape", "count", "id", "type", "unnamed", "text"):
            found = json.loads(text)
            if "outputs" in found:
                output = found["outputs"][0]
                if fault == "shape":
                    output["shape"] = [len(output["data"]) + 1, 1]
                elif fault == "count":
                    output["data"].append(0)
                elif fault == "id":
                    found["id"] = "another"
                elif fault == "type":
                    output["datatype"] = "BYTES"
                elif fault == "unnamed":
                    output["name"] = "else"
                elif fault == "text":
                    output["data"][0] = "high"
            else:
                found["predictions"].append(0)
            return json.dumps(found).encode()
        return data

    # ---- Answers

    def reply(self, status, answer, headers=None, binary=b""):
        data = json.dumps(answer).encode()
        infers = self.command == "POST" and status == 200
        if infers:
            data = self.spoil(data)
        headers = dict(headers or {})
        headers.setdefault("Content-Type", "application/json")
        if binary:
            if self.fault == "binaryshort":
                binary = binary[:-1]
            headers["Content-Type"] = "application/octet-stream"
            headers["Inference-Header-Content-Length"] = str(
                len(data) + (10000 if self.fault == "binarylong" else 0))
        data += binary
        if self.fault == "gzip":
            if "gzip" not in self.headers.get("Accept-Encoding", ""):
                raise Wrong("gzip was not accepted")
            data = gzip.compress(data)
            headers["Content-Encoding"] = "gzip"
        if infers and self.fault in ("huge", "bomb"):
            return self.flood()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.fault == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(0, len(data), 7):
                part = data[i:i + 7]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
            return None
        length = len(data)
        if infers:
            length += {"long": 10, "short": -10}.get(self.fault, 0)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(data)
        if self.fault in ("long", "close"):  # without a word about it
            self.drop()
        return None

    def flood(self):
        """An answer without end, plain or a small one that unpacks to it."""
        block = b" " * 65536
        self.send_response(200)
        if self.fault == "bomb":
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while True:
                part = block
                if self.fault == "bomb":
                    part = packer.compress(block * 256) + packer.flush(zlib.Z_SYNC_FLUSH)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        except OSError:
            self.close_connection = True

    # ---- Protocols

    def route(self, body):
        path = self.path_rest
        if path == "/invocations":
            return self.mlflow(body)
        for prefix, protocol in (("/v2/models/", self.v2), ("/v1/models/", self.v1)):
            if path.startswith(prefix):
                return protocol(path[len(prefix):], body)
        if path == "/v2" and body is None:
            extensions = ["binary_tensor_data"] if self.fault.startswith("binary") else []
            if self.fault == "batch":
                extensions.append("model_configuration")
            return ({"name": "server.py", "version": "1", "extensions": extensions},)
        raise Wrong("no such path: " + path)

    def json_of(self, body, octets=False):
        kind = self.headers.get("Content-Type", "")
        if kind != ("application/octet-stream" if octets else "application/json"):
            raise Wrong("Content-Type: " + kind)
        return json.loads(body)

    def predict(self, name, rows):
        scores = MODELS[name][4](rows, self)
        return scores

    def v2(self, path, body):
        name, _, verb = path.replace("/versions/1", "").partition("/")
        if name == "untold":
            if body is None:
                return ({"name": name, "versions": ["1"], "platform": "any", "inputs": [],
                         "outputs": []},)
            name = "credit"
            self.untold = True
        else:
            self.untold = False
        if name == "shapeless" and body is None:
            return ({"name": name, "inputs": [{"name": "x", "shape": "8"}], "outputs": []},)
        if name == "nameless" and body is None:
            return ({"name": name, "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 8]}],
                     "outputs": [{"shape": [-1, 1]}]},)
        if name == "pair" and body is None:
            return ({"name": name, "inputs": [
                {"name": "ids", "datatype": "INT64", "shape": [-1, -1]},
                {"name": "mask", "datatype": "INT64", "shape": [-1, -1]},
                {"name": "scale", "datatype": "FP32", "shape": [1]}], "outputs": []},)
        if name == "wide" and body is None:
            return ({"name": name, "inputs": [
                {"name": "x", "datatype": "FP32", "shape": [2**20, 4]},
                {"name": "w", "datatype": "FP32", "shape": [-1, 2**12]}], "outputs": []},)
        if name == "pair" and verb == "infer":
            return self.infer_pair(body)
        if name not in MODELS:
            raise Wrong(f"unknown model {name}")
        given, kind, shape, outputs, _ = MODELS[name]
        if body is None and verb == "":
            full = NO_BATCH.get(name, [-1] + shape)
            return ({"name": name, "versions": ["1"], "platform": "python",
                     "inputs": [{"name": given, "datatype": kind, "shape": full}],
                     "outputs": [{"name": n, "datatype": d, "shape": [-1, -1]}
                                 for n, d in outputs]},)
        if body is None and verb == "config" and self.fault == "batch":
            return ({"name": name, "max_batch_size": 4},)
        if body is None or verb != "infer":
            raise Wrong("not a path of the protocol: " + self.path)
        return self.infer(name, body)

    def infer(self, name, body):
        given, kind, shape, outputs, _ = MODELS[name]
        head = self.headers.get("Inference-Header-Content-Length")
        if head and not self.fault.startswith("binary"):
            raise Wrong("binary tensors were not offered")
        request = self.json_of(body[:int(head)] if head else body, octets=bool(head))
        rest = body[int(head):] if head else b""
        if set(request) - {"id", "inputs", "outputs", "parameters"}:
            raise Wrong("unknown members: " + ", ".join(request))
        tensor, = request["inputs"]
        if tensor["name"] != given and not self.untold:
            raise Wrong("unknown input " + tensor["name"])
        if tensor["datatype"] != kind:
            raise Wrong(f"expected {kind}, found {tensor['datatype']}")
        count = math.prod(tensor["shape"])
        values = tensor_values(tensor, rest, kind, count)
        full = NO_BATCH.get(name, [tensor["shape"][0]] + shape)
        if any(a != b and b != -1 for a, b in zip(tensor["shape"], full)) or \
                len(full) != len(tensor["shape"]):
            raise Wrong(f"expected shape {full}, found {tensor['shape']}")
        if self.fault == "batch" and tensor["shape"][0] > 4:
            raise Wrong("a batch of more than 4")
        n = 1 if name == "single" else tensor["shape"][0]
        self.row_shape = tensor["shape"][1:]
        width = count // n
        rows = [values[i * width:(i + 1) * width] for i in range(n)]
        scores = self.predict(name, [r[0] for r in rows] if kind == "BYTES" else rows)
        wanted = [o["name"] for o in request.get("outputs", [])] or [o[0] for o in outputs]
        everything = request.get("parameters", {}).get("binary_data_output", False)
        asked = {o["name"]: o.get("parameters", {}).get("binary_data", everything)
                 for o in request.get("outputs", [])}
        answer = {"model_name": name, "model_version": "1", "id": request.get("id", ""),
                  "outputs": []}
        binary = b""
        for output, datatype in outputs:
            if output not in wanted:
                continue
            flat = [round(v) if output == "label" else v for row in scores for v in row]
            one = {"name": output, "datatype": datatype, "shape": [n, len(scores[0])]}
            if asked.get(output, everything) and head:
                data = struct.pack("<%d%s" % (len(flat), FORMATS[datatype]), *flat)
                one["parameters"] = {"binary_data_size": len(data)}
                binary += data
            else:
                one["data"] = flat
            answer["outputs"].append(one)
        return answer, {}, binary

    def infer_pair(self, body):
        """Ids, a mask that is 0 where an id is 0, and one number: scale * sum of ids / 1000."""
        head = self.headers.get("Inference-Header-Content-Length")
        request = self.json_of(body[:int(head)] if head else body, octets=bool(head))
        ids, mask, scale = request["inputs"]
        if [t["name"] for t in request["inputs"]] != ["ids", "mask", "scale"]:
            raise Wrong("expected ids, mask and scale")
        if mask["shape"] != ids["shape"] or scale["shape"] != [1] or mask["datatype"] != "INT64":
            raise Wrong(f"shapes {ids['shape']}, {mask['shape']}, {scale['shape']}")
        n, width = ids["shape"]
        values = tensor_values(ids, body[int(head):] if head else b"", "INT64", n * width)
        if [int(v != 0) for v in values] != mask["data"]:
            raise Wrong("the mask is not that of the ids")
        scores = [scale["data"][0] * sum(values[i * width:(i + 1) * width]) / 1000
                  for i in range(n)]
        return ({"model_name": "pair", "id": request.get("id", ""), "outputs": [
            {"name": "y", "datatype": "FP32", "shape": [n, 1], "data": scores}]},)

    def v1(self, path, body):
        name, _, verb = path.replace("/versions/1", "").partition(":")
        if body is None:
            name, _, verb = name.partition("/")
            if verb == "metadata" and self.fault in ("tf", "several", "axes", "unknown"):
                return (tensorflow_metadata(name, self.fault),)
            if verb == "" and name in MODELS:
                return ({"name": name, "ready": True},)
            raise Wrong("no such path: " + path)
        if verb != "predict" or name not in MODELS:
            raise Wrong(f"Model {name} is not found")
        request = self.json_of(body)
        if set(request) != {"instances"}:
            raise Wrong("expected instances, found " + ", ".join(request))
        rows = request["instances"]
        wanted = [] if MODELS[name][1] == "BYTES" else MODELS[name][2]
        self.row_shape = shape_of(rows[0])
        if self.fault == "tf" and any(len(shape_of(r)) != len(wanted) or any(
                a != b != -1 for a, b in zip(shape_of(r), wanted)) for r in rows):
            raise Wrong(f"expected rows of shape {wanted}")
        scores = self.predict(name, [r if isinstance(r, dict) else flatten(r) for r in rows])
        if self.fault == "named":
            return ({"predictions": [{"label": round(s[0]), "score": s} for s in scores]},)
        if self.fault == "wrapped":
            return ({"predictions": [{"score": s} for s in scores]},)
        return ({"predictions": [s[0] if len(s) == 1 else s for s in scores]},)

    def mlflow(self, body):
        if body is None:
            raise Wrong("POST only")
        request = self.json_of(body)
        if set(request) in ({"dataframe_split"}, {"dataframe_records"}):
            frame = request.get("dataframe_split", {})
            rows = request.get("dataframe_records") or [
                dict(zip(frame["columns"], row)) for row in frame["data"]]
            return ({"predictions": [s[0] for s in self.predict("loans", rows)]},)
        if set(request) != {"inputs"}:
            raise Wrong("expected inputs, found " + ", ".join(request))
        texts = isinstance(request["inputs"][0], str)
        scores = self.predict("mood" if texts else "credit", request["inputs"])
        return ({"predictions": [s[0] if len(s) == 1 else s for s in scores]},)


def tensor_values(tensor, rest, kind, count):
    """The values of a v2 tensor, from JSON or from behind it."""
    size = tensor.get("parameters", {}).get("binary_data_size")
    if size is None:
        values = flatten(tensor["data"])
        if kind == "BOOL" and not all(isinstance(v, bool) for v in values):
            raise Wrong("expected true or false")
    elif size != len(rest):
        raise Wrong(f"expected {size} bytes, found {len(rest)}")
    elif kind == "BYTES":
        values = []
        while rest:
            length, = struct.unpack_from("<I", rest)
            values.append(rest[4:4 + length].decode())
            rest = rest[4 + length:]
    else:
        values = list(struct.unpack("<%d%s" % (count, FORMATS[kind]), rest))
    if kind == "FP32":
        values = [struct.unpack("<f", struct.pack("<f", v))[0] for v in values]
    if len(values) != count:
        raise Wrong(f"expected {count} values, found {len(values)}")
    if kind.startswith(("INT", "UINT")) and not all(isinstance(v, int) for v in values):
        raise Wrong("expected whole numbers")
    return values


def flatten(value):
    if not isinstance(value, list):
        return value
    flat = []
    for v in value:
        flat.extend(flatten(v) if isinstance(v, list) else [v])
    return flat


def shape_of(value):
    return [len(value)] + shape_of(value[0]) if isinstance(value, list) else []


def first_number(value):
    if isinstance(value, dict):
        value = value.get("outputs", value.get("predictions", value.get("data")))
    while isinstance(value, (list, dict)):
        value = value["data"] if isinstance(value, dict) else value[0]
    return value


def tensorflow_metadata(name, fault):
    given, kind, shape, outputs, _ = MODELS[name]

    def tensor(datatype, dims):
        if fault == "unknown":
            return {"dtype": TENSORFLOW[datatype], "name": "t:0",
                    "tensor_shape": {"dim": [], "unknown_rank": True}}
        dims = [-1] + (dims if fault != "axes" else [1] * 99)
        return {"dtype": TENSORFLOW[datatype], "name": "t:0", "tensor_shape": {
            "dim": [{"size": str(d), "name": ""} for d in dims], "unknown_rank": False}}
    if kind == "BYTES":
        shape = []
    inputs = {given: tensor(kind, shape)}
    if fault == "several":
        inputs["mask"] = tensor(kind, shape)
    return {"model_spec": {"name": name, "signature_name": "", "version": "1"},
            "metadata": {"signature_def": {"signature_def": {"serving_default": {
                "inputs": inputs, "outputs": {n: tensor("FP32", [1]) for n, _ in outputs},
                "method_name": "tensorflow/serving/predict"}}}}}


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if sys.argv[1:2] == ["--tls"]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
