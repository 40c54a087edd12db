import io
import json
import math
import shutil
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from rich.console import Console

from lexicone.cli._learners import CompareLearners
from lexicone.cli._study import RunStudy
from lexicone.exact._solve import solve
from lexicone.learning._train import train
from lexicone.learning.algos._a2c import A2C
from lexicone.learning.algos._ppo import PPO
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order
from lexicone.studies import results as results_file
from lexicone.studies.learners import report as learners_report, study as learners
from lexicone.studies.learners.judge import judge, rate_interval
from lexicone.studies.learners.study import LEARNER_RECIPES, Study
from lexicone.studies.learners.study_file import read_parts, results_of_parts, run_parts
from lexicone.studies.learners.tasks import LEARNING_TASKS, find
from lexicone.studies.sweeps.study_file import read_toml
from tests.helpers.commands import modules_after

pytestmark = pytest.mark.usefixtures("compile_quickly")


@dataclass(frozen=True)
class Fixed:
    """Learns nothing and keeps the policy that it was given."""

    table: tuple[tuple[float, ...], ...]
    batch: int = 4
    max_steps: int = 100
    delta: float = 0.1
    traced: ClassVar[tuple[str, ...]] = ("delta",)

    def init(self, problem, key):
        return jnp.log(jnp.maximum(jnp.asarray(self.table), 1e-30))

    def update(self, problem, state, key, share):
        return state, {"steps": jnp.float64(12)}

    def log_policy(self, problem, state):
        return state


def fixed(task, policy):
    table = task.mdp.policy_table(policy)
    return Fixed(tuple(tuple(row) for row in table.tolist()))


def uniform(task):
    return np.full((task.mdp.num_states, task.mdp.num_actions), 1 / task.mdp.num_actions)


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("exp1", (1, -10)),
        ("exp1-expected", (0.5, -9.4)),
        ("exp1-low", (-3, -8)),
        ("exp1-low-expected", (-3, -5.2)),
        ("exp2", (1, 0)),
        ("exp2-expected", (1, 0)),
        ("space-traders", (0.88, -11.2)),
    ],
)
def test_the_best_that_can_be_done(name, best):
    (goal,) = find(name, 1).goals
    np.testing.assert_allclose(goal.best, best, atol=1e-9)


def test_treasures_are_the_front():
    front = [g.best for g in find("treasure", 1).goals]
    times, worth = (
        (-1, -3, -5, -7, -8, -9, -13, -14, -17, -19),
        (1, 2, 3, 5, 8, 16, 24, 50, 74, 124),
    )
    assert front == list(zip(worth, times, strict=True))


@pytest.mark.parametrize(("name", "depth"), [("fruit-tree", 5), ("fruit-tree-6", 6)])
def test_thresholds_single_out_the_leaf(name, depth):
    task = find(name, 9)
    fruits = {tuple(r) for r in task.mdp.reward.reshape(-1, 6).tolist() if any(r)}
    assert len(fruits) == 2**depth
    assert len({goal.best for goal in task.goals}) == 9
    for goal in task.goals:
        meets = [f for f in fruits if all(np.array(f[:-1]) >= goal.order.thresholds)]
        assert max(meets, key=lambda fruit: fruit[-1]) == goal.best


def test_delta_is_swept_in_one_program():
    task = find("delta", 8)
    degrees = [round(math.degrees(goal.delta or 0)) for goal in task.goals]
    assert degrees == [2, 5, 10, 15, 20] * 2
    assert len({goal.order for goal in task.goals}) == 2
    assert learners._groups(len(task.goals), 3) == [range(10)]


def test_groups_have_one_size_and_fit():
    assert learners._groups(10, 100) == [range(i, i + 1) for i in range(10)]
    assert learners._groups(10, 60) == [range(i, i + 2) for i in range(0, 10, 2)]
    assert learners._groups(7, 1000) == [range(i, i + 1) for i in range(7)]


