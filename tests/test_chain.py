"""The chain kernels against listing every labelling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp, softmax

import brute
from semistruct.base.errors import DataError
from semistruct.core.batch import UNKNOWN
from semistruct.core.chain.inference import NOWHERE, ChainWeights, Scorer, decode_k
from semistruct.core.chain.inference import decode as decode_all
from semistruct.core.chain.posterior import factors_of
from semistruct.core.kernels import kernels
from strategies import INTEGERS_OR_FORBIDDEN, REAL, SMALL_INTEGERS, batches, chains, dense, models, random_batch, seeds

light = settings(deadline=None, max_examples=60)
ATOL = 1e-9


def scorer_of(unary, step, kind):
    """One sequence whose tokens have one feature each: the weights are the scores."""
    T = len(unary)
    return Scorer(np.array([0, T]), np.arange(T + 1), np.arange(T, dtype=np.int32), np.ones(1), kind, unary, step)


def decode(unary, step, kind, known=NOWHERE):
    """(score, path)."""
    path, score = np.full(len(unary), -1, np.int16), np.full(1, np.nan)
    kernels.decode_sequences(np.array([0]), scorer_of(unary, step, kind), known, unary[:0], path, score)
    return score[0], path


def k_best(unary, step, kind, k):
    """(scores, paths)."""
    paths, scores = np.full((k, len(unary)), -1, np.int16), np.full((1, k), np.nan)
    kernels.decode_k_sequences(np.array([0]), scorer_of(unary, step, kind), NOWHERE, paths, scores)
    return scores[0], paths


def forward_backward(unary, step, kind, weight=1.0):
    """(log Z, marginals, expected steps times weight)."""
    log_z, marginal, steps = np.full(1, np.nan), np.full(unary.shape, np.nan), np.zeros((1, *step.shape))
    args = scorer_of(unary, step, kind), NOWHERE, factors_of(step), np.array([weight])
    kernels.expect_sequences(np.array([0]), np.array([0, 1]), *args, log_z, marginal, steps)
    return log_z[0], marginal, steps[0]


def token_scores(indptr, indices, values, weights):
    """(n_tokens, Y): what each label is worth to each token, which is a sequence by itself."""
    n, Y = len(indptr) - 1, weights.shape[1]
    kind, step, out = np.zeros(n, np.int16), np.zeros((1, Y, Y)), np.full((Y, n), np.nan)
    scorer = Scorer(np.arange(n + 1), indptr, indices, values, kind, weights, step)
    for y in range(Y):
        known, path = np.full(n, y, np.int16), np.empty(n, np.int16)
        kernels.decode_sequences(np.arange(n), scorer, known, weights[:0], path, out[y])
    return out.T


@light
@given(batches(), seeds, st.one_of(st.integers(1, 3), st.integers(4, 40)))
def test_token_scores_are_a_matrix_product(batch, seed, Y):
    weights = np.random.default_rng(seed).normal(size=(batch.n_features, Y))
    found = token_scores(batch.indptr, batch.indices, batch.values, weights)
    assert_allclose(found, dense(batch) @ weights, rtol=0, atol=ATOL)


def test_token_scores_share_one_value_or_have_one_each():
    indptr, indices = np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32)
    weights = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert_array_equal(token_scores(indptr, indices, np.array([0.5]), weights), [[2.0, 20.0], [0.0, 0.0], [1.0, 10.0]])
    found = token_scores(indptr, indices, np.array([1.0, 2.0, -1.0]), weights)
    assert_array_equal(found, [[7.0, 70.0], [0.0, 0.0], [-2.0, -20.0]])


@pytest.mark.parametrize("shared", [False, True])
def test_token_scores_of_few_and_many_features(shared):
    rng, sizes = np.random.default_rng(0), np.arange(10)
    rows = [np.sort(rng.choice(12, n, replace=False)) for n in sizes]
    values, table = np.array([0.7]) if shared else rng.normal(size=sizes.sum()), np.zeros((len(sizes), 12))
    table[np.repeat(sizes, sizes), np.concatenate(rows)] = values
    indptr, indices = np.cumsum([0, *sizes]), np.concatenate(rows).astype(np.int32)
    weights = rng.normal(size=(12, 3))
    assert_allclose(token_scores(indptr, indices, values, weights), table @ weights, rtol=0, atol=ATOL)


@light
@given(chains())
def test_the_score_of_every_labelling(chain):
    for path in brute.labellings(*chain[0].shape):
        found, _ = decode(*chain, known=np.array(path, np.int16))
        assert_allclose(found, brute.score(*chain, path), rtol=0, atol=ATOL)


@light
@given(chains())
def test_viterbi_is_the_best_of_all_labellings(chain):
    found, path = decode(*chain)
    assert_allclose(found, brute.best_score(*chain), rtol=0, atol=ATOL)
    if found > -np.inf:  # the path earns the score it claims
        assert_allclose(brute.score(*chain, path), found, rtol=0, atol=ATOL)


@light
@given(st.one_of(chains(SMALL_INTEGERS), chains(INTEGERS_OR_FORBIDDEN)))
def test_viterbi_breaks_ties_from_the_last_position_backwards(chain):
    found, path = decode(*chain)  # sums of small integers are exact, so ties are ties
    if found > -np.inf:
        assert tuple(path) == brute.best_path(*chain)


def test_viterbi_takes_the_smallest_labels_when_all_is_equal():
    assert_array_equal(decode(np.zeros((4, 3)), np.zeros((1, 3, 3)), np.zeros(4, np.int16))[1], [0, 0, 0, 0])


@light
@given(st.one_of(chains(max_T=4), chains(INTEGERS_OR_FORBIDDEN, max_T=4)), st.integers(1, 12))
def test_k_best_are_the_first_of_the_sorted_list(chain, k):
    scores, paths = k_best(*chain, k)
    assert_allclose(scores, brute.sorted_scores(*chain, k), rtol=0, atol=ATOL)
    real = [tuple(p) for p, s in zip(paths, scores, strict=True) if s > -np.inf]
    assert len(set(real)) == len(real)
    for path, s in zip(real, scores, strict=False):
        assert_allclose(brute.score(*chain, path), s, rtol=0, atol=ATOL)


@light
@given(chains(REAL, max_T=3))
def test_k_best_lists_every_labelling_once_and_then_says_there_are_no_more(chain):
    every = brute.labellings(*chain[0].shape)
    scores, paths = k_best(*chain, len(every) + 3)
    assert sorted(map(tuple, paths[: len(every)].tolist())) == every
    assert np.isfinite(scores[: len(every)]).all()
    assert_array_equal(scores[len(every) :], [-np.inf] * 3)


@pytest.mark.parametrize("k", [3, 9, 10])
def test_k_best_that_share_their_end(k):
    # label 1 is worth so much at the end that the 9 best labellings differ at the beginning only
    unary = np.random.default_rng(0).normal(size=(4, 3))
    unary[2:, 1] += 100.0
    chain = unary, np.zeros((1, 3, 3)), np.zeros(4, np.int16)
    assert_allclose(k_best(*chain, k)[0], brute.sorted_scores(*chain, k), rtol=0, atol=ATOL)


@light
@given(chains(SMALL_INTEGERS))
def test_the_first_of_the_k_best_is_the_path_of_viterbi(chain):
    scores, paths = k_best(*chain, 2)
    found, path = decode(*chain)
    assert scores[0] == found
    assert_array_equal(paths[0], path)


@light
@given(st.one_of(chains(), chains(max_T=3, max_Y=9)))
def test_margins_are_between_the_best_scores_with_a_label_and_without_it(chain):
    best = brute.max_marginals(*chain)
    T, Y = best.shape
    for y in range(Y):
        margin = np.full(T, np.nan)
        kernels.margins_of_sequences(np.array([0]), scorer_of(*chain), NOWHERE, np.full(T, y, np.int16), margin)
        with np.errstate(invalid="ignore"):
            wanted = best[:, y] - np.delete(best, y, axis=1).max(axis=1, initial=-np.inf)
        assert_allclose(margin, wanted, rtol=0, atol=ATOL)


@light
@given(chains())
def test_forward_backward_against_the_distribution_over_labellings(chain):
    log_z, marginal, counts = forward_backward(*chain)
    wanted_z, wanted_marginal, wanted_counts = brute.distribution(*chain)
    assert_allclose(log_z, wanted_z, rtol=0, atol=ATOL)
    assert_allclose(marginal, wanted_marginal, rtol=0, atol=ATOL)
    assert_allclose(counts, wanted_counts, rtol=0, atol=ATOL)


@light
@given(chains(max_T=3))
def test_expected_steps_are_weighted(chain):
    assert_allclose(forward_backward(*chain, weight=7.0)[2], 7.0 * forward_backward(*chain)[2], rtol=0, atol=ATOL)


def test_a_chain_that_allows_nothing():
    unary, step, kind = np.zeros((3, 2)), np.full((1, 2, 2), -np.inf), np.zeros(3, np.int16)
    assert decode(unary, step, kind)[0] == -np.inf
    log_z, marginal, counts = forward_backward(unary, step, kind)
    assert log_z == -np.inf
    assert np.isnan(marginal).all()
    assert_array_equal(counts, 0.0)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e5])
def test_a_long_chain_with_huge_scores(scale):
    # without steps the tokens are independent, which gives the answer in closed form
    rng = np.random.default_rng(3)
    unary = scale * rng.normal(size=(2000, 3))
    step, kind = np.zeros((2, 3, 3)), rng.integers(0, 2, 2000).astype(np.int16)
    log_z, marginal, counts = forward_backward(unary, step, kind)
    assert_allclose(log_z, logsumexp(unary, axis=1).sum(), rtol=1e-12)
    assert_allclose(marginal, softmax(unary, axis=1), rtol=0, atol=1e-5)
    p = np.exp(log_softmax(unary, axis=1))
    for k in (0, 1):
        pairs = sum(np.outer(p[t - 1], p[t]) for t in range(1, 2000) if kind[t] == k)
        assert_allclose(counts[k], pairs, rtol=0, atol=1e-3)


def test_a_long_chain_where_the_steps_are_huge():
    # staying earns 1e5 a step: log Z is that of the Y constant labellings
    unary, kind = np.zeros((2000, 3)), np.zeros(2000, np.int16)
    step = np.where(np.eye(3) == 1, 1e5, 0.0)[None]
    log_z, marginal, counts = forward_backward(unary, step, kind)
    assert_allclose(log_z, 1999e5 + np.log(3), rtol=1e-14)
    assert_allclose(marginal, np.full((2000, 3), 1 / 3), rtol=0, atol=1e-6)
    assert_allclose(counts[0], np.eye(3) * 1999 / 3, rtol=0, atol=1e-3)


@light
@given(chains(), st.floats(-5, 5))
def test_a_bonus_for_every_label_of_a_token_moves_scores_and_nothing_else(chain, bonus):
    unary, step, kind = chain
    moved = unary.copy()
    moved[0] += bonus
    assert_allclose(decode(moved, step, kind)[0], decode(*chain)[0] + bonus, rtol=0, atol=ATOL)
    before, after = forward_backward(*chain), forward_backward(moved, step, kind)
    assert_allclose(after[0], before[0] + bonus, rtol=0, atol=ATOL)
    assert_allclose(after[1], before[1], rtol=0, atol=ATOL)


# ---- where probabilities are too small to be told from nothing

STEEP = st.sampled_from([0.0, 0.0, 1.5, -75.0, -150.0, -225.0, -375.0, -750.0, -3000.0, -np.inf])


@settings(deadline=None, max_examples=200)
@given(st.one_of(chains(STEEP), chains(STEEP, max_Y=2)))
def test_forward_backward_where_labels_differ_by_hundreds_of_nats(chain):
    for found, wanted in zip(forward_backward(*chain), brute.distribution(*chain), strict=True):
        assert_allclose(found, wanted, rtol=0, atol=1e-8)


def test_a_path_that_is_too_small_at_first_and_wins_in_the_end():
    """The label it has at position 1 is lost there, going forwards and going backwards."""
    never = -np.inf
    unary = np.array([[0, never], [0, -750.0], [0, 0], [0, 0], [0, 0]])
    step = np.array([[[-225, never], [never, 0]], [[-225, 0], [never, never]]])
    kind = np.array([0, 1, 0, 0, 0], np.int16)
    log_z, marginal, _ = forward_backward(unary, step, kind)
    assert_allclose(log_z, -750.0, rtol=0, atol=ATOL)
    assert_allclose(marginal[1:, 1], 1.0, rtol=0, atol=ATOL)


@light
@given(chains())
def test_factors_are_the_exponentials_of_steps(chain):
    step = chain[1]
    found = factors_of(step)
    assert np.isfinite(found.top).all()
    assert_allclose(found.factor * np.exp(found.top)[:, None, None], np.exp(step), rtol=1e-12, atol=0)
    assert_array_equal(found.back, found.factor.transpose(0, 2, 1))


@pytest.mark.parametrize("scale", [10.0, 300.0, 1e4, 1e7])
def test_a_long_chain_of_huge_scores_and_steps(scale):
    rng = np.random.default_rng(5)
    unary, step = scale * rng.normal(size=(2000, 3)), scale * rng.normal(size=(2, 3, 3))
    kind = rng.integers(0, 2, 2000).astype(np.int16)
    best = decode(unary, step, kind)[0]
    log_z, marginal, counts = forward_backward(unary, step, kind)
    assert best <= log_z <= best + 2000 * np.log(3)
    rounding = 1e-9 + 1e-13 * abs(best)  # of sums as large as log Z
    assert_allclose(marginal.sum(axis=1), 1.0, rtol=0, atol=rounding)
    assert_allclose(counts.sum(), 1999, rtol=0, atol=2000 * rounding)


# many sequences --------------------------------------------------------------------------------------------


@light
@given(models())
def test_decode_every_sequence(model):
    batch, weights, chain_of = model
    path, score = decode_all(batch, weights, n_jobs=2)
    for i, (chain, labels) in enumerate(zip(chain_of, batch.split(path), strict=True)):
        assert_allclose(score[i], brute.best_score(*chain), rtol=0, atol=ATOL)
        assert_allclose(brute.score(*chain, labels), score[i], rtol=0, atol=ATOL)


@light
@given(models(), st.data())
def test_decode_keeps_known_labels(model, data):
    batch, weights, chain_of = model
    codes = st.integers(UNKNOWN, weights.n_labels - 1)
    known = data.draw(arrays(np.int16, batch.n_tokens, elements=codes, fill=st.nothing()))
    path, score = decode_all(batch, weights, known=known)
    assert_array_equal(path[known != UNKNOWN], known[known != UNKNOWN])
    for i, ((unary, step, kind), fixed) in enumerate(zip(chain_of, batch.split(known), strict=True)):
        allowed = (fixed[:, None] == UNKNOWN) | (fixed[:, None] == np.arange(weights.n_labels))
        best = brute.best_score(np.where(allowed, unary, -np.inf), step, kind)
        assert_allclose(score[i], best, rtol=0, atol=ATOL)


@light
@given(models(), st.integers(1, 5))
def test_decode_the_k_best_of_every_sequence(model, k):
    batch, weights, chain_of = model
    paths, scores = decode_k(batch, weights, k)
    for i, chain in enumerate(chain_of):
        assert_allclose(scores[i], brute.sorted_scores(*chain, k), rtol=0, atol=ATOL)
        for s, path in zip(scores[i], paths[:, batch.offsets[i] : batch.offsets[i + 1]], strict=True):
            if s > -np.inf:
                assert_allclose(brute.score(*chain, path), s, rtol=0, atol=ATOL)


def test_decode_says_which_sequence_has_no_labelling():
    batch = random_batch(np.random.default_rng(0), [1, 3, 2], 2)
    weights = ChainWeights(np.zeros((2, 2)), np.full((1, 2, 2), -np.inf))
    with pytest.raises(DataError, match="sequence 1: no labelling is allowed"):
        decode_all(batch, weights)
