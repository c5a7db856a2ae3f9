// The loop of the multi-class dual method, with K classes; `learning/solvers/multiclass.py` explains what it computes.
#pragma once
#include "work.hpp"

namespace semistruct {

/// The examples: values data(j) of features indices(j), indptr(i) <= j < indptr(i+1).
struct Examples {
  Reads<Index> indptr;
  Reads<std::int32_t> indices;
  Reads<double> data;
};

/// Improve the dual variables alpha (n, K) of each example in turn, and W (F, K) with them.
inline void visit_classes(const Which& order, const Examples& rows, Reads<double> norm2, Reads<Index> y,
                          Reads<double> C, View<const double, 2> cost, View<double, 2> W, View<double, 2> alpha) {
  constexpr Index MOVES = 10;  // of mass per visit of an example
  const Index K = W.shape[1];
  order.each([&](Index i, Memory& memory) {
    if (C(i) <= 0 || norm2(i) == 0) return;
    const View<double> h = memory.of<double>(K), change = memory.filled(0.0, K), mass = alpha.row(i);
    copy(cost.row(y(i)), h);
    for (Index j = rows.indptr(i); j < rows.indptr(i + 1); ++j) {
      const double value = rows.data(j), *w = &W(rows.indices(j), 0);
      for (Index c = 0; c < K; ++c) h.data[c] += value * w[c];
    }
    for (Index moves = 0; moves < MOVES; ++moves) {
      Index up = 0, low = -1;
      for (Index c = 0; c < K; ++c) {
        if (h(c) > h(up)) up = c;
        if (mass(c) > 0 && (low < 0 || h(c) < h(low))) low = c;
      }
      const double size = std::min(mass(low), (h(up) - h(low)) / (2 * C(i) * norm2(i)));
      if (low == up || size <= 1e-12) break;
      mass(low) = size == mass(low) ? 0.0 : mass(low) - size;
      mass(up) += size;
      change(low) += C(i) * size;
      change(up) -= C(i) * size;
      h(low) += C(i) * size * norm2(i);
      h(up) -= C(i) * size * norm2(i);
    }
    for (Index j = rows.indptr(i); j < rows.indptr(i + 1); ++j) {
      const double value = rows.data(j);
      double* w = &W(rows.indices(j), 0);
      for (Index c = 0; c < K; ++c) w[c] += value * change.data[c];
    }
  });
}

}  // namespace semistruct
