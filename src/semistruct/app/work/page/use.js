// The use pane: take labels, model and rules away; have files labelled; use the server from programs.

import { get, keep, save, send } from "./api.js";
import { h, notice, put } from "./dom.js";
import { dropZone, showFields } from "./setup.js";
import { state } from "./state.js";

const tried = (work) => async () => {
  try {
    await work();
  } catch (problem) {
    notice(problem.message, "error");
  }
};

export async function mount(element) {
  const formats = (await get("/api/formats").catch(() => ({ formats: ["jsonl"] }))).formats;
  const format = h("select", { "aria-label": "Format" },
    formats.map((name) => h("option", { value: name, selected: name === "jsonl" }, name)));
  const what = h("select", { "aria-label": "What" }, h("option", { value: "labels" }, "what I have labelled"),
    h("option", { value: "pool" }, "the whole pool, with proposals for the rest"));
  const scheme = h("select", { "aria-label": "Scheme" },
    [["", "plain labels"], ["bio", "BIO"], ["bioes", "BIOES"],
    ["iob1", "IOB1"]].map(([value, words]) => h("option", { value }, words)));
  const label = (file) => tried(async () => {
    notice(`Labelling ${file.name}…`);
    const answer = await send("/api/predict/file", { name: file.name }, file);
    const told = JSON.parse(answer.headers.get("semistruct-told") ?? "[]");
    notice([`Saved as ${await keep(answer)}`, ...told].join("; "));
  })();
  put(element, h("div", { class: "use-pane" },
    h("section", { class: "card" }, h("h1", {}, "Labels"),
      h("p", { class: "buttons" }, "Export ", what, " as ", format, " with ", scheme),
      h("p", { class: "buttons" }, h("button", { class: "main",
        onclick: tried(() => save("/api/export", { what: what.value, format: format.value, scheme: scheme.value })) },
        "Export the labels"))),
    h("section", { class: "card" }, h("h2", {}, "Label a file"),
      h("p", {}, "With the newest model, under its rules; the answer has the format of the file."),
      dropZone("Drop a file here, or choose one", label)),
    h("section", { class: "card" }, h("h2", {}, "Model and rules"),
      h("p", {}, "The model file works with ", h("code", {}, "semistruct predict"), " and ",
      h("code", {}, "semistruct serve"), "."),
      h("p", { class: "buttons" }, h("button", { onclick: tried(() => save("/api/model")) }, "The model file"),
        h("button", { onclick: tried(() => save("/api/rules.yaml")) }, "The rules"),
        h("button", { onclick: showFields }, "Change the fields"))),
    h("section", { class: "card" }, h("h2", {}, "From a program"),
      h("p", {}, "The same over HTTP; the token is the one in the address that was printed in the terminal. ",
      h("button", { class: "link", onclick: tried(() => save("/api/openapi.json")) }, "OpenAPI description"), "."),
      h("pre", {}, `curl ${location.origin}/api/predict \\\n  -H "Authorization: Bearer TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d '{"texts": ["A. Turing. On computable numbers. 1936."]}'`),
      h("p", { class: "muted" }, "Everything is in plain files in ", h("code", {}, state.status.folder),
        ": labels.jsonl, pool.jsonl, rules.yaml, models."))));
}
