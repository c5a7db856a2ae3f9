// Elements are built from data here and nowhere else: text becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("button", {class: "big", onclick: run}, "Accept"). Children are elements, texts, or lists of them. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for drawings. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (name in element && typeof value !== "string" && element.namespaceURI !== SVG) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replace what is inside an element. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const kbd = (key) => h("kbd", {}, key);

export function plural(n, word, many = word + "s") {
  return `${n.toLocaleString("en")} ${n === 1 ? word : many}`;
}

/** A dialog that is open until it is closed; gives the element. It goes at once: the browser's own `close` waits for
 *  the next frame, and what is typed before that would go to a dialog nobody sees. */
export function dialog(title, ...content) {
  const before = document.activeElement;
  const box = h("dialog", { class: "dialog", "aria-label": title,
    oncancel: (event) => { event.preventDefault(); box.close(); }, onclose: () => box.close() },
  h("header", {}, h("h2", {}, title),
    h("button", { class: "quiet", "aria-label": "Close", onclick: () => box.close() }, "✕")),
  h("div", { class: "dialog-body" }, ...content));
  box.close = () => { box.remove(); before?.focus?.(); };
  document.body.append(box);
  box.showModal();
  return box;
}

/** A message that goes away by itself, unless it is about something that went wrong. */
export function notice(words, kind = "info") {
  const place = document.getElementById("notices");
  const box = h("div", { class: `notice ${kind}` }, h("span", {}, words),
    h("button", { class: "quiet", "aria-label": "Close the message", onclick: () => box.remove() }, "✕"));
  place.append(box);
  while (place.children.length > 3) place.firstChild.remove();
  setTimeout(() => box.remove(), kind === "error" ? 15000 : 5000);
}

/** What a request answers; null, and a message, if it fails. */
export async function tried(work) {
  try {
    return await work();
  } catch (problem) {
    notice(problem.message, "error");
    return null;
  }
}
