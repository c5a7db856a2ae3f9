// The text of the rules: lines with numbers, errors at their line, and completion.

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { state } from "./state.js";

let names = null; // of rules and their entries, as soon as they are known
const learnNames = async () => { names ??= (await get("/api/rules/words").catch(() => ({ rules: null }))).rules; };

/** What can stand where the cursor is: the beginning of a word, and all that begins so. */
export function completions(text, at, rules, fields) {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  const begin = /[\w-]*$/.exec(line)[0];
  const before = line.slice(0, line.length - begin.length);
  let words = fields;
  if (/^\s*-\s*$/.test(before)) words = Object.keys(rules).map((name) => `${name}: `);
  else if (/^\s*$/.test(before)) words = entriesAbove(text.slice(0, at), rules);
  else if (!/:|,|\[/.test(before)) words = [];
  const found = words.filter((word) => word.toLowerCase().startsWith(begin.toLowerCase()) && word.trim() !== begin);
  return { begin, words: begin || /[:[,]\s*$|^\s*-?\s*$/.test(before) ? found : [] };
}

function entriesAbove(text, rules) {
  const lines = text.split("\n").slice(0, -1).reverse();
  const rule = lines.map((line) => /^\s*(?:#~ )?-\s+(\w+):/.exec(line)?.[1]).find(Boolean);
  return rule && rules[rule] ? rules[rule].filter((name) => name !== rule).map((name) => `${name}: `) : ["rules:",
    "labels: ", "lists:"];
}

/** An editor, which waits for its text; `changed` is called with the text whenever the person changes it. */
export function editor(changed) {
  const area = h("textarea", {
    class: "code", spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Rules as YAML",
    "aria-describedby": "rule-problems", disabled: true,
  });
  const gutter = h("div", { class: "gutter", "aria-hidden": "true" });
  const menu = h("ul", { class: "menu", role: "listbox", "aria-label": "Completions", hidden: true });
  const root = h("div", { class: "editor" }, gutter, h("div", { class: "code-box" }, area, menu));
  const problems = new Map();
  let offered = { begin: "", words: [] };
  let chosen = 0;

  const lines = () => {
    const n = area.value.split("\n").length;
    put(gutter, Array.from({ length: n }, (_, k) => h("span",
      { class: problems.has(k + 1) ? "wrong" : "", title: problems.get(k + 1) ?? "" }, k + 1)));
    gutter.scrollTop = area.scrollTop;
  };
  const close = () => { menu.hidden = true; };
  const offer = (asked) => {
    if (names === null) return close();
    offered = completions(area.value, area.selectionStart, names, state.status.fields.map((one) => one.name));
    if (!offered.words.length || (!asked && !offered.begin)) return close();
    chosen = 0;
    const before = area.value.slice(0, area.selectionStart).split("\n");
    menu.style.setProperty("--line", before.length);
    menu.style.setProperty("--column", Math.min(before.at(-1).length, 40));
    menu.style.setProperty("--scroll", `${area.scrollTop}px`);
    menu.hidden = false;
    draw();
  };
  const draw = () => put(menu, offered.words.slice(0, 9).map((word, k) => h("li", {
    role: "option", "aria-selected": String(k === chosen), onmousedown: (event) => { event.preventDefault(); take(k); },
  }, word)));
  const take = (k) => {
    const at = area.selectionStart;
    area.setRangeText(offered.words[k], at - offered.begin.length, at, "end");
    close();
    told();
  };
  const told = () => { lines(); changed(area.value); };

  area.addEventListener("input", () => { told(); offer(false); });
  area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; close(); });
  area.addEventListener("blur", close);
  area.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      offer(true);
    } else if (!menu.hidden && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      const n = Math.min(9, offered.words.length);
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : n - 1)) % n;
      draw();
    } else if (!menu.hidden && ["Enter", "Tab"].includes(event.key)) {
      event.preventDefault();
      take(chosen);
    } else if (!menu.hidden && event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (event.key === "Enter") indent(event);
  });
  const indent = (event) => {
    const line = area.value.slice(0, area.selectionStart).split("\n").at(-1);
    const deep = /^\s*/.exec(line)[0] + (/^\s*- \w/.test(line) && /:\s*\S/.test(line) ? "" : /:\s*$/.test(line) ? "  " : "");
    event.preventDefault();
    area.setRangeText(`\n${deep}`, area.selectionStart, area.selectionEnd, "end");
    told();
  };
  learnNames().then(() => document.activeElement === area && offer(false));
  lines();
  return {
    root,
    get text() { return area.value; },
    set text(value) {
      area.disabled = false;
      if (value === area.value) return;
      const [start, end] = [area.selectionStart, area.selectionEnd];
      area.value = value;
      if (document.activeElement === area) area.setSelectionRange(start, end);
      lines();
    },
    mark(found) {
      problems.clear();
      for (const one of found) problems.set(one.line ?? 1, one.problem);
      lines();
    },
    goTo(line) {
      const start = area.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      area.focus();
      area.setSelectionRange(start, area.value.indexOf("\n", start) < 0 ? area.value.length
        : area.value.indexOf("\n", start));
    },
  };
}
