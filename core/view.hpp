// Views over arrays that somebody else owns, and memory for arrays of our own.
//
// A view is a pointer and a shape, last axis contiguous and first axis slowest.  Element access is checked where
// SEMISTRUCT_CHECKED is defined, and free otherwise.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

namespace semistruct {

using Index = std::int64_t;
constexpr double INF = std::numeric_limits<double>::infinity();

inline void check(bool holds, const char* what, Index index, Index size) {
#ifdef SEMISTRUCT_CHECKED
  if (!holds) {
    std::fprintf(stderr, "semistruct core: %s %lld, size %lld\n", what, static_cast<long long>(index),
                 static_cast<long long>(size));
    std::abort();
  }
#else
  (void)holds, (void)what, (void)index, (void)size;
#endif
}

template <class T, std::size_t N = 1>
struct View {
  T* data = nullptr;
  std::array<Index, N> shape{};

  using Element = T;
  static constexpr std::size_t axes = N;

  View() = default;
  View(T* data, std::array<Index, N> shape) : data(data), shape(shape) {}

  /// A view for reading is made of one for writing.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  View(View<U, N> other) : data(other.data), shape(other.shape) {}

  Index size() const { return shape[0]; }
  bool empty() const { return shape[0] == 0; }

  template <class... Place>
  T& operator()(Place... place) const {
    static_assert(sizeof...(Place) == N, "one index per axis");
    Index at = 0;
    std::size_t axis = 0;
    for (Index i : {static_cast<Index>(place)...}) {
      check(i >= 0 && i < shape[axis], "index", i, shape[axis]);
      at = at * shape[axis++] + i;
    }
    return data[at];
  }

  /// Entries i of the first axis, begin <= i < end.
  View slice(Index begin, Index end) const {
    check(begin >= 0 && begin <= end && end <= shape[0], "slice to", end, shape[0]);
    std::array<Index, N> inside = shape;
    inside[0] = end - begin;
    return {data + begin * stride(), inside};
  }

  /// Entry i of the first axis.
  View<T, N - 1> row(Index i) const {
    static_assert(N > 1, "a view of one axis has no rows");
    check(i >= 0 && i < shape[0], "row", i, shape[0]);
    std::array<Index, N - 1> inside{};
    for (std::size_t axis = 1; axis < N; ++axis) inside[axis - 1] = shape[axis];
    return {data + i * stride(), inside};
  }

  T* begin() const { return data; }
  T* end() const { return data + shape[0] * stride(); }

 private:
  Index stride() const {
    Index size = 1;
    for (std::size_t axis = 1; axis < N; ++axis) size *= shape[axis];
    return size;
  }
};

template <class T>
using Reads = View<const T, 1>;

/// Memory for an array, used again and again: what `of` gives holds until the next call.
template <class T, std::size_t N = 1>
class Room {
 public:
  /// An array of this shape with any content.
  template <class... Size>
  View<T, N> of(Size... size) {
    static_assert(sizeof...(Size) == N, "one size per axis");
    const std::array<Index, N> shape{static_cast<Index>(size)...};
    std::size_t total = 1;
    for (Index n : shape) total *= static_cast<std::size_t>(n);
    if (store_.size() < total) store_.resize(total);
    return {store_.data(), shape};
  }

  /// An array of this shape filled with a value.
  template <class... Size>
  View<T, N> filled(T value, Size... size) {
    View<T, N> out = of(size...);
    for (T& entry : out) entry = value;
    return out;
  }

 private:
  std::vector<T> store_;
};

template <class From, class To>
void copy(View<From> from, View<To> to) {
  for (Index i = 0; i < from.size(); ++i) to(i) = static_cast<std::remove_const_t<To>>(from(i));
}

template <class A, class B>
bool equal(View<A> a, View<B> b) {
  for (Index i = 0; i < a.size(); ++i)
    if (a(i) != b(i)) return false;
  return true;
}

template <class T>
void fill(View<T> out, T value) {
  for (T& entry : out) entry = value;
}

}  // namespace semistruct
