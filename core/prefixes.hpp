// Partial labellings of one sequence, and what rules that see more than two neighbouring labels make of them.
//
// A state holds what the rules still need to know of a prefix: its last label, how long the last block is, the counts
// of the tracked terms, and which labels have occurred.
//
//   Y as a label   what comes before the first token
//   row            counts of the tracked terms, then one mark per label in `order` rules
#pragma once
#include "events.hpp"

namespace semistruct {

using Count = std::int32_t;
constexpr Index RIVALS = 64;  // prefixes with which a new one is compared: more would cost more than they strike

/// A term that is part of a state.
struct Term : Target {
  Index cap;           // counts above it are all alike
  double more, fewer;  // what a count that is one more, one less, can cost in the future (inf: any amount)

  /// What the term costs for lying above its range, or below it.
  double excess(Count count, Index n_tokens, bool above) const {
    const double value = per == PER_TOKEN ? static_cast<double>(count) / static_cast<double>(n_tokens) : count;
    if (above ? value <= high : value >= low) return 0.0;
    return price(distance(value));
  }

  /// Whether the term matters is not known yet: what it needs has not happened, or what bars it may still happen.
  bool waits(View<Count> row) const {
    return (bars >= 0 && row(bars) == 0) || (bars < 0 && needs >= 0 && row(needs) == 0);
  }
};

/// What rules say of the blocks of a label.
struct Limit {
  Index term;                      // the term that counts them, or -1
  Index least, most;               // how many there may be
  double least_price, most_price;  // what every missing and every surplus block costs at least
};

/// The terms that are part of a state, numbered g.
struct Track {
  Events events;        // in which only these terms are left
  Reads<Term> terms;    // (G,)
  Reads<Limit> limits;  // (Y,)
  Reads<Index> starts;  // (G,) the label whose blocks a term counts, if that is all it does: no more such blocks, no
                        // more costs; or -1
  Index size;           // of a row
  Index longest;        // block lengths above it are all alike
  Index hits;
};

/// A bound on the value of labellings, and the labels of those that are worth looking at.
struct Bound {
  View<double> multiplier;  // (Y,) paid for every start of a block
  View<double, 2> ahead;    // (T, Y) the best score of what follows a label, multipliers paid
  View<Index, 2> label;     // (T, Y) the labels that token t can have: label(t, 0) .. label(t, many(t)-1)
  View<Index> many;         // (T,)
};

/// A labelling of the first tokens of a sequence.
struct Prefix {
  double score;                // of the prefix, its penalty subtracted
  double rest;                 // what a rest can add at most
  Index run, label, parent;  // the length of the last block, its label, and the prefix without its last token
};

/// Several prefixes and their rows.
struct Prefixes {
  View<Prefix> state;
  View<Count, 2> rows;

  double most(Index i) const { return state(i).score + state(i).rest; }

