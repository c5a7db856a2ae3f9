// What this browser keeps for the folder that is open, until the server has it. All tabs of the folder see the same.

import { state } from "./state.js";

const key = (kind, name = "") => `${kind} ${state.status.id} ${name}`;

/** What is kept of a kind: [name, value] pairs, oldest first. */
export function kept(kind) {
  if (state.status === null) return [];
  const names = Object.keys(localStorage).filter((one) => one.startsWith(key(kind))).map((one) => one.slice(key(kind).length));
  return names.map((name) => [name, JSON.parse(localStorage.getItem(key(kind, name)))]).sort(([, a], [, b]) => a.at - b.at);
}

/** Keep a value; throws if the browser has no room. */
export function store(kind, name, value) {
  localStorage.setItem(key(kind, name), JSON.stringify({ ...value, at: value.at ?? Date.now() }));
}

export const drop = (kind, name) => localStorage.removeItem(key(kind, name));
