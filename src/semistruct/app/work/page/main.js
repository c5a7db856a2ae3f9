// The frame: tabs, what the model is doing, and which pane is shown.

import { post } from "./api.js";
import { h, notice, plural, put } from "./dom.js";
import * as label from "./label.js";
import * as look from "./look.js";
import * as pool from "./pool.js";
import * as rules from "./rules.js";
import { hindrance, unsent } from "./saving.js";
import * as setup from "./setup.js";
import { on, state, watch } from "./state.js";
import { start as startTour } from "./tour.js";
import * as use from "./use.js";

const PANES = { label: ["Label", label], pool: ["Pool", pool], rules: ["Rules", rules], look: ["Look", look],
  use: ["Use", use] };
let shown = null;

function show(again = false) {
  const main = document.getElementById("main");
  const name = state.status.ready ? (location.hash.slice(1) in PANES ? location.hash.slice(1)
    : "label") : `setup${state.status.pool > 0}`;
  if (name === shown && !again) return;
  shown = name;
  if (name === "look") localStorage.looked = "yes";
  if (state.status.ready) {
    PANES[name][1].mount(main);
    startTour();
  } else setup.mount(main);
  head();
}

let drawn = "";

/** Tabs are drawn again only if they change, so that no click falls between. */
function head() {
  if (state.status === null) return put(document.getElementById("main"), h("div", { class: "setup" },
    h("section", { class: "card" }, h("h1", {}, state.away.status === 401 ? "The token is missing" : "The server is away"),
      h("p", {}, state.away.message))));
  const now = `${shown} ${state.status.ready}`;
  if (now !== drawn) frame();
  drawn = now;
  put(document.querySelector(".state"), standing());
}

function frame() {
  const tabs = Object.entries(PANES).map(([name, [words]]) => h("a",
    { href: `#${name}`, class: "tab", "aria-current": name === shown ? "page" : null }, words));
  put(document.getElementById("head"), h("a", { class: "brand", href: "#label" },
    h("img", { src: "/page/icon.svg", alt: "", width: "26", height: "26" }), h("span", {}, "semistruct")),
    state.status.ready ? h("nav", { "aria-label": "Panes" }, tabs) : h("span"), h("div",
      { class: "state", role: "status" }),
    h("button", { class: "quiet theme", title: "Light or dark", "aria-label": "Light or dark", onclick: theme }, "◐"));
}

/** What the model is doing, in a few words. */
function standing() {
  const { training, model, insights } = state.status;
  const problem = state.away ?? hindrance();
  if (problem) return h("span", { class: "pill bad", title: problem.message },
    unsent() ? `The server is away; ${plural(unsent(), "decision")} kept here` : "The server is away");
  const which = model ? `Model ${Number(model.name)}, from ${plural(model.labelled, "sequence")}` : null;
  if (training.state === "running") {
    const share = training.share ? ` ${Math.round(100 * training.share)}%` : "";
    const seconds = Math.max(0, Math.round(Date.now() / 1000 - training.began));
    return [which ? h("span", { class: "pill which" }, which) : null,
      h("span", { class: "pill busy" }, h("span", { class: "spin", "aria-hidden": "true" }),
        `${training.step}${share}, ${seconds} s`, h("button",
        { class: "quiet", "aria-label": "Stop learning", onclick: () => post("/api/train/cancel").then(watch) }, "✕"))];
  }
  const again = h("button", { class: "quiet", title: "Learn now", "aria-label": "Learn now",
    onclick: () => post("/api/train").then(watch) }, "↻");
  if (training.state === "failed") return h("span", { class: "pill bad", title: training.problem },
    `Learning failed: ${training.problem}`, again);
  if (!model) return state.status.labelled < 2 ? h("span", { class: "pill" },
    state.status.ready ? "A model comes with the second labelled sequence" : "") : h("span", { class: "pill" },
    "No model yet", again);
  const busy = insights.state === "running" ? " · measuring" : "";
  return h("span", { class: "pill good", title: [`learned in ${model.seconds.toFixed(1)} s`,
    ...model.said].join("\n") }, which + busy, again);
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = localStorage.theme = now === "dark" ? "light" : "dark";
}

if (localStorage.theme) document.documentElement.dataset.theme = localStorage.theme;
addEventListener("hashchange", () => state.status && show());
addEventListener("beforeunload", (event) => unsent() && event.preventDefault());
on("status", () => { show(); head(); });
on("away", () => {
  head();
  if (state.status && state.away?.status === 401) notice(state.away.message, "error");
});
on("unsent", head);
on("setup", () => show(true));
on("told", (change) => notice(change.words, "error"));
on("failed", () => notice(`Learning failed: ${state.status.training.problem}`, "error"));
watch();
