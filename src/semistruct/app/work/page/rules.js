// The rules pane: the text on one side, the same rules as sentences on the other, and suggestions.

import { get, post, Problem, put as change, WINDOW } from "./api.js";
import { strip } from "./chips.js";
import { h, notice, plural, put, tried } from "./dom.js";
import { editor } from "./editor.js";
import { open } from "./label.js";
import { on, state, watch } from "./state.js";
import { drop, kept, store } from "./store.js";

/** kept: the text that the server had when mine was begun; theirs: what it has now, if that is another one. */
const pane = { edit: null, found: null, timer: null, kept: "", theirs: null, taken: new Set(), failed: true, told: "" };
let root;

// ---- what was typed and the server does not have: one draft for each window

const DRAFT = "rules";
const ORPHAN = 10000; // milliseconds after which the window of a draft is probably gone

const drafts = () => kept(DRAFT).filter(([name, { at }]) => name === WINDOW || Date.now() - at > ORPHAN);

function remember(text) {
  if (text === pane.kept) drop(DRAFT, WINDOW);
  else try {
    store(DRAFT, WINDOW, { text, before: pane.kept });
  } catch { /* the browser has no room: it is in the editor only */ }
}

/** The draft to go on with, which is then of this window. */
function draft() {
  const [name, found] = drafts().sort(([a], [b]) => (b === WINDOW) - (a === WINDOW))[0] ?? [];
  if (!found) return null;
  if (name !== WINDOW) {
    store(DRAFT, WINDOW, found);
    drop(DRAFT, name);
  }
  return found;
}

/** Send drafts while the pane is not open; where the person has to choose, say so once. */
async function sendDrafts() {
  for (const [name, { text, before }] of drafts()) {
    try {
      const { problems } = await post("/api/rules/check", { text });
      if (problems.length) throw new Problem("they have an error.", 422, {});
      await change("/api/rules", { text, before });
      drop(DRAFT, name);
    } catch (problem) {
      if (problem.refused) sayOnce(`The rules that you typed are not kept: ${problem.message} Open the rules pane.`);
      else pane.failed = true;
    }
  }
}

function sayOnce(words) {
  if (words !== pane.told) notice(words, "error");
  pane.told = words;
}

// ---- the text

/** The text has changed: say at once what is wrong, and keep it when nothing is. */
function typed(text) {
  clearTimeout(pane.timer);
  remember(text);
  pane.timer = setTimeout(async () => {
    const found = await attempt(() => post("/api/rules/check", { text }));
    if (!found || pane.edit.text !== text) return;
    shown(found);
    if (!found.problems.length && text !== pane.kept && !pane.theirs) pane.timer = setTimeout(() => keep(text), 900);
  }, 200);
}

/** What the server answers; null if it does not, and then it is tried again later. */
async function attempt(work) {
  try {
    return await work();
  } catch (problem) {
    if (problem.status === 409) contest(problem.answer);
    else if (problem.status > 0) sayOnce(problem.message);
    pane.failed = !problem.refused;
    return null;
  }
}

async function keep(text) {
  const found = await attempt(() => change("/api/rules", { text, before: pane.kept }));
  if (!found) return;
  if (pane.edit.text === text) taken(found);
  else {
    pane.kept = found.text; // and more was typed meanwhile
    typed(pane.edit.text);
  }
  watch();
}

/** Whether all that was typed is kept, so that a rule can be switched or added. */
async function settled() {
  if (pane.edit.text === pane.kept) return true;
  clearTimeout(pane.timer);
  if (!pane.theirs && !pane.found.problems.length) await keep(pane.edit.text);
  if (pane.edit.text === pane.kept) return true;
  notice("What you have typed is not kept yet: see to that first.", "error");
  draw();
  return false;
}

/** These are the rules now, here and on the server. */
function taken(found) {
  pane.kept = found.text;
  pane.theirs = null;
  pane.told = "";
  pane.edit.text = found.text;
  remember(found.text);
  shown(found);
}

/** These are the rules of the server: what was typed here is never replaced by them without a question. */
function met(found) {
  const mine = pane.edit.text;
  if (mine === pane.kept || mine === found.text) return taken(found);
  if (found.text !== pane.kept) return contest(found);
  pane.theirs = null;
  pane.found ??= found;
  typed(mine);
}

function contest(found) {
  clearTimeout(pane.timer);
  pane.theirs = found;
  pane.found ??= found;
  draw();
}

