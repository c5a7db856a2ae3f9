// Sums over the tokens of each feature, and over all weights.
#pragma once
#include "lanes.hpp"
#include "work.hpp"

namespace semistruct {

/// out(f, y) = sum of value * of(token, y) over the tokens rows(ptr(f)) .. rows(ptr(f+1)-1) that have feature f.
///
/// values has one entry per token of a feature, or a single one shared by all.
inline void gather_tokens(const Which& which, Reads<Index> ptr, Reads<std::int32_t> rows, Reads<double> values,
                          View<const double, 2> of, View<double, 2> out) {
  const Index stride = values.size() == 1 ? 0 : 1;
  in_lanes(of.shape[1], [&](auto zero) {
    for (Index f : which.numbers) {
      auto sum = zero;
      for (Index j = ptr(f); j < ptr(f + 1); ++j) {
        const double value = values(j * stride);
        sum.with(&of(rows(j), 0), [&](auto& lane, const auto& each) { lane += value * each; });
      }
      sum.store(&out(f, 0));
    }
  });
}

/// The sum of squares, in an order that is the same on every machine.
inline double norm2(Reads<double> x) {
  constexpr Index LANES = 8;
  double part[LANES] = {};
  const Index whole = x.size() - x.size() % LANES;
  for (Index i = 0; i < whole; i += LANES)
    for (Index k = 0; k < LANES; ++k) part[k] += x.data[i + k] * x.data[i + k];
  double total = 0.0;
  for (double sum : part) total += sum;
  for (double value : x.slice(whole, x.size())) total += value * value;
  return total;
}

}  // namespace semistruct
