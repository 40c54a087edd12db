import importlib
import time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.tasks import (
    TASKS,
    garnet,
    grid,
    make,
)


@pytest.mark.parametrize("name", TASKS)
def test_every_task_of_the_registry(name, tmp_path):
    task = TASKS[name]
    for variant in ("", *(f":{v}" for v in task.variants if len(v) < 5 or not v.isdigit())):
        mdp = make(name + variant)
        mdp.validate(episodic=bool(mdp.terminal.any()))
    mdp = task.build()
    assert len(task.thresholds) == mdp.num_objectives - 1
    assert eval(task.example, {"lx": importlib.import_module("lexicone")}) is not None
    assert task.description
    assert task.description.count("\n") == 0
    assert "|" not in task.objectives
    if mdp.objective_names is not None:
        assert task.objectives == ", ".join(mdp.objective_names)
    mdp.save(tmp_path / "task.npz")
    np.testing.assert_array_equal(MDP.load(tmp_path / "task.npz").reward, mdp.reward)


def test_make_by_name():
    assert make("fruit-tree:6").num_states == 127
    assert make("maze:extended", objectives="path").objective_names == ("tiles+goal", "time")
    with pytest.raises(ValueError, match=r"^name: there is no task 'mase'; there are maze, fruit"):
        make("mase")
    with pytest.raises(ValueError, match=r"^name: space-traders has no variants"):
        make("space-traders:fast")
    message = r"^name: garnet takes a whole number after the colon, like garnet:100, got 'abc'"
    with pytest.raises(ValueError, match=message):
        make("garnet:abc")
    with pytest.raises(ValueError, match=r"^name: fruit-tree takes a whole number .*got '-1'"):
        make("fruit-tree:-1")
    with pytest.raises(ValueError, match=r"^roads: there is no file '5'"):
        make("road-trip:5")


# Families for tests of scale


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(1, 12))
def test_garnets(seed, states, successors):
    if successors > states:
        with pytest.raises(ValueError, match=r"^num_successors"):
            garnet(states, 2, successors, seed=seed)
        return
    mdp = garnet(states, 2, successors, 2, terminal_states=seed % states, seed=seed)
    alive = mdp.next_state[~mdp.terminal]
    assert (np.diff(np.sort(alive, axis=-1), axis=-1) > 0).all()
    assert mdp.terminal.sum() == seed % states
    np.testing.assert_array_equal(
        garnet(states, 2, successors, 2, terminal_states=seed % states, seed=seed).reward,
        mdp.reward,
    )


@pytest.mark.slow
def test_families_build_a_hundred_thousand_states_quickly():
    begin = time.perf_counter()
    large = [garnet(100_000, 4, 4), grid(320)]
    assert time.perf_counter() - begin < 20
    assert all(mdp.num_states >= 100_000 for mdp in large)
    assert large[1].can_terminate().all()


def test_a_grid_without_hazards_is_a_shortest_path():
    mdp = grid(4, 6, density=0.0, slip=0.0)
    assert mdp.layout is not None
    policy = np.where(mdp.layout.positions[:, 1] < 5, 3, 1)
    np.testing.assert_allclose(evaluate(mdp, policy, 1.0), [0, 0, -8])
    assert (evaluate(grid(4, 6, density=1.0, slip=0.0), policy, 1.0)[:2] < 0).all()
