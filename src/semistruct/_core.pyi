"""
The compiled kernels; semistruct.core.kernels picks the module for this machine.
"""

from typing import Any

import numpy
import numpy.typing

def has_avx2() -> bool: ...
def decode_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    scorer: tuple[Any, ...],
    known: numpy.typing.NDArray[numpy.int16],
    bonus: numpy.typing.NDArray[numpy.float64],
    path: numpy.typing.NDArray[numpy.int16],
    score: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def decode_k_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    scorer: tuple[Any, ...],
    known: numpy.typing.NDArray[numpy.int16],
    paths: numpy.typing.NDArray[numpy.int16],
    scores: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def margins_of_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    scorer: tuple[Any, ...],
    known: numpy.typing.NDArray[numpy.int16],
    path: numpy.typing.NDArray[numpy.int16],
    margin: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def given_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    scorer: tuple[Any, ...],
    known: numpy.typing.NDArray[numpy.int16],
    path: numpy.typing.NDArray[numpy.int16],
    beside: numpy.typing.NDArray[numpy.int16],
    out: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def factors_of(
    step: numpy.typing.NDArray[numpy.float64],
    factor: numpy.typing.NDArray[numpy.float64],
    back: numpy.typing.NDArray[numpy.float64],
    top: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def expect_sequences(
    pieces: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    bounds: numpy.typing.NDArray[numpy.int64],
    scorer: tuple[Any, ...],
    known: numpy.typing.NDArray[numpy.int16],
    factors: tuple[Any, ...],
    weight: numpy.typing.NDArray[numpy.float64],
    log_z: numpy.typing.NDArray[numpy.float64],
    marginal: numpy.typing.NDArray[numpy.float64],
    steps: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def count_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    events: tuple[Any, ...],
    offsets: numpy.typing.NDArray[numpy.int64],
    y: numpy.typing.NDArray[numpy.int16],
    counts: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def penalty(
    targets: numpy.typing.NDArray[numpy.void],
    which: numpy.typing.NDArray[numpy.int64],
    row: numpy.typing.NDArray[numpy.float64],
    n_tokens: float,
    n_sequences: float,
    /,
) -> float: ...
def token_products(which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...], rows: tuple[Any, ...], /) -> None: ...
def copy_sets(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...], old: tuple[Any, ...], new: tuple[Any, ...], /
) -> None: ...
def insert(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    rows: tuple[Any, ...],
    goal: tuple[Any, ...],
    sets: tuple[Any, ...],
    found: numpy.typing.NDArray[numpy.int16],
    trans: numpy.typing.NDArray[numpy.float64],
    singly: bool,
    enough: float,
    full: numpy.typing.NDArray[numpy.bool],
    /,
) -> None: ...
def find_violators(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    rows: tuple[Any, ...],
    goal: tuple[Any, ...],
    sets: tuple[Any, ...],
    w: tuple[Any, ...],
    hinge: numpy.typing.NDArray[numpy.float64],
    mean: numpy.typing.NDArray[numpy.float64],
    found: numpy.typing.NDArray[numpy.int16],
    /,
) -> None: ...
def improve(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    rows: tuple[Any, ...],
    goal: tuple[Any, ...],
    sets: tuple[Any, ...],
    w: tuple[Any, ...],
    tol: float,
    max_pairs: int,
    apart: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def rebase(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    rows: tuple[Any, ...],
    goal: tuple[Any, ...],
    old_weight: numpy.typing.NDArray[numpy.float64],
    sets: tuple[Any, ...],
    w: tuple[Any, ...],
    /,
) -> None: ...
def visit_classes(
    order: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    rows: tuple[Any, ...],
    norm2: numpy.typing.NDArray[numpy.float64],
    y: numpy.typing.NDArray[numpy.int64],
    C: numpy.typing.NDArray[numpy.float64],
    cost: numpy.typing.NDArray[numpy.float64],
    W: numpy.typing.NDArray[numpy.float64],
    alpha: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def norm2(x: numpy.typing.NDArray[numpy.float64], /) -> float: ...
def gather_tokens(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    ptr: numpy.typing.NDArray[numpy.int64],
    rows: numpy.typing.NDArray[numpy.int32],
    values: numpy.typing.NDArray[numpy.float64],
    of: numpy.typing.NDArray[numpy.float64],
    out: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def search_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    scoring: tuple[Any, ...],
    track: tuple[Any, ...],
    widths: numpy.typing.NDArray[numpy.int64],
    within: float,
    labels: numpy.typing.NDArray[numpy.int16],
    values: numpy.typing.NDArray[numpy.float64],
    ceiling: numpy.typing.NDArray[numpy.float64],
    unseen: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def margins_under(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    scoring: tuple[Any, ...],
    track: tuple[Any, ...],
    widths: numpy.typing.NDArray[numpy.int64],
    path: numpy.typing.NDArray[numpy.int16],
    margin: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def open_ledger(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    objective: tuple[Any, ...],
    y: numpy.typing.NDArray[numpy.int16],
    ledger: tuple[Any, ...],
    /,
) -> None: ...
def switch_tokens(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    objective: tuple[Any, ...],
    known: numpy.typing.NDArray[numpy.int16],
    limit: int,
    y: numpy.typing.NDArray[numpy.int16],
    ledger: tuple[Any, ...],
    /,
) -> int: ...
def switch_spans(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    objective: tuple[Any, ...],
    known: numpy.typing.NDArray[numpy.int16],
    cut: numpy.typing.NDArray[numpy.bool],
    y: numpy.typing.NDArray[numpy.int16],
    ledger: tuple[Any, ...],
    moves: numpy.typing.NDArray[numpy.int64],
    /,
) -> None: ...
def best_priced_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    scorer: tuple[Any, ...],
    bits: tuple[Any, ...],
    price: numpy.typing.NDArray[numpy.float64],
    path: numpy.typing.NDArray[numpy.int16],
    value: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def bits_of_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    offsets: numpy.typing.NDArray[numpy.int64],
    bits: tuple[Any, ...],
    path: numpy.typing.NDArray[numpy.int16],
    out: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def find_bit_violators(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    rows: tuple[Any, ...],
    goal: tuple[Any, ...],
    sets: tuple[Any, ...],
    w: tuple[Any, ...],
    bits: tuple[Any, ...],
    hinge: numpy.typing.NDArray[numpy.float64],
    mean: numpy.typing.NDArray[numpy.float64],
    found: numpy.typing.NDArray[numpy.int16],
    aux: tuple[Any, ...],
    /,
) -> None: ...
def improve_bits(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    rows: tuple[Any, ...],
    goal: tuple[Any, ...],
    sets: tuple[Any, ...],
    w: tuple[Any, ...],
    bits: tuple[Any, ...],
    aux: tuple[Any, ...],
    tol: float,
    max_pairs: int,
    apart: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def project_sequences(
    pieces: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    bounds: numpy.typing.NDArray[numpy.int64],
    field: tuple[Any, ...],
    problem: tuple[Any, ...],
    weight: numpy.typing.NDArray[numpy.float64],
    found: tuple[Any, ...],
    /,
) -> None: ...
def best_sequences(
    which: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    field: tuple[Any, ...],
    problem: tuple[Any, ...],
    multiplier: numpy.typing.NDArray[numpy.float64],
    n_terms: int,
    labels: numpy.typing.NDArray[numpy.int16],
    /,
) -> None: ...
def covary(
    pieces: numpy.typing.NDArray[numpy.int64] | tuple[Any, ...],
    bounds: numpy.typing.NDArray[numpy.int64],
    field: tuple[Any, ...],
    costs: tuple[Any, ...],
    marginal: numpy.typing.NDArray[numpy.float64],
    steps: numpy.typing.NDArray[numpy.float64],
    /,
) -> None: ...
def enter_names(
    text: numpy.typing.NDArray[numpy.uint8] | bytes, n: int, slots: numpy.typing.NDArray[numpy.void], /
) -> int: ...
def look_up_names(
    tokens: list[Any], slots: numpy.typing.NDArray[numpy.void], known: bytes, /
) -> tuple[bytes, bytes] | None: ...
def gather_features(
    places: tuple[Any, ...],
    words: tuple[Any, ...],
    templates: tuple[Any, ...],
    most: int,
    counts: numpy.typing.NDArray[numpy.int32],
    out: numpy.typing.NDArray[numpy.int32],
    /,
) -> int: ...
