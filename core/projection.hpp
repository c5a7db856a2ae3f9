// The distribution nearest to a model that meets the expectations of instance rules, sequence by sequence.
//
//   q(y) proportional to exp((score(y) - price.counts(y)) / T)
//
// has one price per term.  The multipliers x >= 0 of the rows of instance rules minimise the (negated) dual
//
//   f(x) = T log Z(x) + bound.x + slack/2 x^2,    f'(x) = bound + slack x - E_q[a.c]
//
// over a box: few variables, and every value costs a forward-backward pass.  Prices of corpus rules are the same for
// all sequences and are part of the scores already (`Costs`).  T tokens, Y labels, K terms of rules, J rows.
#pragma once
#include "bfgs.hpp"
#include "events.hpp"
#include "sequences.hpp"

namespace semistruct {

/// Row j speaks of sign(j) * the count of term(j), times scale(i, j) in sequence i.
struct InstanceRows {
  Reads<Index> term;
  Reads<double> sign, bound, slack, low, high;
  View<const double, 2> scale;

  Index size() const { return term.size(); }
  double factor(Index i, Index j) const { return sign(j) * scale(i, j); }
  /// Add what the multipliers x of sequence i make events cost.
  void add_prices(Index i, Reads<double> x, View<double> price) const {
    for (Index j = 0; j < size(); ++j) price(term(j)) += factor(i, j) * x(j);
  }
};

/// What scores the labels of all sequences: scale * (score of the model - costs), scale being 1/T.
struct Field {
  Scorer scorer;
  Costs costs;
  double scale;
  Reads<Label> known;  // (n_tokens,) labels that are fixed, negative elsewhere; or empty
};

/// What the multipliers of every sequence solve, how exactly, and in how many steps at most.
struct Problem {
  Events events;
  InstanceRows rows;
  double scale, tol;
  Index rounds;
};

/// The scores of one sequence.  Steps of one kind and one class (in `Events`) are a group, and share a table.
struct Lattice {
  Index first;            // number of its first token
  View<double, 2> unary;  // (T, Y)
  View<Index> group;      // (T,) of the step into a position
  View<Index> kind, cls;  // (G,)
  View<double, 3> step;   // (G, Y, Y)

  Index n_groups() const { return step.shape[0]; }
};

/// Memory for one lattice after the other.
class LatticeRoom {
 public:
  /// The lattice of sequence i, which holds until the next call.
  Lattice of(const Field& field, Index i) {
    const Scorer& scorer = field.scorer;
    const Costs& costs = field.costs;
    const Index a = scorer.offsets(i), T = scorer.offsets(i + 1) - a, Y = scorer.n_labels();
    View<double, 2> unary = unary_.of(T, Y);
    scores_of(scorer, i, field.known, unary);
    for (Index t = 0; t < T; ++t) {
      const Index cls = costs.token_class(a + t);
      for (Index y = 0; y < Y; ++y) unary(t, y) = field.scale * (unary(t, y) - costs.token(cls, y));
    }
    for (Index y = 0; y < Y; ++y) unary(0, y) -= field.scale * costs.step(costs.step_class(a), Y, y);

    const Index n_classes = costs.step.shape[0];
    View<Index> seen = seen_.filled(-1, scorer.step.shape[0] * n_classes);
    View<Index> group = group_.filled(0, T), kind = kind_.of(T), cls = class_.of(T);
    Index G = 0;
    for (Index t = 1; t < T; ++t) {
      kind(G) = scorer.kind(a + t), cls(G) = costs.step_class(a + t);
      Index& number = seen(kind(G) * n_classes + cls(G));
      if (number < 0) number = G++;
      group(t) = number;
    }
    View<double, 3> step = step_.of(G, Y, Y);
    for (Index g = 0; g < G; ++g)
      for (Index y = 0; y < Y; ++y)
        for (Index z = 0; z < Y; ++z)
          step(g, y, z) = field.scale * (scorer.step(kind(g), y, z) - costs.step(cls(g), y, z));
    return {a, unary, group, kind.slice(0, G), cls.slice(0, G), step};
  }

 private:
  Room<double, 2> unary_;
  Room<double, 3> step_;
  Room<Index> group_, kind_, class_, seen_;
};

/// Memory for the factors of one lattice after the other.
class FactorRoom {
 public:
  View<double, 3> factor, back;
  View<double> top;

  Factors of(Tables step) {
    const auto [G, Y, Z] = step.shape;
    factor = factor_.of(G, Y, Z), back = back_.of(G, Y, Z), top = top_.of(G);
    factors_of(step, factor, back, top);
    return {factor, back, top};
  }

 private:
  Room<double, 3> factor_, back_;
  Room<double> top_;
};

/// An event of a term in an array: at(t, y) of a token, at(g, y, z) of a step, as if the array had one axis.
struct LatticeEvent {
  std::int32_t term, at, turned;  // turned: at(g, z, y)
  double before;                  // what is in the array if the event has no price
};

/// The events that labels and steps of a lattice can have.
class LatticeEvents {
 public:
  View<LatticeEvent> tokens, steps;

