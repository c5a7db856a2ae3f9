"""Linear chains on arrays: scoring, decoding, marginals. `core/chain.hpp` has the notation."""
