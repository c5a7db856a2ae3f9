// Label switching: hill climbing on the labels of sequences, for fixed weights, to lower
//
//   sum_i scale_i * slack_i(y_i) + penalty(y),    slack_i(y) = max_z [ loss * |z != y| + score(z) ] - score(y)
//
// with the penalties of instance rules and, through running totals, of corpus rules.  loss = 0 leaves the shortfall of
// the score instead of the slack, which is what decoding under corpus rules needs.
//
//   unary, step, kind, y   of one sequence of T tokens and Y labels, as in chain.hpp
//   alpha(t, z)            best of  loss + score  over labellings of 0..t that end in z
//   beta(t, z)             ... over labellings of t+1.. given z at t
//   costs                  of local rules: a part of the penalty that is quickly had, and a bound for moves that need
//                          not be looked at any further
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

inline Price price_of(const Objective& objective, const Ledger& ledger, Index i) {
  const double slack = ledger.slack(i), instance = ledger.instance(i), corpus = ledger.corpus(0);
  return {objective.scale(i) * slack + instance + corpus, slack, instance, corpus};
}

inline bool is_better(double value, double old) { return value < old - LEAST * (1.0 + std::abs(old)); }

/// Add the loss to the scores (Y,) of all labels but the right one.
inline void add_loss(View<double> scores, Index right, double loss) {
  const double own = scores(right);
  for (double& score : scores) score += loss;
  scores(right) = own;
}

/// Fill alpha(first) .. alpha(last-1) from alpha(first-1).
inline void extend_alpha(Scores unary, Tables step, Reads<Label> kind, Reads<Label> y, double loss,
                         View<double, 2> alpha, Index first, Index last) {
  for (Index t = first; t < last; ++t) {
    if (t == 0)
      copy(unary.row(0), alpha.row(0));
    else
      step_forward(&alpha(t - 1, 0), &step(kind(t), 0, 0), &unary(t, 0), unary.shape[1], &alpha(t, 0));
    add_loss(alpha.row(t), y(t), loss);
  }
}

/// Fill beta from the last position on.
inline void fill_beta(Scores unary, Tables step, Reads<Label> kind, Reads<Label> y, double loss, View<double, 2> beta) {
  max_backward(unary, step, kind, beta, [&](Index t, View<double> scores) { add_loss(scores, y(t), loss); });
}

/// The part of the score that labels y(s) .. y(e-1) have a say in.
inline double score_window(Scores unary, Tables step, Reads<Label> kind, Reads<Label> y, Index s, Index e) {
  double total = 0.0;
  for (Index t = s; t < std::min(e + 1, y.size()); ++t) {
    if (t < e) total += unary(t, y(t));
    if (t > 0) total += step(kind(t), y(t - 1), y(t));
  }
  return total;
}

/// The costs of local rules that labels y(s) .. y(e-1) have a say in.
inline double cost_window(const Costs& costs, Index first, Reads<Label> y, Index s, Index e) {
  const Index Y = costs.token.shape[1];
  double total = 0.0;
  for (Index t = s; t < std::min(e + 1, y.size()); ++t) {
    if (t < e) total += costs.token(costs.token_class(first + t), y(t));
    total += costs.step(costs.step_class(first + t), t > 0 ? y(t - 1) : Y, y(t));
  }
  return total;
}

/// The instance penalty of sequence i and the corpus penalty when the counts of the sequence change so; work (K,).
inline void penalties(const Objective& objective, const Ledger& ledger, Index i, Reads<double> change,
                      View<double> work, double& instance, double& corpus) {
  const Reads<Index> offsets = objective.scorer.offsets;
  const Index n = offsets.size() - 1;
  for (Index k = 0; k < change.size(); ++k) work(k) = ledger.counts(i, k) + change(k);
  const auto T = static_cast<double>(offsets(i + 1) - offsets(i));
  instance = penalty(objective.targets, objective.instance, work, T, 1.0);
  corpus = 0.0;
  if (objective.corpus.empty()) return;
  for (Index k = 0; k < change.size(); ++k) work(k) = ledger.totals(k) + change(k);
  corpus = penalty(objective.targets, objective.corpus, work, static_cast<double>(offsets(n)), static_cast<double>(n));
}

/// change = what the counts gain when y(s) .. y(e-1) become those of `other`; marks (2, Y) is room.
inline void count_change(const Events& events, Index first, Reads<Label> y, Reads<Label> other, Index s, Index e,
                         View<double> change, View<Index, 2> marks) {
  const Index Y = events.n_labels(), T = y.size();
  fill(change, 0.0);
  View<Index> seen = marks.row(0), seen_other = marks.row(1);
  if (events.has_lengths()) {  // of blocks that may reach far beyond the window
    count_window(events, first, y, s, e, -1.0, change, seen);
    count_window(events, first, other, s, e, 1.0, change, seen);
    return;
  }
  fill<Index>(seen, 0);
  const auto set_mark = [&](View<Index> in, Index label) {
    if (events.mark(label) >= 0) in(events.mark(label)) = 1;
  };
  for (Index t = 0; t < s; ++t) set_mark(seen, y(t));
  copy(seen, seen_other);
  for (Index t = s; t < T; ++t) {
    if (t > e && equal(seen, seen_other)) break;
    const bool last = t == T - 1;
    happens(events, first + t, last, t > 0 ? y(t - 1) : Y, 0, y(t), seen, [&](Index k) { change(k) -= 1.0; });
    happens(events, first + t, last, t > 0 ? other(t - 1) : Y, 0, other(t), seen_other,
            [&](Index k) { change(k) += 1.0; });
    set_mark(seen, y(t));
    set_mark(seen_other, other(t));
  }
}