  void find(const Lattice& lattice, const Events& events) {
    const auto [T, Y] = lattice.unary.shape;
    const Index start = events.cell_of_steps(events.step_class(lattice.first)) + Y * Y;
    const auto size = [&](Index cell, Index n) { return events.ptr(cell + n) - events.ptr(cell); };
    Index n_tokens = size(start, Y), n_steps = 0;
    for (Index t = 0; t < T; ++t) n_tokens += size(events.cell_of_token(lattice.first + t), Y);
    for (Index cls : lattice.cls) n_steps += size(events.cell_of_steps(cls), Y * Y);
    tokens = tokens_.of(n_tokens), steps = steps_.of(n_steps);

    LatticeEvent* next = tokens.begin();
    const auto enter = [&](Index cell, Index at, Index turned) {
      events.each(cell, [&](const Entry& e) {
        next->term = static_cast<std::int32_t>(e.term);
        next->at = static_cast<std::int32_t>(at), next->turned = static_cast<std::int32_t>(turned);
        ++next;
      });
    };
    for (Index t = 0; t < T; ++t)
      for (Index y = 0; y < Y; ++y) enter(events.cell_of_token(lattice.first + t) + y, t * Y + y, 0);
    for (Index y = 0; y < Y; ++y) enter(start + y, y, 0);
    next = steps.begin();
    for (Index g = 0; g < lattice.n_groups(); ++g)
      for (Index y = 0; y < Y; ++y)
        for (Index z = 0; z < Y; ++z)
          enter(events.cell_of_steps(lattice.cls(g)) + y * Y + z, (g * Y + y) * Y + z, (g * Y + z) * Y + y);
  }

 private:
  Room<LatticeEvent> tokens_, steps_;
};

/// What is expected of one sequence: labels and steps (by groups), and counts (K,) of all terms.
struct Expected {
  View<double, 2> marginal;
  View<double, 3> steps;
  View<double> counts;
};

/// A lattice whose events have prices, one set of them after the other.
class PricedLattice {
 public:
  /// Take a lattice, which must hold as long as it is used.
  void take(const Lattice& lattice, const Events& events) {
    lattice_ = lattice;
    events_.find(lattice, events);
    unary_ = copied(lattice.unary, unary_room_.of(lattice.unary.shape[0], lattice.unary.shape[1]));
    for (LatticeEvent& e : events_.tokens) e.before = unary_.data[e.at];
  }

  /// Get ready for `expect`.
  void make_factors() {
    factors_.of(lattice_.step);
    for (LatticeEvent& e : events_.steps) e.before = factors_.factor.data[e.at];
  }

  /// log Z if every event of term k costs price(k) more; writes what is expected.
  double expect(Reads<double> price, double scale, const Expected& out) {
    price_labels(price, scale);
    price_factors(price, scale);
    const Expectation own{out.marginal, out.steps};
    std::fill(out.steps.begin(), out.steps.end(), 0.0);
    const View<Index> group = lattice_.group;
    double log_z = in_probabilities(unary_, {factors_.factor, factors_.back, factors_.top}, group, group, own, sums_);
    if (std::isnan(log_z)) log_z = in_logs(unary_, priced_steps(price, scale), group, group, own, sums_);
    fill(out.counts, 0.0);
    for (const LatticeEvent& e : events_.tokens) out.counts(e.term) += out.marginal.data[e.at];
    for (const LatticeEvent& e : events_.steps) out.counts(e.term) += out.steps.data[e.at];
    return log_z;
  }

  /// The most probable labelling at these prices.
  void best(Reads<double> price, double scale, View<Label> labels) {
    price_labels(price, scale);
    View<double, 2> room = best_room_.of(unary_.shape[0], unary_.shape[1]);
    viterbi(unary_, priced_steps(price, scale), lattice_.group, room, labels);
  }

 private:
  template <class From, class To>
  static To copied(From from, To to) {
    std::copy(from.begin(), from.end(), to.begin());
    return to;
  }
  void price_labels(Reads<double> price, double scale) {
    for (const LatticeEvent& e : events_.tokens) unary_.data[e.at] = e.before;
    for (const LatticeEvent& e : events_.tokens) unary_.data[e.at] -= scale * price(e.term);
  }
  void price_factors(Reads<double> price, double scale) {
    View<double> much = much_room_.of(price.size());
    for (Index k = 0; k < price.size(); ++k) much(k) = price(k) != 0.0 ? std::exp(-scale * price(k)) : 1.0;
    double *factor = factors_.factor.data, *back = factors_.back.data;
    for (const LatticeEvent& e : events_.steps) factor[e.at] = e.before;
    for (const LatticeEvent& e : events_.steps) factor[e.at] *= much(e.term);
    for (const LatticeEvent& e : events_.steps) back[e.turned] = factor[e.at];
  }
  Tables priced_steps(Reads<double> price, double scale) {
    const auto [G, Y, Z] = lattice_.step.shape;
    View<double, 3> step = copied(lattice_.step, step_room_.of(G, Y, Z));
    for (const LatticeEvent& e : events_.steps) step.data[e.at] -= scale * price(e.term);
    return step;
  }

