"""Shards, and Ray's actors that have them."""

import importlib.util
import os
import pickle
import signal
import socket
import socketserver
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler
from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semistruct import AnnealedSSVM, Rules
from semistruct.chain.inference import ChainWeights, decode
from semistruct.cli import main
from semistruct.cli.ending import watched_output
from semistruct.datasets import make_citations
from semistruct.engines.shards import Shard, shard_of
from semistruct.engines.sharing import SharedLearner, Sharing, rematch, shares, worthwhile
from semistruct.errors import DataError, EngineError, ParameterError
from semistruct.fitting.annealing import MatchByScore
from semistruct.fitting.learners import MarginLearner
from semistruct.fitting.state import State
from semistruct.fitting.task import Task
from semistruct.solvers.sdm import Problem, solve

pytestmark = pytest.mark.usefixtures("crossed_if_small")

RULES = Rules.from_text(
    "rules:\n- starts_with: [author, editor]\n- at_most_once: all\n- {words: [pages, pp], are: pages}"
)
DATA = make_citations(40, seed=7)
FEW, POOL = DATA.examples[:6], DATA.tokens[6:]
X, Y = [e.tokens for e in FEW], [e.labels for e in FEW]


class Here:
    """Members in this process, which know only what a process elsewhere would."""

    def __init__(self, task, own, rules, match):
        self.shards = [Shard(*pickle.loads(pickle.dumps((shard_of(task, part), rules, match)))) for part in own]

    def __len__(self):
        return len(self.shards)

    def ask(self, method, *args, each=()):
        calls = [(*args, *(each[k] if each else ())) for k in range(len(self))]
        copies = [pickle.loads(pickle.dumps(call)) for call in calls]
        return [getattr(shard, method)(*call) for shard, call in zip(self.shards, copies, strict=True)]

    def settle(self):
        return self.ask("duals")


def task_of(n_pool=12, rules=RULES):
    labels = tuple(sorted({label for e in DATA.examples for label in e.labels}))
    given = {"features": "paper", "rules": None, "sample_weight": None, "labels": labels}
    return Task.of(X, Y, POOL[:n_pool], **given).under(rules)


def sharing_of(task, n, match=None):
    own = shares(task, n)
    rules = Rules(task.tables.rules, task.labels)
    match = match or MatchByScore("spans", 1)
    return Sharing(task, own, Here(task, own, rules, match), match)


def problem_of(task, weight, seed=0):
    """Labels that are partly wrong, so that there is something to learn."""
    target = np.concatenate([task.known[: task.first_open], np.random.default_rng(seed).integers(
        0, len(task.labels), task.batch.n_tokens - task.first_open).astype(np.int16)])  # fmt: skip
    return Problem(task.batch, len(task.labels), target, weight, np.ones(task.batch.n_tokens))


def primal(problem, chain):
    """The objective, from its definition."""
    bonus = np.ones((problem.batch.n_tokens, problem.n_labels))
    bonus[np.arange(problem.batch.n_tokens), problem.target] = 0.0
    worst = decode(problem.batch, chain, bonus=bonus, n_jobs=1)[1]
    own = decode(problem.batch, chain, known=problem.target, n_jobs=1)[1]
    return 0.5 * chain.norm2 + float(problem.weight @ (worst - own))


@pytest.mark.parametrize(
    ("n_open", "cores", "n"), [(1, 8, 1), (4999, 8, 1), (5000, 8, 2), (5000, 1, 1), (10**6, 100, 100)]
)
def test_small_pools_have_few_shards(n_open, cores, n):
    assert worthwhile(n_open, cores) == n


def test_shards_have_every_sequence_once_and_open_ones_each():
    task = task_of(5)
    for n in (1, 2, 3, 50):
        own = shares(task, n)
        assert len(own) == min(n, 5)
        assert sorted(np.concatenate(own)) == list(range(len(task.batch)))
        assert all((part >= task.n_fixed).any() for part in own)


