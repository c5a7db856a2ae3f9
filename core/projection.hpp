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
//
// Of a count c(y), the sum of costs over a labelling, there are also the covariances with labels and steps: with the
// chain as a Markov chain, E[c | y_t] is the sum of what is expected of c before and after t, each by one recursion.
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
  Chain chain;            // whose kinds are the groups
  View<double, 3> step;   // (G, Y, Y) its tables
  View<Index> kind, cls;  // (G,)

  Index n_groups() const { return kind.size(); }
};

/// The lattice of sequence i.
inline Lattice lattice_of(const Field& field, Index i, Memory& memory) {
  const Scorer& scorer = field.scorer;
  const Costs& costs = field.costs;
  const Chain model = chain_of(scorer, i, field.known, memory);
  const auto [T, Y] = model.unary.shape;
  const Index a = model.first, n_classes = costs.step.shape[0];
  for (Index t = 0; t < T; ++t) {
    const Index cls = costs.token_class(a + t);
    for (Index y = 0; y < Y; ++y) model.unary(t, y) = field.scale * (model.unary(t, y) - costs.token(cls, y));
  }
  for (Index y = 0; y < Y; ++y) model.unary(0, y) -= field.scale * costs.step(costs.step_class(a), Y, y);

  const View<Label> seen = memory.filled<Label>(-1, scorer.step.shape[0] * n_classes);
  const View<Label> group = memory.filled<Label>(0, T);
  const View<Index> kind = memory.of<Index>(T), cls = memory.of<Index>(T);
  Label G = 0;
  for (Index t = 1; t < T; ++t) {
    kind(G) = model.kind(t), cls(G) = costs.step_class(a + t);
    Label& number = seen(kind(G) * n_classes + cls(G));
    if (number < 0) number = G++;
    group(t) = number;
  }
  const View<double, 3> step = memory.of<double>(G, Y, Y);
  for (Index g = 0; g < G; ++g)
    for (Index y = 0; y < Y; ++y)
      for (Index z = 0; z < Y; ++z)
        step(g, y, z) = field.scale * (scorer.step(kind(g), y, z) - costs.step(cls(g), y, z));
  return {{a, model.unary, step, group}, step, kind.slice(0, G), cls.slice(0, G)};
}

/// An event of a term in an array: at(t, y) of a token, at(g, y, z) of a step, as if the array had one axis.
struct LatticeEvent {
  Index term, at, turned;  // turned: at(g, z, y)
  double before;           // what is in the array if the event has no price
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
  PricedLattice(const Lattice& lattice, const Events& events, double scale, Memory& memory)
      : lattice_(lattice), chain_(lattice.chain), scale_(scale), memory_(memory) {
    const auto [T, Y] = chain_.unary.shape;
    const Index G = lattice.n_groups(), start = events.cell_of_steps(events.step_class(chain_.first)) + Y * Y;
    chain_.unary = memory.of<double>(T, Y);
    std::copy(lattice.chain.unary.begin(), lattice.chain.unary.end(), chain_.unary.begin());
    factor_ = memory.of<double>(G, Y, Y), back_ = memory.of<double>(G, Y, Y), top_ = memory.of<double>(G);
    factors_of(lattice.step, factor_, back_, top_);
    const auto enter = [&](std::vector<LatticeEvent>& list, Index cell, Index at, Index turned, const double* before) {
      events.each(cell, [&](const Entry& e) { list.push_back({e.term, at, turned, before[at]}); });
    };
    for (Index t = 0; t < T; ++t)
      for (Index y = 0; y < Y; ++y)
        enter(tokens_, events.cell_of_token(chain_.first + t) + y, t * Y + y, 0, chain_.unary.data);
    for (Index y = 0; y < Y; ++y) enter(tokens_, start + y, y, 0, chain_.unary.data);
    for (Index g = 0; g < G; ++g)
      for (Index y = 0; y < Y; ++y)
        for (Index z = 0; z < Y; ++z)
          enter(steps_, events.cell_of_steps(lattice.cls(g)) + y * Y + z, (g * Y + y) * Y + z, (g * Y + z) * Y + y,
                factor_.data);
  }

