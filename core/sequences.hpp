// Inference on many sequences, one after the other.
//
//   which, scorer      the sequences to look at, and what scores their labels
//   known (n_tokens,)  labels that are fixed, negative elsewhere; or empty
#pragma once
#include "posterior.hpp"

namespace semistruct {

/// Scores unary (T, Y) of sequence i into `out`; labels other than a known one are forbidden.
inline void scores_of(const Scorer& scorer, Index i, Reads<Label> known, View<double, 2> out) {
  const Index a = scorer.offsets(i);
  token_scores(scorer, scorer.tokens, a, out);
  if (known.empty()) return;
  for (Index t = 0; t < out.shape[0]; ++t)
    for (Index y = 0; y < out.shape[1]; ++y)
      if (known(a + t) >= 0 && known(a + t) != y) out(t, y) = -INF;
}

/// Viterbi for each sequence; bonus (n_tokens, Y), or empty, is added to the scores.
inline void decode_sequences(Reads<Index> which, const Scorer& scorer, Reads<Label> known, View<const double, 2> bonus,
                             View<Label> path, View<double> score) {
  Room<double, 2> unary_room, best_room;
  const Index Y = scorer.n_labels();
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1);
    View<double, 2> unary = unary_room.of(b - a, Y), best = best_room.of(b - a, Y);
    scores_of(scorer, i, known, unary);
    if (!bonus.empty())
      for (Index t = 0; t < b - a; ++t)
        for (Index y = 0; y < Y; ++y) unary(t, y) += bonus(a + t, y);
    score(i) = viterbi<const Label, Label>(unary, scorer.step, scorer.kind.slice(a, b), best, path.slice(a, b));
  }
}

/// The k best labellings of each sequence: paths (k, n_tokens), scores (n, k).
inline void decode_k_sequences(Reads<Index> which, const Scorer& scorer, Reads<Label> known, View<Label, 2> paths,
                               View<double, 2> scores) {
  Room<double, 2> room;
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1);
    View<double, 2> unary = room.of(b - a, scorer.n_labels());
    scores_of(scorer, i, known, unary);
    k_best(unary, scorer.step, scorer.kind.slice(a, b), paths, a, scores.row(i));
  }
}

/// By how much the best labelling with path(t) at t beats the best one with another label there.
inline void margins_of_sequences(Reads<Index> which, const Scorer& scorer, Reads<Label> known, Reads<Label> path,
                                 View<double> margin) {
  Room<double, 2> unary_room, best_room;
  const Index Y = scorer.n_labels();
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1);
    View<double, 2> unary = unary_room.of(b - a, Y), best = best_room.of(b - a, Y);
    scores_of(scorer, i, known, unary);
    max_marginals(unary, scorer.step, scorer.kind.slice(a, b), best);
    for (Index t = 0; t < b - a; ++t) {
      double other = -INF;
      for (Index y = 0; y < Y; ++y)
        if (y != path(a + t)) other = std::max(other, best(t, y));
      margin(a + t) = best(t, path(a + t)) - other;
    }
  }
}

/// What is expected of every sequence.  Piece p is the sequences bounds(p) .. bounds(p+1)-1, whose expected steps,
/// times weight (n,), are added to steps(p); log_z (n,), marginal (n_tokens, Y), steps (pieces, K, Y, Y).
inline void expect_sequences(Reads<Index> pieces, Reads<Index> bounds, const Scorer& scorer, Reads<Label> known,
                             const Factors& factors, Reads<double> weight, View<double> log_z, View<double, 2> marginal,
                             View<double, 4> steps) {
  const auto [K, Y, Z] = scorer.step.shape;
  Room<double, 2> unary_room;
  Room<double, 3> counts_room;
  SumRoom room;
  for (Index p : pieces)
    for (Index i = bounds(p); i < bounds(p + 1); ++i) {
      const Index a = scorer.offsets(i), b = scorer.offsets(i + 1);
      View<double, 2> unary = unary_room.of(b - a, Y);
      View<double, 3> counts = counts_room.filled(0.0, K, Y, Z), sum = steps.row(p);
      scores_of(scorer, i, known, unary);
      const Reads<Label> kind = scorer.kind.slice(a, b);
      log_z(i) = sum_product(unary, scorer.step, factors, kind, kind, {marginal.slice(a, b), counts}, room);
      for (Index j = 0; j < K * Y * Z; ++j) sum.data[j] += weight(i) * counts.data[j];
    }
}

/// For each token t of each sequence, where z = path(t), the logarithms of
///
///   out(t, 0)  p(y_t = z)
///   out(t, 1)  p(y_t = z and y_{t-1} = path(t-1))         -inf at first tokens
///   out(t, 2)  p(y_t = z and y_{t-1} = beside(t, 0))      -inf at first tokens and where beside is negative
///   out(t, 3)  p(y_t = z and y_{t+1} = beside(t, 1))      -inf at last tokens and where beside is negative
///   out(t, 4)  the probability of the whole path
inline void given_sequences(Reads<Index> which, const Scorer& scorer, Reads<Label> known, Reads<Label> path,
                            View<const Label, 2> beside, View<double, 2> out) {
  const Index Y = scorer.n_labels();
  Room<double, 2> unary_room, beta_room, alpha_room;
  Room<double> terms_room;
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1), T = b - a;
    const Reads<Label> kind = scorer.kind.slice(a, b), own = path.slice(a, b);
    View<double, 2> unary = unary_room.of(T, Y), beta = beta_room.of(T, Y), alpha = alpha_room.of(T, Y);
    View<double> terms = terms_room.of(Y);
    scores_of(scorer, i, known, unary);
    log_backward(unary, scorer.step, kind, beta, terms);
    for (Index y = 0; y < Y; ++y) terms(y) = unary(0, y) + beta(0, y);
    const double log_z = log_sum_exp(terms);
    const double log_p = path_score<const Label, const Label>(unary, scorer.step, kind, own) - log_z;
    for (Index t = 0; t < T; ++t) {
      const Index z = own(t), left = beside(a + t, 0), right = beside(a + t, 1);
      View<double> row = out.row(a + t);
      row(1) = row(2) = row(3) = -INF, row(4) = log_p;
      for (Index y = 0; y < Y; ++y) {
        alpha(t, y) = unary(t, y);
        if (t == 0) continue;
        for (Index x = 0; x < Y; ++x) terms(x) = alpha(t - 1, x) + scorer.step(kind(t), x, y);
        alpha(t, y) += log_sum_exp(terms);
      }
      row(0) = alpha(t, z) + beta(t, z) - log_z;
      if (t > 0) {
        const double here = unary(t, z) + beta(t, z) - log_z;
        row(1) = alpha(t - 1, own(t - 1)) + scorer.step(kind(t), own(t - 1), z) + here;
        if (left >= 0) row(2) = alpha(t - 1, left) + scorer.step(kind(t), left, z) + here;
      }
      if (t < T - 1 && right >= 0)
        row(3) = alpha(t, z) + scorer.step(kind(t + 1), z, right) + unary(t + 1, right) + beta(t + 1, right) - log_z;
    }
  }
}

}  // namespace semistruct
