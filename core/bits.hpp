// The best labelling of a sequence when each rule has a price of its own at each place where it applies.
//
// A bit is 1 where a labelling obeys a rule.  Sequence i has the bits start(i) .. start(i+1)-1, in this order: for
// every token those of the rules that apply to it and those of the rules that apply to the step into it, and last one
// for all rules about blocks together (the whole).  price(k) is what a labelling is worth more if bit k is 1.
#pragma once
#include <numeric>

#include "search.hpp"

namespace semistruct {

constexpr Index UNLIMITED = 2147483647;  // number of blocks
constexpr double FORBIDDEN = 1e5;  // a value this far below the best one is that of a labelling that breaks a hard rule

/// Where the bits are.
struct Bits {
  Reads<Index> start;                  // (n + 1,) the bits of each sequence
  Events events;                       // of the rules about tokens and steps
  Reads<Index> token_bits, step_bits;  // (n_tokens,) how many bits a token, and the step into it, have
  Reads<Index> bit;                    // for every entry of events, which of these bits it makes 0
  Reads<Index> label, low, high;       // (B,) the blocks of `label` should be low to high in number
  Track track;                         // the rules about blocks, for the search
  Reads<Index> widths;

  /// Call act(bit) for the bits that are 0 in a cell of the events.
  template <class Act>
  void each(Index cell, Act act) const {
    for (Index j = events.ptr(cell); j < events.ptr(cell + 1); ++j) act(bit(j));
  }
};

/// No rule about blocks is broken.
inline bool whole_holds(const Bits& bits, Reads<Label> path) {
  for (Index r = 0; r < bits.label.size(); ++r) {
    const Index z = bits.label(r);
    Index n = 0;
    for (Index t = 0; t < path.size(); ++t) n += path(t) == z && (t == 0 || path(t - 1) != z);
    if (n < bits.low(r) || n > bits.high(r)) return false;
  }
  return true;
}

/// Write the bits of a labelling; `first` is the number of its first token.
inline void bits_of(const Bits& bits, Index first, Reads<Label> path, View<double> row) {
  const Events& events = bits.events;
  const Index Y = events.n_labels();
  Index n = 0;
  fill(row, 1.0);
  for (Index t = 0; t < path.size(); ++t) {
    bits.each(events.cell_of_token(first + t) + path(t), [&](Index bit) { row(n + bit) = 0.0; });
    n += bits.token_bits(first + t);
    if (t == 0) continue;
    const Index cell = events.cell_of_steps(events.step_class(first + t)) + path(t - 1) * Y + path(t);
    bits.each(cell, [&](Index bit) { row(n + bit) = 0.0; });
    n += bits.step_bits(first + t);
  }
  if (!whole_holds(bits, path)) row(n) = 0.0;
}

/// Add the prices of tokens to unary, and write tables (T, Y, Y): the steps into each token with their prices.
inline void add_prices(const Bits& bits, Index first, Reads<double> price, Tables step, Reads<Label> kind,
                       View<double, 2> unary, View<double, 3> tables) {
  const Events& events = bits.events;
  const auto [T, Y] = unary.shape;
  Index n = 0;
  const auto sum = [&](Index count) { return std::accumulate(price.begin() + n, price.begin() + n + count, 0.0); };
  for (Index t = 0; t < T; ++t) {
    const double on_token = sum(bits.token_bits(first + t));
    for (Index y = 0; y < Y; ++y) {
      unary(t, y) += on_token;
      bits.each(events.cell_of_token(first + t) + y, [&](Index bit) { unary(t, y) -= price(n + bit); });
    }
    n += bits.token_bits(first + t);
    if (t == 0) continue;
    const double on_step = sum(bits.step_bits(first + t));
    const Index cell = events.cell_of_steps(events.step_class(first + t));
    for (Index y = 0; y < Y; ++y)
      for (Index z = 0; z < Y; ++z) {
        tables(t, y, z) = step(kind(t), y, z) + on_step;
        bits.each(cell + y * Y + z, [&](Index bit) { tables(t, y, z) -= price(n + bit); });
      }
    n += bits.step_bits(first + t);
  }
}

/// No bound says that labellings with two blocks of z are below floor: some t < s < r could be z, not z, z.
inline bool may_repeat(View<double, 2> marginals, Index z, double floor) {
  int phase = 0;
  for (Index t = 0; t < marginals.shape[0] && phase < 3; ++t)
    if (phase != 1)
      phase += marginals(t, z) >= floor;
    else
      for (Index y = 0; y < marginals.shape[1] && phase == 1; ++y) phase += y != z && marginals(t, y) >= floor;
  return phase == 3;
}

/// No bound says that labellings without z are below floor: every token could have another label.
inline bool may_lack(View<double, 2> marginals, Index z, double floor) {
  for (Index t = 0; t < marginals.shape[0]; ++t) {
    double other = -INF;
    for (Index y = 0; y < marginals.shape[1]; ++y)
      if (y != z) other = std::max(other, marginals(t, y));
    if (other < floor) return false;
  }
  return true;
}

/// No bound says that labellings whose number of blocks of z is below low or above high are below floor.
inline bool may_break(View<double, 2> marginals, Index z, Index low, Index high, double floor) {
  if (low > 1 || high < 1) return true;
  return (low == 1 && may_lack(marginals, z, floor)) || (high < UNLIMITED && may_repeat(marginals, z, floor));
}

/// Memory for labellings with prices.
struct BitRoom {
  SearchRoom search;
  Room<double, 2> unary, best, marginals, phi, gram;
  Room<double, 3> tables, counted;
  Room<Index, 3> back;
  Room<Label> places, found;
  Room<double> row, price;
};

/// The best labelling whose number of blocks of z is below low or above high; returns its value.
inline double best_by_blocks(View<double, 2> unary, View<double, 3> tables, Index z, Index low, Index high,
                             View<Label> path, BitRoom& room) {
  const auto [T, Y] = unary.shape;
  const Index cap = high >= UNLIMITED ? low : std::max(low, high + 1);  // counts from here on are all alike
  View<double, 3> best = room.counted.filled(-INF, T, cap + 1, Y);
  View<Index, 3> back = room.back.filled(0, T, cap + 1, Y);
  for (Index y = 0; y < Y; ++y) best(0, y == z ? std::min<Index>(1, cap) : 0, y) = unary(0, y);
  for (Index t = 1; t < T; ++t)
    for (Index c = 0; c <= cap; ++c)
      for (Index y = 0; y < Y; ++y) {
        if (best(t - 1, c, y) == -INF) continue;
        for (Index x = 0; x < Y; ++x) {
          const Index d = x == z && y != z ? std::min(c + 1, cap) : c;
          const double s = best(t - 1, c, y) + tables(t, y, x) + unary(t, x);
          if (s > best(t, d, x)) best(t, d, x) = s, back(t, d, x) = c * Y + y;
        }
      }
  Index count = 0, label = 0;
  double top = -INF;
  for (Index c = 0; c <= cap; ++c)
    for (Index y = 0; y < Y; ++y)
      if ((c < low || c > high) && best(T - 1, c, y) > top) count = c, label = y, top = best(T - 1, c, y);
  for (Index t = T - 1; t >= 0; --t) {
    path(t) = static_cast<Label>(label);
    const Index cell = back(t, count, label);
    count = cell / Y, label = cell % Y;
  }
  return top;
}

/// The best labelling that breaks a rule about blocks, if it is above floor; returns its value.
inline double best_broken(const Bits& bits, View<double, 2> unary, View<double, 3> tables, Reads<Label> kind,
                          double floor, View<Label> path, BitRoom& room) {
  View<double, 2> marginals = room.marginals.of(unary.shape[0], unary.shape[1]);
  View<Label> trial = room.found.of(unary.shape[0]);
  max_marginals(unary, tables, kind, marginals);
  for (Index r = 0; r < bits.label.size(); ++r) {
    if (!may_break(marginals, bits.label(r), bits.low(r), bits.high(r), floor)) continue;
    const double value = best_by_blocks(unary, tables, bits.label(r), bits.low(r), bits.high(r), trial, room);
    if (value <= floor) continue;
    floor = value;
    copy(trial, path);
  }
  return floor;
}

/// The best labelling by  unary + steps + prices of its bits; returns its value.  Changes unary.
inline double best_priced(const Bits& bits, Index first, Reads<double> price, Tables step, Reads<Label> kind,
                          View<double, 2> unary, View<Label> path, BitRoom& room) {
  const auto [T, Y] = unary.shape;
  View<double, 3> tables = room.tables.filled(0.0, T, Y, Y);
  View<Label> places = room.places.of(T);
  std::iota(places.begin(), places.end(), Label{0});
  add_prices(bits, first, price, step, kind, unary, tables);
  const double top = viterbi(unary, tables, places, room.best.of(T, Y), path), whole = price(price.size() - 1);
  const bool holds = whole_holds(bits, path);
  if (whole == 0 || holds == (whole > 0)) return holds ? top + whole : top;
  if (whole < 0) return best_broken(bits, unary, tables, places, top + whole, path, room);
  View<Label> found = room.found.of(T);
  const double value = search_sequence({unary, tables, places, first}, bits.track, bits.widths, top - whole, found,
                                       room.search).value;
  if (value + whole <= top || value < top - FORBIDDEN) return top;
  copy(found, path);
  return value + whole;
}

/// `best_priced` for each sequence.
inline void best_priced_sequences(Reads<Index> which, const Scorer& scorer, const Bits& bits, Reads<double> price,
                                  View<Label> path, View<double> value) {
  BitRoom room;
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1);
    View<double, 2> unary = room.unary.of(b - a, scorer.n_labels());
    token_scores(scorer, scorer.tokens, a, unary);
    value(i) = best_priced(bits, a, price.slice(bits.start(i), bits.start(i + 1)), scorer.step, scorer.kind.slice(a, b),
                           unary, path.slice(a, b), room);
  }
}

/// `bits_of` for each sequence; out (number of all bits,).
inline void bits_of_sequences(Reads<Index> which, Reads<Index> offsets, const Bits& bits, Reads<Label> path,
                              View<double> out) {
  for (Index i : which)
    bits_of(bits, offsets(i), path.slice(offsets(i), offsets(i + 1)), out.slice(bits.start(i), bits.start(i + 1)));
}

/// What given labellings are worth by scores and prices.
inline void value_of_sequences(Reads<Index> which, const Scorer& scorer, const Bits& bits, Reads<double> price,
                               Reads<Label> path, View<double> value) {
  BitRoom room;
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1);
    const Reads<double> own = price.slice(bits.start(i), bits.start(i + 1));
    View<double, 2> unary = room.unary.of(b - a, scorer.n_labels());
    View<double> row = room.row.of(own.size());
    token_scores(scorer, scorer.tokens, a, unary);
    bits_of(bits, a, path.slice(a, b), row);
    value(i) = path_score(unary, scorer.step, scorer.kind.slice(a, b), path.slice(a, b));
    for (Index k = 0; k < own.size(); ++k) value(i) += own(k) * row(k);
  }
}

}  // namespace semistruct
