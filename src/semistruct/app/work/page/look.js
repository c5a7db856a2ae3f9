// The look pane: how good the model is, what it mixes up, and what more labels should bring.

import { get } from "./api.js";
import { nameOf } from "./chips.js";
import { confusion, lines } from "./chart.js";
import { colourVars } from "./colours.js";
import { h, plural, put } from "./dom.js";
import { open } from "./label.js";
import { fieldOf, on, state } from "./state.js";

let root;
const percent = (share) => `${(100 * share).toFixed(1)}%`;

async function load() {
  const found = await get("/api/look").catch(() => null);
  if (found && root?.isConnected) draw(found);
}

function draw(found) {
  const { measured, curve, path } = found;
  const busy = found.measuring.state === "running" ? h("p", { class: "muted", role: "status" },
    `${found.measuring.step ?? "measuring"}…`) : null;
  put(root, h("h1", { class: "wide" }, "How good is it?"),
    measured ? [estimate(measured, busy), accept(measured)] : h("section", { class: "card wide" }, nothing(found),
      busy),
    curve ? curveCard(curve) : null, measured ? [fields(measured), mixed(measured),
      worst(measured)] : null, path ? annealing(path) : null);
}

function nothing(found) {
  if (found.problem) return h("p", { class: "problem" }, found.problem);
  return h("p", {},
    state.status.labelled < 4
    ? `Label ${plural(4 - state.status.labelled, "more sequence")} and this page says how good the model is.`
    : "The estimate is on its way.");
}

function estimate(measured, busy) {
  const how = measured.honest
    ? `Measured on ${plural(measured.sequences, "sequence")} drawn at random and labelled without proposals, each by a model that had not seen it.`
    : `Measured on ${plural(measured.sequences, "sequence")}, each by a model that had not seen it. They were picked because they are hard, so the pool is probably easier. Now and then a sequence is drawn at random: when there are five of these (now ${measured.blind}), the estimate is taken from them.`;
  return h("section", { class: "card" }, h("h2", {}, "Right labels"),
    h("p", { class: "big" }, percent(measured.accuracy),
    measured.error === null ? null : h("small", {}, ` ± ${(100 * measured.error).toFixed(1)}`)),
  h("p", {}, `${plural(measured.whole, "sequence")} of ${measured.sequences} right as a whole${measured.span_f1 === null ? "" : `; F1 of whole fields ${percent(measured.span_f1)}`}.`),
  h("p", { class: "muted" }, how), h("p", { class: "muted" },
    `Settings of model ${Number(measured.model)}; ± is one standard error.`), busy);
}

function accept(measured) {
  const found = measured.acceptable;
  const words = found
    ? [h("p", { class: "big" }, percent(found.looked_at ? found.passing / found.looked_at : 0)),
      h("p", {}, `of ${plural(found.looked_at, "sequence")} of the pool that the model has labelled are at least as sure as those of which ${found.right} of ${found.of} were right as a whole.`)]
    : [h("p", { class: "big" }, "none yet"), h("p", {},
      "There is no confidence from which on 95% of the labelled sequences, ten of them or more, were right as a whole.")];
  return h("section", { class: "card" }, h("h2", {}, "Sure enough to accept"), words,
    h("p", { class: "muted" }, "A guess from few labels, not a promise: look through some before you rely on it."));
}

function curveCard(curve) {
  const xs = curve.rows.map((row) => row.labelled);
  const one = (method, name, kind) => {
    const means = curve.rows.map((row) => row[method].mean);
    const spread = curve.rows.map((row) => (Number.isFinite(row[method].spread) ? row[method].spread : 0));
    return { name, class: kind, ys: means, low: means.map((y, k) => Math.max(0, y - spread[k])),
      high: means.map((y, k) => Math.min(1, y + spread[k])) };
  };
  return h("section", { class: "card" }, h("h2", {}, "Learning curve"),
    lines({ xs, log: true, percent: true, xLabel: "labelled sequences",
      title: "Right labels against the number of labelled sequences",
      series: [one("annealed", "with the pool", "a"), one("supervised", "labels and rules alone", "b")] }),
    (curve.outlook?.words ?? []).map((words) => h("p", {}, words.replace("`semistruct pick`", "the workbench"))));
}

