"""The base of the supervised methods, each of which is just a learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from semistruct.chain.inference import ChainWeights
from semistruct.corpus import complete
from semistruct.errors import DataError
from semistruct.features import Encoder, FeatureSet
from semistruct.fitting.calibrating import PARTS, Asked, Uncalibrated, learned_without, parts_of
from semistruct.fitting.choice import choose_C
from semistruct.fitting.data import (
    DevData,
    Pairs,
    all_labels,
    check_data,
    checked_dev,
    checked_weights,
    is_known,
    label_codes,
    origin,
    refuse_rules_about_words,
)
from semistruct.fitting.labeller import SequenceLabeller
from semistruct.fitting.learners import Learner
from semistruct.fitting.measure import Measure
from semistruct.fitting.ranked import FEW_PARTS, can_rank, is_ruled, learn_ranking
from semistruct.fitting.trust import Trust
from semistruct.model import Model
from semistruct.params import check_params, seed_from
from semistruct.progress import Watch
from semistruct.rules import Rules


@dataclass(eq=False, repr=False, kw_only=True)
class SupervisedMethod(SequenceLabeller):
    """Base of the supervised methods: a method says what its learner is (`learner`).

    Unlabelled sequences teach it nothing.

    Parameters
    ----------
    features : a feature set ("default", "paper") or a list of templates; unused if X already holds features
    rules : Rules; they do not change what is learned, but `predict` obeys them, hard
        ones always and others as far as `semistruct.fitting.trust` makes them weigh
    metric : what C and the weights of rules are chosen by, on dev data or by cross-validation: "token" or "sequence"
        accuracy, or F1 of a "span"; token accuracy decides among equals
    n_jobs : threads, None for all; does not change the result

    Attributes
    ----------
    model_ : labels, features and weights
    C_ : the C that was used
    search_ : with C="auto", the token accuracy, and the metric, seen for each C
    history_ : list of dicts, one per record of the learner
    stop_ : why the learner stopped: "converged" or the limit it reached
    """

    features: FeatureSet = "default"
    rules: Rules | None = None
    metric: str = "token"
    n_jobs: int | None = None

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        dev: Pairs | None = None,
        sample_weight: Sequence[float] | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn from sequences X with labels y.

        dev            (X, y) to choose C on
        sample_weight  one factor of C per sequence
        watch          called with every record of the learner as it is made, also during the search for C
        """
        check_params(self)
        X, y = check_data(X, y)
        dev = checked_dev(dev)
        self.data_ = origin(X, y, dev)
        self._note_tokens(X)
        weight = checked_weights(sample_weight, len(X))
        keep = [i for i, labels in enumerate(y) if is_known(labels) and weight[i] > 0]
        if not keep:
            raise DataError("training data: no sequence has a label" + " and a sample_weight > 0" * (not weight.all()))
        weight = weight[keep]
        X, y = [X[i] for i in keep], [y[i] for i in keep]
        labels = all_labels(y, self.rules)
        refuse_rules_about_words(self.rules, X, labels)
        encoder = Encoder.for_data(X, self.features)
        batch = encoder.fit(X)
        known = label_codes(y, batch.lengths.tolist(), labels)
        learner = self.learner(len(labels), watch)
        held_out = DevData.of(dev, encoder, labels)
        seed = seed_from(self.random_state)
        measure = Measure(self.metric, labels)
        choice = choose_C(self.C, learner, measure, (batch, known), held_out, weight, seed, self.n_jobs)
        self.C_, self.search_ = choice.C, choice.rows
        learned = learner.learn(batch, known, self.C_ * weight)
        self.history_, self.stop_ = [record.row() for record in learned.history], learned.stop
        model = Model(labels, encoder, learned.chain).compact()
        trust = Trust.of(self.rules, [(X, y), dev], labels)
        trust.warn()
        model = self._weighed(model, trust, len(y), dev)
        found = partial(iter, choice.without)
        if not choice.without:
            whole = np.array(complete(y), np.int64)
            parts = [whole[part] for part in parts_of(len(whole), seed, PARTS if dev is None else FEW_PARTS)]
            one = len(parts) == 1  # of a large corpus: it speaks for all, so it is learned as well as the model is
            quiet = self.learner(len(labels)) if one else self.brief_learner(len(labels))
            found = partial(learned_without, quiet, batch, known, self.C_ * weight, parts, learned.start)
        without: Callable[[], Iterator[Asked]] = partial(_asked, Model(labels, encoder, learned.chain), (X, y), found)
        if self.ranks and can_rank(X, y, self.rules):
            asked = list(without())
            ranking = learn_ranking(model, asked, is_ruled(self.rules), self.n_jobs)
            model, without = replace(model, ranker=ranking.ranker), partial(ranking.apart, asked)
        self.model_ = model
        self._uncalibrated = Uncalibrated(model, dev, without, self.probabilistic, self.n_jobs)
        return self

    def learner(self, n_labels: int, watch: Watch | None = None) -> Learner:
        raise NotImplementedError

    def brief_learner(self, n_labels: int) -> Learner:
        """For models without a part of the sequences, which start from one that has learned from it."""
        return self.learner(n_labels)


def _asked(
    model: Model, data: Pairs, found: Callable[[], Iterator[tuple[np.ndarray, ChainWeights]]]
) -> Iterator[Asked]:
    """Models like this one, asked about parts; `found` gives each part with the weights learned without it."""
    for part, chain in found():
        yield Asked.of(replace(model, weights=chain), data, part.tolist())
