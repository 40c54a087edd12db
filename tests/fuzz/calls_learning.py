"""Valid calls: training, what it returns, and PyTorch's door."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import lexicone as lx
from lexicone import learning, models
from tests.fuzz import material as m
from tests.fuzz.calls import Call, call
from tests.fuzz.calls_models import OF_ORDERS

SETTINGS = ("learner", *OF_ORDERS)


def learning_calls() -> list[Call]:
    """Of ``lexicone.learning`` and ``lexicone.torch``."""
    return [*_training(), *_results(), *_torch()]


def _training() -> list[Call]:
    given = {"task": m.small(), "order": [-0.5], "learner": m.learner(), "seeds": 1, "updates": 1}
    long = {"long": ("updates", "episodes", "seeds", "snapshots")}
    rare = {"words": SETTINGS, "weight": 0.06}
    kept = {"snapshots": 1, "log_every": 1, "features": np.eye(3), "seed": 3}
    algos = "lexicone.learning.algos"
    actor = {"hidden": (4,), "batch": 8, "max_steps": 5, "rule": "linear", "weights": (1.0,)}
    return [
        call("lexicone.learning.train", learning.train, given, **long, **rare),
        call("lexicone.learning.train", learning.train, {**given, **kept}, **long, **rare),
        call(
            "lexicone.learning.train",
            learning.train,
            lambda: {
                **given,
                "checkpoint": m.folder() / "kept",
                "overwrite": True,
                "log": "csv",
                "callback": print,
            },
            **long,
            **rare,
        ),
        call(
            "lexicone.learning.train", learning.train, {**given, "task": m.make_env}, **long, **rare
        ),
        call(
            "lexicone.learning.train_many",
            learning.train_many,
            {"task": m.small(), "variants": [([-0.5], m.learner())], "seeds": 1, "updates": 1},
            **long,
            words=(*SETTINGS, "updates", "seeds", "episodes", "seed", "snapshots"),
            weight=0.1,
        ),
        call(f"{algos}.PPO", lx.PPO, {**actor, "epochs": 2}),
        call(f"{algos}.A2C", lx.A2C, actor),
        call(f"{algos}.Reinforce", lx.Reinforce, {"hidden": (4,), "batch": 8, "delta": 0.2}),
        call(
            "lexicone.learning.collect",
            learning.collect,
            {
                "env": models.environment(m.small()),
                "policy": jnp.asarray(m.policy()),
                "key": jax.random.key(0),
                "episodes": 3,
                "max_steps": 4,
            },
            long=("episodes", "max_steps"),
            weight=0.15,
        ),
    ]


def _results() -> list[Call]:
    of = "lexicone.learning"
    trained, lived = m.trained(), m.trained_env()
    drawn = {"episodes": 3, "seed": 1, "max_steps": 3}
    exact = {"exact": m.solution(), "gamma": 0.9, "horizon": 5}
    long = {"long": ("episodes", "max_steps", "horizon")}
    few = {"episodes": 3, "seed": 1}

    def seen(name: str) -> Any:
        return lambda: {"path": m.folder() / f"{name}.png", **few, "seed": 0, "max_steps": 3}

    return [
        call(
            f"{of}.Trained.evaluate", trained.evaluate, drawn, **long, words=("policy",), weight=0.2
        ),
        call(f"{of}.Trained.policy", trained.policy, {"seed": 1}),
        call(f"{of}.Trained.values", trained.values, {"gamma": 0.9, "horizon": 4}, **long),
        call(f"{of}.Trained.gap", trained.gap, exact, **long, words=("values", "best")),
        call(f"{of}.Trained.save", trained.save, lambda: {"path": m.folder() / "again"}),
        call(f"{of}.Trained.to_csv", trained.to_csv, lambda: {"path": m.folder() / "t.csv"}),
        call(f"{of}.TrainedEnv.to_csv", lived.to_csv, lambda: {"path": m.folder() / "l.csv"}),
        call(f"{of}.TrainedEnv.evaluate", lived.evaluate, drawn, **long, weight=0.2),
        call(f"{of}.Trained.diagnose", trained.diagnose, few, **long, weight=0.2),
        call(f"{of}.TrainedEnv.diagnose", lived.diagnose, few, **long, weight=0.2),
        call(f"{of}.Trained.watch", trained.watch, seen("watched"), **long, weight=0.1),
        call(f"{of}.TrainedEnv.watch", lived.watch, seen("seen"), **long, weight=0.1),
        call(f"{of}.Evaluation.intervals", trained.evaluate(3).intervals, {"confidence": 0.9}),
        call(f"{of}.TrainedEnv.policy", lived.policy, {"seed": 0, "greedy": True}),
        call(f"{of}.TrainedEnv.save", lived.save, lambda: {"path": m.folder() / "lived"}),
        call(
            f"{of}.EnvPolicy.probabilities",
            lived.policy(0).probabilities,
            {"observation": 1},
            weight=0.3,
        ),
        call(
            f"{of}.load",
            learning.load,
            lambda: {"path": m.files()["training"], "learner": m.learner()},
            words=("learner", "task"),
            weight=0.3,
        ),
    ]


def _torch() -> list[Call]:
    import torch

    from lexicone import torch as door

    options = {"order": [1.0], "smoothing": 0.5, "method": "exact", "delta": 0.1}
    losses = {"losses": [torch.tensor(0.5), torch.tensor(2.0)]}
    words = (*OF_ORDERS, *options, "gramian", "losses", "values", "gram")

    def seen() -> Any:
        return door.OrderedWeighting([1.0]).observe(torch.tensor([0.5, 2.0]))

    def looked() -> Any:
        return door.OrderedAggregator([1.0]).observe(torch.tensor([0.5, 2.0]))

    def computed() -> dict[str, Any]:
        weight = torch.tensor([0.3, 0.2], requires_grad=True)
        return {
            "losses": [weight.sum() ** 2, (weight - 1).square().sum()],
            "parameters": [weight],
            "parallel_chunk_size": 1,
        }

    def of(name: str, make: Any) -> Call:
        return Call(f"lexicone.torch.{name}", make, words=words, weight=0.3)

    return [
        of("OrderedWeighting", lambda: (door.OrderedWeighting, dict(options))),
        of(
            "OrderedWeighting.observe", lambda: (door.OrderedWeighting([1.0]).observe, dict(losses))
        ),
        of("OrderedWeighting.forward", lambda: (seen().forward, {"gramian": torch.eye(2)})),
        of("OrderedWeighting.stack", lambda: (seen().stack, losses)),
        of("OrderedAggregator.forward", lambda: (looked().forward, {"matrix": torch.eye(2)})),
        of("OrderedAggregator", lambda: (door.OrderedAggregator, dict(options))),
        of(
            "OrderedAggregator.observe",
            lambda: (door.OrderedAggregator([1.0]).observe, dict(losses)),
        ),
        of(
            "ordered_backward",
            lambda: (
                door.ordered_backward,
                {**computed(), "aggregator": door.OrderedAggregator([1.0])},
            ),
        ),
        of(
            "ordered_loss",
            lambda: (
                door.ordered_loss,
                {**computed(), "weighting": door.OrderedWeighting([1.0])},
            ),
        ),
    ]