def judged(name, policy):
    task = find(name, 1)
    policy = uniform(task) if policy is None else policy(task)
    trained = train(
        task.mdp, task.goals[0].order, fixed(task, policy), seeds=2, updates=2, snapshots=2
    )
    return judge(task, task.goals[0], "", trained, 100)


def best_policy(policies, threshold=None):
    def policy(task):
        order = task.goals[0].order if threshold is None else Order([threshold])
        return solve(task.mdp, order, policies=policies).policy

    return policy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "policy", "wins", "gap"),
    [
        ("exp1-low", best_policy("deterministic"), True, 0),
        ("exp1-low", best_policy("deterministic", 1.0), False, 2 / 8),  # clean, but later
        ("exp1-low", None, False, None),
        ("exp1", best_policy("deterministic", 1.0), True, 0),
        ("exp1", best_policy("deterministic", -3.0), False, None),
        ("exp1-low-expected", best_policy("stochastic"), True, 0),
        ("exp1-low-expected", best_policy("deterministic"), False, 2.8 / 5.2),
        ("exp2", best_policy("deterministic"), True, 0),
        ("space-traders", best_policy("stochastic"), True, 0),
        ("space-traders", best_policy("deterministic"), False, 3.3 / 11.2),
        ("space-traders", None, False, (0.88 - (2.75 / 3) ** 2) / 0.2775),
    ],
)
def test_success_and_gap(name, policy, wins, gap):
    found = judged(name, policy)
    assert found.success.tolist() == [wins] * 2
    assert found.steps == 24
    if gap is not None:
        np.testing.assert_allclose(found.gap, gap, atol=1e-6)
    if name in ("exp1", "exp2"):
        assert found.curve is not None
        assert np.mean(found.curve["share"]) == pytest.approx(float(wins))


def test_intervals():
    none = np.zeros((1, 10), bool)
    rate, low, high, how = rate_interval(none)
    assert (rate, low, how) == (0, 0, "Wilson")
    assert high == pytest.approx(3.841459 / 13.841459)  # z²/(N+z²)
    assert rate_interval(~none)[1] == pytest.approx(1 - 3.841459 / 13.841459)
    some = (np.arange(40) < 10)[None]
    rate, low, high, how = rate_interval(some)
    error = math.sqrt(0.25 * 0.75 / 40)
    assert (rate, how) == (0.25, "bootstrap")
    np.testing.assert_allclose([low, high], [0.25 - 1.96 * error, 0.25 + 1.96 * error], atol=0.03)
    assert rate_interval(np.repeat(some, 20, axis=0)) == (rate, low, high, how)  # not 800 seeds
    assert rate_interval(np.array([[True] * 5, [False] * 5]))[3] == "none: all seeds alike"


def test_learners_are_what_their_names_say():
    study, task = Study(ratios=(0.5,)), find("exp1-low", 1)
    made = {name: make(task, study) for name, make in LEARNER_RECIPES.items()}
    assert all(len(variants) == 1 for variants in made.values())
    only = {name: variants[0][1] for name, variants in made.items()}
    literal = only.pop("reinforce")
    assert isinstance(literal, Reinforce)
    assert (literal.batch, literal.dropout, literal.method) == (1, 0.6, "sequential")
    assert isinstance(only.pop("a2c"), A2C)
    assert {name: learner.rule for name, learner in only.items()} == {
        "ppo": "cone",
        "half-space": "half_space",
        "lagrangian": "lagrangian",
        "linear": "linear",
        "penalty": "penalty",
    }
    assert all(isinstance(each, PPO) and each.criterion == "episode" for each in only.values())
    assert only["linear"].weights == (1, 0.5)
    tree = find("fruit-tree", 1)
    assert LEARNER_RECIPES["ppo"](tree, study)[0][1].max_steps == 5
    assert ("delta", "penalty") not in Study().cells()


