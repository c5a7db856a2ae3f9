// By how much the best labelling under rules with a certain label beats the best one with another label there.
//
// One of the two is the best of all labellings; the other one is searched for, with the label of that token fixed or
// forbidden.  Such a search starts with the multipliers of the first one and with the best labelling met on the way
// that will do, and often ends there, because a bound says that no other is better.
#pragma once
#include "search.hpp"

namespace semistruct {

/// Memory for margins of one sequence after the other.
struct MarginRoom {
  SearchRoom search, restricted;
  Room<Label> best, trial;
  Room<double> known, row;
};

/// Write the best labelling if it is better than `known`, the value of one; returns the higher value.
inline double search_restricted(const LocalScores& scores, const Track& track, Reads<Index> widths,
                                Reads<double> multiplier, double known, View<Label> path, SearchRoom& room) {
  if (known == -INF) return search_sequence(scores, track, widths, known, path, room).value;
  const Bound bound = room.bound.every_label(scores.unary.shape[0], scores.unary.shape[1]);
  copy(multiplier, bound.multiplier);
  const Worth found = sharpen(scores, track, bound, a_little_below(known), {known, INF}, path, room.sharpen);
  if (!(found.value < a_little_below(found.ceiling))) return found.value;
  return climb(scores, track, widths, bound, known, found, path, room).value;
}

/// margin(t) = the best value with path(t) at t minus the best one with another label there; scores are changed and
/// restored.
inline void margins_of(const LocalScores& scores, const Track& track, Reads<Index> widths, Reads<Label> path,
                       View<double> margin, MarginRoom& room) {
  const auto [T, Y] = scores.unary.shape;
  const Bound bound = room.search.bound.every_label(T, Y);
  View<Label> best = room.best.of(T), trial = room.trial.of(T);
  Worth worth = free_best(scores, track, bound, best, room.search.sharpen.row);
  if (worth.value < a_little_below(worth.ceiling)) {
    look_ahead(scores, bound);
    worth = climb(scores, track, widths, bound, -INF, worth, best, room.search);
  }
  View<double> known = room.known.filled(-INF, T), row = room.row.of(Y);
  for (Index t = 0; t < T; ++t) {
    const bool fixed = best(t) != path(t);
    View<double> own = scores.unary.row(t);
    copy(own, row);
    for (Index y = 0; y < Y; ++y)
      if ((y != path(t)) == fixed) own(y) = -INF;
    const double found =
        search_restricted(scores, track, widths, bound.multiplier, known(t), trial, room.restricted);
    copy(row, own);
    if (found > known(t))
      for (Index s = 0; s < T; ++s)
        if ((trial(s) == path(s)) == (best(s) != path(s))) known(s) = std::max(known(s), found);
    margin(t) = fixed ? found - worth.value : worth.value - found;
  }
}

/// For each token of each sequence, see `margins_of`: path and margin (n_tokens,).
inline void margins_under(Reads<Index> which, const Scoring& scoring, const Track& track, Reads<Index> widths,
                          Reads<Label> path, View<double> margin) {
  MarginRoom room;
  for (Index i : which) {
    const LocalScores scores = room.search.local_scores(scoring, i);
    const Index a = scores.first, b = a + scores.unary.size();
    margins_of(scores, track, widths, path.slice(a, b), margin.slice(a, b), room);
  }
}

}  // namespace semistruct
