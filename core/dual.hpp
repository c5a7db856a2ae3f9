// The loops of the sequential dual method; `solvers/sdm.py` explains what they compute, and calls them.
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
};

/// The weights of one label at the features of a token move by `amount` times their values.
struct Move {
  Index label;
  double amount;
};

/// Memory for one example after the other.
struct DualRoom {
  DifferenceRoom differences;
  Room<Index> used, changed;
  Room<Move, 2> moves;
  Room<double, 2> unary, best;
  Room<double> base, values, change;
};

/// Loss-augmented Viterbi at fixed w: hinge(i) = max_y h(y), mean(i) = sum_s alpha_s h_s, found = the argmax.
inline void find_violators(Reads<Index> which, const Sequences& rows, const Goal& goal, const Sets& sets,
                           const Weights& w, View<double> hinge, View<double> mean, View<Label> found) {
  DualRoom room;
  const Index Y = w.tokens.shape[1];
  for (Index i : which) {
    const Index a = rows.offsets(i), b = rows.offsets(i + 1), T = b - a, n = sets.used(i);
    View<double, 2> unary = room.unary.of(T, Y), best = room.best.of(T, Y);
    const Reads<Label> kind = rows.kind.slice(a, b), target = goal.target.slice(a, b);
    token_scores(rows, w.tokens, a, unary);
    const double at_target = path_score(unary, w.step, kind, target);
    const Masses all = masses(sets, i, n);
    const View<Label, 2> here = labellings(sets, i, T, n);
    mean(i) = 0.0;
    for (Index s = 1; s < n; ++s)
      if (all.alpha(s) > 0)
        mean(i) += all.alpha(s) * (all.loss(s) + path_score(unary, w.step, kind, here.row(s)) - at_target);
    for (Index t = 0; t < T; ++t) {
      const double right = unary(t, target(t)), cost = goal.margin * goal.cost(a + t);
      for (double& score : unary.row(t)) score += cost;
      unary(t, target(t)) = right;
    }
    hinge(i) = viterbi(unary, w.step, kind, best, found.slice(a, b)) - at_target;
  }
}

