// The loops of `learning/solvers/rule_hinge.py`, which says what they compute: those of dual.hpp with the bits of rules
// as losses.
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

/// (n, bits of sequence i): the bits of the labellings in its working set.
inline View<double, 2> slot_bits(const Bits& bits, Index i, Index first, const Slots& slots, Memory& memory) {
  const View<double, 2> out = memory.of<double>(slots.size(), bits.start(i + 1) - bits.start(i));
  for (Index s = 0; s < slots.size(); ++s) bits_of(bits, first, slots.labels.row(s), out.row(s));
  return out;
}

/// Write the best v, and with it the loss of each slot; phi.row(0) are the bits of the target.
inline void settle_losses(const Slots& slots, View<double, 2> phi, double mu, View<double> v) {
  for (Index k = 0; k < v.size(); ++k) {
    double mean = 0.0;
    for (Index s = 0; s < slots.size(); ++s) mean += slots.alpha(s) * phi(s, k);
    v(k) = std::min(1.0, 0.5 * (mean + phi(0, k)) + 1.0 / mu);
  }
  for (Index s = 0; s < slots.size(); ++s) {
    slots.loss(s) = 0.0;
    for (Index k = 0; k < v.size(); ++k) slots.loss(s) += (mu / 4 - mu / 2 * v(k)) * phi(s, k);
  }
}

/// Like `find_violators`; writes v and its part of R_j, too.
inline void find_bit_violators(const Which& which, const Sequences& rows, const Goal& goal, const Sets& sets,
                               const Weights& w, const Bits& bits, View<double> hinge, View<double> mean,
                               View<Label> found, const Auxiliary& aux) {
  const double mu = aux.mu;
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(rows, w.tokens, w.step, i, memory);
    const Slots slots = sets.slots(i);
    const View<double, 2> phi = slot_bits(bits, i, chain.first, slots, memory);
    const View<double> v = bits.of(aux.v, i), price = memory.of<double>(v.size());
    settle_losses(slots, phi, mu, v);
    const double at_target = path_score(chain, chain.part(goal.target));
    mean(i) = mean_value(chain, slots, at_target);
    aux.fixed(i) = 0.0;
    for (Index k = 0; k < v.size(); ++k) {
      const double p = phi(0, k);
      aux.fixed(i) += 1.0 - v(k) + mu / 2 * v(k) * (v(k) - p) + mu / 4 * p;
      price(k) = mu / 4 - mu / 2 * v(k);
    }
    hinge(i) = best_priced(bits, chain, price, chain.part(found), memory) - at_target;
  });
}

/// Like `improve`.
inline void improve_bits(const Which& which, const Sequences& rows, const Goal& goal, const Sets& sets,
                         const Weights& w, const Bits& bits, const Auxiliary& aux, double tol, Index max_pairs,
                         View<double> apart) {
  which.each([&](Index i, Memory& memory) {
    const Index n = sets.used(i), a = rows.offsets(i);
    const double C = goal.weight(i), mu = aux.mu;
    apart(i) = 0.0;
    if (n < 2 || C <= 0) return;
    const Slots slots = sets.slots(i);
    const View<double, 2> phi = slot_bits(bits, i, a, slots, memory), gram = memory.of<double>(n, n);
    settle_losses(slots, phi, mu, memory.of<double>(phi.shape[1]));
    sets.with_gram(i, [&](auto products) {
      for (Index s = 0; s < n; ++s)
        for (Index r = 0; r < n; ++r) {
          gram(s, r) = products(s, r);
          for (Index k = 0; k < phi.shape[1]; ++k) gram(s, r) += mu / (4 * C) * phi(s, k) * phi(r, k);
        }
    });
    apart(i) = improve_slots(a, rows, w, slots, gram, C, {tol, max_pairs}, memory);
  });
}

}  // namespace semistruct
