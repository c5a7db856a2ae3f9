// Span switching: whole spans change their label, boundaries shift, blocks swap; see switching.hpp.
#pragma once
#include "switching.hpp"

namespace semistruct {

constexpr Index REACH = 8;  // chunks a span may run over
constexpr int MOST = 20;    // moves per sequence and pass
constexpr Index SWAP = -1;  // in the place of a label: the two blocks of the window swap theirs

/// Sums along a sequence of what labels score and cost, which bound in constant time what a move can bring.
struct Sums {
  View<Label> rival;           // (T,) the labelling z of the slack
  View<double, 2> along;       // (Y, T + 1): along(c, e) - along(c, s) = score of label c at s..e-1, with loss where
                               // the rival has it too
  View<double> before;         // (T + 1,) the same for the labels y
  View<double, 2> cost_along;  // the same for the costs of local rules
  View<double> cost_before;
  View<double> odd_before;     // (T + 1,) the costs of blocks of wrong lengths that end before s - 1: a window
  View<double> odd_after;      // from s on does not touch them; and of those that begin after e
  double head_start;           // the score of the rival, and the loss if it had no label right

  Sums(Index T, Index Y, Memory& memory)
      : rival(memory.of<Label>(T)), along(memory.of<double>(Y, T + 1)), before(memory.of<double>(T + 1)),
        cost_along(memory.of<double>(Y, T + 1)), cost_before(memory.of<double>(T + 1)),
        odd_before(memory.of<double>(T + 1)), odd_after(memory.of<double>(T + 1)), head_start(0.0) {}

  /// Recompute everything for the labels y of a sequence with alpha.
  void refresh(const Current& seq) {
    const Chain& chain = seq.chain;
    const auto [T, Y] = chain.unary.shape;
    const Costs& costs = seq.objective.costs;
    const double loss = seq.objective.loss;
    // sums over t of what label z scores and costs after label y
    const auto add = [&](Index t, Index y, Index z, double step_cost, double* score, double* cost) {
      cost[t + 1] = cost[t] + (costs.token(costs.token_class(chain.first + t), z) + step_cost);
      const double enter = t > 0 ? chain.step(chain.kind(t), y, z) : 0.0;
      score[t + 1] = score[t] + enter + chain.unary(t, z) + (rival(t) == z ? loss : 0.0);
    };
    trace_back(chain, seq.alpha, rival);
    head_start = loss * static_cast<double>(T) + path_score(chain, rival);
    before(0) = cost_before(0) = 0.0;
    for (Index t = 0; t < T; ++t) {
      const Index last = t > 0 ? seq.y(t - 1) : Y;
      add(t, last, seq.y(t), costs.step(costs.step_class(chain.first + t), last, seq.y(t)), before.data,
          cost_before.data);
    }
    for (Index c = 0; c < Y; ++c) {
      along(c, 0) = cost_along(c, 0) = 0.0;
      for (Index t = 0; t < T; ++t) {
        const double stay = t > 0 ? costs.step(costs.step_class(chain.first + t), c, c) : 0.0;
        add(t, c, c, stay, &along(c, 0), &cost_along(c, 0));
      }
    }
    find_odd_blocks(seq);
  }

  /// Fill odd_before and odd_after.
  void find_odd_blocks(const Current& seq) const {
    const auto [T, Y] = seq.chain.unary.shape;
    double total = 0.0;
    Index first = 0;
    odd_before(0) = odd_after(T) = 0.0;
    for (Index t = 1; t <= T; ++t) {
      odd_before(t) = total;
      if (t < T && seq.y(t) == seq.y(first)) continue;
      const Index length = t - first;
      seq.objective.events.each(Y + seq.y(first), [&](const Entry& entry) {
        if (length < entry.least || length > entry.most) total += seq.objective.block_price(entry.term);
      });
      for (Index s = first; s < t; ++s) odd_after(s) = total;
      first = t;
    }
    for (Index t = 0; t < T; ++t) odd_after(t) = total - odd_after(t);
  }

