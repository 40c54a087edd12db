"""What a solver hands over with its answer so that others can check it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

__all__ = ["Certificate", "StageProof"]


@dataclass(frozen=True, eq=False)
class StageProof:
    """The duals of one stage: why no policy that keeps the objectives before has more of this one.

    With weights w ≥ 0 and state values h, ``w·r(s,a) + γ Σ_t P(t|s,a) h(t) ≤ h(s)`` for every pair that is still
    allowed, hence ``Σ_j w_j V_j ≤ Σ_s initial(s) h(s)`` for every policy.
    """

    objective: int
    weights: Float[np.ndarray, " K"]
    """1 for the objective itself, the price of each floor, 0 for all others; in the model's units."""
    state_values: Float[np.ndarray, " S"]
    """h, for all states of the model; NaN where the stage did not look."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """The duals of all stages that were solved, in their order; thresholds that are exceeded need none."""

    stages: tuple[StageProof, ...]
