// The keys of the label pane: one list, from which they are acted on and explained.

export const COMMANDS = [
  { name: "accept", keys: ["Enter"], words: "accept what is shown, and go on" },
  { name: "keep", keys: ["Ctrl+Enter"], words: "keep only what I have set, and go on" },
  { name: "skip", keys: ["-"], words: "skip this sequence" },
  { name: "right", keys: ["ArrowRight"], words: "move the cursor by a token" },
  { name: "left", keys: ["ArrowLeft"], words: "move the cursor back" },
  { name: "first", keys: ["Home"], words: "go to the first token" },
  { name: "last", keys: ["End"], words: "go to the last token" },
  { name: "down", keys: ["ArrowDown"], words: "select the next block" },
  { name: "up", keys: ["ArrowUp"], words: "select the block before" },
  { name: "doubtful", keys: ["."], words: "go to the next doubtful token" },
  { name: "doubtfulBack", keys: [","], words: "go to the doubtful token before" },
  { name: "mark", keys: [" "], words: "begin or end a run: move the cursor to extend it" },
  { name: "grow", keys: ["Shift+ArrowRight"], words: "move the end of the block to the right" },
  { name: "shrink", keys: ["Shift+ArrowLeft"], words: "move the end of the block to the left" },
  { name: "startRight", keys: ["Alt+Shift+ArrowRight"], words: "move the start of the block to the right" },
  { name: "startLeft", keys: ["Alt+Shift+ArrowLeft"], words: "move the start of the block to the left" },
  { name: "nothing", keys: ["0"], words: "nothing here: in no field" },
  { name: "nothingAll", keys: ["Ctrl+0"], words: "nothing in the whole sequence" },
  { name: "unknown", keys: ["Backspace", "Delete"], words: "unknown here: nobody can tell" },
  { name: "sticky", keys: ["="], words: "sticky field: what you move over gets the last field" },
  { name: "split", keys: ["/"], words: "split the token" },
  { name: "like", keys: ["*"], words: "all like this: the same words elsewhere, or a rule" },
  { name: "note", keys: [";"], words: "write a note" },
  { name: "undo", keys: ["Ctrl+z"], words: "undo, as often as you like" },
  { name: "before", keys: ["PageUp"], words: "the sequence before" },
  { name: "escape", keys: ["Escape"], words: "let go of the selection and the sticky field" },
  { name: "help", keys: ["?"], words: "show these keys" },
];

const byKey = new Map(COMMANDS.flatMap((command) => command.keys.map((key) => [key, command.name])));

const SHOWN = {
  ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓", " ": "Space", Enter: "Enter", Backspace: "⌫", Delete: "Del",
};

export const shown = (key) => key.split("+").map((part) => SHOWN[part] ?? part).join(" + ") || "+";

/** The name of the command of a key, or {field, fromHere} for the key of a field, or null. Shift changes what is written
 *  on a digit, differently on every keyboard: with it, a digit is told by its place, and first of all the key of a field. */
export function meaning(event, fields) {
  const field = (key) => fields.find((one) => one.key === key);
  const held = (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.altKey ? "Alt+" : "");
  const digit = event.shiftKey && !held && field(/^Digit(\d)$/.exec(event.code)?.[1]);
  if (digit) return { field: digit.name, fromHere: true };
  const arrow = event.key.startsWith("Arrow");
  const name = byKey.get(held + (event.shiftKey && arrow ? "Shift+" : "") + (held ? lower(event.key) : event.key));
  if (name) return name;
  if (held) return null;
  const found = field(lower(event.key));
  return found ? { field: found.name, fromHere: event.shiftKey } : null;
}

const lower = (key) => (key.length === 1 ? key.toLowerCase() : key);
