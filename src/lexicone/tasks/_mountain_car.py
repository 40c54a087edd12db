"""A weak car in a valley: out of it in time, then with little fuel."""

from typing import Any

from lexicone.tasks._world import BoxWorld

__all__ = ["mountain_car"]

_AT_ONCE = 5  # small steps for which the engine runs the same
_ENGINE, _WEIGHT = 0.0015, 0.0025
_TOP = 0.45


def mountain_car() -> BoxWorld:
    """The engine runs forward or backward with up to full power. Objectives: −decisions until the top, −fuel.

    Moore's (1990) car with a continuous engine; one decision holds for five of its steps. Fuel is the
    square of the power. The road's wind adds or takes a tenth of full power.
    """
    return BoxWorld(
        name="mountain_car",
        description="a weak car in a valley: the power of its engine, forward or backward",
        reward_names=("time", "fuel"),
        thresholds=(-25.0,),
        actions=((-1.0,), (1.0,)),
        gamma=1.0,
        max_steps=100,
        state_names=("place", "speed"),
        low=(-1.2, -0.07),
        high=(0.6, 0.07),
        start=((-0.6, 0.0), (-0.4, 0.0)),
        noise=((-0.1,), (0.1,)),
        chances=(0.5, 0.5),
        move=_move,
        pay=_pay,
        over=_over,
        grids=(((37, 29), (9,)), ((73, 57), (17,)), ((145, 113), (17,))),
    )


def _move(x: Any, u: Any, w: Any, xp: Any) -> Any:
    place, speed = x[..., 0], x[..., 1]
    power = u[..., 0] + w[..., 0]
    for _ in range(_AT_ONCE):
        arrived = place >= _TOP
        faster = xp.clip(speed + _ENGINE * power - _WEIGHT * xp.cos(3 * place), -0.07, 0.07)
        further = xp.clip(place + faster, -1.2, 0.6)
        faster = xp.where((further <= -1.2) & (faster < 0), 0.0, faster)
        place, speed = xp.where(arrived, place, further), xp.where(arrived, speed, faster)
    return xp.stack([place, speed], axis=-1)


def _pay(x: Any, u: Any, after: Any, xp: Any) -> Any:
    fuel = u[..., 0] ** 2
    return -xp.stack([xp.ones_like(fuel), fuel], axis=-1)


def _over(x: Any, xp: Any) -> Any:
    return x[..., 0] >= _TOP
