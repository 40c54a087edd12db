"""A model that is ready to be solved again and again: what does not depend on thresholds is computed once."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float

from lexicone.exact._known import Known
from lexicone.exact._report import reward_scale
from lexicone.exact._state_actions import all_state_actions
from lexicone.models._mdp import MDP
from lexicone.proofs._rows import Rows, read_rows

__all__ = ["Prepared"]

_MOST_BYTES = 5e8  # of columns and maxima; then all but the pairs is forgotten


@dataclass(eq=False)
class Prepared:
    """A model and γ, with what solves have found of it."""

    mdp: MDP
    gamma: float
    _known: dict[bytes, Known] = field(default_factory=dict)

    @cached_property
    def scale(self) -> Float[np.ndarray, " K"]:
        """The units that a first solve counts in."""
        return reward_scale(self.mdp)

    @cached_property
    def rows(self) -> Rows:
        """For the cheap part of verification."""
        return read_rows(self.mdp, self.gamma)

    def known(self, scale: Float[np.ndarray, " K"]) -> Known:
        """What is known with rewards in these units; if it is too much, it begins anew."""
        key = scale.tobytes()
        if key not in self._known:
            self._known[key] = Known(all_state_actions(self.mdp, self.gamma, scale))
        elif sum(known.num_bytes for known in self._known.values()) > _MOST_BYTES:
            for known in self._known.values():
                known.forget()
        return self._known[key]
