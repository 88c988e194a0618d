"use strict";
// Results made for the browser test: texts that attack the page, and more examples than fit on one.

function record(id, more) {
  return { sis: 2, id: String(id), model: "made.onnx", method: "sis", target: 0, direction: ">=", threshold: 0.5,
    score: 0.9, masked_score: 0.1, status: "explained", n_features: 2,
    subsets: [{ features: [0], score: 0.8 }], rest_score: 0.2, verified: true, complete: true, ...more };
}

// Numbers that look random and are the same every time.
function numbers(seed) {
  let state = seed;
  return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

const ATTACKS = [
  "<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>", "</style><style>*{display:none}</style>",
  "<img src=x onerror=window.hacked=3>", "\"><svg onload=window.hacked=4>", "' onmouseover='window.hacked=5",
  "</article></section></main></body></html>", "<!--", "]]>", "&lt;b&gt;", "javascript:window.hacked=6",
  "<iframe src=http://127.0.0.1:9/>", "<base href=http://127.0.0.1:9/>", "<meta http-equiv=refresh content=0;url=http://127.0.0.1:9/>",
  "\u202e reversed", "\u2067\u2066", "\u200f\u200f\u05d0\u05d1", "\ud83d\ude00\ud83d\udc69\u200d\ud83d\udd2c", "a\u0301\u0301\u0301\u0301\u0301", "\u0000".replace("\u0000", "\u0001"), "\u2028",
  "W".repeat(100000), "\ud83d\ude00".repeat(3000),
];

function hostile() {
  const all = ATTACKS.map((attack, i) => record(attack.slice(0, 200), {
    kind: "text", n_features: 3, words: [attack, "word", attack], label: attack, target_label: attack, model: attack,
    subsets: [{ features: [0], score: 0.8, start: 0.9, order: [1, 2, 0], trace: [0.9, 0.8, 0.1] }, { features: [2], score: 0.7 }],
    human: [i % 3],
  }));
  ATTACKS.slice(0, 8).forEach((attack) => all.push(record("table " + attack, {
    kind: "table", n_features: 2, values: [1e308, -1e-308], mask: [0, 0], names: [attack, "plain"], shape: [2],
    subsets: [{ features: [0, 1], score: 0.8, start: 0.9, order: [1, 0], trace: [0.6, 0.1] }],
  })));
  all.push(record("dna", { kind: "dna", n_features: 6, sequence: "<b>\"'&", subsets: [{ features: [0, 5], score: 0.8 }] }));
  all.push(record("failed", { status: "error", message: ATTACKS[0], score: null, masked_score: null, subsets: [], n_features: 0 }));
  all.push(record("huge", { threshold: -1.7976931348623157e308, score: 1.7976931348623157e308, masked_score: -1.7976931348623157e308 }));
  return all;
}

// A comparison whose every text attacks the page.
function hostileComparison() {
  const [a, b] = ATTACKS, all = ATTACKS.map((t) => t.slice(0, 300));
  const side = (text) => ({ results: text, model: text, n: 3, subsets: 4, threshold: 0.5, direction: ">=" });
  return { a: side(a), b: side(b), decisions: { common: 5, same: 1, other_output: 1, only_a: 1, only_b: 1, neither: 1 },
    scores: { a_by_b: { sufficient: 0.5, scores: [1e308, -1e308, 0.5], own_quantiles: [0, 0, 0, 0, 1e300] }, b_by_a: { scores: [] } },
    joint: { distance: a, eps: 1e300, n: 9, clusters: all.map((t, i) => ({ id: i + 1, size: 9e15, members: [{ id: t, subset: 0 }], share: { [a]: 1e300, [b]: -5 },
      top: [{ pattern: t, count: 1 }] })), noise: [] },
    differ: all.map((t) => ({ id: t, distance: 1e300, a: [t], b: [t, ATTACKS[21]] })) };
}

// Two hundred and one pictures of 28 x 28 with walks, as large as digits are.
function many() {
  const random = numbers(1), all = [];
  for (let i = 0; i < 201; i++) {
    const order = Array.from({ length: 784 }, (_, p) => p).sort((a, b) => (a * 7919) % 787 - (b * 7919) % 787);
    const trace = order.map((_, k) => Number((1 / (1 + Math.exp((k - 760 - 10 * random()) / 4))).toFixed(9)));
    const values = Array.from({ length: 784 }, (_, p) => {
      const d = Math.hypot((p % 28) - 14, Math.floor(p / 28) - 14) - 8;
      return Math.abs(d) < 2 ? Number(random().toFixed(6)) : 0;
    });
    const subsets = [0, 1, 2, 3].map((k) => ({ features: order.slice(784 - 20 * (k + 1), 784 - 20 * k).reverse(), score: 0.71,
      start: 1, order, trace }));
    all.push(record(i, { kind: "image", shape: [28, 28], n_features: 784, values, subsets, threshold: 0.7, score: 1,
      masked_score: trace[783], target: i % 10, target_label: String(i % 10) }));
  }
  return all;
}

// Parts that score higher than the whole: only one of these inputs reaches 0.8 by more than its mask.
function overshooting() {
  const walk = (trace) => [{ features: [2], score: trace[1], start: trace[0], order: [0, 1, 2], trace: trace.slice(1) }];
  return [["low", 0.6, 0.95, 0.99, 0.1], ["middle", 0.7, 0.65, 0.9, 0.1], ["high", 0.99, 0.9, 0.85, 0.1], ["default", 0.95, 0.9, 0.9, 0.85]]
    .map(([id, ...trace]) => record(id, { kind: "text", n_features: 3, words: ["a", "b", "c"], score: trace[0], masked_score: trace[3], subsets: walk(trace) }));
}

// What three methods say of the same inputs: a table with categories, a text, a sequence, a colour picture; and
// other rows of the table, undecided, so that values have something to be held against.
function methods(method) {
  const next = numbers(7), pixel = numbers(9), attributions = (n) => method === "sis" ? undefined : Array.from({ length: n }, () => next() - 0.5);
  const all = [];
  for (let i = 0; i < 12; i++) {
    const job = i % 3;
    all.push(record("row " + i, { method, kind: "table", n_features: 3, n_outputs: 1, target_label: "good", label: i % 4 ? "good" : "bad", shape: [5],
      values: [100 * i, 20 + i, Number(job === 0), Number(job === 1), Number(job === 2)], mask: [550, 25, 0.5, 0.3, 0.2], feature_map: [0, 1, 2, 2, 2],
      names: ["income", "years_employed", "job"], value_names: ["income", "years_employed", "job=part-time employment", "job=fixed", "job=other"],
      subsets: [{ features: i % 2 ? [0, 2] : [2], score: 0.8 }], attributions: attributions(3) }));
  }
  all.push(record("text", { method, kind: "text", n_features: 3, words: ["a", "fine", "film"], text: "A fine film!", spans: [0, 1, 2, 6, 7, 11],
    subsets: [{ features: [1], score: 0.8 }], attributions: attributions(3) }));
  all.push(record("dna", { method, kind: "dna", n_features: 101, sequence: "ACGTTGCATG".repeat(10) + "A", subsets: [{ features: [4, 5], score: 0.8 }], attributions: attributions(101) }));
  all.push(record("photo", { method, kind: "image", n_features: 16, shape: [4, 4, 3], values: Array.from({ length: 48 }, pixel), mask: Array.from({ length: 48 }, () => 0),
    feature_map: Array.from({ length: 48 }, (_, v) => Math.floor(v / 3)), subsets: [{ features: [5, 6], score: 0.8 }], attributions: attributions(16) }));
  return all;
}

// Clusters of these rows: four with the same features, and two.
function methodsClusters() {
  const member = (i) => ({ id: "row " + i, subset: 0 });
  return { clusters: [{ id: 1, size: 4, core: 4, members: [1, 3, 5, 7].map(member), top: [{ pattern: "income=100 job=fixed", count: 1 }] },
    { id: 2, size: 2, core: 2, members: [member(0), member(2)], top: [{ pattern: "job=other", count: 2 }] }], noise: [], n: 6 };
}

module.exports = { methods, methodsClusters, hostile, hostileComparison, many, overshooting, ATTACKS };
