"""What the other statuses claim: that an objective has no limit, no total, or a limit that is not attained (γ=1).

Each has a witness that is looked for here and then checked: a policy that keeps what is more important and comes by a
loop that pays; weights that no policy with a total can have enough of; policies that come near a bound.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from lexicone.proofs._best_total import time_shares
from lexicone.proofs._bounds import Floats, prove_bound
from lexicone.proofs._claims import Claim
from lexicone.proofs._flows import Flow, best_flow, even_walk, flow_policy
from lexicone.proofs._integers import policy_integers, simple_fraction
from lexicone.proofs._policy_value import Interval, policy_values
from lexicone.proofs._problem import Problem, Stage
from lexicone.proofs._regions import Usable, usable_choices
from lexicone.proofs._rows import policy_rows
from lexicone.proofs._stages import StageBound, stage_bounds, stage_claim, without_losses

__all__ = ["divergence_claims", "supremum_claims", "unbounded_claims"]

_PARTS = (1e-2, 1e-4, 1e-6)


class _Setting:
    """The stages before the one that is claimed to have no maximum, and what they leave."""

    def __init__(self, problem: Problem) -> None:
        bound = np.asarray(problem.solution.bound)
        self.problem = problem
        stages = problem.stages
        place = next((n for n, s in enumerate(stages) if bound[s.objective] == np.inf), -1)
        self.stage: Stage | None = stages[place] if place >= 0 else None
        self.claims: list[Claim] = []
        self.floors: dict[int, float] = {}
        if self.stage is None:
            return
        i = self.stage.objective
        own = problem.kept(i, self.stage.threshold)
        met = self.stage.threshold < np.inf and own is not None and own >= self.stage.threshold
        if met and str(problem.solution.status) == "unbounded":
            ties = (n for n, s in enumerate(stages) if s.breaks_ties and s.objective == i)
            place = next(ties, place)
            self.stage = stages[place]
        before = stage_bounds(problem, place)
        self.claims = [c for b in before if (c := stage_claim(problem, b, True)) is not None]
        self.relevant = np.zeros(problem.mdp.num_objectives, dtype=bool)
        for s in stages[: place + 1]:
            self.relevant[s.objective] = True
        self.usable = usable_choices(problem.rows, self.relevant, *without_losses(problem, before))
        for s in stages[:place]:
            kept = problem.kept(s.objective, s.threshold)
            if kept is not None and s.objective != i:
                self.floors[s.objective] = float(kept)


def unbounded_claims(problem: Problem) -> list[Claim]:
    """A policy that keeps the floors comes by a loop that pays the objective and costs none of them."""
    setting = _Setting(problem)
    stage = setting.stage
    if stage is None:
        return [Claim("unbounded", False, "every bound is finite")]
    name = f"{problem.label(stage.objective)} is unbounded"
    floors = setting.floors
    if not setting.usable.safe[problem.rows.initial > 0].all():
        text = "no policy that keeps what is more important has a total"
        return [*setting.claims, Claim(name, False, text)]
    walk = even_walk(problem.rows, setting.usable)
    lowered = {j: f - 1e-9 * max(1.0, abs(f)) for j, f in floors.items()}
    for part in _PARTS if walk is not None else ():
        assert walk is not None
        flow = best_flow(problem.rows, walk, part, stage.objective, lowered, with_loop=True)
        if flow is None or flow.loop is None:
            continue
        gains = _loop_gains(problem, flow.loop)
        values = values_of(problem, flow)
        size = problem.sizes
        kept = all(
            gains[j] > 1e-9 * size[j]
            or (
                gains[j] >= -1e-9 * size[j]
                and float(values[j].low) >= f - problem.tolerance * max(1.0, abs(f))
            )
            for j, f in floors.items()
        )
        if kept and gains[stage.objective] > 1e-9 * size[stage.objective]:
            text = (
                f"a loop of {int((flow.loop > 0).sum())} choices pays "
                f"{gains[stage.objective]:.6g} a round and is reached with all floors kept"
            )
            return [*setting.claims, Claim(name, True, text)]
    text = "no loop that pays is reached by a policy that keeps what is more important"
    return [*setting.claims, Claim(name, False, text)]


def divergence_claims(problem: Problem) -> list[Claim]:
    """No policy that keeps the floors has a total of the objective."""
    if problem.solution.policies == "deterministic":
        text = "the search for deterministic policies leaves no duals, and is not repeated"
        return [Claim("divergence", None, text)]
    setting = _Setting(problem)
    stage = setting.stage
    if stage is None:
        return [Claim("divergence", False, "every bound is finite")]
    name = f"{problem.label(stage.objective)} has no total"
    rows = problem.rows
    if not setting.usable.safe[rows.initial > 0].all():
        text = "every choice that loses nothing more important leads to paying for ever"
        return [*setting.claims, Claim(name, True, text)]
    walk = even_walk(rows, setting.usable)
    flow = None if walk is None else best_flow(rows, walk, 0.0, None, setting.floors)
    if flow is not None:
        weights = [simple_fraction(flow.prices.get(j, 0.0)) for j in range(len(problem.intervals))]
        bound = prove_bound(problem.model, setting.usable, weights)
        needed = sum(weights[j] * simple_fraction(f) for j, f in setting.floors.items())
        if bound.total is not None and bound.total < needed:
            text = f"policies with a total have {float(bound.total):.6g} of what needs {float(needed):.6g}"
            return [*setting.claims, Claim(name, True, text)]
    return [*setting.claims, Claim(name, False, "a policy that keeps the floors may have one")]


def supremum_claims(problem: Problem) -> list[Claim]:
    """Policies come as near to the bound as one likes; those that would attain it do not."""
    solution = problem.solution
    key = np.asarray(solution.key)[: len(problem.intervals)]
    bound = np.asarray(solution.bound)
    size = np.maximum(1.0, np.abs(np.where(np.isfinite(bound), bound, 1.0)))
    short = key < bound - problem.tolerance * size
    if not short.any():
        return [Claim("supremum", False, "the policy attains the bound")]
    i = int(np.argmax(short))
    place = next(n for n, s in enumerate(problem.stages) if s.objective == i)
    floors = {
        s.objective: float(bound[s.objective]) for s in problem.stages[:place] if s.objective != i
    }
    relevant = np.zeros(len(bound), dtype=bool)
    relevant[[s.objective for s in problem.stages[: place + 1]]] = True
    proven = stage_bounds(problem, place + 1, dict(floors))
    usable = usable_choices(problem.rows, relevant, *without_losses(problem, proven[:-1]))
    target = float(bound[i])
    gaps = _gaps(problem, usable, i, floors, target)
    name = f"the bound on {problem.label(i)} is approached"
    near = len(gaps) > 1 and gaps[-1] <= max(1e-3 * gaps[0], 1e-5 * size[i])
    text = f"policies come within {', '.join(f'{g:.3g}' for g in gaps)} of {target:.6g}"
    claims = [Claim(name, bool(near), text)]
    claims.append(_not_attained(problem, relevant, proven[-1], floors, i, target))
    return claims


def _gaps(
    problem: Problem, usable: Usable, objective: int, floors: dict[int, float], target: float
) -> list[float]:
    """How near policies that keep the floors come, the less they use of the even walk."""
    walk = even_walk(problem.rows, usable)
    gaps = []
    for part in (1e-1, 1e-3, 1e-5) if walk is not None else ():
        assert walk is not None
        flow = best_flow(problem.rows, walk, part, objective, floors)
        if flow is None:
            continue
        values = values_of(problem, flow)
        room = {j: 1e-7 * max(1.0, abs(f)) for j, f in floors.items()}
        if all(float(values[j].low) >= f - room[j] for j, f in floors.items()):
            gaps.append(target - float(values[objective].low))
    return gaps


def _not_attained(
    problem: Problem,
    relevant: np.ndarray,
    proven: StageBound,
    floors: dict[int, float],
    objective: int,
    target: float,
) -> Claim:
    """Whoever attains the bound uses only choices that lose nothing against it: these cannot reach it."""
    name = "no policy attains it"
    if proven.bound is None or proven.most is None:
        return Claim(name, False, "no bound is proven")
    weights = np.array([float(w) for w in proven.weights])
    excess, _ = problem.rows.excess(weights, proven.bound.values)
    size = 1 + float(np.abs(proven.bound.values).max(initial=0.0))
    usable = usable_choices(problem.rows, relevant, excess >= -1e-6 * size)
    if not usable.safe[problem.rows.initial > 0].all():
        return Claim(name, True, "no policy is left that loses nothing")
    walk = even_walk(problem.rows, usable)
    flow = None if walk is None else best_flow(problem.rows, walk, 0.0, objective, floors)
    if flow is None:
        return (
            Claim(name, True, "no policy that loses nothing keeps the floors")
            if walk
            else Claim(name, None, "")
        )
    prices = [simple_fraction(flow.prices.get(j, 0.0)) for j in range(len(relevant))]
    prices[objective] = simple_fraction(1.0)
    bound = prove_bound(problem.model, usable, prices)
    if bound.total is not None:
        most = bound.total - sum(prices[j] * simple_fraction(f) for j, f in floors.items())
        if float(most) < target - problem.tolerance * max(1.0, abs(target)):
            text = f"choices that lose nothing against it have at most {float(most):.6g}"
            return Claim(name, True, text)
    return Claim(name, False, "a policy may attain it")


def values_of(problem: Problem, flow: Flow) -> list[Interval]:
    """Of the policy that a flow is the occupancy of."""
    policy, stay = flow_policy(problem.rows, flow, problem.mdp.num_actions)
    chain = policy_rows(problem.rows, policy, stay)
    model: Any = problem.model
    numbers = policy_integers(model, chain, policy, stay) if model.exact else Floats(chain)
    return policy_values(numbers)


def _loop_gains(problem: Problem, loop: np.ndarray) -> np.ndarray:
    """What a circulation pays, from the loops that the policy of its shares never leaves."""
    rows = problem.rows
    used = loop > 1e-9 * loop.max(initial=0.0)
    choice, target = rows.edges
    inside = np.zeros(rows.num_states, dtype=bool)
    inside[rows.state[used]] = True
    nothing = np.full(rows.reward.shape[1], -np.inf)
    if (used & rows.ends).any() or not inside[target[used[choice]]].all():
        return nothing
    total = np.bincount(rows.state[used], loop[used], rows.num_states)
    members = np.flatnonzero(inside)
    pick = sparse.csr_array(
        (loop[used] / total[rows.state[used]], (rows.state[used], np.flatnonzero(used))),
        shape=(rows.num_states, len(loop)),
    )[members]
    chain = sparse.csr_array(pick @ rows.matrix)[:, members]
    paid = pick @ np.where(rows.nothing, 0.0, rows.reward)
    count, part = csgraph.connected_components(chain, connection="strong")
    gains = np.zeros(rows.reward.shape[1])
    for n in range(count):
        own = np.flatnonzero(part == n)
        mass = total[members[own]].sum()
        gains += mass * (time_shares(sparse.csr_array(chain[own][:, own])) @ paid[own])
    return gains
