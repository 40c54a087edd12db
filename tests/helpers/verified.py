"""Every solution that tests compute is verified as it is returned."""

from typing import Any

from lexicone.exact import _solve_model
from lexicone.proofs import verify

MOST_STATES = 200
"""Larger models are left to tests of their own: there a verification takes about as long as the solution."""
EXACT_STATES = 3
"""Models up to here are verified in whole numbers."""

_confirmed = _solve_model._confirmed


def confirm_and_verify(model: Any, found: Any, tolerance: float) -> Any:
    """In place of what `solve` does last: afterwards no claim of the solution may be refuted."""
    solution, mdp = _confirmed(model, found, tolerance), model.mdp
    if mdp.num_states <= MOST_STATES:
        room = max(tolerance, 1e-6)
        exact = mdp.num_states <= EXACT_STATES
        verification = verify(mdp, solution, exact=exact, tolerance=room)
        if verification.refuted and not exact:  # it may be too long an episode for floating point
            verification = verify(mdp, solution, exact=True, tolerance=room)
        assert not verification.refuted, (solution.status, exact, verification.message)
    return solution
