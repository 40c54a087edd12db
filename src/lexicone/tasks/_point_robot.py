"""A robot among hazards: stay away from them, save effort, then be quick."""

from typing import Any

from lexicone.tasks._world import BoxWorld

__all__ = ["point_robot"]

_REACH = 0.2  # how far a step goes at full speed
_PUSH = 0.05  # what chance adds to each coordinate
_GOAL = (0.75, 0.75, 0.2)  # where, and its radius
_HAZARDS = ((-0.15, 0.1, 0.45), (0.4, -0.35, 0.4))


def point_robot() -> BoxWorld:
    """Two speeds are chosen, from −1 to 1 each. Objectives: −danger, −speed², −steps until the goal.

    Danger is 1 in the middle of a round hazard and falls to 0 at its edge, ``1 − (distance/radius)²``; the straight way
    leads between the two hazards, where it is narrow. Each coordinate is pushed by ±0.05 in every step.
    """
    return BoxWorld(
        name="point_robot",
        description="a robot among round hazards: its two speeds",
        reward_names=("safety", "effort", "time"),
        thresholds=(-0.3, -10.0),
        actions=((-1.0, -1.0), (1.0, 1.0)),
        gamma=1.0,
        max_steps=150,
        state_names=("x", "y"),
        low=(-1.0, -1.0),
        high=(1.0, 1.0),
        start=((-0.9, -0.9), (-0.7, -0.7)),
        noise=((-_PUSH, -_PUSH), (-_PUSH, _PUSH), (_PUSH, -_PUSH), (_PUSH, _PUSH)),
        chances=(0.25, 0.25, 0.25, 0.25),
        move=_move,
        pay=_pay,
        over=_over,
        grids=(((21, 21), (5, 5)), ((41, 41), (7, 7)), ((81, 81), (9, 9))),
    )


def _move(x: Any, u: Any, w: Any, xp: Any) -> Any:
    return xp.clip(x + _REACH * u + w, -1.0, 1.0)


def _square(x: Any, place: tuple[float, ...]) -> Any:
    return (x[..., 0] - place[0]) ** 2 + (x[..., 1] - place[1]) ** 2


def _pay(x: Any, u: Any, after: Any, xp: Any) -> Any:
    danger = sum(
        xp.maximum(1 - _square(after, hazard) / hazard[2] ** 2, 0.0) for hazard in _HAZARDS
    )
    effort = u[..., 0] ** 2 + u[..., 1] ** 2
    return -xp.stack([danger, effort, xp.ones_like(effort)], axis=-1)


def _over(x: Any, xp: Any) -> Any:
    return _square(x, _GOAL) <= _GOAL[2] ** 2
