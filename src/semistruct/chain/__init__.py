"""Linear chains on arrays: scoring, decoding, marginals. See `kernels` for the conventions."""