/// h(s) for all slots; only positions where the labellings differ are scored.
inline void slot_values(Index first, const Sequences& rows, const Weights& w, View<const Label, 2> here,
                        Reads<double> loss, const Differences& differences, View<double> h, DualRoom& room) {
  const auto& [where, edges, spans] = differences;
  const Index Y = w.tokens.shape[1];
  const Reads<Label> target = here.row(0), kind = rows.kind.slice(first, first + target.size());
  View<double, 2> U = room.unary.of(where.size(), Y);
  View<double> base = room.base.of(edges.size());
  score_tokens(rows, w.tokens, U, [&, &where = where](Index p) { return first + where(p); });
  for (Index p = 0; p < where.size(); ++p) {
    const double right = U(p, target(where(p)));
    for (double& score : U.row(p)) score -= right;
  }
  for (Index e = 0; e < edges.size(); ++e) {
    const Index t = edges(e);
    base(e) = w.step(kind(t), target(t - 1), target(t));
  }
  for (Index s = 0; s < here.shape[0]; ++s) {
    const Reads<Label> path = here.row(s);
    double value = loss(s);
    for (Index p = spans(s, 0); p < spans(s, 1); ++p) value += U(p, path(where(p)));
    for (Index e = spans(s, 2); e < spans(s, 3); ++e) {
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

/// Add to the weight of a step of kind k.
inline void add_step(const Weights& w, Index k, Index y, Index z, double amount) {
  w.trans(0, y, z) += amount;
  for (Index m = 0; m < w.step.shape[0]; ++m) w.step(m, y, z) += amount;
  if (k == 0) return;
  w.trans(k, y, z) += amount;
  w.step(k, y, z) += amount;
}

/// tokens(f, label) += value * amount for the features f of a token and each of the moves.
template <class... Moves>
void move_token(const Sequences& rows, View<double, 2> tokens, Index token, Moves... moves) {
  const Index end = rows.indptr(token + 1), stride = rows.values.size() == 1 ? 0 : 1;
  for (Index j = rows.indptr(token); j < end; ++j) {
    double* row = &tokens(rows.indices(j), 0);
    const double value = rows.values(j * stride);
    ((row[moves.label] += value * moves.amount), ...);
  }
}

/// w += sum_s change(s) * psi_s.
inline void move_weights(Index first, const Sequences& rows, const Weights& w, View<const Label, 2> here,
                         Reads<double> change, const Differences& differences, DualRoom& room) {
  const auto& [where, edges, spans] = differences;
  const Reads<Label> target = here.row(0);
  View<Move, 2> moves = room.moves.of(where.size(), w.tokens.shape[1]);  // of each position, the target first
  View<Index> used = room.used.of(where.size()), changed = room.changed.of(change.size());
  for (Index p = 0; p < where.size(); ++p) used(p) = 1, moves(p, 0) = {target(where(p)), 0.0};
  Index n = 0;
  for (Index s = 0; s < change.size(); ++s) {
    if (change(s) == 0) continue;
    changed(n++) = s;
    for (Index p = spans(s, 0); p < spans(s, 1); ++p) {
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
    const Index m = used(p), token = first + where(p);
    const Move* own = &moves(p, 0);
    Index q = 0;
    if (m > 1 && m % 2 == 1) move_token(rows, w.tokens, token, own[0], own[1], own[2]), q = 3;
    for (; q + 1 < m; q += 2) move_token(rows, w.tokens, token, own[q], own[q + 1]);
  }
  for (Index s : changed.slice(0, n))
    for (Index e = spans(s, 2); e < spans(s, 3); ++e) {
      const Index t = edges(e), k = rows.kind(first + t), y = here(s, t - 1), z = here(s, t);
      if (y == target(t - 1) && z == target(t)) continue;
      add_step(w, k, target(t - 1), target(t), change(s));
      add_step(w, k, y, z, -change(s));
    }
}

/// Balance the working set of each example in turn; apart(i) = C_i * how far its values were apart before.
inline void improve(Reads<Index> which, const Sequences& rows, const Goal& goal, const Sets& sets, const Weights& w,
                    double tol, Index max_pairs, View<double> apart) {
  DualRoom room;
  for (Index i : which) {
    const Index n = sets.used(i), a = rows.offsets(i);
    const double C = goal.weight(i);
    apart(i) = 0.0;
    if (n < 2 || C <= 0) continue;
    const View<Label, 2> here = labellings(sets, i, rows.offsets(i + 1) - a, n);
    const Masses all = masses(sets, i, n);
    View<double> h = room.values.of(n), change = room.change.of(n);
    copy(all.alpha, change);
    const Differences differences = disagreement(here, room.differences);
    slot_values(a, rows, w, here, all.loss, differences, h, room);
    const double first = with_gram(sets, i, [&](auto gram) { return balance(h, all.alpha, gram, C, tol, max_pairs); });
    apart(i) = C * first;
    if (first <= tol) continue;
    for (Index s = 0; s < n; ++s) change(s) = C * (all.alpha(s) - change(s));
    move_weights(a, rows, w, here, change, differences, room);
  }
}

/// Carry the dual variables over to new targets and new C_i; writes the w they stand for.
///
/// Mass on the old target moves to the new one.  Where C_i grew the other masses shrink by the same factor, which
/// leaves their share of w as it was.
inline void rebase(const Sequences& rows, const Goal& goal, Reads<double> old_weight, const Sets& sets,
                   const Weights& w) {
  DualRoom room;
  SlotRoom slots(w.trans);
  std::fill(w.tokens.begin(), w.tokens.end(), 0.0);
  std::fill(w.trans.begin(), w.trans.end(), 0.0);
  for (Index i = 0; i < rows.offsets.size() - 1; ++i) {
    const Index a = rows.offsets(i), b = rows.offsets(i + 1), T = b - a, old = sets.used(i);
    const Reads<Label> target = goal.target.slice(a, b);
    const double C = goal.weight(i), keep = C > 0 ? std::min(1.0, old_weight(i) / C) : 0.0;
    const View<Label, 2> before = slots.old.of(old, T), source = labellings(sets, i, T, old);
    View<double> mass = slots.mass.of(old);
    std::copy(source.begin(), source.end(), before.begin());
    copy(masses(sets, i, old).alpha, mass);
    sets.used(i) = 0;
    append_slot(i, rows, goal, sets, target, 1.0, slots);
    for (Index s = 1; s < old; ++s)
      if (mass(s) * keep > 0 && !equal(before.row(s), target))
        append_slot(i, rows, goal, sets, before.row(s), mass(s) * keep, slots);
    const Index n = sets.used(i);
    const View<double> alpha = masses(sets, i, n).alpha;
    View<double> change = room.change.of(n);
    double others = 0.0;
    change(0) = 0.0;
    for (Index s = 1; s < n; ++s) {
      others += alpha(s);
      change(s) = C * alpha(s);
    }
    alpha(0) = std::max(0.0, 1.0 - others);
    const View<Label, 2> here = labellings(sets, i, T, n);
    move_weights(a, rows, w, here, change, disagreement(here, room.differences), room);
  }
}

}  // namespace semistruct
