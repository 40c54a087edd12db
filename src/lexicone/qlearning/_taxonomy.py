"""Kinds of objectives, and what the paper says of thresholded Q-learning on them (section TLQ).

- *constrained*: it has a threshold, like all objectives but the last;
- *terminating*: it pushes the agent to a terminal state: "discounted cumulative reward for an episode that does not
  terminate within the horizon is lower than an episode that terminates";
- *endpoint*: only arrival in a terminal state pays; otherwise it is a *path* objective.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float

from lexicone._base.checks import check_gamma, check_range
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.models._reachability import steps_from
from lexicone.order import OrderLike

__all__ = ["Case", "Kind", "Prediction", "classify", "predict"]

_ROUNDING = 1e-9  # discounts below this would decide by rounding


@dataclass(frozen=True)
class Kind:
    """What kind of objective one is."""

    label: str
    constrained: bool
    terminating: bool
    endpoint: bool
    best_endless: float
    """The largest return of an episode that is still going on at the horizon; −∞ if there is none."""
    worst_ending: float
    """The smallest return of an episode that ends before the horizon; +∞ if there is none."""

    def __str__(self) -> str:
        return ", ".join(
            (
                "constrained" if self.constrained else "unconstrained",
                "terminating" if self.terminating else "non-terminating",
                "endpoint" if self.endpoint else "path",
            )
        )


class Case(StrEnum):
    """The paper's cases."""

    SINGLE = "single objective"
    """No threshold matters: this is Q-learning."""
    WORKED = "worked in a case study"
    PATH_CONSTRAINT = "path constraint"
    TERMINATING_CONSTRAINT = "terminating endpoint constraint, non-terminating last objective"
    NO_CLAIM = "no claim"


@dataclass(frozen=True)
class Prediction:
    """What to expect of thresholded Q-learning, by the paper's account. It has no proofs either way."""

    case: Case
    works: bool | None
    """None if the paper makes no claim."""
    message: str
    reference: str
    kinds: tuple[Kind, ...]


def classify(
    mdp: MDP, order: OrderLike, *, gamma: float = 1.0, horizon: int | None = None
) -> tuple[Kind, ...]:
    """The kind of each objective, from the tables, in the order's sequence.

    An episode is any trajectory with positive probability from the start. Terminating is decided exactly, by two
    dynamic programs over the horizon H: the best return of an episode that makes H steps and is not over must be
    below the worst of one that ended with fewer. Where every episode ends in time that holds, and where none can end
    it does not. H is by default one more than the number of states, so that every path without a loop can end (and
    with γ<1 at most what rounding lets one tell apart, but no less than the shortest way to an end takes).
    """
    check_model(mdp, gamma)
    check_gamma(gamma, above=True)
    mdp, order = match_order(mdp, order, gamma=gamma)
    if horizon is not None:
        check_range("horizon", horizon, 1, whole=True)
    endless, ending = _extremes(mdp, gamma, horizon or _horizon(mdp, gamma))
    room = 1e-12 * np.maximum(1.0, np.where(np.isfinite(endless), np.abs(endless), 0.0))
    endpoint = _pays_only_at_the_end(mdp)
    labels = order.names or mdp.objective_labels
    return tuple(
        Kind(
            label=labels[k],
            constrained=k < len(order) - 1,
            terminating=bool(endless[k] < ending[k] - room[k] < math.inf),
            endpoint=bool(endpoint[k]),
            best_endless=float(endless[k]),
            worst_ending=float(ending[k]),
        )
        for k in range(len(order))
    )