/** Go on with mine, knowing what it replaces. */
function keepMine() {
  pane.kept = pane.theirs.text;
  pane.theirs = null;
  draw();
  typed(pane.edit.text);
}

function shown(found) {
  pane.found = found;
  pane.edit.mark(found.problems);
  draw();
}

// ---- drawing

function draw() {
  if (!root?.isConnected) return;
  const { problems, rules, contradictions, strangers } = pane.found;
  put(root.querySelector("#rule-problems"), pane.theirs && question(), problems.map((one) => h("button",
    { class: "problem", onclick: () => pane.edit.goTo(one.line ?? 1) },
    one.line ? `Line ${one.line}: ` : "", one.problem)),
  strangers.map((name) => h("p", { class: "problem soft" }, `The rules name “${name}”, which is no field. `,
    h("button", { class: "link", onclick: () => addField(name) }, "Make it one"))),
  contradictions.map((one) => h("p", { class: "problem soft" },
    `Rules ${one.first + 1} and ${one.second + 1} contradict each other: ${one.why}`)));
  if (problems.length) return root.querySelector(".sentences").classList.add("stale");
  root.querySelector(".sentences").classList.remove("stale");
  put(root.querySelector(".sentences"), rules.length ? rules.map(sentence)
    : h("p", { class: "muted" },
      "No rules yet. Take a suggestion below, write one on the left, or select words in a sequence and press * to say that they are always a certain field."));
}

/** Both texts: mine is in the editor. */
function question() {
  return h("div", { class: "problem soft contest" },
    h("p", {}, "The rules were changed elsewhere, in another window or in their file, since you began to type. Yours are above and not kept. The others are:"),
    h("pre", {}, pane.theirs.text),
    h("p", { class: "buttons" }, h("button", { onclick: keepMine }, "Keep mine"),
      h("button", { onclick: () => taken(pane.theirs) }, "Take the others")));
}

function sentence(rule) {
  const box = h("input", { type: "checkbox", role: "switch", checked: rule.on, disabled: !rule.can_switch,
    "aria-label": `Use: ${rule.text}`,
    onchange: () => flip(rule, box.checked) });
  const more = h("div", { class: "cases", hidden: true });
  return h("article",
    { class: `sentence ${rule.on ? "" : "off"} ${rule.bad || rule.trust?.kind === "false" ? "flag" : ""}` },
    h("div", { class: "sentence-head" }, box,
      h("button", { class: "says", "aria-expanded": "false",
        onclick: (event) => showCases(rule, more, event.currentTarget) }, rule.text)),
    h("p", { class: "facts" }, facts(rule).map((one) => h("span",
      { class: `fact ${one.kind ?? ""}`, title: one.title ?? "" }, one.words))), more);
}

async function flip(rule, on) {
  if (!(await settled())) return;
  const found = await attempt(() => post("/api/rules/switch", { line: rule.first, on, before: pane.kept }));
  if (found) met(found);
  else load(); // the switch is as it was
}

function facts(rule) {
  const out = [];
  if (rule.level === "corpus") out.push({ words: "about the pool as a whole" });
  else if (rule.applies) {
    out.push({ words: `holds in ${rule.holds} of ${rule.applies}`,
      kind: rule.holds === rule.applies ? "good" : rule.bad ? "bad" : "", title: "cases in what you labelled" });
  } else out.push({ words: "no labelled case" });
  if (rule.changes !== null) out.push({ words: `changes ${rule.changes} of ${rule.sample}`,
    title: "sequences of the pool that get other labels if it is the only rule" });
  if (rule.gain) {
    const [tokens] = rule.gain;
    out.push({ words: tokens ? `${tokens > 0 ? "gains" : "costs"} ${plural(Math.abs(tokens), "label")}` : "neither gains nor costs", kind: tokens > 0 ? "good" : tokens < 0 ? "bad" : "", title: "right labels more or fewer, on labelled sequences that the model had not seen" });
  }
  if (rule.trust) {
    const because = rule.trust.applies ? "probably false" : "the model doubts it";
    const kind = { true: "trusted", loose: "hardly trusted", false: `left out: ${because}` }[rule.trust.kind];
    out.push({ words: kind, kind: rule.trust.kind === "false" ? "bad" : "",
      title: `${rule.trust.why}; weight ${typeof rule.trust.weight === "number" ? rule.trust.weight.toFixed(1) : rule.trust.weight}` });
  }
  return out;
}

