// Exact inference on one linear chain of T positions and Y labels.
//
//   unary(t, y)     score of label y at position t
//   step(k, y, z)   score of stepping from y at t-1 to z at t, where k = kind(t)
//   kind(t)         which of the K step tables leads into position t (kind(0) is not read)
//   -inf            forbidden; hence no fast-math
//
// A path scores sum_t unary(t, y_t) + sum_{t>0} step(kind(t), y_{t-1}, y_t).  Ties take the smaller label, at the last
// position first and then backwards.  Kernels trust their input: T >= 1, Y >= 1.
#pragma once
#include <cmath>

#include "lanes.hpp"

namespace semistruct {

using Label = std::int16_t;
using Tables = View<const double, 3>;

struct Chain {
  Index first;            // the number of its first token among those of all sequences
  View<double, 2> unary;  // (T, Y)
  Tables step;            // (K, Y, Y)
  Reads<Label> kind;      // (T,)

  Index size() const { return unary.shape[0]; }
  Index n_labels() const { return unary.shape[1]; }
  Index end() const { return first + size(); }
  const double* into(Index t) const { return &step(kind(t), 0, 0); }

  /// The part of an array with one entry per token that belongs to the sequence.
  template <class T, std::size_t N>
  View<T, N> part(View<T, N> all) const {
    return all.slice(first, end());
  }
};

/// Sequences and the weights that score their labels.
struct Scorer {
  Reads<Index> offsets;          // (n + 1,) tokens offsets(i) .. offsets(i+1)-1 are sequence i
  Reads<Index> indptr;           // (n_tokens + 1,) features of token t are indices(indptr(t)) ..
  Reads<std::int32_t> indices;   // feature numbers
  Reads<double> values;          // one per feature, or a single one shared by all
  Reads<Label> kind;             // (n_tokens,)
  View<const double, 2> tokens;  // (F, Y)
  Tables step;                   // (K, Y, Y)

