// Sums over the tokens of each feature.
#pragma once
#include <algorithm>

#include "view.hpp"

namespace semistruct {

/// out(f, y) = sum over the tokens rows(ptr(f)) .. rows(ptr(f+1)-1) that have feature f of its value times of(token, y).
///
/// values has one entry per token of a feature, or a single one shared by all.
inline void gather_tokens(Reads<Index> which, Reads<Index> ptr, Reads<std::int32_t> rows, Reads<double> values,
                          View<const double, 2> of, View<double, 2> out) {
  const Index Y = of.shape[1], stride = values.size() == 1 ? 0 : 1;
  for (Index f : which) {
    double* sum = &out(f, 0);
    std::fill(sum, sum + Y, 0.0);
    for (Index j = ptr(f); j < ptr(f + 1); ++j) {
      const double value = values(j * stride), *row = &of(rows(j), 0);
      for (Index y = 0; y < Y; ++y) sum[y] += value * row[y];
    }
  }
}

}  // namespace semistruct
