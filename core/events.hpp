// What happens at a token, and what it costs: the one definition that counting, switching, search and bits read.
//
//   Events     what happens where (N tokens, Y labels); terms of rules are numbered k
//   targets    where the counts of the terms should lie
//   first      number of the first token of a sequence among all tokens
//   y (T,)     labels of the sequence
//   row (K,)   one count per term
#pragma once
#include "chain.hpp"
#include "work.hpp"

namespace semistruct {

// What a count is divided by, unless that is the count of another term: nothing, tokens, sequences.
constexpr Index ITSELF = -1, PER_TOKEN = -2, PER_SEQUENCE = -3;
constexpr Index ALONE = -1;  // the group of a term that has a penalty of its own

/// A term should lie in [low, high]; outside it costs weight * (unit * distance)^power.
struct Target {
  double low, high, unit, weight;
  Index power;
  Index per;    // ITSELF, PER_TOKEN, PER_SEQUENCE, or the number of the term by whose count it is divided
  Index group;  // terms of one group have one penalty, on the number of those that are out of range; or ALONE
  Index needs;  // the number of a term whose count must not be 0 for this one to matter, or -1
  Index bars;   // the number of one whose count must be 0, or -1

  /// How far a value lies outside the range, in its unit.
  double distance(double value) const {
    if (value < low) return (low - value) * unit;
    if (value > high) return (value - high) * unit;
    return 0.0;
  }
  double price(double far) const { return weight * (power == 2 ? far * far : far); }

  /// The condition of the term holds.
  template <class Count>
  bool matters(View<Count> row) const {
    return (needs < 0 || row(needs) > 0) && (bars < 0 || row(bars) == 0);
  }
};

/// Term `term` has an event: where a block ends if it is shorter than least or longer than most, where one begins if
/// the mark was set before, and always at tokens and steps.
struct Entry {
  Index term, least, most, mark;
};

/// What happens where: lists of entries in cells, those of cell c being entry(ptr(c)) .. entry(ptr(c+1)-1).
///
///   z                            the cell of what happens where a block of label z begins
///   Y + z                        ... where a block of label z ends
///   cell_of_token + z            ... where the token has label z
///   cell_of_steps + y * Y + z    ... where it has label z after label y at the token before; y = Y if it is the first
struct Events {
  Reads<std::int32_t> token_class;  // (N,) tokens of a class share their cells
  Reads<std::int32_t> step_class;   // (N,) and so do the steps into tokens
  Index first_step;          // the first cell of steps
  Reads<Index> ptr;
  Reads<Entry> entry;
  Reads<Index> mark;  // (Y,) the mark that a label sets by occurring, or -1

  Index n_labels() const { return mark.size(); }
  Index cell_of_token(Index token) const { return (2 + token_class(token)) * n_labels(); }
  Index cell_of_steps(Index of_class) const { return first_step + of_class * (n_labels() + 1) * n_labels(); }
  bool has_order() const { return ptr(n_labels()) > 0; }                        // some rule is about order
  bool has_lengths() const { return ptr(2 * n_labels()) > ptr(n_labels()); }  // ... about lengths of blocks

  /// Set the mark of a label in seen.
  void set_mark(Index label, View<Index> seen) const {
    if (mark(label) >= 0) seen(mark(label)) = 1;
  }

