"""Continuous worlds: the same functions step in JAX and make the grid; optima against an exact one, and played."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

import lexicone as lx
from lexicone.tasks import WORLDS, BoxWorld, LinearWorld, known_optimum, world
from lexicone.tasks._world_grid import make_grid
from tests.helpers.commands import run

BOXES = [name for name in WORLDS if isinstance(world(name), BoxWorld)]


def box_world(name: str) -> BoxWorld:
    found = world(name)
    assert isinstance(found, BoxWorld)
    return found


def regulator(noise=1.0):
    """x' = .9x + u ± noise, costs x² and u²: as a box, where the box is too wide to matter."""
    box = BoxWorld(
        name="regulator",
        description="",
        reward_names=("x", "u"),
        thresholds=(-16.0,),
        actions=((-3.0,), (3.0,)),
        gamma=0.9,
        max_steps=500,
        state_names=("x",),
        low=(-10.0,),
        high=(10.0,),
        start=((0.0,), (0.0,)),
        noise=((-noise,), (noise,)),
        chances=(0.5, 0.5),
        move=lambda x, u, w, xp: xp.clip(0.9 * x + u + w, -10.0, 10.0),
        pay=lambda x, u, after, xp: -xp.concatenate([x**2, u**2], axis=-1),
        grids=(((81,), (25,)), ((161,), (49,)), ((321,), (97,))),
    )
    exact = lx.LinearQuadratic(
        [[0.9]], [[1.0]], [[noise**2]], costs=[np.diag([1.0, 0]), np.diag([0, 1.0])], gamma=0.9
    )
    return box, exact


def test_grids_come_near_an_exact_optimum_as_they_get_finer():
    box, model = regulator()
    best = lx.solve(model, [-16.0]).values
    off = [abs(box.optimum(grid=i).values - best).max() for i in range(3)]
    assert off[2] < 0.01
    assert off[2] < off[1] / 2 < off[0] / 4
    with pytest.raises(ValueError, match=r"^seed: must be a whole number"):
        box.simulate(box.optimum(grid=2), seed=np.zeros(2))  # pyright: ignore[reportArgumentType]
    played = box.simulate(box.optimum(grid=2), episodes=20_000)
    error = played.std(axis=0) / np.sqrt(len(played))
    assert (abs(played.mean(axis=0) - best) < 4 * error).all()


def test_another_optimum_with_other_noise():
    box, _ = regulator(noise=1.0)
    _, louder = regulator(noise=1.2)
    best = lx.solve(louder, [-16.0]).values
    assert abs(box.optimum(grid=2).values - best).max() > 0.1  # the check above can fail


@pytest.mark.parametrize("name", BOXES)
def test_a_step_in_jax_is_a_step_of_the_grid(name):
    task = box_world(name)
    key = jax.random.key(3)
    rng = np.random.default_rng(0)
    seen, _ = task.reset(key)
    low, high = map(np.asarray, task.start)
    assert ((seen >= low - 1e-6) & (seen <= high + 1e-6)).all()
    for i in range(5):
        x = rng.uniform(task.low, task.high)
        u = rng.uniform(*map(np.asarray, task.actions))
        _, after, reward, over, cut, _ = task.step(jax.random.fold_in(key, i), x, u)
        moved = [task.move(x, u, np.asarray(w), np) for w in task.noise]
        distance = [abs(m - np.asarray(after)).max() for m in moved]
        assert min(distance) < 1e-4
        np.testing.assert_allclose(
            reward, task.pay(x, u, moved[int(np.argmin(distance))], np), rtol=1e-3, atol=1e-4
        )
        assert not bool(cut)
        assert task.gamma < 1 or bool(over) == bool(task.over and task.over(np.asarray(after), np))


@pytest.mark.parametrize("name", BOXES)
def test_the_mean_after_a_step_of_the_grid_is_the_worlds(name):
    task = box_world(name)
    grid = make_grid(task, *task.grids[0])
    rows, factors = grid.model.rows, grid.model.factors
    assert factors is not None
    rng = np.random.default_rng(1)
    for choice in rng.choice(rows.num_choices, 50, replace=False):
        x = factors.values[rows.state[choice]]
        u = grid.actions[rows.action[choice]]
        x, u = (np.tile(part, (len(task.noise), 1)) for part in (x, u))
        moved = task.move(x, u, np.array(task.noise), np)
        if task.over is not None and task.over(moved, np).any():
            continue
        entries = slice(rows.ends[choice], rows.ends[choice + 1])
        mean = rows.probability[entries] @ factors.values[rows.next_state[entries]]
        np.testing.assert_allclose(mean, np.array(task.chances) @ moved, atol=1e-9)
        paid = np.array(task.chances) @ task.pay(x, u, moved, np)
        np.testing.assert_allclose(rows.reward[entries][0], paid, atol=1e-9)


