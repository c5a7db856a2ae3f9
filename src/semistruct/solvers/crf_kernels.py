"""Sums over the tokens of each feature."""

from semistruct.compiled import kernel


@kernel
def gather(which, ptr, rows, values, of, out):
    """out[f] = sum over the tokens that have feature f of its value times of[token]."""
    stride = 0 if len(values) == 1 else 1
    Y = of.shape[1]
    for f in which:
        for y in range(Y):
            out[f, y] = 0.0
        for j in range(ptr[f], ptr[f + 1]):
            t, v = rows[j], values[j * stride]
            for y in range(Y):
                out[f, y] += v * of[t, y]
