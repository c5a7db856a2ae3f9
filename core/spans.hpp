// Span switching: whole spans change their label, boundaries shift, blocks swap; see switching.hpp.
#pragma once
#include "switching.hpp"

namespace semistruct {

constexpr Index REACH = 8;  // chunks a span may run over
constexpr int MOST = 20;    // moves per sequence and pass
constexpr Index SWAP = -1;  // in the place of a label: the two blocks of the window swap theirs

/// A move: labels y(s) .. y(e-1) become `label`, or swap.
struct Switch {
  Index s, e, label;
};

/// A sequence with its labels y and the messages for them; other is equal to y but for the window being tried.
struct Current {
  Index first;   // number of its first token
  double scale;  // the weight of its slack
  View<double, 2> unary;
  Reads<Label> kind;
  View<Label> y, other;
  View<double, 2> alpha, beta;
  View<Label> rival;              // (T,) the labelling z of the slack
  View<double, 2> along;          // (Y, T + 1): along(c, e) - along(c, s) = score of label c at s..e-1, with loss where
                                  // the rival has it too
  View<double> before;            // (T + 1,) the same for the labels y
  View<double, 2> cost_along;     // the same for the costs of local rules
  View<double> cost_before;
  View<double> odd_before;        // (T + 1,) the costs of blocks of wrong lengths that end before s - 1: a window
  View<double> odd_after;         // from s on does not touch them; and of those that begin after e
};

/// Memory for the present sequence.
struct SpanRoom {
  SwitchRoom base;
  Room<Label> rival, best_other;
  Room<double, 2> along, cost_along, work;
  Room<double> before, cost_before, odd_before, odd_after;
  std::vector<Index> points, bounds;
  std::vector<Switch> moves;

  /// Sequence i, with everything yet to be filled but its scores.
  Current begin(const Objective& objective, Index i, View<Label> y) {
    const Scorer& scorer = objective.scorer;
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1), T = b - a, Y = scorer.n_labels();
    View<double, 2> unary = base.unary.of(T, Y);
    token_scores(scorer, scorer.tokens, a, unary);
    return {a, objective.scale(i), unary, scorer.kind.slice(a, b), y.slice(a, b), base.other.of(T), base.alpha.of(T, Y),
            base.beta.of(T, Y), rival.of(T), along.of(Y, T + 1), before.of(T + 1), cost_along.of(Y, T + 1),
            cost_before.of(T + 1), odd_before.of(T + 1), odd_after.of(T + 1)};
  }
};

/// Recompute what depends on the labels y of a sequence.
inline void refresh(const Current& seq, Tables step, const Costs& costs, double loss) {
  const auto [T, Y] = seq.unary.shape;
  extend_alpha(seq.unary, step, seq.kind, seq.y, loss, seq.alpha, 0, T);
  fill_beta(seq.unary, step, seq.kind, seq.y, loss, seq.beta);
  trace_back(seq.alpha, step, seq.kind, seq.rival);
  seq.before(0) = seq.cost_before(0) = 0.0;
  for (Index t = 0; t < T; ++t) {
    const Index y = seq.y(t), into = costs.step_class(seq.first + t);
    seq.other(t) = seq.y(t);
    double cost = costs.token(costs.token_class(seq.first + t), y);
    cost += costs.step(into, t > 0 ? seq.y(t - 1) : Y, y);
    seq.cost_before(t + 1) = seq.cost_before(t) + cost;
    const double enter = t > 0 ? step(seq.kind(t), seq.y(t - 1), y) : 0.0;
    seq.before(t + 1) = seq.before(t) + enter + seq.unary(t, y) + (seq.rival(t) == y ? loss : 0.0);
  }
  for (Index c = 0; c < Y; ++c) {
    seq.along(c, 0) = seq.cost_along(c, 0) = 0.0;
    for (Index t = 0; t < T; ++t) {
      double cost = costs.token(costs.token_class(seq.first + t), c);
      cost += t > 0 ? costs.step(costs.step_class(seq.first + t), c, c) : 0.0;
      seq.cost_along(c, t + 1) = seq.cost_along(c, t) + cost;
      const double stay = t > 0 ? step(seq.kind(t), c, c) : 0.0;
      seq.along(c, t + 1) = seq.along(c, t) + stay + seq.unary(t, c) + (seq.rival(t) == c ? loss : 0.0);
    }
  }
}

