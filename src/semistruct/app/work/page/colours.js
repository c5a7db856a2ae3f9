// A colour and a stroke for each field. Nine colours that colour-blind eyes can tell apart, times three strokes.

export const COLOURS = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#5b3fd6", "#d55e00", "#56b4e9", "#7a5530", "#8a1080",
];
export const STROKES = ["solid", "double", "dotted"];
const NOBODY = "#7b8290";

/** Variables for the style of what shows a field; its number is that of the settings. */
export function colourVars(field) {
  if (!field) return { "--field": NOBODY, "--stroke": "solid" };
  return { "--field": COLOURS[field.colour % COLOURS.length],
    "--stroke": STROKES[Math.floor(field.colour / COLOURS.length) % 3] };
}
