"""Learners for the constrained problems of `lexicone.search`: Q-learning on a scalar reward, and the Lagrangian.

They see samples. What they learn is evaluated exactly, so a policy that keeps the floors is known to do so; if none
is found, that proves nothing.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from lexicone.criteria import _lagrangian as lagrangian
from lexicone.criteria._augment_rewards import common_unit, with_rewards
from lexicone.criteria._constrained import Answer, Subproblem, rounding_room
from lexicone.models._evaluation import evaluate
from lexicone.models._mdp import MDP
from lexicone.order import Order
from lexicone.qlearning._exploration import Visits
from lexicone.qlearning._learn import tlq

__all__ = ["CONSTRAINED_LEARNERS", "ConstrainedLearner", "LagrangianLearner", "ScalarQLearning"]

_PATIENCE = 3  # stretches without progress after which a constraint leaves


class ConstrainedLearner:
    """Keeps every policy it has learned: the best of all that keep the floors is its answer."""

    def __init__(
        self,
        mdp: MDP,
        order: Order,
        gamma: float,
        tolerance: float,
        steps: int,
        seeds: int,
        seed: int,
    ) -> None:
        self.mdp, self.order, self.gamma, self.tolerance = mdp, order, gamma, tolerance
        self.steps, self.seeds, self.seed = steps, seeds, seed
        self.max_episode_steps = int(np.clip(4 * mdp.num_states, 50, 1000))
        self.policies: list[np.ndarray] = []
        self.values: list[np.ndarray] = []
        self.policy: np.ndarray | None = None
        self.runs = 0

    def learn(
        self, objective: int, floors: dict[int, float], steps: int, continues: bool
    ) -> np.ndarray:
        """Candidate policies ``[C,S,A]``; ``continues`` from where the last call ended."""
        raise NotImplementedError

    def maximize(self, objective: int, threshold: float, floors: dict[int, float]) -> Subproblem:
        """The best known policy for one constrained problem, after learning anew."""
        self._take(self.learn(objective, floors, self.steps, continues=False))
        return self.best(objective, threshold, floors)

    def decide(self, found: Subproblem) -> float:
        """The floor of an objective that was learned: its threshold if that is met, up to the tolerance."""
        return found.threshold if found.answer is Answer.MET else found.value

    def run(
        self,
        plan: list[int],
        limits: dict[int, float],
        floors: dict[int, float],
        rounds: int,
        note: Callable[[Subproblem], None],
    ) -> None:
        """One run of many stretches; ``floors`` fill up as constraints enter and leave (see `lexicone.search`)."""
        stale, before, continues = 0, -np.inf, False
        for _ in range(rounds):
            i = plan[min(len(floors), len(plan) - 1)]
            self._take(self.learn(i, dict(floors), max(1, self.steps // rounds), continues))
            continues = True
            if self._enters_again(plan, limits, floors):
                stale, before = 0, -np.inf
                continue
            found = self.best(i, limits[i], floors)
            note(found)
            same = found.value <= before + rounding_room(found.value, self.tolerance)
            stale = stale + 1 if same else 0
            before = max(before, found.value)
            if i != plan[-1] and (found.answer is Answer.MET or stale >= _PATIENCE):
                floors[i] = self.decide(found)
                stale, before = 0, -np.inf
        for i in plan:
            if i not in floors:
                floors[i] = self.decide(self.best(i, limits[i], floors))

    def _enters_again(
        self, plan: list[int], limits: dict[int, float], floors: dict[int, float]
    ) -> bool:
        """Whether a constraint that had left can be kept higher by now; what is behind it is decided anew."""
        for place, i in enumerate(plan):
            if i not in floors:
                return False
            first = {j: floors[j] for j in plan[:place]}
            floor = self.decide(self.best(i, limits[i], first))
            if floor > floors[i] + rounding_room(floors[i], self.tolerance):
                floors[i] = floor
                for j in plan[place + 1 :]:
                    floors.pop(j, None)
                return True
        return False

    def best(self, objective: int, threshold: float, floors: dict[int, float]) -> Subproblem:
        """Of all policies learned so far."""
        rows = np.array(self.values)
        keeps = np.ones(len(rows), dtype=bool)
        for j, floor in floors.items():
            keeps &= rows[:, j] >= floor - rounding_room(floor, self.tolerance)
        count = len(self.order)
        nothing = np.full(count, np.nan)
        if not keeps.any():
            return Subproblem(
                objective,
                threshold,
                dict(floors),
                Answer.NOT_FOUND,
                np.nan,
                nothing,
                np.zeros(count),
                np.nan,
            )
        chosen = int(np.argmax(np.where(keeps, rows[:, objective], -np.inf)))
        self.policy = self.policies[chosen]
        value = float(rows[chosen, objective])
        met = value >= threshold - rounding_room(threshold, self.tolerance)
        return Subproblem(
            objective,
            threshold,
            dict(floors),
            Answer.MET if met else Answer.MISSED,
            value,
            rows[chosen],
            np.zeros(count),
            np.nan,
        )

    def _take(self, candidates: np.ndarray) -> None:
        for policy in candidates:
            self.policies.append(policy)
            self.values.append(evaluate(self.mdp, policy, self.gamma))


class ScalarQLearning(ConstrainedLearner):
    """Q-learning (a `tlq` with one objective) on the objective plus heavy weights on those that have floors.

    One unit that is missing of a floor outweighs what an episode without loops can gain elsewhere.
    """

    table: Float[np.ndarray, "S A 1"] | float = 0.0

    def learn(
        self, objective: int, floors: dict[int, float], steps: int, continues: bool
    ) -> np.ndarray:
        """The greedy policies of all runs."""
        mdp = self.mdp
        paid = mdp.reward[mdp.probability > 0]
        size = np.abs(paid).max(axis=0)
        longest_episode = int(np.count_nonzero(mdp.reachable()))
        weights = np.zeros(len(self.order))
        weights[objective] = 1.0
        later = longest_episode * max(size[objective], 1e-9)
        for j in sorted(floors, reverse=True):
            unit = common_unit(paid[:, j]) or 0.05 * size[j] or 1.0
            weights[j] = min(later / unit, 1e6)
            later += weights[j] * size[j]
        scalar = with_rewards(mdp, (mdp.reward @ weights)[..., None])
        self.runs += 1
        found = tlq(
            scalar,
            Order([]),
            "gabor",
            gamma=self.gamma,
            seeds=self.seeds,
            steps=steps,
            max_episode_steps=self.max_episode_steps,
            learning_rate=Visits(1.0, 10.0),
            initial=self.table if continues else 0.0,
            log_points=1,
            seed=self.seed + self.runs,
        )
        self.table = found.q.mean(axis=0)
        return found.policy


class LagrangianLearner(ConstrainedLearner):
    """The learner of `lexicone.criteria._lagrangian`."""

    state: lagrangian.LagrangianState | None = None

    def learn(
        self, objective: int, floors: dict[int, float], steps: int, continues: bool
    ) -> np.ndarray:
        """Last and average policies of all runs."""
        self.runs += 1
        self.state, policies = lagrangian.learn(
            self.mdp,
            objective,
            floors,
            self.gamma,
            steps=steps,
            seeds=self.seeds,
            max_episode_steps=self.max_episode_steps,
            seed=self.seed + self.runs,
            before=self.state if continues else None,
        )
        return policies


CONSTRAINED_LEARNERS: dict[str, type[ConstrainedLearner]] = {
    "q_learning": ScalarQLearning,
    "lagrangian": LagrangianLearner,
}
"""By the names of `search`'s solvers."""
