"use strict";
// Reports opened in a real browser: no error in the console, no request, tabs and threshold by mouse and
// keyboard, nothing wider than the screen, hostile texts harmless, all of it on paper.
//   node check.js CHROMIUM SIS FOLDER
const { execFileSync } = require("child_process");
const fs = require("fs");
const path = require("path");
const { open } = require("./browser.js");
const { methods, methodsClusters, hostile, hostileComparison, many, overshooting, ATTACKS } = require("./made.js");

const [chromium, sis, folder] = process.argv.slice(2).map((p) => path.resolve(p));
const results = path.join(__dirname, "results");
let checks = 0, failures = 0;

function check(what, found, wanted) {
  checks++;
  if (JSON.stringify(found) === JSON.stringify(wanted)) return;
  failures++;
  console.log(`${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`);
}

function report(name, args) {
  const page = path.join(folder, name + ".html");
  execFileSync(sis, ["report", ...args, "--quiet", "--force", "--output", page]);
  return page;
}

function made(name, records) {
  const file = path.join(folder, name + ".jsonl");
  fs.writeFileSync(file, records.map((r) => JSON.stringify(r) + "\n").join(""));
  return file;
}

function file(name, object) {
  const at = path.join(folder, name + ".json");
  fs.writeFileSync(at, JSON.stringify(object));
  return at;
}

