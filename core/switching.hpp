// Label switching: hill climbing on the labels of sequences, for fixed weights, to lower
//
//   sum_i scale_i * slack_i(y_i) + penalty(y),    slack_i(y) = max_z [ loss * |z != y| + score(z) ] - score(y)
//
// with the penalties of instance rules and, through running totals, of corpus rules.  loss = 0 leaves the shortfall of
// the score instead of the slack, which is what decoding under corpus rules needs.
//
//   alpha(t, z)   best of  loss + score  over labellings of 0..t that end in z
//   beta(t, z)    ... over labellings of t+1.. given z at t
//   costs         of local rules: a part of the penalty that is quickly had, and a bound for moves that need not be
//                 looked at any further
#pragma once
#include "events.hpp"

namespace semistruct {

constexpr double LEAST = 1e-9;  // relative improvement below which a switch is taken for rounding

/// What is lowered: sequences and their scores, rules, and the weight of the slack.
struct Objective {
  Scorer scorer;
  Costs costs;
  Events events;
  Reads<Target> targets;
  Reads<Index> instance, corpus;  // the terms of either level
  Reads<double> block_price;      // (K,) what a block of a wrong length costs
  Reads<double> scale;            // (n,)
  double loss;
};

/// What switching keeps up to date.
struct Ledger {
  View<double, 2> counts;        // (n, K) of every sequence
  View<double> totals;           // (K,) their sum
  View<double> slack, instance;  // (n,) slack, and penalty of instance rules
  View<double> corpus;           // (1,) penalty of corpus rules
};

/// One value of the objective for a sequence, in its parts.
struct Price {
  double value, slack, instance, corpus;
};

/// A move: labels y(s) .. y(e-1) become `label`.
struct Switch {
  Index s, e, label;
};

inline bool is_better(double value, double old) { return value < old - LEAST * (1.0 + std::abs(old)); }

/// Add the loss to the scores (Y,) of all labels but the right one.
inline void add_loss(View<double> scores, Index right, double loss) {
  const double own = scores(right);
  for (double& score : scores) score += loss;
  scores(right) = own;
}

/// Fill alpha(first) .. alpha(last-1) from alpha(first-1).
inline void extend_alpha(const Chain& chain, Reads<Label> y, double loss, View<double, 2> alpha, Index first,
                         Index last) {
  for (Index t = first; t < last; ++t) {
    if (t == 0)
      copy(chain.unary.row(0), alpha.row(0));
    else
      step_forward(&alpha(t - 1, 0), chain.into(t), &chain.unary(t, 0), chain.n_labels(), &alpha(t, 0));
    add_loss(alpha.row(t), y(t), loss);
  }
}

/// The part of the score that labels y(s) .. y(e-1) have a say in.
inline double score_window(const Chain& chain, Reads<Label> y, Index s, Index e) {
  double total = 0.0;
  for (Index t = s; t < std::min(e + 1, y.size()); ++t) {
    if (t < e) total += chain.unary(t, y(t));
    if (t > 0) total += chain.step(chain.kind(t), y(t - 1), y(t));
  }
  return total;
}

/// The costs of local rules that labels y(s) .. y(e-1) have a say in.
inline double cost_window(const Costs& costs, Index first, Reads<Label> y, Index s, Index e) {
  double total = 0.0;
  for (Index t = s; t < std::min(e + 1, y.size()); ++t) {
    if (t < e) total += costs.token(costs.token_class(first + t), y(t));
    total += costs.step(costs.step_class(first + t), t > 0 ? y(t - 1) : costs.token.shape[1], y(t));
  }
  return total;
}

/// change = what the counts gain when y(s) .. y(e-1) become those of `other`; marks (2, Y) is room.
inline void count_change(const Events& events, Index first, Reads<Label> y, Reads<Label> other, Index s, Index e,
                         View<double> change, View<Index, 2> marks) {
  const Index Y = events.n_labels(), T = y.size();
  const View<Index> seen = marks.row(0), seen_other = marks.row(1);
  fill(change, 0.0);
  if (events.has_lengths()) {  // of blocks that may reach far beyond the window
    count_window(events, first, y, s, e, -1.0, change, seen);
    count_window(events, first, other, s, e, 1.0, change, seen);
    return;
  }
  fill<Index>(seen, 0);
  for (Index t = 0; t < s; ++t) events.set_mark(y(t), seen);
  copy(seen, seen_other);
  for (Index t = s; t < T; ++t) {
    if (t > e && equal(seen, seen_other)) break;
    const bool last = t == T - 1;
    happens(events, first + t, last, t > 0 ? y(t - 1) : Y, 0, y(t), seen, [&](Index k) { change(k) -= 1.0; });
    happens(events, first + t, last, t > 0 ? other(t - 1) : Y, 0, other(t), seen_other,
            [&](Index k) { change(k) += 1.0; });
    events.set_mark(y(t), seen);
    events.set_mark(other(t), seen_other);
  }
}

/// Slack, counts and instance penalty of every sequence; totals and corpus penalty are the caller's.
inline void open_ledger(const Which& which, const Objective& objective, Reads<Label> y, const Ledger& ledger) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(objective.scorer, i, memory);
    const auto [T, Y] = chain.unary.shape;
    const Reads<Label> labels = chain.part(y);
    const View<double, 2> alpha = memory.of<double>(T, Y);
    extend_alpha(chain, labels, objective.loss, alpha, 0, T);
    const View<double> ends = alpha.row(T - 1), counts = ledger.counts.row(i);
    const double top = *std::max_element(ends.begin(), ends.end());
    ledger.slack(i) = std::max(0.0, top - path_score(chain, labels));
    fill(counts, 0.0);
    count_window(objective.events, chain.first, labels, 0, T, 1.0, counts, memory.of<Index>(Y));
    ledger.instance(i) = penalty(objective.targets, objective.instance, counts, static_cast<double>(T), 1.0);
  });
}

