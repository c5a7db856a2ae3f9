"""Ray: actors that have shards, on this machine or on many.

`connected("ray")` starts Ray here, `connected("ray://host:port")` uses a cluster.  An actor that is lost is started
again: it gets its shard, the dual variables of the last complete step, and all that was asked of it since then.
"""

from __future__ import annotations

import os
import socket
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from semistruct.engines.shards import AnyMatcher, Shard, shard_of
from semistruct.engines.sharing import SharedLearner, Sharing, rematch, shares, worthwhile
from semistruct.errors import EngineError, ParameterError, quoted
from semistruct.fitting.learners import MarginLearner
from semistruct.fitting.task import Task
from semistruct.params import an_engine
from semistruct.rules import Rules

PATIENCE = 5.0  # seconds until a cluster must have answered
AHEAD = 2  # parts under way for each core
CHANGING = frozenset({"begin", "solve", "improve", "restore"})  # what the successor of a lost actor has to do again
STARTS = 3  # of an actor, until its loss is taken for a fault of its own
INSTALL = "Ray is not installed: pip install 'semistruct[ray]'"
QUIET: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
STAYS_HERE: dict[str, Any] = {"include_dashboard": False, **QUIET}
ON_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # 0: Ray started here listens on the loopback only, on Linux too
LOOPBACK = ("127.0.0.1", "::1")
CLUSTER_INFO, PING = "/ray.rpc.RayletDriver/ClusterInfo", b"\x08\x06"  # a message of type 6


Kept = TypeVar("Kept")
Part = TypeVar("Part")
Answer = TypeVar("Answer")


