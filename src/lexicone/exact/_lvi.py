"""Lexicographic value iteration with slack (Wray, Zilberstein & Mouaddib 2015): the planning baseline.

Objective after objective, each state keeps the actions that are nearly best for it:

    A_{i+1}(s) = {a ∈ A_i(s) : max_b Q_i(s,b) − Q_i(s,a) ≤ (1−γ)·δ_i},    Q_i optimal with actions A_i.

Then ``V_i ≥ V_i* − δ_i`` in every state. The slack is relative to the best value, not a threshold, the same in
every state, and used up step by step, so the result may stay far from what the slack would allow.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lexicone._base.checks import check_range
from lexicone.exact._policy_iteration import best_policy
from lexicone.exact._state_actions import all_state_actions
from lexicone.models._evaluation import evaluate
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import OrderLike

__all__ = ["SlackPolicy", "lvi"]


class SlackPolicy(NamedTuple):
    """The result of `lvi`."""

    policy: Float[np.ndarray, "S A"]
    """Deterministic; action 0 in states that cannot be reached."""
    values: Float[np.ndarray, " K"]
    best: Float[np.ndarray, " K"]
    """``V_i*`` from the start, with the actions that the objectives before left."""
    actions: Int[np.ndarray, " S"]
    """How many actions were left for the last objective in each state."""


def lvi(mdp: MDP, slacks: OrderLike, *, gamma: float) -> SlackPolicy:
    """Plan with slack ``δ_i ≥ 0`` for each of the first K−1 objectives. Needs γ < 1.

    ``slacks`` are a list, or a mapping from names as an order is; names are matched as in `solve`.
    Every objective is solved by policy iteration; ties go to the policy of the objective before.
    """
    check_model(mdp, gamma)
    gamma = float(gamma)
    mdp, order = match_order(mdp, slacks, gamma=gamma, name="slacks")
    count, given = mdp.num_objectives, np.array(order.thresholds)
    if not (given >= 0).all():
        raise ValueError(f"slacks: must not be negative, got {given.tolist()}")
    check_range("gamma", gamma, 0, 1, below=True)
    pairs = all_state_actions(mdp, gamma)
    actions = np.full((mdp.num_states, mdp.num_actions), False)
    best = np.zeros(count)
    chosen = pairs.first
    for i in range(count):
        found = best_policy(pairs, pairs.reward[:, i], chosen)
        best[i] = pairs.initial @ found.values
        chosen = found.policy
        if i == count - 1:
            break
        loss = found.values[pairs.state] - pairs.reward[:, i] - pairs.next @ found.values
        rounding = 1e-12 * max(1.0, np.abs(found.values).max(initial=0.0))
        keep = loss <= (1 - gamma) * given[i] + rounding
        keep[chosen] = True
        number = np.cumsum(keep) - 1
        pairs, _ = pairs.keep(keep)
        chosen = number[chosen]
    actions[pairs.states[pairs.state], pairs.action] = True
    policy = np.zeros(actions.shape)
    policy[pairs.states, pairs.action[chosen]] = 1.0
    policy[policy.sum(axis=1) == 0, 0] = 1.0
    return SlackPolicy(policy, evaluate(mdp, policy, gamma), best, actions.sum(axis=1))
