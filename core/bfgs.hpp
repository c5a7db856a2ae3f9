// Projected BFGS: a minimum over a box of a smooth function of few variables, each of whose values costs much.
//
//   x, low, high (J,)   variables and their ranges
//   f(x, gradient)      returns the value at x and writes the gradient
//   inverse (J, J)      what stands for the inverse of the matrix of second derivatives
#pragma once
#include <algorithm>
#include <cmath>

#include "view.hpp"

namespace semistruct {

constexpr double ARMIJO = 1e-4;
constexpr Index HALVINGS = 30;

struct Box {
  Reads<double> low, high;

  double inside(Index j, double x) const { return std::min(std::max(x, low(j)), high(j)); }
  /// Variable j is at an end of its range, beyond which the gradient would have it.
  bool is_stuck(Index j, double x, double gradient) const {
    return (x <= low(j) && gradient > 0) || (x >= high(j) && gradient < 0);
  }
  /// How far a projected gradient step would go.
  double residual(Reads<double> x, Reads<double> gradient) const {
    double far = 0.0;
    for (Index j = 0; j < x.size(); ++j) far = std::max(far, std::abs(inside(j, x(j) - gradient(j)) - x(j)));
    return far;
  }
};

inline void set_to_identity(View<double, 2> inverse) {
  for (Index j = 0; j < inverse.shape[0]; ++j)
    for (Index k = 0; k < inverse.shape[1]; ++k) inverse(j, k) = j == k ? 1.0 : 0.0;
}

/// The quasi-Newton direction d among the variables that may move; returns its slope.
inline double descent(const Box& box, Reads<double> x, Reads<double> gradient, View<const double, 2> inverse,
                        View<double> d) {
  const auto is_stuck = [&](Index j) { return box.is_stuck(j, x(j), gradient(j)); };
  double slope = 0.0;
  for (Index j = 0; j < x.size(); ++j) {
    d(j) = 0.0;
    if (is_stuck(j)) continue;
    for (Index k = 0; k < x.size(); ++k)
      if (!is_stuck(k)) d(j) -= inverse(j, k) * gradient(k);
    slope += d(j) * gradient(j);
  }
  return slope;
}

/// The update for a step s by which the gradient changed by y; the first one also sets the scale.
inline void update_inverse(View<double, 2> inverse, Reads<double> s, Reads<double> y, bool fresh,
                           View<double> product) {
  const Index J = s.size();
  double sy = 0.0, yy = 0.0, yhy = 0.0;
  for (Index j = 0; j < J; ++j) sy += s(j) * y(j), yy += y(j) * y(j);
  if (sy <= 1e-12 * yy || sy <= 0.0) return;
  if (fresh)
    for (Index j = 0; j < J; ++j) inverse(j, j) = sy / yy;
  for (Index j = 0; j < J; ++j) {
    product(j) = 0.0;
    for (Index k = 0; k < J; ++k) product(j) += inverse(j, k) * y(k);
    yhy += y(j) * product(j);
  }
  for (Index j = 0; j < J; ++j)
    for (Index k = 0; k < J; ++k)
      inverse(j, k) += (1 + yhy / sy) * s(j) * s(k) / sy - (product(j) * s(k) + s(j) * product(k)) / sy;
}

struct Minimum {
  double value, residual;
};

/// Move x to a minimum of f in the box, until the residual is at most tol; the last call of f is at x.
template <class Function>
Minimum minimise(Function&& f, const Box& box, double tol, Index rounds, View<double> x, Memory& memory) {
  const Memory::Scope scope(memory);
  const Index J = x.size();
  const View<double> gradient = memory.of<double>(J), new_gradient = memory.of<double>(J), d = memory.of<double>(J);
  const View<double> new_x = memory.of<double>(J), product = memory.of<double>(J);
  const View<double, 2> inverse = memory.of<double>(J, J);
  set_to_identity(inverse);
  double value = f(x, gradient);
  bool fresh = true;
  for (Index round = 0; round < rounds && box.residual(x, gradient) > tol; ++round) {
    if (!(descent(box, x, gradient, inverse, d) < 0)) {
      set_to_identity(inverse);
      fresh = true;
      descent(box, x, gradient, inverse, d);
    }
    double step = 1.0, there = value;
    bool moved = false;
    for (Index halving = 0; halving < HALVINGS && !moved; ++halving, step *= 0.5) {
      double gain = 0.0;
      for (Index j = 0; j < J; ++j) {
        new_x(j) = box.inside(j, x(j) + step * d(j));
        gain += gradient(j) * (new_x(j) - x(j));
      }
      there = f(new_x, new_gradient);
      moved = there <= value + ARMIJO * gain;
    }
    if (!moved) {  // rounding stops the search: go back to the last good point
      value = f(x, gradient);
      break;
    }
    value = there;
    for (Index j = 0; j < J; ++j) {
      d(j) = new_x(j) - x(j);
      x(j) = new_x(j);
      const double before = gradient(j);
      gradient(j) = new_gradient(j), new_gradient(j) -= before;
    }
    update_inverse(inverse, d, new_gradient, fresh, product);
    fresh = false;
  }
  return {value, box.residual(x, gradient)};
}

}  // namespace semistruct