def loaded(engine: str) -> Any:
    """The package ray."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if engine == "ray":
        os.environ.setdefault(ON_LOOPBACK, "0")
        os.environ.setdefault("RAY_worker_niceness", "0")  # who waits for actors has nothing more urgent to do
    try:
        import ray
    except ImportError:
        raise EngineError(INSTALL) from None
    return ray


def check_engine(engine: str) -> None:
    """Refuse an engine that cannot be used, without starting anything."""
    if not an_engine.test(engine):
        raise ParameterError(f"the engine {quoted(engine)} must be {an_engine.words}")
    ray = loaded(engine)
    if engine != "ray" and not ray.is_initialized():
        _check_answers(engine)


@contextmanager
def connected(engine: str) -> Iterator[Any]:
    """Ray, ready to be used; what was started here is stopped at the end."""
    check_engine(engine)
    ray = loaded(engine)
    ours = not ray.is_initialized()
    if ours:
        address = {} if engine == "ray" else {"address": engine}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ray.init(**address, **(STAYS_HERE if engine == "ray" else QUIET))
        except Exception as err:
            problem = "cannot start Ray" if engine == "ray" else "cannot connect to the Ray cluster"
            raise EngineError(f"{engine}: {problem}: {_first_line(err)}") from None
    try:
        if ours and engine == "ray" and ray.util.get_node_ip_address() not in LOOPBACK:
            problem = f"Ray on this machine can be reached from the network: set {ON_LOOPBACK}=0 before importing ray"
            warnings.warn(problem, stacklevel=3)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "More than 10MB of messages")  # of Ray, and nothing a user could change
            yield ray
    except ray.exceptions.RayTaskError:
        raise  # an error in the data or the code, not one of Ray
    except BrokenPipeError:
        raise  # of the output
    except (ray.exceptions.RayError, ConnectionError) as err:
        raise EngineError(f"{engine}: the Ray cluster failed: {_first_line(err)}") from None
    finally:
        if ours:
            ray.shutdown()


def _check_answers(address: str) -> None:
    """Refuse an address where no cluster answers; Ray itself would take half a minute to tell, and not say why."""
    where = address.removeprefix("ray://")
    host, _, port = where.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except (OSError, UnicodeError) as err:
        reason = (getattr(err, "strerror", None) or str(err)).lower()
        raise EngineError(f"{address}: there is no Ray cluster at this address: {reason}") from None
    try:
        import grpc
    except ImportError:
        raise EngineError(INSTALL.replace("Ray", "the client of Ray", 1)) from None
    with grpc.insecure_channel(where, options=[("grpc.enable_http_proxy", 0)]) as channel:
        try:
            channel.unary_unary(CLUSTER_INFO)(PING, timeout=PATIENCE, metadata=_token())
        except grpc.RpcError as err:
            code, codes = err.code(), grpc.StatusCode
            if os.environ.get("RAY_USE_TLS", "0") != "0":
                return  # it answers, but not to this
            if code in (codes.UNAVAILABLE, codes.DEADLINE_EXCEEDED):
                problem = "what answers at this address is not a Ray cluster"
            elif code is codes.UNIMPLEMENTED:
                problem = "this is not the port for clients of the Ray cluster, which is 10001 unless set otherwise"
            elif code is codes.UNAUTHENTICATED and _token():
                problem = "the Ray cluster does not accept the token in RAY_AUTH_TOKEN"
            elif code is codes.UNAUTHENTICATED and not _has_token_mode():
                problem = "the Ray cluster asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
            else:
                return  # Ray itself knows better
            raise EngineError(f"{address}: {problem}") from None


def _has_token_mode() -> bool:
    return os.environ.get("RAY_AUTH_MODE", "").lower() == "token"


def _token() -> tuple[tuple[str, str], ...]:
    """The token to show, as far as it is in the environment; Ray looks for it elsewhere, too."""
    token = os.environ.get("RAY_AUTH_TOKEN", "") if _has_token_mode() else ""
    return (("authorization", f"Bearer {token}"),) if token else ()


class Actors:
    """The members that are Ray's actors, each with one core."""

    def __init__(self, ray: Any, task: Task, own: Sequence[np.ndarray], rules: Rules, match: AnyMatcher) -> None:
        self._ray, self._kind = ray, ray.remote(num_cpus=1, max_restarts=0)(Shard)
        self._born = [ray.put((shard_of(task, part), rules, match)) for part in own]
        self._actors = [self._start(k) for k in range(len(own))]
        self._duals: list[dict[str, np.ndarray]] = [{} for _ in own]
        self._since: list[list[tuple[str, tuple[Any, ...]]]] = [[] for _ in own]

    def __len__(self) -> int:
        return len(self._actors)

    def ask(self, method: str, *args: Any, each: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        shared = tuple(self._ray.put(arg) for arg in args)
        calls = [(method, (*shared, *(each[k] if each else ()))) for k in range(len(self))]
        asked = [self._send(k, call) for k, call in enumerate(calls)]
        found = [self._answer(k, calls[k], ref) for k, ref in enumerate(asked)]
        for k, call in enumerate(calls if method in CHANGING else ()):
            self._since[k].append(call)
        return found

    def settle(self) -> list[dict[str, np.ndarray]]:
        self._duals = [dict(arrays) for arrays in self.ask("duals")]
        self._since = [[] for _ in self._actors]
        return self._duals

    def _start(self, k: int) -> Any:
        """An actor of which nothing more is known than its shard."""
        task, rules, match = self._ray.get(self._born[k])
        return self._kind.remote(task, rules, match)

    def _send(self, k: int, call: tuple[str, tuple[Any, ...]]) -> Any:
        name, args = call
        return getattr(self._actors[k], name).remote(*args)

    def _answer(self, k: int, call: tuple[str, tuple[Any, ...]], ref: Any) -> Any:
        """The answer of actor k; if it is lost, that of its successor."""
        errors = self._ray.exceptions
        for _ in range(STARTS):
            try:
                return self._ray.get(ref)
            except errors.OutOfMemoryError:
                raise EngineError("a Ray actor ran out of memory; use more machines or a smaller pool") from None
            except errors.ActorDiedError:
                warnings.warn(f"Ray actor {k} died; it is started again and repeats its last step", stacklevel=5)
                self._actors[k] = self._start(k)
                if self._duals[k]:
                    self._send(k, ("restore", (self._duals[k],)))
                for earlier in self._since[k]:
                    self._send(k, earlier)
                ref = self._send(k, call)
            except errors.RayTaskError as err:
                raise err.as_instanceof_cause() from None
        raise EngineError(f"Ray actor {k} died {STARTS} times in the same step; the logs of Ray may say why")

    def process_ids(self) -> list[int]:
        """The processes of the actors, on whichever machines."""
        return self.ask("process_id")


@contextmanager
def shared(
    engine: str, actors: int | None, task: Task, learner: MarginLearner, match: AnyMatcher
) -> Iterator[tuple[SharedLearner, Sharing | AnyMatcher]]:
    """How to learn and to match a task with actors, by default as many as are worthwhile."""
    with connected(engine) as ray:
        cores = int(ray.cluster_resources().get("CPU", 1))
        if actors is not None and actors > cores:
            raise EngineError(f"actors={actors}: there are only {cores} cores, and each actor needs one")
        own = shares(task, actors or worthwhile(task.n_open, cores))
        rules = Rules(task.tables.rules, task.labels)
        sharing = Sharing(task, own, Actors(ray, task, own, rules, replace(match, n_jobs=1)), match)
        yield SharedLearner(**vars(learner), sharing=sharing), rematch(sharing)


def in_order_on(
    engine: str, function: Callable[[Part], Answer], parts: Iterable[tuple[Kept, Part]]
) -> Iterator[tuple[Kept, Answer]]:
    """What is kept of each part, and the answer of `function` to the rest of it, found by the cluster, in order.

    Ray repeats what a lost process had to do.
    """
    under_way: deque[tuple[Kept, Any]] = deque()
    with connected(engine) as ray:
        answer, given = ray.remote(num_cpus=1)(_called), ray.put(function)
        room = AHEAD * int(ray.cluster_resources().get("CPU", 1))

        def first() -> tuple[Kept, Answer]:
            kept, found = under_way.popleft()
            try:
                return kept, ray.get(found)
            except ray.exceptions.RayTaskError as err:
                raise err.as_instanceof_cause() from None

        for kept, part in parts:
            under_way.append((kept, answer.remote(given, part)))
            if len(under_way) > room:
                yield first()
        while under_way:
            yield first()


def _called(function: Callable[[Part], Answer], part: Part) -> Answer:
    return function(part)


def _first_line(err: Exception) -> str:
    return (str(err).strip() or type(err).__name__).splitlines()[0]
