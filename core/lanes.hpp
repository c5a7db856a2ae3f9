// Numbers that are next to each other, several at a time: for loops over labels whose sums should stay in registers.
//
// Each number sees the same operations in the same order as in a plain loop.
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "view.hpp"

namespace semistruct {

#if defined(__AVX__)
typedef double Lane __attribute__((vector_size(32)));
#elif defined(__GNUC__)
typedef double Lane __attribute__((vector_size(16)));
#else
using Lane = double;
#endif
constexpr Index WIDTH = sizeof(Lane) / sizeof(double);

/// N lanes of type L that hold up to N * width numbers, from `first` on; the last ones overlap where there are fewer.
template <class L, std::size_t N>
struct Lanes {
  Index first, last;  // the places of the first lane and of the last one
  L at[N];

  [[gnu::always_inline]] void fill(double value) {
    for (L& lane : at) lane = L{} + value;
  }
  /// act(lane, values) for the lanes and what stands in `numbers` at their places.
  template <class Act>
  [[gnu::always_inline]] void with(const double* numbers, Act act) {
    with_each(numbers, act, std::make_index_sequence<N>());
  }
  [[gnu::always_inline]] void store(double* to) const { store_each(to, std::make_index_sequence<N>()); }

 private:
  Index place(std::size_t k) const {
    return std::min(first + static_cast<Index>(k * (sizeof(L) / sizeof(double))), last);
  }

  template <class Act, std::size_t... K>
  [[gnu::always_inline]] void with_each(const double* numbers, Act& act, std::index_sequence<K...>) {
    L values[N];
    (std::memcpy(&values[K], numbers + place(K), sizeof(L)), ...);
    (act(at[K], values[K]), ...);
  }
  template <std::size_t... K>
  [[gnu::always_inline]] void store_each(double* to, std::index_sequence<K...>) const {
    (std::memcpy(to + place(K), &at[K], sizeof(L)), ...);
  }
};

/// act(lanes) for lanes that cover the numbers 0 .. n-1, some of them twice.
template <std::size_t N = 16 / WIDTH, class Act>
void in_lanes(Index n, Act act) {
  constexpr Index all = static_cast<Index>(N) * WIDTH;
  if (n < WIDTH) {
    for (Index z = 0; z < n; ++z) act(Lanes<double, 1>{z, z, {}});
  } else if (n <= all / 2 && N > 1) {
    in_lanes<(N > 1 ? N / 2 : 1)>(n, act);
  } else {
    for (Index z = 0; z + all < n; z += all) act(Lanes<Lane, N>{z, z + all - WIDTH, {}});
    act(Lanes<Lane, N>{std::max<Index>(0, n - all), n - WIDTH, {}});
  }
}

}  // namespace semistruct
