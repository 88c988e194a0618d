"""What `sis serve` answers: the records of `sis explain`, both protocols, and whatever strangers send.

    api.py SIS SOURCE         SIS: the program, plain or sanitized
"""
import http.client
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SIS, SOURCE = [os.path.abspath(a) for a in sys.argv[1:3]]
MODELS = os.path.join(SOURCE, "models")


class Server:
    """A server of our own, on a free port, ended with the test."""

    def __init__(self, *args, files=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.child = subprocess.Popen([SIS, "serve", "--port", "0", *args], stderr=subprocess.PIPE, text=True,
                                      preexec_fn=limit if files else None)
        line = self.child.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert found, line + self.child.stderr.read()
        self.port = int(found.group(1))
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.child.stderr), daemon=True)
        self.reader.start()

    def ask(self, path, body=None, method=None, headers=None, timeout=120):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method or ("POST" if data is not None else "GET"), path, data, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer, text

    def json(self, path, body=None, want=200, **more):
        answer, text = self.ask(path, body, **more)
        assert answer.status == want, (answer.status, text[:300])
        assert answer.getheader("Content-Type") == "application/json", answer.getheaders()
        return json.loads(text)

    def end(self, number=signal.SIGTERM):
        self.child.send_signal(number)
        code = self.child.wait(60)
        self.child.stderr.close() if not self.reader.is_alive() else self.reader.join(10)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            code = self.end()
            assert code == 0, code


def model(name):
    return os.path.join(MODELS, name + ".onnx")


def explained(*args):
    out = subprocess.run([SIS, "explain", "--quiet", *args], capture_output=True, text=True, check=True).stdout
    return [alike(json.loads(line)) for line in out.splitlines() if '"subsets"' in line]


def alike(record):
    record.pop("seconds", None)
    record.pop("provenance", None)
    record.pop("model", None)  # a file of the program, a name of the server
    return record