/// A sequence with its labels y, and the best move that was met; `other` is equal to y but for the window being tried.
struct Current {
  const Objective& objective;
  const Ledger& ledger;
  Index i;
  double scale;  // the weight of its slack
  Chain chain;
  View<Label> y, other;
  View<double, 2> alpha, beta;
  View<double> change, best_change, row;  // (K,)
  View<Index, 2> marks;
  View<Label> best_other;
  Price best{};
  Switch move{};

  Current(const Objective& objective, const Ledger& ledger, Index i, View<Label> labels, Memory& memory)
      : objective(objective), ledger(ledger), i(i), scale(objective.scale(i)) {
    chain = chain_of(objective.scorer, i, memory);
    const auto [T, Y] = chain.unary.shape;
    const Index K = ledger.totals.size();
    y = chain.part(labels), other = memory.of<Label>(T), best_other = memory.of<Label>(T);
    alpha = memory.of<double>(T, Y), beta = memory.of<double>(T, Y), marks = memory.of<Index>(2, Y);
    change = memory.of<double>(K), best_change = memory.of<double>(K), row = memory.of<double>(K);
    copy(y, other);
  }

  /// Fill beta from the last position on.
  void fill_beta(Memory& memory) const {
    const double loss = objective.loss;
    max_backward(chain, beta, memory, [&](Index t, View<double> scores) { add_loss(scores, y(t), loss); });
  }

  /// No move has been met yet.
  void start() {
    const double slack = ledger.slack(i), instance = ledger.instance(i), corpus = ledger.corpus(0);
    best = {scale * slack + instance + corpus, slack, instance, corpus};
    move.e = 0;
  }

  /// Penalties, instance and corpus, when the counts of the sequence change by `change`.
  Price penalties() const {
    const Reads<Index> offsets = objective.scorer.offsets;
    const double n_tokens = static_cast<double>(offsets(offsets.size() - 1));
    Price price{};
    for (Index k = 0; k < change.size(); ++k) row(k) = ledger.counts(i, k) + change(k);
    price.instance = penalty(objective.targets, objective.instance, row, static_cast<double>(y.size()), 1.0);
    if (objective.corpus.empty()) return price;
    for (Index k = 0; k < change.size(); ++k) row(k) = ledger.totals(k) + change(k);
    price.corpus = penalty(objective.targets, objective.corpus, row, n_tokens, static_cast<double>(offsets.size() - 1));
    return price;
  }

