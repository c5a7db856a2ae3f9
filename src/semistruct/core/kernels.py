"""The compiled kernels: `kernels` is the module for this machine.

The folder `core/` beside `src/` holds their source, one header per idea.  They take arrays and named tuples of arrays,
trust what the arrays hold, and release the GIL, so that threads can share the work.
"""

from __future__ import annotations

from contextlib import suppress

from semistruct.base.errors import CoreError

try:
    import semistruct._core as kernels
except ImportError as err:
    problem = "the compiled core of semistruct is missing, or was built for another Python; `pip install .` builds it"
    raise CoreError(f"{problem} ({err.msg})") from None

if kernels.has_avx2():
    with suppress(ImportError):  # only built for x86-64
        import semistruct._core_avx2 as kernels  # type: ignore[import-not-found,no-redef]
