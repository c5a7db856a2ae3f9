// The working sets of the sequential dual method: labellings of each example, their losses and inner products.
//
// Every example i of T tokens has a working set of labellings ("slots"), slot 0 being its target y_i, and psi_s =
// f(x_i, y_i) - f(x_i, y_s).  Step features count once in table 0, and once more in the table of their kind if that is
// not 0.
#pragma once
#include <variant>

#include "chain.hpp"
#include "work.hpp"

namespace semistruct {

/// Inner products: in 32 bits where these hold them exactly.
using Products = std::variant<View<float>, View<double>>;

/// The sequences, as in Scorer, with the products of their tokens where these fit into memory.
struct Sequences {
  Reads<Index> offsets;
  Reads<Index> indptr;
  Reads<std::int32_t> indices;
  Reads<double> values;
  Reads<Label> kind;
  Reads<Index> product_start;
  Products product;  // x_t . x_s at product_start(i) + t * T + s for the tokens t, s of sequence i; or empty

  /// Call act(feature, value) for the features of a token.
  template <class Act>
  void each(Index token, Act act) const {
    const Index stride = values.size() == 1 ? 0 : 1, end = indptr(token + 1);
    for (Index j = indptr(token); j < end; ++j) act(indices(j), values(j * stride));
  }
};

/// What is to be learned: target and cost (n_tokens,), weight C_i (n,); violators are found at margin * cost.
struct Goal {
  Reads<Label> target;
  Reads<double> cost;
  Reads<double> weight;
  double margin;
};

/// The working set of one example: labellings (n, T), their masses and losses (n,).
struct Slots {
  View<Label, 2> labels;
  View<double> alpha, loss;

  Index size() const { return alpha.size(); }
};

/// The working sets, with room for room(i) slots of which used(i) are in use.
struct Sets {
  Reads<Index> room;
  View<Index> used;
  Reads<Index> slot_start;   // of the slots of example i in alpha and loss
  Reads<Index> label_start;  // of their labellings, of T labels each
  Reads<Index> gram_start;   // of their products psi_s . psi_r, at s * room(i) + r
  View<double> alpha;
  View<double> loss;
  View<Label> labels;
  Products gram;

  /// The first n slots of example i.
  Slots slots(Index i, Index n) const {
    const Index a = slot_start(i), b = label_start(i), T = (label_start(i + 1) - b) / room(i);
    return {{labels.slice(b, b + n * T).data, {n, T}}, alpha.slice(a, a + n), loss.slice(a, a + n)};
  }
  Slots slots(Index i) const { return slots(i, used(i)); }

