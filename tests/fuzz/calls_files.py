"""Valid calls: files of model checkers, and policies that act in worlds that are no models."""

from functools import cache
from typing import Any

import numpy as np

import lexicone as lx
from lexicone import learning
from lexicone.learning._spaces import Actions
from tests.fuzz import material as m
from tests.fuzz.calls import Call, call
from tests.fuzz.calls_models import OF_MODELS, OF_ORDERS
from tests.helpers.checker_files import HOME, ROBOT, TIME
from tests.helpers.small_worlds import Bets
from tests.models.test_checker_files import ARRAYS, INDEX, write_umb


@cache
def trained_segments() -> Any:
    """In a compiled world with two choices."""
    learner = lx.PPO(hidden=(2,), batch=4, max_steps=3, epochs=1)
    return lx.train(Bets(), [-0.5], learner, seeds=1, updates=1)


def file_calls() -> list[Call]:
    """Of models as files of Storm and PRISM, and of what `train` leaves where the task is no model."""
    return [*_checkers(), *_policies()]


def _checkers() -> list[Call]:
    asked, mdp = [HOME, TIME], lx.MDP.from_drn(ROBOT, [HOME, TIME])
    umb = write_umb(m.folder() / "model.umb", INDEX, ARRAYS)
    policy = np.zeros(mdp.num_states, int)
    of = "lexicone.models.MDP"
    words = {"words": (*OF_MODELS, *OF_ORDERS, "policy")}
    written = {"path": m.folder() / "policy.csv", "policy": m.policy()}
    return [
        call(f"{of}.from_drn", lx.MDP.from_drn, {"path": ROBOT, "objectives": asked}, **words),
        call(
            f"{of}.from_umb",
            lx.MDP.from_umb,
            {"path": umb, "objectives": {"cost": 'Rmin=? [F "goal"]'}, "discounted": True},
            **words,
        ),
        call(f"{of}.to_drn", mdp.to_drn, {"path": m.folder() / "a.drn", "policy": policy}, **words),
        call(f"{of}.write_policy", m.small().write_policy, written, **words),
        call(
            f"{of}.write_policy",
            mdp.write_policy,
            {"path": m.folder() / "policy.txt", "policy": policy, "form": "storm"},
            **words,
        ),
        call(
            "lexicone.models.order_of",
            lx.order_of,
            {"objectives": asked, "thresholds": [0.9]},
            **words,
        ),
    ]


def _of_numbers(policy: learning.Policy) -> learning.Policy:
    """One like this whose action is a number."""
    return learning.Policy(
        (np.ones((1, 1)),),
        (np.zeros(1),),
        "tanh",
        policy.mean,
        policy.square,
        np.zeros(1),
        Actions((), (), (-1.0,), (1.0,), (1,), "float32"),
        policy.observations,
    )


def _policies() -> list[Call]:
    found = trained_segments()
    policy = found.policy(0)
    exported = m.folder() / "policy"
    found.export(exported)
    seen, rows = {"observation": np.array([0.3])}, np.array([[0.3], [0.6]])
    of, long = "lexicone.learning", {"long": ("episodes", "max_steps")}
    drawn = {"rows": rows, "generator": np.random.default_rng(0)}
    words = {"words": ("observation", "policy")}
    return [
        call(f"{of}.TrainedSegments.policy", found.policy, {"seed": 0, "greedy": True}),
        call(f"{of}.TrainedSegments.to_csv", found.to_csv, {"path": m.folder() / "s.csv"}),
        call(
            f"{of}.TrainedSegments.diagnose",
            found.diagnose,
            {"episodes": 2, "seed": 1},
            long=("episodes",),
            weight=0.1,
        ),
        call(
            f"{of}.TrainedSegments.watch",
            found.watch,
            {"path": m.folder() / "segments.png", "seed": 0, "episodes": 2, "max_steps": 3},
            long=("episodes", "max_steps"),
            weight=0.1,
        ),
        call(f"{of}.TrainedSegments.save", found.save, {"path": m.folder() / "segments"}),
        call(f"{of}.TrainedSegments.export", found.export, {"path": exported, "seed": 0}),
        call(
            f"{of}.TrainedSegments.evaluate",
            found.evaluate,
            {"episodes": 3, "seed": 1, "max_steps": 3},
            **long,
            weight=0.2,
        ),
        call(
            f"{of}.TrainedSegments.gap",
            found.gap,
            {"exact": [-0.5, 1.0], "episodes": 3, "seed": 1},
            **long,
            weight=0.2,
        ),
        call(
            f"{of}.load_policy",
            lx.load_policy,
            {"path": exported, "greedy": True, "seed": 1},
            weight=0.5,
        ),
        call(f"{of}.Policy.act", policy.act, seen, **words),
        call(f"{of}.Policy.see", policy.see, seen, **words),
        call(f"{of}.Policy.probabilities", policy.probabilities, seen, **words),
        call(f"{of}.Policy.distribution", _of_numbers(policy).distribution, seen, **words),
        call(f"{of}.Policy.outputs", policy.outputs, {"rows": rows}, **words),
        call(f"{of}.Policy.choose", policy.choose, drawn, **words),
        call(f"{of}.Policy.save", policy.save, {"path": m.folder() / "again.policy"}),
        call(
            "lexicone.learning.train",
            lx.train,
            {
                "task": Bets(),
                "order": [-0.5],
                "learner": lx.PPO(hidden=(2,), batch=4, max_steps=3, epochs=1),
                "seeds": 1,
                "updates": 1,
            },
            words=("learner", "world", *OF_ORDERS),
            long=("updates", "episodes", "seeds", "snapshots", "steps"),
            weight=0.06,
        ),
    ]
