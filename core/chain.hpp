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
#include <algorithm>
#include <cmath>

#include "lanes.hpp"

namespace semistruct {

using Label = std::int16_t;
using Scores = View<const double, 2>;
using Tables = View<const double, 3>;

/// Sequences and the weights that score their labels.
struct Scorer {
  Reads<Index> offsets;         // (n + 1,) tokens offsets(i) .. offsets(i+1)-1 are sequence i
  Reads<Index> indptr;          // (n_tokens + 1,) features of token t are indices(indptr(t)) ..
  Reads<std::int32_t> indices;  // feature numbers
  Reads<double> values;         // one per feature, or a single one shared by all
  Reads<Label> kind;            // (n_tokens,)
  View<const double, 2> tokens; // (F, Y)
  Tables step;                  // (K, Y, Y)

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

/// out(t, y) = the score of label y at token first + t.
template <class Rows>
void token_scores(const Rows& rows, View<const double, 2> weights, Index first, View<double, 2> out) {
  score_tokens(rows, weights, out, [first](Index t) { return first + t; });
}

/// The score of one labelling.
template <class Kind, class Path>
double path_score(Scores unary, Tables step, View<Kind> kind, View<Path> path) {
  double score = unary(0, path(0));
  for (Index t = 1; t < path.size(); ++t) score += unary(t, path(t)) + step(kind(t), path(t - 1), path(t));
  return score;
}

/// here(z) = now(z) + max_y [ last(y) + table(y, z) ]: one step of a forward pass.
inline void step_forward(const double* last, const double* table, const double* now, Index Y, double* here) {
  in_lanes(Y, [&](auto top) {
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

/// here(y) = max_z [ table(y, z) + after(z) ]: one step of a backward pass.
inline void step_backward(Reads<double> after, const double* table, double* here) {
  const Index Y = after.size();
  for (Index y = 0; y < Y; ++y) {
    double top = -INF;
    for (Index z = 0; z < Y; ++z) top = std::max(top, table[y * Y + z] + after.data[z]);
    here[y] = top;
  }
}

/// best(t, z) = score of the best labelling of positions 0..t that ends in z.  O(T Y^2).
template <class Kind>
void max_forward(Scores unary, Tables step, View<Kind> kind, View<double, 2> best) {
  const auto [T, Y] = unary.shape;
  for (Index z = 0; z < Y; ++z) best(0, z) = unary(0, z);
  for (Index t = 1; t < T; ++t)
    step_forward(&best(t - 1, 0), &step(kind(t), 0, 0), &unary(t, 0), Y, &best(t, 0));
}

/// What a backward pass does to the scores of the labels at t before they count: nothing.
struct Unchanged {
  void operator()(Index, View<double>) const {}
};

/// best(t, y) = score of the best labelling of positions t+1.. given label y at t.
template <class Kind, class Change = Unchanged>
void max_backward(Scores unary, Tables step, View<Kind> kind, View<double, 2> best, Change change = {}) {
  const auto [T, Y] = unary.shape;
  Room<double> room;
  View<double> after = room.of(Y);
  for (Index y = 0; y < Y; ++y) best(T - 1, y) = 0.0;
  for (Index t = T - 2; t >= 0; --t) {
    for (Index z = 0; z < Y; ++z) after(z) = unary(t + 1, z) + best(t + 1, z);
    change(t + 1, after);
    step_backward(after, &step(kind(t + 1), 0, 0), &best(t, 0));
  }
}

/// Write a best labelling, of which best (T, Y) is left by a forward pass, into path and return its score.
template <class Kind, class Path>
double trace_back(View<double, 2> best, Tables step, View<Kind> kind, View<Path> path) {
  const auto [T, Y] = best.shape;
  Index last = 0;
  for (Index z = 1; z < Y; ++z)
    if (best(T - 1, z) > best(T - 1, last)) last = z;
  path(T - 1) = static_cast<Path>(last);
  for (Index t = T - 1; t > 0; --t) {
    // no back pointers: the predecessor is found again, which keeps the forward loop a plain maximum
    const Index k = kind(t), z = path(t);
    Index arg = 0;
    double top = best(t - 1, 0) + step(k, 0, z);
    for (Index y = 1; y < Y; ++y) {
      const double s = best(t - 1, y) + step(k, y, z);
      if (s > top) arg = y, top = s;
    }
    path(t - 1) = static_cast<Path>(arg);
  }
  return best(T - 1, last);
}

/// Write a best labelling into path and return its score; best (T, Y) is left as by `max_forward`.
template <class Kind, class Path>
double viterbi(Scores unary, Tables step, View<Kind> kind, View<double, 2> best, View<Path> path) {
  max_forward(unary, step, kind, best);
  return trace_back(best, step, kind, path);
}

/// The n best labellings, best first, into paths(r, first + t); scores are -inf where there are no more.
///
/// Ties at a cell take the smaller previous label, then its better rank.
inline void k_best(Scores unary, Tables step, Reads<Label> kind, View<Label, 2> paths, Index first,
                   View<double> scores) {
  const auto [T, Y] = unary.shape;
  const Index n = scores.size();
  Room<double, 3> top_room;
  Room<Index, 3> back_room;
  Room<Index> rank_room;
  View<double, 3> top = top_room.filled(-INF, T, Y, n);
  View<Index, 3> back = back_room.filled(0, T, Y, n);  // previous label * n + its rank
  View<Index> next_rank = rank_room.of(Y);
  for (Index y = 0; y < Y; ++y) top(0, y, 0) = unary(0, y);
  for (Index t = 1; t < T; ++t)
    for (Index z = 0; z < Y; ++z) {
      fill<Index>(next_rank, 0);
      for (Index r = 0; r < n; ++r) {
        Index arg = -1;
        double high = -INF;
        for (Index y = 0; y < Y; ++y) {
          if (next_rank(y) == n) continue;
          const double s = top(t - 1, y, next_rank(y)) + step(kind(t), y, z);
          if (s > high) arg = y, high = s;
        }
        if (arg < 0) break;
        top(t, z, r) = high + unary(t, z);
        back(t, z, r) = arg * n + next_rank(arg)++;
      }
    }
  fill<Index>(next_rank, 0);
  for (Index r = 0; r < n; ++r) {
    Index label = -1;
    double high = -INF;
    for (Index y = 0; y < Y; ++y)
      if (next_rank(y) < n && top(T - 1, y, next_rank(y)) > high) label = y, high = top(T - 1, y, next_rank(y));
    scores(r) = high;
    if (label < 0) continue;
    Index rank = next_rank(label)++;
    for (Index t = T - 1; t >= 0; --t) {
      paths(r, first + t) = static_cast<Label>(label);
      const Index cell = back(t, label, rank);
      label = cell / n, rank = cell % n;
    }
  }
}

/// out(t, y) = score of the best labelling that has y at t.
template <class Kind>
void max_marginals(Scores unary, Tables step, View<Kind> kind, View<double, 2> out) {
  Room<double, 2> room;
  View<double, 2> backward = room.of(unary.shape[0], unary.shape[1]);
  max_forward(unary, step, kind, out);
  max_backward(unary, step, kind, backward);
  for (Index i = 0; i < unary.shape[0] * unary.shape[1]; ++i) out.data[i] += backward.data[i];
}

}  // namespace semistruct
