// Structs made of what a source gives: `make<Factors>(s)` is Factors{s, s, s}, where s becomes each type asked for.
#pragma once
#include <cstddef>
#include <utility>

namespace semistruct {

/// Becomes everything, to count the fields of a struct.
struct Anything {
  template <class T>
  operator T() const;
};

template <class T, std::size_t... I>
auto has_fields(std::index_sequence<I...>) -> decltype(T{(static_cast<void>(I), Anything())...}, std::true_type());
template <class T>
std::false_type has_fields(...);

/// The number of fields of a struct, at most N.
template <class T, std::size_t N = 16>
constexpr std::size_t count_fields() {
  if constexpr (decltype(has_fields<T>(std::make_index_sequence<N>()))::value)
    return N;
  else
    return count_fields<T, N - 1>();
}

template <class T, class Source, std::size_t... I>
T make(Source& source, std::index_sequence<I...>) {
  return T{(static_cast<void>(I), source)...};
}

template <class T, class Source>
T make(Source& source) {
  return make<T>(source, std::make_index_sequence<count_fields<T>()>());
}

}  // namespace semistruct
