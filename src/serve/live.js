"use strict";
/* The live page. One state (model, input, question); every change of it asks the server, at most one
   question under way, the latest one next: an old answer stays until a newer one is there and never
   replaces it. The threshold is read from the trace of the answer at once, and asked for when it
   rests. */
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (name, attributes, ...children) => {
    const e = document.createElement(name);
    Object.entries(attributes || {}).forEach(([key, value]) => {
      if (key === "class") e.className = value;
      else if (value !== null && value !== undefined) e.setAttribute(key, value);
    });
    e.append(...children.filter((child) => child !== null && child !== undefined));
    return e;
  };
  const svg = (name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => e.setAttribute(key, value));
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const COLOURS = 12; /* s0 to s11 of page.css */
  const short = (v) => v === null || v === undefined ? "?" : String(Number(Number(v).toPrecision(4)));

  let token = sessionStorage.getItem("token") || "";
  async function ask(path, body) {
    const headers = token ? { Authorization: "Bearer " + token } : {};
    if (body) headers["Content-Type"] = "application/json";
    const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body ? JSON.stringify(body) : undefined });
    if (answer.status === 401) {
      token = prompt("This server asks for a token") || "";
      sessionStorage.setItem("token", token);
      if (token) return ask(path, body);
    }
    if (!answer.ok) {
      const said = await answer.json().catch(() => ({}));
      throw new Error(said.error || "the server answered " + answer.status);
    }
    return answer;
  }
  const address = (name) => "/v1/models/" + encodeURIComponent(name);

  /* ---- State ---- */
  const about = new Map(); /* what each model is, by name */
  const state = { model: "", input: null, threshold: 0.5, below: false, output: "", mask: "", method: "", second: "" };
  const first = () => about.get(state.model);
  const fits = (name) => {
    const a = about.get(name), b = first();
    return a && b && a.kind === b.kind && JSON.stringify(a.shape) === JSON.stringify(b.shape) &&
      JSON.stringify((a.columns || []).map((c) => c.name)) === JSON.stringify((b.columns || []).map((c) => c.name));
  };

  /* ---- The editors: each shows an input and gives it back ---- */
  let editor = null;
  function textEditor(letters) {
    const area = make("textarea", { id: "text", "aria-label": letters ? "Sequence of bases" : "Text", spellcheck: "false",
      class: letters ? "letters" : "", placeholder: letters ? "Paste a sequence of A C G T" : "Type or paste a text" });
    byId("input").replaceChildren(area);
    area.addEventListener("input", () => changed(area.value));
    return { show: (v) => { area.value = v || ""; },
      read: (v) => letters ? v.replace(/[^ACGTN]/gi, "").toUpperCase() : v, empty: (v) => !v || !v.trim() };
  }
  /* Height, width and channels of an image's shape, and whether channels are in front. */
  function raster(shape) {
    if (shape.length === 2) return { h: shape[0], w: shape[1], c: 1, front: false };
    return shape[0] <= 4 ? { c: shape[0], h: shape[1], w: shape[2], front: true } : { h: shape[0], w: shape[1], c: shape[2], front: false };
  }
  const pixel = (v, r, y, x, c) => v === null ? 0 : r.c === 1 && !Array.isArray(v[0][0]) ? v[y][x] : r.front ? v[c][y][x] : v[y][x][c];
  function blank(shape) {
    return shape.length === 0 ? 0 : Array.from({ length: shape[0] }, () => blank(shape.slice(1)));
  }
  function imageEditor(shape) {
    const r = raster(shape);
    const canvas = make("canvas", { id: "canvas", width: r.w, height: r.h, tabindex: "0", role: "img",
      "aria-label": "Drawing of " + r.h + " by " + r.w + " pixels. Arrows move, space draws." });
    const clear = make("button", { type: "button", id: "clear" }, "Clear");
    const file = make("input", { type: "file", id: "file", accept: "image/*", "aria-label": "Load an image" });
    byId("input").replaceChildren(make("div", { class: "draw" }, canvas,
      make("div", { class: "tools" }, make("p", { class: "soft" }, "Draw with the pointer, or load a picture."), clear, file)));
    const context = canvas.getContext("2d", { willReadFrequently: true });
    let values = blank(shape), at = null, pen = [r.h >> 1, r.w >> 1];
    const set = (y, x, v) => {
      if (y < 0 || x < 0 || y >= r.h || x >= r.w) return;
      if (r.c === 1 && !Array.isArray(values[0][0])) values[y][x] = Math.max(values[y][x], v);
      else for (let c = 0; c < r.c; c++) if (r.front) values[c][y][x] = Math.max(values[c][y][x], v); else values[y][x][c] = Math.max(values[y][x][c], v);
    };
    const paint = () => {
      const image = context.createImageData(r.w, r.h);
      for (let y = 0; y < r.h; y++) for (let x = 0; x < r.w; x++) for (let c = 0; c < 4; c++)
        image.data[4 * (y * r.w + x) + c] = c === 3 ? 255 : 255 * pixel(values, r, y, x, r.c >= 3 ? c : 0);
      context.putImageData(image, 0, 0);
    };
    /* A soft round pen about a tenth of the picture wide. */
    const dot = (y, x) => {
      const radius = Math.max(1, Math.min(r.h, r.w) / 20);
      for (let dy = -Math.ceil(radius + 1); dy <= radius + 1; dy++) for (let dx = -Math.ceil(radius + 1); dx <= radius + 1; dx++) {
        const d = Math.hypot(Math.round(y) + dy - y, Math.round(x) + dx - x);
        set(Math.round(y) + dy, Math.round(x) + dx, Math.min(1, Math.max(0, radius + 0.7 - d)));
      }
    };
    const line = (a, b) => {
      const steps = Math.max(1, Math.ceil(2 * Math.hypot(a[0] - b[0], a[1] - b[1])));
      for (let k = 0; k <= steps; k++) dot(a[0] + (b[0] - a[0]) * k / steps, a[1] + (b[1] - a[1]) * k / steps);
      paint();
      changed(values);
    };
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientY - box.top) / box.height * r.h - 0.5, (event.clientX - box.left) / box.width * r.w - 0.5];
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); at = place(event); line(at, at); event.preventDefault(); });
    canvas.addEventListener("pointermove", (event) => { if (at) { const to = place(event); line(at, to); at = to; } });
    ["pointerup", "pointercancel"].forEach((name) => canvas.addEventListener(name, () => { at = null; }));
    canvas.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (step) pen = [Math.min(r.h - 1, Math.max(0, pen[0] + step[0])), Math.min(r.w - 1, Math.max(0, pen[1] + step[1]))];
      if (step && event.shiftKey || event.key === " ") line(pen, pen);
      if (step || event.key === " ") event.preventDefault();
    });
    clear.addEventListener("click", () => { values = blank(shape); paint(); changed(values); });
    file.addEventListener("change", async () => {
      if (!file.files[0]) return;
      const picture = await createImageBitmap(file.files[0]).catch(() => null);
      if (!picture) { say("that file is no picture"); return; }
      context.drawImage(picture, 0, 0, r.w, r.h);
      const d = context.getImageData(0, 0, r.w, r.h).data;
      values = blank(shape);
      for (let y = 0; y < r.h; y++) for (let x = 0; x < r.w; x++) {
        const p = 4 * (y * r.w + x), grey = (d[p] + d[p + 1] + d[p + 2]) / 765;
        if (r.c === 1 && !Array.isArray(values[0][0])) values[y][x] = grey;
        else for (let c = 0; c < r.c; c++) { const v = r.c >= 3 && c < 3 ? d[p + c] / 255 : grey; if (r.front) values[c][y][x] = v; else values[y][x][c] = v; }
      }
      paint();
      changed(values);
    });
    paint();
    return { show: (v) => { values = v ? JSON.parse(JSON.stringify(v)) : blank(shape); paint(); }, read: (v) => v,
      empty: (v) => !v || !JSON.stringify(v).match(/[1-9]/) };
  }
  function tableEditor(columns) {
    const fields = make("div", { class: "fields" });
    let values = {};
    const setters = columns.map((column, k) => {
      if (column.categories) {
        const select = make("select", { id: "f" + k }, ...column.categories.map((c) => make("option", {}, c)));
        select.addEventListener("change", () => { values[column.name] = select.value; changed(values); });
        fields.append(make("label", {}, column.name, select));
        values[column.name] = column.categories[0];
        return (v) => { select.value = v; };
      }
      const known = column.least !== undefined, span = known ? column.most - column.least : 0;
      const whole = known && [column.least, column.most, column.middle].every(Number.isInteger);
      const step = whole ? 1 : span ? span / 200 : "any";
      const number = make("input", { type: "number", id: "f" + k, step: "any", "aria-label": column.name });
      const slider = known && span > 0 ? make("input", { type: "range", min: column.least, max: column.most, step, "aria-label": column.name + ", slider" }) : null;
      const set = (v) => { number.value = v === null ? "" : v; if (slider && v !== null) slider.value = v; };
      const take = (text) => { values[column.name] = text === "" ? null : Number(text); changed(values); };
      number.addEventListener("input", () => { if (slider) slider.value = number.value; take(number.value); });
      if (slider) slider.addEventListener("input", () => { number.value = slider.value; take(slider.value); });
      fields.append(make("label", {}, column.name, make("span", { class: "pair-of" }, slider, number)));
      values[column.name] = known ? column.middle : 0;
      set(values[column.name]);
      return set;
    });
    byId("input").replaceChildren(fields);
    return { show: (v) => { values = v ? { ...v } : values; columns.forEach((c, k) => setters[k](values[c.name])); },
      read: (v) => v || values, empty: () => false };
  }
  function arrayEditor() {
    const area = make("textarea", { id: "text", "aria-label": "Numbers", placeholder: "[0.1, 0.2, ...]", spellcheck: "false" });
    byId("input").replaceChildren(area);
    area.addEventListener("input", () => changed(area.value));
    return { show: (v) => { area.value = v === null ? "" : typeof v === "string" ? v : JSON.stringify(v); },
      read: (v) => typeof v === "string" ? JSON.parse(v) : v, empty: (v) => !v || !String(v).trim() };
  }
  function openEditor(model) {
    if (model.kind === "text") return textEditor(false);
    if (model.kind === "dna") return textEditor(true);
    if (model.kind === "image" && model.shape && model.shape.length <= 3) return imageEditor(model.shape);
    if (model.columns) return tableEditor(model.columns);
    return arrayEditor();
  }

  /* ---- Asking: one question under way, the latest next ---- */
  let wanted = 0, shown = 0, busy = false, again = false, timer = 0;
  let answers = []; /* records, of the first model and of the one beside it */
  let tookMs = 0;
  function question() {
    const parameters = { threshold: state.threshold, below: state.below, trace: true };
    if (state.output !== "") parameters["class"] = state.output;
    if (state.mask) parameters.mask = state.mask;
    if (state.method) parameters.method = state.method;
    return { instances: [editor.read(state.input)], parameters };
  }
  function askSoon(delay) {
    wanted++;
    all(".card").forEach((card) => card.classList.add("stale"));
    clearTimeout(timer);
    timer = setTimeout(askNow, delay);
  }
  const all = (selector) => Array.from(byId("answer").querySelectorAll(selector));
  async function askNow() {
    if (busy) { again = true; return; }
    if (editor.empty(state.input)) { answers = []; shown = wanted; draw(); return; }
    busy = true;
    const number = wanted, began = performance.now();
    let got, trouble = "";
    try {
      const body = question();
      const names = state.second && fits(state.second) ? [state.model, state.second] : [state.model];
      got = await Promise.all(names.map(async (name) => (await (await ask(address(name) + ":explain", body)).json()).explanations[0]));
    } catch (error) { trouble = error.message; }
    busy = false;
    if (number > shown && (number === wanted || !trouble)) {
      shown = number;
      tookMs = performance.now() - began;
      if (trouble) fail(trouble);
      else { answers = got.filter(Boolean); draw(); }
    }
    document.body.dataset.shown = String(shown);
    if (again || wanted > number) { again = false; askNow(); }
  }
  function changed(input) {
    state.input = input;
    remember();
    askSoon(60);
  }

  /* ---- Drawing ---- */
  function fail(text) {
    byId("answer").replaceChildren(make("p", { class: "trouble", role: "alert" }, text));
  }
  const label = (record) => record.n_outputs > 1 || !/^1?$/.test(record.output_label || "") ? record.output_label || "output " + record.output : "";
  function verdict(record) {
    const sign = record.direction === ">=" ? "at least" : "at most", reached = record.status !== "below_threshold";
    const p = make("p", { class: "verdict" }, label(record) ? make("b", {}, label(record)) : "The score is", label(record) ? " scores " : " ", make("b", {}, short(record.score)));
    if (record.status === "error") return make("p", { class: "verdict trouble" }, record.message || "error");
    p.append(reached ? ", " + sign + " " : ", not " + sign + " ", short(record.threshold));
    return p;
  }
  function scoreBar(record, subset) {
    const points = [record.masked_score, record.score, record.threshold].concat(subset ? [subset.score] : []).filter((v) => v !== null);
    const low = Math.min(0, ...points), high = Math.max(1, ...points), x = (v) => 10 + 400 * (v - low) / (high - low);
    const box = svg("svg", { viewBox: "0 0 420 54", role: "img", "aria-label": "masked " + short(record.masked_score) +
      (subset ? ", subset " + short(subset.score) : "") + ", threshold " + short(record.threshold) + ", whole input " + short(record.score) });
    const mark = (v, text, up, kind) => {
      box.append(svg("circle", { cx: x(v), cy: 27, r: 6, class: kind }));
      box.append(svg("text", { x: Math.min(375, Math.max(45, x(v))), y: up ? 12 : 48, "text-anchor": "middle" }, text + " " + short(v)));
    };
    box.append(svg("line", { x1: 10, x2: 410, y1: 27, y2: 27, class: "axis" }));
    box.append(svg("line", { x1: x(record.masked_score), x2: x(record.score), y1: 27, y2: 27, class: "reach" }));
    box.append(svg("line", { x1: x(record.threshold), x2: x(record.threshold), y1: 16, y2: 38, class: "limit" }));
    mark(record.masked_score, "masked", false, "");
    if (subset) mark(subset.score, "subset", true, "");
    mark(record.score, "whole", subset ? Math.abs(x(subset.score) - x(record.score)) > 95 : true, "full");
    return make("div", { class: "score" }, box);
  }
  const rankOf = (subsets) => {
    const rank = new Map();
    subsets.forEach((subset, k) => subset.features.forEach((f, i) => { if (!rank.has(f)) rank.set(f, { k, r: Math.floor(4 * i / subset.features.length) }); }));
    return rank;
  };
  const markOf = (text, at) => at ? make("mark", { class: "s" + at.k % COLOURS + " r" + at.r, "data-k": at.k + 1 }, text) : text;
  function drawText(record, subsets) {
    const rank = rankOf(subsets), p = make("p", { class: "text" + (subsets.length > 1 ? " many" : "") });
    const text = Array.from(record.text || ""), spans = record.spans || []; /* characters, as spans count them */
    let at = 0;
    for (let f = 0; 2 * f < spans.length; f++) {
      p.append(text.slice(at, spans[2 * f]).join(""), markOf(text.slice(spans[2 * f], spans[2 * f + 1]).join(""), rank.get(f)));
      at = spans[2 * f + 1];
    }
    if (!record.text) (record.words || []).forEach((word, f) => p.append(markOf(word, rank.get(f)), " "));
    p.append(text.slice(at).join(""));
    return p;
  }
  function drawLetters(record, subsets) {
    const rank = rankOf(subsets), p = make("p", { class: "dna" }), letters = record.sequence || "";
    for (let k = 0; k < letters.length; k += 10) {
      const block = make("span", { "data-n": k + 1 });
      for (let f = k; f < Math.min(k + 10, letters.length); f++) block.append(rank.has(f) ? markOf(letters[f], rank.get(f)) : make("i", {}, letters[f]));
      p.append(block);
    }
    return p;
  }
  function drawPicture(record, subset) {
    const shape = (record.shape || []).filter((n, k, s) => !(n === 1 && s.length - k > 2)), r = raster(shape.length < 2 ? [1, record.values.length] : shape);
    const canvas = make("canvas", { width: r.w, height: r.h }), context = canvas.getContext("2d"), image = context.createImageData(r.w, r.h);
    const on = subset ? new Set(subset.features) : null, map = record.feature_map;
    for (let y = 0; y < r.h; y++) for (let x = 0; x < r.w; x++) {
      const index = (c) => r.front ? (c * r.h + y) * r.w + x : (y * r.w + x) * r.c + c;
      const colour = [0, 1, 2].map((c) => record.values[index(r.c >= 3 ? c : 0)]), v = (colour[0] + colour[1] + colour[2]) / 3;
      const p = 4 * (y * r.w + x), f = map ? map[index(0)] : index(0);
      let paint = colour.map((c) => 255 * c), alpha = 255;
      if (on && !on.has(f)) { paint = [128, 128, 128]; alpha = 24 + 80 * v; }
      else if (on && r.c < 3) { paint = v >= 0.5 ? [230, 120, 0] : [0, 114, 178]; alpha = 255 * (0.55 + 0.45 * Math.abs(2 * v - 1)); }
      image.data.set([...paint, alpha], p);
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }
  function drawPictures(record, subsets) {
    const row = make("div", { class: "pictures" }, make("figure", {}, drawPicture(record, null), make("figcaption", {}, "the input")));
    subsets.forEach((subset, k) => row.append(make("figure", {}, drawPicture(record, subset),
      make("figcaption", {}, "subset " + (k + 1) + ": " + subset.features.length + " pixels, " + short(subset.score)))));
    return row;
  }
  function drawTable(record, subsets) {
    const columns = (first() || {}).columns || [];
    return make("div", { class: "tables" }, ...subsets.map((subset, k) => make("table", { class: "features values" },
      make("caption", {}, make("span", { class: "key s" + k % COLOURS }, String(k + 1)), " scores " + short(subset.score)),
      make("tbody", {}, ...subset.features.map((f) => {
        const name = record.names ? record.names[f] : "feature " + f, column = columns.find((c) => c.name === name);
        const value = state.input && state.input[name] !== undefined ? state.input[name] : record.values[(record.feature_map || []).indexOf(f) >= 0 ? record.feature_map.indexOf(f) : f];
        const spread = column && column.least !== undefined && column.most > column.least
          ? make("span", { class: "spread", title: short(column.least) + " to " + short(column.most) },
            make("i", { style: "left:" + 100 * Math.min(1, Math.max(0, (value - column.least) / (column.most - column.least))) + "%" })) : null;
        return make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "number" }, typeof value === "number" ? short(value) : String(value), spread));
      })))));
  }
  function listSubsets(record, subsets) {
    const name = (f) => record.words ? record.words[f] : record.sequence ? record.sequence[f] : record.names ? record.names[f] : String(f);
    return make("ol", { class: "subsets" }, ...subsets.map((subset, k) => make("li", {}, make("span", { class: "key s" + k % COLOURS }, String(k + 1)),
      record.sequence ? pattern(record.sequence, subset.features) : make("span", { class: "words" }, ...subset.features.slice(0, 40).map((f) => make("bdi", {}, name(f)))),
      make("span", { class: "soft" }, "scores " + short(subset.score)))));
  }
  function pattern(sequence, features) {
    const on = new Set(features), low = Math.min(...features), high = Math.max(...features), span = make("span", { class: "pattern" });
    for (let f = low; f <= high; f++) span.append(on.has(f) ? sequence[f] : make("i", {}, "\u00b7"));
    return span;
  }
  function drawBody(record, subsets) {
    if (record.words) return [drawText(record, subsets), listSubsets(record, subsets)];
    if (record.sequence) return [drawLetters(record, subsets), listSubsets(record, subsets)];
    if (record.kind === "image") return [drawPictures(record, subsets)];
    if (record.kind === "table" || record.names) return [drawTable(record, subsets)];
    return [listSubsets(record, subsets)];
  }
  /* Why there is nothing to explain, and what would be. */
  function whyNot(record) {
    const least = record.direction === ">=";
    if (record.status === "below_threshold")
      return "The input does not reach the threshold. Any threshold " + (least ? "from " + short(record.masked_score) + " to " : "down to ") + short(record.score) +
        " has an explanation; " + (least ? "\u201cat most\u201d" : "\u201cat least\u201d") + " shows which features pull it the other way.";
    if (record.status === "default_decision")
      return "Even with everything masked the score is " + short(record.masked_score) + ": no part of the input is responsible. Take another threshold or mask.";
    return "";
  }
  function drawCard(record, name) {
    const subsets = record.subsets || [], card = make("article", { class: "card", "data-status": record.status });
    card.append(make("header", {}, make("h3", {}, answers.length > 1 ? name : subsets.length === 0 ? "Nothing to explain" :
      subsets.length === 1 ? "One sufficient subset" : subsets.length + " sufficient subsets"),
    record.verified ? make("span", { class: "tag" }, "verified") : null));
    card.append(verdict(record));
    if (record.status !== "error") card.append(scoreBar(record, subsets[0]));
    if (record.status === "explained") card.append(...drawBody(record, subsets));
    else card.append(make("p", { class: "reason" }, whyNot(record)));
    card.append(make("p", { class: "soft" }, short(record.evaluations) + " evaluations, " + short(1000 * record.seconds) + " ms"));
    return card;
  }
  function draw() {
    byId("answer").replaceChildren(...answers.map((record, k) => drawCard(record, k ? state.second : state.model)));
    if (answers.length === 0) byId("answer").replaceChildren(make("p", { class: "reason" }, "Nothing to explain yet."));
    byId("picked").textContent = "";
    tune();
  }

  /* ---- The threshold: read from the trace at once, asked for when it rests ---- */
  function tune() {
    const slider = byId("threshold"), record = answers[0], scores = record ? [record.score, record.masked_score, 0, 1] : [0, 1];
    const low = Math.min(...scores), high = Math.max(...scores), wide = low < 0 || high > 1;
    slider.min = String(wide ? low : 0);
    slider.max = String(wide ? high : 1);
    slider.step = String(wide ? (high - low) / 200 : 0.01);
    slider.value = String(state.threshold);
    byId("at").textContent = short(state.threshold);
  }
  /* The first subset at another threshold: what was masked last, as long as it is needed. */
  function reread(record, threshold) {
    const walk = (record.subsets || [])[0], least = record.direction === ">=";
    if (!walk || !walk.order) return null;
    const enough = (v) => least ? v >= threshold : v <= threshold;
    if (!enough(record.score)) return -1;
    let keep = walk.order.length;
    for (let i = walk.trace.length - 1; i >= 0; i--) if (enough(walk.trace[i])) { keep = i + 1; break; } else if (i === 0) keep = 0;
    return walk.order.length - keep;
  }
  function slide() {
    state.threshold = Number(byId("threshold").value);
    byId("at").textContent = short(state.threshold);
    const size = answers[0] ? reread(answers[0], state.threshold) : null;
    byId("picked").textContent = size === null ? "" : size < 0 ? "The input does not reach it." :
      size === 0 ? "Reached with everything masked." : "First subset, read from the walk: " + size + (size === 1 ? " feature." : " features.");
    remember();
    askSoon(150);
  }

  /* ---- Examples ---- */
  const shelf = { from: 0, count: 0, items: [], step: 50 };
  async function fetchExamples(from) {
    const model = state.model, got = await (await ask(address(model) + "/examples?from=" + from + "&count=" + shelf.step)).json();
    if (model !== state.model) return;
    Object.assign(shelf, { from, count: got.count, items: got.examples });
    byId("choose").hidden = got.count === 0;
    listExamples();
  }
  function listExamples() {
    const words = byId("find").value.trim().toLowerCase();
    const text = (item) => item.id + (item.label !== undefined ? " (" + item.label + ")" : "") + (typeof item.instance === "string" ? ": " + item.instance.slice(0, 60) : "");
    const fitting = shelf.items.map((item, k) => [k, text(item)]).filter(([k, t]) => !words || t.toLowerCase().includes(words) ||
      (typeof shelf.items[k].instance === "string" && shelf.items[k].instance.toLowerCase().includes(words)));
    byId("example").replaceChildren(make("option", { value: "" }, "choose"), ...fitting.map(([k, t]) => make("option", { value: k }, t)));
    byId("which").textContent = shelf.count ? (shelf.from + 1) + "\u2013" + (shelf.from + shelf.items.length) + " of " + shelf.count : "";
    byId("earlier").disabled = shelf.from === 0;
    byId("later").disabled = shelf.from + shelf.items.length >= shelf.count;
  }
  function takeExample() {
    const item = shelf.items[Number(byId("example").value)];
    if (byId("example").value === "" || !item) return;
    editor.show(item.instance);
    changed(item.instance);
  }

  /* ---- Addresses that keep the state ---- */
  function remember() {
    const kept = { ...state };
    const text = JSON.stringify(kept);
    if (text.length < 60000) history.replaceState(null, "", "#" + encodeURIComponent(text));
  }
  function recall() {
    try { return JSON.parse(decodeURIComponent(location.hash.slice(1))); } catch (error) { return {}; }
  }

  /* ---- Models ---- */
  const MASKS = { text: ["pad", "remove", "embedding-mean"], image: ["zero", "mean", "value:0.5", "value:1", "blur:3"], dna: ["uniform", "zero"], table: ["mean", "zero", "missing"], array: ["zero", "mean"] };
  const METHODS = ["sis", "quick", "ig", "lime", "perturb"];
  const option = (value, text) => make("option", { value }, text || value);
  function choose(name, kept) {
    state.model = name;
    const model = first();
    Object.assign(state, { input: null, threshold: model.threshold, below: model.below, output: "", mask: "", method: "", second: "" }, kept || {});
    all2("#models button").forEach((b) => { b.setAttribute("aria-selected", String(b.dataset.name === name)); b.tabIndex = b.dataset.name === name ? 0 : -1; });
    editor = openEditor(model);
    if (state.input === null && model.columns) state.input = editor.read(null);
    editor.show(state.input);
    const names = model.labels || Array.from({ length: model.n_outputs || 1 }, (_, k) => "output " + k);
    byId("class").replaceChildren(option("", "the highest"), ...names.map((n, k) => option(String(k), n)));
    byId("mask").replaceChildren(option("", model.mask === "own" ? "as the model has it" : model.mask),
      ...(MASKS[model.kind] || []).filter((m) => m !== "mean" || model.examples > 0).map((m) => option(m)));
    byId("method").replaceChildren(...METHODS.map((m) => option(m === "sis" ? "" : m, m)));
    const others = Array.from(about.keys()).filter((n) => n !== name && fits(n));
    byId("beside").hidden = others.length === 0;
    byId("second").replaceChildren(option("", "no other model"), ...others.map((n) => option(n)));
    byId("class").value = String(state.output);
    byId("below").value = state.below ? "1" : "";
    byId("mask").value = state.mask;
    byId("method").value = state.method;
    byId("second").value = state.second;
    answers = [];
    draw();
    fetchExamples(0).catch((error) => fail(error.message));
    remember();
    askSoon(0);
  }
  const all2 = (selector) => Array.from(document.querySelectorAll(selector));
  function say(text) { byId("said").textContent = text; }
  function download(name, type, bytes) {
    const link = make("a", { download: name, href: URL.createObjectURL(new Blob([bytes], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    say("saved " + name);
  }
  const bind = (id, key, read) => byId(id).addEventListener("change", () => { state[key] = read ? read(byId(id).value) : byId(id).value; remember(); askSoon(0); });

  async function start() {
    const names = (await (await ask("/v1/models")).json()).models;
    for (const name of names) about.set(name, (await (await ask(address(name))).json()).sis);
    const nav = byId("models");
    nav.setAttribute("role", "tablist");
    nav.append(...names.map((name) => {
      const b = make("button", { type: "button", role: "tab", "data-name": name }, name);
      b.addEventListener("click", () => choose(name));
      return b;
    }));
    nav.addEventListener("keydown", (event) => {
      const at = names.indexOf(state.model), to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
      if (to === undefined) return;
      const name = names[(to + names.length) % names.length];
      choose(name);
      nav.querySelector('[data-name="' + CSS.escape(name) + '"]').focus();
      event.preventDefault();
    });
    byId("ask").addEventListener("submit", (event) => event.preventDefault());
    byId("threshold").addEventListener("input", slide);
    bind("class", "output");
    bind("mask", "mask");
    bind("method", "method");
    bind("second", "second");
    bind("below", "below", (v) => v === "1");
    byId("example").addEventListener("change", takeExample);
    byId("find").addEventListener("input", listExamples);
    byId("earlier").addEventListener("click", () => fetchExamples(Math.max(0, shelf.from - shelf.step)));
    byId("later").addEventListener("click", () => fetchExamples(shelf.from + shelf.step));
    byId("save").addEventListener("click", () => download("sis.jsonl", "application/json", answers.map((r) => JSON.stringify(r) + "\n").join("")));
    byId("report").addEventListener("click", async () => {
      try { download("sis.html", "text/html", await (await ask(address(state.model) + ":report", question())).blob()); } catch (error) { say(error.message); }
    });
    byId("copy").addEventListener("click", () => (navigator.clipboard ? navigator.clipboard.writeText(location.href) : Promise.reject()).then(() => say("copied"), () => say("copy the address of this page")));
    const kept = recall();
    choose(about.has(kept.model) ? kept.model : names[0], about.has(kept.model) ? kept : null);
  }
  window.sisLive = { state, latency: () => tookMs, shown: () => shown, wanted: () => wanted };
  start().catch((error) => fail(error.message));
})();