  /// act(products) for the products (room, room) of the slots of example i.
  template <class Act>
  auto with_gram(Index i, Act act) const {
    const auto square = [&](auto all) {
      const Index a = gram_start(i), n = room(i);
      return act(View<typename decltype(all)::Element, 2>{all.slice(a, a + n * n).data, {n, n}});
    };
    return std::visit(square, gram);
  }
};

/// x_t . x_s for two tokens counted over all sequences; their features are in increasing order.
inline double token_product(const Sequences& rows, Index t, Index s) {
  const Index stride = rows.values.size() == 1 ? 0 : 1, t_end = rows.indptr(t + 1), s_end = rows.indptr(s + 1);
  double total = 0.0;
  for (Index a = rows.indptr(t), b = rows.indptr(s); a < t_end && b < s_end;) {
    const std::int32_t f = rows.indices(a), g = rows.indices(b);
    if (f == g) total += rows.values(a * stride) * rows.values(b * stride);
    a += f <= g, b += g <= f;
  }
  return total;
}

/// Fill rows.product.
inline void token_products(const Which& which, const Sequences& rows) {
  std::int32_t most = 0;
  for (Index i : which.numbers)
    for (Index j = rows.indptr(rows.offsets(i)); j < rows.indptr(rows.offsets(i + 1)); ++j)
      most = std::max(most, rows.indices(j));
  std::vector<double> scattered(static_cast<std::size_t>(most) + 1);
  const View<double> spread{scattered.data(), {most + 1}};  // one token, with all the features that it does not have
  const auto fill_in = [&](auto product) {
    which.each([&](Index i, Memory&) {
      const Index a = rows.offsets(i), T = rows.offsets(i + 1) - a, p = rows.product_start(i);
      for (Index t = 0; t < T; ++t) {
        rows.each(a + t, [&](Index f, double value) { spread(f) = value; });
        for (Index s = 0; s <= t; ++s) {
          double total = 0.0;
          rows.each(a + s, [&](Index f, double value) { total += spread(f) * value; });
          product(p + t * T + s) = product(p + s * T + t) = static_cast<typename decltype(product)::Element>(total);
        }
        rows.each(a + t, [&](Index f, double) { spread(f) = 0.0; });
      }
    });
  };
  std::visit(fill_in, rows.product);
}

/// The entries begin .. end-1 of an array.
struct Span {
  Index begin, end;
};

/// Where the labellings of a working set differ from the first one.
struct Differences {
  View<Index> where, edges;  // the positions where not all are equal, and the steps that touch them
  View<Span> places, steps;  // (n,) the entries of `where`, and of `edges`, between which labelling s differs
};

/// Where the labellings `here` differ from the first one.
inline Differences disagreement(View<const Label, 2> here, Memory& memory) {
  const auto [n, T] = here.shape;
  const Label* target = here.data;
  const View<Label> marks = memory.filled<Label>(0, T);  // not 0 where some labelling differs
  for (Index s = 1; s < n; ++s)
    for (Index t = 0; t < T; ++t) marks.data[t] |= static_cast<Label>(target[t] ^ target[s * T + t]);
  const View<Index> where = memory.of<Index>(T), edges = memory.of<Index>(T), into = memory.of<Index>(T);
  const View<Span> places = memory.filled<Span>({0, 0}, n), steps = memory.filled<Span>({0, 0}, n);
  Index p = 0, e = 0;
  for (Index t = 0; t < T; ++t) {  // what is written too early is written over
    where(p) = edges(e) = t, into(p) = e;
    p += marks(t) != 0;
    e += t > 0 && (marks(t) | marks(t - 1)) != 0;
  }
  for (Index s = 1; s < n; ++s) {
    const auto same = [&](Index q) { return here(s, where(q)) == target[where(q)]; };
    Index begin = 0, end = p;
    while (begin < end && same(begin)) ++begin;
    if (begin == end) continue;
    while (same(end - 1)) --end;
    places(s) = {begin, end};
    steps(s) = {into(begin), std::min(into(end - 1) + (where(end - 1) > 0 ? 2 : 1), e)};
  }
  return {where.slice(0, p), edges.slice(0, e), places, steps};
}

/// row(s) = psi_last . psi_s for s <= last, where `last` is the last labelling of `here` (n, T), the first the target.
///
/// psi_last is laid out as scores, U for the tokens and trial (K, Y, Y) for the steps, and each psi_s is scored with
/// it; only places where some labelling differs from the target are looked at.  All of trial is 0 between calls.
template <class Product, class Gram>
void gram_row(Index i, const Sequences& rows, View<Product> product, View<const Label, 2> here, View<Gram> row,
              View<double, 3> trial, Memory& memory) {
  const auto [n, T] = here.shape;
  const Memory::Scope scope(memory);
  const Index a = rows.offsets(i);
  const Reads<Label> target = here.row(0), last = here.row(n - 1);
  const Differences differences = disagreement(here, memory);
  const View<Index> where = differences.where;
  const View<double, 2> U = memory.filled(0.0, where.size(), trial.shape[1]);
  for (Index q = differences.places(n - 1).begin; q < differences.places(n - 1).end; ++q) {
    const Index s = where(q), right = target(s), wrong = last(s);
    if (right == wrong) continue;
    for (Index p = 0; p < where.size(); ++p) {
      const Index t = where(p);
      const double v =
          product.empty() ? token_product(rows, a + s, a + t) : product(rows.product_start(i) + s * T + t);
      U(p, right) += v;
      U(p, wrong) -= v;
    }
  }
  // act(k, y, z, sign) for the tables and labels of the steps of the target (sign 1) and of `path` (sign -1).
  const auto each_step = [&](Reads<Label> path, Span steps, auto act) {
    for (Index t : differences.edges.slice(steps.begin, steps.end))
      for (const double sign : {1.0, -1.0}) {
        const Reads<Label>& labels = sign > 0 ? target : path;
        act(Index{0}, labels(t - 1), labels(t), sign);
        if (rows.kind(a + t) > 0) act(Index{rows.kind(a + t)}, labels(t - 1), labels(t), sign);
      }
  };
  const auto add_own = [&, n = n](double amount) {
    each_step(last, differences.steps(n - 1),
              [&](Index k, Index y, Index z, double sign) { trial(k, y, z) += sign * amount; });
  };
  add_own(1.0);
  for (Index s = 0; s < n; ++s) {
    const Reads<Label> path = here.row(s);
    double total = 0.0;
    for (Index p = differences.places(s).begin; p < differences.places(s).end; ++p)
      total += U(p, target(where(p))) - U(p, path(where(p)));
    each_step(path, differences.steps(s),
              [&](Index k, Index y, Index z, double sign) { total += sign * trial(k, y, z); });
    row(s) = static_cast<Gram>(total);
  }
  add_own(-1.0);
}

/// Adds labellings to the working sets of examples.
class SlotWriter {
 public:
  /// trans (K, Y, Y): tables of steps, for their shape.
  SlotWriter(const Sequences& rows, const Goal& goal, const Sets& sets, View<double, 3> trans)
      : rows_(rows), goal_(goal), sets_(sets),
        trial_(memory_.filled(0.0, trans.shape[0], trans.shape[1], trans.shape[2])) {}

