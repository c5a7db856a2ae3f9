// The working sets of the sequential dual method: labellings of each example, their losses and inner products.
//
// Every example i of T tokens has a working set of labellings ("slots"), slot 0 being its target y_i, and psi_s =
// f(x_i, y_i) - f(x_i, y_s).  Step features count once in table 0, and once more in the table of their kind if that is
// not 0.
#pragma once
#include <variant>

#include "chain.hpp"

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
};

/// What is to be learned: target and cost (n_tokens,), weight C_i (n,); violators are found at margin * cost.
struct Goal {
  Reads<Label> target;
  Reads<double> cost;
  Reads<double> weight;
  double margin;
};

/// The working sets, with room for room(i) slots of which used(i) are in use.
struct Sets {
  Reads<Index> room;
  View<Index> used;
  Reads<Index> slot_start;  // of the slots of example i in alpha and loss
  Reads<Index> label_start;  // of their labellings, of T labels each
  Reads<Index> gram_start;  // of their products psi_s . psi_r, at s * room(i) + r
  View<double> alpha;
  View<double> loss;
  View<Label> labels;
  Products gram;
};

/// The masses and the losses of slots.
struct Masses {
  View<double> alpha, loss;
};

/// The first n labellings of example i, (n, T).
inline View<Label, 2> labellings(const Sets& sets, Index i, Index T, Index n) {
  const Index a = sets.label_start(i);
  return {sets.labels.slice(a, a + n * T).data, {n, T}};
}

/// The masses and losses of the first n slots of example i.
inline Masses masses(const Sets& sets, Index i, Index n) {
  const Index a = sets.slot_start(i);
  return {sets.alpha.slice(a, a + n), sets.loss.slice(a, a + n)};
}

/// act(gram) for the products (room, room) of the slots of example i.
template <class Act>
auto with_gram(const Sets& sets, Index i, Act act) {
  const auto square = [&](auto all) {
    const Index a = sets.gram_start(i), room = sets.room(i);
    return act(View<typename decltype(all)::Element, 2>{all.slice(a, a + room * room).data, {room, room}});
  };
  return std::visit(square, sets.gram);
}

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
inline void token_products(Reads<Index> which, const Sequences& rows) {
  const Index stride = rows.values.size() == 1 ? 0 : 1;
  std::int32_t most = 0;
  for (Index i : which)
    for (Index j = rows.indptr(rows.offsets(i)); j < rows.indptr(rows.offsets(i + 1)); ++j)
      most = std::max(most, rows.indices(j));
  Room<double> room;
  View<double> spread = room.filled(0.0, most + 1);  // one token, with all the features that it does not have
  const auto each = [&](Index token, auto act) {
    for (Index j = rows.indptr(token); j < rows.indptr(token + 1); ++j) act(rows.indices(j), rows.values(j * stride));
  };
  const auto fill_in = [&](auto product) {
    for (Index i : which) {
      const Index a = rows.offsets(i), T = rows.offsets(i + 1) - a, p = rows.product_start(i);
      for (Index t = 0; t < T; ++t) {
        each(a + t, [&](Index f, double value) { spread(f) = value; });
        for (Index s = 0; s <= t; ++s) {
          double total = 0.0;
          each(a + s, [&](Index f, double value) { total += spread(f) * value; });
          product(p + t * T + s) = product(p + s * T + t) = static_cast<typename decltype(product)::Element>(total);
        }
        each(a + t, [&](Index f, double) { spread(f) = 0.0; });
      }
    }
  };
  std::visit(fill_in, rows.product);
}

/// The loss of `path`: the cost of every token whose label is not the target's.
inline double hamming(Reads<Label> path, Reads<Label> target, Reads<double> cost) {
  double total = 0.0;
  for (Index t = 0; t < path.size(); ++t)
    if (path(t) != target(t)) total += cost(t);
  return total;
}

/// Where the labellings of a working set differ from the first one.
struct Differences {
  View<Index> where, edges;  // the positions where not all are equal, and the steps that touch them
  View<Index, 2> spans;  // (n, 4) labelling s differs within the entries spans(s, 0) .. spans(s, 1)-1 of `where`, and
                         // at steps within the entries spans(s, 2) .. spans(s, 3)-1 of `edges`
};

