"""The loop over stages and rounds, with rounds whose outcome is known beforehand."""

from copy import deepcopy

import pytest

from semistruct.learning.rounds import Run, State, walk


def followed(settles_at=(), *, rounds=3, settles_all=False, most_rounds=9, state=None, stop_after=None):
    """(what was done, as (stage, round); where the path had points; the states that were saved)."""
    done, saved = [], []
    run = Run(state or State(None), "C_u", [0.1, 1.0], save=lambda state: saved.append(deepcopy(state)))
    run.most_rounds = most_rounds

    def one_round(C_u):
        assert C_u == run.stages[run.state.stage]
        done.append((run.state.stage, run.state.round))
        run.note("learn", 1.0)
        return done[-1] in settles_at

    points = []
    for now in walk(run, one_round, rounds, settles_all=settles_all):
        points.append(now.stage)
        if len(points) == stop_after:
            break
    return done, points, saved


ALL = [(stage, turn) for stage in range(2) for turn in range(3)]


@pytest.mark.parametrize(
    ("given", "done", "points"),
    [
        ({}, ALL, [0, 1]),
        ({"most_rounds": 1}, [(0, 0), (1, 0)], [0, 1]),
        ({"settles_at": [(0, 1)]}, [(0, 0), (0, 1), *ALL[3:]], [0, 1]),
        ({"settles_at": [(0, 1)], "settles_all": True}, [(0, 0), (0, 1)], [0]),
        ({"settles_at": [(1, 0)], "settles_all": True}, [*ALL[:3], (1, 0)], [0, 1]),
    ],
    ids=["all", "one round", "a stage settles", "all settles", "the last stage settles"],
)
def test_which_rounds_are_done(given, done, points):
    found = followed(**given)
    assert found[:2] == (done, points)
    assert [(state.stage, state.round - 1) for state in found[2]] == done
    assert [len(state.history) for state in found[2]] == list(range(1, len(done) + 1))
    assert found[2][-1].history[-1]["rounds"] == min(3, given.get("most_rounds", 9))


@pytest.mark.parametrize("after", range(6))
@pytest.mark.parametrize("settles_all", [False, True])
def test_a_run_goes_on_after_any_round(after, settles_all):
    given = {"settles_at": [(0, 1), (1, 1)], "settles_all": settles_all}
    done, points, saved = followed(**given)
    if after >= len(saved):
        return
    again, rest, _ = followed(**given, state=deepcopy(saved[after]))
    assert [*done[: after + 1], *again] == done
    assert rest == points[len(points) - len(rest) :]
    assert rest[0] == saved[after].stage