  /// Add a labelling that is not in the working set yet.
  void append(Index i, Reads<Label> path, double mass) {
    const Index a = rows_.offsets(i), n = sets_.used(i)++;
    const Slots slots = sets_.slots(i);
    copy(path, slots.labels.row(n));
    slots.alpha(n) = mass;
    slots.loss(n) = 0.0;
    for (Index t = 0; t < path.size(); ++t)
      if (path(t) != goal_.target(a + t)) slots.loss(n) += goal_.cost(a + t);
    sets_.with_gram(i, [&](auto gram) {
      const auto fill_row = [&](auto product) {
        gram_row(i, rows_, product, slots.labels, gram.row(n), trial_, memory_);
      };
      std::visit(fill_row, rows_.product);
      for (Index s = 0; s < n; ++s) gram(s, n) = gram(n, s);
    });
  }

  /// Add a labelling unless it is there; false if there is no room.
  bool offer(Index i, Reads<Label> path) {
    const Slots slots = sets_.slots(i);
    for (Index s = 0; s < slots.size(); ++s)
      if (equal(slots.labels.row(s), path)) return true;
    if (slots.size() == sets_.room(i)) return false;
    append(i, path, 0.0);
    return true;
  }

  /// Forget the labellings that have no mass, except the target.
  void drop_empty(Index i) {
    const Memory::Scope scope(memory_);
    const Slots slots = sets_.slots(i);
    const View<Index> kept = memory_.of<Index>(slots.size());
    Index n = 0;
    for (Index s = 0; s < slots.size(); ++s) {
      if (s > 0 && slots.alpha(s) <= 0) continue;
      if (s != n) {
        copy(slots.labels.row(s), slots.labels.row(n));
        slots.alpha(n) = slots.alpha(s), slots.loss(n) = slots.loss(s);
      }
      kept(n++) = s;
    }
    sets_.used(i) = n;
    if (n == slots.size()) return;
    sets_.with_gram(i, [&](auto gram) {
      for (Index s = 0; s < n; ++s)
        for (Index r = 0; r < n; ++r) gram(s, r) = gram(kept(s), kept(r));
    });
  }

 private:
  const Sequences& rows_;
  const Goal& goal_;
  const Sets& sets_;
  Memory memory_;
  View<double, 3> trial_;
};

/// Copy working sets into empty ones with at least as much room.
inline void copy_sets(const Which& which, const Sets& old, const Sets& wider) {
  which.each([&](Index i, Memory&) {
    const Index n = wider.used(i) = old.used(i);
    const Slots from = old.slots(i), to = wider.slots(i);
    copy(from.alpha, to.alpha), copy(from.loss, to.loss);
    std::copy(from.labels.begin(), from.labels.end(), to.labels.begin());
    old.with_gram(i, [&](auto gram) {
      wider.with_gram(i, [&](auto square) {
        for (Index s = 0; s < n; ++s) copy(gram.row(s).slice(0, n), square.row(s).slice(0, n));
      });
    });
  });
}

/// Put the labellings `found` into the working sets, and, if `singly`, each of their stretches of wrong labels.
///
/// Losses and psi of the stretches add up to those of the whole, so that with them a working set can weigh each mistake
/// by itself.  Where the target has more mass than `enough` to give to all of them, they do without the whole.  Marks
/// in full (n,) the examples that have no room; trans are tables of steps, for their shape.
inline void insert(const Which& which, const Sequences& rows, const Goal& goal, const Sets& sets, Reads<Label> found,
                   View<double, 3> trans, bool singly, double enough, View<bool> full) {
  SlotWriter writer(rows, goal, sets, trans);
  which.each([&](Index i, Memory& memory) {
    const Index a = rows.offsets(i), b = rows.offsets(i + 1), T = b - a;
    const Reads<Label> path = found.slice(a, b), target = goal.target.slice(a, b);
    writer.drop_empty(i);
    bool fits = true;
    if (!singly || sets.slots(i).alpha(0) <= enough) fits = writer.offer(i, path);
    const View<Label> alone = memory.of<Label>(T);
    copy(target, alone);
    for (Index t = 0, begin = 0; singly && t < T; ++t) {
      alone(t) = path(t);
      if (path(t) == target(t) || (t + 1 < T && path(t + 1) != target(t + 1))) continue;
      fits &= writer.offer(i, alone);
      copy(target.slice(begin, t + 1), alone.slice(begin, t + 1));
      begin = t + 1;
    }
    full(i) = !fits;
  });
}

}  // namespace semistruct