async function showCases(rule, more, button) {
  more.hidden = !more.hidden;
  button.setAttribute("aria-expanded", String(!more.hidden));
  if (more.hidden) return;
  put(more, h("p", { class: "muted" }, "Looking…"));
  const found = await tried(() => get("/api/rules/cases", { line: rule.first }));
  if (!found) return;
  const part = (title, places, show) => (places.length ? [h("h4", {}, title),
    h("ul", { class: "places" }, places.map((one) => h("li", {},
    h("button", { class: "row", onclick: () => open(one.number) }, h("span", { class: "number" }, one.number + 1),
      show(one)))))] : []);
  const plain = (one) => strip(one.words, one.labels, one.at === null ? null : one.at - one.start);
  const changed = (one) => h("span", {}, strip(one.words, one.before), " → ", strip(one.words, one.after));
  const all = [...part("Where it does not hold", found.bad, plain),
    ...part("Where it holds", found.good.slice(0, 4), plain),
    ...part("What it changes in the pool", found.pool, changed)];
  put(more, all.length ? all : h("p", { class: "muted" }, "No cases among what is labelled."));
}

async function addField(name) {
  await tried(async () => {
    await change("/api/fields", { names: [...state.status.fields.map((one) => one.name), name] });
    await watch();
    await load();
  });
}

// ---- suggestions

async function suggest() {
  const found = await get("/api/rules/suggestions").catch(() => null);
  if (!found || !root?.isConnected) return;
  const texts = new Set((pane.found?.rules ?? []).map((rule) => rule.text));
  const open = found.suggestions.filter((one) => !texts.has(one.text) && !pane.taken.has(one.text));
  const row = (one) => h("li", { class: "suggestion" },
    h("button", { class: "take", "aria-label": `Take: ${one.text}`,
    onclick: (event) => take(one, event.currentTarget) }, "Take"),
    h("div", {}, h("p", {}, one.text), h("p", { class: "facts" },
      h("span", { class: "fact" }, `held in ${one.holds} of ${one.applies}`),
      one.broken ? h("span", { class: "fact" },
        `would change ${one.broken} of ${plural(one.coverage, "sequence")}`) : null,
      one.certain ? null : h("span", { class: "fact" }, "doubtful: seen too rarely"))));
  const waiting = state.status.labelled < 4 ? "Suggestions come when four sequences are labelled." : "No suggestions for now.";
  put(root.querySelector(".suggestions"), found.problem ? h("p", { class: "problem" }, found.problem) : null,
    open.length ? h("ul", {}, open.slice(0, 12).map(row)) : h("p", { class: "muted" }, waiting));
}

async function take(one, button) {
  button.disabled = true;
  const done = (await settled()) && await tried(async () => met(await post("/api/rules/add",
    { rule: one.rule, comment: `suggested: held in ${one.holds} of ${one.applies}` })));
  if (done !== null && done !== false) {
    pane.taken.add(one.text);
    notice(`Taken: ${one.text}`);
    suggest();
    watch();
  } else button.disabled = false;
}

// ---- life

async function load() {
  const found = await attempt(() => get("/api/rules"));
  if (found && root?.isConnected) met(found);
}

export async function mount(element) {
  pane.edit = editor(typed);
  root = h("div", { class: "rules-pane" },
    h("section", { class: "card" }, h("h1", {}, "Rules"),
      h("p", { class: "muted" }, "What you know, one rule after the other. Ctrl + Space completes."),
      pane.edit.root, h("div", { id: "rule-problems", role: "status" })),
    h("section", { class: "card" }, h("h2", {}, "What they say"), h("div", { class: "sentences" }),
      h("h2", {}, "Suggested"), h("div", { class: "suggestions" }, h("p", { class: "muted" }, "…"))));
  put(element, root);
  clearTimeout(pane.timer);
  const begun = draft();
  Object.assign(pane, { found: null, theirs: null, kept: begun?.before ?? "" });
  if (begun) pane.edit.text = begun.text;
  await load();
  suggest();
}

async function renew() {
  if (!root?.isConnected) return;
  if (pane.edit.text === pane.kept) await load();
  suggest();
}

for (const kind of ["model", "effects", "look", "suggest"]) on(kind, renew);
on("rules", () => root?.isConnected && load());
on("away", () => { pane.failed ||= state.away !== null; });
on("status", () => {
  if (!pane.failed) return;
  pane.failed = false;
  if (root?.isConnected) load();
  else sendDrafts();
});
