// The guided first run: one small thing after the other, ticked off as it is done.

import { h, kbd, put } from "./dom.js";
import { on, state } from "./state.js";

const STEPS = [
  { words: () => ["Give the first token its field: press its key, such as ", kbd(state.status.fields[0]?.key ?? "a"),
    ", or tap a token and then a field. ", kbd("Shift"), " and the key fill up to the end."],
    done: () => state.status.labelled > 0 },
  { words: () => ["Press ", kbd("Enter"), " when all is right, and label two more. Then a model learns by itself."],
    done: () => state.status.labelled >= 3 },
  { words: () => ["Wait for the first model, at the top right. From then on labels are filled in: you correct."],
    done: () => state.status.model !== null },
  { words: () => ["Press ", kbd("."), " to jump to what is doubtful, correct it, and accept. Do two more."],
    done: () => state.status.labelled >= 5 },
  { words: () => ["Open ", h("a", { href: "#rules" }, "Rules"),
    " and take a suggestion that you know to be true. The model learns again."],
    done: () => state.status.rules_version > 1 },
  { words: () => ["Open ", h("a", { href: "#look" }, "Look"), ": how good is it, and what is taken for what?"],
    done: () => localStorage.looked === "yes" },
];

let box;
let shown = null;

function draw() {
  if (!box || !state.status?.ready) return;
  const at = STEPS.findIndex((step) => !step.done());
  if (at === shown) return;
  shown = at;
  if (at < 0) {
    put(box, h("span", {},
      "That is the whole loop. Label what is proposed, add what you know, look, and export when it is good enough."),
      end("Done"));
    return;
  }
  put(box, h("strong", {}, `First steps, ${at + 1} of ${STEPS.length}`), h("span", {}, STEPS[at].words()),
    end("No tour, thanks"));
}

const end = (words) => h("button",
  { class: "link", onclick: () => { localStorage.toured = "yes"; box.remove(); box = null; } }, words);

export function start() {
  if (localStorage.toured === "yes" || box) return;
  box = h("aside", { class: "tour", "aria-label": "First steps" });
  document.getElementById("main").before(box);
  draw();
}

on("status", draw);