/// Memory for `disagreement`.
struct DifferenceRoom {
  Room<Index> where, edges, into;
  Room<Label> marks;
  Room<Index, 2> spans;
};

/// Where the labellings `here` differ from the first one.
inline Differences disagreement(View<const Label, 2> here, DifferenceRoom& room) {
  const auto [n, T] = here.shape;
  const Label* target = here.data;
  View<Label> marks = room.marks.filled(0, T);  // not 0 where some labelling differs
  for (Index s = 1; s < n; ++s)
    for (Index t = 0; t < T; ++t) marks.data[t] |= static_cast<Label>(target[t] ^ target[s * T + t]);
  View<Index> where = room.where.of(T), edges = room.edges.of(T), into = room.into.of(T);
  View<Index, 2> spans = room.spans.filled(0, n, 4);
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
    spans(s, 0) = begin, spans(s, 1) = end;
    spans(s, 2) = into(begin), spans(s, 3) = std::min(into(end - 1) + (where(end - 1) > 0 ? 2 : 1), e);
  }
  return {where.slice(0, p), edges.slice(0, e), spans};
}

/// Memory for adding slots; trial (K, Y, Y) is all zero between calls.
struct SlotRoom {
  View<double, 3> trial;
  DifferenceRoom differences;
  Room<double, 2> scores;
  Room<Index> kept;
  Room<Label> path;
  Room<Label, 2> old;
  Room<double> mass;
  Room<double, 3> trial_room;

  explicit SlotRoom(View<double, 3> like) {
    trial = trial_room.filled(0.0, like.shape[0], like.shape[1], like.shape[2]);
  }
};