@pytest.mark.parametrize("name", WORLDS)
def test_what_is_stored_of_the_optimum(name):
    task, known = world(name), known_optimum(name)
    assert tuple(known["thresholds"]) == task.thresholds
    limits = np.append(task.thresholds, np.inf)
    assert (np.array(known["values"]) >= np.minimum(limits, known["values"]) - 1e-3).all()
    if isinstance(task, LinearWorld):
        np.testing.assert_allclose(task.optimum().values, known["values"], rtol=1e-5)
        np.testing.assert_allclose(known["values"], [-12, -70, -0.300212], rtol=1e-5)
        return
    np.testing.assert_allclose(task.optimum(grid=0).values, known["grids"][0]["values"], rtol=1e-4)
    values = np.array([grid["values"] for grid in known["grids"]])[:, -1]
    steps = np.diff(values)
    assert abs(steps[1]) < abs(steps[0]) / 2  # finer grids change less and less
    off = np.abs(np.array(known["simulated"]) - known["values"])
    assert (off < 3 * np.array(known["error"]) + 0.08 * np.abs(known["values"])).all()


def test_the_objectives_in_another_sequence():
    task = box_world("mountain-car")
    swapped = lx.Order({"fuel": -6.0, "time": None})
    best = task.optimum(swapped, grid=0)
    assert best.values[0] == pytest.approx(-6.0, abs=1e-6)
    played = task.simulate(best, episodes=500)
    assert played.mean(axis=0)[0] == pytest.approx(-6.0, abs=0.5)
    with pytest.raises(ValueError, match=r"^order: "):
        task.optimum(lx.Order([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"^grid: expected 0 to 2, got 3"):
        task.optimum(grid=3)
    with pytest.raises(ValueError, match=r"^name: there is no world 'damn'"):
        world("damn")


@pytest.mark.slow
def test_train_by_name_knows_the_gap(tmp_path):
    task = box_world("mountain-car")
    trained = lx.train("mountain-car", task.order, lx.PPO(copies=8), seeds=2, steps=1024)
    path = tmp_path / "run.safetensors"
    trained.save(path)
    again = lx.load(path)
    means = again.evaluate(100).returns.mean(axis=1, dtype=float)
    gap = again.gap(episodes=100)
    np.testing.assert_allclose(gap, trained.gap(task.optimum(grid=0), episodes=100), atol=0.3)
    np.testing.assert_allclose(gap[:, 0], -25 - np.minimum(means[:, 0], -25), atol=1e-5)


def test_commands_know_worlds(capsys):
    code, out, _ = run(["tasks", "dam"], capsys)
    assert code == 0
    assert "flooding, irrigation, power" in out
    assert "with 321 states" in out
    code, out, _ = run(["solve", "suspension", "--thresholds", "-12", "-70", "--json"], capsys)
    np.testing.assert_allclose(json.loads(out)["values"], [-12, -70, -0.300212], rtol=1e-5)
    code, _, err = run(["solve", "dam", "--thresholds", "-150"], capsys)
    assert code == 2
    assert "--thresholds: dam takes 2 (flooding, irrigation)" in err


def test_the_page_has_the_figures_that_are_stored():
    page = (Path(__file__).parents[2] / "docs" / "continuous.md").read_text(encoding="utf-8")
    for name in BOXES:
        known = known_optimum(name)
        shown = [f"{grid['values'][-1]:.4g}" for grid in known["grids"]]
        row = f"| `{name}` | {' | '.join(shown)} | {known['simulated'][-1]:.4g} ±"
        assert row.replace("-", "−") in page


@pytest.mark.parametrize("name", WORLDS)
def test_the_page_says_how_near_the_learner_came(name):
    root = Path(__file__).parents[2]
    found = json.loads((root / "experiments" / "worlds" / f"{name}.json").read_text())
    page = (root / "docs" / "continuous.md").read_text(encoding="utf-8").replace("−", "-")
    means = ", ".join(f"{mean:.3g}" for mean in np.mean(found["means"], axis=0))
    assert f"| `{name}` | {found['held']} of {found['seeds']} | {means} |" in page
