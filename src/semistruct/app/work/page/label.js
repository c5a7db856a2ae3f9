// The label pane: one sequence large, the fields beside it, and what can be done with keys, mouse and fingers.

import { get, post, WINDOW } from "./api.js";
import { chips, inReadingOrder, isRightToLeft } from "./chips.js";
import { colourVars } from "./colours.js";
import { h, kbd, notice, plural, put, tried } from "./dom.js";
import { COMMANDS, meaning, shown } from "./keys.js";
import { showLike } from "./like.js";
import { showHelp, showNote, showSplit } from "./sheets.js";
import { decided, deliver, keep, unsent, waiting } from "./saving.js";
import { OUTSIDE, Sequence } from "./sequence.js";
import { showFields } from "./setup.js";
import { on, state, watch } from "./state.js";

const pane = { current: null, sticky: null, lastField: null, past: [], ready: null, later: [], lost: false, side: "" };
let root;

// ---- which sequence

const limits = () => ({ doubtful: state.status.doubtful, sure: state.status.sure });

function show(one) {
  pane.current = one;
  pane.sticky = null;
  draw();
  root?.querySelector(".tokens")?.focus({ preventScroll: true });
}

/** A sequence as the server has it, or with what was decided about it. */
function made(view, decision = view && decided(view.number)) {
  const one = view && new Sequence(view, limits());
  if (decision) one.take(decision);
  return one;
}

/** Ask for the next sequence: not one that is shown, nor one whose labels are still on their way. */
function ask() {
  const without = [...pane.past.slice(-20), ...waiting(), ...(pane.current ? [pane.current.number] : [])];
  return get("/api/next", { window: WINDOW, shown: without.join(",") }).catch(() => null);
}

/** Have the next sequence at hand before it is wanted. */
function prepare() {
  pane.ready = ask();
}

export async function next() {
  if (pane.later.length) return show(pane.later.pop());
  const found = (await pane.ready) ?? (await ask());
  pane.ready = null;
  pane.lost = found === null;
  show(found && made(found.sequence));
  if (found?.sequence) prepare();
}

export async function open(number) {
  const view = await tried(() => get(`/api/sequences/${number}`));
  if (!view) return false;
  show(made(view));
  location.hash = "#label";
  prepare();
  return true;
}

async function decide(onlyMine) {
  const one = pane.current;
  if (one.isEmpty || (onlyMine && one.count("confirmed") + one.count("unknown") === 0)) {
    return notice("Nothing is labelled yet: give a field, press 0 for nothing here, or - to skip.", "error");
  }
  leave(one, one.decision(onlyMine));
}

async function leave(one, decision) {
  try {
    await keep(decision);
  } catch (problem) {
    return notice(problem.message, "error");
  }
  pane.past.push(one.number);
  await next();
}

/** The server will not have a decision: show it again, and what was shown meanwhile after it. */
function refused({ decision, view, words }) {
  notice(`Sequence ${decision.number + 1} was not kept: ${words}`, "error");
  if (view === null) return;
  if (pane.current?.actions && pane.current.number !== decision.number) pane.later.push(pane.current);
  show(made(view, decision));
}

const skip = (one) => leave(one, { number: one.number, labels: null, origin: "skipped", note: one.note,
  seen: one.version });

async function undo() {
  if (pane.current?.undo()) {
    pane.current.actions += 1;
    return draw();
  }
  await deliver();
  if (unsent()) return notice("What you decided last is not on the server yet: undo comes when it is.", "error");
  try {
    const done = await post("/api/undo");
    notice(`Undone: ${done.words}`);
    await watch();
    if (done.numbers.length === 1) await open(done.numbers[0]);
  } catch (problem) {
    notice(problem.message, "error");
  }
}

// ---- commands

const moves = {
  right: (one) => step(one, isRightToLeft(one.words) ? -1 : 1),
  left: (one) => step(one, isRightToLeft(one.words) ? 1 : -1),
  first: (one) => one.goTo(0),
  last: (one) => one.goTo(one.length - 1),
  down: (one) => one.moveBlock(1),
  up: (one) => one.moveBlock(-1),
  doubtful: (one) => one.jump(1) || notice("No token is doubtful."),
  doubtfulBack: (one) => one.jump(-1) || notice("No token is doubtful."),
  mark: (one) => one.mark(),
  grow: (one) => one.boundary(1, false),
  shrink: (one) => one.boundary(-1, false),
  startRight: (one) => one.boundary(1, true),
  startLeft: (one) => one.boundary(-1, true),
  nothing: (one) => one.set(OUTSIDE),
  nothingAll: (one) => one.setAll(OUTSIDE),
  unknown: (one) => one.unknown(),
  sticky: () => { pane.sticky = pane.sticky ? null : (pane.lastField ?? state.status.fields[0].name); },
  escape: (one) => { one.clear(); pane.sticky = null; },
};