@settings(max_examples=8, deadline=None)
@given(n=st.integers(2, 4), C=st.sampled_from([0.02, 0.3]), seed=st.integers(0, 5))
def test_shards_together_reach_the_optimum_of_one_process(n, C, seed):
    task = task_of()
    problem = problem_of(task, C * np.linspace(0.5, 1.5, len(task.batch)), seed)
    alone = MarginLearner(problem.n_labels, 0.005, 1000, 0, 1).solve(problem)
    sharing = sharing_of(task, n)
    together = SharedLearner(problem.n_labels, 0.005, 1000, 0, 1, sharing=sharing).solve(problem)
    assert together.stop == "converged"
    value = primal(problem, together.state.chain)
    assert value == pytest.approx(together.objective, rel=1e-9)
    assert value - together.gap <= alone.objective + 1e-9  # the dual is below every primal value
    assert alone.objective - alone.gap <= value + 1e-9
    assert value == pytest.approx(alone.objective, rel=0.01)


@pytest.mark.parametrize("n", [1, 2])
def test_what_is_exchanged_is_told_once(n):
    task = task_of()
    problem = problem_of(task, np.full(len(task.batch), 0.1))
    sharing, asked = sharing_of(task, n), Counter()
    ask = sharing.members.ask
    sharing.members.ask = lambda method, *args, **more: (asked.update([method]), ask(method, *args, **more))[1]
    learner = SharedLearner(problem.n_labels, 0.05, 1000, 0, 1, sharing=sharing)
    chain = learner.solve(problem).state.chain
    told, weights = learner.traffic(), chain.tokens.nbytes + chain.trans.nbytes
    assert told["exchanges"] == asked["improve"] + asked["solve"] > 0
    ways = n * (2 * asked["improve"] + asked["look"] + asked["hinges"]) if n > 1 else 1
    assert told["exchanged"] == weights * ways
    assert learner.traffic() == {"exchanges": 0, "exchanged": 0}


def test_learning_goes_on_from_where_it_ended():
    task = task_of()
    problem = problem_of(task, np.full(len(task.batch), 0.1))
    sharing = sharing_of(task, 2)
    learner = SharedLearner(problem.n_labels, 0.01, 1000, 0, 1, sharing=sharing)
    first = learner.solve(problem)
    again = learner.solve(problem)
    assert len(again.history) == 1
    assert again.objective == pytest.approx(first.objective, rel=1e-6)
    other = sharing_of(task, 2)
    fresh = SharedLearner(problem.n_labels, 0.01, 1000, 0, 1, sharing=other)
    fresh.resume(first.state.arrays())
    assert len(fresh.solve(problem).history) == 1


@pytest.mark.parametrize("n", [1, 3])
def test_dual_variables_of_other_shards_are_not_used(n):
    task = task_of()
    problem = problem_of(task, np.full(len(task.batch), 0.1))
    arrays = (
        SharedLearner(problem.n_labels, 0.01, 1000, 0, 1, sharing=sharing_of(task, 2)).solve(problem).state.arrays()
    )
    learner = SharedLearner(problem.n_labels, 0.01, 1000, 0, 1, sharing=sharing_of(task, n))
    assert learner.resume(arrays) is None
    assert not any(learner.sharing.members.ask("has_duals"))


def test_matching_by_shards_is_that_of_one_process():
    task = task_of(20)
    chain = MarginLearner(len(task.labels), 0.05, 1000, 0, 1).learn(*task.labelled[:2], task.labelled[2]).chain
    alone, scale = MatchByScore("spans", 1), np.linspace(0.1, 0.5, len(task.opened))
    state = State(chain)
    for _ in range(2):
        expected = alone(task, state, scale)
        found = rematch(sharing_of(task, 3))(task, state, scale)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_allclose(found.slack, expected.slack)
        np.testing.assert_allclose(found.instance, expected.instance)
        assert found.objective == pytest.approx(expected.objective)
        assert found.switches == expected.switches
        state = State(chain, labels=task.decoded(chain, 1))


def test_labels_found_and_priced_by_shards_are_those_of_one_process():
    task = task_of(20)
    chain = MarginLearner(len(task.labels), 0.05, 1000, 0, 1).learn(*task.labelled[:2], task.labelled[2]).chain
    alone, scale, which = MatchByScore("spans", 1), np.linspace(0.1, 0.5, 20), np.array([0, 3, 4, 11, 19])
    together = sharing_of(task, 3)
    found = together.search(task, chain, scale, which)
    np.testing.assert_array_equal(found, alone.search(task, chain, scale, which))
    assert sorted(np.flatnonzero(np.minimum.reduceat(found, task.opened.offsets[:-1]) >= 0)) == which.tolist()
    labels = task.decoded(chain, 1)
    one, other = (matcher.price(task, chain, scale, labels) for matcher in (alone, together))
    np.testing.assert_allclose(one.slack, other.slack)
    np.testing.assert_allclose(one.instance, other.instance)
    assert one.objective == pytest.approx(other.objective)


