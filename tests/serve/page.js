"use strict";
// The live page in a real browser: every control by mouse and by keyboard, on a desk and on a phone; no error
// in the console, no request to elsewhere; answers that never go back in time while one types.
//   node page.js CHROMIUM SIS SOURCE FOLDER
const { execFileSync, spawn } = require("child_process");
const fs = require("fs");
const path = require("path");
const { open } = require("../report/browser.js");

const [chromium, sis, source, folder] = process.argv.slice(2).map((p) => path.resolve(p));
const model = (name) => path.join(source, "models", name + ".onnx");
let checks = 0, failures = 0;

function check(what, found, wanted) {
  checks++;
  if (typeof wanted === "function" ? wanted(found) : JSON.stringify(found) === JSON.stringify(wanted)) return;
  failures++;
  console.log(`${what}: found ${JSON.stringify(found)}${typeof wanted === "function" ? "" : ", expected " + JSON.stringify(wanted)}`);
}

function serve(args) {
  const child = spawn(sis, ["serve", "--port", "0", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  process.on("exit", () => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (text) => {
      said += text;
      const at = said.match(/http:\/\/127\.0\.0\.1:(\d+)\//);
      if (at) resolve({ child, base: at[0] });
    });
    child.on("exit", () => reject(new Error("sis serve ended: " + said)));
  });
}

// Until what was asked last has been answered, and `ready` holds.
async function settle(page, ready) {
  await page.evaluate(`new Promise((resolve, reject) => {
    const end = Date.now() + 60000;
    (function look() {
      if (sisLive.shown() === sisLive.wanted() && (${ready || "true"})) resolve();
      else if (Date.now() > end) reject(new Error("no answer: " + document.getElementById("answer").textContent.slice(0, 200)));
      else setTimeout(look, 10);
    })();
  })`);
}
const TEXT = `document.getElementById("answer").textContent`;
const MARKED = `[...document.querySelectorAll("#answer .text mark")].map((m) => m.textContent)`;
const tab = (name) => `#models [data-name="${name}"]`;
async function set(page, id, value) {
  await page.evaluate(`(() => { const e = document.getElementById("${id}"); e.value = ${JSON.stringify(value)};
    if (e.type === "range") e.dispatchEvent(new Event("input"));
    e.dispatchEvent(new Event("change", { bubbles: true })); })()`);
  await settle(page);
}
// With SIS_PICTURES: what the documents show.
async function picture(page, name) {
  if (process.env.SIS_PICTURES) await page.screenshot(path.join(folder, name + ".png"), true);
}
async function type(page, text, pause) {
  for (const letter of text) {
    await page.send("Input.dispatchKeyEvent", { type: "char", text: letter });
    if (pause) await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

// A key pressed while an element has the focus.
async function press(page, selector, key, code, text) {
  await page.evaluate(`document.querySelector(${JSON.stringify(selector)}).focus()`);
  await page.key(key, code, text);
}
const asked = (page) => page.requests.filter((url) => url.endsWith(":explain")).length;

async function texts(page, base, name) {
  await page.click(tab("imdb-cnn"));
  await settle(page);
  await settle(page, `document.querySelector("#answer mark")`);
  check("there is a text to begin with", await page.evaluate(MARKED), (m) => m.includes("wonderful"));
  check("the answer is in the first screen", await page.evaluate(`document.querySelector("#answer mark").getBoundingClientRect().bottom < innerHeight`), true);
  check("options are behind a button", await page.evaluate(`!document.getElementById("threshold").checkVisibility()`), true);
  await page.evaluate(`document.getElementById("text").value = ""; document.getElementById("text").dispatchEvent(new Event("input"))`);
  await settle(page, `${TEXT} === "Nothing to explain yet."`);
  check("nothing to save", await page.evaluate(`document.getElementById("actions").offsetParent === null`), true);
  await page.evaluate(`document.getElementById("options").open = true`);
  // Answers come in the order of the questions, whatever is typed meanwhile.
  await page.evaluate(`window.order = []; new MutationObserver(() => order.push(Number(document.body.dataset.shown)))
    .observe(document.body, { attributes: true, attributeFilter: ["data-shown"] })`);
  await page.click("#text");
  if (name === "desktop") await type(page, "A wonderful film. Great cast.", 125);
  else await page.send("Input.insertText", { text: "A wonderful film. Great cast." });
  await settle(page, `document.querySelector("#answer mark")`);
  const order = await page.evaluate("order");
  check("answers in order", order.every((n, k) => k === 0 || n >= order[k - 1]), true);
  check("the answer is about what stands there", await page.evaluate(`${TEXT}.includes("A wonderful film. Great cast.")`), true);
  check("words are marked", await page.evaluate(MARKED), (m) => m.includes("wonderful"));
  if (name === "desktop") console.log(`typed at 8 letters a second: the last answer took ${Math.round(await page.evaluate("sisLive.latency()"))} ms`);
  // The threshold: while it moves, what the walk says is drawn and nothing is asked; let go, the server says the same.
  const before = asked(page), subset = `[...document.querySelector("#answer .subsets li").querySelectorAll("bdi")].map((b) => b.textContent).sort().join(" ")`;
  await page.evaluate(`(() => { const e = document.getElementById("threshold"); e.value = "0.9"; e.dispatchEvent(new Event("input")); })()`);
  check("read from the walk", await page.evaluate(`document.querySelector("#answer .read") !== null && ${TEXT}.includes("at least 0.9")`), true);
  const read = await page.evaluate(subset);
  await new Promise((resolve) => setTimeout(resolve, 250));
  check("nothing was asked", asked(page), before);
  await page.evaluate(`document.getElementById("threshold").dispatchEvent(new Event("change"))`);
  await settle(page, `!document.querySelector("#answer .read")`);
  check("the server finds the same", await page.evaluate(subset), read);
  check("one question", asked(page), before + 1);
  await set(page, "threshold", "0.97");
  check("threshold", await page.evaluate(TEXT), (t) => t.includes("at least 0.97"));
  await page.evaluate(`document.getElementById("threshold").focus()`);
  await page.key("ArrowLeft", 37);
  await settle(page, `${TEXT}.includes("0.96")`);
  check("threshold by key", await page.evaluate(TEXT), (t) => t.includes("at least 0.96"));
  if (process.env.SIS_PICTURES) {
    await page.evaluate(`(() => { const e = document.getElementById("text"), t = document.getElementById("threshold"); t.value = "0.8"; t.dispatchEvent(new Event("input"));
      e.value = "A wonderful, moving film with a great cast and a story that stays with you; only the end is dull."; e.dispatchEvent(new Event("input")); })()`);
    await settle(page, `document.querySelectorAll("#answer .subsets li").length > 1`);
    await picture(page, "live-text");
    await page.evaluate(`(() => { const e = document.getElementById("text"), t = document.getElementById("threshold"); t.value = "0.96"; t.dispatchEvent(new Event("input"));
      e.value = "A wonderful film. Great cast."; e.dispatchEvent(new Event("input")); })()`);
    await settle(page, `${TEXT}.includes("0.96")`);
  }
  await set(page, "below", "1");
  check("why not", await page.evaluate(TEXT), (t) => t.includes("not at most 0.96") && t.includes("What pulls it up"));
  check("what pulls it is marked", await page.evaluate(MARKED), (m) => m.length > 0);
  await set(page, "below", "");
  await press(page, "#below", "ArrowDown", 40);
  await settle(page, `${TEXT}.includes("not at most")`);
  check("a choice by key", await page.evaluate(`document.getElementById("below").value`), "1");
  await press(page, "#below", "ArrowUp", 38);
  await settle(page, `${TEXT}.includes("at least")`);
  // One subset after the other, by mouse and by key.
  await set(page, "threshold", "0.7");
  const steps = await page.evaluate(`document.querySelectorAll("#answer .stepper [aria-pressed]").length`);
  check("a button for each subset", steps, (n) => n > 2);
  await page.click("#answer .stepper .next");
  check("the first subset", await page.evaluate(`document.querySelectorAll("#answer .subsets li").length`), 1);
  await page.key(" ", 32, " ");
  check("the next one by key", await page.evaluate(`document.querySelector("#answer .subsets .key").textContent`), "2");
  await press(page, "#answer .stepper button", "Enter", 13, "\r");
  check("all again", await page.evaluate(`document.querySelectorAll("#answer .subsets li").length`), steps - 1);
  await set(page, "mask", "remove");
  check("mask", await page.evaluate(`document.querySelectorAll("#answer .card").length`), 1);
  await set(page, "mask", "");
  await set(page, "method", "perturb");
  check("method", await page.evaluate(TEXT), (t) => t.includes("evaluations"));
  await set(page, "method", "");
}

async function digits(page) {
  await page.click(tab("mnist-cnn"));
  await settle(page, `document.querySelectorAll("#answer .pictures figure").length > 1`);
  check("there is a seven to begin with", await page.evaluate(`document.querySelector("#answer .verdict b").textContent`), "7");
  await page.evaluate(`document.getElementById("clear").click()`);
  await settle(page, `${TEXT} === "Nothing to explain yet."`);
  const box = await page.evaluate(`(() => { const e = document.getElementById("canvas"); e.scrollIntoView({ block: "center" });
    const r = e.getBoundingClientRect(); return { x: r.left, y: r.top, w: r.width, h: r.height }; })()`);
  const at = (x, y) => ({ x: box.x + x * box.w, y: box.y + y * box.h, button: "left", buttons: 1, pointerType: "mouse" });
  const strokes = [[[0.3, 0.25], [0.5, 0.25], [0.7, 0.25]], [[0.7, 0.25], [0.6, 0.5], [0.5, 0.8]]];
  for (const stroke of strokes) { // a seven
    await page.send("Input.dispatchMouseEvent", { type: "mousePressed", clickCount: 1, ...at(...stroke[0]) });
    for (const point of stroke) await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...at(...point) });
    await page.send("Input.dispatchMouseEvent", { type: "mouseReleased", clickCount: 1, ...at(...stroke[2]) });
  }
  await settle(page, `document.querySelectorAll("#answer .pictures figure").length > 1`);
  check("the drawing is a seven", await page.evaluate(`document.querySelector("#answer .verdict b").textContent`), "7");
  check("what a masked picture is", await page.evaluate(`document.querySelector("#answer .mask figcaption").textContent`), (t) => /^masked: 0 to 0\.\d+$/.test(t));
  await set(page, "class", "1");
  check("why it is no 1", await page.evaluate(TEXT), (t) => t.includes("does not meet the threshold"));
  check("another class", await page.evaluate(`document.querySelector("#answer .verdict b").textContent`), "1");
  await set(page, "class", "");
  await set(page, "second", "mnist-mlp");
  await settle(page, `document.querySelectorAll("#answer .card").length === 2`);
  check("two models side by side", await page.evaluate(`[...document.querySelectorAll("#answer .whose")].map((h) => h.textContent)`), ["mnist-cnn", "mnist-mlp"]);
  await picture(page, "live-digit");
  await set(page, "second", "");
  await page.evaluate(`document.getElementById("canvas").focus()`);
  await page.key(" ", 32, " ");
  await settle(page);
  await page.click("#clear");
  await settle(page);
  check("cleared", await page.evaluate(TEXT), "Nothing to explain yet.");
}

async function sequences(page) {
  await page.click(tab("dna-ctcf"));
  await settle(page);
  const before = page.errors.length;
  await page.evaluate(`(() => { const e = document.getElementById("text"); e.value = "ACGT"; e.dispatchEvent(new Event("input")); })()`);
  await settle(page, `document.querySelector("#answer .trouble")`);
  check("a message without the name of an option first", await page.evaluate(TEXT), (t) => t.startsWith("The input is a sequence of 4 bases"));
  check("the refusal that was asked for", page.errors.splice(before).every((e) => e.includes("status of 400")), true);
  const left = "ACGTTGCATGCATTGACTGACCATGATCGATCCATGACTGA", right = "TGACTGATCGGATCGATTACGATCGATCAGCTAGCATGCAT";
  await page.click("#text");
  await page.evaluate(`document.getElementById("text").select()`);
  await page.send("Input.insertText", { text: (left + "TGGCCACCAGGGGGCGCTA" + right).slice(0, 101) });
  await settle(page, `document.querySelector("#answer .logo")`);
  check("sequence", await page.evaluate(TEXT), (t) => t.includes("scores"));
  check("the motif it is most like", await page.evaluate(`document.querySelector("#answer .match p").textContent`), (t) => t.startsWith("most like CTCF MA0139.1, p "));
  check("both logos", await page.evaluate(`document.querySelectorAll("#answer .logo text").length`), (n) => n > 15);
}

async function tables(page) {
  await page.click(tab("credit"));
  await settle(page, `document.querySelector("#answer .card")`);
  check("fields", await page.evaluate(`document.querySelectorAll("#input .fields label").length`), 8);
  check("examples", await page.evaluate(`document.querySelectorAll("#example option").length`), (n) => n > 1);
  await set(page, "example", "0");
  await settle(page, `document.querySelector("#answer .features") || document.querySelector("#answer .reason")`);
  const before = await page.evaluate(TEXT);
  await page.evaluate(`document.querySelector("#input input[type=range]").focus()`);
  await page.key("End", 35);
  await settle(page);
  check("a slider by key", await page.evaluate(TEXT) !== before, true);
  const listed = async (of, right) => {
    await page.evaluate(`(() => { for (const [id, v] of [["of", "${of}"], ["right", "${right}"]]) { const e = document.getElementById(id); e.value = v; e.dispatchEvent(new Event("change")); } })()`);
    return page.evaluate(`document.querySelectorAll("#example option").length - 1`);
  };
  await page.evaluate(`new Promise((resolve) => { (function look() { document.getElementById("right").parentElement.hidden ? setTimeout(look, 10) : resolve(); })(); })`);
  const counts = [await listed("", ""), await listed("1", ""), await listed("0", ""), await listed("", "true"), await listed("", "false")];
  check("examples by class, right and wrong", counts, (c) => c[0] === 12 && c[1] > 0 && c[2] > 0 && c[1] + c[2] === 12 && c[3] === 11 && c[4] === 1);
  await listed("", "");
  await page.evaluate(`document.getElementById("find").value = "nothing like it"; document.getElementById("find").dispatchEvent(new Event("input"))`);
  check("find", await page.evaluate(`document.querySelectorAll("#example option").length`), 1);
}

// A language model: nothing is asked before the button is pressed.
async function prompts(page) {
  const fill = (values) => page.evaluate(`for (const [name, value] of Object.entries(${JSON.stringify(values)})) {
    const area = document.getElementById("f-" + name); area.value = value; area.dispatchEvent(new Event("input")); }`);
  const explain = async (ready) => { await page.click("#explain"); await settle(page, ready); };
  const before = asked(page), subsets = `[...document.querySelectorAll("#answer .subsets li")].map((li) => [...li.querySelectorAll("bdi")].map((b) => b.textContent))`;
  check("fields of the prompt", await page.evaluate(`[...document.querySelectorAll("#input textarea")].map((t) => t.id)`), ["f-context", "f-question", "f-answer"]);
  await fill({ context: "Tom works in Bergen. Mara lives in Oslo. Ines lives in Turin. Mara lives in Oslo.", question: "Where does Mara live?", answer: "" });
  await new Promise((resolve) => setTimeout(resolve, 250));
  check("nothing is asked before the button is pressed", asked(page), before);
  await explain(`document.querySelectorAll("#answer .text mark").length === 2`);
  check("one question", asked(page), before + 1);
  check("sentences are marked", await page.evaluate(MARKED), ["Mara lives in Oslo.", "Mara lives in Oslo."]);
  check("both are subsets", await page.evaluate(subsets), [["Mara lives in Oslo."], ["Mara lives in Oslo."]]);
  check("the model's own answer", await page.evaluate(`document.querySelector("#answer p.answer").textContent`), "Oslo");
  check("what is never left out is told apart", await page.evaluate(`[...document.querySelectorAll("#answer .text .fixed")].map((e) => e.textContent).join("|")`), (t) => t.includes("Question: Where does Mara live?"));
  check("scores alone and without", await page.evaluate(TEXT), (t) => t.includes("alone, 4 without it") && t.includes(" requests, "));
  await fill({ question: "Where do Mara and Ines live?" });
  await explain(`document.querySelector("#answer p.answer").textContent === "Oslo and Turin"`);
  check("two sentences are needed", (await page.evaluate(subsets))[0].sort(), ["Ines lives in Turin.", "Mara lives in Oslo."]);
  await fill({ context: JSON.stringify(["Tom works in Bergen.", { title: "Register", text: "Mara lives in Oslo." }]), question: "Where does Mara live?", answer: "Oslo" });
  await explain(`document.querySelectorAll("#answer .text .passage").length === 2`);
  check("a list of passages", await page.evaluate(MARKED), (m) => m.length === 1 && m[0].includes("Register") && m[0].includes("Mara lives in Oslo."));
  await fill({ answer: "Lima" });
  await explain(`document.querySelector("#answer .reason")`);
  check("an answer that is not given", await page.evaluate(`document.querySelectorAll("#answer mark").length`), 0);
  await fill({ context: "Tom works in Bergen. Mara lives in Oslo. Ines lives in Turin. Mara lives in Oslo.", answer: "" });
  await explain(`document.querySelectorAll("#answer .text mark").length === 2`);
}

async function kept(page, base) {
  await page.click(tab("imdb-cnn"));
  await page.click("#text");
  await page.evaluate(`document.getElementById("text").select()`);
  await page.send("Input.insertText", { text: "A truly dreadful bore." });
  await settle(page, `${TEXT}.includes("dreadful") || document.querySelector("#answer .reason")`);
  const link = await page.evaluate("location.href");
  const before = await page.evaluate(`document.querySelector("#answer .verdict").textContent`);
  await page.open("about:blank");
  await page.open(link);
  await page.evaluate(`new Promise((resolve) => { (function look() { window.sisLive && sisLive.wanted() ? resolve() : setTimeout(look, 10); })(); })`);
  await settle(page, `document.querySelector("#answer .card")`);
  check("the address keeps the state", await page.evaluate(`document.getElementById("text").value`), "A truly dreadful bore.");
  check("and the answer", await page.evaluate(`document.querySelector("#answer .verdict").textContent`), before);
  await page.evaluate(`document.getElementById("save").click()`);
  check("saved", await page.evaluate(`document.getElementById("said").textContent`), "saved sis.jsonl");
  await page.evaluate(`document.getElementById("said").textContent = ""; document.getElementById("report").click()`);
  await settle(page, `document.getElementById("said").textContent === "saved sis.html"`);
  // A score below that of the mask is explained from the other side.
  check("no button for a report of nothing", await page.evaluate(`document.getElementById("actions").hidden`), true);
  await page.evaluate(`document.querySelector("#answer .explain-at").click()`);
  await settle(page, `document.querySelector("#answer .text mark")`);
  check("why the score is low", await page.evaluate(`[document.getElementById("below").value, document.querySelector("#answer .verdict").textContent.includes("at most"), document.getElementById("actions").hidden]`), ["1", true, false]);
  // Tabs by keyboard.
  await page.evaluate(`document.querySelector('#models [aria-selected="true"]').focus()`);
  await page.key("ArrowRight", 39);
  await settle(page);
  check("tabs by key", await page.evaluate(`document.querySelector('#models [aria-selected="true"]').dataset.name`), "mnist-cnn");
}

// The examples of a table with labels, the first of them wrong; a file of two motifs.
function labelled(scores) {
  const lines = fs.readFileSync(path.join(source, "examples", "credit.csv"), "utf8").trim().split("\n");
  const file = path.join(folder, "labelled.csv");
  fs.writeFileSync(file, lines.map((line, k) => line + "," + (k === 0 ? "granted" : Number((scores[k - 1] >= 0.5) !== (k === 1)))).join("\n") + "\n");
  return file;
}
function motifs() {
  const rows = (text) => [..."ACGT"].map((b) => b + " [ " + [...text].map((c) => c === b ? 90 : c === "N" ? 25 : 3).join(" ") + " ]").join("\n");
  const file = path.join(folder, "motifs.jaspar");
  fs.writeFileSync(file, `>MA0139.1\tCTCF\n${rows("NNCCACNAGGGGGCGCNNN")}\n>MA0148.1\tFOXA1\n${rows("TGTTTACATT")}\n`);
  return file;
}

// A language model of rules behind its protocol, and a server of it.
async function servePrompts() {
  const rules = spawn("python3", [path.join(source, "tests", "llm", "server.py"), "rules"], { stdio: ["pipe", "pipe", "ignore"] });
  const file = path.join(folder, "prompt.txt"), at = await new Promise((resolve, reject) => {
    rules.stdout.once("data", (text) => resolve(String(text).trim()));
    rules.on("exit", () => reject(new Error("the language model did not start")));
  });
  process.on("exit", () => rules.kill());
  fs.writeFileSync(file, "{context} Question: {question} Answer:");
  return { rules, ...await serve(["-m", at + "/v1/completions#rules", "--prompt", file, "--explain", "context"]) };
}

async function main() {
  fs.mkdirSync(folder, { recursive: true });
  const predicted = JSON.parse("[" + execFileSync(sis, ["predict", "-m", model("credit"), "-i", path.join(source, "examples", "credit.csv"), "-q"], { encoding: "utf8" }).trim().split("\n").join(",") + "]");
  const table = labelled(predicted.map((line) => line.scores[0]));
  const { child, base } = await serve(["-m", model("imdb-cnn"), "-m", model("mnist-cnn"), "-m", model("mnist-mlp"), "-m", model("dna-ctcf"), "--motifs", motifs()]);
  const credit = await serve(["-m", model("credit"), "-i", table, "--label", "granted", "-t", "0.5"]);
  const language = await servePrompts();
  const { browser, page: newPage } = await open(chromium);
  const page = await newPage();
  for (const [name, width, height, mobile, dark] of [["phone", 390, 800, true, true], ["desktop", 1100, 800, false, false]]) {
    await page.size(width, height, mobile, dark);
    for (const [what, visit, at] of [["text", texts, base], ["digit", digits, base], ["dna", sequences, base], ["table", tables, credit.base], ["prompt", prompts, language.base], ["kept", kept, base]]) {
      await page.open(at);
      await page.evaluate(`new Promise((resolve) => { (function look() { window.sisLive && (sisLive.wanted() || document.getElementById("explain")) ? resolve() : setTimeout(look, 10); })(); })`);
      await settle(page);
      await visit(page, at, name);
      check(`${what} ${name}: landmarks`, await page.evaluate(`["header", "nav[aria-label]", "main", "form[aria-label]", "footer", "#answer[aria-live]"].filter((s) => !document.querySelector(s))`), []);
      check(`${what} ${name}: nothing wider than the screen`, await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
      await picture(page, `${what}-${name}`);
    }
  }
  check("no error in the console", page.errors, []);
  check("no request to elsewhere", page.requests.filter((url) => !url.startsWith(base) && !url.startsWith(credit.base) && !url.startsWith(language.base) && !/^(about|blob|data):/.test(url)), []);
  await browser.close();
  for (const server of [child, credit.child, language.child]) {
    const ended = new Promise((resolve) => server.on("exit", (code) => resolve(code)));
    server.kill("SIGTERM");
    check("SIGTERM ends the server", await ended, 0);
  }
  language.rules.removeAllListeners("exit").stdin.end();
  console.log(`${checks - failures} of ${checks} checks hold`);
  process.exit(failures ? 1 : 0);
}
main().catch((error) => { console.log(error.stack); process.exit(1); });
