"use strict";
// A headless Chromium, driven over its DevTools pipe with nothing but node: file descriptors 3 and 4
// carry JSON messages ended by NUL. `open()` starts one with an empty profile of its own.
const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb", "--in-process-gpu", "--remote-debugging-pipe"];

class Browser {
  constructor(program) {
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), "sis-chromium-"));
    this.child = spawn(program, [...FLAGS, "--user-data-dir=" + this.profile, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    process.on("exit", () => this.clear()); // whatever the outcome
    this.answers = new Map();
    this.listeners = [];
    this.next = 1;
    this.rest = "";
    this.child.stdio[4].setEncoding("utf8");
    this.child.stdio[4].on("data", (text) => this.read(text));
    this.child.on("exit", () => this.answers.forEach((a) => a.reject(new Error("chromium ended"))));
  }
  read(text) {
    const parts = (this.rest + text).split("\0");
    this.rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      const answer = this.answers.get(message.id);
      if (!answer) this.listeners.forEach((listener) => listener(message));
      else if (message.error) answer.reject(new Error(message.error.message));
      else answer.resolve(message.result);
      this.answers.delete(message.id);
    }
  }
  send(method, params, session) {
    const id = this.next++;
    this.child.stdio[3].write(JSON.stringify({ id, method, params: params || {}, sessionId: session }) + "\0");
    return new Promise((resolve, reject) => this.answers.set(id, { resolve, reject }));
  }
  async close() {
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.send("Browser.close").catch(() => {});
    setTimeout(() => this.child.kill("SIGKILL"), 5000).unref();
    await ended;
    this.clear();
  }
  clear() {
    this.child.kill("SIGKILL");
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

// A page that records what goes wrong: console errors, exceptions, requests.
class Page {
  constructor(browser) {
    this.browser = browser;
    this.errors = [];
    this.requests = [];
    this.waiting = [];
  }
  async start() {
    const { targetId } = await this.browser.send("Target.createTarget", { url: "about:blank" });
    this.target = targetId;
    this.session = (await this.browser.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    this.browser.listeners.push((message) => message.sessionId === this.session && this.hear(message));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(domain + ".enable");
    return this;
  }
  send(method, params) {
    return this.browser.send(method, params, this.session);
  }
  hear({ method, params }) {
    if (method === "Runtime.exceptionThrown") this.errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type))
      this.errors.push(params.args.map((a) => a.value || a.description).join(" "));
    if (method === "Log.entryAdded" && params.entry.level !== "verbose" && params.entry.level !== "info") this.errors.push(params.entry.text);
    if (method === "Page.javascriptDialogOpening") {
      this.errors.push("a dialog: " + params.message);
      this.send("Page.handleJavaScriptDialog", { accept: false });
    }
    if (method === "Network.requestWillBeSent" && !params.request.url.startsWith("data:")) this.requests.push(params.request.url);
    this.waiting = this.waiting.filter((w) => w.method !== method || (w.resolve(params), false));
  }
  event(method) {
    return new Promise((resolve) => this.waiting.push({ method, resolve }));
  }
  async size(width, height, mobile, dark) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile: Boolean(mobile) });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  }
  async open(url) {
    for (const address of ["about:blank", url]) { // away first: a new #place alone would load nothing
      const loaded = this.event("Page.loadEventFired");
      await this.send("Page.navigate", { url: address });
      await loaded;
    }
  }
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
    return result.value;
  }
  async key(key, code, text) {
    const about = { key, code: key, windowsVirtualKeyCode: code, text };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...about });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...about });
  }
  // A real click in the middle of the element.
  async click(selector) {
    const at = await this.evaluate(`(async () => { const e = document.querySelector(${JSON.stringify(selector)});
      for (let k = 0, top = NaN, still = 0; k < 60 && still < 4; k++) { // until it rests: what comes into view may be higher than was thought
        e.scrollIntoView({ block: "center" });
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 10)));
        const now = e.getBoundingClientRect().top;
        still = now === top && now < innerHeight ? still + 1 : 0;
        top = now;
      }
      const r = e.getBoundingClientRect();
      return { x: r.left + r.width / 2, y: r.top + r.height / 2 }; })()`);
    for (const type of ["mousePressed", "mouseReleased"])
      await this.send("Input.dispatchMouseEvent", { type, ...at, button: "left", clickCount: 1 });
  }
  async screenshot(file, whole) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: Boolean(whole) });
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }
}

async function open(program) {
  const browser = new Browser(program);
  await browser.send("Browser.getVersion");
  return { browser, page: () => new Page(browser).start() };
}
module.exports = { open };
