// What all parts of the page know: the state of the server, asked for again and again, and what has changed.

import { get, Problem } from "./api.js";

/** away: null, or the problem why the server cannot be asked. */
export const state = { status: null, away: null };
const listeners = new Map();

/** Have a function called when something of this kind happens; kinds are those of the server, and "status", "away". */
export function on(kind, act) {
  if (!listeners.has(kind)) listeners.set(kind, new Set());
  listeners.get(kind).add(act);
}

export function happen(kind, about = {}) {
  for (const act of listeners.get(kind) ?? []) act(about);
}

export const fieldOf = (name) => state.status.fields.find((one) => one.name === name);

let timer = null;

/** Ask the server what is new, now and from now on. */
export async function watch() {
  clearTimeout(timer);
  try {
    const found = await get("/api/changes", { since: state.status?.change ?? 0 });
    const first = state.status === null;
    if (!found.status?.id) throw new Problem("Another program answers in the server's place.", 0);
    if (!first && found.status.id !== state.status.id) throw new Problem("Another folder is open at this address.", 0);
    state.status = found.status;
    if (state.away !== null) {
      state.away = null;
      happen("away");
    }
    const told = found.status.told.map((words) => ({ kind: "told", words }));
    for (const change of first ? told : found.changes) happen(change.kind, change);
    happen("status");
  } catch (problem) {
    const before = state.away;
    state.away = problem;
    if (before?.message !== problem.message) happen("away");
  }
  const busy = state.status?.training.state === "running" || state.status?.insights.state === "running";
  timer = setTimeout(watch, document.hidden ? 5000 : busy || state.away !== null ? 700 : 1500);
}

document.addEventListener("visibilitychange", () => document.hidden || watch());