  /// log Z if every event of term k costs price(k) more; writes what is expected.
  double expect(Reads<double> price, const Expected& out) {
    const Memory::Scope scope(memory_);
    const auto group = [&](Index t) { return chain_.kind(t); };
    std::fill(out.steps.begin(), out.steps.end(), 0.0);
    price_labels(price);
    price_factors(price);
    double log_z = in_probabilities(chain_, {factor_, back_, top_}, group, {out.marginal, out.steps}, memory_);
    if (std::isnan(log_z)) log_z = in_logs(with_steps(price), group, {out.marginal, out.steps}, memory_);
    fill(out.counts, 0.0);
    for (const LatticeEvent& e : tokens_) out.counts(e.term) += out.marginal.data[e.at];
    for (const LatticeEvent& e : steps_) out.counts(e.term) += out.steps.data[e.at];
    return log_z;
  }

  /// The most probable labelling at these prices.
  void best(Reads<double> price, View<Label> labels) {
    price_labels(price);
    viterbi(with_steps(price), memory_.of<double>(chain_.size(), chain_.n_labels()), labels);
  }

 private:
  void price_labels(Reads<double> price) {
    for (const LatticeEvent& e : tokens_) chain_.unary.data[e.at] = e.before;
    for (const LatticeEvent& e : tokens_) chain_.unary.data[e.at] -= scale_ * price(e.term);
  }
  void price_factors(Reads<double> price) {
    const View<double> much = memory_.of<double>(price.size());
    for (Index k = 0; k < price.size(); ++k) much(k) = price(k) != 0.0 ? std::exp(-scale_ * price(k)) : 1.0;
    for (const LatticeEvent& e : steps_) factor_.data[e.at] = e.before;
    for (const LatticeEvent& e : steps_) factor_.data[e.at] *= much(e.term);
    for (const LatticeEvent& e : steps_) back_.data[e.turned] = factor_.data[e.at];
  }
  /// The chain with prices of steps, too.
  Chain with_steps(Reads<double> price) {
    const auto [G, Y, Z] = lattice_.step.shape;
    const View<double, 3> step = memory_.of<double>(G, Y, Z);
    std::copy(lattice_.step.begin(), lattice_.step.end(), step.begin());
    for (const LatticeEvent& e : steps_) step.data[e.at] -= scale_ * price(e.term);
    return {chain_.first, chain_.unary, step, chain_.kind};
  }

