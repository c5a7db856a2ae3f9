// One sequence while it is being labelled: a cursor, a selection, labels, and everything that can be undone.
// Nothing here knows of the page.

export const OUTSIDE = "O";

export class Sequence {
  constructor(view, limits) {
    Object.assign(this, {
      number: view.number, words: [...view.words], offsets: view.offsets.map((pair) => [...pair]), joined: [...view.joined],
      labels: [...view.labels], state: [...view.state], confidence: view.confidence && [...view.confidence],
      proposed: view.proposed, model: view.model, note: view.note, kind: view.kind, blind: view.blind,
      reason: view.reason, broken: view.broken, version: view.version, canSplit: view.can_split,
    });
    this.limits = limits;
    this.cursor = 0;
    this.anchor = null; // the other end of a selection
    this.marking = false; // whether moving the cursor extends the selection
    this.tapped = false; // whether the next tap ends a run
    this.isSplit = false;
    this.actions = 0;
    this.past = [];
    const doubtful = this.nextDoubtful(1, -1);
    if (this.proposed && doubtful !== null) this.cursor = doubtful;
  }

  get length() {
    return this.words.length;
  }

  /** The selected tokens: from the first to before the last. */
  get selection() {
    const other = this.anchor ?? this.cursor;
    return [Math.min(this.cursor, other), Math.max(this.cursor, other) + 1];
  }

  isSelected(t) {
    const [a, b] = this.selection;
    return a <= t && t < b;
  }

  /** The run of tokens with the same label around a token. */
  block(t = this.cursor) {
    let a = t;
    let b = t + 1;
    while (a > 0 && this.same(a - 1, t)) a -= 1;
    while (b < this.length && this.same(b, t)) b += 1;
    return [a, b];
  }

  same(t, u) {
    return this.labels[t] === this.labels[u] && (this.state[t] === "unknown") === (this.state[u] === "unknown");
  }

  isDoubtful(t) {
    if (this.state[t] === "blank") return true;
    return this.state[t] === "guessed" && this.confidence !== null && this.confidence[t] < this.limits.doubtful;
  }

  // ---- moving

  move(step) {
    if (!this.marking) this.anchor = null;
    this.cursor = Math.max(0, Math.min(this.length - 1, this.cursor + step));
    this.tapped = false;
  }

  goTo(t) {
    this.move(t - this.cursor);
  }

  /** Select the next or previous block. */
  moveBlock(step) {
    const [a, b] = this.selectionIsBlock() ? this.selection : this.block();
    const target = step > 0 ? b : a - 1;
    if (target < 0 || target >= this.length) return this.selectBlock();
    this.cursor = target;
    this.selectBlock();
  }

  selectBlock() {
    const [a, b] = this.block();
    this.cursor = a;
    this.anchor = b - 1;
    this.marking = false;
  }

  selectionIsBlock() {
    const [a, b] = this.selection;
    const [c, d] = this.block(a);
    return this.anchor !== null && a === c && b === d;
  }

  mark() {
    this.marking = !this.marking;
    this.anchor = this.marking ? this.cursor : null;
  }

  clear() {
    this.anchor = null;
    this.marking = this.tapped = false;
  }

  /** The next doubtful run in a direction, from a token on; null if there is none. */
  nextDoubtful(step, from = this.cursor) {
    const inRun = from >= 0 && this.isDoubtful(from);
    let t = from + step;
    while (inRun && t >= 0 && t < this.length && this.isDoubtful(t) && this.same(t, from)) t += step;
    while (t >= 0 && t < this.length && !this.isDoubtful(t)) t += step;
    return t >= 0 && t < this.length ? t : null;
  }

  jump(step) {
    const found = this.nextDoubtful(step) ?? this.nextDoubtful(step, step > 0 ? -1 : this.length);
    if (found === null) return false;
    this.clear();
    this.cursor = found;
    return true;
  }

  /** A tap: the first begins a run, the second ends it. */
  tap(t, extend) {
    if (extend || (this.tapped && t !== this.cursor)) {
      if (this.anchor === null) this.anchor = this.cursor;
      this.cursor = t;
      this.tapped = false;
    } else {
      this.anchor = null;
      this.cursor = t;
      this.tapped = true;
    }
    this.marking = false;
  }

  // ---- changing

  remember() {
    const { words, offsets, joined, labels, state, confidence, cursor, anchor, isSplit } = this;
    this.past.push({
      words: [...words], offsets: [...offsets], joined: [...joined], labels: [...labels], state: [...state],
      confidence: confidence && [...confidence], cursor, anchor, isSplit,
    });
  }

  undo() {
    if (!this.past.length) return false;
    Object.assign(this, this.past.pop());
    this.marking = this.tapped = false;
    return true;
  }

