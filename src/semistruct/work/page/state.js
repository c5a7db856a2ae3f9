// What all parts of the page know: the state of the server, asked for again and again, and what has changed.

import { get } from "./api.js";
import { notice } from "./dom.js";

export const state = { status: null, away: false };
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
    state.status = found.status;
    if (state.away) {
      state.away = false;
      happen("away");
    }
    const told = found.status.told.map((words) => ({ kind: "told", words }));
    for (const change of first ? told : found.changes) happen(change.kind, change);
    happen("status");
  } catch (problem) {
    if (problem.status === 401) return notice("The server was started anew. " + problem.message, "error");
    if (!state.away) {
      state.away = true;
      happen("away");
    }
  }
  const busy = state.status?.training.state === "running" || state.status?.insights.state === "running";
  timer = setTimeout(watch, document.hidden ? 5000 : busy || state.away ? 700 : 1500);
}

document.addEventListener("visibilitychange", () => document.hidden || watch());