  /// Write prefix i of these over j of others.
  void move(Index i, const Prefixes& to, Index j) const {
    to.state(j) = state(i);
    copy(rows.row(i), to.rows.row(j));
  }
};

/// What term g costs for being above its range, besides the terms of its group before `end` that are.
inline double cost_above(Reads<Term> terms, View<Count> row, Index g, Index end, Index n_tokens) {
  const Term& term = terms(g);
  if (term.group == ALONE) return term.excess(row(g), n_tokens, true);
  if (row(g) <= term.high) return 0.0;
  Index others = 0;
  for (Index h = 0; h < end; ++h) others += h != g && terms(h).group == term.group && row(h) > terms(h).high;
  return term.weight * (term.power == 2 ? 2.0 * static_cast<double>(others) + 1.0 : 1.0);
}

/// What it costs that `condition` happens for the first time: terms that needed it matter, those it bars do not.
inline double decide(Reads<Term> terms, View<Count> row, Index condition, Index n_tokens) {
  double cost = 0.0;
  for (Index g = 0; g < terms.size(); ++g) {
    const Term& term = terms(g);
    if (term.bars == condition) row(g) = 0;
    if (term.needs != condition || term.bars >= 0) continue;
    cost += cost_above(terms, row, g, g, n_tokens);
    row(g) = static_cast<Count>(std::min<Index>(row(g), term.cap));
  }
  return cost;
}

/// What is paid when all counts are known: for those below their range, and for terms that could be barred.
inline double cost_at_end(Reads<Term> terms, View<Count> row, Index n_tokens) {
  double cost = 0.0;
  for (Index g = 0; g < terms.size(); ++g) {
    if (!terms(g).matters(row)) continue;
    cost += terms(g).excess(row(g), n_tokens, false);
    if (terms(g).bars >= 0) cost += cost_above(terms, row, g, g, n_tokens);
  }
  return cost;
}

/// Enter label z at t, after a block of `run` tokens of y, into the row of a prefix; returns what that costs.
inline double advance(const Track& track, const Chain& chain, Index t, Index y, Index run, Index z, View<Count> row) {
  const Index T = chain.size(), G = track.terms.size();
  double cost = 0.0;
  happens(track.events, chain.first + t, t == T - 1, y, run, z, row.slice(G, row.size()), [&](Index g) {
    const Term& term = track.terms(g);
    const Count before = row(g), count = before + 1;
    const Count capped = static_cast<Count>(std::min<Index>(count, term.cap));
    if (term.waits(row)) {  // what is above the range is paid for later, by the whole count
      const bool whole = term.bars < 0 && term.group == ALONE && term.high < INF;
      row(g) = whole ? count : capped;
      return;
    }
    row(g) = capped;
    if (term.bars >= 0)  // and it has been barred
      row(g) = 0;
    else if (term.weight == 0)
      cost += before == 0 ? decide(track.terms, row, g, T) : 0.0;
    else if (term.group == ALONE)
      cost += term.excess(count, T, true) - term.excess(before, T, true);
    else if (before <= term.high && term.high < count)  // one more term of its group is out of range
      cost += cost_above(track.terms, row, g, G, T);
  });
  if (track.events.mark(z) >= 0) row(G + track.events.mark(z)) = 1;
  if (t == T - 1) cost += cost_at_end(track.terms, row, T);
  return cost;
}

/// What the tracked terms cost for a whole labelling.
inline double tracked_cost(const Track& track, const Chain& chain, Reads<Label> path, Memory& memory) {
  const Memory::Scope scope(memory);
  const View<Count> row = memory.filled<Count>(0, track.size);
  double cost = 0.0;
  Index run = 0, before = chain.n_labels();
  for (Index t = 0; t < path.size(); ++t) {
    const Index z = path(t);
    cost += advance(track, chain, t, before, run, z, row);
    run = z == before ? run + 1 : 1;
    before = z;
  }
  return cost;
}

/// What is credited at the start: the multipliers of the blocks that may be, and of those that must be.
inline double credit(Reads<double> multiplier, Reads<Limit> limits) {
  double total = 0.0;
  for (Index z = 0; z < multiplier.size(); ++z)
    if (multiplier(z) != 0)
      total += multiplier(z) * static_cast<double>(multiplier(z) > 0 ? limits(z).most : limits(z).least);
  return total;
}

/// The value with `rank` larger ones among the first n of work, which are reordered.
inline double nth_largest(View<double> work, Index n, Index rank) {
  std::nth_element(work.begin(), work.begin() + rank, work.begin() + n, std::greater<>());
  return work(rank);
}

/// The lowest bound of the `width` best of n prefixes.
inline double lowest_kept(Index width, Index n, const Prefixes& layer, View<double> spare) {
  for (Index i = 0; i < n; ++i) spare(i) = layer.most(i);
  return nth_largest(spare, n, width - 1);
}

/// Of n >= width prefixes keep those with the highest bounds, the first of equal ones; returns how many.
inline Index keep_best(Index width, Index n, const Prefixes& layer, View<double> spare) {
  const double threshold = lowest_kept(width, n, layer, spare);
  Index kept = 0, ties = width;
  for (Index i = 0; i < n; ++i) ties -= layer.most(i) > threshold;
  for (Index i = 0; i < n; ++i) {
    const double most = layer.most(i);
    if (kept < width && (most > threshold || (most == threshold && ties > 0))) {  // false for what is no number
      ties -= most == threshold;
      layer.move(i, layer, kept++);
    }
  }
  return kept;
}

/// last(z) = the last token at which a block of z can begin, -1 if there is none.
inline void last_starts(const Bound& bound, View<Index> last) {
  fill<Index>(last, -1);
  for (Index t = 0; t < bound.many.size(); ++t) {
    const Index others = t == 0 ? 2 : bound.many(t - 1);
    for (Index j = 0; j < bound.many(t); ++j) {
      const Index z = bound.label(t, j);
      if (others > 1 || bound.label(t - 1, 0) != z) last(z) = t;
    }
  }
}

/// A place in the rows at which prefixes differ in what is to come: what one more there, one less, can cost.
struct Matter {
  Index place;
  double more, fewer;
};

/// Write what matters of prefixes that end at t; returns how many places these are.
inline Index what_matters(const Track& track, Reads<Index> last, Index t, View<Matter> matter) {
  Index n = 0;
  for (Index g = 0; g < track.size; ++g) {
    double more = INF, fewer = 0.0;  // a mark may cost any amount, a missing one costs nothing
    if (g < track.terms.size()) {
      const Index z = track.starts(g);
      more = z >= 0 && last(z) <= t ? 0.0 : track.terms(g).more;
      fewer = track.terms(g).fewer;
    }
    if (more > 0 || fewer > 0) matter(n++) = {g, more, fewer};
  }
  return n;
}

/// No rest of the sequence can make prefix n better than m: m is ahead by more than its counts can cost it.
inline bool dominates(Reads<Matter> matter, const Prefixes& layer, Index m, Index n) {
  double lead = layer.state(m).score - layer.state(n).score;
  if (!(lead >= 0) || layer.state(m).run != layer.state(n).run) return false;
  const Count *of_m = layer.rows.row(m).data, *of_n = layer.rows.row(n).data;
  for (const Matter& one : matter) {
    const Count more = of_m[one.place] - of_n[one.place];
    if (more > 0)
      lead -= one.more > 0 ? more * one.more : 0.0;
    else if (more < 0)
      lead += one.fewer > 0 ? more * one.fewer : 0.0;
    if (lead < 0) return false;
  }
  return true;
}

/// Lists of prefixes by their last label, for one layer.
struct Lists {
  View<Index> head, following;

