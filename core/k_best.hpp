// The k best labellings of one sequence under rules, by a beam search.
//
// As in search.hpp, but prefixes that another one dominates stay, since the second best may come of them.  Prefixes
// whose last label stays are extended first; if these fill the layer, others whose bound is below theirs have no place
// in it.
#pragma once
#include "search.hpp"

namespace semistruct {

/// Write the best labellings and their values, -inf where fewer were found; the value of the outcome is not used.
inline Outcome search_k(const LocalScores& scores, const Bound& bound, const Track& track, Index width, double floor,
                        View<Label, 2> paths, View<double> values, BeamRoom& room) {
  Beam beam = room.begin(scores, bound, track, width);
  bool exact = true;
  double work = 0.0;
  for (Index t = 0; t < scores.unary.size(); ++t) {
    Index n = 0, many = 0;
    double cut = floor;
    for (Index j = 0; j < 2 * beam.alive; ++j) {
      const Index p = j % beam.alive;
      const bool stays = j < beam.alive;
      if (j == beam.alive && n == width) {
        double least = INF;
        for (Index i = 0; i < n; ++i) least = std::min(least, beam.next.most(i));
        cut = std::max(floor, least);
      }
      work += static_cast<double>(bound.many(t));
      for (Index i = 0; i < bound.many(t); ++i) {
        const Index z = bound.label(t, i);
        if ((beam.old.state(p).label == z) != stays) continue;
        const Extended one = extend(beam.old.state(p), beam.old.rows.row(p), scores, bound, track, t, z);
        const double most = one.score + one.rest - one.due;
        if (!(most >= floor) || one.score == -INF) continue;
        if (most < cut) {
          ++many;
          continue;
        }
        work += PRICE;
        if (grow(beam, p, n, one, scores, track, t, z, floor)) ++many, ++n;
      }
    }
    if (many > width) {
      exact = false;
      n = keep_best(width, n, beam.next, beam.spare);
    }
    beam.settle(t, n, bound.ahead);
  }
  for (Index r = 0; r < values.size(); ++r) {
    const Index best = beam.best();
    values(r) = -INF;
    if (best < 0) continue;
    std::swap(values(r), beam.old.state(best).score);
    beam.trace_back(best, paths.row(r));
  }
  return {-INF, exact, work};
}

/// Put the labellings found among those known, the best first; wider searches may miss what narrower ones found.
inline void merge_best(View<Label, 2> paths, View<double> values, View<Label, 2> found, Reads<double> value_of) {
  const Index n = values.size();
  for (Index r = 0; r < n; ++r) {
    Index place = 0;
    bool known = value_of(r) == -INF;
    for (Index p = 0; p < n; ++p) {
      place += values(p) >= value_of(r);
      known = known || (a_little_below(values(p)) <= value_of(r) && equal(paths.row(p), found.row(r)));
    }
    if (known || place == n) continue;
    for (Index later = n - 1; later > place; --later) {
      values(later) = values(later - 1);
      copy(paths.row(later - 1), paths.row(later));
    }
    values(place) = value_of(r);
    copy(found.row(r), paths.row(place));
  }
}

/// Memory for lists of labellings.
struct ListRoom {
  Room<Label, 2> paths, found;
  Room<double> value_of;
};

/// Upper bounds on the value of any labelling, and of any that is not among those found.
struct Ceilings {
  double any, unseen;
};

/// Write the best labellings and their values.
///
///   within  those whose value is further below the best may be left out
inline Ceilings k_best_sequence(const LocalScores& scores, const Track& track, Reads<Index> widths, double within,
                              View<Label, 2> paths, View<double> values, SearchRoom& room, ListRoom& lists) {
  const auto [T, Y] = scores.unary.shape;
  const Bound bound = room.bound.every_label(T, Y);
  View<Label, 2> found = lists.found.of(values.size(), T);
  View<double> value_of = lists.value_of.of(values.size());
  fill(values, -INF);
  Worth best = free_best(scores, track, bound, paths.row(0), room.sharpen.row);
  values(0) = best.value;
  if (best.ceiling == -INF) return {-INF, -INF};
  look_ahead(scores, bound);
  double floor = -INF, work = 0.0;
  for (Index width : widths) {
    floor = std::max(floor, a_little_below(values(0) - within));
    const Outcome one = search_k(scores, bound, track, width, floor, found, value_of, room.beam);
    merge_best(paths, values, found, value_of);
    floor = std::max(floor, a_little_below(values(values.size() - 1)));
    if (one.exact) return {values(0), std::max(values(values.size() - 1), values(0) - within)};
    work += one.work;
    if (work + GROWTH * one.work > BUDGET) break;
    fill(value_of, -INF);
    copy(paths.row(0), found.row(0));
    best = sharpen(scores, track, bound, floor, {values(0), best.ceiling}, found.row(0), room.sharpen);
    value_of(0) = best.value;
    merge_best(paths, values, found, value_of);
  }
  return {best.ceiling, best.ceiling};
}

/// The best labellings of each sequence: labels (k, n_tokens), values (n, k); and Ceilings: ceiling, unseen (n,).
inline void k_best_sequences(Reads<Index> which, const Scoring& scoring, const Track& track, Reads<Index> widths,
                             double within, View<Label, 2> labels, View<double, 2> values, View<double> ceiling,
                             View<double> unseen) {
  SearchRoom room;
  ListRoom lists;
  for (Index i : which) {
    const LocalScores scores = room.local_scores(scoring, i);
    const Index T = scores.unary.size(), k = labels.size();
    View<Label, 2> paths = lists.paths.of(k, T);
    for (Index r = 0; r < k; ++r)
      for (Index t = 0; t < T; ++t) paths(r, t) = labels(r, scores.first + t);
    const Ceilings found = k_best_sequence(scores, track, widths, within, paths, values.row(i), room, lists);
    ceiling(i) = found.any, unseen(i) = found.unseen;
    for (Index r = 0; r < k; ++r)
      for (Index t = 0; t < T; ++t) labels(r, scores.first + t) = paths(r, t);
  }
}

}  // namespace semistruct
