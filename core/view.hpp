// Views over arrays that somebody else owns, and memory for arrays of our own.
//
// A view is a pointer and a shape, last axis contiguous and first axis slowest.  Element access is checked where
// SEMISTRUCT_CHECKED is defined, and free otherwise.
#pragma once
#include <algorithm>
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

/// Memory for arrays that are needed for a while; the end of a Scope gives back what was taken since it began.
class Memory {
 public:
  class Scope {
   public:
    explicit Scope(Memory& memory) : memory_(memory), block_(memory.block_), used_(memory.used_) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { memory_.block_ = block_, memory_.used_ = used_; }

   private:
    Memory& memory_;
    std::size_t block_, used_;
  };

  /// An array of this shape with any content.
  template <class T, class... Size>
  View<T, sizeof...(Size)> of(Size... size) {
    static_assert(std::is_trivially_copyable_v<T>, "arrays hold plain data");
    const std::array<Index, sizeof...(Size)> shape{static_cast<Index>(size)...};
    std::size_t bytes = sizeof(T);
    for (Index n : shape) bytes *= static_cast<std::size_t>(n);
    return {static_cast<T*>(take(bytes)), shape};
  }

  /// An array of this shape filled with a value.
  template <class T, class... Size>
  View<T, sizeof...(Size)> filled(T value, Size... size) {
    const View<T, sizeof...(Size)> out = of<T>(size...);
    for (T& entry : out) entry = value;
    return out;
  }

 private:
  static constexpr std::size_t ALIGN = 16, FIRST = 8192;

  void* take(std::size_t bytes) {
    const std::size_t size = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    while (block_ < blocks_.size() && used_ + size > blocks_[block_].size()) ++block_, used_ = 0;
    if (block_ == blocks_.size())
      blocks_.emplace_back(std::max(size, blocks_.empty() ? FIRST : 2 * blocks_.back().size()));
    used_ += size;
    return blocks_[block_].data() + used_ - size;
  }

  std::vector<std::vector<std::byte>> blocks_;
  std::size_t block_ = 0, used_ = 0;  // the present block, and how much of it is taken
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
