// Bounds on what labellings of one sequence are worth under rules, and the labels that these bounds leave.
//
// What makes a bound sharp are Lagrange multipliers on the numbers of blocks: every start of a block of label z pays
// multiplier(z), and what the rules allow it to use of that is credited.  The best labelling that pays, without the
// tracked terms, is then worth at least as much as the best one under the rules.  A label whose best labelling is worth
// less than `floor` is struck; it often leaves one to three labels per token.
#pragma once
#include <numeric>

#include "prefixes.hpp"

namespace semistruct {

constexpr int ROUNDS = 40;          // of improving the multipliers, at most
constexpr int PATIENCE = 3;         // rounds without a better bound until the steps get smaller
constexpr int FAILS = 4;            // times that the steps may get smaller
constexpr double LEAST_LEAD = 1e-3;  // where there are ties

/// By more than rounding may have done to it.
inline double a_little_below(double value) { return value > -INF ? value - 1e-9 * std::abs(value) - 1e-7 : value; }

/// The value of a labelling, and an upper bound on the value of any: the value itself if that is certain.
struct Worth {
  double value, ceiling;
};

/// One sequence, the rules about it, and what is known by now of its best labellings.
struct Search {
  const Chain& chain;  // scores less the costs of local rules
  const Track& track;
  Bound bound;
  Memory& memory;

