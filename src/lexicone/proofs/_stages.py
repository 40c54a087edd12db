"""The proof of a bound, stage by stage, from the weights that the solution gives.

Let f_j be the maximum of objective j, cut at its threshold, that the solution says it keeps, if that is proven and the
policy has it up to the tolerance; else what the policy surely has. For every policy that has as much of all objectives
before i, and any weights w ≥ 0 with w_i = 1,

    V_i  ≤  Σ_j w_j V_j − Σ_{j≠i} w_j f_j  ≤  H(w) − Σ_{j≠i} w_j f_j,

with a bound H(w) on the weighted sum over all policies. A solver may have left out choices that lose against an earlier
stage's weights u. Here they are not left out, but priced: w + M·u in place of w makes them lose, and costs M times
what the earlier bound left open. Where no price is found that leaves less than a tenth of the tolerance open (a loop
behind such a choice may pay for ever), the choice is left out here too: whoever makes it with any probability no longer
has the earlier maximum.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Bool

from lexicone.proofs._best_total import Loop
from lexicone.proofs._bounds import Bound, prove_bound
from lexicone.proofs._claims import Claim
from lexicone.proofs._integers import simple_fraction
from lexicone.proofs._problem import Problem, Stage
from lexicone.proofs._regions import Usable, usable_choices

__all__ = ["StageBound", "bound_claims", "stage_bounds", "stage_claim", "without_losses"]

_PENALTIES = (10**2, 10**4, 10**6, 10, 10**3, 10**5)
_EXACT_PENALTIES = (10**9, 10**13)
_NUDGES = 8
_LOSS = 1e-9  # of the values' size: a choice that loses more cannot keep a maximum


class StageBound:
    """What was proven of one stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.most: Fraction | None = None
        """What the objective, cut at its threshold, cannot exceed given those before; None if nothing was proven."""
        self.best: Fraction | None = None
        """The same without the threshold."""
        self.weights: list[Fraction] = []
        self.open: Fraction | None = None
        """How much more than the policy's own."""
        self.own: Fraction | None = None
        """What the policy has, at most the threshold."""
        self.attained = False
        """Whether the bound itself, without the threshold, is what the policy has."""
        self.hint: Any = None
        """The duals that the solution gives."""
        self.floors: dict[int, Fraction] = {}
        self.usable: Usable | None = None
        self.reason = ""
        self.bound: Bound | None = None


def bound_claims(problem: Problem) -> list[Claim]:
    """That no policy exceeds the bound; for "optimal" also that the policy has as much."""
    if problem.solution.policies == "deterministic" or not problem.rows.num_states:
        return deterministic_claims(problem)
    best = str(problem.solution.status) in ("optimal", "needs memory")
    found = stage_bounds(problem)
    claims = [stage_claim(problem, proven, best) for proven in found]
    claims += [dual_claim(problem, proven) for proven in found if best]
    return [claim for claim in claims if claim is not None]


def dual_claim(problem: Problem, proven: StageBound) -> Claim | None:
    """The duals that were given are those of this policy: it loses nothing against them, and they add up to its value.

    None where the threshold is met and no duals are needed, or where the bound itself does not hold.
    """
    hint, own = proven.hint, proven.own
    if hint is None or own is None or not proven.attained:
        return None
    name = f"duals of {problem.label(proven.stage.objective)}"
    chain, weights = problem.chain, hint.weights
    visits = np.asarray(problem.solution.occupancy)[chain.states].sum(axis=1)
    passed = np.isfinite(visits) & (visits > 0)
    values = hint.state_values[chain.states]
    if not (
        np.isfinite(weights).all()
        and (weights >= -1e-9).all()
        and weights[proven.stage.objective] == 1
    ):
        return Claim(name, False, "weights must be at least 0, and 1 for the objective itself")
    excess, _ = chain.excess(weights, np.where(np.isfinite(values), values, 0.0))
    # what falls short of a floor by a rounding is lost as often as its weight says
    values_had = np.asarray(problem.solution.values, dtype=float)
    excused = sum(
        float(weights[j]) * max(float(f) - values_had[j], 0.0) for j, f in proven.floors.items()
    )
    lost = max(float(visits[passed] @ np.abs(excess[passed])) - 2 * excused, 0.0)
    start = chain.initial > 0
    total = float(chain.initial[start] @ values[start])
    total -= sum(float(weights[j]) * float(f) for j, f in proven.floors.items())
    size = 1.0 + float(np.abs(values[start]).max(initial=0.0)) + abs(float(own))
    room = 10 * problem.tolerance * size
    apart = max(abs(total - float(own)) - excused, 0.0)
    if not np.isfinite(values[passed]).all() or not max(lost, apart) <= room:
        text = "the policy loses against them, or they do not add up to its value"
        return Claim(name, False, text, max(lost, apart))
    return Claim(name, True, "the policy loses nothing against them", lost)


