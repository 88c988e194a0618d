"use strict";
/* The live page. One state (model, input, question); every change of it asks the server, at most one
   question under way, the latest one next: an old answer stays until a newer one is there and never
   replaces it. While the threshold is moved, first subsets are read from the walk of the answer and nothing
   is asked; the whole answer is asked for when it is let go. */
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
  const short = (v) => v === null || v === undefined ? "?" : String(Number(Number(v).toPrecision(4))).replace(/^-/, "\u2212");
  const count = (n, noun) => n.toLocaleString("en") + " " + noun + (n === 1 ? "" : "s");
  const took = (seconds) => seconds < 1 ? short(Number((1000 * seconds).toPrecision(2))) + " ms" : short(Number(seconds.toPrecision(2))) + " s";

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
  /* What is there at first, if the server has no examples of its own. */
  const STARTERS = {
    text: "A wonderful film: the acting is superb, the story is moving, and the ending made me cry.",
    dna: "ATTGCATCAGGTTACCGATTTGACGTACAAGTTCTGGCCACCAGGGGGCGCTACTTGACAATGCTTAGCATTCGAACTGTTTAAGCATCCGATTGCATCAG",
    image: [[[0.25, 0.3], [0.25, 0.7]], [[0.25, 0.7], [0.8, 0.45]]], /* strokes of a seven, as shares of height and width */
    context: "Tom works in Bergen. Mara lives in Oslo. Ines lives in Turin.",
    question: "Where does Mara live?",
  };
  function textEditor(letters) {
    const area = make("textarea", { id: "text", "aria-label": letters ? "Sequence of bases" : "Text", spellcheck: "false",
      class: letters ? "letters" : "", placeholder: letters ? "Paste a sequence of A C G T" : "Type or paste a text" });
    byId("input").replaceChildren(area);
    area.addEventListener("input", () => changed(area.value));
    return { starter: () => STARTERS[letters ? "dna" : "text"], show: (v) => { area.value = v || ""; },
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
    const file = make("input", { type: "file", id: "file", accept: "image/*" });
    byId("input").replaceChildren(make("div", { class: "draw" }, canvas,
      make("div", { class: "tools" }, make("p", { class: "soft" }, "Draw with the pointer, or load a picture."), clear, make("label", { class: "file" }, "Load a picture", file))));
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
      if (!picture) { say("this file is not a picture"); return; }
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
    const starter = () => {
      STARTERS.image.forEach(([a, b]) => { for (let k = 0; k <= 40; k++) dot(r.h * (a[0] + (b[0] - a[0]) * k / 40), r.w * (a[1] + (b[1] - a[1]) * k / 40)); });
      return values;
    };
    return { starter, show: (v) => { values = v ? JSON.parse(JSON.stringify(v)) : blank(shape); paint(); }, read: (v) => v,
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
      values[column.name] = column.middle === undefined ? 0 : Number(column.middle.toPrecision(3));
      set(values[column.name]);
      return set;
    });
    byId("input").replaceChildren(fields);
    return { starter: () => values, show: (v) => { values = v ? { ...v } : values; columns.forEach((c, k) => setters[k](values[c.name])); },
      read: (v) => v || values, empty: (v) => !v };
  }
  /* The fields of a prompt. It is asked about when the button is pressed: each question costs requests. */
  function promptEditor(model) {
    const box = make("div", { class: "prompt-fields" }), button = make("button", { type: "button", id: "explain" }, "Explain the answer");
    let values = {};
    const fields = [...model.fields].sort((a, b) => (b === model.explain) - (a === model.explain)).concat("answer");
    const areas = fields.map((name) => {
      const area = make("textarea", { id: "f-" + name, class: name === model.explain ? "main" : "", rows: name === model.explain ? 6 : 1,
        placeholder: name === "answer" ? "empty: the model's own" : "" });
      area.addEventListener("input", () => { values = { ...values, [name]: area.value }; changed(values); });
      box.append(make("label", {}, name + (name === model.explain ? ", cut into " + model.unit + "s" : ""), area));
      return area;
    });
    button.addEventListener("click", () => askSoon(0));
    byId("input").replaceChildren(box, make("p", {}, button));
    const text = (v) => v === undefined || v === null ? "" : typeof v === "string" ? v : JSON.stringify(v, null, 1);
    const list = (v) => { try { const got = JSON.parse(v); return Array.isArray(got) ? got : v; } catch (error) { return v; } };
    return { waits: true, starter: () => Object.fromEntries(fields.map((name) => [name, STARTERS[name] || (name === model.explain ? STARTERS.context : "")])),
      show: (v) => { values = { ...v }; areas.forEach((area, k) => { area.value = text(values[fields[k]]); }); },
      read: (v) => Object.fromEntries(Object.entries(v).filter(([name, value]) => name !== "answer" || text(value).trim()).map(([name, value]) =>
        [name, name === model.explain && typeof value === "string" ? list(value) : value])),
      empty: (v) => !v || !text(v[model.explain]).trim() };
  }
  function arrayEditor() {
    const area = make("textarea", { id: "text", "aria-label": "Numbers", placeholder: "[0.1, 0.2, ...]", spellcheck: "false" });
    byId("input").replaceChildren(area);
    area.addEventListener("input", () => changed(area.value));
    const shape = first().shape || [];
    return { starter: () => shape.length ? JSON.stringify(blank(shape)) : "", show: (v) => { area.value = v === null ? "" : typeof v === "string" ? v : JSON.stringify(v); },
      read: (v) => typeof v === "string" ? JSON.parse(v) : v, empty: (v) => !v || !String(v).trim() };
  }
  function openEditor(model) {
    if (model.kind === "prompt") return promptEditor(model);
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
    if (state.output !== "") parameters.target_index = state.output;
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
    if (answers.length === 0) byId("answer").replaceChildren(make("p", { class: "reason" }, "Asking\u2026"));
    if (editor.empty(state.input)) { answers = []; shown = wanted; draw(); return; }
    busy = true;
    const number = wanted, began = performance.now();
    let got, trouble = "";
    try {
      const body = question();
      const names = state.second && fits(state.second) ? [state.model, state.second] : [state.model];
      got = await Promise.all(names.map(async (name) => {
        const about = async (question) => (await (await ask(address(name) + ":explain", question)).json()).explanations[0];
        const record = await about(body);
        if (record && record.status === "not_decided") {
          const other = { ...body.parameters, below: !state.below, target_index: record.output, trace: false };
          record.against = await about({ ...body, parameters: other });
        }
        return record;
      }));
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
    if (!editor.waits) askSoon(60);
  }

  /* ---- Drawing ---- */
  function fail(text) {
    byId("actions").hidden = true;
    byId("answer").replaceChildren(make("p", { class: "trouble", role: "alert" }, text.replace(/^--input: example 0 is /, "The input is ")));
  }
  const label = (record) => record.n_outputs > 1 || !/^1?$/.test(record.target_label || "") ? record.target_label || "output " + record.target : "";
  function verdict(record) {
    const sign = record.direction === ">=" ? "at least" : "at most", reached = record.status !== "not_decided";
    const p = make("p", { class: "verdict" }, label(record) ? make("b", {}, label(record)) : "The score is", label(record) ? " scores " : " ", make("b", {}, short(record.score)));
    if (record.status === "error") return make("p", { class: "verdict trouble" }, record.message || "error");
    p.append(reached ? ", " + sign + " " : ", not " + sign + " ", short(record.threshold));
    return p;
  }
  function found(record, subsets) {
    const parts = [record.masked_score === undefined || record.masked_score === null ? "" : "everything masked " + short(record.masked_score),
      subsets.length && record.rest_score !== undefined && !record.read ? "only the subsets masked " + short(record.rest_score) : ""].filter(Boolean);
    return make("p", { class: "found soft" }, parts.join(", "));
  }
  const title = (record) => !(record.subsets || []).length ? "Nothing to explain" : record.method === "contrast" ? "What would change it" :
    record.guarantee && record.guarantee !== "mask" ? "Proof" : "Reason";
  /* The same elements as src/report/score_bar.c makes. */
  function scoreBar(record, subsets) {
    const scores = [record.masked_score, record.score, record.threshold, ...subsets.map((s) => s.score)].filter((v) => typeof v === "number");
    let low = Math.min(...scores), high = Math.max(...scores);
    const room = low >= 0 && high <= 1 ? null : Math.max((high - low) * 0.1, 1e-9);
    [low, high] = room === null ? [0, 1] : [low - room, high + room];
    const x = (v) => 100 * (v - low) / (high - low) + "%", from = Math.min(record.masked_score, record.score), to = Math.max(record.masked_score, record.score);
    const dot = (kind, colour, v) => make("i", { class: kind + " s" + colour, style: "left:" + x(v) });
    return make("div", { class: "scorebar" }, make("div", { class: "track", "aria-hidden": "true" },
      make("b", { style: "left:" + x(from) + ";width:" + 100 * (to - from) / (high - low) + "%" }), dot("limit", 0, record.threshold),
      dot("masked", 0, record.masked_score), dot("full", 0, record.score), ...subsets.slice(0, COLOURS).map((s, k) => dot("sub", k, s.score))));
  }
  const legend = () => make("p", { class: "legend scorebar soft" }, ...[["masked", "everything masked"], ["sub", "a subset"], ["limit", "threshold"], ["full", "the whole input"]]
    .flatMap(([kind, words]) => [make("span", {}, make("i", { class: kind + " s0" }), " " + words), " "]));
  const rankOf = (subsets) => {
    const rank = new Map();
    subsets.forEach((subset, k) => subset.features.forEach((f, i) => { if (!rank.has(f)) rank.set(f, { k, r: Math.floor(4 * i / subset.features.length) }); }));
    return rank;
  };
  const markOf = (text, at, more) => at ? make("mark", { class: "s" + at.k % COLOURS + " r" + at.r + (more || ""), "data-k": at.k + 1 }, text) :
    more ? make("i", { class: more.trim() }, text) : text;
  function drawText(record, subsets) {
    const rank = rankOf(subsets), prompt = record.answer !== undefined;
    const p = make("p", { class: "text" + (subsets.length > 1 ? " many" : "") + (prompt ? " prompt" : "") });
    const passage = (text) => record.unit !== "passage" ? "" : text.includes("\n") ? " passage titled" : " passage";
    const text = Array.from(record.text || ""), spans = record.spans || []; /* characters, as spans count them */
    let at = 0;
    if (record.before) p.append(make("span", { class: "fixed" }, record.before));
    for (let f = 0; 2 * f < spans.length; f++) {
      const word = text.slice(spans[2 * f], spans[2 * f + 1]).join("");
      p.append(text.slice(at, spans[2 * f]).join(""), markOf(word, rank.get(f), passage(word)));
      at = spans[2 * f + 1];
    }
    if (!record.text) (record.words || []).forEach((word, f) => p.append(markOf(word, rank.get(f)), " "));
    p.append(text.slice(at).join(""));
    if (record.after) p.append(make("span", { class: "fixed" }, record.after));
    return p;
  }
  const drawAnswer = (record) => make("p", { class: "answer" }, record.answer.trim());
  function drawLetters(record, subsets) {
    const rank = rankOf(subsets), p = make("p", { class: "dna" }), letters = record.sequence || "";
    for (let k = 0, end; k < letters.length; k = end) {
      const block = make("span", { "data-n": k + 1 });
      end = letters.length - k < 15 ? letters.length : k + 10; /* a short rest joins the last block */
      for (let f = k; f < end; f++) block.append(rank.has(f) ? markOf(letters[f], rank.get(f)) : make("i", {}, letters[f]));
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
    subsets.forEach((subset, k) => subset.aside || row.append(make("figure", {}, drawPicture(record, subset),
      make("figcaption", {}, "subset " + (k + 1) + ": " + count(subset.features.length, "pixel") + ", " + short(subset.score)))));
    if (record.mask) {
      const low = Math.min(...record.mask), high = Math.max(...record.mask);
      row.append(make("figure", { class: "mask" }, drawPicture({ ...record, values: record.mask }, null),
        make("figcaption", {}, "masked: " + short(low) + (high > low ? " to " + short(high) : ""))));
    }
    return row;
  }
  function drawTable(record, subsets) {
    const columns = (first() || {}).columns || [], valueOf = (f, from) => from[(record.feature_map || []).indexOf(f) >= 0 ? record.feature_map.indexOf(f) : f];
    const row = (f) => {
      const name = record.names ? record.names[f] : "feature " + f, column = columns.find((c) => c.name === name);
      const value = state.input && state.input[name] !== undefined && state.input[name] !== null ? state.input[name] : valueOf(f, record.values);
      const known = column && column.least !== undefined && column.most > column.least && typeof value === "number";
      const x = (v) => "left:" + 100 * Math.min(1, Math.max(0, (v - column.least) / (column.most - column.least))) + "%";
      return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, typeof value === "number" ? short(value) : String(value)),
        make("td", { class: "among" }, known ? make("span", { class: "spread", title: short(column.least) + " to " + short(column.most) },
          record.mask ? make("u", { style: x(valueOf(f, record.mask)) }) : null, make("i", { style: x(value) })) : null));
    };
    return make("table", { class: "features" }, ...subsets.map((subset, k) => subset.aside ? null : make("tbody", {},
      make("tr", { class: "group" }, make("th", { colspan: 3, scope: "rowgroup" }, make("span", { class: "key s" + k % COLOURS + " r0" }, String(k + 1)), " scores " + short(subset.score))),
      ...subset.features.map(row))).filter(Boolean));
  }
  function listSubsets(record, subsets) {
    const name = (f) => record.words ? record.words[f].split("\n")[0] : record.sequence ? record.sequence[f] : record.names ? record.names[f] : String(f);
    return make("ol", { class: "subsets" }, ...subsets.map((subset, k) => subset.aside ? null : make("li", { "data-pattern": record.sequence ? letters(record.sequence, subset.features) : null },
      make("span", { class: "key s" + k % COLOURS + " r0" }, String(k + 1)),
      record.sequence ? pattern(record.sequence, subset.features) : make("span", { class: "words" }, ...subset.features.slice(0, 40).map((f) => make("bdi", {}, name(f)))),
      make("span", { class: "soft" }, subset.features.length + " of " + record.n_features + ", scores " + short(subset.score) +
        (typeof subset.without === "number" ? " alone, " + short(subset.without) + " without it" : "")))).filter(Boolean));
  }
  /* From the first to the last chosen base, N for what is not chosen. */
  function letters(sequence, features) {
    const on = new Set(features), low = Math.min(...features), high = Math.max(...features);
    return Array.from({ length: high - low + 1 }, (_, k) => on.has(low + k) ? sequence[low + k].toUpperCase() : "N").join("");
  }
  function pattern(sequence, features) {
    const on = new Set(features), low = Math.min(...features), high = Math.max(...features), span = make("span", { class: "pattern" });
    for (let f = low; f <= high; f++) span.append(on.has(f) ? sequence[f] : make("i", {}, "N"));
    return span;
  }
  function drawBody(record, all) {
    const subsets = all.map((subset, k) => only === null || only === k ? subset : { ...subset, features: [], aside: true });
    if (record.words) return [drawText(record, subsets), record.answer === undefined ? null : drawAnswer(record), listSubsets(record, subsets)].filter(Boolean);
    if (record.sequence) return [drawLetters(record, subsets), listSubsets(record, subsets)];
    if (record.kind === "image") return [drawPictures(record, subsets)];
    if (record.kind === "table" || record.names) return [drawTable(record, subsets)];
    return [listSubsets(record, subsets)];
  }

  /* ---- Known motifs: the logo of a subset over that of the motif it is most like ---- */
  let motifs = 0;
  const INKS = { A: "var(--c2)", C: "var(--c0)", G: "var(--c4)", T: "var(--c1)" };
  function logo(columns, from, top, to) { /* columns of four shares, the first at column `from` */
    columns.forEach((shares, k) => {
      const bits = 2 + shares.reduce((sum, p) => sum + (p > 0 ? p * Math.log2(p) : 0), 0);
      let y = top + 30;
      shares.map((p, b) => [p * bits * 15, "ACGT"[b]]).sort((a, b) => a[0] - b[0]).forEach(([h, base]) => {
        if (h < 0.8) return;
        to.append(svg("text", { transform: "translate(" + (14 * (from + k) + 7) + " " + y + ") scale(1 " + h / 10.2 + ")", "text-anchor": "middle", fill: INKS[base] }, base));
        y -= h;
      });
    });
  }
  function drawMatch(pattern, match) {
    const shift = Math.max(0, -match.offset), width = Math.max(shift + pattern.length, shift + match.offset + match.matrix.length);
    const box = svg("svg", { viewBox: "0 0 " + 14 * width + " 70", width: 14 * width, role: "img", class: "logo",
      "aria-label": "the subset " + pattern + " over the motif " + match.name });
    logo(Array.from(pattern, (c) => c === "N" ? [0.25, 0.25, 0.25, 0.25] : ["A", "C", "G", "T"].map((b) => Number(b === c))), shift, 0, box);
    box.append(svg("line", { x1: 0, x2: 14 * width, y1: 33, y2: 33, stroke: "var(--line)" }));
    logo(match.matrix, shift + match.offset, 36, box);
    return make("div", { class: "match scroll" }, box, make("p", { class: "soft" }, "most like ", make("b", {}, match.name), " " + match.id +
      (match.p === null || match.p === undefined ? "" : ", p " + match.p.toPrecision(2)) + (match.reverse ? ", other strand" : "")));
  }
  const matched = new Map(); /* answers, by pattern */
  async function drawMotifs() {
    const lines = all("li[data-pattern]").filter((li) => !li.querySelector(".match")), number = shown;
    const unknown = [...new Set(lines.map((li) => li.dataset.pattern))].filter((p) => !matched.has(p)).slice(0, 32);
    if (!motifs || !lines.length) return;
    try {
      if (unknown.length) (await (await ask("/v1/motifs", { patterns: unknown })).json()).matches.forEach((m, k) => matched.set(unknown[k], m));
    } catch (error) { say(error.message); return; }
    if (number === shown) lines.forEach((li) => { const m = matched.get(li.dataset.pattern); if (m && m[0] && li.isConnected) li.append(drawMatch(li.dataset.pattern, m[0])); });
  }

  /* A button that asks why a score lies on the other side of the masked one, halfway between the two. */
  function otherSide(record, least) {
    const middle = (record.score + record.masked_score) / 2, low = Math.min(record.score, record.masked_score), high = Math.max(record.score, record.masked_score);
    const round = Math.round(middle * 100) / 100, at = round > low && round < high ? round : middle;
    const button = make("button", { type: "button", class: "explain-at" }, "Explain why it is " + (least ? "at most " : "at least ") + short(at));
    button.addEventListener("click", () => {
      Object.assign(state, { below: least, threshold: at });
      byId("below").value = least ? "1" : "";
      remember();
      askSoon(0);
    });
    return button;
  }
  /* Why there is nothing to explain, what would be, and what pulls the score the other way. */
  function whyNot(record) {
    const least = record.direction === ">=", rises = least ? record.score > record.masked_score : record.score < record.masked_score;
    const p = make("p", { class: "reason" });
    if (record.status === "default_decision") {
      p.append("Even with everything masked the score is " + short(record.masked_score) + ": no part of the input is responsible. Take another threshold or mask.");
      return [p];
    }
    p.append("The input does not meet the threshold. ");
    if (!rises) {
      p.append("No threshold has an explanation: masking everything brings the score to " + short(record.masked_score) + ".");
      if (record.score !== record.masked_score) p.append(" ", otherSide(record, least));
    } else {
      const round = (least ? Math.floor : Math.ceil)(record.score * 100) / 100, fits = least ? round > record.masked_score : round < record.masked_score;
      const at = fits ? round : (record.score + record.masked_score) / 2, button = make("button", { type: "button", class: "explain-at" }, "Explain at " + short(at));
      button.addEventListener("click", () => { state.threshold = at; remember(); askSoon(0); });
      p.append("Any threshold " + (least ? "above " + short(record.masked_score) + ", up to " : "below " + short(record.masked_score) + ", down to ") + short(record.score) + ", has an explanation. ", button);
    }
    const against = record.against, subsets = against && against.subsets || [];
    if (!subsets.length) return [p];
    return [p, make("h4", { class: "against" }, "What pulls it " + (least ? "down" : "up") + ": these alone keep it " + (least ? "at most " : "at least ") + short(record.threshold)),
      ...drawBody(against, subsets)];
  }
  /* One subset at a time, or all. */
  let only = null;
  function stepper(subsets) {
    if (subsets.length < 2) return null;
    const bar = make("div", { class: "stepper", role: "group", "aria-label": "Subsets shown" });
    const button = (k, text) => {
      const b = make("button", { type: "button", "aria-pressed": String(only === k) }, text);
      b.addEventListener("click", () => { only = k; redraw(); (all(".stepper button")[k === null ? 0 : k + 1] || byId("answer")).focus(); });
      return b;
    };
    const next = make("button", { type: "button", class: "next" }, "Next subset");
    next.addEventListener("click", () => { only = only === null ? 0 : (only + 1) % subsets.length; redraw(); (all(".stepper .next")[0] || byId("answer")).focus(); });
    bar.append(button(null, "all"), ...subsets.slice(0, COLOURS).map((_, k) => button(k, String(k + 1))), next);
    return bar;
  }
  function drawCard(record, name) {
    const subsets = record.subsets || [], card = make("article", { class: "card", "data-status": record.status });
    card.append(make("header", {}, answers.length > 1 ? make("p", { class: "whose" }, name) : null, make("h3", {}, title(record), " ",
      record.read ? make("span", { class: "tag read" }, "first subset, from the trace") : record.verified && subsets.length ? make("span", { class: "tag" }, "verified") : null)));
    card.append(verdict(record));
    if (record.status !== "error") card.append(found(record, subsets), scoreBar(record, subsets));
    if (record.status === "explained") card.append(...[stepper(subsets), ...drawBody(record, subsets)].filter(Boolean));
    else if (record.status !== "error") card.append(...whyNot(record), ...(record.answer === undefined ? [] : [drawText(record, []), drawAnswer(record)]));
    card.append(make("p", { class: "cost soft" }, record.read ? "no new walk" : record.requests !== undefined ?
      count(record.requests, "request") + ", " + count(record.prompt_tokens + record.completion_tokens, "token") : count(record.evaluations, "evaluation") + ", " + took(record.seconds)));
    return card;
  }
  let drawn = []; /* answers, or what their walks say of another threshold */
  function redraw() {
    byId("answer").replaceChildren(...drawn.map((record, k) => drawCard(record, k ? state.second : state.model)));
    if (drawn.length === 0) byId("answer").replaceChildren(make("p", { class: "reason" }, editor && editor.waits ? "Press the button to explain the answer." : "Nothing to explain yet."));
    else byId("answer").append(legend());
    byId("actions").hidden = !answers.some((record) => (record.subsets || []).length);
    drawMotifs();
  }
  function draw() {
    drawn = answers;
    if (only !== null && !answers.some((r) => (r.subsets || []).length > only)) only = null;
    redraw();
    byId("picked").textContent = "";
    tune();
  }

  /* ---- The threshold: read from the walk while it moves, asked for when it is let go ---- */
  function tune() {
    const slider = byId("threshold"), record = answers[0], scores = record ? [record.score, record.masked_score, 0, 1] : [0, 1];
    const low = Math.min(...scores), high = Math.max(...scores), wide = low < 0 || high > 1;
    slider.min = String(wide ? low : 0);
    slider.max = String(wide ? high : 1);
    slider.step = String(wide ? (high - low) / 200 : 0.01);
    slider.value = String(state.threshold);
    byId("at").textContent = short(state.threshold);
  }
  /* What the walk of a record says of another threshold: the first subset is what was masked last, as long as
     it is needed. NULL: it has no walk. */
  function reread(record, threshold) {
    const walk = (record.subsets || [])[0], least = record.direction === ">=";
    if (!walk || !walk.order || !walk.trace) return null;
    const enough = (v) => least ? v >= threshold : v <= threshold, read = { ...record, threshold, read: true, verified: false, subsets: [] };
    if (!enough(record.score)) return { ...read, status: "not_decided" };
    if (enough(record.masked_score)) return { ...read, status: "default_decision" };
    let masked = walk.trace.length;
    while (masked > 0 && !enough(walk.trace[masked - 1])) masked--;
    return { ...read, status: "explained", subsets: [{ features: walk.order.slice(masked).reverse(), score: masked ? walk.trace[masked - 1] : record.score }] };
  }
  function slide() {
    const read = answers.map((record) => reread(record, Number(byId("threshold").value)));
    state.threshold = Number(byId("threshold").value);
    byId("at").textContent = short(state.threshold);
    if (read.length && read.every(Boolean)) {
      drawn = read;
      only = null;
      redraw();
      const size = read[0].subsets.length ? read[0].subsets[0].features.length : 0;
      byId("picked").textContent = read[0].status === "not_decided" ? "The input does not meet it." : size === 0 ? "Met with everything masked." :
        "First subset, from the trace: " + size + (size === 1 ? " feature." : " features.");
    }
  }
  function letGo() { remember(); askSoon(200); }

  /* ---- Examples: those of a page are scored, so that they can be filtered by class, right and wrong ---- */
  const shelf = { from: 0, count: 0, items: [], step: 200 };
  async function fetchExamples(from) {
    const model = state.model, values = ((first() || {}).shape || []).reduce((a, b) => a * b, 1);
    shelf.step = Math.max(1, Math.min(200, Math.floor(400000 / values)));
    const got = await (await ask(address(model) + "/examples?from=" + from + "&count=" + shelf.step)).json();
    if (model !== state.model) return;
    Object.assign(shelf, { from, count: got.count, items: got.examples });
    byId("choose").hidden = got.count === 0;
    byId("which-examples").hidden = got.count === 0;
    listExamples();
    if (!got.count) return;
    if (editor.waits) { startWith(0); return; } /* scores cost requests */
    const scores = (await (await ask(address(model) + ":predict", { instances: got.examples.map((e) => e.instance) })).json()).predictions;
    if (model !== state.model || from !== shelf.from) return;
    shelf.items.forEach((item, k) => { item.decided = decide(scores[k]); item.right = judge(item); });
    byId("right").parentElement.hidden = !shelf.items.some((item) => item.right !== null);
    listExamples();
    startWith(Math.max(0, shelf.items.findIndex((item) => item.decided > 0)));
  }
  /* Of a table without examples: the middle of each column, moved by half to where the score is higher. */
  async function startFromMiddle() {
    const model = state.model, middle = { ...editor.starter() };
    const names = Object.keys(middle).filter((name) => typeof middle[name] === "number");
    const moved = (name, by) => ({ ...middle, [name]: Number((middle[name] * by).toPrecision(3)) });
    const tries = names.flatMap((name) => [moved(name, 0.5), moved(name, 1.5)]);
    const scores = (await (await ask(address(model) + ":predict", { instances: tries })).json()).predictions.map((s) => [].concat(s).pop());
    if (model !== state.model || state.input !== null) return;
    names.forEach((name, k) => { middle[name] = tries[2 * k + Number(scores[2 * k + 1] > scores[2 * k])][name]; });
    editor.show(middle);
    changed(middle);
  }
  /* The input at first: an example that is decided. */
  function startWith(k) {
    if (state.input !== null) return;
    byId("example").value = String(k);
    takeExample();
  }
  /* The class with the highest score; of a model with one score 1 if it meets the threshold, else 0. */
  const decide = (scores) => Array.isArray(scores) && scores.length > 1 ? scores.indexOf(Math.max(...scores)) :
    Number(first().below ? [].concat(scores)[0] <= first().threshold : [].concat(scores)[0] >= first().threshold);
  const className = (k) => { const names = first().labels || []; return first().n_outputs > 1 ? names[k] || "output " + k : (k ? "" : "not ") + (names[0] || "decided"); };
  function judge(item) {
    if (item.label === undefined || item.label === null) return null;
    const label = String(item.label), names = first().labels || [], several = first().n_outputs > 1;
    /* As sis_record_is_right(): numbers by value; where outputs are called by words, a number is a place. */
    const number = (text) => text !== undefined && text.trim() !== "" && isFinite(text), name = names[several ? item.decided : 0];
    const same = (text) => text === label || (number(text) && number(label) && Number(text) === Number(label));
    if (name !== undefined && (number(name) || !number(label) || same(name))) return same(name) === (several || Boolean(item.decided));
    if (!several && label !== "1" && label !== "0") return name === undefined ? null : !item.decided;
    return number(label) ? Number(label) === item.decided : null;
  }
  function listExamples() {
    const words = byId("find").value.trim().toLowerCase(), of = byId("of").value, right = byId("right").value;
    const text = (item) => item.id + (item.label !== undefined ? " (" + item.label + ")" : "") + (item.decided === undefined ? "" : ": " + className(item.decided)) +
      (item.right === false ? ", wrong" : "") + (typeof item.instance === "string" ? ": " + item.instance.slice(0, 60) : "");
    const fitting = shelf.items.map((item, k) => [k, text(item), item]).filter(([, t, item]) => (!words || t.toLowerCase().includes(words) ||
      (typeof item.instance === "string" && item.instance.toLowerCase().includes(words))) &&
      (of === "" || String(item.decided) === of) && (right === "" || String(item.right) === right));
    byId("example").replaceChildren(make("option", { value: "" }, "choose"), ...fitting.map(([k, t]) => make("option", { value: k }, t)));
    byId("which").textContent = shelf.count ? fitting.length + " of " + (shelf.from + 1) + "\u2013" + (shelf.from + shelf.items.length) + ", " + shelf.count + " in all" : "";
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
    all2("#models button").forEach((b) => {
      b.setAttribute("aria-selected", String(b.dataset.name === name));
      b.tabIndex = b.dataset.name === name ? 0 : -1;
      if (b.dataset.name === name) byId("models").scrollLeft = b.offsetLeft - byId("models").offsetLeft - 40;
    });
    document.body.dataset.kind = model.kind;
    editor = openEditor(model);
    const unknown = state.input === null && !model.examples;
    if (unknown && model.columns) startFromMiddle().catch((error) => fail(error.message));
    else if (unknown) state.input = editor.starter();
    editor.show(state.input);
    const names = model.labels || Array.from({ length: model.n_outputs || 1 }, (_, k) => "output " + k);
    byId("class").replaceChildren(option("", "the highest"), ...names.map((n, k) => option(String(k), n)));
    byId("mask").replaceChildren(option("", model.mask === "own" ? "as the model has it" : model.mask),
      ...(MASKS[model.kind] || []).filter((m) => m !== "mean" || model.examples > 0).map((m) => option(m)));
    byId("method").replaceChildren(...METHODS.map((m) => option(m === "sis" ? "" : m, m)));
    const others = Array.from(about.keys()).filter((n) => n !== name && fits(n));
    byId("beside").hidden = others.length === 0;
    byId("class").parentElement.hidden = names.length < 2;
    byId("mask").parentElement.hidden = model.kind === "prompt";
    byId("which-examples").hidden = true;
    byId("second").replaceChildren(option("", "no other model"), ...others.map((n) => option(n)));
    byId("class").value = String(state.output);
    byId("below").value = state.below ? "1" : "";
    byId("mask").value = state.mask;
    byId("method").value = state.method;
    byId("second").value = state.second;
    const classes = model.n_outputs > 1 ? names.map((_, k) => k) : [1, 0];
    byId("of").replaceChildren(option("", "every class"), ...classes.map((k) => option(String(k), className(k))));
    byId("right").value = "";
    byId("right").parentElement.hidden = true;
    answers = [];
    only = null;
    draw();
    fetchExamples(0).catch((error) => fail(error.message));
    remember();
    if (!editor.waits) askSoon(0);
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
    const served = await (await ask("/v1/models")).json(), names = served.models;
    motifs = served.motifs || 0;
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
    byId("threshold").addEventListener("change", letGo);
    ["of", "right"].forEach((id) => byId(id).addEventListener("change", listExamples));
    bind("class", "output");
    bind("mask", "mask");
    bind("method", "method");
    bind("second", "second");
    bind("below", "below", (v) => v === "1");
    byId("example").addEventListener("change", takeExample);
    byId("find").addEventListener("input", listExamples);
    byId("earlier").addEventListener("click", () => fetchExamples(Math.max(0, shelf.from - shelf.step)));
    byId("later").addEventListener("click", () => fetchExamples(shelf.from + shelf.step));
    byId("save").addEventListener("click", () => download("sis.jsonl", "application/json", answers.map((r) => JSON.stringify({ ...r, against: undefined }) + "\n").join("")));
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