  /// Take the move whose labels are in `other` for the best one if it is better.
  ///
  ///   least     a lower bound on the slack's part of its value and on the costs of local rules
  ///   slack_of  slack_of() is its slack
  template <class Slack>
  void consider(const Switch& tried, double least, Slack slack_of) {
    count_change(objective.events, chain.first, y, other, tried.s, tried.e, change, marks);
    Price price = penalties();
    if (!is_better(std::max(least, price.instance) + price.corpus, best.value)) return;
    price.slack = slack_of();
    price.value = scale * price.slack + price.instance + price.corpus;
    if (!is_better(price.value, best.value)) return;
    best = price, move = tried;
    copy(change, best_change);
    copy(other.slice(tried.s, tried.e), best_other.slice(tried.s, tried.e));
  }

  /// Make the best move, if one was met; returns whether it was.
  bool accept() {
    if (move.e == 0) return false;
    copy(best_other.slice(move.s, move.e), y.slice(move.s, move.e));
    copy(best_other.slice(move.s, move.e), other.slice(move.s, move.e));
    for (Index k = 0; k < change.size(); ++k) {
      ledger.counts(i, k) += best_change(k);
      ledger.totals(k) += best_change(k);
    }
    ledger.slack(i) = best.slack, ledger.instance(i) = best.instance, ledger.corpus(0) = best.corpus;
    return true;
  }
};

/// One pass of single-label switching: at every position the best label, if it is better than the present one.
/// Steps 9 to 29 of Algorithm 2 of the paper; their numbers stand in the comments.
///
///   limit   stop after more than so many positions
///
/// Returns the number of accepted switches.
inline Index switch_tokens(const Which& which, const Objective& objective, Reads<Label> known, Index limit,
                           View<Label> y, const Ledger& ledger) {
  const Costs& costs = objective.costs;
  const double loss = objective.loss;
  Index switches = 0, visited = 0;
  which.each([&](Index i, Memory& memory) {  // 9, 10
    Current seq(objective, ledger, i, y, memory);
    const Chain& chain = seq.chain;
    const auto [T, Y] = chain.unary.shape;
    double score = path_score(chain, seq.y), local = cost_window(costs, chain.first, seq.y, 0, T);
    seq.fill_beta(memory);
    for (Index m = 0; m < T; ++m) {  // 11
      if (visited++ > limit) return;  // 24 to 27
      extend_alpha(chain, seq.y, loss, seq.alpha, m, m + 1);
      if (!known.empty() && known(chain.first + m) >= 0) continue;
      const Label present = seq.y(m);
      const double here = score_window(chain, seq.y, m, m + 1);
      const double cost_here = cost_window(costs, chain.first, seq.y, m, m + 1);
      seq.start();  // 12
      for (Index r = 0; r < Y; ++r) {  // 13
        if (r == present) continue;
        seq.other(m) = static_cast<Label>(r);  // 14
        double top = -INF;  // 16, 17: the score of the violator, by max-marginals
        for (Index z = 0; z < Y; ++z)
          top = std::max(top, seq.alpha(m, z) + seq.beta(m, z) + ((z == present ? loss : 0.0) - (z == r ? loss : 0.0)));
        const double slack = std::max(0.0, top - score - score_window(chain, seq.other, m, m + 1) + here);
        const double cost_there = cost_window(costs, chain.first, seq.other, m, m + 1);
        const double least = seq.scale * slack + local + cost_there - cost_here;
        // 15, 18 to 21
        if (is_better(least, seq.best.value)) seq.consider({m, m + 1, r}, least, [&] { return slack; });
      }
      seq.other(m) = present;
      if (!seq.accept()) continue;  // 23
      score = path_score(chain, seq.y), local = cost_window(costs, chain.first, seq.y, 0, T);
      extend_alpha(chain, seq.y, loss, seq.alpha, m, m + 1);
      ++switches;
    }
  });
  return switches;
}

}  // namespace semistruct