  /// A search whose bound has no multipliers, and to which all labels are left.
  Search(const Chain& chain, const Track& track, Memory& memory)
      : chain(chain), track(track), memory(memory) {
    const auto [T, Y] = chain.unary.shape;
    bound = {memory.filled(0.0, Y), memory.of<double>(T, Y), memory.of<Index>(T, Y), memory.filled<Index>(Y, T)};
    for (Index t = 0; t < T; ++t) std::iota(&bound.label(t, 0), &bound.label(t, 0) + Y, Index{0});
  }
};

/// Write the best labelling without the tracked terms; bound.ahead is written over.
inline Worth free_best(const Search& s, View<Label> path) {
  const double ceiling = viterbi(s.chain, s.bound.ahead, path);
  return {ceiling > -INF ? ceiling - tracked_cost(s.track, s.chain, path, s.memory) : ceiling, ceiling};
}

/// Strike the labels that no labelling of at least `floor` has; best is what `forward` makes, credit included.
inline void strike(View<double, 2> best, const Bound& bound, double floor) {
  for (Index t = 0; t < bound.many.size(); ++t) {
    Index n = 0;
    for (Index j = 0; j < bound.many(t); ++j) {
      const Index z = bound.label(t, j);
      const double most = best(t, z) + bound.ahead(t, z);
      if (most >= floor && most > -INF) bound.label(t, n++) = z;
    }
    bound.many(t) = n;
  }
}

/// best(t, z) = start + the score of the best labels up to t that end in z, multipliers paid.
inline void forward(const Chain& chain, const Bound& bound, Reads<double> multiplier, double start,
                    View<double, 2> best) {
  for (Index t = 0; t < bound.many.size(); ++t) {
    const Index* label = &bound.label(t, 0);
    const Index many = bound.many(t);
    double* here = &best(t, 0);
    for (Index j = 0; j < many; ++j) here[label[j]] = t == 0 ? start : -INF;
    for (Index i = 0; t > 0 && i < bound.many(t - 1); ++i) {
      const Index y = bound.label(t - 1, i);
      const double before = best(t - 1, y);
      const double* row = &chain.step(chain.kind(t), y, 0);
      for (Index j = 0; j < many; ++j) {
        const Index z = label[j];
        const double s = before + row[z] + (y == z ? multiplier(z) : 0.0);
        here[z] = s > here[z] ? s : here[z];
      }
    }
    for (Index j = 0; j < many; ++j) here[label[j]] += chain.unary(t, label[j]) - multiplier(label[j]);
  }
}

/// Fill bound.ahead.
inline void backward(const Chain& chain, const Bound& bound, Reads<double> multiplier) {
  const Index T = bound.many.size();
  for (Index j = 0; j < bound.many(T - 1); ++j) bound.ahead(T - 1, bound.label(T - 1, j)) = 0.0;
  for (Index t = T - 2; t >= 0; --t)
    for (Index i = 0; i < bound.many(t); ++i) {
      const Index y = bound.label(t, i);
      const double* row = &chain.step(chain.kind(t + 1), y, 0);
      double top = -INF;
      for (Index j = 0; j < bound.many(t + 1); ++j) {
        const Index z = bound.label(t + 1, j);
        const double s = row[z] + chain.unary(t + 1, z) + bound.ahead(t + 1, z) - (y == z ? 0.0 : multiplier(z));
        top = s > top ? s : top;
      }
      bound.ahead(t, y) = top;
    }
}

/// Write the best labelling and return its value; -inf if there is none.
inline double read_path(const Chain& chain, const Bound& bound, Reads<double> multiplier,
                        View<double, 2> best, View<Label> path) {
  const Index T = bound.many.size();
  double value = -INF;
  for (Index t = T - 1; t >= 0; --t) {
    double top = -INF;
    Index arg = -1;
    for (Index i = 0; i < bound.many(t); ++i) {
      const Index y = bound.label(t, i);
      double s = best(t, y);
      if (t < T - 1) {
        const Index z = path(t + 1);
        s += chain.step(chain.kind(t + 1), y, z) + (y == z ? multiplier(z) : 0.0);
      }
      if (s > top) top = s, arg = y;
    }
    if (arg < 0) return -INF;
    path(t) = static_cast<Label>(arg);
    if (t == T - 1) value = top;
  }
  return value;
}

/// A subgradient step towards multipliers under which the best labelling has an allowed number of blocks.
///
///   gap     by how much the value of `path`, multipliers paid, should go down (Polyak)
///   stride  by how much a multiplier may change for each block too many or too few
///
/// Returns whether any multiplier has changed.
inline bool step_multipliers(View<double> multiplier, Reads<Limit> limits, Reads<Label> path, double gap,
                             double stride, Memory& memory) {
  if (!(gap < INF)) return false;
  const Memory::Scope scope(memory);
  const View<double> over = memory.filled(0.0, multiplier.size());  // blocks too many, negative for too few
  for (Index t = 0; t < path.size(); ++t) over(path(t)) += t == 0 || path(t) != path(t - 1);
  double size = 0.0;
  for (Index z = 0; z < multiplier.size(); ++z) {
    const double most = static_cast<double>(limits(z).most), least = static_cast<double>(limits(z).least);
    if (multiplier(z) > 0 || over(z) > most)
      over(z) -= most;
    else if (multiplier(z) < 0 || over(z) < least)
      over(z) -= least;
    else
      over(z) = 0.0;
    size += over(z) * over(z);
  }
  bool moved = false;
  for (Index z = 0; z < multiplier.size(); ++z) {
    if (over(z) == 0) continue;
    double changed = multiplier(z) + std::min(gap / size, stride) * over(z);
    changed = std::min(std::max(changed, -limits(z).least_price), limits(z).most_price);
    if ((multiplier(z) > 0 && changed < 0) || (multiplier(z) < 0 && changed > 0)) changed = 0.0;
    moved = moved || changed != multiplier(z);
    multiplier(z) = changed;
  }
  return moved;
}

/// By how much the best label of a token beats the next one: the median, which hard rules do not change much.
inline double usual_lead(View<double, 2> best, const Bound& bound, Memory& memory) {
  const Memory::Scope scope(memory);
  const View<double> leads = memory.of<double>(bound.many.size());
  Index n = 0;
  for (Index t = 0; t < bound.many.size(); ++t) {
    double top = -INF, second = -INF;
    for (Index j = 0; j < bound.many(t); ++j) {
      const double value = best(t, bound.label(t, j)) + bound.ahead(t, bound.label(t, j));
      second = std::max(second, std::min(top, value));
      top = std::max(top, value);
    }
    if (second > -INF) leads(n++) = top - second;
  }
  return n > 0 ? std::max(nth_largest(leads, n, n / 2), LEAST_LEAD) : 1.0;
}

/// Improve the multipliers, and strike labels that no labelling of at least `floor` has.
///
/// `path` is a labelling and `known` what is known of its value and of any; it is written over where a better one is
/// met. Returns its value and an upper bound on the value of any labelling of at least floor.
inline Worth sharpen(const Search& s, double floor, Worth known, View<Label> path) {
  const Memory::Scope scope(s.memory);
  const auto [T, Y] = s.chain.unary.shape;
  const Bound& bound = s.bound;
  const View<double> multiplier = s.memory.of<double>(Y);
  const View<double, 2> best = s.memory.of<double>(T, Y);
  const View<Label> trial = s.memory.of<Label>(T);
  auto [value, ceiling] = known;
  copy(bound.multiplier, multiplier);
  double stride = -1.0;
  int idle = 0, fails = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    forward(s.chain, bound, multiplier, credit(multiplier, s.track.limits), best);
    const double top = read_path(s.chain, bound, multiplier, best, trial);
    if (top == -INF) return {value, std::max(value, floor)};
    const double worth = path_score(s.chain, trial) - tracked_cost(s.track, s.chain, trial, s.memory);
    if (worth > value) {
      value = worth;
      copy(trial, path);
    }
    ++idle;
    if (top < ceiling || stride < 0) {
      if (top < a_little_below(ceiling)) idle = 0, stride *= 1.5;
      ceiling = std::min(top, ceiling);
      copy(multiplier, bound.multiplier);
      backward(s.chain, bound, multiplier);
      if (!(stride > 0)) stride = usual_lead(best, bound, s.memory);
      strike(best, bound, floor);
    }
    if (value >= a_little_below(ceiling) || ceiling < floor) break;
    if (idle >= PATIENCE) {
      stride = std::min(stride, (ceiling - value) / 2) / 2, idle = 0, ++fails;
      copy(bound.multiplier, multiplier);
    }
    if (fails == FAILS) break;
    if (!step_multipliers(multiplier, s.track.limits, trial, top - value, stride, s.memory)) break;
  }
  backward(s.chain, bound, bound.multiplier);
  return {value, ceiling};
}

}  // namespace semistruct
