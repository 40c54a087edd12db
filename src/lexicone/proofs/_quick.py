"""The cheap part of a verification, a few sparse products: what `solve` asks before it says "optimal".

It does not prove, since it counts slips of the duals once for every step that this policy takes, not
for every policy's. What gives it a doubt is worth a `verify`.
"""

from typing import Any

import numpy as np

from lexicone.proofs._certificate import StageProof
from lexicone.proofs._rows import Rows

__all__ = ["find_doubt"]

_LOSS = (
    1e-9  # of the values' size: a choice that loses more is not used by those who keep a maximum
)


def find_doubt(rows: Rows, solution: Any, tolerance: float) -> str:
    """What speaks against a solution of this model that is said to be optimal; empty if nothing does."""
    if solution.certificate is None or not rows.num_states:
        return ""
    visits = solution.occupancy[rows.states[rows.state], rows.action]
    lasting = np.isinf(visits)
    taken = np.where(lasting, 0.0, visits)
    length = float(taken.sum()) if rows.gamma == 1 else 1 / (1 - rows.gamma)
    if solution.stay is None and not lasting.any():
        doubt = _of_values(rows, taken, length, solution.values, tolerance)
        if doubt:
            return doubt
    return _of_bounds(rows, solution, length, tolerance)


def _of_values(
    rows: Rows, taken: np.ndarray, length: float, values: np.ndarray, tolerance: float
) -> str:
    """Whether the visits flow as the model says, and add up to the values."""
    by_state = np.bincount(rows.state, taken, rows.num_states)
    lost = np.abs(by_state - rows.initial - rows.gamma * (rows.matrix.T @ taken)).sum()
    most = np.abs(rows.reward).max(axis=0, initial=0.0) * length
    error = np.abs(taken @ rows.reward - values) + lost * most
    wrong = ~(error <= tolerance * np.maximum(1.0, np.abs(values)))
    if not wrong.any():
        return ""
    k = int(np.argmax(wrong))
    return f"the value of objective {k + 1} is known to {error[k]:.2g} only: {_steps(rows, length)}"


def _of_bounds(rows: Rows, solution: Any, length: float, tolerance: float) -> str:
    """Whether each stage's duals leave less than the tolerance open."""
    limits = [*solution.order.thresholds, np.inf]
    key = np.minimum(solution.values, limits)
    plan = [i for i, t in enumerate(limits) if t > -np.inf]
    stages: dict[int, StageProof] = {}
    for stage in solution.certificate.stages:
        stages.setdefault(stage.objective, stage)
    losses: list[tuple[np.ndarray, float]] = []
    for place, i in enumerate(plan):
        size = max(1.0, abs(float(key[i])))
        met = key[i] >= limits[i] - 1e-2 * tolerance * size
        if i not in stages or not np.isfinite(key[i]):
            continue
        stage = stages[i]
        values = stage.state_values[rows.states]
        gain = rows.reward @ stage.weights + rows.gamma * (rows.matrix @ values)
        gain = np.nan_to_num(gain - values[rows.state], nan=-np.inf)
        floors = sum(stage.weights[j] * key[j] for j in plan[:place] if stage.weights[j])
        start = rows.initial > 0
        bound = float(rows.initial[start] @ values[start]) - floors
        slips, penalty = np.where(gain > 0, gain, 0.0), 0.0
        for loss, gap in losses:
            losing = (slips > 0) & (loss < 0)
            if losing.any():
                penalty += gap * float((slips[losing] / -loss[losing]).max())
                slips = np.where(losing, 0.0, slips)
        bound += float(slips.max(initial=0.0)) * length + penalty
        if not bound <= key[i] + tolerance * size:
            if met:
                continue  # more could be had, and what loses against that may still meet the threshold
            return (
                f"the bound on objective {i + 1} is known to {bound - key[i]:.2g} only: "
                f"{_steps(rows, length)}"
            )
        scale = _LOSS * (1 + float(np.nanmax(np.abs(values), initial=0.0)))
        left = max(bound - float(key[i]), 0.0) if met else 0.0
        losses.append((np.where(gain < -scale, gain, 0.0), left))
    return ""


def _steps(rows: Rows, length: float) -> str:
    if rows.gamma == 1:
        return f"episodes take {length:.2g} steps on average, and rounding adds up with each"
    return f"with this discount rounding adds up over some {length:.2g} steps"
