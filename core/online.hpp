// Stochastic gradient steps that project one sequence at a time.
#pragma once
#include "projection.hpp"

namespace semistruct {

/// The weights that the steps change; the scorer of the field reads the same tokens and step.
struct OnlineWeights {
  View<double, 2> tokens;  // (F, Y)
  View<double, 3> trans;   // (kinds, Y, Y)
  View<double, 3> step;    // trans(0), and trans(0) + trans(k) for k > 0
};

/// The rows of corpus rules, with the range of their multipliers, and units for these.
struct CorpusRows {
  View<const double, 2> a;  // (rows, K)
  Reads<double> bound, slack, low, high, unit;
};

/// A part of one pass over the sequences.
struct Course {
  Reads<Index> order;    // in which they are visited
  Index n;               // of all sequences
  Index n_fixed;         // how many of them, the first ones, have the labels `goal`
  Reads<Label> goal;     // (n_tokens,)
  Reads<double> weight;  // (n,) of each sequence
  double eta;            // step t has the length eta / (1 + eta t / n)
  Index seen;            // how many steps were made before
};

/// Steps for the multipliers of corpus rules (`shared`) up the dual, where one sequence of n expects these counts.
inline void climb(const CorpusRows& corpus, Reads<double> expected, double n, double length, View<double> shared) {
  for (Index k = 0; k < shared.size(); ++k) {
    double value = 0.0;
    for (Index m = 0; m < expected.size(); ++m) value += corpus.a(k, m) * expected(m);
    const double uphill = n * value - corpus.bound(k) - corpus.slack(k) * shared(k);
    const double moved = shared(k) + length * (corpus.unit(k) * corpus.unit(k)) * uphill;
    shared(k) = std::min(std::max(moved, corpus.low(k)), corpus.high(k));
  }
}

/// w = keep * w + much * (features of q - features of p) for the sequence of the lattice; p is used up.
inline void move_weights(const Scorer& scorer, const Lattice& lattice, double keep, double much, const Expectation& q,
                         const Expectation& p, const OnlineWeights& w) {
  const auto [T, Y] = lattice.unary.shape;
  for (double& weight : w.tokens) weight *= keep;
  for (double& weight : w.trans) weight *= keep;
  const Index stride = scorer.values.size() == 1 ? 0 : 1;
  for (Index t = 0; t < T; ++t) {
    double* change = &p.marginal(t, 0);
    for (Index y = 0; y < Y; ++y) change[y] = much * (q.marginal(t, y) - change[y]);
    for (Index e = scorer.indptr(lattice.first + t); e < scorer.indptr(lattice.first + t + 1); ++e) {
      const double value = scorer.values(e * stride);
      double* row = &w.tokens(scorer.indices(e), 0);
      for (Index y = 0; y < Y; ++y) row[y] += value * change[y];
    }
  }
  for (Index g = 0; g < lattice.n_groups(); ++g)
    for (Index y = 0; y < Y; ++y)
      for (Index z = 0; z < Y; ++z) {
        const double change = much * (q.counts(g, y, z) - p.counts(g, y, z));
        w.trans(0, y, z) += change;
        if (lattice.kind(g) > 0) w.trans(lattice.kind(g), y, z) += change;
      }
  for (Index k = 0; k < w.trans.shape[0]; ++k)
    for (Index y = 0; y < Y; ++y)
      for (Index z = 0; z < Y; ++z) w.step(k, y, z) = w.trans(0, y, z) + (k > 0 ? w.trans(k, y, z) : 0.0);
}

/// Stochastic gradient steps, one for each sequence of the course, that change the weights.
///
/// Sequences without fixed labels are projected one at a time: their own multipliers (n_open, J) exactly, those of
/// corpus rules (`shared`) by a step of their own.
inline void learn_online(const Course& course, const Field& field, const OnlineWeights& weights, const Problem& problem,
                         const CorpusRows& corpus, View<double, 2> multiplier, View<double> shared) {
  const Scorer& scorer = field.scorer;
  const Index Y = scorer.n_labels(), K = corpus.a.shape[1], n_open = course.n - course.n_fixed;
  const double n = static_cast<double>(course.n);
  const Field free{scorer, field.costs, field.scale, {}};
  LatticeRoom free_room, known_room;
  FactorRoom factors;
  SequenceSolver solver(problem);
  SumRoom sums;
  Room<double, 2> p_room, q_room;
  Room<double, 3> p_steps_room, q_steps_room;
  Room<double> base_room, expected_room;
  for (Index s = 0; s < course.order.size(); ++s) {
    const Index i = course.order(s);
    const double length = course.eta / (1.0 + course.eta * static_cast<double>(course.seen + s) / n);
    const Lattice lattice = free_room.of(free, i);
    const Index a = lattice.first, T = lattice.group.size(), G = lattice.n_groups();
    const Expectation p{p_room.of(T, Y), p_steps_room.filled(0.0, G, Y, Y)};
    const Expectation q{q_room.filled(0.0, T, Y), q_steps_room.filled(0.0, G, Y, Y)};
    sum_product(lattice.unary, lattice.step, factors.of(lattice.step), lattice.group, lattice.group, p, sums);
    if (i < course.n_fixed) {
      for (Index t = 0; t < T; ++t) {
        q.marginal(t, course.goal(a + t)) = 1.0;
        if (t > 0) q.counts(lattice.group(t), course.goal(a + t - 1), course.goal(a + t)) += 1.0;
      }
    } else {
      View<double> base = base_room.filled(0.0, K), expected = expected_room.of(K);
      for (Index k = 0; k < shared.size(); ++k)
        for (Index m = 0; m < K; ++m) base(m) += corpus.a(k, m) * shared(k);
      const Index j = i - course.n_fixed;
      solver.solve(known_room.of(field, i), j, base, multiplier.row(j), {q.marginal, q.counts, expected});
      climb(corpus, expected, static_cast<double>(n_open), length, shared);
    }
    move_weights(scorer, lattice, 1.0 - length / n, length * course.weight(i), q, p, weights);
  }
}

}  // namespace semistruct
