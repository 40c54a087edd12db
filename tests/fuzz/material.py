"""What valid calls are made of: small models, orders, results and files; made once."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lexicone as lx


@cache
def folder() -> Path:
    """For files, until the process ends."""
    path = Path(tempfile.mkdtemp(prefix="lexicone-fuzz-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def maze() -> lx.MDP:
    """Nine tiles on a map, two objectives with names."""
    return lx.tasks.maze("small")


@cache
def traders() -> lx.MDP:
    """Chance, names of states, no map."""
    return lx.tasks.space_traders()


@cache
def random_model() -> lx.MDP:
    """Three objectives, no names, no end: for discounts."""
    return lx.tasks.garnet(5, 2, 2, 3, seed=1)


@cache
def tables() -> dict[str, Any]:
    """Successor tables of three states and two actions; the last state is an end."""
    return {
        "next_state": np.array([[[1, 2], [2, 2]], [[0, 2], [1, 2]], [[2, 2], [2, 2]]]),
        "probability": np.array([[[0.5, 0.5], [1, 0]], [[0.1, 0.9], [0.7, 0.3]], [[1, 0], [1, 0]]]),
        "reward": np.concatenate(
            [np.arange(16.0).reshape(2, 2, 2, 2) / 8 - 1, np.zeros((1, 2, 2, 2))]
        ),
        "initial": np.array([1.0, 0.0, 0.0]),
        "terminal": np.array([False, False, True]),
    }


@cache
def small() -> lx.MDP:
    """The model of `tables`."""
    return lx.MDP(**tables())


@cache
def policy() -> np.ndarray:
    """Of the model `small`."""
    return np.array([[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]])


@cache
def order() -> lx.Order:
    """Two objectives."""
    return lx.Order([-0.5])


@cache
def solution() -> lx.Solution:
    """Of the model `small`."""
    return lx.solve(small(), [-0.5], gamma=0.9)


@cache
def augmented() -> lx.Augmented:
    """Of a maze with budgets."""
    return lx.augmentation(lx.tasks.maze("concave"), [0.5])


@cache
def lifted() -> lx.Lifted:
    """A policy with memory."""
    return augmented().lift(lx.solve(augmented().mdp, [0.5]).policy)


@cache
def controlled() -> lx.LinearQuadratic:
    """Two states, one input, two costs."""
    return lx.LinearQuadratic(**linear_quadratic())


@cache
def linear_quadratic() -> dict[str, Any]:
    """Its matrices."""
    return {
        "A": np.array([[0.9, 0.1], [0.0, 0.8]]),
        "B": np.array([[0.0], [1.0]]),
        "noise": 0.1 * np.eye(2),
        "costs": [np.diag([1.0, 0.0, 0.1]), np.diag([0.0, 0.0, 1.0])],
        "gamma": 0.9,
    }


@cache
def learner() -> lx.Reinforce:
    """Quickly trained."""
    return lx.Reinforce(hidden=(2,), batch=2, max_steps=4)


@cache
def trained() -> lx.Trained:
    """On the model `small`."""
    return lx.train(small(), [-0.5], learner(), seeds=2, updates=1)


@cache
def trained_env() -> Any:
    """In the environment of the model `small`."""
    return lx.train(make_env, [-0.5], learner(), seeds=1, updates=1)


def make_env() -> Any:
    """A new environment, not yet begun."""
    from lexicone.gym import MDPEnv

    return MDPEnv(small(), max_steps=4)


def begun(env: Any) -> Any:
    """The environment after its reset."""
    env.reset(seed=0)
    return env


@cache
def files() -> dict[str, Path]:
    """A saved model, a saved solution, a saved training, and text."""
    found = {name: folder() / f"{name}.file" for name in ("model", "solution", "training", "text")}
    small().save(found["model"])
    solution().save(found["solution"])
    trained().save(found["training"])
    found["text"].write_text("state,action,next_state,time\na,go,b,-1\n")
    return found


@cache
def roads() -> str:
    """A CSV file of roads."""
    path = folder() / "roads.csv"
    path.write_text("from,to,toll,pleasure\na,b,2,0\na,c,0,3\nb,c,1,3\nc,b,1,0\n")
    return str(path)


@cache
def front() -> Any:
    """Of two objectives."""
    return lx.pareto(traders(), points=3)


@cache
def moved_threshold() -> Any:
    """What `sensitivity` finds."""
    return lx.exact.sensitivity(traders(), [0.8], 0, thresholds=[0.7, 0.9])
