// The pool pane: search, filter, open; and add more.

import { get } from "./api.js";
import { h, notice, plural, put } from "./dom.js";
import { open } from "./label.js";
import { addPool } from "./setup.js";
import { on, state } from "./state.js";

const FILTERS = [
  ["all", "all"], ["open", "still to label"], ["labelled", "labelled"], ["skipped", "skipped"], ["noted",
    "with a note"],
  ["unsure", "the model is unsure"], ["breaks", "breaks a rule"], ["differs", "person and model differ"],
];
const PAGE = 50;
const wanted = { words: "", field: "", state: "all", offset: 0 };
let root;
let asked = 0;

async function search() {
  const mine = ++asked;
  try {
    const found = await get("/api/sequences", { ...wanted, limit: PAGE });
    if (mine === asked && root?.isConnected) list(found);
  } catch (problem) {
    notice(problem.message, "error");
  }
}

function list(found) {
  const looked = ["unsure", "breaks"].includes(wanted.state) && found.looked_at < found.of;
  put(root.querySelector(".found"), h("p", { class: "muted" },
    `${plural(found.n, "sequence")} of ${found.of.toLocaleString("en")}`,
    looked ? `; the model has looked at ${found.looked_at.toLocaleString("en")} so far` : ""),
  h("ul", { class: "rows" }, found.rows.map(row)), pages(found));
}

function row(one) {
  const sure = one.sure === null || one.kind !== "open" ? null : one.sure < state.status.doubtful ? "doubtful" : one.sure < state.status.sure ? "unsure" : "sure";
  return h("li", {}, h("button", { class: "row", onclick: () => open(one.number) },
    h("span", { class: "number" }, (one.number + 1).toLocaleString("en")), h("span", { class: "text", dir: "auto" },
      one.text),
    h("span", { class: "marks" }, one.kind === "open" ? null : h("span", { class: `badge ${one.kind}` }, one.kind),
      sure ? h("span", { class: `badge ${sure}` }, sure) : null, one.differs ? h("span", { class: "badge doubtful" },
        `${one.differs} differ`) : null,
      one.note ? h("span", { class: "badge" }, "note") : null)));
}

function pages(found) {
  const go = (by) => { wanted.offset = Math.max(0, wanted.offset + by); search(); };
  return h("p", { class: "buttons" }, h("button", { disabled: wanted.offset === 0, onclick: () => go(-PAGE) },
    "Before"),
    h("span", { class: "muted" }, found.n ? `${wanted.offset + 1} to ${Math.min(found.n, wanted.offset + PAGE)}` : ""),
    h("button", { disabled: wanted.offset + PAGE >= found.n, onclick: () => go(PAGE) }, "Next"));
}

export function mount(element) {
  const change = (key) => (event) => { wanted[key] = event.target.value; wanted.offset = 0; search(); };
  const options = (pairs, value) => pairs.map(([key, words]) => h("option", { value: key, selected: key === value },
    words));
  root = h("div", { class: "pool-pane" },
    h("section", { class: "card" }, h("h1", {}, "Pool"),
      h("div", { class: "filters" },
        h("input", { type: "search", placeholder: "Search the text", "aria-label": "Search the text",
          value: wanted.words, oninput: change("words") }),
        h("select", { "aria-label": "Which", onchange: change("state") }, options(FILTERS, wanted.state)),
        h("select", { "aria-label": "With the field", onchange: change("field") },
          options([["", "any field"], ...state.status.fields.map((one) => [one.name, one.name])], wanted.field)),
        h("button", { onclick: addPool }, "Add to the pool")),
      h("div", { class: "found" })));
  put(element, root);
  search();
}

for (const kind of ["decided", "bulk", "swept", "pool", "model"]) on(kind, () => root?.isConnected && search());
