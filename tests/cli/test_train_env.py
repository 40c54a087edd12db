import json

import gymnasium
import jax
import numpy as np
import pytest
import tyro
from gymnasium.wrappers import TransformObservation
from rich.console import Console

from lexicone.cli import _train as cli_train
from lexicone.cli._evaluate import Evaluate
from lexicone.cli._train import Train
from lexicone.exact._solve import solve
from lexicone.learning._environments import open_env, source_of
from lexicone.learning._saved import load
from lexicone.models._evaluation import evaluate
from lexicone.order import Order
from lexicone.tasks import maze

MDP = maze("small", objectives="path")

ORDER = Order([-4.0])


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Compilation dominates here, and these programs are tiny."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


MAZE = ["lexicone/maze-v0", "--set", "drawing=small", "objectives=path", "--thresholds", "-4"]


SETTINGS = {
    "hidden": (),
    "batch": 16,
    "max_steps": 16,
    "dropout": 0.0,
    "temperature": 1.0,
    "learning_rate": 0.05,
    "credit": "normalized",
    "entropy": 0.3,
    "gamma": 0.9,
    "active_constraints": True,
}


CLI = [
    *MAZE,
    "--seeds=1",
    "--episodes=960",
    "--json",
    "--learner=reinforce",
    "--settings",
    *(f"{name}={value}".replace(" ", "") for name, value in SETTINGS.items()),
]


def run(command, arguments):
    return tyro.cli(command, args=arguments).run(Console(width=100))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("train")
    run(Train, [*CLI, "--out", str(out)])
    return out


@pytest.mark.slow
def test_the_python_road_reaches_the_models_optimum(folder):
    exact = solve(MDP, ORDER)
    trained = load(folder / "training.safetensors")
    rows = np.eye(MDP.num_states)
    table = np.exp(trained.policy(0).log_table(rows))
    np.testing.assert_allclose(evaluate(MDP, table), exact.values, atol=0.3)
    np.testing.assert_allclose(table[3], trained.policy(0).probabilities(3))
    uniform = np.full_like(table, 0.25)
    assert (ORDER.gap(evaluate(MDP, uniform), exact.values) > 3).any()


def test_the_command_writes_and_judges(folder, capsys):
    names = {file.name for file in folder.iterdir()}
    assert {"training.safetensors", "results.json", "history.png"} <= names
    results = json.loads((folder / "results.json").read_text())
    assert results["environment"] == "lexicone/maze-v0"
    assert "gap" not in results
    run(Evaluate, [str(folder), "--episodes", "50", "--greedy"])
    out = " ".join(capsys.readouterr().out.split())
    assert "tiles+goal ≥ -4" in out
    assert "Shares of 50 episodes (greedy actions)." in out
    assert "gap" not in out


@pytest.mark.slow
def test_resume_knows_the_environment_again(folder, monkeypatch):
    monkeypatch.setattr(cli_train, "_draw", lambda *_: None)
    before = (folder / "training.safetensors").read_bytes()
    run(Train, [*CLI, "--out", str(folder), "--resume"])
    assert (folder / "training.safetensors").read_bytes() == before
    other = [text.replace("drawing=small", "drawing=extended") for text in CLI]
    with pytest.raises(
        ValueError, match="is of another training: its drawing is small, not extended"
    ):
        run(Train, [*other, "--out", str(folder), "--resume"])


def test_an_environment_with_a_spec_is_copied(folder):
    options = {"drawing": "small", "objectives": "path", "disable_env_checker": True}
    env = gymnasium.make("lexicone/maze-v0", **options)
    known = load(folder / "training.safetensors").facts
    assert open_env(source_of(env)).facts.first_steps == known.first_steps
    options["drawing"] = "extended"
    other = open_env(source_of(gymnasium.make("lexicone/maze-v0", **options)))
    assert other.facts.first_steps != known.first_steps
    wrapped = TransformObservation(env, lambda x: x, None)
    made = open_env(source_of(wrapped))
    assert made.facts.first_steps == known.first_steps
    unrecorded = type("Unrecorded", (gymnasium.Wrapper,), {})(env)
    with pytest.raises(ValueError, match=r"^task: MDPEnv cannot be made anew from its spec"):
        open_env(source_of(unrecorded))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["maze-v7", "--thresholds", "1"],
            r"^task: there is no task 'maze-v7'; there are maze, .*Gymn",
        ),
        (
            ["lexicone/maze-v0", "--thresholds", "1", "2"],
            r"^--thresholds: .* has 2 objectives .* got 2",
        ),
        ([*MAZE[:2], "wings", *MAZE[4:]], r"--set: expected NAME=VALUE, got 'wings'"),
        ([*MAZE[:2], "wings=3", *MAZE[4:]], r"cannot be made with wings=3"),
    ],
)
def test_the_command_names_mistakes(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        run(Train, [*arguments, "--out", str(tmp_path)])