  Lattice lattice_;
  LatticeEvents events_;
  View<double, 2> unary_;
  FactorRoom factors_;
  Room<double, 2> unary_room_, best_room_;
  Room<double, 3> step_room_;
  Room<double> much_room_;
  SumRoom sums_;
};

struct Solved {
  double value, log_z, residual;
};

/// Solves for the multipliers of one sequence after the other.
class SequenceSolver {
 public:
  explicit SequenceSolver(const Problem& problem) : problem_(problem) {}

  /// Move the multipliers x of sequence i to the minimum of f.
  Solved solve(const Lattice& lattice, Index i, View<double> x, const Expected& out) {
    const InstanceRows& rows = problem_.rows;
    View<double> price = price_room_.of(out.counts.size());
    double log_z = 0.0;
    const auto f = [&](Reads<double> at, View<double> gradient) {
      fill(price, 0.0);
      rows.add_prices(i, at, price);
      log_z = priced_.expect(price, problem_.scale, out);
      double value = log_z / problem_.scale;
      for (Index j = 0; j < at.size(); ++j) {
        value += rows.bound(j) * at(j) + 0.5 * rows.slack(j) * at(j) * at(j);
        gradient(j) = rows.bound(j) + rows.slack(j) * at(j) - rows.factor(i, j) * out.counts(rows.term(j));
      }
      return value;
    };
    priced_.take(lattice, problem_.events);
    priced_.make_factors();
    const Minimum found = minimise(f, {rows.low, rows.high}, problem_.tol, problem_.rounds, x, bfgs_);
    return {found.value, log_z, found.residual};
  }

 private:
  const Problem& problem_;
  PricedLattice priced_;
  BfgsRoom bfgs_;
  Room<double> price_room_;
};

/// What is known of all sequences after projection.
struct Projected {
  View<double, 2> multiplier;  // (n, J)
  View<double> value;          // (n,) of f
  View<double> entropy;        // (n,)
  View<double> residual;       // (n,) how far from the solution
  View<double, 2> expected;    // (n, K) counts
  View<double, 2> marginal;    // (n_tokens, Y)
  View<double, 4> steps;       // (pieces, kinds, Y, Y) weighted
};

/// The sum of p * score where p > 0: scores may be -inf elsewhere.
template <std::size_t N>
double mean_of(View<double, N> score, View<double, N> p, double total) {
  const double* own = score.begin();
  for (double one : p) {
    if (one > 0.0) total += one * *own;
    ++own;
  }
  return total;
}

/// Solve for the multipliers of each sequence, from where they are, and write what is expected then.
inline void project_sequences(Reads<Index> pieces, Reads<Index> bounds, const Field& field, const Problem& problem,
                              Reads<double> weight, const Projected& found) {
  const InstanceRows& rows = problem.rows;
  const Index Y = field.scorer.n_labels();
  LatticeRoom lattices;
  SequenceSolver solver(problem);
  Room<double, 3> steps_room;
  for (Index p : pieces)
    for (Index i = bounds(p); i < bounds(p + 1); ++i) {
      const Lattice lattice = lattices.of(field, i);
      const View<double> x = found.multiplier.row(i), counts = found.expected.row(i);
      View<double, 2> marginal = found.marginal.slice(lattice.first, lattice.first + lattice.group.size());
      View<double, 3> steps = steps_room.of(lattice.n_groups(), Y, Y);
      const Solved solved = solver.solve(lattice, i, x, {marginal, steps, counts});
      found.value(i) = solved.value, found.residual(i) = solved.residual;
      found.entropy(i) = solved.log_z - mean_of(lattice.step, steps, mean_of(lattice.unary, marginal, 0.0));
      for (Index j = 0; j < rows.size(); ++j)
        found.entropy(i) += field.scale * rows.factor(i, j) * x(j) * counts(rows.term(j));
      for (Index g = 0; g < lattice.n_groups(); ++g)
        for (Index y = 0; y < Y; ++y)
          for (Index z = 0; z < Y; ++z) found.steps(p, lattice.kind(g), y, z) += weight(i) * steps(g, y, z);
    }
}

/// The most probable labelling of every projected sequence; multiplier (n, J), labels (n_tokens,).
inline void best_sequences(Reads<Index> which, const Field& field, const Problem& problem,
                           View<const double, 2> multiplier, Index n_terms, View<Label> labels) {
  LatticeRoom lattices;
  PricedLattice priced;
  Room<double> room;
  for (Index i : which) {
    const Lattice lattice = lattices.of(field, i);
    View<double> price = room.filled(0.0, n_terms);
    problem.rows.add_prices(i, multiplier.row(i), price);
    priced.take(lattice, problem.events);
    priced.best(price, problem.scale, labels.slice(lattice.first, lattice.first + lattice.group.size()));
  }
}

}  // namespace semistruct
