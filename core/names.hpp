// Numbers of names: texts end to end, each with a zero byte behind it, and a hash table of them.
#pragma once
#include <algorithm>
#include <cstring>
#include <numeric>

#include "view.hpp"

namespace semistruct {

using Number = std::int32_t;
using NameText = Reads<std::uint8_t>;

/// A place in the table, free if the number is -1.
struct NameSlot {
  std::uint64_t hash;
  Number number, start;  // of a name, and where it begins
};

/// Of the text of a name, eight bytes at a time, little end first.
inline std::uint64_t hash_of(const void* text, std::size_t size) {
  const auto* bytes = static_cast<const std::uint8_t*>(text);
  std::uint64_t hash = 0;
  for (bool more = true; more; bytes += 8, size -= 8) {
    std::uint64_t word = 0;
    more = size >= 8;
    std::memcpy(&word, bytes, more ? 8 : size);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Enter the names 0 .. n - 1 into a table with enough free slots, a power of 2; returns where their text ends.
inline Index enter_names(NameText text, Index n, View<NameSlot> slots) {
  const std::uint64_t mask = static_cast<std::uint64_t>(slots.size() - 1);
  const std::uint8_t* at = text.begin();
  for (Index number = 0; number < n; ++number) {
    const std::uint8_t* end = std::find(at, text.end(), std::uint8_t{0});
    const std::uint64_t hash = hash_of(at, static_cast<std::size_t>(end - at));
    std::uint64_t k = hash & mask;
    while (slots(k).number >= 0) k = (k + 1) & mask;
    slots(k) = {hash, static_cast<Number>(number), static_cast<Number>(at - text.begin())};
    at = end + 1;
  }
  return at - text.begin();
}

/// The number of a name, which has a zero byte behind it, or -1.
inline Number number_of(const char* name, std::size_t size, Reads<NameSlot> slots, NameText known) {
  const std::uint64_t mask = static_cast<std::uint64_t>(slots.size() - 1), hash = hash_of(name, size);
  for (std::uint64_t k = hash & mask;; k = (k + 1) & mask) {
    const NameSlot& slot = slots(k);
    if (slot.number < 0) return -1;
    if (slot.hash == hash && std::memcmp(name, known.data + slot.start, size + 1) == 0) return slot.number;
  }
}

/// Numbers found at one token, to be put in order.
class FoundNumbers {
 public:
  /// Forget all; at most `most` will be added.
  void clear(Index most) {
    n_ = 0;
    const auto room = static_cast<std::size_t>(most + 7);
    if (numbers_.size() < room) numbers_.resize(room);
  }
  void add(Number number) { numbers_[static_cast<std::size_t>(n_++)] = number; }
  Index size() const { return n_; }

  /// Write the numbers into `out`, increasing; returns whether they are different.
  ///
  /// The places of four at a time are counted, which has no branches to guess, unless there are many.
  bool put_in_order(View<Number> out) {
    Number* numbers = numbers_.data();
    if (n_ > MANY) {
      std::partial_sort_copy(numbers, numbers + n_, out.begin(), out.end());
      return std::adjacent_find(out.begin(), out.end()) == out.end();
    }
    const Index end = (n_ + 7) & ~Index{7};
    for (Index i = n_; i < end; ++i) numbers[i] = std::numeric_limits<Number>::max();
    Index total = 0;
    for (Index i = 0; i < n_; i += 4) {
      Number place[4] = {};
      for (Index j = 0; j < end; ++j)
        for (Index k = 0; k < 4; ++k) place[k] += numbers[j] < numbers[i + k];
      for (Index k = 0; k < 4 && i + k < n_; ++k) out(place[k]) = numbers[i + k], total += place[k];
    }
    return total == n_ * (n_ - 1) / 2;
  }

  /// Leave each number once.
  void drop_repeats() {
    Number* end = numbers_.data();
    for (Index i = 0; i < n_; ++i)
      if (const Number number = numbers_[static_cast<std::size_t>(i)]; std::find(numbers_.data(), end, number) == end)
        *end++ = number;
    n_ = end - numbers_.data();
  }

 private:
  static constexpr Index MANY = 100;

  std::vector<Number> numbers_;
  Index n_ = 0;
};

/// Where tokens stand: the words that they are, and how many tokens of their sequence come before and behind.
struct Places {
  Reads<std::int32_t> word;
  Reads<Index> before, behind;
};

/// Features of words: at offset(i) word w has the rows first(i, w) .. first(i, w + 1) - 1 of `rows`.
struct WordRows {
  Reads<Index> offset;
  View<const Index, 2> first;
  Reads<Number> rows;
};

/// Features of templates of sequences: template k gives sizes(k, t) rows to token t, one after the other in `rows`,
/// those of the first template first; -1 for none.
struct TemplateRows {
  View<const Number, 2> sizes;
  Reads<Number> rows;
};

/// Write how many features each token has, at most `most`, and these, increasing, each once; returns how many in all.
inline Index gather_features(const Places& places, const WordRows& words, const TemplateRows& templates, Index most,
                             View<Number> counts, View<Number> out) {
  const Index K = templates.sizes.shape[0];
  Memory memory;
  const View<Index> next = memory.filled<Index>(0, K);  // row of each template
  for (Index k = 1; k < K; ++k) {
    const Reads<Number> before = templates.sizes.row(k - 1);
    next(k) = std::accumulate(before.begin(), before.end(), next(k - 1));
  }
  FoundNumbers found;
  Index n = 0;
  for (Index t = 0; t < places.word.size(); ++t) {
    found.clear(most);
    for (Index i = 0; i < words.offset.size(); ++i) {
      const Index offset = words.offset(i);
      if (offset < -places.before(t) || offset > places.behind(t)) continue;
      const Index w = places.word(t + offset);
      for (Index j = words.first(i, w); j < words.first(i, w + 1); ++j) found.add(words.rows(j));
    }
    for (Index k = 0; k < K; ++k)
      for (Index left = templates.sizes(k, t); left > 0; --left, ++next(k))
        if (templates.rows(next(k)) >= 0) found.add(templates.rows(next(k)));
    if (!found.put_in_order(out.slice(n, n + found.size()))) {
      found.drop_repeats();
      found.put_in_order(out.slice(n, n + found.size()));
    }
    counts(t) = static_cast<Number>(found.size());
    n += found.size();
  }
  return n;
}

}  // namespace semistruct