  /// Put prefix n on the list of its label unless one there dominates it; strike those it dominates.
  ///
  /// Returns how many prefixes there are more now; the struck ones get the score -inf.
  Index enter(Reads<Matter> matter, const Prefixes& layer, Index n) const {
    const Index z = layer.state(n).label;
    Index left = RIVALS;
    for (Index m = head(z); m >= 0 && left > 0; m = following(m), --left)
      if (dominates(matter, layer, m, n)) return 0;
    Index change = 1, before = -1;
    left = RIVALS;
    for (Index m = head(z); m >= 0 && left > 0; m = following(m), --left) {
      if (!dominates(matter, layer, n, m)) {
        before = m;
        continue;
      }
      layer.state(m).score = -INF;
      --change;
      (before < 0 ? head(z) : following(before)) = following(m);
    }
    following(n) = head(z), head(z) = n;
    return change;
  }
};

/// What a prefix becomes by one more label: its score before all costs, the bound on the rest, and a part of the costs.
struct Extended {
  double score, rest, due;
};

inline Extended extend(const Prefix& prefix, View<Count> row, const Chain& chain, const Bound& bound,
                       const Track& track, Index t, Index z) {
  const Limit& limit = track.limits(z);
  Extended out{prefix.score + chain.unary(t, z), prefix.rest + bound.ahead(t, z), 0.0};
  if (t > 0) out.score += chain.step(chain.kind(t), prefix.label, z);
  if (prefix.label == z) return out;
  const Index blocks = limit.term >= 0 ? row(limit.term) : 0;
  const double multiplier = bound.multiplier(z);
  if (blocks < (multiplier > 0 ? limit.most : limit.least)) out.rest -= multiplier;  // one more block uses the credit
  if (limit.term >= 0 && blocks >= limit.most) out.due = limit.most_price;
  return out;
}

/// Layers of prefixes while a search goes from left to right, and how each came about.
struct Beam {
  Prefixes old, next;
  View<std::int32_t, 3> trace;  // (T, 2, width): label and parent of every prefix
  View<double> spare;
  Index alive;

  /// Make the first n new prefixes, but for those that were struck, the old ones.
  void settle(Index t, Index n, View<double, 2> ahead) {
    alive = 0;
    for (Index i = 0; i < n; ++i) {
      if (!(next.most(i) > -INF)) continue;
      const Prefix& one = next.state(i);
      next.move(i, old, alive);
      old.state(alive).rest -= ahead(t, one.label);
      trace(t, 0, alive) = static_cast<std::int32_t>(one.label);
      trace(t, 1, alive) = static_cast<std::int32_t>(one.parent);
      ++alive;
    }
  }

  /// The number of the best whole labelling, or -1.
  Index best() const {
    Index arg = -1;
    for (Index i = 0; i < alive; ++i)
      if (old.state(i).score > -INF && (arg < 0 || old.state(i).score > old.state(arg).score)) arg = i;
    return arg;
  }

  /// Write the labelling whose last prefix is at `place`.
  void trace_back(Index place, View<Label> path) const {
    for (Index t = path.size() - 1; t >= 0; --t) {
      path(t) = static_cast<Label>(trace(t, 0, place));
      place = trace(t, 1, place);
    }
  }
};

/// A beam with the empty prefix.
inline Beam begin_beam(const Chain& chain, const Bound& bound, const Track& track, Index width, Memory& memory) {
  const Index room = width * *std::max_element(bound.many.begin(), bound.many.end());
  const Beam beam{{memory.of<Prefix>(width), memory.of<Count>(width, track.size)},
                  {memory.of<Prefix>(room), memory.of<Count>(room, track.size)},
                  memory.of<std::int32_t>(chain.size(), 2, width),
                  memory.of<double>(room),
                  1};
  beam.old.state(0) = {0.0, credit(bound.multiplier, track.limits), 0, chain.n_labels(), 0};
  fill<Count>(beam.old.rows.row(0), 0);
  return beam;
}

}  // namespace semistruct