  give(a, b, label, state = "confirmed") {
    for (let t = a; t < b; t++) {
      this.labels[t] = label;
      this.state[t] = state;
    }
  }

  /** Set the field of the selected run, and stand behind it. */
  set(label) {
    const [a, b] = this.selection;
    this.remember();
    this.give(a, b, label);
    this.after(b);
  }

  /** Set the field from the cursor to the end of its block. */
  setFromHere(label) {
    const [a] = this.selection;
    const [, b] = this.block(a);
    this.remember();
    this.give(a, b, label);
    this.clear();
    this.cursor = a;
  }

  setAll(label) {
    this.remember();
    this.give(0, this.length, label);
    this.clear();
  }

  unknown() {
    const [a, b] = this.selection;
    this.remember();
    this.give(a, b, null, "unknown");
    this.after(b);
  }

  after(b) {
    this.clear();
    this.cursor = Math.min(b, this.length - 1);
  }

  /** Move the end (or the start) of the cursor's block by one token. */
  boundary(step, atStart) {
    const [a, b] = this.block();
    const label = this.labels[this.cursor];
    if (label === null) return;
    const grows = atStart ? step < 0 : step > 0;
    const t = atStart ? (grows ? a - 1 : a) : grows ? b : b - 1;
    if (t < 0 || t >= this.length) return;
    if (!grows && b - a === 1) return;
    const neighbour = grows ? label : (this.labels[atStart ? a - 1 : b] ?? null);
    if (!grows && neighbour === null) return;
    this.remember();
    this.give(t, t + 1, neighbour);
    const [c, d] = [atStart ? t + (grows ? 0 : 1) : a, atStart ? b : t + (grows ? 1 : 0)];
    this.give(c, d, label);
    this.cursor = atStart ? c : d - 1;
    this.anchor = null;
  }

  /** Split a token before its character `at`, counted in code points. */
  split(t, at) {
    const letters = Array.from(this.words[t]);
    if (!this.canSplit || at <= 0 || at >= letters.length) return false;
    this.remember();
    const middle = this.offsets[t][0] + at;
    this.words.splice(t, 1, letters.slice(0, at).join(""), letters.slice(at).join(""));
    this.offsets.splice(t, 1, [this.offsets[t][0], middle], [middle, this.offsets[t][1]]);
    this.joined.splice(t + 1, 0, true);
    this.labels.splice(t, 0, this.labels[t]);
    this.state.splice(t, 0, this.state[t]);
    this.confidence?.splice(t, 0, this.confidence[t]);
    this.isSplit = true;
    this.clear();
    this.cursor = t + 1;
    return true;
  }

  /** Split tokens so that they have these offsets. */
  cut(offsets) {
    const ends = new Set(offsets.map(([, end]) => end));
    for (let t = 0; t < this.length; t++) {
      const [start, end] = this.offsets[t];
      const middle = [...ends].filter((one) => start < one && one < end).sort((a, b) => a - b)[0];
      if (middle !== undefined) this.split(t, middle - start);
    }
  }

  // ---- keeping

  count(state) {
    return this.state.filter((one) => one === state).length;
  }

  /** What to send: with all that is shown, or only what the person set. */
  decision(onlyMine) {
    const labels = this.labels.map((label, t) => (onlyMine && this.state[t] === "guessed" ? null : label));
    const unknown = this.state.flatMap((one, t) => (one === "unknown" ? [t] : []));
    const same = this.proposed && !this.isSplit && labels.every((label, t) => label === this.proposed[t]);
    return {
      number: this.number, labels, unknown, offsets: this.isSplit ? this.offsets : null, note: this.note, model: this.model,
      origin: this.proposed ? (same ? "accepted" : "changed") : "typed", actions: this.actions, seen: this.version,
    };
  }

  /** Show what was decided about it. */
  take({ labels, unknown = [], offsets, note, actions = 0 }) {
    if (offsets) this.cut(offsets);
    if (labels?.length === this.length) {
      labels.forEach((label, t) => {
        if (label !== null) this.give(t, t + 1, label);
      });
      unknown.forEach((t) => this.give(t, t + 1, null, "unknown"));
    }
    this.note = note;
    this.actions = Math.max(1, actions); // it is no longer as the server gave it
    this.past = [];
  }

  get isEmpty() {
    return this.labels.every((label) => label === null) && !this.state.includes("unknown");
  }
}

/** Where a token that glues two fields together is probably to be cut: where letters, digits and signs meet. */
export function likelyCut(word) {
  const kind = (letter) => (/\p{L}|\p{M}/u.test(letter) ? "a" : /\p{N}/u.test(letter) ? "1" : "!");
  const letters = Array.from(word);
  for (let k = 1; k < letters.length; k++) if (kind(letters[k]) !== kind(letters[k - 1])) return k;
  return Math.ceil(letters.length / 2);
}
