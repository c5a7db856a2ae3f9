// One kernel on arguments from a file, to count its instructions: `instructions NAME FILE`; see instructions.py.
//
// The file is a row of words of 8 bytes: a number, or the size of an array's elements, its shape, and its elements.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <tuple>

#include "../core/dual.hpp"
#include "../core/fields.hpp"
#include "../core/search.hpp"
#include "../core/sequences.hpp"
#include "../core/spans.hpp"

using namespace semistruct;

namespace {
/// Gives what stands in the file one after the other, each as the type that is asked for.
class Source {
 public:
  explicit Source(const char* name) {
    std::ifstream file(name, std::ios::binary | std::ios::ate);
    words_.resize(static_cast<std::size_t>(file.tellg()) / sizeof(Index));
    const auto size = static_cast<std::streamsize>(words_.size() * sizeof(Index));
    file.seekg(0).read(reinterpret_cast<char*>(words_.data()), size);
  }

  template <class T>
  operator T() {
    return read(static_cast<T*>(nullptr));
  }

 private:
  template <class T>
  T read(T*) {
    if constexpr (std::is_same_v<T, double>) {
      double value;
      std::memcpy(&value, &words_[at_++], sizeof value);
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(words_[at_++]);
    } else {
      return make<T>(*this);
    }
  }
  template <class T, std::size_t N>
  View<T, N> read(View<T, N>*) {
    ++at_;  // the size of an element
    std::array<Index, N> shape;
    std::size_t bytes = sizeof(T);
    for (Index& n : shape) bytes *= static_cast<std::size_t>(n = words_[at_++]);
    T* data = reinterpret_cast<T*>(words_.data() + at_);
    at_ += (bytes + sizeof(Index) - 1) / sizeof(Index);
    return {data, shape};
  }
  Products read(Products*) {
    if (words_[at_] == sizeof(float)) return static_cast<View<float>>(*this);
    return static_cast<View<double>>(*this);
  }
  Which read(Which*) {
    const Reads<Index> numbers = *this;
    return {numbers, {}, [] { return false; }};
  }

  std::vector<Index> words_;
  std::size_t at_ = 0;
};

template <class... Args>
void run(void (*function)(Args...), Source source) {
  void (*volatile kernel)(Args...) = function;  // called as Python calls it: not a part of something else
  std::tuple<std::decay_t<Args>...> args{static_cast<std::decay_t<Args>>(source)...};
  std::apply(kernel, args);
}
}  // namespace

int main(int n, char** words) {
  if (n != 3) return 2;
  const auto is = [&](const char* name) { return std::strcmp(words[1], name) == 0; };
  if (is("decode_sequences")) return run(decode_sequences, Source(words[2])), 0;
  if (is("expect_sequences")) return run(expect_sequences, Source(words[2])), 0;
  if (is("search_sequences")) return run(search_sequences, Source(words[2])), 0;
  if (is("switch_spans")) return run(switch_spans, Source(words[2])), 0;
  if (is("improve")) return run(improve, Source(words[2])), 0;
  return std::fprintf(stderr, "instructions: there is no kernel %s\n", words[1]), 2;
}
