"""Exact values of stationary policies: sparse linear systems, undiscounted ones included.

For γ<1, ``V = (I − γP)⁻¹ r``. For γ=1, V is the limit of that for γ→1, which always exists: with
the average reward ``g`` (the gain) and the bias ``h`` of the policy's chain,
``V_γ = g/(1−γ) + h + o(1)``, hence

    V = +∞ or −∞ by the sign of g, where g ≠ 0 (a loop is reached that pays for ever);
    V = h where g = 0: the expected total reward; loops that pay nothing count 0.

Where a loop's rewards cancel on average without being 0, h is the mean of the total reward over
time. From several starts the gains are netted: g and h are averages over the start distribution, so
a loop that pays from one start may cancel one that costs from another, and then V is finite.
`solve` is stricter (see there).

Rounding adds up with each step of an episode, so that values of 10¹³ expected steps have three digits or none.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from lexicone._base.checks import check_range
from lexicone.models._chain import Chain, factorises_well
from lexicone.models._mdp import MDP, check_model
from lexicone.models._reachability import reachable, strong_components

__all__ = ["estimate", "evaluate", "state_values"]

_GAIN_TOLERANCE = 1e-11  # of the largest reward: an average below that is rounding
_LONGEST = 1e12  # steps: rounding is then up to 1e-4 of a value


def evaluate(
    mdp: MDP, policy: Any, gamma: float = 1.0, *, horizon: int | None = None
) -> Float[np.ndarray, " K"]:
    """The K expected (discounted) returns of a stationary policy from the start distribution.

    ``policy`` is ``[S,A]`` probabilities or ``[S]`` action numbers. With γ=1 an objective that is
    paid for ever has value +∞ or −∞ by the sign of its average reward (see the module's
    docstring); gains from different starts are netted first. With a ``horizon`` only the rewards of
    so many steps count. Episodes of more than 10¹² expected steps are refused: rounding spoils their values.
    """
    if horizon is not None:
        check_model(mdp, gamma)
        check_range("horizon", horizon, 1, whole=True)
        chain, reward = mdp.chain(policy), mdp.policy_reward(policy)
        left = np.zeros_like(reward)
        for _ in range(horizon):
            left = reward + gamma * (chain @ left)
        return mdp.initial @ left
    gain, bias, steps = _gain_and_bias(mdp, policy, gamma, from_start=True)
    _refuse_long(steps)
    return _from_start(mdp, gain, bias)


def estimate(mdp: MDP, policy: Any, gamma: float) -> Float[np.ndarray, " K"]:
    """`evaluate` whatever rounding makes of it, for those who judge that themselves."""
    return _from_start(mdp, *_gain_and_bias(mdp, policy, gamma, from_start=True)[:2])


def state_values(mdp: MDP, policy: Any, *, gamma: float = 1.0) -> Float[np.ndarray, "S K"]:
    """The same for every state as the start: ``V[s,k]``."""
    gain, bias, steps = _gain_and_bias(mdp, policy, gamma)
    _refuse_long(steps)
    return _limit(mdp, gain, bias)


def _refuse_long(steps: np.ndarray) -> None:
    most = steps.max(initial=0.0)
    if most > _LONGEST:
        raise ValueError(
            f"mdp: with this policy it takes {most:.2g} steps on average to an end or around a loop, and rounding adds "
            f"up with each; a gamma below 1, or a horizon, makes them fewer"
        )


def _from_start(mdp: MDP, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    start = mdp.initial > 0
    weights = mdp.initial[start]
    return _limit(mdp, weights @ gain[start], weights @ bias[start])


def _limit(mdp: MDP, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    noise = _GAIN_TOLERANCE * np.abs(mdp.rows.expected_reward).max(axis=0, initial=0.0)
    paid = np.abs(gain) > noise
    return np.where(paid, np.copysign(np.inf, gain), bias)


def _gain_and_bias(
    mdp: MDP, policy: Any, gamma: float, *, from_start: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``[S,K]`` both, and for γ=1 the steps ``[S]`` that rounding has added up over, where they may be many.

    With ``from_start`` for the states alone that the policy comes to; 0 in all others.
    """
    check_model(mdp, gamma)
    chain, reward = mdp.chain(policy), mdp.policy_reward(policy)
    among = reachable(chain, mdp.initial > 0) if from_start else np.ones(len(reward), dtype=bool)
    if gamma < 1:
        among &= ~mdp.terminal
    if not among.all():
        chain = sparse.csr_array(chain[among][:, np.flatnonzero(among)])
    gain, bias, steps = np.zeros_like(reward), np.zeros_like(reward), np.zeros(len(reward))
    if gamma == 1:
        gain[among], bias[among], steps[among] = _undiscounted(chain, reward[among])
    else:
        bias[among] = _solver(gamma * chain).value_columns(reward[among])
    return gain, bias, steps


