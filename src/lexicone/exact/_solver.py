"""A model that is solved for one order after the other: what was found for one serves the next."""

import time
from collections.abc import Callable

import numpy as np

from lexicone._base.checks import check_function
from lexicone._base.threads import one_thread
from lexicone.exact._prepared import Prepared
from lexicone.exact._solution import Solution
from lexicone.exact._solve_model import Method, Wanted, check_options, solve_prepared
from lexicone.models._matching import match_places
from lexicone.models._mdp import MDP, check_model
from lexicone.order import OrderLike

__all__ = ["Solver"]


class Solver:
    """Solves one model again and again, for other thresholds, names in another sequence, or other ties.

    >>> from lexicone.tasks import maze
    >>> solver = Solver(maze("extended", objectives="path"))
    >>> solver.solve([-3]).values.round(6).tolist()
    [-3.0, -5.2]
    >>> solver.solve([-4]).values.round(6).tolist()
    [-4.0, -4.0]

    Results are those of `lexicone.solve`. It keeps the policies that were mixed, their values, and every maximum that
    was found; up to about half a gigabyte, then it begins anew. Not for several threads at once.
    """

    def __init__(self, mdp: MDP, gamma: float = 1.0) -> None:
        """``mdp`` is any `MDP`; ``gamma`` is as in `lexicone.solve`."""
        check_model(mdp, gamma)
        self.mdp, self.gamma = mdp, float(gamma)
        self._models: dict[tuple[int, ...], Prepared] = {}

    @one_thread()
    def solve(
        self,
        order: OrderLike,
        *,
        method: Method = "auto",
        tolerance: float = 1e-6,
        time_limit: float = np.inf,
        progress: Callable[[str], None] | None = None,
    ) -> Solution:
        """The best policy for these thresholds.

        Args:
            order: the thresholds: an `Order`, a list, or a mapping from names, as in `lexicone.solve`.
            method: as in `lexicone.solve`.
            tolerance: as in `lexicone.solve`.
            time_limit: in seconds, for this order alone. After that the result has the status "limit", and what was
                found serves the next solve, with this order or another one.
            progress: called with a line of text now and then.
        """
        check_function("progress", progress, optional=True)
        check_options(self.gamma, method, tolerance, time_limit)
        places, matched = match_places(self.mdp, order, gamma=self.gamma)
        deadline = time.monotonic() + time_limit
        wanted = Wanted(matched, "stochastic", method, tolerance, deadline, progress)
        return solve_prepared(self._in_sequence(places), wanted)

    def _in_sequence(self, places: list[int]) -> Prepared:
        """The model with its objectives in this sequence."""
        key = tuple(places)
        if key not in self._models:
            model = self.mdp if places == sorted(places) else self.mdp.reorder(places)
            self._models[key] = Prepared(model, self.gamma)
        return self._models[key]
