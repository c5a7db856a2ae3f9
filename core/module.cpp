// The module semistruct._core: every kernel that Python calls, by name.
#if defined(_M_X64)
#include <intrin.h>
#endif

#include "bind.hpp"
#include "dual.hpp"
#include "events.hpp"
#include "features.hpp"
#include "multiclass.hpp"
#include "sequences.hpp"

using namespace semistruct;

namespace semistruct::bind {
template <>
struct Fields<Scorer> {
  static Scorer of(Source& s) { return {s, s, s, s, s, s, s}; }
};
template <>
struct Fields<Factors> {
  static Factors of(Source& s) { return {s, s, s}; }
};
template <>
struct Fields<Events> {
  static Events of(Source& s) { return {s, s, s, s, s, s}; }
};
template <>
struct Fields<Costs> {
  static Costs of(Source& s) { return {s, s, s, s}; }
};
template <>
struct Fields<Sequences> {
  static Sequences of(Source& s) { return {s, s, s, s, s, s, s}; }
};
template <>
struct Fields<Goal> {
  static Goal of(Source& s) { return {s, s, s, s}; }
};
template <>
struct Fields<Sets> {
  static Sets of(Source& s) { return {s, s, s, s, s, s, s, s, s}; }
};
template <>
struct Fields<Weights> {
  static Weights of(Source& s) { return {s, s, s}; }
};
template <>
struct Fields<Examples> {
  static Examples of(Source& s) { return {s, s, s}; }
};
}  // namespace semistruct::bind

namespace {
/// Whether this machine can run the module that was built for AVX2.
bool has_avx2() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  return __builtin_cpu_supports("avx2");
#elif defined(_M_X64)
  int info[4];
  __cpuidex(info, 7, 0);
  return (info[1] & (1 << 5)) != 0;
#else
  return false;
#endif
}
}  // namespace

NB_MODULE(SEMISTRUCT_MODULE, m) {
  using bind::define;
  m.def("has_avx2", &has_avx2);

  // chain
  define(m, "decode_sequences", "which, scorer, known, bonus, path, score", decode_sequences);
  define(m, "decode_k_sequences", "which, scorer, known, paths, scores", decode_k_sequences);
  define(m, "margins_of_sequences", "which, scorer, known, path, margin", margins_of_sequences);
  define(m, "given_sequences", "which, scorer, known, path, beside, out", given_sequences);

  // posterior
  define(m, "factors_of", "step, factor, back, top", factors_of);
  define(m, "expect_sequences", "pieces, bounds, scorer, known, factors, weight, log_z, marginal, steps", expect_sequences);

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
}
