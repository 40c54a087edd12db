"""Behind another car: keep your distance, drive gently, then stay close."""

from typing import Any

from lexicone.tasks._world import BoxWorld

__all__ = ["car_following"]

_DT = 0.5  # s
_SAFE = 12.0  # m: closer is dangerous
_DRAG = 0.95  # of the difference in speed is left after a step in which nobody does anything


def car_following() -> BoxWorld:
    """The car ahead speeds up and slows down. Objectives: −(m too close)/10, squared; −acceleration²; −gap/10.

    States are the gap, 0 to 60 m, and how much faster the other car is; the action is one's own acceleration, up to
    3 m/s². The other one's is −1.5, 0 or 1.5 m/s². Half a second is a step, and an episode ends after each
    with probability 0.02.
    """
    return BoxWorld(
        name="car_following",
        description="behind a car that speeds up and slows down: one's own acceleration",
        reward_names=("gap", "comfort", "progress"),
        thresholds=(-0.5, -30.0),
        actions=((-3.0,), (3.0,)),
        gamma=0.98,
        max_steps=1000,
        state_names=("gap", "difference in speed"),
        low=(0.0, -8.0),
        high=(60.0, 8.0),
        start=((20.0, -1.0), (40.0, 1.0)),
        noise=((-1.5,), (0.0,), (1.5,)),
        chances=(0.25, 0.5, 0.25),
        move=_move,
        pay=_pay,
        grids=(((31, 17), (13,)), ((61, 33), (25,)), ((121, 65), (49,))),
    )


def _move(x: Any, u: Any, w: Any, xp: Any) -> Any:
    gap, faster = x[..., 0], x[..., 1]
    later = xp.clip(_DRAG * faster + _DT * (w[..., 0] - u[..., 0]), -8.0, 8.0)
    return xp.stack([xp.clip(gap + _DT * (faster + later) / 2, 0.0, 60.0), later], axis=-1)


def _pay(x: Any, u: Any, after: Any, xp: Any) -> Any:
    gap = after[..., 0]
    close = (xp.maximum(_SAFE - gap, 0.0) / 10) ** 2
    return -xp.stack([close, u[..., 0] ** 2, gap / 10], axis=-1)