function fields(measured) {
  const rows = Object.entries(measured.fields).sort(([, a], [, b]) => b.support - a.support);
  return h("section", { class: "card" }, h("h2", {}, "Fields"),
    h("div", { class: "scroll" }, h("table", { class: "numbers" },
    h("thead", {}, h("tr", {}, ["field", "precision", "recall", "F1",
      "tokens"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map(([name, row]) => h("tr", {},
      h("th", { scope: "row", vars: colourVars(fieldOf(name)) }, h("span", { class: "swatch" }), nameOf(name)),
      [row.precision, row.recall, row.f1].map((value) => h("td", {}, percent(value))), h("td", {}, row.support)))))));
}

const mixed = (measured) => h("section", { class: "card" }, h("h2", {}, "What is taken for what"),
  confusion(measured.confusion, state.status.fields.map((one) => one.name)));

function worst(measured) {
  const row = (one) => h("li", {}, h("button", { class: "row", onclick: () => open(one.number) },
    h("span", { class: "number" }, one.number + 1), h("span", { class: "compare", dir: "auto" }, pieces(one)), h("span",
      { class: "badge doubtful" }, `${one.wrong} wrong`)));
  return h("section", { class: "card wide" }, h("h2", {}, "Worst cases"),
    measured.worst.length ? h("ul", { class: "rows" }, measured.worst.map(row))
    : h("p", {}, "Not one label was wrong."));
}

function pieces(one) {
  const out = [];
  for (let t = 0; t < one.words.length; ) {
    let end = t + 1;
    while (end < one.words.length && one.gold[end] === one.gold[t] && one.found[end] === one.found[t]) end += 1;
    const wrong = one.gold[t] !== one.found[t];
    out.push(h("span", { class: wrong ? "piece wrong" : "piece", vars: colourVars(fieldOf(one.gold[t])) },
      one.words.slice(t, end).join(" "),
      wrong ? h("small", {}, `${nameOf(one.gold[t])}, not ${nameOf(one.found[t])}`) : null), " ");
    t = end;
  }
  return out;
}

function annealing({ points, history }) {
  const places = points.map((_, k) => k);
  const names = points.map((point) => (point.C_u === null ? "start" : Number(point.C_u.toPrecision(2))));
  const chosen = points.findIndex((point) => point.chosen);
  const matches = history.filter((row) => row.step !== "learn");
  const rounds = matches.map((_, k) => k + 1);
  const broken = matches.map((row) => row.broken ?? 0);
  const switched = matches.map((row) => row.switched ?? 0);
  return h("section", { class: "card wide" }, h("h2", {}, "The annealing path"),
    h("p", { class: "muted" },
      "The pool gains weight step by step, while its labels are matched to the rules. The large dot is the model that was taken."),
    h("div", { class: "charts" },
      places.length > 1 ? lines({ xs: places, names, xLabel: "weight of each sequence of the pool",
        title: "Known mistakes along the path", series: [{ name: "known mistakes per sequence", class: "a",
        ys: points.map((point) => point.mistakes), chosen }] }) : null,
      rounds.length > 1 ? lines({ xs: rounds, xLabel: "round", title: "Matching round by round",
        series: [{ name: "labels of the pool that were switched", class: "a", ys: switched }] }) : null,
      broken.some(Boolean) && rounds.length > 1 ? lines({ xs: rounds, xLabel: "round",
        title: "Broken rules round by round", series: [{ name: "sequences of the pool that break a rule", class: "c",
        ys: broken }] }) : null));
}

export function mount(element) {
  root = h("div", { class: "look-pane" });
  put(element, root);
  load();
}

for (const kind of ["look", "curve", "model", "swept"]) on(kind, () => root?.isConnected && load());