  Index n_labels() const { return tokens.shape[1]; }
};

/// out(t, y) = sum of value * weights(feature, y) over the features of token token_of(t), added in their order.
template <class Rows, class Number>
void score_tokens(const Rows& rows, View<const double, 2> weights, View<double, 2> out, Number token_of) {
  const auto add_up = [&](auto sum, auto value_of) {
    for (Index t = 0; t < out.size(); ++t) {
      auto total = sum;
      const Index token = token_of(t), end = rows.indptr(token + 1);
      for (Index j = rows.indptr(token); j < end; ++j)
        total.with(&weights(rows.indices(j), 0), [&](auto& lane, const auto& weight) { lane += value_of(j) * weight; });
      total.store(&out(t, 0));
    }
  };
  const double* values = rows.values.data;
  in_lanes(weights.shape[1], [&](auto sum) {
    if (rows.values.size() != 1)
      add_up(sum, [&](Index j) { return values[j]; });
    else if (values[0] == 1)
      add_up(sum, [](Index) { return 1.0; });
    else
      add_up(sum, [&](Index) { return values[0]; });
  });
}

/// The chain of sequence i, scored by token weights (F, Y) and step tables.
template <class Rows>
Chain chain_of(const Rows& rows, View<const double, 2> tokens, Tables step, Index i, Memory& memory) {
  const Index a = rows.offsets(i), b = rows.offsets(i + 1);
  const Chain chain{a, memory.of<double>(b - a, tokens.shape[1]), step, rows.kind.slice(a, b)};
  score_tokens(rows, tokens, chain.unary, [a](Index t) { return a + t; });
  return chain;
}

inline Chain chain_of(const Scorer& scorer, Index i, Memory& memory) {
  return chain_of(scorer, scorer.tokens, scorer.step, i, memory);
}

/// Whether known (n_tokens,), labels that are fixed unless negative, or empty, forbids label z at a token.
inline bool forbids(Reads<Label> known, Index token, Index z) {
  return !known.empty() && known(token) >= 0 && known(token) != z;
}

/// The score of one labelling.
inline double path_score(const Chain& chain, Reads<Label> path) {
  double score = chain.unary(0, path(0));
  for (Index t = 1; t < path.size(); ++t)
    score += chain.unary(t, path(t)) + chain.step(chain.kind(t), path(t - 1), path(t));
  return score;
}

/// here(z) = now(z) + max_y [ last(y) + table(y, z) ]: one step of a forward pass.
inline void step_forward(const double* last, const double* table, const double* now, Index Y, double* here) {
  in_lanes(Y, [=](auto top) {
    top.fill(-INF);
    for (Index y = 0; y < Y; ++y)
      top.with(table + y * Y, [&](auto& lane, const auto& score) {
        const auto s = score + last[y];
        lane = s > lane ? s : lane;
      });
    top.with(now, [](auto& lane, const auto& score) { lane += score; });
    top.store(here);
  });
}

/// best(t, z) = score of the best labelling of positions 0..t that ends in z.  O(T Y^2).
inline void max_forward(const Chain& chain, View<double, 2> best) {
  copy(chain.unary.row(0), best.row(0));
  for (Index t = 1; t < chain.size(); ++t)
    step_forward(&best(t - 1, 0), chain.into(t), &chain.unary(t, 0), chain.n_labels(), &best(t, 0));
}

/// best(t, y) = score of the best labelling of positions t+1.. given label y at t.
///
///   change(t, scores)  what is done to the scores of the labels at t before they count
template <class Change>
void max_backward(const Chain& chain, View<double, 2> best, Memory& memory, Change change) {
  const auto [T, Y] = chain.unary.shape;
  const Memory::Scope scope(memory);
  const View<double> after = memory.of<double>(Y);
  fill(best.row(T - 1), 0.0);
  for (Index t = T - 2; t >= 0; --t) {
    for (Index z = 0; z < Y; ++z) after(z) = chain.unary(t + 1, z) + best(t + 1, z);
    change(t + 1, after);
    const double* table = chain.into(t + 1);
    for (Index y = 0; y < Y; ++y) {
      double top = -INF;
      for (Index z = 0; z < Y; ++z) top = std::max(top, table[y * Y + z] + after.data[z]);
      best(t, y) = top;
    }
  }
}

inline void max_backward(const Chain& chain, View<double, 2> best, Memory& memory) {
  max_backward(chain, best, memory, [](Index, View<double>) {});
}

/// Write a best labelling, of which best (T, Y) is left by a forward pass, into path and return its score.
inline double trace_back(const Chain& chain, View<const double, 2> best, View<Label> path) {
  const auto [T, Y] = best.shape;
  const Reads<double> ends = best.row(T - 1);
  path(T - 1) = static_cast<Label>(std::max_element(ends.begin(), ends.end()) - ends.begin());
  for (Index t = T - 1; t > 0; --t) {
    // no back pointers: the predecessor is found again, which keeps the forward loop a plain maximum
    const Index k = chain.kind(t), z = path(t);
    Index arg = 0;
    double top = best(t - 1, 0) + chain.step(k, 0, z);
    for (Index y = 1; y < Y; ++y) {
      const double s = best(t - 1, y) + chain.step(k, y, z);
      if (s > top) arg = y, top = s;
    }
    path(t - 1) = static_cast<Label>(arg);
  }
  return ends(path(T - 1));
}

/// Write a best labelling into path and return its score; best (T, Y) is left as by `max_forward`.
inline double viterbi(const Chain& chain, View<double, 2> best, View<Label> path) {
  max_forward(chain, best);
  return trace_back(chain, best, path);
}

/// The n best labellings, best first, into paths(r, first + t); scores are -inf where there are no more.
///
/// Ties at a cell take the smaller previous label, then its better rank.
inline void k_best(const Chain& chain, View<Label, 2> paths, View<double> scores, Memory& memory) {
  const auto [T, Y] = chain.unary.shape;
  const Index n = scores.size();
  const View<double, 3> top = memory.filled(-INF, T, Y, n);
  const View<Index, 3> back = memory.filled<Index>(0, T, Y, n);  // previous label * n + its rank
  const View<Index> next_rank = memory.of<Index>(Y);
  // The label with the best next rank at t, by score_of(label, rank), and that score; -1 if there is none.
  const auto best_of = [&, Y = Y](auto score_of, double& high) {
    Index arg = -1;
    high = -INF;
    for (Index y = 0; y < Y; ++y) {
      if (next_rank(y) == n) continue;
      const double s = score_of(y, next_rank(y));
      if (s > high) arg = y, high = s;
    }
    return arg;
  };
  double high;
  for (Index y = 0; y < Y; ++y) top(0, y, 0) = chain.unary(0, y);
  for (Index t = 1; t < T; ++t)
    for (Index z = 0; z < Y; ++z) {
      fill<Index>(next_rank, 0);
      for (Index r = 0; r < n; ++r) {
        const auto score = [&](Index y, Index rank) { return top(t - 1, y, rank) + chain.step(chain.kind(t), y, z); };
        const Index arg = best_of(score, high);
        if (arg < 0) break;
        top(t, z, r) = high + chain.unary(t, z);
        back(t, z, r) = arg * n + next_rank(arg)++;
      }
    }
  fill<Index>(next_rank, 0);
  for (Index r = 0; r < n; ++r) {
    Index label = best_of([&, T = T](Index y, Index rank) { return top(T - 1, y, rank); }, high);
    scores(r) = high;
    if (label < 0) continue;
    Index rank = next_rank(label)++;
    for (Index t = T - 1; t >= 0; --t) {
      paths(r, chain.first + t) = static_cast<Label>(label);
      const Index cell = back(t, label, rank);
      label = cell / n, rank = cell % n;
    }
  }
}

/// out(t, y) = score of the best labelling that has y at t.
inline void max_marginals(const Chain& chain, View<double, 2> out, Memory& memory) {
  const Memory::Scope scope(memory);
  const View<double, 2> backward = memory.of<double>(chain.size(), chain.n_labels());
  max_forward(chain, out);
  max_backward(chain, backward, memory);
  std::transform(out.begin(), out.end(), backward.begin(), out.begin(), std::plus<>());
}

}  // namespace semistruct