def stage_claim(problem: Problem, proven: StageBound, best: bool) -> Claim | None:
    """Of one stage; ``best``: the policy must attain the bound. None where nothing is claimed."""
    stage = proven.stage
    name = ("ties in " if stage.breaks_ties else "bound on ") + problem.label(stage.objective)
    stated = float(problem.solution.bound[stage.objective])
    value = float(problem.solution.values[stage.objective])
    room = Fraction(problem.room(stage.objective, value))
    if not best and stated == np.inf:
        return None
    if proven.most is None:
        return Claim(name, False, f"nothing is proven: {proven.reason}")
    most, own = proven.most, proven.own
    open_part = float(most - own) if own is not None else np.inf
    text = f"no policy has more than {float(most):.17g}"
    endless = stated == np.inf and str(problem.solution.status) in ("unbounded", "divergent")
    if stage.breaks_ties or endless:
        stated = float(most)
    if not np.isfinite(stated):
        return Claim(name, False, f"{float(most):.17g} is proven, not {stated}")
    if not Fraction(stated) + room >= most:
        return Claim(name, False, f"{float(most):.17g} is proven, not {stated:.17g}")
    if best and not open_part <= room:
        has = "nothing finite" if own is None else f"{float(own):.17g}"
        text = f"a better policy is not excluded: {text}, and this one has {has}"
        if proven.reason and not proven.weights:
            text += f" ({proven.reason})"
        return Claim(name, False, text, open_part)
    if best and own is not None and not Fraction(stated) <= max(most, own) + 2 * room:
        return Claim(name, False, f"the bound {stated:.17g} is too large: {text}")
    return Claim(name, True, text, max(open_part, 0.0) if best else 0.0)


def stage_bounds(
    problem: Problem, count: int | None = None, needed: dict[int, float] | None = None
) -> list[StageBound]:
    """The first so many stages, one after the other, up to the first that cannot be bounded.

    Floors are what the policy has, but where ``needed`` says otherwise.
    """
    relevant = np.zeros(problem.mdp.num_objectives, dtype=bool)
    floors: dict[int, Fraction] = {}
    found: list[StageBound] = []
    certificate = problem.solution.certificate
    given = list(() if certificate is None else certificate.stages)
    for stage in problem.stages[:count]:
        i = stage.objective
        relevant[i] = True
        usable = usable_choices(problem.rows, relevant)
        proven = StageBound(stage)
        found.append(proven)
        own = problem.kept(i, stage.threshold)
        if needed is not None and i in needed:
            own = Fraction(needed[i])
        proven.own = own
        room = problem.room(i, own)
        mine = [s for s in given if s.objective == i]
        hint = mine[-1 if stage.breaks_ties else 0] if mine else None
        others = {j: f for j, f in floors.items() if j != i}
        proven.hint, proven.floors, proven.usable = hint, others, usable
        met = own is not None and float(own) >= stage.threshold - 1e-3 * room
        if not met or _at_most(problem, hint, others) <= stage.threshold + 10 * room:
            _prove(problem, proven, found[:-1], room)
        proven.most = proven.best
        if np.isfinite(stage.threshold):
            limit = Fraction(stage.threshold)
            proven.most = limit if proven.best is None else min(proven.best, limit)
        if own is None:
            break
        floors[i] = max(own, _said(problem, proven, room))
        if proven.attained and not met and proven.most is not None:
            proven.open = max(proven.most - floors[i], Fraction(0))
    return found


def _said(problem: Problem, proven: StageBound, room: float) -> Fraction:
    """The maximum that the solution says it keeps, if it is proven to be one and the policy has it up to the tolerance.

    The stages after are bounded for policies that have all of it. Else what the policy itself has.
    """
    own, said = proven.own, float(problem.solution.bound[proven.stage.objective])
    assert own is not None
    if proven.most is None or not np.isfinite(said) or proven.stage.breaks_ties:
        return own
    most = min(proven.most, Fraction(said))
    return most if most <= own + Fraction(room) else own


def _at_most(problem: Problem, hint: Any, floors: dict[int, Fraction]) -> float:
    """What a hint says that its objective cannot exceed; ∞ without one."""
    if hint is None:
        return np.inf
    values = hint.state_values[problem.rows.states]
    start = problem.rows.initial > 0
    total = problem.rows.initial[start] @ values[start]
    total -= sum(hint.weights[j] * float(f) for j, f in floors.items())
    return float(total) if np.isfinite(total) else np.inf