  /// Call act(entry) for every entry of a cell.
  template <class Act>
  void each(Index cell, Act act) const {
    for (Index j = ptr(cell); j < ptr(cell + 1); ++j) act(entry(j));
  }
};

/// The costs of local rules, by class of tokens and steps.
struct Costs {
  Reads<std::int32_t> token_class;  // (N,)
  View<const double, 2> token;      // (classes, Y)
  Reads<std::int32_t> step_class;   // (N,)
  View<const double, 3> step;       // (classes, Y + 1, Y): y = Y before the first token
};

/// Call hit(term) for the terms that have an event where label z follows a block of `run` tokens of y.
///
/// y = Y at the first token; last: the sequence ends here; seen: the marks that earlier labels have set.
template <class Mark, class Hit>
void happens(const Events& events, Index token, bool last, Index y, Index run, Index z, View<Mark> seen, Hit hit) {
  const Index Y = events.n_labels();
  events.each(events.cell_of_token(token) + z, [&](const Entry& e) { hit(e.term); });
  events.each(events.cell_of_steps(events.step_class(token)) + y * Y + z, [&](const Entry& e) { hit(e.term); });
  if (y != z)
    events.each(z, [&](const Entry& e) {
      if (seen(e.mark)) hit(e.term);
    });
  if (!events.has_lengths()) return;
  const auto ends = [&](Index block, Index length) {
    events.each(Y + block, [&](const Entry& e) {
      if (length < e.least || length > e.most) hit(e.term);
    });
  };
  if (y != z && y < Y) ends(y, run);
  if (last) ends(z, y == z ? run + 1 : 1);
}

/// Add sign times the events to row that labels y(s) .. y(e-1) have a part in, and perhaps others later on; seen (Y,).
///
/// What is taken out before these labels change, and put in again afterwards, leaves the counts of the new labels.
inline void count_window(const Events& events, Index first, Reads<Label> y, Index s, Index e, double sign,
                         View<double> row, View<Index> seen) {
  const Index T = y.size(), Y = events.n_labels();
  const bool ordered = events.has_order();
  Index stop = std::min(e + 1, T), run = s;
  if (events.has_lengths()) {  // from the block before s to the end of that at e
    while (run > 0 && y(run - 1) == y(s - 1)) --run;
    run = s - run;
    while (stop < T && y(stop) == y(stop - 1)) ++stop;
    stop = std::min(stop + 1, T);
  }
  if (ordered) {  // any later block may be out of order
    stop = T;
    fill<Index>(seen, 0);
    for (Index t = 0; t < s; ++t) events.set_mark(y(t), seen);
  }
  for (Index t = s; t < stop; ++t) {
    const Index z = y(t), before = t > 0 ? y(t - 1) : Y;
    happens(events, first + t, t == T - 1, before, run, z, seen, [&](Index term) { row(term) += sign; });
    run = before == z ? run + 1 : 1;
    if (ordered) events.set_mark(z, seen);
  }
}

/// counts(i) = the row of sequence i.
inline void count_sequences(const Which& which, const Events& events, Reads<Index> offsets, Reads<Label> y,
                            View<double, 2> counts) {
  which.each([&](Index i, Memory& memory) {
    const Index a = offsets(i), b = offsets(i + 1);
    fill(counts.row(i), 0.0);
    count_window(events, a, y.slice(a, b), 0, b - a, 1.0, counts.row(i), memory.of<Index>(events.n_labels()));
  });
}

/// The penalty of the terms `which`: those of one sequence, or those of the corpus for the sum of all rows.
///
/// The terms of a group follow each other.
inline double penalty(Reads<Target> targets, Reads<Index> which, Reads<double> row, double n_tokens,
                      double n_sequences) {
  double total = 0.0, out_of_range = 0.0;
  for (Index j = 0; j < which.size(); ++j) {
    const Target& target = targets(which(j));
    double divisor = 1.0;
    if (target.per == PER_TOKEN)
      divisor = n_tokens;
    else if (target.per == PER_SEQUENCE)
      divisor = n_sequences;
    else if (target.per >= 0)
      divisor = row(target.per);
    double far = divisor > 0 && target.matters(row) ? target.distance(row(which(j)) / divisor) : 0.0;
    if (target.group >= 0) {
      out_of_range += far > 0;
      if (j + 1 < which.size() && targets(which(j + 1)).group == target.group) continue;
      far = out_of_range, out_of_range = 0.0;
    }
    total += target.price(far);
  }
  return total;
}

}  // namespace semistruct
