// The tokens of a sequence as chips.

import { colourVars } from "./colours.js";
import { h, kbd } from "./dom.js";
import { OUTSIDE } from "./sequence.js";
import { fieldOf } from "./state.js";

const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Whether the first letter of a text is written from right to left; null if it has no letter. */
function goesLeft(text) {
  const letter = text.match(/\p{L}/u)?.[0];
  return letter === undefined ? null : RTL.test(letter);
}

export const isRightToLeft = (words) => goesLeft(words.join("")) === true;

/** The chips with those in a row that run against the direction of the text put into a box of their own direction. */
export function inReadingOrder(words, drawn) {
  const main = isRightToLeft(words);
  const against = words.map((word) => (goesLeft(word) === null ? null : goesLeft(word) !== main));
  const out = [];
  for (let t = 0; t < words.length; ) {
    let end = t + 1;
    if (against[t]) for (let k = t + 1; k < words.length && against[k] !== false; k++) if (against[k]) end = k + 1;
    const few = drawn.slice(t, end);
    out.push(end - t > 1 ? h("span", { class: "island", role: "presentation", dir: main ? "ltr" : "rtl" }, few) : few);
    t = end;
  }
  return out;
}

export function nameOf(label) {
  return label === null ? "no label" : label === OUTSIDE ? "nothing" : label;
}

/** What a screen reader says of a token. */
export function spoken(sequence, t) {
  const state = { guessed: "guessed", confirmed: "confirmed", unknown: "unknown", blank: "" }[sequence.state[t]];
  const parts = [sequence.words[t], sequence.state[t] === "unknown" ? "" : nameOf(sequence.labels[t]), state];
  if (sequence.isDoubtful(t) && sequence.state[t] !== "blank") parts.push("doubtful");
  return parts.filter(Boolean).join(", ");
}

/** The chips of a sequence; `tap` is called with the token that was tapped. */
export function chips(sequence, tap) {
  return sequence.words.map((word, t) => {
    const [first, end] = sequence.block(t);
    const label = sequence.labels[t];
    const field = label === null ? null : fieldOf(label);
    const classes = ["chip", sequence.state[t]];
    if (sequence.isDoubtful(t)) classes.push("doubtful");
    if (sequence.isSelected(t)) classes.push("selected");
    if (t === sequence.cursor) classes.push("cursor");
    if (sequence.joined[t]) classes.push("joined");
    if (t === first) classes.push("first");
    if (t === first && roomy(sequence, first, end)) classes.push("roomy");
    if (t === end - 1) classes.push("last");
    return h("button", {
      class: classes.join(" "), id: `token-${t}`, role: "option", tabIndex: -1, vars: colourVars(field),
      "aria-selected": String(sequence.isSelected(t)), "aria-label": spoken(sequence, t),
      onclick: (event) => tap(t, event.shiftKey), ondblclick: () => tap(t, false, true),
    }, h("span", { class: "tag", "aria-hidden": "true" }, t === first ? tag(sequence, t, field) : ""),
    h("span", { class: "word", dir: "auto" }, word));
  });
}

/** Whether the words of a block are longer than the name of its field, which then needs no room of its own. */
function roomy(sequence, first, end) {
  const letters = sequence.words.slice(first, end).reduce((sum, word) => sum + Array.from(word).length + 0.5, 0);
  return letters > 0.8 * nameOf(sequence.labels[first]).length + 2;
}

function tag(sequence, t, field) {
  if (sequence.state[t] === "unknown") return "unknown";
  if (sequence.labels[t] === null) return "·";
  if (sequence.labels[t] === OUTSIDE) return [kbd("0"), "nothing"];
  return field ? [kbd(field.key), field.name] : sequence.labels[t];
}

/** A few words with their labels, to look at: pieces of a sequence in lists. */
export function strip(words, labels, marked = null) {
  const out = [];
  for (let t = 0; t < words.length; ) {
    let end = t + 1;
    while (end < words.length && labels[end] === labels[t]) end += 1;
    const field = labels[t] ? fieldOf(labels[t]) : null;
    out.push(h("span", { class: labels[t] ? "piece" : "piece plain", vars: colourVars(field) },
      words.slice(t, end).flatMap((word, k) => [h("span", { class: t + k === marked ? "here" : "" }, word), " "]),
      labels[t] ? h("small", {}, nameOf(labels[t])) : null));
    t = end;
  }
  return h("span", { class: "strip", dir: "auto" }, out);
}