def test_several_problems_have_dual_variables_each():
    task = task_of()
    weight = np.full(len(task.batch), 0.1)
    problems = [problem_of(task, np.where(np.arange(len(weight)) % 2 == k, weight, 0.0)) for k in range(2)]
    n = len(task.labels)
    near = ChainWeights(np.zeros((task.batch.n_features, n)), np.zeros((task.batch.n_kinds, n, n)))
    limits = len(task.labels), 0.01, 1000, 0, 1
    for learner in (MarginLearner(*limits), *(SharedLearner(*limits, sharing=sharing_of(task, n)) for n in (1, 3))):
        first, arrays = learner.solve_each(problems, {}, near)
        for problem, solution in zip(problems, first, strict=True):
            assert primal(problem, solution.state.chain) <= 1.02 * solve(problem, tol=0.001).objective
        again, _ = learner.solve_each(problems, arrays, near)
        assert [len(one.history) for one in again] == [1, 1]
    fresh = SharedLearner(*limits, sharing=sharing_of(task, 3))
    assert [len(one.history) for one in fresh.solve_each(problems, arrays, near)[0]] == [1, 1]


def test_rules_about_the_corpus_are_matched_in_one_place():
    corpus = Rules.from_text("rules:\n- proportion: {author: 0.3}")
    task, alone = task_of(rules=corpus), MatchByScore("spans", 1)
    assert rematch(sharing_of(task, 2, alone)) is alone


# ---- Ray

# Ray itself is imported by the engine, which first says where it may listen
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (pip install 'semistruct[ray]')"
)
needs_client = pytest.mark.skipif(
    importlib.util.find_spec("grpc") is None,
    reason="the client of Ray is not installed (pip install 'semistruct[ray]')",
)


@pytest.fixture(scope="module")
def cluster():
    from semistruct.engines.cluster import connected

    with connected("ray") as running:
        yield running


def fitted(**params):
    given = {"rules": RULES, "schedule": [1.0, 10.0], "rounds": 2, "select": "last", "features": "paper", "n_jobs": 1}
    method = AnnealedSSVM(**given, **params)
    return method.fit(X, Y, pool=POOL)


@pytest.fixture(scope="module")
def alone():
    return fitted()


@needs_ray
def test_one_actor_gives_what_no_engine_gives(cluster, alone):
    found = fitted(engine="ray", actors=1)
    np.testing.assert_array_equal(found.model_.weights.tokens, alone.model_.weights.tokens)
    assert found.labels_ == alone.labels_
    assert all(row["exchanged"] > 0 for row in found.history_ if row["step"] == "learn")


@needs_ray
def test_ray_on_this_machine_listens_on_the_loopback_only(cluster):
    assert cluster.util.get_node_ip_address() in ("127.0.0.1", "::1")


@pytest.fixture(scope="module")
def together(cluster):
    return fitted(engine="ray", actors=2)


@needs_ray
def test_two_actors_learn_the_same_up_to_the_tolerance(together, alone):
    found, tol = together, alone.tol
    for here, there in zip(alone.history_[:2], found.history_[:2], strict=True):
        assert there["objective"] == pytest.approx(here["objective"], rel=2 * tol)
    labels = [label for row in found.labels_ for label in row]
    same = np.mean([a == b for a, b in zip(labels, [label for row in alone.labels_ for label in row], strict=True)])
    assert same > 0.95


@needs_ray
def test_an_actor_that_is_lost_comes_back(together, monkeypatch):
    from semistruct.engines.cluster import Actors

    killed = []
    ask = Actors.ask

    def unlucky(self, method, *args, each=()):
        if method == "improve" and len(killed) < 2:
            killed.append(ask(self, "process_id")[len(killed)])
            os.kill(killed[-1], signal.SIGKILL)
        return ask(self, method, *args, each=each)

    monkeypatch.setattr(Actors, "ask", unlucky)
    with pytest.warns(UserWarning, match="actor . died; it is started again"):
        found = fitted(engine="ray", actors=2)
    assert len(killed) == 2
    np.testing.assert_array_equal(found.model_.weights.tokens, together.model_.weights.tokens)


