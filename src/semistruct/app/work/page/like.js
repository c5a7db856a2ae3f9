// "All like this": the same words elsewhere, to label at once or to make a rule of.

import { post } from "./api.js";
import { nameOf, strip } from "./chips.js";
import { dialog, h, notice, plural, put } from "./dom.js";
import { OUTSIDE } from "./sequence.js";
import { state, watch } from "./state.js";

export async function showLike(one, lastField) {
  const [start, end] = one.selection;
  let found;
  try {
    found = await post("/api/like", { number: one.number, start, end });
  } catch (problem) {
    return notice(problem.message, "error");
  }
  const words = found.words.join(" ");
  const names = [...state.status.fields.map((field) => field.name), OUTSIDE];
  const label = h("select", { "aria-label": "Field" }, names.map((name) => h("option", { value: name }, nameOf(name))));
  label.value = one.labels[start] ?? lastField ?? names[0];
  const boxes = found.places.map((place) => h("input", {
    type: "checkbox", checked: !place.confirmed, "aria-label": `Sequence ${place.number + 1}`,
  }));
  const apply = h("button", { class: "main" });
  const count = () => put(apply, `Label ${plural(boxes.filter((box) => box.checked).length, "place")}`);
  boxes.forEach((box) => box.addEventListener("change", count));
  count();
  apply.addEventListener("click", () => act(sheet, async () => {
    const places = found.places.filter((_, k) => boxes[k].checked);
    const done = await post("/api/like/apply", { label: label.value,
      places: places.map(({ number, start: a, end: b }) => ({ number, start: a, end: b })) });
    return `${nameOf(label.value)} at ${plural(done.places, "place")}; undo takes it back`;
  }));
  const rule = h("button", { onclick: () => act(sheet, async () => {
    const state = await post("/api/rules/add", { rule: { words: [words], are: [label.value] } });
    return `The rule is: ${state.rules.at(-1).text}`;
  }) }, "Make it a rule: always this field");
  const sheet = dialog(`All like “${words}”`,
    h("p", {}, `${plural(found.n, "place")}${found.more ? " or more" : ""} in the pool; the field for those that are ticked: `, label),
    h("ul", { class: "places" }, found.places.map((place, k) => h("li", {},
      h("label", {}, boxes[k], " ", around(place))))),
    h("p", { class: "buttons" }, apply, rule));
  apply.focus();
}

function around(place) {
  const none = (words) => words.map(() => null);
  return strip([...place.before, ...place.words, ...place.after],
    [...none(place.before), ...place.labels, ...none(place.after)]);
}

async function act(sheet, work) {
  try {
    notice(await work());
    sheet.close();
    watch();
  } catch (problem) {
    notice(problem.message, "error");
  }
}
