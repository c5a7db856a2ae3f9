// The loops of the sequential dual method; `learning/solvers/sdm.py` explains what they compute, and calls them.
//
// In the formulas psi_s = f(x_i, y_i) - f(x_i, y_s), the value of slot s is h_s = L_s - w.psi_s, and
// w = sum_i C_i sum_s alpha_s psi_s.  `here` (n, T) are the labellings of a working set, the first being the target,
// and `first` is the number of the first token of the example among all tokens.
#pragma once
#include "working_sets.hpp"

namespace semistruct {

/// The weights that are learned; step are the effective tables trans(0) and trans(0) + trans(k).
struct Weights {
  View<double, 2> tokens;  // (F, Y)
  View<double, 3> trans;   // (K, Y, Y)
  View<double, 3> step;    // (K, Y, Y)

  /// Add to the weight of a step of kind k.
  void add_step(Index k, Index y, Index z, double amount) const {
    trans(0, y, z) += amount;
    for (Index m = 0; m < step.shape[0]; ++m) step(m, y, z) += amount;
    if (k == 0) return;
    trans(k, y, z) += amount;
    step(k, y, z) += amount;
  }
};

/// The weights of one label at the features of a token move by `amount` times their values.
struct Move {
  Index label;
  double amount;
};

/// sum_s alpha_s h_s, where at_target is the score of the target.
inline double mean_value(const Chain& chain, const Slots& slots, double at_target) {
  double mean = 0.0;
  for (Index s = 0; s < slots.size(); ++s)
    if (slots.alpha(s) > 0)
      mean += slots.alpha(s) * (slots.loss(s) + path_score(chain, slots.labels.row(s)) - at_target);
  return mean;
}

/// Loss-augmented Viterbi at fixed w: hinge(i) = max_y h(y), mean(i) = sum_s alpha_s h_s, found = the argmax.
inline void find_violators(const Which& which, const Sequences& rows, const Goal& goal, const Sets& sets,
                           const Weights& w, View<double> hinge, View<double> mean, View<Label> found) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(rows, w.tokens, w.step, i, memory);
    const auto [T, Y] = chain.unary.shape;
    const Reads<Label> target = chain.part(goal.target);
    const double at_target = path_score(chain, target);
    mean(i) = mean_value(chain, sets.slots(i), at_target);
    for (Index t = 0; t < T; ++t) {
      const double right = chain.unary(t, target(t)), cost = goal.margin * goal.cost(chain.first + t);
      for (double& score : chain.unary.row(t)) score += cost;
      chain.unary(t, target(t)) = right;
    }
    hinge(i) = viterbi(chain, memory.of<double>(T, Y), chain.part(found)) - at_target;
  });
}

/// h(s) for all slots; only positions where the labellings differ are scored.
inline void slot_values(Index first, const Sequences& rows, const Weights& w, const Slots& slots,
                        const Differences& differences, View<double> h, Memory& memory) {
  const Memory::Scope scope(memory);
  const View<Index> where = differences.where, edges = differences.edges;
  const Reads<Label> target = slots.labels.row(0), kind = rows.kind.slice(first, first + target.size());
  const View<double, 2> U = memory.of<double>(where.size(), w.tokens.shape[1]);
  const View<double> base = memory.of<double>(edges.size());
  score_tokens(rows, w.tokens, U, [&](Index p) { return first + where(p); });
  for (Index p = 0; p < where.size(); ++p) {
    const double right = U(p, target(where(p)));
    for (double& score : U.row(p)) score -= right;
  }
  for (Index e = 0; e < edges.size(); ++e) {
    const Index t = edges(e);
    base(e) = w.step(kind(t), target(t - 1), target(t));
  }
  for (Index s = 0; s < slots.size(); ++s) {
    const Reads<Label> path = slots.labels.row(s);
    const auto [begin, end] = differences.places(s);
    const auto [first_step, last_step] = differences.steps(s);
    double value = slots.loss(s);
    for (Index p = begin; p < end; ++p) value += U(p, path(where(p)));
    for (Index e = first_step; e < last_step; ++e) {
      const Index t = edges(e);
      value += w.step(kind(t), path(t - 1), path(t)) - base(e);
    }
    h(s) = value;
  }
}

/// Move mass between pairs of slots until the values of those with mass are within tol of the largest.
///
/// The receiver has the largest value, the giver is the one that raises the dual most.  Returns how far the values were
/// apart at first.  Moving m from r to s changes w by C m (psi_s - psi_r), hence h_q by -C m (G_sq - G_rq).
template <class Gram>
double balance(View<double> h, View<double> alpha, View<Gram, 2> gram, double C, double tol, Index max_pairs) {
  const Index n = h.size();
  double first = -1.0;
  for (Index pair = 0; pair < max_pairs; ++pair) {
    Index up = 0, low = -1;
    for (Index s = 1; s < n; ++s)
      if (h(s) > h(up)) up = s;
    double spread = 0.0, size = 0.0, best = 0.0;
    for (Index s = 0; s < n; ++s) {
      if (alpha(s) <= 0 || s == up) continue;
      const double apart = h(up) - h(s);
      spread = std::max(spread, apart);
      const double curve = C * (static_cast<double>(gram(up, up)) + gram(s, s) - 2.0 * gram(up, s));
      const double move = alpha(s) * curve <= apart ? alpha(s) : apart / curve;
      const double gain = move * (apart - 0.5 * move * curve);
      if (gain > best) low = s, size = move, best = gain;
    }
    if (first < 0) first = spread;
    if (low < 0 || spread <= tol) break;
    alpha(up) += size;
    alpha(low) = size == alpha(low) ? 0.0 : alpha(low) - size;
    for (Index s = 0; s < n; ++s) h(s) -= C * size * (gram(up, s) - gram(low, s));
  }
  return first;
}

