// The best labellings of one sequence under rules that see more than two neighbouring labels.
//
// Partial labellings (prefixes.hpp) grow from left to right, one layer of them per position.  A prefix whose bound
//
//   score of the prefix - its penalty + the best score of any rest    (`ahead`, see bounds.hpp)
//
// is below `floor`, the value of a labelling already known, is struck, and so is one that another one dominates, unless
// more than the best labelling is asked for.  If no layer outgrows its width the result is exact; else it is that of a
// beam search.  Narrow searches come first: what they find is a floor by which bounds are sharpened and labels are
// struck before the next, wider one.
//
// A margin is by how much the best labelling with a certain label beats the best one with another label there.  One of
// the two is the best of all labellings; the other one is searched for, with the label of that token fixed or
// forbidden.  Such a search starts with the multipliers of the first one and with the best labelling met on the way
// that will do, and often ends there, because a bound says that no other is better.
#pragma once
#include "bounds.hpp"
#include "work.hpp"

namespace semistruct {

constexpr double GROWTH = 4;    // of the widths of searches that follow each other
constexpr double BUDGET = 2e6;  // prefixes that the searches for one sequence may look at: about a tenth of a second
constexpr double PRICE = 10;    // of a prefix that is kept, in prefixes looked at

/// How sequences are scored for a search:  scale * score of the model + bonus - costs of local rules.
struct Scoring {
  Scorer scorer;
  Costs costs;
  Tables step;                  // (kinds of steps * classes of steps, Y, Y) scaled, with the costs of local rules
  double scale;
  View<const double, 2> bonus;  // (n_tokens, Y), or empty
  Reads<Label> known;           // (n_tokens,) or empty: other labels than a known one are forbidden
};

/// The chain of sequence i.
inline Chain chain_of(const Scoring& scoring, Index i, Memory& memory) {
  const Costs& costs = scoring.costs;
  const Chain model = chain_of(scoring.scorer, i, memory);
  const Index a = model.first, Y = model.n_labels();
  const View<Label> kind = memory.of<Label>(model.size());
  for (Index t = 0; t < model.size(); ++t) {
    kind(t) = static_cast<Label>(model.kind(t) * costs.step.size() + costs.step_class(a + t));
    const double* cost = &costs.token(costs.token_class(a + t), 0);
    for (Index y = 0; y < Y; ++y) {
      double& here = model.unary(t, y);
      here = scoring.scale * here - cost[y];
      if (t == 0) here -= costs.step(costs.step_class(a), Y, y);
      if (!scoring.bonus.empty()) here += scoring.bonus(a + t, y);
      if (forbids(scoring.known, a + t, y)) here = -INF;
    }
  }
  return {a, model.unary, scoring.step, kind};
}

/// What one search did.
struct Outcome {
  bool exact;
  double work;  // prefixes looked at
};

/// Labellings (k, T), the best first, and their values; -inf where there are no more.
struct Ranked {
  View<Label, 2> paths;
  View<double> values;