@pytest.fixture
def cheap(monkeypatch):
    """Learners that know the answer ("ppo", and "linear" with its second ratio) or nothing; counts trainings."""

    def knows(task, study):
        return [("", fixed(task, solve(task.mdp, task.goals[0].order).policy))]

    def wavers(task, study):
        return [("bad", fixed(task, uniform(task))), ("good", knows(task, study)[0][1])]

    for name, make in (("ppo", knows), ("linear", wavers)):
        monkeypatch.setitem(LEARNER_RECIPES, name, make)
    monkeypatch.setitem(
        LEARNER_RECIPES, "reinforce", lambda task, _: [("", fixed(task, uniform(task)))]
    )
    trainings = []
    original = learners.train_many

    def counted(task, variants, **options):
        trainings.append(len(variants))
        return original(task, variants, **options)

    monkeypatch.setattr(learners, "train_many", counted)
    return trainings


TINY: dict[str, Any] = {"seeds": 2, "episodes": 64, "evaluation": 50, "leaves": 4}


@pytest.mark.slow
def test_a_study_is_resumed_cell_by_cell(cheap, tmp_path, monkeypatch):
    study = Study(tasks=("space-traders",), learners=("reinforce", "linear", "ppo"), **TINY)
    original, writes = results_file.write, []

    def fragile(results, file):
        original(results, file)
        writes.append(len(results))
        if writes == [1, 2]:
            raise KeyboardInterrupt

    monkeypatch.setattr(results_file, "write", fragile)
    with pytest.raises(KeyboardInterrupt):
        learners.run(study, tmp_path)
    assert list(json.loads((tmp_path / "results.json").read_text())) == [
        "space-traders/reinforce",
        "space-traders/linear",
    ]
    assert cheap == [1, 1, 1]  # two of them for the ratios
    results = learners.run(study, tmp_path)
    assert cheap == [1, 1, 1, 1]
    assert {k: v["rate"] for k, v in results.items()} == {
        "space-traders/reinforce": 0,
        "space-traders/linear": 1,
        "space-traders/ppo": 1,
    }
    assert results["space-traders/linear"]["goals"][0]["variant"] == "good"
    assert learners.run(study, tmp_path) == results
    assert len(cheap) == 4
    learners.run(Study(**{**TINY, "seeds": 3}, tasks=study.tasks, learners=("ppo",)), tmp_path)
    assert len(cheap) == 5
    assert [p.name for p in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.slow
def test_table_and_figures(cheap, tmp_path):
    told = io.StringIO()
    study = Study(tasks=("exp2", "delta"), learners=("reinforce", "ppo"), **TINY)
    results = learners.run(study, tmp_path, console=Console(file=io.StringIO()))
    learners_report.report(results, Console(file=told, width=200))
    assert list(results) == ["exp2/reinforce", "exp2/ppo", "delta/ppo"]
    text = " ".join(told.getvalue().split())
    assert "exp2 reinforce 0 of 2 0–66% (W)" in text
    assert "ppo 2 of 2 34–100% (W) 0 " in text
    page = learners_report.as_markdown(results)
    assert "| exp2, τ₁=0.5 | episode | ppo | 2 of 2 |" in page
    assert "leaf 0, Δ=2°: " in page
    written = learners_report.draw(results, tmp_path / "figures")
    assert sorted(path.stem for path in written if path.suffix == ".png") == [
        "learners",
        "learners-delta",
        "learners-training",
    ]
    assert all(path.stat().st_size > 3000 for path in written)


@pytest.mark.slow
def test_the_command_trains(tmp_path):
    command = CompareLearners(
        tasks=("space-traders",),
        learners=("penalty",),
        seeds=2,
        episodes=128,
        evaluation=10,
        out=tmp_path,
    )
    told = io.StringIO()
    command.run(Console(file=told, width=150))
    assert "Space Traders" in told.getvalue()
    names = {path.name for path in tmp_path.iterdir()}
    figures = {f"learners.{ending}" for ending in ("png", "svg", "pdf")}
    assert names == {"results.json", "table.md", *figures}
    cell = json.loads((tmp_path / "results.json").read_text())["space-traders/penalty"]
    assert cell["settings"]["episodes"] == 2 * PPO().batch
    again = io.StringIO()
    CompareLearners(report=True, out=tmp_path).run(Console(file=again, width=150))
    assert "penalty" in again.getvalue().split("A seed succeeds")[0]
    with pytest.raises(ValueError, match=r"^out: there is no results.json"):
        CompareLearners(report=True, out=tmp_path / "none").run(Console(file=again))
    assert cell["steps"] <= 2 * cell["settings"]["episodes"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ("exp9",)}, r"^tasks: there is no 'exp9'; there are exp1, "),
        ({"learners": ("dqn",)}, r"^learners: there is no 'dqn'; there are reinforce, a2c, "),
        ({"learners": ()}, r"^learners: there are reinforce"),
        ({"seeds": 0}, r"^seeds: must be at least 1, got 0"),
        ({"seeds": 2.5}, r"^seeds: must be a whole number, got 2.5"),
        ({"episodes": 0}, r"^episodes: must be at least 1"),
        ({"ratios": (0.0,)}, r"^ratios: expected positive numbers"),
    ],
)
def test_mistakes_are_named_before_any_work(changes, message, tmp_path, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=message):
        learners.run(Study(**changes), tmp_path)
    assert not list(tmp_path.iterdir())
    assert set(Study().tasks) < set(LEARNING_TASKS)