const acts = {
  accept: () => decide(false),
  keep: () => decide(true),
  skip,
  undo,
  split: (one) => showSplit(one, draw),
  like: (one) => showLike(one, pane.lastField),
  note: (one) => showNote(one, draw),
  help: () => showHelp(),
  before: async () => pane.past.length && await open(pane.past.at(-1)) && pane.past.pop(),
};

/** Move; with a sticky field, what is moved over gets it. */
function step(one, by) {
  if (pane.sticky && !one.marking) {
    one.set(pane.sticky);
    one.cursor = one.cursor === one.length - 1 && by > 0 ? one.cursor : one.cursor + (by > 0 ? 0 : -2);
    one.cursor = Math.max(0, one.cursor);
    return;
  }
  one.move(by);
}

export function run(name) {
  const one = pane.current;
  if (name === "undo" || name === "help" || name === "before") return acts[name](one);
  if (!one) return;
  one.actions += 1;
  if (moves[name]) {
    moves[name](one);
    draw();
  } else acts[name](one);
}

export function setField(name, fromHere = false) {
  const one = pane.current;
  if (!one) return;
  one.actions += 1;
  pane.lastField = name;
  if (pane.sticky) pane.sticky = name;
  if (fromHere) one.setFromHere(name);
  else one.set(name);
  draw();
}

function tap(t, extend, block = false) {
  const one = pane.current;
  one.actions += 1;
  if (block) {
    one.cursor = t;
    one.selectBlock();
  } else one.tap(t, extend);
  if (pane.sticky) {
    const [a, b] = one.selection;
    one.remember();
    one.give(a, b, pane.sticky);
  }
  draw();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (!root?.isConnected || typing || (event.target.closest?.("button:not(.chip), a") && [" ",
    "Enter"].includes(event.key))) return;
  const meant = meaning(event, state.status?.fields ?? []);
  if (meant === null) return;
  event.preventDefault();
  if (typeof meant === "string") run(meant);
  else setField(meant.field, meant.fromHere);
});

// ---- drawing

function draw() {
  if (!root?.isConnected) return;
  const one = pane.current;
  put(root, h("section", { class: "card sequence", "aria-label": "Sequence" },
    one ? [head(one), tokens(one), foot(one)] : done()), side(one));
  root.querySelector(".cursor")?.scrollIntoView({ block: "nearest" });
}

function head(one) {
  const source = one.blind ? "without proposals" : one.model ? `labels proposed by model ${Number(one.model)}` : "no proposals yet";
  return h("header", { class: "sequence-head" },
    h("div", {}, h("h1", {}, `Sequence ${(one.number + 1).toLocaleString("en")}`),
      one.kind === "open" ? null : h("span", { class: `badge ${one.kind}` }, one.kind), h("span", { class: "source" },
        source)),
    one.reason ? h("p", { class: "reason" }, "Why this one: ", one.reason) : null,
    one.broken.length ? h("p", { class: "broken" }, "The proposal breaks: ", one.broken.join("; ")) : null,
    one.note ? h("p", { class: "noted" }, "Note: ", one.note) : null);
}

function tokens(one) {
  const rtl = isRightToLeft(one.words);
  return h("div", {
    class: "tokens", role: "listbox", tabIndex: 0, dir: rtl ? "rtl" : "ltr", "aria-label": "Tokens", "aria-multiselectable": "true",
    "aria-activedescendant": `token-${one.cursor}`,
  }, inReadingOrder(one.words, chips(one, tap)));
}

function foot(one) {
  const blank = one.count("blank");
  return h("footer", { class: "sequence-foot" },
    h("button", { class: "main", onclick: () => run("accept") }, "Accept ", kbd("Enter")),
    h("button", { class: "keep", onclick: () => run("keep"), title: "Keep only what you set; the rest stays unknown" },
      "Keep only mine"),
    h("button", { onclick: () => run("skip") }, "Skip ", kbd("-")),
    h("button", { onclick: () => run("undo") }, "Undo"),
    h("span", { class: "counts", "aria-live": "polite" }, plural(one.actions, "action"),
      blank ? ` · ${plural(blank, "token")} without a label` : ""));
}

