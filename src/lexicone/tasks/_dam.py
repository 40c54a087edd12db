"""A dam with a lake: no floods downstream, water for the fields, then power."""

from typing import Any

import numpy as np

from lexicone.tasks._world import BoxWorld

__all__ = ["dam"]

_BANKS = 50.0  # m: above that the shores are flooded
_FULL = 100.0  # m: what is above must be let go
_FIELDS = 50.0  # m³/s that the fields want
_POWER = 4.36  # MWh that the town wants
_MW = 9.81 * 1000 / 3.6e6  # per m of height and m³/s


def dam() -> BoxWorld:
    """Each day some water is let go. Objectives: −m above the banks, −m³/s missed by the fields, −MWh missed.

    The numbers are those of the classical test problem (Castelletti et al., 2013), with an inflow of 40 ± 10 m³/s in
    seven sizes, and an end after each day with probability 0.02. More than the lake holds cannot be let go, and what is
    above the full height must be.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    return BoxWorld(
        name="dam",
        description="a dam: how much water is let go each day",
        reward_names=("flooding", "irrigation", "power"),
        thresholds=(-150.0, -510.0),
        actions=((0.0,), (100.0,)),
        gamma=0.98,
        max_steps=1000,
        state_names=("level",),
        low=(0.0,),
        high=(160.0,),
        start=((20.0,), (80.0,)),
        noise=tuple((float(40 + 10 * node),) for node in nodes),
        chances=tuple((weights / weights.sum()).tolist()),
        move=_move,
        pay=_pay,
        grids=(((81,), (21,)), ((161,), (41,)), ((321,), (81,))),
    )


def _let_go(x: Any, u: Any, xp: Any) -> Any:
    level = x[..., 0]
    return xp.clip(u[..., 0], xp.maximum(level - _FULL, 0.0), level)


def _move(x: Any, u: Any, w: Any, xp: Any) -> Any:
    level = x[..., 0] - _let_go(x, u, xp) + w[..., 0]
    return xp.clip(level, 0.0, 160.0)[..., None]


def _pay(x: Any, u: Any, after: Any, xp: Any) -> Any:
    let_go = _let_go(x, u, xp)
    flooded = xp.maximum(after[..., 0] - _BANKS, 0.0)
    dry = xp.maximum(_FIELDS - let_go, 0.0)
    dark = xp.maximum(_POWER - _MW * after[..., 0] * let_go, 0.0)
    return -xp.stack([flooded, dry, dark], axis=-1)
