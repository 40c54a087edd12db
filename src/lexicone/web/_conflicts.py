"""What is in the way of a threshold that is missed: nothing but the model, or objectives that come first."""

from typing import Any

import numpy as np

from lexicone._base.text import plain_numbers
from lexicone.exact._solution import Solution
from lexicone.exact._solve import solve
from lexicone.order import Order
from lexicone.web._questions import Question
from lexicone.web._solving import Progress

__all__ = ["find_conflicts"]

_CLOSE = 1e-6


def find_conflicts(
    question: Question, found: Solution, seconds: float, progress: Progress
) -> list[dict[str, Any]]:
    """For each missed threshold: how much of it can be had at all, and which objectives before it do not go with it.

    Those are the ones that miss it already as a pair; if there is none, it takes several of them together.
    """
    missed = np.flatnonzero(~found.satisfied).tolist()
    limits = np.array(question.order.thresholds)
    kept = np.minimum(
        found.values[:-1], limits
    )  # what comes first keeps what it has, up to its threshold

    def best(sequence: list[int], floors: list[float]) -> float:
        progress("conflicts")
        part = solve(
            question.mdp.reorder(sequence),
            Order(floors),
            gamma=question.gamma,
            time_limit=seconds,
            progress=progress,
        )
        return float(part.values[-1])

    result = []
    for j in missed:
        enough = limits[j] - _CLOSE * max(1.0, abs(limits[j]))
        alone = best([j], [])
        before = [i for i in range(j) if np.isfinite(limits[i])] if alone >= enough else []
        against = [i for i in before if best([i, j], [float(kept[i])]) < enough]
        reached, most = plain_numbers([found.values[j], alone])
        result.append(
            {"objective": j, "against": against or before, "reached": reached, "alone": most}
        )
    return result