function done() {
  const left = state.status.pool - state.status.labelled - state.status.skipped;
  if (state.away !== null) return h("div", { class: "empty" }, h("h1", {}, "The server is away"),
    h("p", {}, "What you decided is kept in this browser. The next sequence comes when the server is back."));
  return h("div", { class: "empty" }, h("h1", {}, left > 0 ? "Loading…" : "Everything is labelled"),
    left > 0 ? null : h("p", {},
      "Nothing in the pool is left to label. Look at the estimate, export, or add to the pool."));
}

const TOOLS = [
  ["doubtful", "Next doubtful"], ["mark", "Run"], ["nothing", "Nothing"], ["unknown", "Unknown"], ["split", "Split"],
  ["like", "All like this"], ["note", "Note"], ["keep", "Keep only mine"], ["help", "All keys"],
];

/** What the side shows; it is drawn again only if that changes, so that no click falls between. */
const sideNow = () => JSON.stringify(["fields", "labelled", "pool", "skipped",
  "actions"].map((key) => state.status[key]));

function side(one) {
  const { fields, labelled, pool, skipped, actions, acted } = state.status;
  pane.side = sideNow();
  return h("aside", { class: "side", "aria-label": "Fields" },
    h("div", { class: fields.length > 14 ? "fields many" : "fields", role: "group", "aria-label": "Fields" },
      fields.map((field) => h("button", {
      class: `field ${pane.sticky === field.name ? "sticky" : ""}`, vars: colourVars(field), disabled: !one,
      onclick: (event) => setField(field.name,
        event.shiftKey), title: `${field.name}: key ${field.key}; with Shift from here on`,
    }, kbd(field.key), h("span", {}, field.name), h("small", {}, field.n || "")))),
    h("div", { class: "tools", role: "group", "aria-label": "Tools" },
      h("button", { class: pane.sticky ? "on" : "", "aria-pressed": String(Boolean(pane.sticky)),
        onclick: () => run("sticky") }, "Sticky ", kbd("=")),
      TOOLS.map(([name, words]) => h("button", { class: name === "mark" && one?.marking ? "on" : "",
        onclick: () => run(name) }, `${words} `,
        kbd(shown(COMMANDS.find((command) => command.name === name).keys[0])))),
      h("button", { onclick: showFields }, "Change the fields")),
    h("dl", { class: "progress" },
      h("div", {}, h("dt", {}, "labelled"), h("dd", {}, labelled.toLocaleString("en"))),
      h("div", {}, h("dt", {}, "in the pool"), h("dd", {}, pool.toLocaleString("en"))),
      skipped ? h("div", {}, h("dt", {}, "skipped"), h("dd", {}, skipped)) : null,
      acted ? h("div", {}, h("dt", {}, "actions each"), h("dd", {}, (actions / acted).toFixed(1))) : null));
}

// ---- life

export function mount(element) {
  root = h("div", { class: "label-pane" });
  put(element, root);
  if (pane.current) draw();
  else next();
}

/** New proposals for what is shown, unless the person has begun. */
async function refresh() {
  const one = pane.current;
  prepare();
  if (!root?.isConnected || !one || one.past.length || one.actions || one.kind !== "open" || one.blind) return;
  const view = await get(`/api/sequences/${one.number}`).catch(() => null);
  if (view && pane.current === one && !one.past.length && !one.actions) show(made({ ...view, reason: one.reason }));
}

on("model", refresh);
on("swept", () => pane.current && !pane.current.model && refresh());
on("queue", () => (pane.current?.actions ? prepare() : pane.current === null && next()));
on("fields", () => { pane.ready = null; draw(); });
on("pool", () => pane.current === null && root?.isConnected && next());
on("status", () => {
  if (pane.lost && root?.isConnected) {
    pane.lost = false;
    next();
  }
  if (!root?.isConnected || sideNow() === pane.side) return;
  put(root.querySelector(".side") ?? h("div"), ...side(pane.current).childNodes);
});
on("away", () => pane.current === null && draw());
on("kept", ({ number, version }) => { if (pane.current?.number === number) pane.current.version = version; });
on("refused", refused);
on("decided", (change) => {
  if (change.window !== WINDOW && change.number === pane.current?.number) {
    notice(`Sequence ${change.number + 1} was labelled in another window. If you accept, yours counts.`);
  }
});
on("bulk", (change) => change.window !== WINDOW && change.numbers.includes(pane.current?.number) && refresh());