/// w += sum_s change(s) * psi_s.
inline void move_weights(Index first, const Sequences& rows, const Weights& w, View<const Label, 2> here,
                         Reads<double> change, const Differences& differences, Memory& memory) {
  const Memory::Scope scope(memory);
  const View<Index> where = differences.where, edges = differences.edges;
  const Reads<Label> target = here.row(0);
  const View<Move, 2> moves = memory.of<Move>(where.size(), w.tokens.shape[1]);  // of each position, the target first
  const View<Index> used = memory.filled<Index>(1, where.size());
  for (Index p = 0; p < where.size(); ++p) moves(p, 0) = {target(where(p)), 0.0};
  for (Index s = 0; s < change.size(); ++s) {
    if (change(s) == 0) continue;
    for (Index p = differences.places(s).begin; p < differences.places(s).end; ++p) {
      const Index y = here(s, where(p));
      Move* own = &moves(p, 0);
      if (y == own->label) continue;
      Index q = 1;
      while (q < used(p) && own[q].label != y) ++q;
      if (q == used(p)) own[used(p)++] = {y, 0.0};
      own[q].amount -= change(s);
      own->amount += change(s);
    }
  }
  for (Index p = 0; p < where.size(); ++p) {
    const auto move = [&](auto... each) {
      rows.each(first + where(p), [&](Index f, double value) {
        double* row = &w.tokens(f, 0);
        ((row[each.label] += value * each.amount), ...);
      });
    };
    const Index m = used(p);
    const Move* own = &moves(p, 0);
    Index q = 0;
    if (m > 1 && m % 2 == 1) move(own[0], own[1], own[2]), q = 3;
    for (; q + 1 < m; q += 2) move(own[q], own[q + 1]);
  }
  for (Index s = 0; s < change.size(); ++s) {
    if (change(s) == 0) continue;
    for (Index t : edges.slice(differences.steps(s).begin, differences.steps(s).end)) {
      const Index k = rows.kind(first + t), y = here(s, t - 1), z = here(s, t);
      if (y == target(t - 1) && z == target(t)) continue;
      w.add_step(k, target(t - 1), target(t), change(s));
      w.add_step(k, y, z, -change(s));
    }
  }
}

/// How exactly a working set is balanced.
struct Effort {
  double tol;
  Index max_pairs;
};

/// Balance one working set with masses of C in all; returns C times how far its values were apart before.
template <class Gram>
double improve_slots(Index first, const Sequences& rows, const Weights& w, const Slots& slots, Gram gram, double C,
                     Effort effort, Memory& memory) {
  const View<double> h = memory.of<double>(slots.size()), change = memory.of<double>(slots.size());
  copy(slots.alpha, change);
  const Differences differences = disagreement(slots.labels, memory);
  slot_values(first, rows, w, slots, differences, h, memory);
  const double apart = balance(h, slots.alpha, gram, C, effort.tol, effort.max_pairs);
  if (apart <= effort.tol) return C * apart;
  for (Index s = 0; s < slots.size(); ++s) change(s) = C * (slots.alpha(s) - change(s));
  move_weights(first, rows, w, slots.labels, change, differences, memory);
  return C * apart;
}

/// Balance the working set of each example in turn; apart(i) = C_i * how far its values were apart before.
inline void improve(const Which& which, const Sequences& rows, const Goal& goal, const Sets& sets, const Weights& w,
                    double tol, Index max_pairs, View<double> apart) {
  which.each([&](Index i, Memory& memory) {
    apart(i) = 0.0;
    if (sets.used(i) < 2 || goal.weight(i) <= 0) return;
    apart(i) = sets.with_gram(i, [&](auto gram) {
      return improve_slots(rows.offsets(i), rows, w, sets.slots(i), gram, goal.weight(i), {tol, max_pairs}, memory);
    });
  });
}

/// Carry the dual variables over to new targets and new C_i; writes the w they stand for.
///
/// Mass on the old target moves to the new one.  Where C_i grew the other masses shrink by the same factor, which
/// leaves their share of w as it was.
inline void rebase(const Which& which, const Sequences& rows, const Goal& goal, Reads<double> old_weight,
                   const Sets& sets, const Weights& w) {
  SlotWriter writer(rows, goal, sets, w.trans);
  std::fill(w.tokens.begin(), w.tokens.end(), 0.0);
  std::fill(w.trans.begin(), w.trans.end(), 0.0);
  which.each([&](Index i, Memory& memory) {
    const Index a = rows.offsets(i), T = rows.offsets(i + 1) - a;
    const Reads<Label> target = goal.target.slice(a, a + T);
    const double C = goal.weight(i), keep = C > 0 ? std::min(1.0, old_weight(i) / C) : 0.0;
    const Slots old = sets.slots(i);
    const View<Label, 2> before = memory.of<Label>(old.size(), T);
    const View<double> mass = memory.of<double>(old.size());
    std::copy(old.labels.begin(), old.labels.end(), before.begin());
    copy(old.alpha, mass);
    sets.used(i) = 0;
    writer.append(i, target, 1.0);
    for (Index s = 1; s < old.size(); ++s)
      if (mass(s) * keep > 0 && !equal(before.row(s), target)) writer.append(i, before.row(s), mass(s) * keep);
    const Slots slots = sets.slots(i);
    const View<double> change = memory.filled(0.0, slots.size());
    double others = 0.0;
    for (Index s = 1; s < slots.size(); ++s) {
      others += slots.alpha(s);
      change(s) = C * slots.alpha(s);
    }
    slots.alpha(0) = std::max(0.0, 1.0 - others);
    move_weights(a, rows, w, slots.labels, change, disagreement(slots.labels, memory), memory);
  });
}

}  // namespace semistruct
