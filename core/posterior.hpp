// Distributions over the labellings of one chain, p(y) proportional to exp(score(y)): forward and backward sums.
//
// Notation as in chain.hpp.  Sums are made with probabilities that are scaled at every position, and with logarithms
// where these are too small.
#pragma once
#include "chain.hpp"

namespace semistruct {

/// Step tables as probabilities: exp(step(k)) = exp(top(k)) * factor(k), and back(k) is factor(k) transposed.
struct Factors {
  Tables factor;
  Tables back;
  Reads<double> top;
};

/// The expected labels and steps of a sequence.
struct Expectation {
  View<double, 2> marginal;  // (T, Y) p(y_t = y)
  View<double, 3> counts;    // p(y_{t-1} = y, y_t = z) is added to counts(place(t), y, z)
};

/// log sum exp(x), -inf if all of x is.
inline double log_sum_exp(Reads<double> x) {
  double top = -INF, total = 0.0;
  for (double v : x) top = std::max(top, v);
  if (top == -INF) return top;
  for (double v : x) total += std::exp(v - top);
  return top + std::log(total);
}

/// Write the Factors of step tables; top(k) is the largest entry, or 0 if all are -inf.
inline void factors_of(Tables step, View<double, 3> factor, View<double, 3> back, View<double> top) {
  const auto [K, Y, Z] = step.shape;
  for (Index k = 0; k < K; ++k) {
    const Tables one = step.slice(k, k + 1);
    const double high = *std::max_element(one.begin(), one.end());
    top(k) = high > -INF ? high : 0.0;
    for (Index y = 0; y < Y; ++y)
      for (Index z = 0; z < Z; ++z) back(k, z, y) = factor(k, y, z) = std::exp(step(k, y, z) - top(k));
  }
}

/// out(z) += sum_y a(y) * rows(y, z), added in the order of y, where both have Y entries.
inline void add_rows(const double* a, const double* rows, Index Y, double* out) {
  Index y = 0;
  for (; y + 3 < Y; y += 4) {  // four rows at a time keep `out` in registers
    const double *f = rows + y * Y, *g = f + Y, *h = g + Y, *i = h + Y;
    for (Index z = 0; z < Y; ++z) {
      const double s = out[z] + a[y] * f[z] + a[y + 1] * g[z];
      out[z] = s + a[y + 2] * h[z] + a[y + 3] * i[z];
    }
  }
  for (; y < Y; ++y)
    for (Index z = 0; z < Y; ++z) out[z] += a[y] * rows[y * Y + z];
}

/// `sum_product` with probabilities; NaN, and no counts added, if something that matters may have been lost.
template <class Place>
double in_probabilities(const Chain& chain, const Factors& factors, Place place, const Expectation& out,
                        Memory& memory) {
  const auto [T, Y] = chain.unary.shape;
  const Memory::Scope scope(memory);
  constexpr double NOTHING = std::numeric_limits<double>::quiet_NaN();
  const View<double, 2> alpha = memory.of<double>(T, Y), beta = memory.of<double>(T, Y);
  const View<double, 2> local = memory.of<double>(T, Y);
  double log_z = 0.0;
  for (Index t = 0; t < T; ++t) {
    const double* scores = &chain.unary(t, 0);
    const double high = *std::max_element(scores, scores + Y);
    if (high == -INF) return NOTHING;
    double *here = &alpha(t, 0), *own = &local(t, 0), total = 0.0;
    for (Index z = 0; z < Y; ++z) own[z] = std::exp(scores[z] - high), here[z] = t == 0 ? 1.0 : 0.0;
    if (t > 0) {
      log_z += factors.top(chain.kind(t));
      add_rows(&alpha(t - 1, 0), &factors.factor(chain.kind(t), 0, 0), Y, here);
    }
    for (Index z = 0; z < Y; ++z) here[z] *= own[z], total += here[z];
    if (!(total > 1e-100)) return NOTHING;
    const double scale = 1.0 / total;
    log_z += high + std::log(total);
    for (Index z = 0; z < Y; ++z) here[z] *= scale, own[z] *= scale;
  }
  fill(beta.row(T - 1), 1.0);
  copy(alpha.row(T - 1), out.marginal.row(T - 1));
  for (Index t = T - 2; t >= 0; --t) {
    double *here = &beta(t, 0), total = 0.0, high = 0.0;
    std::fill(here, here + Y, 0.0);
    for (Index z = 0; z < Y; ++z) local(t + 1, z) *= beta(t + 1, z);
    add_rows(&local(t + 1, 0), &factors.back(chain.kind(t + 1), 0, 0), Y, here);
    for (Index y = 0; y < Y; ++y) {
      out.marginal(t, y) = alpha(t, y) * here[y];
      total += out.marginal(t, y);
      high = std::max(high, here[y]);
    }
    if (!(std::abs(total - 1.0) < 1e-9)) return NOTHING;  // a path was lost on one way and not on the other
    if (!(high < 1e200)) return NOTHING;  // or it may have been lost on both: what was too small for alpha matters here
  }
  for (Index t = 1; t < T; ++t) {
    const double* own = &local(t, 0);
    for (Index y = 0; y < Y; ++y) {
      const double a = alpha(t - 1, y);
      const double* row = &factors.factor(chain.kind(t), y, 0);
      double* sum = &out.counts(place(t), y, 0);
      for (Index z = 0; z < Y; ++z) sum[z] += a * row[z] * own[z];
    }
  }
  return log_z;
}

/// alpha(t, z) = log sum exp of the scores of all labellings of positions 0..t that end in z; terms (Y,) is room.
inline void log_forward(const Chain& chain, View<double, 2> alpha, View<double> terms) {
  const auto [T, Y] = chain.unary.shape;
  copy(chain.unary.row(0), alpha.row(0));
  for (Index t = 1; t < T; ++t)
    for (Index z = 0; z < Y; ++z) {
      for (Index y = 0; y < Y; ++y) terms(y) = alpha(t - 1, y) + chain.step(chain.kind(t), y, z);
      alpha(t, z) = log_sum_exp(terms) + chain.unary(t, z);
    }
}

/// beta(t, y) = log sum exp of the scores of all labellings of positions t+1.. given label y at t; terms (Y,) is room.
inline void log_backward(const Chain& chain, View<double, 2> beta, View<double> terms) {
  const auto [T, Y] = chain.unary.shape;
  fill(beta.row(T - 1), 0.0);
  for (Index t = T - 1; t > 0; --t)
    for (Index y = 0; y < Y; ++y) {
      for (Index z = 0; z < Y; ++z) terms(z) = chain.step(chain.kind(t), y, z) + chain.unary(t, z) + beta(t, z);
      beta(t - 1, y) = log_sum_exp(terms);
    }
}

/// `sum_product` with logarithms.
template <class Place>
double in_logs(const Chain& chain, Place place, const Expectation& out, Memory& memory) {
  const auto [T, Y] = chain.unary.shape;
  const Memory::Scope scope(memory);
  const View<double, 2> alpha = memory.of<double>(T, Y), beta = memory.of<double>(T, Y);
  const View<double> terms = memory.of<double>(Y);
  log_forward(chain, alpha, terms);
  log_backward(chain, beta, terms);
  const double log_z = log_sum_exp(alpha.row(T - 1));
  for (Index t = T - 1; t > 0 && log_z > -INF; --t)
    for (Index y = 0; y < Y; ++y)
      for (Index z = 0; z < Y; ++z) {
        const double ahead = chain.step(chain.kind(t), y, z) + chain.unary(t, z) + beta(t, z);
        out.counts(place(t), y, z) += std::exp(alpha(t - 1, y) + ahead - log_z);
      }
  for (Index t = 0; t < T; ++t)
    for (Index y = 0; y < Y; ++y) out.marginal(t, y) = std::exp(alpha(t, y) + beta(t, y) - log_z);
  return log_z;
}

/// Return log Z and write what is expected; if no labelling is allowed, log Z is -inf and the marginals are NaN.
template <class Place>
double sum_product(const Chain& chain, const Factors& factors, Place place, const Expectation& out, Memory& memory) {
  const double log_z = in_probabilities(chain, factors, place, out, memory);
  return std::isnan(log_z) ? in_logs(chain, place, out, memory) : log_z;
}

}  // namespace semistruct
