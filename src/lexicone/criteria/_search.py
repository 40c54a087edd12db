"""A lexicographic problem as a sequence of constrained ones (related work; appendix "Multiple Constrained Objectives").

If the first k thresholds can be met together, their order does not matter: they are constraints. The search finds
the largest such k. Each of its subproblems maximises objective m subject to the thresholds before it,

    max V_m   s.t.   V_j ≥ τ_j  for all j < m,

which has one of three answers: τ_m is met, so k ≥ m; it is missed, so k = m−1 exactly; nothing keeps the
constraints, so k < m−1. The paper stops there, but objective k+1 still has to be *maximised* and kept before the
rest counts: it stays at its maximum, and the search goes on behind it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Bool, Float

from lexicone._base.checks import check_function, check_kind, check_range, check_seed, check_whole
from lexicone._base.threads import one_thread
from lexicone.criteria._augment import Augmented, Chances, augmentation_with_cuts
from lexicone.criteria._chance_answers import best_answer, key_of, tail_means, with_stays
from lexicone.criteria._constrained import (
    Answer,
    ConstrainedSolver,
    ExactSolver,
    Subproblem,
    rounding_room,
)
from lexicone.criteria._tails import cuts_to_try
from lexicone.exact._highs import Outcome
from lexicone.exact._report import reward_scale
from lexicone.models._evaluation import estimate
from lexicone.models._matching import match_order
from lexicone.models._mdp import MDP, check_model
from lexicone.order import Criterion, Order, OrderLike

if TYPE_CHECKING:
    from lexicone.criteria._constrained_learners import ConstrainedLearner

__all__ = ["Search", "Solver", "Strategy", "search"]

Strategy = Literal["one_by_one", "binary", "dynamic"]
Solver = Literal["exact", "q_learning", "lagrangian"]

_INFINITE_FROM = 1e20  # of an objective's scale: infinite, as the linear programs have it


@dataclass(frozen=True, eq=False, kw_only=True)
class Search:
    """What `search` found."""

    status: str
    """As in `lexicone.exact.Status` for the exact solver; "learned" otherwise: nothing is proven."""
    message: str
    values: Float[np.ndarray, " K"]
    """The expected returns of the policy (with `stay`, if there is one)."""
    key: Float[np.ndarray, " K"]
    """What was maximised, in order: ``min(V_j, τ_j)``, ``E[min(R_j, τ_j)]`` for the episode criterion, or
    ``min(P(R_j ≥ τ_j), p_j)`` where a threshold has a chance p_j; then V_K. Of the worst episodes, their mean."""
    policy: Any
    """``[S,A]`` probabilities; with the criteria episode and chance a `Lifted` policy, which has memory."""
    chances: Chances | None
    """How probable it is that an episode meets the thresholds; None with the expected criterion."""
    tails: Float[np.ndarray, " K"] | None
    """The means of the worst episodes where the order asks for them, NaN elsewhere; None where it asks for none. Where
    such a mean has a threshold, the policy's own may be larger."""
    satisfied: Bool[np.ndarray, " K-1"]
    """Which thresholds are met: in expectation, by every episode, or by as many as their chance says."""
    stay: Float[np.ndarray, " N"] | None
    """With status "needs memory", as in `lexicone.exact.Solution`, of the model that was solved; budgets are memory
    enough, so not by episodes. By chance, values that `policy` alone does not have are then NaN."""
    subproblems: int
    """How many constrained problems were solved (or tried)."""
    trace: tuple[Subproblem, ...]
    """They themselves. What an exact solver missed comes with a certificate."""
    order: Order
    gamma: float
    strategy: Strategy
    solver: Solver
    criterion: Criterion
    augmented: Augmented | None
    """The model that was solved, if it was the augmented one."""


