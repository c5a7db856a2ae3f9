// Decisions on their way to the server. Each is kept in the browser before it is sent, and until the server has it: so
// nothing is lost when the server, the tab or the browser ends. The last decision about a sequence replaces those before.

import { get, post, Problem, WINDOW } from "./api.js";
import { notice } from "./dom.js";
import { happen, on, state, watch } from "./state.js";
import { drop, kept, store } from "./store.js";

const KIND = "decision";
let trouble = null; // why the server could not keep the last decision that it was sent

export const unsent = () => kept(KIND).length;
export const hindrance = () => (unsent() ? trouble : null);

/** The numbers of the sequences whose decisions the server does not have yet. */
export const waiting = () => kept(KIND).map(([name]) => Number(name));

/** What was decided about a sequence, if the server does not have it yet. */
export const decided = (number) => kept(KIND).find(([name]) => name === String(number))?.[1].decision ?? null;

/** Keep a decision and send it. It is safe when this returns; a problem is thrown if it is safe nowhere. */
export async function keep(decision) {
  const entry = { decision, window: WINDOW };
  try {
    store(KIND, decision.number, entry);
  } catch {
    const answer = await sent(entry); // the browser has no room for it
    return taken(decision, answer);
  }
  happen("unsent");
  deliver();
}

let line = Promise.resolve();

/** Send what is waiting; one tab at a time, where the browser can tell. */
export function deliver() {
  const alone = (work) => (navigator.locks ? navigator.locks.request(`sending ${state.status.id}`, work) : work());
  line = line.catch(() => null).then(() => unsent() && alone(sendAll));
  return line;
}

async function sendAll() {
  const before = unsent();
  let found = null;
  for (const [name] of kept(KIND)) {
    const problem = await sendOne(name);
    found ??= problem;
    if (problem && problem.status !== 500) break; // an error over one decision does not keep the others back
  }
  if (found?.status >= 500 && found.message !== trouble?.message) notice(`Kept in this browser only: ${found.message}`, "error");
  trouble = found;
  happen("unsent");
  if (unsent() < before) watch();
}

/** Send a decision; gives the problem if the server cannot take it now. */
async function sendOne(name) {
  const entry = find(name);
  if (!entry) return null; // another tab was quicker
  const { decision } = entry;
  try {
    const answer = await sent(entry);
    settle(name, entry, answer.version);
    taken(decision, answer);
  } catch (problem) {
    return problem.refused ? refusal(name, entry, problem.message) : problem;
  }
  return null;
}

/** The server will never take a decision: it is dropped, but not before it can be shown again. */
async function refusal(name, entry, words) {
  let view = null;
  try {
    view = await get(`/api/sequences/${name}`);
  } catch (problem) {
    if (!problem.refused) return problem;
  }
  settle(name, entry);
  happen("refused", { decision: entry.decision, view, words });
  return null;
}

const find = (name) => kept(KIND).find(([one]) => one === name)?.[1];

async function sent({ decision, window }) {
  const answer = await post("/api/labels", { ...decision, window });
  if (!Number.isInteger(answer.version)) throw new Problem("Another program answers in the server's place.", 0);
  return answer;
}

/** The server has answered an entry. If the person has decided again meanwhile, that was made on top of it. */
function settle(name, entry, version) {
  const now = find(name);
  if (now && JSON.stringify(now) === JSON.stringify(entry)) drop(KIND, name);
  else if (now && version !== undefined) store(KIND, name, { ...now, decision: { ...now.decision, seen: version } });
}

function taken(decision, answer) {
  if (answer.overwrote) notice(`Sequence ${decision.number + 1} had been changed in another window: yours counts now.`);
  happen("kept", { number: decision.number, version: answer.version });
}

on("status", () => unsent() && deliver());
addEventListener("storage", () => state.status && happen("unsent"));