def digits(n):
    """Made-up strokes: a seven, shifted."""
    images = []
    for k in range(n):
        image = [[0.0] * 28 for _ in range(28)]
        for x in range(8 + k, 20):
            image[7][x] = image[8][x] = 1.0
        for y in range(8, 22):
            image[y][19 - (y - 8) // 2] = image[y][18 - (y - 8) // 2] = 1.0
        images.append(image)
    return images


class Protocols(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.table = os.path.join(SOURCE, "examples", "credit.csv")
        cls.server = Server("-m", model("imdb-cnn"), "-m", model("mnist-mlp"), "-m", model("dna-ctcf"), "-m", model("credit"),
                            "--name", "text", "--name", "digit", "--name", "dna", "--name", "credit", "--log", "-t", "0.6")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.end() == 0
        cls.folder.cleanup()

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_missing_words(self):
        """null is the category of missing words, or 0 in each, as in a table."""
        total = "cmd:" + shlex.quote(os.path.join(SOURCE, "tests", "cli", "models", "sum.sh"))
        for cells, values in (("x y NA", [5, 0, 0, 1]), ("x y x", [5, 0, 0])):
            table = self.file("words.csv", "a,w\n" + "".join("1,%s\n" % cell for cell in cells.split()))
            with Server("-m", total, "--name", "sum", "-i", table, "--categorical", "--missing", "nan",
                        "--mask", "zero", "-t", "2") as server:
                answer = server.json("/v1/models/sum:explain", {"instances": [{"a": 5, "w": None}]})
                self.assertEqual(answer["explanations"][0]["values"], values)

    def explain(self, name, instances, **parameters):
        return [alike(r) for r in self.server.json(f"/v1/models/{name}:explain",
                                                    {"instances": instances, "parameters": parameters})["explanations"]]

    def test_texts_are_explained_as_by_the_program(self):
        texts = ["A wonderful, moving film.", "Dreadful; a bore from start to end.", ""]
        want = explained("-m", model("imdb-cnn"), "-i", self.file("t.jsonl", "".join(json.dumps({"text": t}) + "\n" for t in texts[:2])), "-t", "0.6")
        self.assertEqual(self.explain("text", texts[:2]), want)
        self.assertEqual([r["status"] for r in self.explain("text", texts)], [r["status"] for r in want] + ["error"])

    def test_rows_are_explained_as_by_the_program(self):
        want = explained("-m", model("credit"), "-i", self.table, "-t", "0.6")
        with open(self.table) as f:
            names, *rows = [line.strip().split(",") for line in f if line.strip()]
        columns = [dict(zip(names, map(float, row))) for row in rows]
        self.assertEqual(self.explain("credit", columns), want)
        self.assertEqual(self.explain("credit", [list(c.values()) for c in columns]), want)

    def test_sequences_and_parameters(self):
        dna = "ACGTTGCATGCATTGACTGACCATGATCGATCCATGACTGATGGCCACCAGGGGGCGCTATGACTGATCGGATCGATTACGATCGATCAGCTAGCATGCAT"[:101]
        path = self.file("s.fa", f">0\n{dna}\n")
        for threshold in (0.5, 0.9):
            self.assertEqual(self.explain("dna", [dna], threshold=threshold), explained("-m", model("dna-ctcf"), "-i", path, "-t", str(threshold)))
        self.assertEqual(self.explain("dna", [dna], threshold=0.2, below=True),
                         explained("-m", model("dna-ctcf"), "-i", path, "-t", "0.2", "--below"))
        self.assertEqual(self.explain("dna", [dna], mask="zero", max_subsets=1),
                         explained("-m", model("dna-ctcf"), "-i", path, "-t", "0.6", "--mask", "zero", "--max-subsets", "1"))
        self.assertIn("order", self.explain("dna", [dna], trace=True)[0]["subsets"][0])
        self.assertEqual(self.explain("dna", [dna], method="perturb")[0]["method"], "perturb")

    def test_labels_that_are_numbers_are_no_positions(self):
        rows = self.file("labels.csv", "a,b,class\n" + "".join(
            "%g,%g,%d\n" % (i % 7 + 9 * (i % 3 == 1), i % 5 + 9 * (i % 3 == 2), 1 + i % 3) for i in range(90)))
        path = os.path.join(self.folder.name, "labels.onnx")
        subprocess.run([SIS, "train", "mlp", "-i", rows, "--label", "class", "-q", "--epochs", "5", "-o", path], check=True)
        with Server("-m", path, "--name", "m", "-t", "0", "--mask", "zero", "--target", "3") as server:
            def output(want=200, **parameters):
                return server.json("/v1/models/m:explain", {"instances": [[1, 2]], "parameters": parameters}, want)
            for parameters, label in (({}, "3"), ({"target": 1}, "1"), ({"target": "2"}, "2"), ({"target_index": 1}, "2"),
                                      ({"target_index": 0}, "1")):
                self.assertEqual(output(**parameters)["explanations"][0]["target_label"], label)
            self.assertIn("--target-index", output(400, target=0)["error"])
            self.assertIn("0 to 2", output(400, target_index=3)["error"])
            self.assertIn("one of them", output(400, target=1, target_index=0)["error"])
            far = ["-m", f"http://127.0.0.1:{server.port}/v2/models/m", "-i", self.file("x.csv", "a,b\n1,2\n"), "-t", "0", "--mask", "zero"]
            self.assertEqual([explained(*far, "--target", t)[0]["target"] for t in "123"], [0, 1, 2])
            refused = subprocess.run([SIS, "explain", *far, "--target", "0"], capture_output=True, text=True)
            self.assertIn('expected one of "1", "2", "3"', refused.stderr)
            about = server.json("/v1/models/m")["sis"]
            self.assertEqual((about["labels"], about["target"]), (["1", "2", "3"], "3"))
            tensor = [{"name": "x", "datatype": "FP64", "shape": [1, 2], "data": [1, 2]}]
            for path in ("/v1/models/m:explain", "/v2/models/m/explain"):
                body = {"instances": [[1, 2]], "inputs": tensor, "parameters": {"class": 1}}
                self.assertIn("target", server.json(path, body, 400)["error"])

    def test_contrasts_are_those_of_the_program(self):
        trees, row = os.path.join(SOURCE, "examples", "credit-trees.json"), [40, 52000, 4000, 12000, 0, 3, 8, 0.15]
        with open(self.table) as f:
            path = self.file("one.csv", f.readline() + ",".join(map(str, row)) + "\n")
        want = explained("-m", trees, "-i", path, "-t", "0.5", "--method", "contrast")
        self.assertEqual([len(s["features"]) for s in want[0]["subsets"]], [1])
        for more in ([], ["--mask", "zero"], ["-i", self.table, "--mask", "zero"]):
            with Server("-m", trees, "--name", "t", *more) as server:
                got = server.json("/v1/models/t:explain", {"instances": [row], "parameters": {"method": "contrast"}})["explanations"]
                if self.table in more:  # the server measures distances by the spread of its own table
                    self.assertNotEqual([r.pop("distances") for r in got], [r.pop("distances") for r in want])
                self.assertEqual([alike(r) for r in got], want)

    def test_contrasts_have_units_and_fixed_columns(self):
        trees, row = os.path.join(SOURCE, "examples", "credit-trees.json"), [40, 52000, 4000, 12000, 0, 3, 8, 0.15]
        with open(self.table) as f:
            path = self.file("one.csv", f.readline() + ",".join(map(str, row)) + "\n")
        with Server("-m", trees, "--name", "t") as server:
            ask = lambda want=200, **more: server.json("/v1/models/t:explain", {"instances": [row], "parameters": more}, want=want)
            found = set()
            for options, more in ((["--units", "income=500"], {"units": "income=500"}), (["--fixed", "income"], {"fixed": "income"}),
                                  (["--fixed", "income,savings", "--cheapest"], {"fixed": "income,savings", "cheapest": True})):
                want = explained("-m", trees, "-i", path, "-t", "0.5", "--method", "contrast", *options)
                self.assertEqual([alike(r) for r in ask(method="contrast", **more)["explanations"]], want)
                found.add(json.dumps(want))
            self.assertEqual(len(found), 3)
            self.assertIn("needs --method contrast", ask(400, units="income=500")["error"])
            self.assertIn('no feature is named "wealth"', ask(400, method="contrast", fixed="wealth")["error"])
            self.assertIn("cheapest: expected true or false", ask(400, method="contrast", cheapest=1)["error"])

    def test_columns_are_not_guessed_from_their_names(self):
        table = self.file("cars.csv", "speed=kmh,speed=mph,fuel\n50,0,gas\n10,7,oil\n30,2,gas\n20,1,oil\n")
        add = f"cmd:{sys.executable} -c \"import sys,json\nfor l in sys.stdin: print(json.dumps({{'outputs':[sum(r[:2])/100 for r in json.loads(l)['inputs']]}}),flush=True)\""
        row = {"speed=kmh": 50, "speed=mph": 0, "fuel": "gas"}
        with Server("-m", add, "--name", "m", "-i", table, "--categorical", "fuel", "--mask", "zero", "-t", "0.4") as server:
            self.assertEqual([(c["name"], c.get("categories")) for c in server.json("/v1/models/m")["sis"]["columns"]],
                             [("speed=kmh", None), ("speed=mph", None), ("fuel", ["gas", "oil"])])
            self.assertEqual(server.json("/v1/models/m/examples")["examples"][0]["instance"], row)
            self.assertEqual(server.json("/v1/models/m:predict", {"instances": [row]}), {"predictions": [0.5]})
            got = server.json("/v1/models/m:explain", {"instances": [row]})["explanations"][0]
            self.assertEqual((got["names"], got["subsets"][0]["features"]), (["speed=kmh", "speed=mph", "fuel"], [0]))
            self.assertIn('column "speed=kmh" is missing', server.json("/v1/models/m:predict", {"instances": [{"speed": "kmh", "fuel": "gas"}]}, want=400)["error"])
        net = os.path.join(self.folder.name, "cars.onnx")
        labels = self.file("labelled.csv", "speed=kmh,speed=mph,fuel,fast\n" + "50,0,gas,1\n10,7,oil,0\n30,2,gas,1\n20,1,oil,0\n" * 5)
        subprocess.run([SIS, "train", "mlp", "-i", labels, "--label", "fast", "--categorical", "fuel", "-o", net, "--epochs", "1", "--quiet"], check=True)
        with Server("-m", net) as server:
            self.assertEqual([(c["name"], c.get("categories")) for c in server.json("/v1/models/cars")["sis"]["columns"]],
                             [("speed=kmh", None), ("speed=mph", None), ("fuel", ["gas", "oil"])])
            server.json("/v1/models/cars:predict", {"instances": [row]})

    def test_categories_of_one_hot_columns(self):
        with open(os.path.join(SOURCE, "examples", "credit-trees.json")) as f:
            model = self.file("homes.json", f.read().replace('"age","income"', '"home_own","home_rent"'))
        table = self.file("homes.csv", "home,debt,savings,late_payments,open_accounts,years_employed,credit_used\n"
                          "rent,4000,12000,0,3,8,0.15\nown,9000,300,4,2,1,0.9\n")
        with Server("-m", model, "-i", table, "--mask", "zero") as server:
            columns = server.json("/v1/models/homes")["sis"]["columns"]
            self.assertEqual([(c["name"], c.get("categories")) for c in columns][:2], [("home", ["own", "rent"]), ("debt", None)])
            self.assertEqual(server.json("/v1/models/homes/examples")["examples"][0]["instance"]["home"], "rent")

    def test_second_protocol(self):
        images, quick = digits(2), {"method": "quick"}
        flat = [v for image in images for row in image for v in row]
        tensor = {"name": "x", "shape": [2, 784], "datatype": "FP32", "data": flat}
        got = self.server.json("/v2/models/digit/infer", {"id": "a7", "inputs": [tensor]})
        self.assertEqual((got["model_name"], got["id"]), ("digit", "a7"))
        out = got["outputs"][0]
        self.assertEqual((out["shape"], out["datatype"], len(out["data"])), ([2, 10], "FP64", 20))
        one = self.server.json("/v1/models/digit:predict", {"instances": images})["predictions"]
        self.assertEqual(out["data"], [v for row in one for v in row])
        got = self.server.json("/v2/models/digit/explain", {"inputs": [dict(tensor, shape=[2, 28, 28])], "parameters": quick})["outputs"][0]
        self.assertEqual((got["shape"], got["datatype"]), ([2], "BYTES"))
        self.assertEqual([alike(json.loads(t)) for t in got["data"]], self.explain("digit", images, **quick))
        text = {"name": "x", "shape": [1], "datatype": "BYTES", "data": ["good"]}
        self.assertEqual(self.server.json("/v2/models/text/infer", {"inputs": [text]})["outputs"][0]["data"],
                         self.server.json("/v1/models/text:predict", {"instances": ["good"]})["predictions"])

    def test_motifs(self):
        consensus = "CCACNAGGGGGCGC"
        rows = "".join(b + " [ " + " ".join("25" if c == "N" else "90" if c == b else "3" for c in consensus) + " ]\n" for b in "ACGT")
        path = self.file("motifs.jaspar", f">MA0139.1 CTCF\n{rows}")
        with Server("-m", model("dna-ctcf"), "--motifs", path) as server:
            self.assertEqual(server.json("/v1/models"), {"models": ["dna-ctcf"], "motifs": 1})
            forward, turned = server.json("/v1/motifs", {"patterns": ["CCNNNAGNNGGC", "GCCNNCTNNNGG"]})["matches"]
            self.assertEqual([m["name"] for m in forward], ["CTCF"])
            self.assertEqual((forward[0]["offset"], forward[0]["reverse"], len(forward[0]["matrix"])), (0, False, 14))
            self.assertTrue(turned[0]["reverse"])
            self.assertGreater(forward[0]["matrix"][0][1], 0.8)
            for wrong in (b"", b"[]", {}, {"patterns": []}, {"patterns": [""]}, {"patterns": ["HELLO"]}, {"patterns": ["NNN"]}, {"patterns": [3]},
                          {"patterns": ["A" * 401]}, {"patterns": ["A"] * 33}, {"patterns": "ACG"}):
                self.assertIn("error", server.json("/v1/motifs", wrong, want=400))
        self.assertIn("--motifs", self.server.json("/v1/motifs", {"patterns": ["ACG"]}, want=404)["error"])

    def test_requests_of_the_protocols_documentation(self):
        """Bodies and headers as the documents of KServe, of its explainers, of the Open Inference Protocol (Triton's and MLServer's
        clients send the same) and of TensorFlow Serving show them; the model is a stand-in that adds up a row."""
        rows, form = [[6.8, 2.8, 4.8, 1.4], [6.0, 3.4, 4.5, 1.6]], {"Content-Type": "application/json; charset=utf-8", "Accept": "*/*", "Expect": ""}
        add = f"cmd:{sys.executable} -c \"import sys,json\nfor l in sys.stdin: print(json.dumps({{'outputs':[sum(r)/20 for r in json.loads(l)['inputs']]}}),flush=True)\""
        flat, wanted = [v for row in rows for v in row], [sum(r) / 20 for r in rows]
        with Server("-m", add, "--name", "sklearn-iris", "--mask", "zero", "-t", "0.5") as server:
            def v1(verb, **more):
                return server.json(f"/v1/models/sklearn-iris:{verb}", {"instances": rows, **more}, headers=form)

            def v2(tensor, **more):
                return server.json("/v2/models/sklearn-iris/infer", {"inputs": [{"name": "input-0", "datatype": "FP32", **tensor}], **more}, headers=form)
            self.assertEqual(v1("predict"), {"predictions": wanted})
            self.assertEqual(v1("predict", signature_name="serving_default"), {"predictions": wanted})
            self.assertEqual([r["status"] for r in v1("explain")["explanations"]], ["explained"] * 2)
            nested = v2({"shape": [2, 4], "data": rows})
            self.assertEqual((nested["model_name"], nested["outputs"][0]["shape"], nested["outputs"][0]["data"]), ("sklearn-iris", [2, 1], wanted))
            for more in ({"id": "42"}, {"outputs": [{"name": "output-0"}]}, {"parameters": {"content_type": "np"}}):
                got = v2({"shape": [2, 4], "data": flat, "parameters": {"content_type": "np"}}, **more)
                self.assertEqual(got["outputs"][0]["data"], wanted)
                self.assertEqual(got.get("id"), more.get("id"))
            self.assertEqual(server.json("/v2/models/sklearn-iris/versions/1/infer", {"inputs": []}, want=404)["error"][:5], "unkno")
            self.assertEqual(server.json("/v1/models/sklearn-iris")["ready"], True)
            self.assertEqual(sorted(server.json("/v2/models/sklearn-iris"))[:2], ["inputs", "name"])
        text = {"name": "text", "shape": [2], "datatype": "BYTES", "data": ["a visually flashy but narratively opaque and emotionally vapid exercise .", "good"]}
        got = self.server.json("/v2/models/text/infer", {"id": "1", "inputs": [text], "outputs": [{"name": "scores"}]}, headers=form)
        self.assertEqual((got["id"], len(got["outputs"][0]["data"])), ("1", 2))

    def test_descriptions(self):
        self.assertEqual(self.server.json("/v1/models"), {"models": ["text", "digit", "dna", "credit"]})
        about = self.server.json("/v1/models/credit")
        self.assertTrue(about["ready"])
        self.assertEqual(about["sis"]["columns"][0]["name"], "age")
        self.assertEqual(self.server.json("/v2/models/digit")["inputs"][0]["shape"], [-1, 28, 28])
        self.assertEqual(self.server.json("/v2/health/live"), {"live": True})
        self.assertEqual(self.server.json("/v2/health/ready"), {"ready": True})
        self.assertEqual(self.server.json("/v2/models/text/ready"), {"name": "text", "ready": True})
        self.assertEqual(self.server.json("/v2")["name"], "sis")
        answer, text = self.server.ask("/metrics")
        self.assertRegex(text.decode(), r'sis_requests_total\{status="2xx"\} [1-9]')
        answer, text = self.server.ask("/")
        self.assertIn("script-src 'self'", answer.getheader("Content-Security-Policy"))
        answer, text = self.server.ask("/v1/models/text:report", {"instances": ["A wonderful film."]})
        self.assertTrue(text.startswith(b"<!doctype html>"))

    def test_wrong_requests_get_one_line(self):
        def wrong(path, body, status, words, **more):
            got = self.server.json(path, body, want=status, **more)
            self.assertEqual(list(got), ["error"])
            self.assertIn(words, got["error"])
            self.assertNotIn("\n", got["error"])
        explain = "/v1/models/credit:explain"
        wrong("/v1/models/nobody", None, 404, "unknown model")
        wrong("/v1/models/../../etc/passwd", None, 404, "unknown address")
        wrong("/v1/models/text:explain", None, 405, "expected POST")
        wrong("/v1/models/text", b"{}", 405, "expected GET")
        wrong(explain, b"", 400, "not JSON")
        wrong(explain, b"[]", 400, "not a JSON object")
        wrong(explain, b'{"instances":[' + b"[" * 100000, 400, "not JSON")
        wrong(explain, b'{"instances":["\xff\xfe"]}', 400, "not JSON")
        wrong(explain, b'{"instances":[[1,2,3', 400, "not JSON")
        wrong(explain, {}, 400, "expected {\"instances\"")
        wrong(explain, {"instances": []}, 400, "at least one")
        wrong(explain, {"instances": {}}, 400, "at least one")
        wrong(explain, {"instances": [[1, 2, 3]]}, 400, "8")
        wrong(explain, {"instances": [[1] * 8, [1] * 7]}, 400, "different lengths")
        wrong(explain, {"instances": [[[1], 2]]}, 400, "instance 0")
        wrong(explain, {"instances": [{"age": 3}]}, 400, 'column "income" is missing')
        wrong(explain, {"instances": [[[]]]}, 400, "empty list")
        wrong(explain, {"instances": [[1] * 300000]}, 400, "at most 200000")
        wrong(explain, {"instances": [1] * 1001}, 400, "at most 1000")
        wrong(explain, {"instances": [[1] * 8], "parameters": {"threshold": "p90"}}, 400, "threshold")
        wrong(explain, {"instances": [[1] * 8], "parameters": {"target": "nobody"}}, 400, "nobody")
        wrong(explain, {"instances": [[1] * 8], "parameters": {"mask": "mean:/etc/passwd"}}, 400, "mask: expected zero")
        wrong(explain, {"instances": [[1] * 8], "parameters": {"mask": "hotdeck:/etc/passwd"}}, 400, "mask: expected zero")
        wrong(explain, {"instances": [[1] * 8], "parameters": {"method": "magic"}}, 400, "magic")
        wrong(explain, {"instances": [[1] * 8], "parameters": {"treshold": 0.9}}, 400, "treshold")
        wrong(explain, {"instances": [[1] * 8], "parameters": 0.9}, 400, "an object")
        wrong(explain, {"instances": [[1] * 8], "threshold": 0.9}, 400, "put \"threshold\" into")
        wrong("/v1/models/text:explain", {"instances": [3]}, 400, "")
        wrong("/v1/models/dna:explain", {"instances": ["HELLO"]}, 400, "not a base")
        wrong("/v1/models/dna:explain", {"instances": ["ACGT"]}, 400, "101")
        wrong("/v2/models/digit/infer", {"inputs": []}, 400, "one tensor")
        wrong("/v2/models/digit/infer", {"inputs": [{"shape": [1, 1 << 40], "data": [1]}]}, 400, "shape")
        wrong("/v2/models/digit/infer", {"inputs": [{"shape": [2, 784], "datatype": "FP32", "data": [1]}]}, 400, "do not make")
        answer, text = self.server.ask(explain, b"x" * (9 << 20))
        self.assertEqual((answer.status, json.loads(text)["error"]), (413, "the body is larger than this server takes"))


class Strangers(unittest.TestCase):
    def test_a_token_is_asked_for(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("secret\n")
            f.flush()
            with Server("-m", model("credit"), "--token", f.name) as server:
                self.assertEqual(server.json("/v1/models", want=401)["error"], "expected the header Authorization: Bearer TOKEN")
                server.json("/v1/models", want=401, headers={"Authorization": "Bearer secre"})
                server.json("/v1/models", headers={"Authorization": "Bearer secret"})
                server.json("/v2/health/live")
                server.json("/v1/models", headers={"Authorization": "Bearer secret", "Host": "models.example"})

    def test_another_name_is_not_answered(self):
        with Server("-m", model("credit")) as server:
            for host in ("localhost", "LocalHost:80", "127.0.0.1", "127.1.2.3:9", "[::1]", "[::1]:8080"):
                server.json("/v1/models", headers={"Host": host})
            for host in ("models.example", "localhost.example", "127.0.0.1.example:80", "[::1", "10.0.0.1", ""):
                self.assertIn("localhost", server.json("/v1/models", want=403, headers={"Host": host})["error"])

    def test_a_request_has_one_length_and_one_host(self):
        body = b'{"instances":[[40,52000,4000,12000,0,3,8,0.15]]}'
        length, chunked, host = b"Content-Length: %d\r\n" % len(body), b"Transfer-Encoding: chunked\r\n", b"Host: localhost\r\n"
        with Server("-m", model("credit")) as server:
            for headers, status in ((host + length, b"200"), (host + length + b"Content-Length: 5\r\n", b"400"), (host + length + chunked, b"400"),
                                    (host + b"Host: models.example\r\n" + length, b"400")):
                with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
                    s.sendall(b"POST /v1/models/credit:predict HTTP/1.1\r\nConnection: close\r\n" + headers + b"\r\n" + body)
                    self.assertEqual(s.makefile("rb").readline().split()[1], status, headers)

    def test_pages_of_other_origins_are_refused(self):
        ask = {"instances": [[40, 52000, 4000, 12000, 0, 3, 8, 0.15]]}
        path, plain = "/v1/models/credit:predict", {"Content-Type": "text/plain"}
        with Server("-m", model("credit")) as server:
            own = (f"http://127.0.0.1:{server.port}", f"HTTPS://127.0.0.1:{server.port}")
            for headers in ({}, plain, *({"Origin": o} for o in own)):
                server.json(path, ask, headers=headers)
            for origin in ("https://evil.example", "null", "", "http://127.0.0.1", f"http://localhost:{server.port}", f"ftp://127.0.0.1:{server.port}"):
                for more in ({}, plain):
                    self.assertIn("--cors", server.json(path, ask, want=403, headers={"Origin": origin, **more})["error"])
                server.json("/v1/models", want=403, headers={"Origin": origin})

    def test_pages_of_cors_may_ask(self):
        ask = {"instances": [[40, 52000, 4000, 12000, 0, 3, 8, 0.15]]}
        path, there = "/v1/models/credit:predict", "https://app.example"
        preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("secret\n")
            f.flush()
            with Server("-m", model("credit"), "--token", f.name, "--cors", there) as server:
                answer, _ = server.ask(path, method="OPTIONS", headers={"Origin": there, **preflight})
                self.assertEqual((answer.status, answer.getheader("Access-Control-Allow-Origin")), (204, there))
                self.assertIn("Authorization", answer.getheader("Access-Control-Allow-Headers"))
                server.json(path, ask, want=401, headers={"Origin": there})
                server.json(path, ask, headers={"Origin": there, "Authorization": "Bearer secret"})
                for method in ("OPTIONS", "POST"):
                    answer, _ = server.ask(path, ask if method == "POST" else None, method=method,
                                           headers={"Origin": "https://evil.example", "Authorization": "Bearer secret", **preflight})
                    self.assertEqual(answer.status, 403)
        with Server("-m", model("credit"), "--cors", "*") as server:
            server.json(path, ask, headers={"Origin": "null"})

    def test_slow_and_cut_connections_do_not_keep_it_from_answering(self):
        with Server("-m", model("credit")) as server:
            head = b"POST /v1/models/credit:explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"inst"
            kept = []
            for k in range(200):
                s = socket.create_connection(("127.0.0.1", server.port))
                s.sendall([head, b"GET / HT", b"", head + b"x" * 600][k % 4])
                kept.append(s)
                if k % 5 == 0:
                    s.close()
            for _ in range(20):
                self.assertEqual(len(server.json("/v1/models/credit:explain", {"instances": [[40, 52000, 4000, 12000, 0, 3, 8, 0.15]]})["explanations"]), 1)
            for garbage in (b"\x00\xff" * 400, b"GET " + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
                with socket.create_connection(("127.0.0.1", server.port)) as s:
                    s.settimeout(1)  # it may wait for more before it closes
                    try:
                        s.sendall(garbage)
                        s.shutdown(socket.SHUT_WR)
                        while s.recv(65536):
                            pass
                    except OSError:  # closed by the other side, or not yet
                        pass
            server.json("/v2/health/live")
            for s in kept:
                s.close()

    def test_many_slow_connections_lock_nobody_out(self):
        with Server("-m", model("credit"), files=128) as server:
            kept = []
            for k in range(300):
                s = socket.create_connection(("127.0.0.1", server.port), timeout=5)
                kept.append(s)
                try:
                    s.sendall([b"GET / HT", b"POST /v1/models/credit:explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"][k % 2])
                except OSError:
                    pass  # it was closed for a later one
                if k % 20 == 19:
                    server.json("/v2/health/live", timeout=5)
                    server.json("/v1/models/credit:predict", {"instances": [[40, 52000, 4000, 12000, 0, 3, 8, 0.15]]}, timeout=5)
            for s in kept:
                s.close()

    def test_answers_name_models_and_no_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path, rows = os.path.join(folder, "private.json"), os.path.join(folder, "rows.csv")
            for name, to in (("credit-trees.json", path), ("credit.csv", rows)):
                shutil.copy(os.path.join(SOURCE, "examples", name), to)
            fails = f"cmd:{sys.executable} -c \"import sys;sys.stdin.readline();print(0)\" {folder}"
            row = [40, 52000, 4000, 12000, 0, 3, 8, 0.15]
            with Server("-m", path, "--name", "trees", "--mask", "hotdeck:" + rows, "-i", rows) as server, \
                    Server("-m", fails, "--name", "fails", "--mask", "zero") as other:
                got = server.json("/v1/models/trees:explain", {"instances": [row]})["explanations"][0]
                self.assertEqual((got["model"], got["masking"]), ("trees", "hotdeck"))
                self.assertEqual(server.json("/v1/models/trees")["sis"]["mask"], "hotdeck")
                texts = [server.ask(f"/v1/models/trees{what}", body)[1] for what, body in (
                    (":explain", {"instances": [row]}), (":report", {"instances": [row]}), (":explain", {"instances": [[1]]}),
                    (":explain", {"instances": [row], "parameters": {"method": "contrast"}}), ("", None), ("/examples", None))]
                got = other.json("/v1/models/fails:predict", {"instances": [row]}, want=502)["error"]
                self.assertTrue(got.startswith("model fails, request 1: "), got)
                texts += [got.encode()] + [other.ask("/v1/models/fails:explain", {"instances": [row], "parameters": p})[1] for p in ({}, {"method": "ig"})]
                for text in texts:
                    self.assertNotIn(folder.encode(), text)
                    self.assertNotIn(b"private.json", text)

    def test_what_a_failed_model_wrote_is_for_the_log(self):
        child = '''import json, sys
for line in sys.stdin:
    what = json.loads(line)["inputs"][0][0]
    if what == 1: sys.exit("cannot open " + __file__)
    if what == 2: print("loading", __file__, "key=hidden", flush=True)
    if what == 3: print(json.dumps({"error": "no weights in " + __file__}), flush=True)
    if what == 4: raise ValueError("hidden")
'''
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "private.py")
            with open(path, "w") as f:
                f.write(child)
            with Server("-m", f"cmd:{sys.executable} {path}", "--name", "m", "--mask", "zero", "--log") as server:
                got = [server.json(f"/v1/models/m:{what}", {"instances": [[k, 2]]}, want=502)["error"]
                       for k in (1, 2, 3, 4) for what in ("explain", "predict", "report")]
            for text in got:
                self.assertRegex(text, r"model m, request \d+: (it failed; sis serve --log shows why|the model reports: no weights in FILE)$")
            self.assertIn("key=hidden", "".join(server.lines))
            self.assertIn("cannot open FILE", "".join(server.lines))
            self.assertNotIn(folder, "".join(got + server.lines))

    def test_what_is_not_quite_json_is_refused(self):
        row = b"[40,52000,4000,12000,0,3,8,0.15]"
        with Server("-m", model("credit")) as server:
            for body in (b'{"instances":[%s\0]}' % row, b'{"instances":[%s]}\0' % row, b'{"instances":[[1]],"instances":[%s]}' % row):
                for what in ("predict", "explain"):
                    self.assertIn("the body is not JSON: ", server.json(f"/v1/models/credit:{what}", body, want=400)["error"])

    def test_a_long_token_is_not_cut(self):
        with tempfile.NamedTemporaryFile("w") as token:
            token.write("t" * 1024 + "\n")
            token.flush()
            r = subprocess.run([SIS, "serve", "-m", model("credit"), "--port", "0", "--token", token.name], timeout=20,
                               stderr=subprocess.PIPE, text=True)
        self.assertEqual(r.returncode, 1)
        self.assertIn("longer than 1023 letters", r.stderr)

    def test_errors_are_one_line(self):
        with Server("-m", model("credit")) as server:
            for name in ("target", "mask", "method"):
                error = server.json("/v1/models/credit:explain", {"instances": [[40, 52000, 4000, 12000, 0, 3, 8, 0.15]],
                                                                  "parameters": {name: "token:a\nb\r\tc"}}, want=400)["error"]
                self.assertIn("token:a b  c", error)

    def test_a_full_queue_says_come_back(self):
        slow = f"cmd:{sys.executable} -c \"import sys,json,time\nfor l in sys.stdin:\n n=len(json.loads(l)['inputs']); time.sleep(0.3); print(json.dumps({{'outputs':[1.0]*n}}),flush=True)\""
        with Server("-m", slow, "--name", "slow", "--mask", "zero", "--workers", "1", "--queue", "1", "--seconds", "2") as server:
            got = []

            def one():
                answer, text = server.ask("/v1/models/slow:explain", {"instances": [[1, 2, 3]] * 20})
                got.append((answer.status, answer.getheader("Retry-After"), text))
            threads = [threading.Thread(target=one) for _ in range(6)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertIn((503, "1"), [g[:2] for g in got])
            cut = [json.loads(g[2]) for g in got if g[0] == 200]
            self.assertTrue(cut and all(c.get("cut") for c in cut), got)

    def test_a_slow_model_does_not_keep_others_waiting(self):
        slow = f"cmd:{sys.executable} -c \"import sys,json,time\nfor l in sys.stdin:\n n=len(json.loads(l)['inputs']); time.sleep(0.3); print(json.dumps({{'outputs':[1.0]*n}}),flush=True)\""
        with Server("-m", slow, "-m", slow, "-m", model("credit"), "--name", "slow", "--name", "sloth", "--name", "credit",
                    "--mask", "zero", "--workers", "2", "--queue", "3", "--seconds", "4") as server:
            got = []

            def one(name):
                began = time.monotonic()
                answer, text = server.ask(f"/v1/models/{name}:explain", {"instances": [[1, 2, 3]] * 40})
                got.append((answer.status, answer.getheader("Retry-After"), json.loads(text).get("error", "answered"), time.monotonic() - began))
            threads = [threading.Thread(target=one, args=(name,)) for name in ("slow", "sloth") for _ in range(6)]
            end = time.monotonic() + 20
            for t in threads[::6]:
                t.start()
            while b"sis_requests_running 2" not in server.ask("/metrics")[1] and time.monotonic() < end:
                time.sleep(0.01)
            for k, t in enumerate(threads):
                if k % 6:
                    t.start()
            waits = []
            while any(t.is_alive() for t in threads):
                began = time.monotonic()
                server.json("/v1/models/credit:explain", {"instances": [[40, 52000, 4000, 12000, 0, 3, 8, 0.15]]})
                server.json("/v1/models/nobody:explain", {}, want=404)
                waits.append(time.monotonic() - began)
                time.sleep(0.05)
            for t in threads:
                t.join()
            self.assertLess(max(waits), 2.0)
            self.assertGreater(len(waits), 10)
            self.assertLess(max(g[3] for g in got), 8.0)  # nobody waits for those before, however many they are
            kinds = [(g[0], g[1], g[2].split()[0]) for g in got]
            # of each: one runs, three wait until their time is up or that of the first is, two find the queue full
            self.assertEqual(kinds.count((503, "1", "too")), 4, got)
            self.assertEqual(kinds.count((200, None, "answered")) + kinds.count((503, "1", "the")), 8, got)

    def test_proofs_end_when_time_is_up(self):
        with Server("-m", model("mnist-mlp"), "--name", "digit", "--seconds", "0.2") as server:
            got = server.json("/v1/models/digit:explain", {"instances": digits(2) * 4, "parameters": {"method": "contrast", "threshold": 0.5}})
            self.assertTrue(got.get("cut"), str(got)[:300])
            self.assertLess(len(got["explanations"]), 8)
            seconds = re.search(rb"sis_request_seconds_sum (\S+)", server.ask("/metrics")[1])
            self.assertLess(float(seconds.group(1)), 5)  # one such proof takes seconds

    def test_a_client_that_goes_is_given_up(self):
        slow = f"cmd:{sys.executable} -c \"import sys,json,time\nfor l in sys.stdin:\n n=len(json.loads(l)['inputs']); time.sleep(0.2); print(json.dumps({{'outputs':[1.0]*n}}),flush=True)\""
        with Server("-m", slow, "--name", "slow", "--mask", "zero", "--workers", "1") as server:
            body = json.dumps({"instances": [[1, 2, 3]] * 500}).encode()
            s = socket.create_connection(("127.0.0.1", server.port))
            s.sendall(b"POST /v1/models/slow:explain HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            while b"sis_requests_running 1" not in server.ask("/metrics")[1]:
                time.sleep(0.01)
            s.close()
            end = time.monotonic() + 60
            while b"sis_gone_total 1" not in server.ask("/metrics")[1] and time.monotonic() < end:
                time.sleep(0.02)
            self.assertIn(b"sis_gone_total 1", server.ask("/metrics")[1])

    def test_models_are_loaded_again_and_requests_are_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with open(model("credit"), "rb") as f:
                good = f.read()
            with open(path, "wb") as f:
                f.write(good)
            server = Server("-m", path)
            ask = {"instances": [[40, 52000, 4000, 12000, 0, 3, 8, 0.15]]}
            want = server.json("/v1/models/m:predict", ask)
            for content in (b"broken", good):
                with open(path, "wb") as f:
                    f.write(content)
                lines = len(server.lines)
                server.child.send_signal(signal.SIGHUP)
                end = time.monotonic() + 60
                while len(server.lines) == lines and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertEqual(server.json("/v1/models/m:predict", ask), want)
            self.assertEqual(server.end(), 0)
            self.assertTrue(any("model m" in line for line in server.lines), server.lines)

    def test_as_an_explainer_of_kserve(self):
        with Server("-m", model("credit"), "--name", "credit") as predictor:
            row = [40, 52000, 4000, 12000, 0, 3, 8, 0.15]
            with Server("--model_name", "credit", "--predictor_host", f"127.0.0.1:{predictor.port}", "--mask", "zero", "-t", "0.5") as explainer:
                got = explainer.json("/v1/models/credit:explain", {"instances": [row]})["explanations"][0]
                self.assertEqual(got["status"], "explained")
                self.assertTrue(got["verified"])
                self.assertEqual(explainer.json("/v1/models/credit:predict", {"instances": [row]}),
                                 predictor.json("/v1/models/credit:predict", {"instances": [row]}))
                self.assertEqual(predictor.end(), 0)
                error = explainer.json("/v1/models/credit:predict", {"instances": [row]}, want=502)["error"]
                self.assertTrue(error.startswith("model credit, request "), error)
                self.assertNotIn("http:", error)
                self.assertNotIn(str(predictor.port), error)

    def test_files_are_called_by_their_own_name(self):
        with tempfile.TemporaryDirectory() as folder:
            inner = os.path.join(folder, "models", "v1")
            os.makedirs(inner)
            os.symlink(model("credit"), os.path.join(inner, "loans.onnx"))
            with Server("--model", os.path.join(inner, "loans.onnx")) as server:
                self.assertEqual(server.json("/v1/models/loans")["name"], "loans")

    def test_wrong_options(self):
        def fails(*args):
            return subprocess.run([SIS, "serve", *args], capture_output=True, text=True)
        for args, words in ((["-m", "nothing.onnx"], "nothing.onnx"), ([], "--model is required"),
                            (["-m", model("credit"), "-m", model("credit")], "two models are named credit"),
                            (["-m", model("credit"), "--name", "a/b"], "cannot be part of an address"),
                            (["-m", model("credit"), "--host", "no.such.host.invalid"], "--host")):
            got = fails(*args)
            self.assertIn(got.returncode, (1, 2))
            self.assertIn(words, got.stderr)
            self.assertEqual(got.stderr.count("\n"), 1, got.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
