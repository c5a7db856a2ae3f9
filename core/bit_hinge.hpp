// The loops of `bits/rule_hinge.py`, which says what they compute: those of dual.hpp with the bits of rules as losses.
#pragma once
#include "bits.hpp"
#include "dual.hpp"

namespace semistruct {

/// mu; v, one per bit; and what v adds to R_j, one per sequence.
struct Auxiliary {
  double mu;
  View<double> v;
  View<double> fixed;
};

/// (n, bits of sequence i): the bits of the labellings `here` in its working set.
inline View<double, 2> slot_bits(const Bits& bits, Index i, Index first, View<Label, 2> here, BitRoom& room) {
  View<double, 2> out = room.phi.of(here.shape[0], bits.start(i + 1) - bits.start(i));
  for (Index s = 0; s < here.shape[0]; ++s) bits_of(bits, first, here.row(s), out.row(s));
  return out;
}

/// Write the best v, and with it the loss of each slot; phi.row(0) are the bits of the target.
inline void settle_losses(Masses all, View<double, 2> phi, double mu, View<double> v) {
  for (Index k = 0; k < v.size(); ++k) {
    double mean = 0.0;
    for (Index s = 0; s < all.alpha.size(); ++s) mean += all.alpha(s) * phi(s, k);
    v(k) = std::min(1.0, 0.5 * (mean + phi(0, k)) + 1.0 / mu);
  }
  for (Index s = 0; s < phi.shape[0]; ++s) {
    all.loss(s) = 0.0;
    for (Index k = 0; k < v.size(); ++k) all.loss(s) += (mu / 4 - mu / 2 * v(k)) * phi(s, k);
  }
}

/// Like `find_violators`; writes v and its part of R_j, too.
inline void find_bit_violators(Reads<Index> which, const Sequences& rows, const Goal& goal, const Sets& sets,
                               const Weights& w, const Bits& bits, View<double> hinge, View<double> mean,
                               View<Label> found, const Auxiliary& aux) {
  BitRoom room;
  const double mu = aux.mu;
  for (Index i : which) {
    const Index a = rows.offsets(i), b = rows.offsets(i + 1), n = sets.used(i);
    const Reads<Label> kind = rows.kind.slice(a, b);
    const View<Label, 2> here = labellings(sets, i, b - a, n);
    const Masses all = masses(sets, i, n);
    View<double, 2> unary = room.unary.of(b - a, w.tokens.shape[1]), phi = slot_bits(bits, i, a, here, room);
    View<double> v = aux.v.slice(bits.start(i), bits.start(i + 1)), price = room.price.of(v.size());
    settle_losses(all, phi, mu, v);
    token_scores(rows, w.tokens, a, unary);
    const double at_target = path_score(unary, w.step, kind, goal.target.slice(a, b));
    mean(i) = aux.fixed(i) = 0.0;
    for (Index s = 0; s < n; ++s)
      if (all.alpha(s) > 0)
        mean(i) += all.alpha(s) * (all.loss(s) + path_score(unary, w.step, kind, here.row(s)) - at_target);
    for (Index k = 0; k < v.size(); ++k) {
      const double p = phi(0, k);
      aux.fixed(i) += 1.0 - v(k) + mu / 2 * v(k) * (v(k) - p) + mu / 4 * p;
      price(k) = mu / 4 - mu / 2 * v(k);
    }
    hinge(i) = best_priced(bits, a, price, w.step, kind, unary, found.slice(a, b), room) - at_target;
  }
}

/// Like `improve`.
inline void improve_bits(Reads<Index> which, const Sequences& rows, const Goal& goal, const Sets& sets,
                         const Weights& w, const Bits& bits, const Auxiliary& aux, double tol, Index max_pairs,
                         View<double> apart) {
  BitRoom room;
  DualRoom dual;
  for (Index i : which) {
    const Index n = sets.used(i), a = rows.offsets(i);
    const double C = goal.weight(i), mu = aux.mu;
    apart(i) = 0.0;
    if (n < 2 || C <= 0) continue;
    const View<Label, 2> here = labellings(sets, i, rows.offsets(i + 1) - a, n);
    const Masses all = masses(sets, i, n);
    View<double, 2> phi = slot_bits(bits, i, a, here, room), gram = room.gram.of(n, n);
    View<double> v = room.price.of(phi.shape[1]), h = dual.values.of(n), change = dual.change.of(n);
    settle_losses(all, phi, mu, v);
    with_gram(sets, i, [&](auto products) {
      for (Index s = 0; s < n; ++s)
        for (Index r = 0; r < n; ++r) {
          gram(s, r) = products(s, r);
          for (Index k = 0; k < v.size(); ++k) gram(s, r) += mu / (4 * C) * phi(s, k) * phi(r, k);
        }
    });
    copy(all.alpha, change);
    const Differences differences = disagreement(here, dual.differences);
    slot_values(a, rows, w, here, all.loss, differences, h, dual);
    const double first = balance(h, all.alpha, gram, C, tol, max_pairs);
    apart(i) = C * first;
    if (first <= tol) continue;
    for (Index s = 0; s < n; ++s) change(s) = C * (all.alpha(s) - change(s));
    move_weights(a, rows, w, here, change, differences, dual);
  }
}

}  // namespace semistruct
