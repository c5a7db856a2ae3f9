// How structs are made of the fields of named tuples, or of whatever else gives the fields one after the other.
#pragma once
#include "bit_hinge.hpp"
#include "covariance.hpp"
#include "dual.hpp"
#include "k_best.hpp"
#include "margins.hpp"
#include "multiclass.hpp"
#include "names.hpp"
#include "projection.hpp"
#include "spans.hpp"

namespace semistruct {

/// Fields<Factors>::of(s) is Factors{s, s, s}: a source `s` becomes the type that is asked for, and moves on.
template <class T>
struct Fields;

#define SEMISTRUCT_FIELDS(Struct, ...)      \
  template <>                               \
  struct Fields<Struct> {                   \
    template <class Source>                 \
    static Struct of(Source& s) {           \
      return Struct{__VA_ARGS__};           \
    }                                       \
  };

SEMISTRUCT_FIELDS(Scorer, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Factors, s, s, s)
SEMISTRUCT_FIELDS(Events, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Costs, s, s, s, s)
SEMISTRUCT_FIELDS(Sequences, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Goal, s, s, s, s)
SEMISTRUCT_FIELDS(Sets, s, s, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Weights, s, s, s)
SEMISTRUCT_FIELDS(Examples, s, s, s)
SEMISTRUCT_FIELDS(Track, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Scoring, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(LocalScores, s, s, s, s)
SEMISTRUCT_FIELDS(Bound, s, s, s, s)
SEMISTRUCT_FIELDS(Objective, s, s, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Ledger, s, s, s, s, s)
SEMISTRUCT_FIELDS(Current, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Prefixes, s, s)
SEMISTRUCT_FIELDS(Bits, s, s, s, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Auxiliary, s, s, s)
SEMISTRUCT_FIELDS(InstanceRows, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Field, s, s, s, s)
SEMISTRUCT_FIELDS(Problem, s, s, s, s, s)
SEMISTRUCT_FIELDS(Projected, s, s, s, s, s, s, s)
SEMISTRUCT_FIELDS(Places, s, s, s)
SEMISTRUCT_FIELDS(WordRows, s, s, s)
SEMISTRUCT_FIELDS(TemplateRows, s, s)

}  // namespace semistruct
