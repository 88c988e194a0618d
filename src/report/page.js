"use strict";
/* Tabs, pages of examples, and the threshold picker. The page is complete without this script: it
   only shows less at a time, and reads the stored walks. Nothing is fetched, nothing is stored. */
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  document.documentElement.classList.add("js");

  /* ---- Tabs: links that become tabs; arrows, Home and End move between them ---- */
  const tabs = all("#tabs a");
  const panels = tabs.map((tab) => document.querySelector(tab.getAttribute("href")));
  function select(at, focus) {
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === at));
      tab.tabIndex = i === at ? 0 : -1;
      panels[i].hidden = i !== at;
    });
    if (focus) tabs[at].focus();
    byId("tabs").scrollLeft = tabs[at].offsetLeft - byId("tabs").offsetLeft - 40;
  }
  byId("tabs").setAttribute("role", "tablist");
  tabs.forEach((tab, i) => {
    tab.id = "tab-" + panels[i].id;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panels[i].id);
    panels[i].setAttribute("role", "tabpanel");
    panels[i].setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      select(i, true);
      history.replaceState(null, "", tab.getAttribute("href"));
    });
    tab.addEventListener("keydown", (event) => {
      const moves = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 };
      if (event.key === " " || event.key === "Enter") {
        event.preventDefault();
        tab.click();
      } else if (event.key in moves) {
        event.preventDefault();
        const to = (moves[event.key] + tabs.length) % tabs.length;
        tabs[to].click();
      }
    });
  });
  select(Math.max(0, tabs.findIndex((tab) => tab.getAttribute("href") === location.hash)), false);
  if (location.hash) window.addEventListener("load", () => setTimeout(() => window.scrollTo(0, 0), 0));

  /* ---- Examples: twenty at a time, of those that the filters let through ---- */
  const PER_PAGE = 20;
  /* A unit is a card, or the cards of one input from several files side by side. */
  const units = all("#cards > *").map((e) => ({ cards: e.matches(".card") ? [e] : all(".card", e), element: e }));
  let shown = units, page = 0;
  const choosers = ["status", "run", "class", "right"].filter((name) => byId(name)); /* what cards are chosen by */
  const find = byId("find"), sort = byId("sort");
  function matches(card, words) {
    return choosers.every((name) => !byId(name).value || card.dataset[name] === byId(name).value) &&
      (!words || card.textContent.toLowerCase().includes(words));
  }
  /* By a number that cards carry, cards without it last; "-" before its name: descending. */
  function sorted(list) {
    const name = sort.value.replace("-", ""), sign = sort.value[0] === "-" ? -1 : 1;
    const at = (unit) => Math.min(...unit.fitting.map((card) => card.dataset[name] === undefined ? Infinity : sign * Number(card.dataset[name])));
    return name ? list.slice().sort((a, b) => at(a) - at(b) || 0) : list;
  }
  function showPage() {
    const last = Math.max(0, Math.ceil(shown.length / PER_PAGE) - 1);
    page = Math.min(Math.max(page, 0), last);
    const first = page * PER_PAGE, end = Math.min(first + PER_PAGE, shown.length);
    all(".card.on").forEach((card) => card.classList.remove("on"));
    shown.slice(first, end).forEach((unit, k) => {
      unit.element.style.order = sort.value ? String(k) : "";
      unit.fitting.forEach((card) => {
        card.classList.add("on");
        redraw(card);
      });
    });
    byId("pager").hidden = last === 0;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page === last;
    byId("none").hidden = shown.length > 0;
    byId("where").textContent = (first + 1) + "\u2013" + end + " of " + shown.length;
  }
  function applyFilters() {
    const words = find.value.trim().toLowerCase();
    units.forEach((unit) => { unit.fitting = unit.cards.filter((card) => matches(card, words)); });
    shown = sorted(units.filter((unit) => unit.fitting.length));
    page = 0;
    showPage();
  }
  function turn(by) {
    page += by;
    showPage();
    byId("examples").scrollIntoView();
  }
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  byId("bar").addEventListener("submit", (event) => event.preventDefault());
  [...choosers, "sort"].forEach((name) => byId(name).addEventListener("change", applyFilters));
  find.addEventListener("input", applyFilters);

  /* ---- Pictures grow when they are chosen ---- */
  function enlarge(event) {
    const image = event.target.closest(".pictures img, .row img");
    if (!image || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    (image.closest("figure") || image).classList.toggle("large");
    event.preventDefault();
  }
  all(".pictures img, .row img").forEach((image) => {
    image.tabIndex = 0;
    image.setAttribute("role", "button");
  });
  document.addEventListener("click", enlarge);
  document.addEventListener("keydown", enlarge);

  /* ---- The picker: what stored walks answer to another threshold ---- */
  const walks = byId("walks") ? JSON.parse(byId("walks").textContent) : null;
  let picked = -1; /* the number of a threshold, or -1: as explained */
  const before = new WeakMap(); /* what a card looked like as explained */

  /* The size of the first subset of a walk: 0 decided by default, -1 not decided: the input itself does
     not meet the threshold. */
  function sizeAt(walk, at) {
    let size = walk.k[1];
    for (let i = 0; i < walk.k.length && walk.k[i] <= at; i += 2) size = walk.k[i + 1];
    return size;
  }
  function sentence(size) {
    const t = walks.t[picked];
    if (size < 0) return "The input itself is not decided at " + t + ", so there is nothing to explain.";
    if (size === 0) return "At " + t + " even the masked input is decided.";
    return "First subset at " + t + ": " + size + (size === 1 ? " feature" : " features") +
      ", from the trace.";
  }
  /* What the header of a card says of another threshold, in the place of what was found and verified. */
  function verdict(size) {
    const tag = document.createElement("span");
    tag.className = "tag " + (size < 0 ? "not_decided" : size === 0 ? "default_decision" : "unverified");
    tag.textContent = size < 0 ? "not decided" : size === 0 ? "by default" : "not verified";
    return tag;
  }
  /* The chosen features of the walk, as a picture beside the original. */
  function drawPicture(card, walk, size) {
    const image = card.querySelector(".original img"), w = image.naturalWidth, h = image.naturalHeight;
    const colour = card.querySelector(".original.colour") !== null;
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    if (!w || !h) { /* not loaded yet: it was never on the screen */
      image.loading = "eager";
      image.decode().then(() => redraw(card), () => {});
      return document.createElement("div");
    }
    const chosen = new Set(walk.o.slice(0, Math.max(size, 0)));
    canvas.width = w;
    canvas.height = h;
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, w, h), d = pixels.data;
    for (let p = 0; p < w * h; p++) {
      const v = (d[4 * p] + d[4 * p + 1] + d[4 * p + 2]) / 765;
      const on = chosen.has(walk.f ? walk.f[p] : p);
      if (on && colour) continue;
      const paint = !on ? [128, 128, 128] : v >= 0.5 ? [230, 120, 0] : [0, 114, 178];
      d.set(paint, 4 * p);
      d[4 * p + 3] = on ? 255 * (0.55 + 0.45 * Math.abs(2 * v - 1)) : 24 + 80 * v;
    }
    context.putImageData(pixels, 0, 0);
    const figure = document.createElement("figure"), row = document.createElement("div");
    figure.append(canvas);
    row.className = "pictures";
    row.append(card.querySelector(".original").cloneNode(true));
    if (size > 0) row.append(figure);
    return row;
  }
  /* The words or bases again, those of the walk marked. */
  function drawMarks(card, walk, size) {
    const text = card.querySelector(".text:not(.excerpt), .dna").cloneNode(true);
    const rank = new Map(walk.o.slice(0, Math.max(size, 0)).map((feature, i) => [feature, i]));
    text.classList.remove("many");
    all("i, mark", text).forEach((old, feature) => {
      const at = rank.get(feature), word = document.createElement(at === undefined ? "i" : "mark");
      word.textContent = old.textContent;
      word.className = Array.from(old.classList).filter((name) => !/^[sr]\d/.test(name)).join(" ");
      if (at !== undefined) word.classList.add("s0", "r" + Math.floor((at * 4) / size));
      old.replaceWith(word);
    });
    return text;
  }
  /* The rows of the whole input that the walk chose. */
  function drawRows(card, walk, size) {
    const whole = card.querySelector(".whole table");
    if (!whole || size < 1) return null;
    const table = document.createElement("table"), body = document.createElement("tbody");
    table.className = "features";
    table.append(whole.tHead.cloneNode(true), body);
    for (const feature of walk.o.slice(0, size)) {
      const row = whole.querySelector('tr[data-f="' + feature + '"]');
      if (row) {
        const copy = row.cloneNode(true);
        copy.removeAttribute("class");
        body.append(copy);
      }
    }
    return table;
  }
  const draw = { image: drawPicture, text: drawMarks, dna: drawMarks, table: drawRows };

  function redraw(card) {
    const body = card.querySelector(".body");
    if (!walks || (picked < 0 && !before.has(card))) return;
    if (!before.has(card)) before.set(card, Array.from(body.childNodes));
    body.replaceChildren(...before.get(card));
    card.classList.toggle("picked", picked >= 0 && card.dataset.walk !== undefined);
    if (picked < 0) return;
    const note = document.createElement("p");
    note.className = "reason";
    if (card.dataset.walk === undefined) {
      note.textContent = "This example has no trace.";
      body.replaceChildren(note);
      return;
    }
    const walk = walks.x[Number(card.dataset.walk)], size = sizeAt(walk, picked);
    const drawing = draw[card.dataset.look] ? draw[card.dataset.look](card, walk, size) : null;
    note.append(verdict(size), " " + sentence(size));
    body.replaceChildren(note);
    if (drawing) body.append(drawing);
    else if (size > 0) note.append(" " + walk.o.slice(0, Math.min(size, 50)).join(", "));
  }
  function summarise() {
    if (picked < 0) return "As explained. Move the slider to see the first subset at another threshold.";
    const sizes = walks.x.map((walk) => sizeAt(walk, picked));
    const some = sizes.filter((size) => size > 0).sort((a, b) => a - b);
    const middle = some.length ? (some[(some.length - 1) >> 1] + some[some.length >> 1]) / 2 : 0;
    const undecided = sizes.filter((size) => size < 0).length;
    return some.length + " of " + sizes.length + " examples with a trace have a subset at " + walks.t[picked] +
      (some.length ? "; median size " + middle : "") + (undecided ? "; " + undecided + " not decided" : "") +
      ". Only first subsets can be shown; others, and checks, need a new run.";
  }
  function pick(at) {
    picked = at;
    byId("at").textContent = at < 0 ? start.text : String(walks.t[at]);
    byId("threshold").setAttribute("aria-valuetext", byId("at").textContent);
    byId("picked").textContent = summarise();
    byId("reset").disabled = at < 0;
    showPage();
  }
  let start = null;
  if (walks) {
    const slider = byId("threshold");
    start = { value: slider.value, text: byId("at").textContent };
    slider.value = start.value;
    slider.setAttribute("aria-valuetext", start.text);
    slider.addEventListener("input", () => pick(Number(slider.value)));
    byId("reset").addEventListener("click", () => {
      slider.value = start.value;
      pick(-1);
      slider.focus();
    });
  }
  applyFilters();
})();