/// row(s) = psi_last . psi_s for s <= last, where `last` is the last labelling of `here` (n, T), the first the target.
///
/// psi_last is laid out as scores, U for the tokens and trial for the steps, and each psi_s is scored with it; only
/// places where some labelling differs from the target are looked at.
template <class Product, class Gram>
void gram_row(Index i, const Sequences& rows, View<Product> product, View<const Label, 2> here, View<Gram> row,
              SlotRoom& room) {
  const auto [n, T] = here.shape;
  const Index a = rows.offsets(i), Y = room.trial.shape[1];
  const Reads<Label> target = here.row(0), last = here.row(n - 1);
  const Differences differences = disagreement(here, room.differences);
  const auto& [where, edges, spans] = differences;
  View<double, 2> U = room.scores.filled(0.0, where.size(), Y);
  for (Index q = spans(n - 1, 0); q < spans(n - 1, 1); ++q) {
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
  // act(k, y, z) for the tables and labels of a step at t.
  const auto at_step = [&](Reads<Label> path, Index t, auto act) {
    act(Index{0}, path(t - 1), path(t));
    if (rows.kind(a + t) > 0) act(Index{rows.kind(a + t)}, path(t - 1), path(t));
  };
  const View<Index> own_steps = edges.slice(spans(n - 1, 2), spans(n - 1, 3));
  const auto add_steps = [&](double amount) {
    for (Index t : own_steps) {
      at_step(target, t, [&](Index k, Index y, Index z) { room.trial(k, y, z) += amount; });
      at_step(last, t, [&](Index k, Index y, Index z) { room.trial(k, y, z) -= amount; });
    }
  };
  add_steps(1.0);
  for (Index s = 0; s < n; ++s) {
    const Reads<Label> path = here.row(s);
    double total = 0.0;
    for (Index p = spans(s, 0); p < spans(s, 1); ++p) total += U(p, target(where(p))) - U(p, path(where(p)));
    for (Index t : edges.slice(spans(s, 2), spans(s, 3))) {
      at_step(target, t, [&](Index k, Index y, Index z) { total += room.trial(k, y, z); });
      at_step(path, t, [&](Index k, Index y, Index z) { total -= room.trial(k, y, z); });
    }
    row(s) = static_cast<Gram>(total);
  }
  add_steps(-1.0);
}

/// Add a labelling that is not in the working set yet.
inline void append_slot(Index i, const Sequences& rows, const Goal& goal, const Sets& sets, Reads<Label> path,
                        double mass, SlotRoom& room) {
  const Index a = rows.offsets(i), T = path.size(), n = sets.used(i)++;
  const View<Label, 2> here = labellings(sets, i, T, n + 1);
  const Masses all = masses(sets, i, n + 1);
  copy(path, here.row(n));
  all.alpha(n) = mass;
  all.loss(n) = hamming(path, goal.target.slice(a, a + T), goal.cost.slice(a, a + T));
  with_gram(sets, i, [&](auto gram) {
    std::visit([&](auto product) { gram_row(i, rows, product, here, gram.row(n), room); }, rows.product);
    for (Index s = 0; s < n; ++s) gram(s, n) = gram(n, s);
  });
}

/// Forget the labellings of example i that have no mass, except the target.
inline void drop_empty(Index i, Index T, const Sets& sets, SlotRoom& room) {
  const Index old = sets.used(i);
  const View<Label, 2> here = labellings(sets, i, T, old);
  const Masses all = masses(sets, i, old);
  View<Index> kept = room.kept.of(old);
  Index n = 0;
  for (Index s = 0; s < old; ++s) {
    if (s > 0 && all.alpha(s) <= 0) continue;
    if (s != n) {
      copy(here.row(s), here.row(n));
      all.alpha(n) = all.alpha(s), all.loss(n) = all.loss(s);
    }
    kept(n++) = s;
  }
  sets.used(i) = n;
  if (n == old) return;
  with_gram(sets, i, [&](auto gram) {
    for (Index s = 0; s < n; ++s)
      for (Index r = 0; r < n; ++r) gram(s, r) = gram(kept(s), kept(r));
  });
}

/// Copy working sets into empty ones with at least as much room.
inline void copy_sets(const Sets& old, const Sets& wider) {
  for (Index i = 0; i < old.room.size(); ++i) {
    const Index n = wider.used(i) = old.used(i), T = (old.label_start(i + 1) - old.label_start(i)) / old.room(i);
    const Masses from = masses(old, i, n), to = masses(wider, i, n);
    copy(from.alpha, to.alpha), copy(from.loss, to.loss);
    const View<Label, 2> before = labellings(old, i, T, n), after = labellings(wider, i, T, n);
    std::copy(before.begin(), before.end(), after.begin());
    with_gram(old, i, [&](auto gram) {
      with_gram(wider, i, [&](auto square) {
        for (Index s = 0; s < n; ++s) copy(gram.row(s).slice(0, n), square.row(s).slice(0, n));
      });
    });
  }
}

/// Add a labelling to the working set of example i unless it is there; false if there is no room.
inline bool offer(Index i, const Sequences& rows, const Goal& goal, const Sets& sets, Reads<Label> path,
                  SlotRoom& room) {
  const Index n = sets.used(i);
  const View<Label, 2> here = labellings(sets, i, path.size(), n);
  for (Index s = 0; s < n; ++s)
    if (equal(here.row(s), path)) return true;
  if (n == sets.room(i)) return false;
  append_slot(i, rows, goal, sets, path, 0.0, room);
  return true;
}

/// Put the labellings `found` into the working sets, and, if `singly`, each of their stretches of wrong labels.
///
/// Losses and psi of the stretches add up to those of the whole, so that with them a working set can weigh each mistake
/// by itself.  Where the target has more mass than `enough` to give to all of them, they do without the whole.  Marks
/// in full (n,) the examples that have no room; trans are tables of steps, for their shape.
inline void insert(Reads<Index> which, const Sequences& rows, const Goal& goal, const Sets& sets, Reads<Label> found,
                   View<double, 3> trans, bool singly, double enough, View<bool> full) {
  SlotRoom room(trans);
  for (Index i : which) {
    const Index a = rows.offsets(i), b = rows.offsets(i + 1), T = b - a;
    const Reads<Label> path = found.slice(a, b), target = goal.target.slice(a, b);
    drop_empty(i, T, sets, room);
    bool fits = true;
    if (!singly || sets.alpha(sets.slot_start(i)) <= enough) fits = offer(i, rows, goal, sets, path, room);
    View<Label> alone = room.path.of(T);
    copy(target, alone);
    for (Index t = 0, begin = 0; singly && t < T; ++t) {
      alone(t) = path(t);
      if (path(t) == target(t) || (t + 1 < T && path(t + 1) != target(t + 1))) continue;
      fits &= offer(i, rows, goal, sets, alone, room);
      copy(target.slice(begin, t + 1), alone.slice(begin, t + 1));
      begin = t + 1;
    }
    full(i) = !fits;
  }
}

}  // namespace semistruct