def test_an_extra_that_is_missing_is_named_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mo_gymnasium.envs.fruit_tree.fruit_tree", None)
    study = Study(tasks=("space-traders", "fruit-tree"), learners=("penalty",), seeds=1, episodes=1)
    with pytest.raises(ImportError, match=r"pip install 'lexicone\[gym\]'"):
        learners.run(study, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_not_overwritten(tmp_path):
    (tmp_path / "results.json").write_text('{"exp1/ppo": ')
    with pytest.raises(ValueError, match=r"results.json: cannot be read .* move it away"):
        learners.run(Study(), tmp_path)


FILE = """
study = "learners"
seeds = 2
episodes = 64
evaluation = 50
[[part]]
tasks = ["space-traders"]
learners = ["reinforce", "ppo"]
[[part]]
tasks = ["exp2"]
learners = ["ppo"]
seeds = 3
"""


@pytest.mark.slow
def test_the_same_as_a_study_file(cheap, tmp_path):
    file, out = tmp_path / "few.toml", tmp_path / "file"
    file.write_text(FILE, encoding="utf-8")
    RunStudy(file, out=out).run(Console(file=io.StringIO()))
    found = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert list(found) == ["exp2/ppo", "space-traders/reinforce", "space-traders/ppo"]
    assert [cell["seeds"] for cell in found.values()] == [3, 2, 2]
    study = Study(tasks=("space-traders",), learners=("reinforce", "ppo"), **TINY)
    by_command = learners.run(study, tmp_path / "command")
    drop = lambda cell: {k: v for k, v in cell.items() if k != "seconds"}  # noqa: E731
    assert {name: drop(found[name]) for name in by_command} == {
        name: drop(cell) for name, cell in by_command.items()
    }
    count = len(cheap)
    shutil.rmtree(out / "cells")  # results.json is enough to go on, for the file and the command
    run_parts(read_parts(read_toml(file)), out, progress=False)
    learners.run(study, out)
    assert len(cheap) == count
    (out / "results.json").write_text("{}", encoding="utf-8")  # and so are the cells
    assert list(results_of_parts(read_parts(read_toml(file)), out)) == list(found)
    assert len(cheap) == count


def test_importing_the_command_is_light():
    assert modules_after("import lexicone.cli._learners") == "False False"