@one_thread()
def search(
    mdp: MDP,
    order: OrderLike,
    strategy: Strategy = "binary",
    solver: Solver = "exact",
    *,
    gamma: float = 1.0,
    criterion: Criterion = "expected",
    tolerance: float | None = None,
    max_states: int = 200_000,
    steps: int = 200_000,
    seeds: int = 8,
    rounds: int = 10,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Search:
    """The best policy, by constrained problems only.

    Args:
        mdp: the model; learners sample it, and use its tables only to evaluate what they have learned.
        order: the thresholds; names are matched with the model's, and results have the order's sequence.
        strategy: ``"one_by_one"`` tries m = 1, 2, …: K subproblems. ``"binary"`` halves what is left, about log₂ K
            until the first miss. Behind a miss it tries the next objective alone, then the next two, four, …: for 33
            objectives 4 subproblems with a single miss in the middle, 38 if all are missed, 51 if every second one is
            (one by one 18, 33 and 33). ``"dynamic"`` lets constraints enter and leave by attainable performance,
            after Hayes et al. (2020), who set thresholds so. Exactly: a threshold that the last solution already
            meets enters without a subproblem of its own. Learned: one run of ``rounds`` stretches goes on from its
            own table. A threshold that is met enters as a constraint at once. One on which three stretches bring no
            progress leaves: the best value attained takes its place, and the next objective has its turn. If a
            later policy meets it after all, it enters again.
        solver: ``"exact"``; ``"q_learning"``, on the augmented model (episode criterion only); ``"lagrangian"``, a
            policy gradient with multipliers that rise while a floor is missed.
        gamma: the discount.
        criterion: thresholds on ``"expected"`` returns, or on each ``"episode"`` (then the augmented model is
            solved, and thresholds are met if every episode meets them), or by ``"chance"``: where the order has
            ``at_least(τ, chance=p)``, ``P(R ≥ τ) ≥ p``; with ``worst=α`` the mean over the worst share α of
            episodes; other thresholds then hold for the mean.
        tolerance: of values, relative above 1: what counts as met; by default 1e-6, and 0.02 for "lagrangian".
        max_states: of the augmented model.
        steps: of environment, for each of ``seeds`` parallel runs of a learner, for each subproblem.
        seeds: parallel runs; the best is taken.
        rounds: stretches of ``steps/rounds`` steps for a learner with ``"dynamic"``.
        seed: of the learners.
        progress: called with a line of text for each subproblem.
    """
    check_kind("solver", solver, get_args(Solver))
    if tolerance is None:
        tolerance = 0.02 if solver == "lagrangian" else 1e-6
    check_model(mdp, gamma)
    check_function("progress", progress, optional=True)
    check_seed(seed)
    check_kind("criterion", criterion, get_args(Criterion))
    mdp, order = match_order(mdp, order, gamma=gamma, criterion=criterion)
    _check(order, strategy, solver, criterion, tolerance)
    check_whole(steps=steps, seeds=seeds, rounds=rounds, max_states=max_states)
    if criterion != "expected":
        check_range("gamma", gamma, 0, 1, above=True)
    cuts = cuts_to_try(mdp, order, gamma, max_states) if criterion == "chance" else [{}]

    def answer(cut: dict[int, float]) -> Search:
        augmented, model, asked, discount = None, mdp, order, gamma
        if criterion != "expected":
            rewards = "vector" if criterion == "episode" else "chance"
            augmented = augmentation_with_cuts(
                mdp, order, rewards, cut, gamma=gamma, max_states=max_states
            )
            model, asked, discount = augmented.mdp, augmented.asked, augmented.solve_gamma
        run = _SearchRun(model, asked, discount, tolerance, progress)
        if solver == "exact":
            found = run.exactly(strategy)
        else:
            from lexicone.criteria._constrained_learners import CONSTRAINED_LEARNERS

            engine = CONSTRAINED_LEARNERS[solver](
                model, asked, discount, tolerance, steps, seeds, seed
            )
            found = run.by_learning(strategy, engine, rounds)
        policy, values, chances = found.policy, found.values, None
        if augmented is not None:
            found = _deterministic_if_as_good(run, found)
            policy = augmented.lift(found.policy)
            values, chances = policy.values, policy.chances
            if found.stay is not None:
                values, chances = with_stays(order, found.values)
        tails = tail_means(order, cut, found.values)
        return Search(
            status=found.status,
            message=found.message,
            values=values,
            key=key_of(order, asked, found.values, tails),
            policy=policy,
            chances=chances,
            tails=tails if cut else None,
            satisfied=found.satisfied,
            stay=found.stay,
            subproblems=len(run.trace),
            trace=tuple(run.trace),
            order=order,
            gamma=gamma,
            strategy=strategy,
            solver=solver,
            criterion=criterion,
            augmented=augmented,
        )

    answers = [answer(cut) for cut in cuts]
    return replace(best_answer(answers), subproblems=sum(a.subproblems for a in answers))


class _PolicyFound(NamedTuple):
    """The end of a search, on the model that was searched."""

    status: str
    message: str
    policy: Float[np.ndarray, "N A"]
    values: Float[np.ndarray, " K"]
    satisfied: Bool[np.ndarray, " K-1"]
    stay: Float[np.ndarray, " N"] | None = None


class _SearchRun:
    """The search itself, for any engine that maximises an objective given floors."""

    def __init__(
        self,
        model: MDP,
        order: Order,
        gamma: float,
        tolerance: float,
        progress: Callable[[str], None] | None,
    ) -> None:
        self.model, self.order, self.gamma, self.tolerance = model, order, gamma, tolerance
        self.progress = progress
        far = [_INFINITE_FROM * size for size in reward_scale(model)]
        limits = [*order.thresholds, math.inf]
        limits = [
            t if abs(t) < most else math.copysign(math.inf, t)
            for t, most in zip(limits, far, strict=True)
        ]
        self.plan = [i for i in range(len(order)) if limits[i] > -math.inf]
        self.limits = {i: limits[i] for i in self.plan}
        self.floors: dict[int, float] = {}
        self.trace: list[Subproblem] = []

    def exactly(self, strategy: Strategy) -> _PolicyFound:
        """With linear programs."""
        engine = ExactSolver(self.model, self.order, self.gamma)
        outcome, objective = Outcome.OPTIMAL, self.plan[-1]
        if engine.pairs.num_states:
            outcome, objective = self._walk(engine, strategy)
        found = engine.solution(outcome, objective, self.floors, self.tolerance)
        return _PolicyFound(
            str(found.status),
            found.message,
            found.policy,
            found.values,
            found.satisfied,
            found.stay,
        )

    def by_learning(
        self, strategy: Strategy, engine: "ConstrainedLearner", rounds: int
    ) -> _PolicyFound:
        """With a learner; the message says what it did not find."""
        if strategy == "dynamic":
            engine.run(self.plan, self.limits, self.floors, rounds, self._note)
        else:
            self._walk(engine, strategy)
        policy = engine.policy
        assert policy is not None  # the first problem has no floors: some policy answers it
        values = estimate(self.model, policy, self.gamma)
        satisfied = np.array(
            [
                v >= t - rounding_room(t, self.tolerance)
                for v, t in zip(values, self.order.thresholds, strict=False)
            ],
            dtype=bool,
        )
        names = self.order.names or self.model.objective_labels
        missed = [f"objective {i + 1} ({names[i]})" for i in np.flatnonzero(~satisfied)]
        message = "learned: all thresholds are met"
        if missed:
            message = (
                f"learned: no policy that meets {', '.join(missed)} was found within the budget, "
                "which does not prove that there is none"
            )
        return _PolicyFound("learned", message, policy, values, satisfied)

    def _walk(self, engine: ConstrainedSolver, strategy: Strategy) -> tuple[Outcome, int]:
        """Find the first objective that is missed, decide it, and go on behind it; the last is always missed."""
        low, last = 0, len(self.plan) - 1
        while True:
            found = self._first_missed(engine, strategy, low)
            i = found.objective
            if not found.attained:  # then nothing is best, and what comes after does not matter
                self.floors[i] = found.value
                return Outcome.OPTIMAL, i
            if found.answer is not Answer.MISSED:
                outcome = {
                    Answer.UNBOUNDED: Outcome.UNBOUNDED,
                    Answer.INFEASIBLE: Outcome.INFEASIBLE,
                }.get(found.answer, Outcome.FAILED)
                return outcome, i
            if self.plan.index(i) == last:
                self.floors[i] = found.value
                return Outcome.OPTIMAL, i
            self.floors[i] = engine.decide(found)
            low = self._met_already(found, strategy, self.plan.index(i) + 1)

    def _first_missed(self, engine: ConstrainedSolver, strategy: Strategy, low: int) -> Subproblem:
        """Everything from ``low`` on that can be met becomes a floor; the answer for the first that cannot.

        Nothing behind an infinite threshold is tried: that one is always missed.
        """
        walls = [n for n in range(low, len(self.plan)) if self.limits[self.plan[n]] == math.inf]
        top, beyond, ahead = walls[0], None, 1 if low else 0
        while True:
            place = low
            if strategy == "binary":
                place = min(low + ahead - 1, top) if ahead else (low + top + 1) // 2
            i = self.plan[place]
            before = {j: self.limits[j] for j in self.plan[low:place]}
            found = engine.maximize(i, self.limits[i], {**self.floors, **before})
            self._note(found)
            if found.answer in (Answer.INFEASIBLE, Answer.NOT_FOUND) and place > low:
                top, beyond, ahead = place - 1, found, 0
                continue
            self.floors.update(before)
            if found.answer is not Answer.MET or not found.attained:
                return found
            self.floors[i] = engine.decide(found)
            low, ahead = self._met_already(found, strategy, place + 1), 2 * ahead
            if low > top:
                if beyond is not None and beyond.answer is Answer.INFEASIBLE:
                    return beyond  # although all before it can be met
                top = low

    def _met_already(self, found: Subproblem, strategy: Strategy, low: int) -> int:
        """With "dynamic": thresholds that the last solution meets become floors at once."""
        while strategy == "dynamic" and low < len(self.plan) - 1:
            i = self.plan[low]
            if not found.values[i] >= self.limits[i]:
                break
            self.floors[i] = self.limits[i]
            low += 1
        return low

    def _note(self, found: Subproblem) -> None:
        self.trace.append(found)
        if self.progress is not None:
            self.progress(
                f"subproblem {len(self.trace)}: objective {found.objective + 1} subject to "
                f"{len(found.floors)} constraints: {found.answer}, {found.value:.6g}"
            )


def _deterministic_if_as_good(run: _SearchRun, found: _PolicyFound) -> _PolicyFound:
    """The policy without chance, if its likeliest actions are as good: with budgets, chance is never needed."""
    table = found.policy
    if found.stay is not None or (table.max(axis=1) == 1).all():
        return found
    fixed = np.eye(table.shape[1])[table.argmax(axis=1)]
    values = estimate(run.model, fixed, run.gamma)
    ours, theirs = (np.asarray(run.order.key(v)) for v in (values, found.values))
    room = 0.1 * run.tolerance
    same = np.allclose(ours, theirs, rtol=room, atol=room)
    return found._replace(policy=fixed, values=values) if same else found


def _check(order: Order, strategy: str, solver: str, criterion: str, tolerance: float) -> None:
    check_kind("strategy", strategy, get_args(Strategy))
    if order.break_ties:
        raise ValueError("order: break_ties asks for more than constraints can say; use solve")
    check_range("tolerance", tolerance, 0, math.inf, above=True, below=True)
    if solver == "q_learning" and criterion != "episode":
        raise ValueError(
            "solver: Q-learning needs the budgets in the state and never flips a coin; use "
            'criterion="episode", or "lagrangian"'
        )