  /// Put others among these; wider searches may miss what narrower ones found.
  void merge(const Ranked& found) const {
    const Index n = values.size();
    for (Index r = 0; r < n; ++r) {
      const double value = found.values(r);
      Index place = 0;
      bool known = value == -INF;
      for (Index p = 0; p < n; ++p) {
        place += values(p) >= value;
        known = known || (a_little_below(values(p)) <= value && equal(paths.row(p), found.paths.row(r)));
      }
      if (known || place == n) continue;
      for (Index later = n - 1; later > place; --later) {
        values(later) = values(later - 1);
        copy(paths.row(later - 1), paths.row(later));
      }
      values(place) = value;
      copy(found.paths.row(r), paths.row(place));
    }
  }
};

/// Write prefix p with label z at t as the n-th of the next layer, unless it is below floor.
inline bool grow(const Search& s, Beam& beam, Index p, Index n, Extended one, Index t, Index z, double floor) {
  const Prefix& from = beam.old.state(p);
  const View<Count> row = beam.next.rows.row(n);
  copy(beam.old.rows.row(p), row);
  one.score -= advance(s.track, s.chain, t, from.label, from.run, z, row);
  if (t == s.chain.size() - 1) one.rest = 0.0;
  if (!(one.score + one.rest >= floor)) return false;
  beam.next.state(n) = {one.score, one.rest, from.label == z ? std::min(from.run + 1, s.track.longest) : 1, z, p};
  return true;
}

/// Write the best labellings with values of at least floor.
inline Outcome search(const Search& s, Index width, double floor, const Ranked& found) {
  const Memory::Scope scope(s.memory);
  const auto [T, Y] = s.chain.unary.shape;
  const Bound& bound = s.bound;
  const bool strikes = found.values.size() == 1;  // the second best may come of what is dominated
  Beam beam = begin_beam(s.chain, bound, s.track, width, s.memory);
  const Lists lists{s.memory.of<Index>(Y), s.memory.of<Index>(beam.next.state.size())};
  const View<Index> last = s.memory.of<Index>(Y);
  const View<Matter> matter = s.memory.of<Matter>(s.track.size);
  Outcome out{true, 0.0};
  last_starts(bound, last);
  for (Index t = 0; t < T; ++t) {
    Index n = 0, many = 0, check_at = 2 * width;
    double cut = floor;
    const Reads<Matter> matters = matter.slice(0, what_matters(s.track, last, t, matter));
    fill<Index>(lists.head, -1);
    // where nothing is struck, labels that stay come first: if these fill the layer, others must have higher bounds
    for (Index visit = 0; visit < (strikes ? 1 : 2) * beam.alive; ++visit) {
      const Index p = visit % beam.alive;
      if (visit == beam.alive && n == width) cut = std::max(floor, lowest_kept(width, n, beam.next, beam.spare));
      out.work += static_cast<double>(bound.many(t));
      for (Index j = 0; j < bound.many(t); ++j) {
        const Index z = bound.label(t, j);
        if (!strikes && (beam.old.state(p).label == z) != (visit < beam.alive)) continue;
        const Extended one = extend(beam.old.state(p), beam.old.rows.row(p), s.chain, bound, s.track, t, z);
        const double most = one.score + one.rest - one.due;
        if (!(most >= cut) || one.score == -INF) {
          out.exact = out.exact && !(most >= floor && one.score > -INF);
          continue;
        }
        out.work += PRICE;
        if (!grow(s, beam, p, n, one, t, z, floor)) continue;
        if (!strikes || t == T - 1) {
          ++many, ++n;
        } else {
          many += lists.enter(matters, beam.next, n);
          n += lists.head(z) == n;
        }
        if (many >= check_at && t < T - 1) {  // too many: those below the best of them will not be kept
          cut = lowest_kept(width, n, beam.next, beam.spare);
          check_at = many + width;
        }
      }
    }
    if (many > width) {
      out.exact = false;
      n = keep_best(width, n, beam.next, beam.spare);
    }
    beam.settle(t, n, bound.ahead);
  }
  for (Index r = 0; r < found.values.size(); ++r) {
    const Index best = beam.best();
    found.values(r) = -INF;
    if (best < 0) continue;
    std::swap(found.values(r), beam.old.state(best).score);
    beam.trace_back(best, found.paths.row(r));
  }
  return out;
}

/// Upper bounds on the value of any labelling, and of any that is not among those found.
struct Ceilings {
  double any, unseen;
};

/// From a labelling, `best.paths.row(0)`, to the best ones, by searches that get wider until one is exact.
///
///   least    labellings with a lower value are of no interest
///   within   nor are those whose value is further below the best
///   ceiling  no labelling has a higher value
inline Ceilings climb(const Search& s, Reads<Index> widths, double least, double within, double ceiling,
                      const Ranked& best) {
  const Memory::Scope scope(s.memory);
  const Index k = best.values.size();
  const Ranked found{s.memory.of<Label>(k, s.chain.size()), s.memory.of<double>(k)};
  const auto lowest = [&] { return std::max(best.values(k - 1), best.values(0) - within); };
  double work = 0.0;
  for (Index width : widths) {
    const Outcome one = search(s, width, std::max(a_little_below(lowest()), least), found);
    best.merge(found);
    if (!one.exact && (k > 1 || best.values(0) < a_little_below(ceiling))) {
      fill(found.values, -INF);
      copy(best.paths.row(0), found.paths.row(0));
      const double floor = std::max(a_little_below(lowest()), least);
      const Worth sharper = sharpen(s, floor, {best.values(0), ceiling}, found.paths.row(0));
      found.values(0) = sharper.value, ceiling = sharper.ceiling;
      best.merge(found);
    }
    const double value = best.values(0);
    if (one.exact || (k == 1 && value >= a_little_below(ceiling)) || ceiling < least)
      return {std::max(value, std::min(ceiling, least)), lowest()};
    work += one.work;
    if (work + GROWTH * one.work > BUDGET) break;
  }
  return {ceiling, ceiling};
}

/// Write the best labellings of one sequence: Viterbi if one is wanted and that obeys, else searches.
inline Ceilings search_sequence(const Search& s, Reads<Index> widths, double least, double within,
                                const Ranked& best) {
  fill(best.values, -INF);
  const Worth found = free_best(s, best.paths.row(0));
  best.values(0) = found.value;
  if (best.values.size() == 1 && found.value >= a_little_below(found.ceiling)) return {found.value, found.value};
  if (found.ceiling < least || found.ceiling == -INF) return {found.ceiling, found.ceiling};
  max_backward(s.chain, s.bound.ahead, s.memory);
  return climb(s, widths, least, within, found.ceiling, best);
}

/// The best labellings of each sequence: labels (k, n_tokens), values (n, k); and Ceilings: ceiling, unseen (n,).
inline void search_sequences(const Which& which, const Scoring& scoring, const Track& track, Reads<Index> widths,
                             double within, View<Label, 2> labels, View<double, 2> values, View<double> ceiling,
                             View<double> unseen) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(scoring, i, memory);
    const View<Label, 2> paths = memory.of<Label>(labels.size(), chain.size());
    const auto inside = [&](Index r) { return labels.row(r).slice(chain.first, chain.end()); };
    for (Index r = 0; r < labels.size(); ++r) copy(inside(r), paths.row(r));
    const Search search(chain, track, memory);
    const Ceilings found = search_sequence(search, widths, -INF, within, {paths, values.row(i)});
    ceiling(i) = found.any, unseen(i) = found.unseen;
    for (Index r = 0; r < labels.size(); ++r) copy(paths.row(r), inside(r));
  });
}

