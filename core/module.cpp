// The module semistruct._core: every kernel that Python calls, by name.
#if defined(_M_X64)
#include <intrin.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

#include "bind.hpp"
#include "bit_hinge.hpp"
#include "features.hpp"
#include "multiclass.hpp"
#include "names.hpp"
#include "projection.hpp"
#include "spans.hpp"

using namespace semistruct;
namespace nb = nanobind;

namespace {
/// How many names of each token are known, and their numbers, increasing for each token, as bytes of int32 arrays; None
/// if a token has a name twice, or one that is no text.
nb::object look_up_names(nb::list tokens, nb::object table, nb::object texts) {
  bind::Buffers buffers;
  const auto slots = bind::converted<Reads<NameSlot>>(table, {"look_up_names", "slots"}, buffers);
  const auto known = bind::converted<NameText>(texts, {"look_up_names", "known"}, buffers);
  std::vector<Number> counts, rows;
  FoundNumbers found;
  for (nb::handle token : tokens) {
    const nb::object names = nb::steal(PySequence_Fast(token.ptr(), "features must be lists of names"));
    if (!names.is_valid()) throw nb::python_error();
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(names.ptr());
    found.clear(n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      Py_ssize_t size = 0;
      PyObject* name = PySequence_Fast_GET_ITEM(names.ptr(), i);
      const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : nullptr;
      if (text == nullptr) return PyErr_Clear(), nb::none();
      const Number number = number_of(text, static_cast<std::size_t>(size), slots, known);
      if (number >= 0) found.add(number);
    }
    const Index many = found.size();
    counts.push_back(static_cast<Number>(many));
    rows.resize(rows.size() + static_cast<std::size_t>(many));
    if (!found.put_in_order({rows.data() + rows.size() - many, {many}})) return nb::none();
  }
  const auto bytes = [](const std::vector<Number>& all) { return nb::bytes(all.data(), sizeof(Number) * all.size()); };
  return nb::make_tuple(bytes(counts), bytes(rows));
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
  m.doc() = "The compiled kernels; semistruct.core.kernels picks the module for this machine.";
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
  define(m, "penalty", "targets, which, row, n_tokens, n_sequences", penalty);

  // working sets and the sequential dual method
  define(m, "token_products", "which, rows", token_products);
  define(m, "copy_sets", "which, old, new", copy_sets);
  define(m, "insert", "which, rows, goal, sets, found, trans, singly, enough, full", insert);
  define(m, "find_violators", "which, rows, goal, sets, w, hinge, mean, found", find_violators);
  define(m, "improve", "which, rows, goal, sets, w, tol, max_pairs, apart", improve);
  define(m, "rebase", "which, rows, goal, old_weight, sets, w", rebase);

  // other learners
  define(m, "visit_classes", "order, rows, norm2, y, C, cost, W, alpha", visit_classes);
  define(m, "norm2", "x", norm2);
  define(m, "gather_tokens", "which, ptr, rows, values, of, out", gather_tokens);

  // search
  define(m, "search_sequences", "which, scoring, track, widths, within, labels, values, ceiling, unseen",
         search_sequences);
  define(m, "margins_under", "which, scoring, track, widths, path, margin", margins_under);

  // switching
  define(m, "open_ledger", "which, objective, y, ledger", open_ledger);
  define(m, "switch_tokens", "which, objective, known, limit, y, ledger", switch_tokens);
  define(m, "switch_spans", "which, objective, known, cut, y, ledger, moves", switch_spans);

  // bits of rules
  define(m, "best_priced_sequences", "which, scorer, bits, price, path, value", best_priced_sequences);
  define(m, "bits_of_sequences", "which, offsets, bits, path, out", bits_of_sequences);
  define(m, "find_bit_violators", "which, rows, goal, sets, w, bits, hinge, mean, found, aux", find_bit_violators);
  define(m, "improve_bits", "which, rows, goal, sets, w, bits, aux, tol, max_pairs, apart", improve_bits);

  // expectations
  define(m, "project_sequences", "pieces, bounds, field, problem, weight, found", project_sequences);
  define(m, "best_sequences", "which, field, problem, multiplier, n_terms, labels", best_sequences);
  define(m, "covary", "pieces, bounds, field, costs, marginal, steps", covary);

  // names
  define(m, "enter_names", "text, n, slots", enter_names);
  m.def("look_up_names", &look_up_names,
        nb::sig("def look_up_names(tokens: list[typing.Any], slots: numpy.typing.NDArray[numpy.void], known: bytes, /) "
                "-> tuple[bytes, bytes] | None"));
  define(m, "gather_features", "places, words, templates, most, counts, out", gather_features);
}