/// Fill odd_before and odd_after.
inline void find_odd_blocks(const Current& seq, const Events& events, Reads<double> price) {
  const auto [T, Y] = seq.unary.shape;
  double total = 0.0;
  Index first = 0;
  seq.odd_before(0) = seq.odd_after(T) = 0.0;
  for (Index t = 1; t <= T; ++t) {
    seq.odd_before(t) = total;
    if (t < T && seq.y(t) == seq.y(first)) continue;
    const Index length = t - first;
    events.each(Y + seq.y(first), [&](const Entry& entry) {
      if (length < entry.least || length > entry.most) total += price(entry.term);
    });
    for (Index s = first; s < t; ++s) seq.odd_after(s) = total;
    first = t;
  }
  for (Index t = 0; t < T; ++t) seq.odd_after(t) = total - seq.odd_after(t);
}

/// A lower bound, in constant time, on the objective after y(s) .. y(e-1) become c: present rival, local rules only.
///
///   head_start  the score of the rival, and the loss if it had no label right
inline double least_value(const Current& seq, Tables step, const Costs& costs, double head_start, Switch move) {
  const auto [T, Y] = seq.unary.shape;
  const auto [s, e, c] = move;
  const Index into_s = costs.step_class(seq.first + s);
  double value = seq.before(T) - seq.before(e) + seq.before(s) + seq.along(c, e) - seq.along(c, s);
  double cost = seq.cost_before(T) - seq.cost_before(e) + seq.cost_before(s);
  cost = cost + seq.cost_along(c, e) - seq.cost_along(c, s);
  cost += costs.step(into_s, s > 0 ? seq.y(s - 1) : Y, c);
  if (s > 0) {
    value += step(seq.kind(s), seq.y(s - 1), c) - step(seq.kind(s), c, c);
    cost -= costs.step(into_s, c, c);
  }
  if (e < T) {
    const Index into_e = costs.step_class(seq.first + e);
    value += step(seq.kind(e), c, seq.y(e)) - step(seq.kind(e), seq.y(e - 1), seq.y(e));
    cost += costs.step(into_e, c, seq.y(e)) - costs.step(into_e, seq.y(e - 1), seq.y(e));
  }
  return seq.scale * std::max(0.0, head_start - value) + cost;
}

/// The exact slack after y(s) .. y(e-1) become those of `other`: one forward pass over the window; work (T, Y).
///
///   ceiling  the score of the best labelling, which is the rival of all if there is no loss
inline double slack_after(const Current& seq, Tables step, double loss, double score, double ceiling, Index s, Index e,
                          View<double, 2> work) {
  const Index Y = seq.unary.shape[1];
  double top = ceiling;
  if (loss != 0.0) {
    if (s > 0) copy(seq.alpha.row(s - 1), work.row(s - 1));
    extend_alpha(seq.unary, step, seq.kind, seq.other, loss, work, s, e);
    top = -INF;
    for (Index z = 0; z < Y; ++z) top = std::max(top, work(e - 1, z) + seq.beta(e - 1, z));
  }
  double gained = score_window(seq.unary, step, seq.kind, seq.other, s, e);
  gained -= score_window(seq.unary, step, seq.kind, seq.y, s, e);
  return std::max(0.0, top - score - gained);
}

/// Write the labels of a move into `other`; false if it changes nothing, or a known label.
inline bool write_window(const Current& seq, Switch move, Reads<Label> known) {
  const Label before = seq.y(move.s), after = seq.y(move.e - 1);
  bool same = true;
  for (Index t = move.s; t < move.e; ++t) {
    Label z = static_cast<Label>(move.label);
    if (move.label == SWAP) z = seq.y(t) == before ? after : before;
    seq.other(t) = z;
    same = same && z == seq.y(t);
    if (!known.empty() && known(seq.first + t) >= 0 && known(seq.first + t) != z) {
      same = true;
      break;
    }
  }
  if (same) copy(seq.y.slice(move.s, move.e), seq.other.slice(move.s, move.e));
  return !same;
}

