// Random work on a sequence, in the browser: gives what is wrong, null if nothing is.
async () => {
  const { Sequence } = await import("/page/sequence.js");
  const view = await (await fetch("/api/sequences/6", { headers: { authorization: `Bearer ${localStorage.token}` } })).json();
  const whole = view.words.join("");
  let seed = 7;
  const draw = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const shown = (one) => JSON.stringify([one.words, one.labels, one.state, one.offsets]);

  const wrong = (one) => {
    const sizes = new Set([one.words, one.labels, one.state, one.offsets, one.joined].map((part) => part.length));
    if (sizes.size !== 1) return "parts of other lengths";
    if (one.cursor < 0 || one.cursor >= one.length) return "the cursor is outside";
    if (one.words.join("") !== whole) return "the text has changed";
    const letters = Array.from(view.text);
    if (one.offsets.some(([a, b], t) => letters.slice(a, b).join("") !== one.words[t])) return "a wrong place";
    const without = ["blank", "unknown"];
    if (one.labels.some((label, t) => (label === null) !== without.includes(one.state[t]))) return "a wrong state";
    return null;
  };

  for (let round = 0; round < 20; round++) {
    const one = new Sequence(view, { doubtful: 0.5, sure: 1 });
    const begin = shown(one);
    const acts = [
      () => one.move(1), () => one.move(-1), () => one.moveBlock(1), () => one.moveBlock(-1), () => one.mark(),
      () => one.set("name"), () => one.set("year"), () => one.set("O"), () => one.setFromHere("name"), () => one.unknown(),
      () => one.boundary(1, false), () => one.boundary(-1, false), () => one.boundary(1, true), () => one.boundary(-1, true),
      () => one.jump(1), () => one.jump(-1), () => one.tap(draw(one.length), draw(2) > 0),
      () => one.split(one.cursor, 1 + draw(3)), () => one.undo(),
    ];
    for (let k = 0; k < 50; k++) {
      acts[draw(acts.length)]();
      if (wrong(one)) return wrong(one);
    }
    while (one.undo());
    if (shown(one) !== begin) return "undone to something else";
  }
  return null;
}