/// The value of the best labelling, which is written if it is better than `known`, the value of one.
inline double search_restricted(const Search& s, Reads<Index> widths, Reads<double> multiplier, double known,
                                View<Label> path) {
  const Ranked best{{path.data, {1, path.size()}}, s.memory.filled(known, 1)};
  if (known == -INF) {
    search_sequence(s, widths, known, INF, best);
  } else {
    copy(multiplier, s.bound.multiplier);
    const Worth found = sharpen(s, a_little_below(known), {known, INF}, path);
    best.values(0) = found.value;
    if (found.value < a_little_below(found.ceiling)) climb(s, widths, known, INF, found.ceiling, best);
  }
  return best.values(0);
}

/// margin(t) = the best value with path(t) at t minus the best one with another label there; the scores of the chain
/// are changed and restored.
inline void margins_of(const Which& which, const Chain& chain, const Track& track, Reads<Index> widths,
                       Reads<Label> path, View<double> margin, Memory& memory) {
  const auto [T, Y] = chain.unary.shape;
  const Search all(chain, track, memory);
  const View<Label> best = memory.of<Label>(T), trial = memory.of<Label>(T);
  const Ranked one{{best.data, {1, T}}, memory.of<double>(1)};
  search_sequence(all, widths, -INF, INF, one);
  const View<double> known = memory.filled(-INF, T), row = memory.of<double>(Y);
  for (Index t = 0; t < T; ++t) {
    which.check();
    const Memory::Scope scope(memory);
    const bool fixed = best(t) != path(t);
    const View<double> own = chain.unary.row(t);
    copy(own, row);
    for (Index y = 0; y < Y; ++y)
      if ((y != path(t)) == fixed) own(y) = -INF;
    const Search restricted(chain, track, memory);
    const double found = search_restricted(restricted, widths, all.bound.multiplier, known(t), trial);
    copy(row, own);
    if (found > known(t))
      for (Index s = 0; s < T; ++s)
        if ((trial(s) == path(s)) == (best(s) != path(s))) known(s) = std::max(known(s), found);
    margin(t) = fixed ? found - one.values(0) : one.values(0) - found;
  }
}

/// For each token of each sequence, see `margins_of`: path and margin (n_tokens,).
inline void margins_under(const Which& which, const Scoring& scoring, const Track& track, Reads<Index> widths,
                          Reads<Label> path, View<double> margin) {
  which.each([&](Index i, Memory& memory) {
    const Chain chain = chain_of(scoring, i, memory);
    const Index a = chain.first, b = chain.end();
    margins_of(which, chain, track, widths, path.slice(a, b), margin.slice(a, b), memory);
  });
}

}  // namespace semistruct
