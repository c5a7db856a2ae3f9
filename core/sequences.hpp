// Inference on many sequences, one after the other.
//
//   which, scorer      the sequences to look at, and what scores their labels
//   known (n_tokens,)  labels that are fixed, negative elsewhere; or empty
#pragma once
#include "posterior.hpp"
#include "work.hpp"

namespace semistruct {

/// The chain of sequence i; labels other than a known one are forbidden.
inline Chain chain_of(const Scorer& scorer, Index i, Reads<Label> known, Memory& memory) {
  const Chain chain = chain_of(scorer, i, memory);
  for (Index t = 0; t < chain.size() && !known.empty(); ++t)
    for (Index y = 0; y < chain.n_labels(); ++y)
      if (forbids(known, chain.first + t, y)) chain.unary(t, y) = -INF;
  return chain;
}

/// Viterbi for each sequence; bonus (n_tokens, Y), or empty, is added to the scores.
inline void decode_sequences(const Which& which, const Scorer& scorer, Reads<Label> known, View<const double, 2> bonus,
                             View<Label> path, View<double> score) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(scorer, i, known, memory);
    const auto [T, Y] = chain.unary.shape;
    for (Index t = 0; t < T && !bonus.empty(); ++t)
      for (Index y = 0; y < Y; ++y) chain.unary(t, y) += bonus(chain.first + t, y);
    score(i) = viterbi(chain, memory.of<double>(T, Y), chain.part(path));
  });
}

/// The k best labellings of each sequence: paths (k, n_tokens), scores (n, k).
inline void decode_k_sequences(const Which& which, const Scorer& scorer, Reads<Label> known, View<Label, 2> paths,
                               View<double, 2> scores) {
  which.each([&](Index i, Memory& memory) {
    k_best(chain_of(scorer, i, known, memory), paths, scores.row(i), memory);
  });
}

/// By how much the best labelling with path(t) at t beats the best one with another label there.
inline void margins_of_sequences(const Which& which, const Scorer& scorer, Reads<Label> known, Reads<Label> path,
                                 View<double> margin) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(scorer, i, known, memory);
    const auto [T, Y] = chain.unary.shape;
    const View<double, 2> best = memory.of<double>(T, Y);
    max_marginals(chain, best, memory);
    for (Index t = 0; t < T; ++t) {
      const Index own = path(chain.first + t);
      double other = -INF;
      for (Index y = 0; y < Y; ++y)
        if (y != own) other = std::max(other, best(t, y));
      margin(chain.first + t) = best(t, own) - other;
    }
  });
}

/// What is expected of every sequence.  Piece p is the sequences bounds(p) .. bounds(p+1)-1, whose expected steps,
/// times weight (n,), are added to steps(p); log_z (n,), marginal (n_tokens, Y), steps (pieces, K, Y, Y).
inline void expect_sequences(const Which& pieces, Reads<Index> bounds, const Scorer& scorer, Reads<Label> known,
                             const Factors& factors, Reads<double> weight, View<double> log_z, View<double, 2> marginal,
                             View<double, 4> steps) {
  pieces.each(bounds, [&](Index p, Index i, Memory& memory) {
    const auto [K, Y, Z] = scorer.step.shape;
    const Chain chain = chain_of(scorer, i, known, memory);
    const View<double, 3> counts = memory.filled(0.0, K, Y, Z), sum = steps.row(p);
    const auto place = [&](Index t) { return chain.kind(t); };
    log_z(i) = sum_product(chain, factors, place, {chain.part(marginal), counts}, memory);
    for (Index j = 0; j < K * Y * Z; ++j) sum.data[j] += weight(i) * counts.data[j];
  });
}

/// For each token t of each sequence, where z = path(t), the logarithms of
///
///   out(t, 0)  p(y_t = z)
///   out(t, 1)  p(y_t = z and y_{t-1} = path(t-1))         -inf at first tokens
///   out(t, 2)  p(y_t = z and y_{t-1} = beside(t, 0))      -inf at first tokens and where beside is negative
///   out(t, 3)  p(y_t = z and y_{t+1} = beside(t, 1))      -inf at last tokens and where beside is negative
///   out(t, 4)  the probability of the whole path
inline void given_sequences(const Which& which, const Scorer& scorer, Reads<Label> known, Reads<Label> path,
                            View<const Label, 2> beside, View<double, 2> out) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(scorer, i, known, memory);
    const auto [T, Y] = chain.unary.shape;
    const Reads<Label> own = chain.part(path);
    const View<double, 2> alpha = memory.of<double>(T, Y), beta = memory.of<double>(T, Y);
    const View<double> terms = memory.of<double>(Y);
    log_forward(chain, alpha, terms);
    log_backward(chain, beta, terms);
    for (Index y = 0; y < Y; ++y) terms(y) = chain.unary(0, y) + beta(0, y);
    const double log_z = log_sum_exp(terms), log_p = path_score(chain, own) - log_z;
    const auto pair = [&](Index t, Index y, Index z) {  // log p(y_{t-1} = y and y_t = z)
      const double behind = chain.unary(t, z) + beta(t, z) - log_z;
      return alpha(t - 1, y) + chain.step(chain.kind(t), y, z) + behind;
    };
    for (Index t = 0; t < T; ++t) {
      const Index z = own(t), left = beside(chain.first + t, 0), right = beside(chain.first + t, 1);
      const View<double> row = out.row(chain.first + t);
      row(0) = alpha(t, z) + beta(t, z) - log_z;
      row(1) = t > 0 ? pair(t, own(t - 1), z) : -INF;
      row(2) = t > 0 && left >= 0 ? pair(t, left, z) : -INF;
      row(3) = t < T - 1 && right >= 0 ? pair(t + 1, z, right) : -INF;
      row(4) = log_p;
    }
  });
}

}  // namespace semistruct
