"""A policy to start from: whether it is one of the model, and the deterministic policies that it mixes."""

from itertools import product
from math import prod

import numpy as np
from jaxtyping import Float, Int

from lexicone.exact._solution import Solution
from lexicone.models._arrays import as_array
from lexicone.models._evaluation import estimate
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP

__all__ = ["deterministic_parts", "start_policy"]

_MOST_STARTS = 16  # deterministic policies that a start is taken apart into


def start_policy(mdp: MDP, start: Solution | np.ndarray) -> Float[np.ndarray, "S A"]:
    """The policy to start from; a ValueError if it is not one of this model."""
    policy = start.policy if isinstance(start, Solution) else as_array("start", start)
    sizes = (mdp.num_states, mdp.num_actions)
    if policy.shape not in (sizes, sizes[:1]):
        raise ValueError(
            f"start: expected a solution or a policy of this model, of {sizes[0]} states and {sizes[1]} actions; "
            f"got one of shape {policy.shape}"
        )
    try:
        table = mdp.policy_table(policy)
    except ValueError as error:
        raise ValueError(f"start: {error}") from None
    if isinstance(start, Solution) and start.stay is None:
        same = start.values.shape == (mdp.num_objectives,)
        if same:
            own = estimate(
                match_order(mdp, start.order, gamma=start.gamma, name="start")[0],
                table,
                start.gamma,
            )
            same = np.allclose(own, start.values, rtol=1e-6, atol=1e-6)
        if not same:
            raise ValueError(
                "start: its policy has other values in this model, so it is a solution of another one"
            )
    return table


def deterministic_parts(policy: Float[np.ndarray, "S A"]) -> list[Int[np.ndarray, " S"]]:
    """Deterministic policies, one action per state, that mix to it; the likeliest actions alone if they are many."""
    likeliest = policy.argmax(axis=1)
    random_states = np.flatnonzero((policy > 0).sum(axis=1) > 1)
    options = [
        np.flatnonzero(policy[s])[np.argsort(-policy[s][policy[s] > 0], kind="stable")]
        for s in random_states
    ]
    if prod(len(option) for option in options) > _MOST_STARTS:
        return [likeliest]
    parts = []
    for actions in product(*options):
        part = likeliest.copy()
        part[random_states] = actions
        parts.append(part)
    return parts