  /// A lower bound on the objective after a move: present rival, local rules and blocks that it does not touch.
  double least_value(const Current& seq, const Switch& move) const {
    const Chain& chain = seq.chain;
    const Costs& costs = seq.objective.costs;
    const auto [T, Y] = chain.unary.shape;
    const auto [s, e, c] = move;
    const double odd = odd_before(s) + odd_after(e);
    if (c == SWAP) return odd;
    const Index into_s = costs.step_class(chain.first + s);
    double value = before(T) - before(e) + before(s) + along(c, e) - along(c, s);
    double cost = cost_before(T) - cost_before(e) + cost_before(s);
    cost = cost + cost_along(c, e) - cost_along(c, s);
    cost += costs.step(into_s, s > 0 ? seq.y(s - 1) : Y, c);
    if (s > 0) {
      value += chain.step(chain.kind(s), seq.y(s - 1), c) - chain.step(chain.kind(s), c, c);
      cost -= costs.step(into_s, c, c);
    }
    if (e < T) {
      const Index into_e = costs.step_class(chain.first + e);
      value += chain.step(chain.kind(e), c, seq.y(e)) - chain.step(chain.kind(e), seq.y(e - 1), seq.y(e));
      cost += costs.step(into_e, c, seq.y(e)) - costs.step(into_e, seq.y(e - 1), seq.y(e));
    }
    return odd + (seq.scale * std::max(0.0, head_start - value) + cost);
  }
};

/// The exact slack after y(s) .. y(e-1) become those of `other`: one forward pass over the window; work (T, Y).
///
///   ceiling  the score of the best labelling, which is the rival of all if there is no loss
inline double slack_after(const Current& seq, double score, double ceiling, Index s, Index e, View<double, 2> work) {
  const double loss = seq.objective.loss;
  double top = ceiling;
  if (loss != 0.0) {
    if (s > 0) copy(seq.alpha.row(s - 1), work.row(s - 1));
    extend_alpha(seq.chain, seq.other, loss, work, s, e);
    top = -INF;
    for (Index z = 0; z < work.shape[1]; ++z) top = std::max(top, work(e - 1, z) + seq.beta(e - 1, z));
  }
  const double gained = score_window(seq.chain, seq.other, s, e) - score_window(seq.chain, seq.y, s, e);
  return std::max(0.0, top - score - gained);
}

/// Write the labels of a move into `other`; false if it changes nothing, or a known label.
inline bool write_window(const Current& seq, Switch move, Reads<Label> known) {
  const Label before = seq.y(move.s), after = seq.y(move.e - 1);
  bool changes = false, allowed = true;
  for (Index t = move.s; t < move.e && allowed; ++t) {
    Label z = static_cast<Label>(move.label);
    if (move.label == SWAP) z = seq.y(t) == before ? after : before;
    seq.other(t) = z;
    changes = changes || z != seq.y(t);
    allowed = !forbids(known, seq.chain.first + t, z);
  }
  if (!changes || !allowed) copy(seq.y.slice(move.s, move.e), seq.other.slice(move.s, move.e));
  return changes && allowed;
}

/// Write the moves to try: spans between points, shifted boundaries, swapped neighbours.
///
///   cut (T or more,)  where a change of the label breaks no rule; spans run between such points and present changes
inline void candidate_moves(Reads<Label> y, Reads<bool> cut, Index Y, std::vector<Switch>& moves) {
  const Index T = y.size();
  std::vector<Index> points, bounds;
  moves.clear();
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
inline void switch_spans(const Which& which, const Objective& objective, Reads<Label> known, Reads<bool> cut,
                         View<Label> y, const Ledger& ledger, View<Index> moves) {
  std::vector<Switch> candidates;
  which.each([&](Index i, Memory& memory) {
    if (!is_better(0.0, objective.scale(i) * ledger.slack(i) + ledger.instance(i) + ledger.corpus(0))) return;
    Current seq(objective, ledger, i, y, memory);
    const Chain& chain = seq.chain;
    const auto [T, Y] = chain.unary.shape;
    Sums sums(T, Y, memory);
    const View<double, 2> work = memory.of<double>(T, Y);
    for (int round = 0; round < MOST; ++round) {
      which.check();
      seq.start();
      if (!is_better(0.0, seq.best.value)) break;  // nothing is better than nothing
      extend_alpha(chain, seq.y, objective.loss, seq.alpha, 0, T);
      seq.fill_beta(memory);
      sums.refresh(seq);
      const double score = path_score(chain, seq.y);
      candidate_moves(seq.y, chain.part(cut), Y, candidates);
      for (const Switch& move : candidates) {
        const double least = sums.least_value(seq, move);
        if (!is_better(least, seq.best.value) || !write_window(seq, move, known)) continue;
        seq.consider(move, least, [&] { return slack_after(seq, score, sums.head_start, move.s, move.e, work); });
        copy(seq.y.slice(move.s, move.e), seq.other.slice(move.s, move.e));
      }
      if (!seq.accept()) break;
      ++moves(i);
    }
  });
}

}  // namespace semistruct