const SELECTED = `document.querySelector('[aria-selected="true"]').id`;
const VISIBLE = `[...document.querySelectorAll("main > section")].filter((s) => s.offsetParent !== null).map((s) => s.id)`;
// Elements that reach beyond the screen and are not inside something that scrolls by itself.
const OUTSIDE = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 &&
  e.offsetParent !== null && !e.closest(".scroll, .tabs, .tag bdi")).slice(0, 3).map((e) => e.outerHTML.slice(0, 80))`;

// Plots that do not use the width that they are given, and sections that do not enclose theirs.
const SHRUNKEN = `[...document.querySelectorAll("main .plot")].filter((p) => p.offsetParent !== null).filter((p) => {
  const r = p.getBoundingClientRect(), s = p.closest("section").getBoundingClientRect();
  return r.width < Math.min(400, s.width) - 1 || r.bottom > s.bottom + 1; }).map((p) => p.textContent.slice(-40))`;

async function everyTab(page, name, visit) {
  const tabs = await page.evaluate(`[...document.querySelectorAll("#tabs a")].map((a) => a.id)`);
  for (const tab of tabs) {
    await page.evaluate(`document.getElementById("${tab}").click()`);
    await visit(tab.replace("tab-", ""));
  }
  return tabs;
}

async function noOverflow(page, file, name) {
  await page.open("file://" + file);
  for (const [size, width, mobile, dark] of [["phone", 390, true, false], ["small", 320, true, true], ["desktop", 1280, false, false]]) {
    await page.size(width, 800, mobile, dark);
    await everyTab(page, name, async (tab) => {
      check(`${name} ${size} ${tab}: width`, await page.evaluate("document.documentElement.scrollWidth"), width);
      check(`${name} ${size} ${tab}: outside`, await page.evaluate(OUTSIDE), []);
      check(`${name} ${size} ${tab}: plots fill the column`, await page.evaluate(SHRUNKEN), []);
      await page.evaluate("document.activeElement.blur()"); // no frame in pictures
      if (size === "desktop" || (size === "phone" && name === "image")) await page.screenshot(path.join(folder, `${name}-${size}-${tab}.png`));
    });
  }
}

async function tabsWork(page, file, name) {
  await page.size(1280, 800);
  await page.open("file://" + file);
  const tabs = await page.evaluate(`[...document.querySelectorAll("#tabs a")].map((a) => a.id)`);
  check(`${name}: first tab`, await page.evaluate(VISIBLE), ["overview"]);
  for (const tab of tabs) {
    await page.click("#" + tab);
    check(`${name}: click on ${tab}`, [await page.evaluate(SELECTED), await page.evaluate(VISIBLE)], [tab, [tab.slice(4)]]);
  }
  const last = tabs.length - 1;
  for (const [key, code, wanted] of [["Home", 36, 0], ["ArrowRight", 39, 1], ["ArrowLeft", 37, 0], ["ArrowLeft", 37, last], ["ArrowRight", 39, 0], ["End", 35, last]]) {
    await page.key(key, code);
    check(`${name}: key ${key}`, [await page.evaluate(SELECTED), await page.evaluate("document.activeElement.id")], [tabs[wanted], tabs[wanted]]);
  }
}

const PICKED = `({ at: document.getElementById("at").textContent, reset: document.getElementById("reset").disabled,
  note: document.querySelector(".card.on[data-walk] .body").textContent.includes("First subset at") })`;

async function pickerWorks(page, file, name) {
  await page.open("file://" + file + "#examples");
  check(`${name}: opened at`, await page.evaluate(VISIBLE), ["examples"]);
  const cards = `document.getElementById("cards").innerHTML.replace(/ loading="[a-z]*"/g, "")`;
  const before = await page.evaluate(cards);
  const start = await page.evaluate(PICKED);
  check(`${name}: as explained`, [start.reset, start.note], [true, false]);
  await page.evaluate(`document.getElementById("threshold").focus()`);
  await page.key("ArrowLeft", 37);
  const left = await page.evaluate(PICKED);
  check(`${name}: picker by key`, [Number(left.at) < Number(start.at), left.reset, left.note], [true, false, true]);
  await page.click("#threshold");
  const clicked = await page.evaluate(PICKED);
  check(`${name}: picker by mouse`, [clicked.at !== left.at, clicked.note], [true, true]);
  await page.evaluate("new Promise((done) => setTimeout(done, 300))"); // pictures that were never seen are decoded first
  check(`${name}: every picture is drawn`, await page.evaluate(`[...document.querySelectorAll('.card.on[data-look="image"]')]
    .filter((c) => c.textContent.includes("First subset at") && !c.querySelector("canvas")).length`), 0);
  await page.screenshot(path.join(folder, name + "-picked.png"));
  await page.click("#reset");
  check(`${name}: back as explained`, [await page.evaluate(PICKED), await page.evaluate(cards) === before], [start, true]);
}

// A picked subset is the one that the walk says: its sizes fall, or stay, with the threshold.
async function pickerTellsTheTruth(page, file) {
  await page.open("file://" + file + "#examples");
  const [sizes, thresholds] = await page.evaluate(`(() => {
    const slider = document.getElementById("threshold"), sizes = [], card = document.querySelector(".card.on[data-walk]");
    for (let i = 0; i <= Number(slider.max); i++) {
      slider.value = i;
      slider.dispatchEvent(new Event("input"));
      const found = /threshold|at .*: (\\d+) feature/.exec(card.querySelector(".body").textContent);
      sizes.push(found && found[1] ? Number(found[1]) : null);
      if (sizes[i] !== null && card.querySelectorAll("mark").length !== sizes[i]) sizes[i] = -1;
    }
    return [sizes, JSON.parse(document.getElementById("walks").textContent).t];
  })()`);
  const first = JSON.parse(fs.readFileSync(path.join(results, "text.jsonl"), "utf8").split("\n").find((l) => l.includes('"explained"')));
  const { start, trace } = first.subsets[0];
  const scores = [...trace].reverse().concat([start]);
  const wanted = thresholds.map((t) => {
    const k = first.score >= t ? scores.findIndex((s) => s >= t) : -1;
    return k > 0 ? k : null;
  });
  check("sizes at every threshold", sizes, wanted);
}

// Inputs that do not meet the threshold that is picked are not decided there: no subset, not counted, and the
// header does not go on saying "verified".
async function undecidedIsUndecided(page, file) {
  await page.size(1280, 800);
  await page.open("file://" + file + "#examples");
  const found = await page.evaluate(`(() => {
    const slider = document.getElementById("threshold"), t = JSON.parse(document.getElementById("walks").textContent).t;
    slider.value = t.findIndex((x) => x >= 0.8);
    slider.dispatchEvent(new Event("input"));
    return [...document.querySelectorAll(".card.on")].map((c) => [c.querySelector(".whose bdi").textContent,
      c.querySelector(".body .tag").textContent, c.querySelectorAll("mark").length,
      c.querySelector(".verdict").offsetParent !== null]);
  })()`);
  check("cards at 0.8", found, [["low", "not decided", 0, false], ["middle", "not decided", 0, false],
    ["high", "not verified", 1, false], ["default", "by default", 0, false]]);
  check("count at 0.8", /^1 of 4 .*; median size 1; 2 not decided\./.test(await page.evaluate(`document.getElementById("picked").textContent`)), true);
  await page.screenshot(path.join(folder, "undecided-picked.png"));
}

// A picture grows when it is chosen, by mouse and by key.
async function picturesGrow(page, file) {
  await page.open("file://" + file + "#examples");
  const width = `document.querySelector(".card.on .pictures img").getBoundingClientRect().width`;
  const before = await page.evaluate(width);
  await page.click(".card.on .pictures img");
  check("a picture grows", await page.evaluate(width) > before, true);
  await page.evaluate(`document.querySelector(".card.on .pictures img").focus()`);
  await page.key("Enter", 13);
  check("and shrinks", await page.evaluate(width), before);
  await page.open("file://" + file + "#clusters");
  const member = `document.querySelector(".row img").getBoundingClientRect().width`, small = await page.evaluate(member);
  await page.click(".row img");
  check("a member of a cluster grows", await page.evaluate(member) > 3 * small, true);
}

async function pagesWork(page, file) {
  await page.open("file://" + file + "#examples");
  const shown = `[document.querySelectorAll(".card.on").length, document.getElementById("where").textContent]`;
  check("first page", await page.evaluate(shown), [20, "1\u201320 of 201"]);
  await page.click("#next");
  check("second page", await page.evaluate(shown), [20, "21\u201340 of 201"]);
  await page.evaluate(`for (let i = 0; i < 20; i++) document.getElementById("next").click()`);
  check("last page", await page.evaluate(shown), [1, "201\u2013201 of 201"]);
  await page.evaluate(`(() => { const f = document.getElementById("find"); f.value = "for class 7"; f.dispatchEvent(new Event("input")); })()`);
  check("found", await page.evaluate(shown), [20, "1\u201320 of 20"]);
  const choose = (id, value) => page.evaluate(`(() => { const e = document.getElementById("${id}"); e.value = "${value}";
    e.dispatchEvent(new Event(e.type === "search" ? "input" : "change")); })()`);
  await choose("find", "");
  await choose("sort", "-score");
  check("highest score first", await page.evaluate(`(() => { const on = [...document.querySelectorAll(".card.on")].sort((a, b) => a.style.order - b.style.order)
    .map((c) => Number(c.dataset.score)); const all = [...document.querySelectorAll(".card")].filter((c) => c.dataset.status === "explained").map((c) => Number(c.dataset.score));
    return on[0] === Math.max(...all) && on.every((v, k) => k === 0 || v <= on[k - 1]); })()`), true);
  await choose("sort", "");
  await choose("class", "7");
  check("of one class", await page.evaluate(`[...document.querySelectorAll(".card.on")].every((c) => c.dataset.class === "7")`), true);
  await choose("class", "");
  await page.send("Emulation.setEmulatedMedia", { media: "print" });
  check("cards on paper", await page.evaluate(`[...document.querySelectorAll(".card")].filter((c) => c.offsetParent !== null).length`), 201);
  await page.send("Emulation.setEmulatedMedia", { media: "" });
  check("under 2 MB", fs.statSync(file).size < 2e6, true);
}

// Without scripts, and on paper, everything is there at once.
async function isCompleteWithoutScripts(page, file) {
  const all = ["overview", "examples", "spread", "histories", "clusters"];
  await page.send("Emulation.setScriptExecutionDisabled", { value: true });
  await page.open("file://" + file);
  const { root } = await page.send("DOM.getDocument");
  const { nodeIds } = await page.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector: "main > section, .card" });
  let seen = 0;
  for (const nodeId of nodeIds) seen += await page.send("DOM.getBoxModel", { nodeId }).then(({ model }) => Number(model.height > 0), () => 0);
  check("sections and cards without scripts", seen, all.length + 24);
  await page.send("Emulation.setScriptExecutionDisabled", { value: false });
  await page.open("file://" + file);
  await page.send("Emulation.setEmulatedMedia", { media: "print" });
  check("sections on paper", await page.evaluate(VISIBLE), all);
  await page.send("Emulation.setEmulatedMedia", { media: "" });
}

// Two models: tabs by key, both halves beside each other on a desk and below each other on a phone.
async function comparisonWorks(page, file) {
  const halves = `[...document.querySelector(".pair").querySelectorAll(".half")].map((h) => h.getBoundingClientRect()).map((r) => [r.left, r.top])`;
  await page.size(1280, 800);
  await page.open("file://" + file + "#comparison");
  check("comparison is open", await page.evaluate(VISIBLE), ["comparison"]);
  check("plots of a comparison", await page.evaluate(`document.querySelectorAll("#comparison .plot svg").length`), 2);
  const [[, top1], [left2, top2]] = await page.evaluate(halves);
  check("beside each other", [top1 === top2, left2 > 400], [true, true]);
  await page.evaluate(`document.getElementById("tab-comparison").focus()`);
  await page.key("ArrowLeft", 37);
  await page.key("ArrowRight", 39);
  check("comparison by key", [await page.evaluate(SELECTED), await page.evaluate(VISIBLE)], ["tab-comparison", ["comparison"]]);
  await page.key("Tab", 9);
  check("its table can be scrolled by key", await page.evaluate("document.activeElement.getAttribute('aria-label')"), "Models");
  await page.size(390, 800, true);
  const [[x1, y1], [x2, y2]] = await page.evaluate(halves);
  check("below each other", [x1 === x2, y2 > y1], [true, true]);
}

// Several methods of one input stand side by side, with what each attributes; values are held against those of
// the other rows; one file at a time if one asks for it.
async function methodsStandTogether(page, file) {
  await page.size(1280, 800);
  await page.open("file://" + file + "#examples");
  const cards = `[...document.querySelectorAll(".together")].map((t) => [...t.querySelectorAll(".card.on")].map((c) => c.getBoundingClientRect()).filter((r) => r.width))`;
  check("three methods of fifteen inputs", await page.evaluate(`${cards}.map((t) => t.length)`), Array(15).fill(3));
  check("side by side", await page.evaluate(`${cards}.every((t) => t.every((r, k) => r.top === t[0].top && (k === 0 || r.left >= t[k - 1].right)))`), true);
  check("pager counts inputs", await page.evaluate(`document.getElementById("pager").hidden`), true);
  check("attributions of tables, texts, sequences and pictures", await page.evaluate(`[".attributed span[style]", ".attributions .text i[style]",
    ".attributions .dna i[style]", "figure.attributed img"].map((s) => document.querySelectorAll(s).length > 0)`), [true, true, true, true]);
  check("a mixture is no list of means", await page.evaluate(`document.querySelector(".features td.soft:has(bdi)").textContent`), "mostly part-time employment, 3 in all");
  check("every card has a score bar", await page.evaluate(`document.querySelectorAll(".card .track").length`), 45);
  check("no base is alone", await page.evaluate(`[...document.querySelectorAll(".body > .dna span")].every((s) => s.children.length > 4)`), true);
  await page.evaluate(`(() => { const e = document.getElementById("run"); e.value = "0"; e.dispatchEvent(new Event("change")); })()`);
  check("one file", await page.evaluate(`${cards}.map((t) => t.length)`), Array(15).fill(1));
  check("a value against the others", await page.evaluate(`(() => { const e = document.querySelector(".card.on .among .spread i"), t = e.closest(".card");
    return [...document.querySelectorAll(".card")].filter((c) => c.querySelector(".whole .spread:not(.share)")).length; })()`), 36);
  await page.open("file://" + file + "#overview");
  check("what subsets are made of", await page.evaluate(`[...document.querySelectorAll(".overview svg title, .overview svg")].length >= 3`), true);
  check("common facts once", await page.evaluate(`document.querySelector("#overview h3").textContent`), "In common");
  check("no word is broken", await page.evaluate(`[...document.querySelectorAll("#examples .features th, #overview .facts dt")].every((e) => getComputedStyle(e).wordBreak === "normal")`), true);
  await page.open("file://" + file + "#clusters");
  check("clusters in the order of the file", await page.evaluate(`[...document.querySelectorAll("#clusters h4 .tag")].map((t) => parseInt(t.textContent))`), [4, 2]);
  check("ranges instead of values", await page.evaluate(`document.querySelector("#clusters .patterns").textContent.trim().replace(/\\s+/g, " ")`),
    "income 100 to 700job fixed, part-time employment, other \u00d7 4");
}

async function isHarmless(page, file) {
  await page.open("file://" + file + "#examples");
  check("nothing ran", await page.evaluate("typeof window.hacked"), "undefined");
  check("scripts", await page.evaluate("document.scripts.length"), 2);
  check("styles", await page.evaluate("document.querySelectorAll('style').length"), 1);
  check("elements made by data", await page.evaluate("document.querySelectorAll('iframe, base, object, embed, [onerror], [onload], [onmouseover], meta[http-equiv=refresh]').length"), 0);
  check("addresses", await page.evaluate("[...document.querySelectorAll('[src], [href]')].filter((e) => !/^(data:|#)/.test(e.getAttribute('src') || e.getAttribute('href'))).length"), 0);
  check("footer is still there", await page.evaluate("document.querySelector('body > footer') !== null"), true);
  const text = await page.evaluate("document.body.textContent");
  for (const attack of ATTACKS.slice(0, 3)) check("shown as text: " + attack, text.includes(attack), true);
  check("direction marks are shown", text.includes("[U+202E]") && !text.includes("\u202e"), true);
  await page.evaluate(`(() => { const s = document.getElementById("threshold"); for (const v of [0, s.max]) { s.value = v; s.dispatchEvent(new Event("input")); } })()`);
  check("nothing ran after picking", await page.evaluate("typeof window.hacked"), "undefined");
}

async function main() {
  const { browser, page: newPage } = await open(chromium);
  const page = await newPage();
  const pages = {
    image: report("image", [path.join(results, "image.jsonl"), "--clusters", path.join(results, "image-clusters.json")]),
    dna: report("dna", [path.join(results, "dna.jsonl"), "--clusters", path.join(results, "dna-clusters.json")]),
    models: report("models", [path.join(results, "image.jsonl"), path.join(results, "image-b.jsonl"), "--comparison", path.join(results, "image-comparison.json")]),
    methods: report("methods", [path.join(results, "dna.jsonl"), "--evaluation", path.join(results, "dna-evaluation.json")]),
    text: report("text", [path.join(results, "text.jsonl")]),
    table: report("table", [path.join(results, "table.jsonl"), path.join(results, "text.jsonl")]),
    hostile: report("hostile", [made("hostile", hostile()), "--title", ATTACKS.slice(0, 6).join(" "),
      "--comparison", file("hostile-comparison", hostileComparison())]),
    together: report("together", ["sis", "lime", "ig"].map((m) => made(m, methods(m))).concat(["--clusters", file("together-clusters", methodsClusters())])),
    many: report("many", [made("many", many())]),
    undecided: report("undecided", [made("undecided", overshooting())]),
  };
  for (const [name, file] of Object.entries(pages)) {
    await noOverflow(page, file, name);
    await tabsWork(page, file, name);
    if (name !== "hostile" && name !== "together") await pickerWorks(page, file, name);
  }
  await pickerTellsTheTruth(page, pages.text);
  await undecidedIsUndecided(page, pages.undecided);
  await pagesWork(page, pages.many);
  await picturesGrow(page, pages.image);
  await isCompleteWithoutScripts(page, pages.image);
  await comparisonWorks(page, pages.models);
  await methodsStandTogether(page, pages.together);
  await isHarmless(page, pages.hostile);
  check("errors in the console", page.errors, []);
  check("requests", page.requests.filter((url) => url !== "about:blank" && !url.startsWith("file://" + folder)), []);
  await browser.close();
  console.log(`${checks} checks, ${failures} failures`);
  process.exit(failures ? 1 : 0);
}

main().catch((error) => {
  console.log(error.stack);
  process.exit(1);
});
