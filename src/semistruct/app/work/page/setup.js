// The beginning: a pool, and the names of the fields. Also where fields are changed later.

import { get, post, put as change, send } from "./api.js";
import { colourVars } from "./colours.js";
import { dialog, h, kbd, notice, plural, put, tried } from "./dom.js";
import { happen, state, watch } from "./state.js";

const CUTS = [
  ["words", "words and punctuation signs"], ["whitespace", "whatever stands between blanks"],
  ["pattern:[\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Hangul}]|\\w+|\\S",
    "single characters (Chinese, Japanese, Korean), words otherwise"],
];

function told(done) {
  const labels = done.labelled ? `, ${done.labelled} of them labelled` : "";
  notice([`${plural(done.added, "sequence")} added${labels}`, ...done.told].join("; "));
}

/** A place to drop a file on, or to choose one. */
export function dropZone(words, take) {
  const input = h("input", { type: "file", hidden: true, onchange: () => input.files[0] && take(input.files[0]) });
  const zone = h("button", { class: "drop", onclick: () => input.click() }, words, input);
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  return zone;
}

function poolForm(done) {
  const text = h("textarea", { rows: 7, "aria-label": "One text per line",
    placeholder: "A. Turing. On computable numbers. 1936.\nG. Hopper. The education of a computer. 1952." });
  const labels = h("input", { type: "checkbox", checked: true });
  const take = (file) => tried(async () => {
    told(await (await send("/api/pool", { name: file.name, labels: labels.checked }, file)).json());
    await watch();
    done();
  });
  const paste = () => tried(async () => {
    told(await post("/api/pool/text", { text: text.value }));
    await watch();
    done();
  });
  return [
    dropZone("Drop a file here, or choose one: plain text, one sequence per line, or any format that semistruct reads",
      take),
    h("label", { class: "muted" }, labels, " if the file has labels, take them"),
    h("p", { class: "or" }, "or paste"), text,
    h("p", { class: "buttons" }, h("button", { class: "main", onclick: paste }, "Use this text")),
  ];
}

export function addPool() {
  const box = dialog("Add to the pool", ...poolForm(() => box.close()));
}

/** The first page: what is to be labelled, then with which fields. */
export function mount(element) {
  const step = state.status.pool === 0 ? firstStep() : secondStep();
  put(element, h("div", { class: "setup" }, h("section", { class: "card" }, step)));
}

function firstStep() {
  return [
    h("p", { class: "steps" }, "Step 1 of 2"), h("h1", {}, "What do you want to label?"),
    h("p", {}, "A pile of texts: references, addresses, adverts, log lines. A few dozen are enough to begin, thousands are better: the model learns from those without labels, too."),
    poolForm(() => happen("setup")),
    h("p", { class: "muted" }, "Nothing at hand? ", h("button", { class: "link", onclick: () => tried(async () => {
      await post("/api/demo");
      await watch();
      happen("setup");
    }) }, "Try it with made-up references"), "."),
  ];
}

function secondStep() {
  const names = h("textarea", { rows: 6, "aria-label": "Names of the fields, one per line",
    placeholder: "author\ntitle\ndate" });
  names.value = state.status.fields.map((one) => one.name).join("\n");
  const cut = h("select", { "aria-label": "How text is cut" },
    CUTS.map(([value, words]) => h("option", { value, selected: value === state.status.tokens }, words)));
  const preview = h("p", { class: "preview", dir: "auto" });
  const show = () => tried(async () => {
    const { words } = await get("/api/cut", { tokens: cut.value });
    put(preview, words.flatMap((word) => [h("span", { class: "word" }, word), " "]));
  });
  cut.addEventListener("change", show);
  const sample = get("/api/sequences/0").then((one) => {
    if (/\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Hangul}/u.test(one.text)) cut.value = CUTS[2][0];
    return show();
  });
  const start = () => tried(async () => {
    await sample.catch(() => null);
    const listed = names.value.split(/[\n,]/).map((name) => name.trim()).filter(Boolean);
    if (listed.length < 2) throw new Error("Name at least two fields.");
    await change("/api/fields", { names: listed, tokens: cut.value });
    await watch();
    happen("setup");
  });
  return [
    h("p", { class: "steps" }, "Step 2 of 2"), h("h1", {}, "Which fields are in it?"),
    h("p", {}, `There are ${plural(state.status.pool, "text")}. Name the parts that you want to find, one per line; up to 25. You can change them later.`),
    names, h("label", {}, "Text is cut into ", cut), preview,
    h("p", { class: "buttons" }, h("button", { class: "main", onclick: start }, "Start labelling")),
  ];
}

/** Rename, merge, remove and add fields. */
export function showFields() {
  const list = h("ul", { class: "field-list" });
  const box = dialog("Fields", h("p", { class: "muted" },
    "Changes are made wherever a field is used, in one step that can be undone."), list);
  const drawn = () => put(list, state.status.fields.map(fieldRow), h("li", {}, adder()));
  const adder = () => {
    const name = h("input", { "aria-label": "Name of a new field", placeholder: "a new field" });
    const add = () => tried(async () => {
      await change("/api/fields", { names: [...state.status.fields.map((one) => one.name), name.value] });
      await watch();
      drawn();
    });
    return h("form", { onsubmit: (event) => { event.preventDefault(); add(); } }, name, " ", h("button", {}, "Add"));
  };
  const fieldRow = (field) => {
    const name = h("input", { value: field.name, "aria-label": `Name of ${field.name}` });
    const ask = (target) => tried(async () => {
      const use = await get("/api/fields/use", { name: field.name });
      const what = target === null ? "Remove it" : state.status.fields.some((one) => one.name === target) ? `Merge it into ${target}` : `Rename it to ${target}`;
      const counts = `${plural(use.tokens, "token")} in ${plural(use.sequences, "sequence")} and ${plural(use.rules, "place")} in the rules`;
      const sure = dialog(`${field.name}`,
        h("p", {}, `${counts} use it.${target === null ? " Their labels become unknown; rules that name it will be in error." : ""}`),
        h("p", { class: "buttons" }, h("button", { class: "main", onclick: () => tried(async () => {
          await post("/api/fields/rename", { old: field.name, new: target });
          sure.close();
          await watch();
          drawn();
        }) }, what)));
    });
    return h("li", { vars: colourVars(field) }, h("span", { class: "swatch" }), kbd(field.key), name,
      h("button", { onclick: () => name.value.trim() && name.value.trim() !== field.name && ask(name.value.trim()) },
        "Rename or merge"),
      h("button", { class: "quiet", onclick: () => ask(null) }, "Remove"), h("small", { class: "muted" },
        plural(field.n, "sequence")));
  };
  drawn();
  return box;
}