def predict(
    mdp: MDP, order: OrderLike, *, gamma: float = 1.0, horizon: int | None = None
) -> Prediction:
    """Which of the paper's cases applies. Thresholds of −∞ never matter and are left out.

    With several constrained objectives one that fails is enough; what worked was shown for two objectives only.
    """
    check_model(mdp, gamma)
    mdp, order = match_order(mdp, order, gamma=gamma)
    kinds = classify(mdp, order, gamma=gamma, horizon=horizon)
    limits = [
        k for k, threshold in zip(kinds, order.thresholds, strict=False) if threshold > -math.inf
    ]
    last = kinds[-1]
    paths = [kind.label for kind in limits if not kind.endpoint]
    pushing = [kind.label for kind in limits if kind.terminating]
    if not limits:
        return Prediction(
            Case.SINGLE,
            True,
            f"No threshold matters: Q-learning of {last.label}.",
            "Watkins & Dayan 1992",
            kinds,
        )
    if paths:
        return Prediction(
            Case.PATH_CONSTRAINT,
            False,
            f"{_list(paths)}: paid along the way, and values do not know what was already paid.",
            "Vamplew et al. 2011; case II of the paper's section TLQ",
            kinds,
        )
    if pushing and not last.terminating:
        return Prediction(
            Case.TERMINATING_CONSTRAINT,
            False,
            f"{_list(pushing)}: to be had at an end only; but where enough of it seems certain, "
            f"{last.label} decides, and that does not mind never to arrive.",
            "the paper's Proposition TLQ-Fails",
            kinds,
        )
    if len(limits) > 1:
        return Prediction(
            Case.NO_CLAIM,
            None,
            "All constraints are endpoint objectives and none of the failures applies; "
            "what worked was shown for one constraint only.",
            "case I of the paper's section TLQ",
            kinds,
        )
    source = "Vamplew et al. 2011" if last.terminating else "Li & Czarnecki 2019"
    return Prediction(
        Case.WORKED,
        True,
        f"{limits[0].label}: {limits[0]}; {last.label}: {last}. It worked in a case study of this "
        "kind, which is no guarantee: with chance involved it can fail.",
        f"{source}; case I of the paper's section TLQ",
        kinds,
    )


def _extremes(
    mdp: MDP, gamma: float, horizon: int
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """The best return of episodes with H steps and no end, the worst of those that end before.

    ``N_h(s) = max r + γ·N_{h−1}(s')``, ``E_h(s) = min r + γ·E_{h−1}(s')`` over what can happen, with N=−∞ and E=0 in
    terminal states, N_0=0 and E_0=∞ in others. Returns N_H and E_{H−1}.
    """
    possible = (mdp.probability > 0)[..., None]
    shape = (mdp.num_states, mdp.num_objectives)
    endless = np.broadcast_to(np.where(mdp.terminal, -math.inf, 0.0)[:, None], shape)
    ending = np.broadcast_to(np.where(mdp.terminal, 0.0, math.inf)[:, None], shape)
    shorter = ending
    for _ in range(horizon):
        shorter = ending
        longer = mdp.reward + gamma * endless[mdp.next_state]
        endless = np.where(possible, longer, -math.inf).max(axis=(1, 2))
        longer = mdp.reward + gamma * ending[mdp.next_state]
        ending = np.where(possible, longer, math.inf).min(axis=(1, 2))
    start = mdp.initial > 0
    return endless[start].max(axis=0), shorter[start].min(axis=0)


def _horizon(mdp: MDP, gamma: float) -> int:
    """S+1, or less if γ says so, but more than the shortest way to an end."""
    longest = mdp.num_states + 1
    if gamma == 1:
        return longest
    nearest = steps_from(mdp.graph, mdp.initial > 0)[mdp.terminal].min(initial=math.inf)
    if nearest == math.inf:
        return longest
    visible = math.ceil(math.log(_ROUNDING) / math.log(gamma))
    return min(longest, max(visible, int(nearest) + 1))


def _pays_only_at_the_end(mdp: MDP) -> np.ndarray:
    """For each objective: no step that can happen pays unless it arrives in a terminal state."""
    inner = mdp.reachable()[:, None, None] & (mdp.probability > 0) & ~mdp.terminal[mdp.next_state]
    return ~((mdp.reward != 0) & inner[..., None]).any(axis=(0, 1, 2))


def _list(names: list[str]) -> str:
    return " and ".join(names)
