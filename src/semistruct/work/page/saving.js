// Decisions on their way to the server. What cannot be sent is kept in the window, and sent when the server is back.

import { post, WINDOW } from "./api.js";
import { notice } from "./dom.js";
import { happen, on, state, watch } from "./state.js";

const waiting = JSON.parse(sessionStorage.waiting ?? "[]");

export const unsent = () => waiting.length;

function remember() {
  sessionStorage.waiting = JSON.stringify(waiting);
  happen("unsent");
}

/** Send a decision; true if it is on the disk of the server, or will be as soon as that can be reached. */
export async function keep(decision) {
  try {
    const answer = await post("/api/labels", { ...decision, window: WINDOW });
    if (answer.overwrote) notice(`Sequence ${decision.number + 1} had been changed in another window: yours counts now.`);
    watch();
    return true;
  } catch (problem) {
    if (problem.status === 0) {
      waiting.push(decision);
      remember();
      return true;
    }
    notice(problem.message, "error");
    return false;
  }
}

on("away", async () => {
  while (!state.away && waiting.length) {
    const decision = waiting.shift();
    remember();
    await keep(decision);
  }
});