@needs_ray
def test_a_cluster_answers_in_order(cluster):
    from semistruct.engines.cluster import in_order_on

    letters = "abcdefghijklm"
    assert list(in_order_on("ray", str.upper, enumerate(letters))) == list(enumerate(letters.upper()))
    with pytest.raises(DataError, match="rules"):
        list(in_order_on("ray", Rules.from_text, enumerate(["rules: []", "rules: 5"])))


@needs_ray
def test_a_cluster_that_fails_is_told_in_one_sentence(cluster):
    from semistruct.engines.cluster import connected

    with pytest.raises(EngineError, match="ray: the Ray cluster failed: no room"), connected("ray"):
        raise cluster.exceptions.OutOfDiskError("no room")


@needs_ray
def test_more_actors_than_cores_are_refused(cluster):
    with pytest.raises(EngineError, match="actors=1000: there are only"):
        fitted(engine="ray", actors=1000)


@needs_ray
def test_an_address_that_does_not_answer_is_told_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = f"""
from semistruct.engines.cluster import connected
with connected("ray://127.0.0.1:{port}"): pass
"""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"ray://127.0.0.1:{port}: there is no Ray cluster at this address: connection refused" in done.stderr
    assert time.monotonic() - began < 60


@needs_client
def test_another_kind_of_server_is_told_at_once():
    from semistruct.engines.cluster import _check_answers

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        Thread(target=server.serve_forever).start()
        try:
            with pytest.raises(EngineError, match="what answers at this address is not a Ray cluster"):
                _check_answers(f"ray://127.0.0.1:{server.server_address[1]}")
        finally:
            server.shutdown()


@pytest.fixture
def guarded():
    """The address of what answers like a cluster that asks for the token `right`."""
    import grpc

    class Guarded(grpc.GenericRpcHandler):
        def service(self, call):
            told = dict(call.invocation_metadata).get("authorization")
            assert call.method.endswith("RayletDriver/ClusterInfo")

            def answer(message, context):
                if told != "Bearer right":
                    context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
                return b""

            return grpc.unary_unary_rpc_method_handler(answer)

    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((Guarded(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"ray://127.0.0.1:{port}"
    server.stop(None)


@needs_client
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"),
        ({"RAY_AUTH_TOKEN": "right"}, "asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "wrong"}, "does not accept the token in RAY_AUTH_TOKEN"),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "right"}, None),
        ({"RAY_AUTH_MODE": "token"}, None),  # Ray looks for the token in files
    ],
)
def test_a_wrong_token_is_told_at_once(guarded, given, problem, monkeypatch):
    from semistruct.engines.cluster import _check_answers

    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with nullcontext() if problem is None else pytest.raises(EngineError, match=problem):
        _check_answers(guarded)


@pytest.mark.parametrize("command", ["train {} -o x.model", "predict {} -o x.tsv", "evaluate {} {}"])
def test_an_engine_is_looked_for_before_anything_is_read(command, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)  # not installed
    with pytest.raises(SystemExit, match="2"):
        main([*command.format("missing", "missing").split(), "--engine", "ray"])
    assert capsys.readouterr().err == "semistruct: Ray is not installed: pip install 'semistruct[ray]'\n"


def test_what_ray_prints_does_not_get_into_the_output(capsys):
    with watched_output():
        print("before")
        thread = Thread(target=lambda: print("(raylet) a worker died"), name="ray_listen_error_messages")
        thread.start()
        thread.join()
        print("after")
    assert capsys.readouterr().out == "before\nafter\n"


@pytest.mark.parametrize("engine", ["spark", "ray:", "ray://", "ray://here", "ray://h:0", "ray://h:65536", 5])
def test_what_is_no_engine_is_refused(engine):
    with pytest.raises(ParameterError, match="engine must be None or 'ray' or the address"):
        AnnealedSSVM(engine=engine).fit(X, Y, pool=POOL)


def test_ray_is_not_imported_unless_it_is_asked_for():
    code = "import sys, semistruct.cli.app, semistruct.methods; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
