// The module semistruct._core: every kernel that Python calls, by name.
#if defined(_M_X64)
#include <intrin.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#include "bind.hpp"
#include "events.hpp"
#include "features.hpp"
#include "fields.hpp"
#include "sequences.hpp"

using namespace semistruct;

namespace {
/// The scores of sequence i for tests, which have no room.
void local_scores_of(const Scoring& scoring, Index i, View<double, 2> unary, View<Label> kind) {
  SearchRoom room;
  const LocalScores scores = room.local_scores(scoring, i);
  std::copy(scores.unary.begin(), scores.unary.end(), unary.begin());
  copy(scores.kind, kind);
}

std::tuple<double, double> sharpened(const LocalScores& scores, const Track& track, const Bound& bound, double floor,
                                     double value, double ceiling, View<Label> path) {
  SharpenRoom room;
  const Worth found = sharpen(scores, track, bound, floor, {value, ceiling}, path, room);
  return {found.value, found.ceiling};
}

/// Write the moves as rows (s, e, label), as many as there is room for; returns how many there are.
Index candidate_moves_of(Reads<Label> y, Reads<bool> cut, Index n_labels, View<Index, 2> moves) {
  SpanRoom room;
  candidate_moves(y, cut, n_labels, room);
  const Index n = static_cast<Index>(room.moves.size());
  for (Index i = 0; i < std::min(n, moves.size()); ++i) {
    const Switch& move = room.moves[static_cast<std::size_t>(i)];
    moves(i, 0) = move.s, moves(i, 1) = move.e, moves(i, 2) = move.label;
  }
  return n;
}

double least_value_of(const Current& seq, Tables step, const Costs& costs, double head_start, Index s, Index e,
                      Index label) {
  return least_value(seq, step, costs, head_start, {s, e, label});
}

#if defined(_M_X64) || defined(__x86_64__)
/// What the processor says of itself: the registers a, b, c and d of `cpuid`.
std::array<int, 4> cpuid(int leaf) {
  std::array<int, 4> out{};
#if defined(_M_X64)
  __cpuidex(out.data(), leaf, 0);
#else
  __cpuid_count(leaf, 0, out[0], out[1], out[2], out[3]);
#endif
  return out;
}

/// Which registers the operating system keeps for a process.
unsigned kept_registers() {
#if defined(_M_X64)
  return static_cast<unsigned>(_xgetbv(0));
#else
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#endif
}

/// Whether processor and operating system can run the module that was built for AVX2.
bool has_avx2() {
  constexpr int XSAVE = 1 << 27, AVX2 = 1 << 5, WIDE = 6;
  return cpuid(0)[0] >= 7 && (cpuid(1)[2] & XSAVE) && (cpuid(7)[1] & AVX2) && (kept_registers() & WIDE) == WIDE;
}
#else
bool has_avx2() { return false; }
#endif
}  // namespace

NB_MODULE(SEMISTRUCT_MODULE, m) {
  m.doc() = "The compiled kernels; semistruct.core picks the module for this machine.";
  using bind::define;
  m.def("has_avx2", &has_avx2);

  // chain
  define(m, "decode_sequences", "which, scorer, known, bonus, path, score", decode_sequences);
  define(m, "decode_k_sequences", "which, scorer, known, paths, scores", decode_k_sequences);
  define(m, "margins_of_sequences", "which, scorer, known, path, margin", margins_of_sequences);
  define(m, "given_sequences", "which, scorer, known, path, beside, out", given_sequences);

  // posterior
  define(m, "factors_of", "step, factor, back, top", factors_of);
  define(m, "expect_sequences", "pieces, bounds, scorer, known, factors, weight, log_z, marginal, steps",
         expect_sequences);

  // events
  define(m, "count_sequences", "which, events, offsets, y, counts", count_sequences);
  define(m, "count_window", "events, first, y, s, e, sign, row, seen", count_window);
  define(m, "penalty", "targets, which, row, n_tokens, n_sequences", penalty);
  define(m, "total_of", "counts, totals", total_of);

  // working sets and the sequential dual method
  define(m, "token_products", "which, rows", token_products);
  define(m, "copy_sets", "old, new", copy_sets);
  define(m, "insert", "which, rows, goal, sets, found, trans, singly, enough, full", insert);
  define(m, "find_violators", "which, rows, goal, sets, w, hinge, mean, found", find_violators);
  define(m, "improve", "which, rows, goal, sets, w, tol, max_pairs, apart", improve);
  define(m, "rebase", "rows, goal, old_weight, sets, w", rebase);

  // other learners
  define(m, "visit_classes", "order, rows, norm2, y, C, cost, W, alpha", visit_classes);
  define(m, "norm2", "x", norm2);
  define(m, "gather_tokens", "which, ptr, rows, values, of, out", gather_tokens);

  // search
  define(m, "search_sequences", "which, scoring, track, widths, labels, values, ceiling", search_sequences);
  define(m, "k_best_sequences", "which, scoring, track, widths, within, labels, values, ceiling, unseen",
         k_best_sequences);
  define(m, "margins_under", "which, scoring, track, widths, path, margin", margins_under);
  define(m, "local_scores", "scoring, i, unary, kind", local_scores_of);
  define(m, "sharpen", "scores, track, bound, floor, value, ceiling, path", sharpened);
  define(m, "keep_best", "width, n, prefixes, spare", keep_best);
  define(m, "last_starts", "bound, last", last_starts);
  define(m, "nth_largest", "work, n, rank", nth_largest);

  // switching
  define(m, "open_ledger", "which, objective, y, ledger", open_ledger);
  define(m, "switch_tokens", "which, objective, known, limit, y, ledger", switch_tokens);
  define(m, "switch_spans", "which, objective, known, cut, y, ledger, moves", switch_spans);
  define(m, "candidate_moves", "y, cut, n_labels, moves", candidate_moves_of);
  define(m, "count_change", "events, first, y, other, s, e, change, marks", count_change);
  define(m, "refresh", "seq, step, costs, loss", refresh);
  define(m, "find_odd_blocks", "seq, events, price", find_odd_blocks);
  define(m, "least_value", "seq, step, costs, head_start, s, e, label", least_value_of);
  define(m, "slack_after", "seq, step, loss, score, ceiling, s, e, work", slack_after);
  define(m, "score_window", "unary, step, kind, y, s, e", score_window);
  define(m, "cost_window", "costs, first, y, s, e", cost_window);

  // bits of rules
  define(m, "best_priced_sequences", "which, scorer, bits, price, path, value", best_priced_sequences);
  define(m, "bits_of_sequences", "which, offsets, bits, path, out", bits_of_sequences);
  define(m, "value_of_sequences", "which, scorer, bits, price, path, value", value_of_sequences);
  define(m, "find_bit_violators", "which, rows, goal, sets, w, bits, hinge, mean, found, aux", find_bit_violators);
  define(m, "improve_bits", "which, rows, goal, sets, w, bits, aux, tol, max_pairs, apart", improve_bits);

  // expectations
  define(m, "project_sequences", "pieces, bounds, field, problem, weight, found", project_sequences);
  define(m, "best_sequences", "which, field, problem, multiplier, n_terms, labels", best_sequences);
  define(m, "covary", "pieces, bounds, field, costs, marginal, steps", covary);

  // names
  define(m, "enter_names", "text, n, slots", enter_names);
  define(m, "look_up_names", "text, sizes, slots, known, counts, rows", look_up_names);
  define(m, "gather_features", "places, words, templates, most, counts, out", gather_features);
}
