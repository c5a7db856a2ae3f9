// Small sheets over the label pane: the keys, a note, the place to split a token at.

import { dialog, h, kbd, tried } from "./dom.js";
import { COMMANDS, shown } from "./keys.js";
import { keep } from "./saving.js";
import { likelyCut } from "./sequence.js";
import { state } from "./state.js";

export function showHelp() {
  const rows = COMMANDS.map((one) => h("tr", {}, h("td", {},
    one.keys.flatMap((key, k) => [k ? " " : "", kbd(shown(key))])), h("td", {}, one.words)));
  const fields = state.status.fields.map((one) => h("li", {}, kbd(one.key), " ", one.name));
  dialog("Keys", h("table", { class: "keys" }, h("tbody", {}, rows)), h("h3", {}, "Fields"),
    h("p", {}, "The key of a field sets it for the selected run; with Shift, from the cursor to the end of the block, also if the key is a digit with another sign on it."),
    h("ul", { class: "field-keys" }, fields),
    h("p", {}, "By mouse or finger: tap the first token of a run, tap the last, tap the field. A double click selects a block."));
}

export function showNote(one, done) {
  const text = h("textarea", { rows: 4, "aria-label": "Note", value: one.note });
  const box = dialog(`Note on sequence ${one.number + 1}`, text, h("p", { class: "buttons" },
    h("button", { class: "main", onclick: () => {
      one.note = text.value.trim();
      if (one.kind === "open" && one.isEmpty) tried(() => keep({ number: one.number, labels: null, origin: "noted",
        note: one.note, seen: one.version }));
      box.close();
      done();
    } }, "Keep the note")));
  text.focus();
}

export function showSplit(one, done) {
  const t = one.cursor;
  const letters = Array.from(one.words[t]);
  if (!one.canSplit || letters.length < 2) return;
  const split = (at) => {
    box.close();
    one.split(t, at);
    done();
  };
  const likely = likelyCut(one.words[t]);
  const places = letters.slice(1).map((_, k) => h("button", {
    class: "cut", autofocus: k + 1 === likely, "aria-label": `${letters.slice(0, k + 1).join("")}, ${letters.slice(k + 1).join("")}`,
    onclick: () => split(k + 1),
  }, letters.slice(0, k + 1).join(""), h("span", { class: "knife" }, "|"), letters.slice(k + 1).join("")));
  const box = dialog("Split the token", h("p", {}, "Where does the second part begin?"),
    h("div", { class: "cuts" }, places));
  box.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const now = places.indexOf(document.activeElement);
    if (by && now >= 0) places[(now + by + places.length) % places.length].focus();
  });
  places[likely - 1].focus();
}