def _undiscounted(
    chain: sparse.csr_array, reward: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gain and bias of every state, ``[S,K]``: in recurrent classes, then in states before them; and steps ``[S]``."""
    label, left = strong_components(chain)
    classes = len(left)
    recurrent = ~left[label]
    gain, bias, steps = np.zeros_like(reward), np.zeros_like(reward), np.zeros(len(reward))
    size = np.bincount(label, minlength=classes)
    alone = recurrent & (size[label] == 1)
    gain[alone] = reward[alone]
    pays = np.zeros(classes, dtype=bool)
    pays[label[(reward != 0).any(axis=1)]] = True
    loops = np.flatnonzero(~left & (size > 1) & pays)
    if len(loops):
        by_class = np.argsort(label, kind="stable")  # so that each class is one block of the table
        blocks, end = chain[by_class][:, by_class], np.cumsum(size)
        for c in loops:
            place = slice(end[c] - size[c], end[c])
            members = by_class[place]
            gain[members], bias[members], steps[members] = _cycle(
                blocks[place, place], reward[members]
            )
    before = np.flatnonzero(~recurrent)
    if len(before):
        rows = chain[before]
        transient = _solver(rows[:, before], ordered=True)
        gain[before] = transient.value_columns(rows @ gain)
        bias[before] = transient.value_columns(reward[before] - gain[before] + rows @ bias)
        steps[before] = _time(transient)
    return gain, bias, steps


def _time(chain: Chain) -> np.ndarray:
    """How long it takes to leave, ``[n]``; nothing where it was found by iterating, which long times do not allow.

    What is lost in rounding altogether counts as for ever.
    """
    size = len(chain.matrix.indptr) - 1
    if chain.factors is None:
        return np.zeros(size)
    time = chain.values(np.ones(size))
    return np.where(time >= 0.5, time, np.inf)


def _cycle(chain: sparse.csr_array, reward: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Gain ``[K]``, bias ``[n,K]`` and the most steps of one recurrent class, by cycles between visits to a state.

    The gain is the reward of a cycle over its length. With ``h = (reward until the visit) −
    gain·(time until it)`` the bias is h less its own average, which is the gain of paying h.
    """
    count = reward.shape[0]
    rest = np.arange(1, count)
    others = _solver(chain[rest][:, rest])
    first = chain[[0]][:, rest].toarray()[0]

    def until_visit(paid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total = np.vstack([np.zeros((1, paid.shape[1])), others.value_columns(paid[1:])])
        return total, paid[0] + first @ total[1:]

    time, period = until_visit(np.ones((count, 1)))
    total, income = until_visit(reward)
    gain = income / period
    bias = total - time * gain
    longest = float(np.where(time >= 0, time, np.inf).max())
    return gain, bias - until_visit(bias)[1] / period, longest


def _solver(matrix: sparse.csr_array, ordered: bool = False) -> Chain:
    """For several columns of rewards, to rounding: factorised wherever factors are sparse."""
    chain = Chain(matrix, ordered=ordered)
    chain.direct = chain.direct or (chain.places is None and factorises_well(matrix))
    return chain
