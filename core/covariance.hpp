// Covariances of counts with the features of a chain model.
//
// Of a count c(y), the sum of `costs` over a labelling, with labels and steps: with the chain as a Markov chain,
// E[c | y_t] is the sum of what is expected of c before and after t, each by one recursion.
#pragma once
#include <numeric>

#include "projection.hpp"

namespace semistruct {

/// marginal (n_tokens, Y): Cov(c, 1[y_t = z]); steps (pieces, kinds, Y, Y): summed over the steps of each kind.
inline void covary(Reads<Index> pieces, Reads<Index> bounds, const Field& field, const Costs& costs,
                   View<double, 2> marginal, View<double, 4> steps) {
  const Index Y = field.scorer.n_labels();
  LatticeRoom lattices;
  FactorRoom factors;
  SumRoom sums;
  Room<double, 2> before_room, after_room;
  Room<double, 3> pair_room;
  Room<Index> place_room;
  for (Index p : pieces)
    for (Index i = bounds(p); i < bounds(p + 1); ++i) {
      const Lattice lattice = lattices.of(field, i);
      const Index a = lattice.first, T = lattice.group.size();
      View<double, 2> own = marginal.slice(a, a + T);
      View<double, 2> before = before_room.filled(0.0, T, Y), after = after_room.filled(0.0, T, Y);
      View<double, 3> pair = pair_room.filled(0.0, T, Y, Y);  // p(y_{t-1} = y, y_t = z)
      View<Index> place = place_room.of(T);
      std::iota(place.begin(), place.end(), Index{0});
      sum_product(lattice.unary, lattice.step, factors.of(lattice.step), lattice.group, place, {own, pair}, sums);
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
          double* sum = &steps(p, lattice.kind(lattice.group(t)), y, 0);
          for (Index z = 0; z < Y; ++z)
            sum[z] += pair(t, y, z) * (before(t - 1, y) + step(y, z) + (token(z) + after(t, z) - mean));
        }
        for (Index z = 0; z < Y; ++z) own(t, z) *= before(t, z) + after(t, z) - mean;
      }
    }
}

}  // namespace semistruct