/// Enter an accepted switch.
inline void accept(const Ledger& ledger, Index i, Reads<double> change, const Price& price) {
  for (Index k = 0; k < change.size(); ++k) {
    ledger.counts(i, k) += change(k);
    ledger.totals(k) += change(k);
  }
  ledger.slack(i) = price.slack, ledger.instance(i) = price.instance, ledger.corpus(0) = price.corpus;
}

/// Memory for switching in one sequence after the other.
struct SwitchRoom {
  Room<double, 2> unary, alpha, beta;
  Room<Index, 2> marks;
  Room<double> change, best_change, work;
  Room<Label> other;
};

/// Slack, counts and instance penalty of every sequence; totals and corpus penalty are the caller's.
inline void open_ledger(Reads<Index> which, const Objective& objective, Reads<Label> y, const Ledger& ledger) {
  const Scorer& scorer = objective.scorer;
  const Index Y = scorer.n_labels();
  SwitchRoom room;
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1);
    const Reads<Label> kind = scorer.kind.slice(a, b), labels = y.slice(a, b);
    View<double, 2> unary = room.unary.of(b - a, Y), alpha = room.alpha.of(b - a, Y);
    token_scores(scorer, scorer.tokens, a, unary);
    extend_alpha(unary, scorer.step, kind, labels, objective.loss, alpha, 0, b - a);
    double top = -INF;
    for (Index z = 0; z < Y; ++z) top = std::max(top, alpha(b - a - 1, z));
    ledger.slack(i) = std::max(0.0, top - path_score(unary, scorer.step, kind, labels));
    View<double> counts = ledger.counts.row(i);
    fill(counts, 0.0);
    count_window(objective.events, a, labels, 0, b - a, 1.0, counts, room.marks.of(1, Y).row(0));
    ledger.instance(i) = penalty(objective.targets, objective.instance, counts, static_cast<double>(b - a), 1.0);
  }
}

/// One pass of single-label switching: at every position the best label, if it is better than the present one.
///
///   limit   stop after more than so many positions
///
/// Returns the number of accepted switches.
inline Index switch_tokens(Reads<Index> which, const Objective& objective, Reads<Label> known, Index limit,
                           View<Label> y, const Ledger& ledger) {
  const Scorer& scorer = objective.scorer;
  const Costs& costs = objective.costs;
  const double loss = objective.loss;
  const Index Y = scorer.n_labels(), K = ledger.totals.size();
  const Tables step = scorer.step;
  SwitchRoom room;
  View<double> change = room.change.of(K), best_change = room.best_change.of(K), work = room.work.of(K);
  View<Index, 2> marks = room.marks.of(2, Y);
  Index switches = 0, visited = 0;
  for (Index i : which) {
    const Index a = scorer.offsets(i), b = scorer.offsets(i + 1), T = b - a;
    const Reads<Label> kind = scorer.kind.slice(a, b);
    const double scale = objective.scale(i);
    View<Label> labels = y.slice(a, b), other = room.other.of(T);
    View<double, 2> unary = room.unary.of(T, Y), alpha = room.alpha.of(T, Y), beta = room.beta.of(T, Y);
    token_scores(scorer, scorer.tokens, a, unary);
    copy(labels, other);
    double score = path_score(unary, step, kind, labels), local = cost_window(costs, a, labels, 0, T);
    fill_beta(unary, step, kind, labels, loss, beta);
    for (Index m = 0; m < T; ++m) {
      if (visited++ > limit) return switches;
      extend_alpha(unary, step, kind, labels, loss, alpha, m, m + 1);
      if (!known.empty() && known(a + m) >= 0) continue;
      const Index present = labels(m);
      Index arg = present;
      Price best = price_of(objective, ledger, i);
      const double here = score_window(unary, step, kind, labels, m, m + 1);
      const double cost_here = cost_window(costs, a, labels, m, m + 1);
      for (Index r = 0; r < Y; ++r) {
        if (r == present) continue;
        other(m) = static_cast<Label>(r);
        double top = -INF;
        for (Index z = 0; z < Y; ++z)
          top = std::max(top, alpha(m, z) + beta(m, z) + ((z == present ? loss : 0.0) - (z == r ? loss : 0.0)));
        const double there = score_window(unary, step, kind, other, m, m + 1);
        Price price{0.0, std::max(0.0, top - score - there + here), 0.0, 0.0};
        const double least = scale * price.slack + local + cost_window(costs, a, other, m, m + 1) - cost_here;
        if (!is_better(least, best.value)) continue;
        count_change(objective.events, a, labels, other, m, m + 1, change, marks);
        penalties(objective, ledger, i, change, work, price.instance, price.corpus);
        price.value = scale * price.slack + price.instance + price.corpus;
        if (!is_better(price.value, best.value)) continue;
        best = price, arg = r;
        copy(change, best_change);
      }
      other(m) = static_cast<Label>(arg);
      if (arg == present) continue;
      labels(m) = static_cast<Label>(arg);
      accept(ledger, i, best_change, best);
      score = path_score(unary, step, kind, labels), local = cost_window(costs, a, labels, 0, T);
      extend_alpha(unary, step, kind, labels, loss, alpha, m, m + 1);
      ++switches;
    }
  }
  return switches;
}

}  // namespace semistruct
