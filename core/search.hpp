// The best labellings of one sequence under rules that see more than two neighbouring labels.
//
// Partial labellings (prefixes.hpp) grow from left to right, one layer of them per position.  A prefix that another one
// dominates is struck, and so is one whose bound
//
//   score of the prefix - its penalty + the best score of any rest    (`ahead`, see bounds.hpp)
//
// is below `floor`, the value of a labelling already known.  If no layer outgrows its width the result is exact; else
// it is that of a beam search.  Narrow searches come first: what they find is a floor by which bounds are sharpened and
// labels are struck before the next, wider one.
#pragma once
#include "bounds.hpp"

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

/// Memory for searches in one sequence after the other.
struct SearchRoom {
  Room<double, 2> unary;
  Room<Label> kind, trial;
  BoundRoom bound;
  BeamRoom beam;
  SharpenRoom sharpen;

  /// The scores of sequence i.
  LocalScores local_scores(const Scoring& scoring, Index i) {
    const Scorer& scorer = scoring.scorer;
    const Costs& costs = scoring.costs;
    const Index a = scorer.offsets(i), T = scorer.offsets(i + 1) - a, Y = scorer.n_labels();
    View<double, 2> score = unary.of(T, Y);
    View<Label> kinds = kind.of(T);
    token_scores(scorer, scorer.tokens, a, score);
    for (Index t = 0; t < T; ++t) {
      kinds(t) = static_cast<Label>(scorer.kind(a + t) * costs.step.size() + costs.step_class(a + t));
      const double* cost = &costs.token(costs.token_class(a + t), 0);
      for (Index y = 0; y < Y; ++y) {
        double& here = score(t, y);
        here = scoring.scale * here - cost[y];
        if (t == 0) here -= costs.step(costs.step_class(a), Y, y);
        if (!scoring.bonus.empty()) here += scoring.bonus(a + t, y);
        if (!scoring.known.empty() && scoring.known(a + t) >= 0 && scoring.known(a + t) != y) here = -INF;
      }
    }
    return {score, scoring.step, kinds, a};
  }
};

/// What one search found.
struct Outcome {
  double value;  // -inf if nothing
  bool exact;
  double work;  // prefixes looked at
};

/// Write prefix p with label z at t as the n-th of the next layer, unless it is below floor.
inline bool grow(Beam& beam, Index p, Index n, Extended one, const LocalScores& scores, const Track& track, Index t,
                 Index z, double floor) {
  const Prefix& from = beam.old.state(p);
  View<Count> row = beam.next.rows.row(n);
  copy(beam.old.rows.row(p), row);
  one.score -= advance(track, scores, t, from.label, from.run, z, row);
  if (t == scores.unary.size() - 1) one.rest = 0.0;
  if (!(one.score + one.rest >= floor)) return false;
  beam.next.state(n) = {one.score, one.rest, from.label == z ? std::min(from.run + 1, track.longest) : 1, z, p};
  return true;
}

/// Write the best labelling with a value of at least floor.
inline Outcome search(const LocalScores& scores, const Bound& bound, const Track& track, Index width, double floor,
                      View<Label> path, BeamRoom& room) {
  const auto [T, Y] = scores.unary.shape;
  Beam beam = room.begin(scores, bound, track, width);
  const Lists lists{room.head.of(Y), room.following.of(beam.next.state.size())};
  View<Index> last = room.last.of(Y);
  View<Matter> matter = room.matter.of(track.size);
  bool exact = true;
  double work = 0.0;
  last_starts(bound, last);
  for (Index t = 0; t < T; ++t) {
    Index n = 0, many = 0, check_at = 2 * width;
    double cut = floor;
    const Reads<Matter> matters = matter.slice(0, what_matters(track, last, t, matter));
    fill<Index>(lists.head, -1);
    for (Index p = 0; p < beam.alive; ++p) {
      work += static_cast<double>(bound.many(t));
      for (Index j = 0; j < bound.many(t); ++j) {
        const Index z = bound.label(t, j);
        const Extended one = extend(beam.old.state(p), beam.old.rows.row(p), scores, bound, track, t, z);
        const double most = one.score + one.rest - one.due;
        if (!(most >= cut) || one.score == -INF) {
          exact = exact && !(most >= floor);
          continue;
        }
        work += PRICE;
        if (!grow(beam, p, n, one, scores, track, t, z, floor)) continue;
        if (t == T - 1) {
          ++many, ++n;
          continue;
        }
        many += lists.enter(matters, beam.next, n);
        n += lists.head(z) == n;
        if (many >= check_at) {  // too many: those below the best of them will not be kept
          cut = lowest_kept(width, n, beam.next, beam.spare);
          check_at = many + width;
        }
      }
    }
    if (many > width) {
      exact = false;
      n = keep_best(width, n, beam.next, beam.spare);
    }
    beam.settle(t, n, bound.ahead);
  }
  const Index best = beam.best();
  if (best < 0) return {-INF, exact, work};
  beam.trace_back(best, path);
  return {beam.old.state(best).score, exact, work};
}

/// From a labelling and what it is worth to the best one, by searches that get wider until one is exact.
///
///   least  labellings with a lower value are of no interest
inline Worth climb(const LocalScores& scores, const Track& track, Reads<Index> widths, const Bound& bound, double least,
                   Worth known, View<Label> path, SearchRoom& room) {
  View<Label> trial = room.trial.of(path.size());
  double work = 0.0;
  auto [value, ceiling] = known;
  for (Index width : widths) {
    const double floor = std::max(a_little_below(value), least);
    const Outcome found = search(scores, bound, track, width, floor, trial, room.beam);
    if (found.value > value) {
      value = found.value;
      copy(trial, path);
    }
    if (!found.exact && value < a_little_below(ceiling)) {
      const double lowest = std::max(a_little_below(value), least);
      const Worth sharper = sharpen(scores, track, bound, lowest, {value, ceiling}, path, room.sharpen);
      value = sharper.value, ceiling = sharper.ceiling;
    }
    if (found.exact || value >= a_little_below(ceiling) || ceiling < least)
      return {value, std::max(value, std::min(ceiling, least))};
    work += found.work;
    if (work + GROWTH * found.work > BUDGET) break;
  }
  return {value, ceiling};
}

/// Write the best labelling of one sequence: Viterbi if that obeys, else a search; widths of the searches grow.
inline Worth search_sequence(const LocalScores& scores, const Track& track, Reads<Index> widths, double least,
                             View<Label> path, SearchRoom& room) {
  const Bound bound = room.bound.every_label(scores.unary.shape[0], scores.unary.shape[1]);
  const Worth found = free_best(scores, track, bound, path, room.sharpen.row);
  if (found.value >= a_little_below(found.ceiling)) return {found.value, found.value};
  if (found.ceiling < least) return found;
  look_ahead(scores, bound);
  return climb(scores, track, widths, bound, least, found, path, room);
}

/// The best labelling of each sequence: labels (n_tokens,), values (n,), and upper bounds on any value (n,).
inline void search_sequences(Reads<Index> which, const Scoring& scoring, const Track& track, Reads<Index> widths,
                             View<Label> labels, View<double> values, View<double> ceiling) {
  SearchRoom room;
  for (Index i : which) {
    const LocalScores scores = room.local_scores(scoring, i);
    View<Label> path = labels.slice(scores.first, scores.first + scores.unary.size());
    const Worth found = search_sequence(scores, track, widths, -INF, path, room);
    values(i) = found.value, ceiling(i) = found.ceiling;
  }
}

}  // namespace semistruct