def _prove(problem: Problem, proven: StageBound, before: list[StageBound], room: float) -> None:
    """The best bound over the penalties; stops at the first that leaves less than a tenth of the tolerance open."""
    i, hint, floors, usable = proven.stage.objective, proven.hint, proven.floors, proven.usable
    assert usable is not None
    base = [Fraction(0)] * problem.mdp.num_objectives
    base[i] = Fraction(1)
    if hint is not None and np.isfinite(hint.weights).all():
        for j in floors:
            base[j] = max(simple_fraction(float(hint.weights[j])), Fraction(0))
    endless = _try(problem, proven, usable, base, _combined(problem, proven, base, (), 0))
    if not _tight(proven, room):  # then the maxima before are needed, of met thresholds too
        for n, b in enumerate(before):
            if not b.weights and b.usable is not None:
                _prove(problem, b, before[:n], problem.room(b.stage.objective, b.own))
        earlier = [b for b in before if b.attained or _nearly(problem, b)]
        penalties = _PENALTIES + (_EXACT_PENALTIES if problem.model.exact else ())
        for penalty in penalties if earlier else ():
            weights = list(base)
            for b in earlier:
                for j, u in enumerate(b.weights):
                    weights[j] += penalty * _unit(problem, i, b) * u
            scaled = [w / weights[i] for w in weights]
            hints = _combined(problem, proven, base, earlier, penalty, float(weights[i]))
            endless = _try(problem, proven, usable, scaled, hints)
            if _tight(proven, room) or (endless and penalty >= 10**4):
                break
        attained = [b for b in earlier if b.attained]
        if attained and not _tight(proven, room):
            relevant = np.zeros(problem.mdp.num_objectives, dtype=bool)
            relevant[[*floors, i]] = True
            fewer = usable_choices(problem.rows, relevant, *without_losses(problem, attained))
            _try(problem, proven, fewer, base, None)
    proven.attained = _tight(proven, 10 * room)


def _nearly(problem: Problem, proven: StageBound) -> bool:
    room = problem.room(proven.stage.objective, proven.own)
    return proven.open is not None and float(proven.open) <= 10 * room


def _tight(proven: StageBound, room: float) -> bool:
    return proven.open is not None and float(proven.open) <= 0.1 * room


def _try(
    problem: Problem,
    proven: StageBound,
    usable: Usable,
    weights: list[Fraction],
    hint: np.ndarray | None,
) -> bool:
    """Prove a bound from these weights and keep it if it is the best so far; whether a loop stood in the way."""
    i, own = proven.stage.objective, proven.own
    bound = prove_bound(problem.model, usable, weights, hint)
    for attempt in range(_NUDGES):
        if bound.loop is None:
            break
        weights = _nudged(problem, weights, i, bound.loop, attempt)
        bound = prove_bound(problem.model, usable, weights, hint)
    if bound.total is None:
        proven.reason = bound.reason
        return bound.loop is not None
    most = bound.total - sum((weights[j] * f for j, f in proven.floors.items()), Fraction(0))
    if proven.best is None or most < proven.best:
        proven.best, proven.weights, proven.bound = most, weights, bound
        proven.open = None if own is None else max(most - own, Fraction(0))
    return False


def _unit(problem: Problem, objective: int, earlier: StageBound) -> Fraction:
    return Fraction(float(problem.sizes[objective] / problem.sizes[earlier.stage.objective]))


def _combined(
    problem: Problem,
    proven: StageBound,
    weights: list[Fraction],
    earlier: Sequence[StageBound],
    penalty: int,
    divisor: float = 1.0,
) -> np.ndarray | None:
    """State values to start from, for the penalised weights (γ<1).

    Where the stage did not look, there is never more to come than the largest reward for ever.
    """
    rows = problem.rows
    if proven.hint is None or rows.gamma == 1:
        return None
    hint = proven.hint.state_values[rows.states]
    paid = rows.reward @ np.array([float(w) for w in weights])
    most = max(float(paid.max(initial=0.0)), 0.0) / (1 - rows.gamma)
    values = np.where(np.isfinite(hint), hint, most)
    for b in earlier:
        if b.bound is not None:
            unit = float(penalty * _unit(problem, proven.stage.objective, b))
            values = values + unit * b.bound.values
    return values / divisor


def without_losses(
    problem: Problem, before: list[StageBound]
) -> tuple[Bool[np.ndarray, " N"], Bool[np.ndarray, " S"]]:
    """The choices, and the states to stay in, that lose nothing against stages whose bound is attained."""
    allowed = np.ones(len(problem.rows.state), dtype=bool)
    stays = np.ones(problem.rows.num_states, dtype=bool)
    for b in before:
        if b.bound is None or b.open is None or not b.attained:
            continue
        values = b.bound.values
        weights = np.array([float(w) for w in b.weights])
        excess, _ = problem.rows.excess(weights, values)
        least = -_LOSS * (1 + float(np.abs(values).max(initial=0.0)))
        allowed &= excess >= least
        stays &= -values >= least
    return allowed, stays


def _nudged(
    problem: Problem, weights: list[Fraction], objective: int, loop: Loop, attempt: int
) -> list[Fraction]:
    """Weights moved by a rounding so that a loop which should pay nothing pays a little less than that."""
    real = loop.choices >= 0
    gain = loop.shares[real] @ problem.rows.reward[loop.choices[real]]
    little = Fraction(4**attempt, 10**15)
    moved = list(weights)
    for j, w in enumerate(weights):
        if j != objective and gain[j]:
            moved[j] = w * (1 - little if gain[j] > 0 else 1 + little)
    return moved


def deterministic_claims(problem: Problem) -> list[Claim]:
    """Nothing to decide, or a search that is not repeated here."""
    if not problem.rows.num_states:
        return [Claim("bound", True, "every episode starts in a terminal state")]
    text = "the search for deterministic policies leaves no duals, and is not repeated"
    return [Claim("bound", None, text)]