  const Lattice& lattice_;
  Chain chain_;
  double scale_;
  Memory& memory_;
  std::vector<LatticeEvent> tokens_, steps_;
  View<double, 3> factor_, back_;
  View<double> top_;
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
inline void project_sequences(const Which& pieces, Reads<Index> bounds, const Field& field, const Problem& problem,
                              Reads<double> weight, const Projected& found) {
  const InstanceRows& rows = problem.rows;
  const Index Y = field.scorer.n_labels();
  pieces.each(bounds, [&](Index p, Index i, Memory& memory) {
    const Lattice lattice = lattice_of(field, i, memory);
    PricedLattice priced(lattice, problem.events, problem.scale, memory);
    const View<double> x = found.multiplier.row(i), counts = found.expected.row(i);
    const View<double> price = memory.of<double>(counts.size());
    const View<double, 2> marginal = lattice.chain.part(found.marginal);
    const View<double, 3> steps = memory.of<double>(lattice.n_groups(), Y, Y);
    double log_z = 0.0;
    const auto f = [&](Reads<double> at, View<double> gradient) {
      fill(price, 0.0);
      rows.add_prices(i, at, price);
      log_z = priced.expect(price, {marginal, steps, counts});
      double value = log_z / problem.scale;
      for (Index j = 0; j < at.size(); ++j) {
        value += rows.bound(j) * at(j) + 0.5 * rows.slack(j) * at(j) * at(j);
        gradient(j) = rows.bound(j) + rows.slack(j) * at(j) - rows.factor(i, j) * counts(rows.term(j));
      }
      return value;
    };
    const Minimum least = minimise(f, {rows.low, rows.high}, problem.tol, problem.rounds, x, memory);
    found.value(i) = least.value, found.residual(i) = least.residual;
    found.entropy(i) = log_z - mean_of(lattice.step, steps, mean_of(lattice.chain.unary, marginal, 0.0));
    for (Index j = 0; j < rows.size(); ++j)
      found.entropy(i) += field.scale * rows.factor(i, j) * x(j) * counts(rows.term(j));
    for (Index g = 0; g < lattice.n_groups(); ++g)
      for (Index y = 0; y < Y; ++y)
        for (Index z = 0; z < Y; ++z) found.steps(p, lattice.kind(g), y, z) += weight(i) * steps(g, y, z);
  });
}

/// The most probable labelling of every projected sequence; multiplier (n, J), labels (n_tokens,).
inline void best_sequences(const Which& which, const Field& field, const Problem& problem,
                           View<const double, 2> multiplier, Index n_terms, View<Label> labels) {
  which.each([&](Index i, Memory& memory) {
    const Lattice lattice = lattice_of(field, i, memory);
    const View<double> price = memory.filled(0.0, n_terms);
    problem.rows.add_prices(i, multiplier.row(i), price);
    PricedLattice priced(lattice, problem.events, problem.scale, memory);
    priced.best(price, lattice.chain.part(labels));
  });
}

/// Covariances of a count: marginal (n_tokens, Y): Cov(c, 1[y_t = z]); steps (pieces, kinds, Y, Y): summed over the
/// steps of each kind.
inline void covary(const Which& pieces, Reads<Index> bounds, const Field& field, const Costs& costs,
                   View<double, 2> marginal, View<double, 4> steps) {
  const Index Y = field.scorer.n_labels();
  pieces.each(bounds, [&](Index p, Index i, Memory& memory) {
    const Lattice lattice = lattice_of(field, i, memory);
    const Index a = lattice.chain.first, T = lattice.chain.size(), G = lattice.n_groups();
    const View<double, 2> own = marginal.slice(a, a + T);
    const View<double, 2> before = memory.filled(0.0, T, Y), after = memory.filled(0.0, T, Y);
    const View<double, 3> pair = memory.filled(0.0, T, Y, Y);  // p(y_{t-1} = y, y_t = z)
    const View<double, 3> factor = memory.of<double>(G, Y, Y), back = memory.of<double>(G, Y, Y);
    const View<double> top = memory.of<double>(G);
    factors_of(lattice.step, factor, back, top);
    sum_product(lattice.chain, {factor, back, top}, [](Index t) { return t; }, {own, pair}, memory);
    const auto at_token = [&](Index t) { return costs.token.row(costs.token_class(a + t)); };
    const auto at_step = [&](Index t) { return costs.step.row(costs.step_class(a + t)); };

    for (Index t = 0; t < T; ++t) {
      const auto token = at_token(t);
      const auto step = at_step(t);
      for (Index y = 0; t > 0 && y < Y; ++y)
        for (Index z = 0; z < Y; ++z)
          if (pair(t, y, z) > 0.0 && own(t, z) > 0.0)  // either may underflow
            before(t, z) += pair(t, y, z) / own(t, z) * (before(t - 1, y) + step(y, z));
      for (Index z = 0; z < Y; ++z) before(t, z) = t > 0 ? before(t, z) + token(z) : token(z) + step(Y, z);
    }
    for (Index t = T - 2; t >= 0; --t) {
      const auto token = at_token(t + 1);
      const auto step = at_step(t + 1);
      for (Index y = 0; y < Y; ++y)
        for (Index z = 0; z < Y; ++z)
          if (pair(t + 1, y, z) > 0.0 && own(t, y) > 0.0)
            after(t, y) += pair(t + 1, y, z) / own(t, y) * (step(y, z) + token(z) + after(t + 1, z));
    }
    double mean = 0.0;
    for (Index z = 0; z < Y; ++z) mean += own(T - 1, z) * before(T - 1, z);
    for (Index t = T - 1; t >= 0; --t) {
      const auto token = at_token(t);
      const auto step = at_step(t);
      for (Index y = 0; t > 0 && y < Y; ++y) {
        double* sum = &steps(p, lattice.kind(lattice.chain.kind(t)), y, 0);
        for (Index z = 0; z < Y; ++z)
          sum[z] += pair(t, y, z) * (before(t - 1, y) + step(y, z) + (token(z) + after(t, z) - mean));
      }
      for (Index z = 0; z < Y; ++z) own(t, z) *= before(t, z) + after(t, z) - mean;
    }
  });
}

}  // namespace semistruct
