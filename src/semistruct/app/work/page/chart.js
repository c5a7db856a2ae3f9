// Small drawings that follow the colours of the page.

import { h, svg } from "./dom.js";

const W = 460;
const H = 230;
const PAD = { left: 44, right: 14, top: 14, bottom: 34 };

/** Lines over points: {xs, names, series: [{name, ys, low, high, class}], percent, xLabel, title}. */
export function lines({ xs, names, series, percent, xLabel, title, log = false }) {
  const values = series.flatMap((one) => [...one.ys, ...(one.low ?? []), ...(one.high ?? [])]).filter(Number.isFinite);
  const span = nice(Math.min(...values), Math.max(...values), percent);
  const place = (x) => (log ? Math.log(x) : x);
  const [first, last] = [place(xs[0]), place(xs.at(-1))];
  const X = (x) => PAD.left + ((place(x) - first) / (last - first || 1)) * (W - PAD.left - PAD.right);
  const Y = (y) => H - PAD.bottom - ((y - span.low) / (span.high - span.low || 1)) * (H - PAD.top - PAD.bottom);
  const path = (ys) => ys.map((y, k) => `${k ? "L" : "M"}${X(xs[k]).toFixed(1)},${Y(y).toFixed(1)}`).join("");
  const ticks = span.ticks.map((y) => [
    svg("line", { class: "grid", x1: PAD.left, x2: W - PAD.right, y1: Y(y), y2: Y(y) }),
    svg("text", { class: "tick", x: PAD.left - 6, y: Y(y) + 4, "text-anchor": "end" },
      percent ? `${Math.round(100 * y)}%` : short(y)),
  ]);
  const marks = xs.map((x, k) => svg("text", { class: "tick", x: X(x), y: H - PAD.bottom + 16,
    "text-anchor": "middle" }, names?.[k] ?? x));
  const drawn = series.map((one) => [
    one.low ? svg("path", { class: `band ${one.class}`,
      d: `${path(one.high)}L${one.low.map((y, k) => `${X(xs[k]).toFixed(1)},${Y(y).toFixed(1)}`).reverse().join("L")}Z` }) : null,
    svg("path", { class: `line ${one.class}`, d: path(one.ys) }),
    one.ys.map((y, k) => svg("circle", { class: `dot ${one.class}`, cx: X(xs[k]), cy: Y(y),
      r: one.chosen === k ? 6 : 3.5 },
      svg("title", {}, `${one.name}: ${percent ? (100 * y).toFixed(1) + "%" : short(y)}`))),
  ]);
  const legend = h("figcaption", { class: "legend" }, series.map((one) => h("span", { class: one.class }, one.name)));
  return h("figure", { class: "chart" }, legend, svg("svg",
    { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title }, ticks, marks,
    svg("text", { class: "tick", x: (W + PAD.left) / 2, y: H - 2, "text-anchor": "middle" }, xLabel), drawn));
}

function nice(low, high, percent) {
  if (percent) {
    low = Math.max(0, Math.floor(low * 10 - 0.2) / 10);
    high = Math.min(1, Math.ceil(high * 10 + 0.1) / 10);
  } else {
    low = Math.min(0, low);
    high = high || 1;
  }
  const step = (high - low) / 4;
  return { low, high, ticks: [0, 1, 2, 3, 4].map((k) => low + k * step) };
}

const short = (value) => (Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en")
  : Number(value.toPrecision(2)).toString());

/** A table of which label was given for which. */
export function confusion(cells, order) {
  const labels = order.filter((name) => cells.some((cell) => cell.gold === name || cell.found === name));
  const rest = [...new Set(cells.flatMap((cell) => [cell.gold,
    cell.found]))].filter((name) => !labels.includes(name)).sort();
  const all = [...labels, ...rest];
  const n = (gold, found) => cells.find((cell) => cell.gold === gold && cell.found === found)?.n ?? 0;
  const sums = new Map(all.map((gold) => [gold, all.reduce((sum, found) => sum + n(gold, found), 0)]));
  return h("div", { class: "scroll" }, h("table", { class: "confusion" },
    h("caption", {}, "rows: what it is; columns: what the model said"),
    h("thead", {}, h("tr", {}, h("td"), all.map((name) => h("th", { scope: "col" }, h("span", {}, name))))),
    h("tbody", {}, all.map((gold) => h("tr", {}, h("th", { scope: "row" }, gold), all.map((found) => {
      const count = n(gold, found);
      return h("td", { class: gold === found ? "right" : count ? "wrong" : "",
        vars: { "--share": String(sums.get(gold) ? count / sums.get(gold) : 0) } }, count || "");
    }))))));
}
