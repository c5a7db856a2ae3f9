// Numbers of names: texts end to end, each with a zero byte behind it, and a hash table of those that are known.
//
// Texts are read eight bytes at a time, little end first, which finds the end of a name and hashes it in one go; nine
// zero bytes end them all.
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

struct HashedName {
  std::uint64_t hash;
  Index begin, end;
};

/// The name that begins at `at`.
inline HashedName read_name(NameText text, Index at) {
  HashedName name{0, at, at};
  for (;; name.end += 8) {
    check(name.end + 8 <= text.size(), "word at", name.end, text.size());
    std::uint64_t word;
    std::memcpy(&word, text.data + name.end, 8);
    std::uint64_t zero = (word - 0x0101010101010101) & ~word & 0x8080808080808080;
    zero &= 0 - zero;  // the highest bit of the first zero byte, if there is one
    name.hash = (name.hash ^ (word & (zero - 1))) * 0x9E3779B97F4A7C15;
    name.hash ^= name.hash >> 32;
    if (zero) {
      name.end += static_cast<Index>(((zero >> 7) * 0x0001020304050607) >> 56);
      return name;
    }
  }
}

/// Enter the names 0 .. n - 1 into a table with enough free slots, a power of 2; returns where their text ends.
inline Index enter_names(NameText text, Index n, View<NameSlot> slots) {
  const std::uint64_t mask = static_cast<std::uint64_t>(slots.size() - 1);
  Index at = 0;
  for (Index number = 0; number < n; ++number) {
    const HashedName name = read_name(text, at);
    std::uint64_t k = name.hash & mask;
    while (slots(k).number >= 0) k = (k + 1) & mask;
    slots(k) = {name.hash, static_cast<Number>(number), static_cast<Number>(at)};
    at = name.end + 1;
  }
  return at;
}

/// The number of a name of `text`, or -1.
inline Number number_of(const HashedName& name, NameText text, Reads<NameSlot> slots, NameText known) {
  const std::uint64_t mask = static_cast<std::uint64_t>(slots.size() - 1);
  for (std::uint64_t k = name.hash & mask;; k = (k + 1) & mask) {
    const NameSlot& slot = slots(k);
    const std::size_t size = static_cast<std::size_t>(name.end - name.begin + 1);  // with the zero byte
    if (slot.number < 0) return -1;
    if (slot.hash == name.hash && std::memcmp(text.data + name.begin, known.data + slot.start, size) == 0)
      return slot.number;
  }
}

/// Numbers found at one token, to be put in order; there are at most `most`.
class FoundNumbers {
 public:
  explicit FoundNumbers(Index most) : numbers_(room_.of(most + 7)) {}

  void clear() { n_ = 0; }
  void add(Number number) { numbers_(n_++) = number; }
  Index size() const { return n_; }

  /// Write the numbers into `out`, increasing; returns whether they are different.
  ///
  /// The places of four at a time are counted, which has no branches to guess.
  bool put_in_order(View<Number> out) {
    const Index end = (n_ + 7) & ~Index{7};
    for (Index i = n_; i < end; ++i) numbers_(i) = std::numeric_limits<Number>::max();
    Index total = 0;
    for (Index i = 0; i < n_; i += 4) {
      Number place[4] = {};
      for (Index j = 0; j < end; ++j)
        for (Index k = 0; k < 4; ++k) place[k] += numbers_(j) < numbers_(i + k);
      for (Index k = 0; k < 4 && i + k < n_; ++k) out(place[k]) = numbers_(i + k), total += place[k];
    }
    return total == n_ * (n_ - 1) / 2;
  }

  /// Leave each number once.
  void drop_repeats() {
    Number* end = numbers_.begin();
    for (Index i = 0; i < n_; ++i)
      if (std::find(numbers_.begin(), end, numbers_(i)) == end) *end++ = numbers_(i);
    n_ = end - numbers_.begin();
  }

 private:
  Room<Number> room_;
  View<Number> numbers_;
  Index n_ = 0;
};

/// Write how many known names each token has, and their numbers, increasing; returns how many these are.
///
/// Token t has sizes(t) names; one without names has an empty text.  -1 is returned if a token has a name twice, or if
/// there are more texts, or fewer, than there should be.
inline Index look_up_names(NameText text, Reads<Number> sizes, Reads<NameSlot> slots, NameText known,
                           View<Number> counts, View<Number> rows) {
  FoundNumbers found(sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end()));
  const Index last = text.size() - 8;
  Index at = 0, n = 0;
  for (Index t = 0; t < sizes.size(); ++t) {
    found.clear();
    for (Index i = 0; i < sizes(t); ++i) {
      if (at >= last) return -1;
      const HashedName name = read_name(text, at);
      const Number number = number_of(name, text, slots, known);
      if (number >= 0) found.add(number);
      at = name.end + 1;
    }
    if (sizes(t) == 0) ++at;
    if (!found.put_in_order(rows.slice(n, n + found.size()))) return -1;
    counts(t) = static_cast<Number>(found.size());
    n += found.size();
  }
  return at == last ? n : -1;
}

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
  Room<Index> room;
  View<Index> next = room.filled(0, K);  // row of each template
  for (Index k = 1; k < K; ++k) {
    const Reads<Number> before = templates.sizes.row(k - 1);
    next(k) = std::accumulate(before.begin(), before.end(), next(k - 1));
  }
  FoundNumbers found(most);
  Index n = 0;
  for (Index t = 0; t < places.word.size(); ++t) {
    found.clear();
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