/// The moves to try: spans between points, shifted boundaries, swapped neighbours.
///
///   cut (T or more,)  where a change of the label breaks no rule; spans run between such points and present changes
inline void candidate_moves(Reads<Label> y, Reads<bool> cut, Index Y, SpanRoom& room) {
  const Index T = y.size();
  std::vector<Index>&points = room.points, &bounds = room.bounds;
  std::vector<Switch>& moves = room.moves;
  points.clear(), bounds.clear(), moves.clear();
  for (Index t = 0; t <= T; ++t) {
    const bool edge = t == 0 || t == T || y(t) != y(t - 1);
    if (edge) bounds.push_back(t);
    if (edge || cut(t)) points.push_back(t);
  }
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size() && j <= i + REACH; ++j)
      for (Index c = 0; c < Y; ++c) moves.push_back({points[i], points[j], c});
  for (std::size_t i = 1; i + 1 < bounds.size(); ++i) {
    const Index before = bounds[i - 1], here = bounds[i], after = bounds[i + 1];
    for (Index t = before + 1; t < here; ++t) moves.push_back({t, here, y(here)});
    for (Index t = here + 1; t < after; ++t) moves.push_back({here, t, y(here - 1)});
    moves.push_back({before, after, SWAP});
  }
}

/// Span switching of each sequence until no move is better: relabel a span, shift a boundary, swap two blocks.
///
///   cut (n_tokens,)  see `candidate_moves`; moves (n,) counts the accepted ones
inline void switch_spans(Reads<Index> which, const Objective& objective, Reads<Label> known, Reads<bool> cut,
                         View<Label> y, const Ledger& ledger, View<Index> moves) {
  const Costs& costs = objective.costs;
  const Events& events = objective.events;
  const Tables step = objective.scorer.step;
  const double loss = objective.loss;
  const Index Y = objective.scorer.n_labels(), K = ledger.totals.size();
  SpanRoom room;
  View<double> change = room.base.change.of(K), best_change = room.base.best_change.of(K), spare = room.base.work.of(K);
  View<Index, 2> marks = room.base.marks.of(2, Y);
  for (Index i : which) {
    if (!is_better(0.0, price_of(objective, ledger, i).value)) continue;  // nothing is better than nothing
    const Current seq = room.begin(objective, i, y);
    const Index T = seq.y.size();
    View<double, 2> work = room.work.of(T, Y);
    View<Label> best_other = room.best_other.of(T);
    for (int round = 0; round < MOST; ++round) {
      Price best = price_of(objective, ledger, i);
      if (!is_better(0.0, best.value)) break;
      refresh(seq, step, costs, loss);
      find_odd_blocks(seq, events, objective.block_price);
      const double score = path_score(seq.unary, step, seq.kind, seq.y);
      const double head_start = loss * static_cast<double>(T) + path_score(seq.unary, step, seq.kind, seq.rival);
      Switch found{0, 0, 0};
      candidate_moves(seq.y, cut.slice(seq.first, seq.first + T), Y, room);
      for (const Switch& move : room.moves) {
        double least = seq.odd_before(move.s) + seq.odd_after(move.e);
        if (move.label != SWAP) least += least_value(seq, step, costs, head_start, move);
        if (!is_better(least, best.value) || !write_window(seq, move, known)) continue;
        count_change(events, seq.first, seq.y, seq.other, move.s, move.e, change, marks);
        Price price{};
        penalties(objective, ledger, i, change, spare, price.instance, price.corpus);
        if (is_better(std::max(least, price.instance) + price.corpus, best.value)) {
          price.slack = slack_after(seq, step, loss, score, head_start, move.s, move.e, work);
          price.value = seq.scale * price.slack + price.instance + price.corpus;
          if (is_better(price.value, best.value)) {
            best = price, found = move;
            copy(change, best_change);
            copy(seq.other.slice(move.s, move.e), best_other.slice(move.s, move.e));
          }
        }
        copy(seq.y.slice(move.s, move.e), seq.other.slice(move.s, move.e));
      }
      if (found.e == 0) break;
      copy(best_other.slice(found.s, found.e), seq.y.slice(found.s, found.e));
      accept(ledger, i, best_change, best);
      ++moves(i);
    }
  }
}

}  // namespace semistruct
