"""``lexicone train`` in worlds of one's own: a class in a file, a world in JAX, a module that registers an id."""

import json
import re
import sys

import gymnasium
import jax
import pytest

from lexicone.learning._saved import load
from tests.helpers.commands import run as command

ROBOTS = """
import jax.numpy as jnp
from tests.helpers.bets import Wager
from tests.helpers.small_worlds import Bets

class Arm(Wager):
    reward_names = ("risk", "win")

    def __init__(self, prize=1.0):
        self.prize = prize

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward * [1.0, self.prize], *rest

class Dice(Bets):
    reward_names = ("risk", "win")

    def __init__(self, prize=1.0):
        self.prize = prize

    def step(self, key, state, action):
        row, after, paid, *rest = super().step(key, state, action)
        return row, after, paid * jnp.array([1.0, self.prize]), *rest

dice = Dice()
broken = 3
"""
SHORT = [
    *("--seeds=1", "--steps=16", "--json", "--settings"),
    *("hidden=[]", "copies=2", "length=8", "epochs=1", "minibatches=1"),
]


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def robots(tmp_path, monkeypatch):
    path = tmp_path / "robots.py"
    path.write_text(ROBOTS)
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Arm", "Dice"])
def test_a_class_in_a_file(name, robots, capsys):
    task = [f"robots.py:{name}", "--set", "prize=3"]
    code, out, err = command(["train", *task, "--thresholds", "-0.25", *SHORT], capsys)
    assert code == 0, err
    found = json.loads(out)
    assert found["objectives"] == ["risk", "win"]
    assert found["steps"] == [16]
    assert found["episodes"] == [16]  # one step each
    trained = load("runs/train")
    assert trained.facts.environment_options == {"prize": 3}
    assert trained.policy(0)([0.5]) in (0, 1, 3, 4)  # which needs no environment
    code, _, err = command(["evaluate", "runs/train"], capsys)
    assert (code, "a file may not" in err) == (2, True)
    code, out, _ = command(["evaluate", "runs/train", "--task", task[0], "--json"], capsys)
    again = json.loads(out)
    assert code == 0
    assert again["returns"][0][1] > 1.0  # with the prize of the training


@pytest.mark.slow
def test_a_world_that_is_there_already_and_objectives_by_name(robots, capsys):
    turned = ["--objectives", "win", "risk", "--thresholds", "at-least:0.5"]
    code, out, err = command(["train", "robots.py:dice", *turned, *SHORT], capsys)
    assert code == 0, err
    assert json.loads(out)["objectives"] == ["win", "risk"]
    assert json.loads(out)["returns"][0][1] <= 0


@pytest.mark.slow
def test_a_module_that_registers_an_id(robots, monkeypatch, capsys):
    code = (
        "import gymnasium\nfrom robots import Arm\ngymnasium.register('Arm-v0', entry_point=Arm)\n"
    )
    (robots.parent / "arms.py").write_text(code)
    monkeypatch.syspath_prepend(robots.parent)
    code, out, err = command(["train", "arms:Arm-v0", "--thresholds", "-0.25", *SHORT], capsys)
    assert code == 0, err
    assert json.loads(out)["environment"] == "arms:Arm-v0"
    gymnasium.registry.pop("Arm-v0")
    for module in ("arms", "robots"):
        sys.modules.pop(module)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["robots.py:Leg", "--thresholds", "0"], "task: 'robots.py' has no 'Leg'"),
        (["cars.py:Arm", "--thresholds", "0"], "task: there is no file 'cars.py'"),
        (["robots.py:broken", "--thresholds", "0"], "is neither a class, nor a function"),
        (["robots.py:Arm", "--set", "wings=2", "--thresholds", "0"], "cannot be made with wings=2"),
        (["robots.py:dice", "--set", "wings=2", "--thresholds", "0"], "is a world already"),
        (["robots.py:Arm", "--thresholds", "0", "1"], "has 2 objectives .* got 2"),
        (["robots.py:Dice", "--thresholds", "0", "1"], "has 2 objectives .* got 2"),
        (["robots.py:Arm", "--thresholds", "0", "--episodes", "9"], "give steps or updates"),
        (["maze:small", "--thresholds", "0", "--steps", "9"], "give episodes or updates"),
    ],
)
def test_mistakes_are_named(arguments, message, robots, capsys):
    code, _, err = command(["train", *arguments], capsys)
    assert code == 2
    assert re.search(message, " ".join(err.split())), err
