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

  /// The part of sequence i of an array with one entry per bit.
  template <class T>
  View<T> of(View<T> all, Index i) const {
    return all.slice(start(i), start(i + 1));
  }

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

/// A chain with the prices of bits: those of tokens are added to `chain.unary`, and there is one step table per token.
inline Chain priced(const Bits& bits, const Chain& chain, Reads<double> price, Memory& memory) {
  const Events& events = bits.events;
  const auto [T, Y] = chain.unary.shape;
  const View<double, 3> tables = memory.filled(0.0, T, Y, Y);
  const View<Label> places = memory.of<Label>(T);
  std::iota(places.begin(), places.end(), Label{0});
  Index n = 0;
  const auto sum = [&](Index count) { return std::accumulate(price.begin() + n, price.begin() + n + count, 0.0); };
  for (Index t = 0; t < T; ++t) {
    const Index token = chain.first + t;
    const double on_token = sum(bits.token_bits(token));
    for (Index y = 0; y < Y; ++y) {
      double& score = chain.unary(t, y);
      score += on_token;
      bits.each(events.cell_of_token(token) + y, [&](Index bit) { score -= price(n + bit); });
    }
    n += bits.token_bits(token);
    if (t == 0) continue;
    const double on_step = sum(bits.step_bits(token));
    const Index cell = events.cell_of_steps(events.step_class(token));
    for (Index y = 0; y < Y; ++y)
      for (Index z = 0; z < Y; ++z) {
        double& score = tables(t, y, z);
        score = chain.step(chain.kind(t), y, z) + on_step;
        bits.each(cell + y * Y + z, [&](Index bit) { score -= price(n + bit); });
      }
    n += bits.step_bits(token);
  }
  return {chain.first, chain.unary, tables, places};
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

/// The best labelling whose number of blocks of z is below low or above high; returns its value.
inline double best_by_blocks(const Chain& chain, Index z, Index low, Index high, View<Label> path, Memory& memory) {
  const Memory::Scope scope(memory);
  const auto [T, Y] = chain.unary.shape;
  const Index cap = high >= UNLIMITED ? low : std::max(low, high + 1);  // counts from here on are all alike
  const View<double, 3> best = memory.filled(-INF, T, cap + 1, Y);
  const View<Index, 3> back = memory.filled<Index>(0, T, cap + 1, Y);
  for (Index y = 0; y < Y; ++y) best(0, y == z ? std::min<Index>(1, cap) : 0, y) = chain.unary(0, y);
  for (Index t = 1; t < T; ++t)
    for (Index c = 0; c <= cap; ++c)
      for (Index y = 0; y < Y; ++y) {
        if (best(t - 1, c, y) == -INF) continue;
        for (Index x = 0; x < Y; ++x) {
          const Index d = x == z && y != z ? std::min(c + 1, cap) : c;
          const double s = best(t - 1, c, y) + chain.step(chain.kind(t), y, x) + chain.unary(t, x);
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
inline double best_broken(const Bits& bits, const Chain& chain, double floor, View<Label> path, Memory& memory) {
  const View<double, 2> marginals = memory.of<double>(chain.size(), chain.n_labels());
  const View<Label> trial = memory.of<Label>(chain.size());
  max_marginals(chain, marginals, memory);
  for (Index r = 0; r < bits.label.size(); ++r) {
    if (!may_break(marginals, bits.label(r), bits.low(r), bits.high(r), floor)) continue;
    const double value = best_by_blocks(chain, bits.label(r), bits.low(r), bits.high(r), trial, memory);
    if (value <= floor) continue;
    floor = value;
    copy(trial, path);
  }
  return floor;
}

/// The best labelling by the scores of a chain and prices of its bits; returns its value.  Changes chain.unary.
inline double best_priced(const Bits& bits, const Chain& model, Reads<double> price, View<Label> path,
                          Memory& memory) {
  const Chain chain = priced(bits, model, price, memory);
  const auto [T, Y] = chain.unary.shape;
  const double top = viterbi(chain, memory.of<double>(T, Y), path), whole = price(price.size() - 1);
  const bool holds = whole_holds(bits, path);
  if (whole == 0 || holds == (whole > 0)) return holds ? top + whole : top;
  if (whole < 0) return best_broken(bits, chain, top + whole, path, memory);
  const Ranked found{memory.of<Label>(1, T), memory.of<double>(1)};
  search_sequence(Search(chain, bits.track, memory), bits.widths, top - whole, INF, found);
  const double value = found.values(0);
  if (value + whole <= top || value < top - FORBIDDEN) return top;
  copy(found.paths.row(0), path);
  return value + whole;
}

/// `best_priced` for each sequence.
inline void best_priced_sequences(const Which& which, const Scorer& scorer, const Bits& bits, Reads<double> price,
                                  View<Label> path, View<double> value) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(scorer, i, memory);
    value(i) = best_priced(bits, chain, bits.of(price, i), chain.part(path), memory);
  });
}

/// `bits_of` for each sequence; out (number of all bits,).
inline void bits_of_sequences(const Which& which, Reads<Index> offsets, const Bits& bits, Reads<Label> path,
                              View<double> out) {
  which.each([&](Index i, Memory&) {
    bits_of(bits, offsets(i), path.slice(offsets(i), offsets(i + 1)), bits.of(out, i));
  });
}

}  // namespace semistruct
