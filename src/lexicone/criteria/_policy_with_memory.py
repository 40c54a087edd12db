"""A policy with memory: what a policy of an augmented model is on the model itself."""

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from jaxtyping import Float

from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_index, check_text, check_type
from lexicone.exact._state_actions import all_state_actions
from lexicone.exact._stay_for_ever import occupancy_for_ever
from lexicone.models._evaluation import evaluate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lexicone.criteria._augment import Augmented, Chances
    from lexicone.models._simulation import Simulation

__all__ = ["Lifted"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Lifted:
    """Acts by the state and the budgets that are left. The memory is the number of an augmented state.

    >>> import lexicone as lx
    >>> mdp, order, rng = lx.tasks.maze("concave"), lx.Order([0.5]), np.random.default_rng(0)
    >>> augmented = lx.augmentation(mdp, order)
    >>> lifted = augmented.lift(lx.solve(augmented.mdp, order).policy)
    >>> state = int(np.flatnonzero(mdp.initial)[0])
    >>> memory = lifted.begin(state)
    >>> action = lifted.act(memory, rng)
    >>> next_state, reward = mdp.next_state[state, action, 0], mdp.reward[state, action, 0]
    >>> memory = lifted.advance(memory, action, next_state, reward)
    """

    augmented: "Augmented"
    table: Float[np.ndarray, "N A"]
    """Probabilities of actions in each augmented state."""

    def begin(self, state: SupportsIndex) -> int:
        """The memory at the start of an episode in that state."""
        original = self.augmented.original
        check_index("state", state, original.num_states)
        starts = np.flatnonzero(self.augmented.mdp.initial)
        own = starts[self.augmented.state[starts] == index(state)]
        if not len(own):
            raise ValueError(f"state: no episode starts in {original.state_label(int(state))}")
        return int(own[0])

    def act(self, memory: int, rng: np.random.Generator) -> int:
        """An action, drawn from the policy."""
        check_index("memory", memory, len(self.table))
        check_type("rng", rng, np.random.Generator, "a numpy.random.Generator")
        return int(rng.choice(self.table.shape[1], p=self.table[memory]))

    def advance(self, memory: int, action: int, next_state: SupportsIndex, reward: Any) -> int:
        """The memory after a step of the original model that paid K rewards."""
        model, original = self.augmented.tracked, self.augmented.original
        check_index("memory", memory, model.num_states)
        check_index("action", action, model.num_actions)
        check_index("next_state", next_state, original.num_states)
        following = model.next_state[memory, action]
        fits = self.augmented.state[following] == index(next_state)
        fits &= model.probability[memory, action] > 0
        if not fits.any():
            raise ValueError(
                f"next_state: {model.action_label(action)} in {model.state_label(memory)} "
                f"does not lead to {original.state_label(int(next_state))}"
            )
        paid = as_numbers("reward", reward)
        if paid.shape != (original.num_objectives,) or np.isnan(paid).any():
            raise ValueError(f"reward: expected {original.num_objectives} numbers, got {reward!r}")
        off = np.abs(model.reward[memory, action] - paid).max(axis=-1)
        return int(following[np.argmin(np.where(fits, off, np.inf))])

    @cached_property
    def values(self) -> Float[np.ndarray, " K"]:
        """The K expected returns, exactly."""
        return evaluate(self.augmented.tracked, self.table, self.augmented.gamma)

    @cached_property
    def chances(self) -> "Chances":
        """How probable it is that an episode meets the thresholds, exactly."""
        return self.augmented.chances(self.table)

    @cached_property
    def occupancy(self) -> Float[np.ndarray, "N A"]:
        """How often each action is expected to be taken in each augmented state; ∞ where it goes on for ever."""
        pairs = all_state_actions(self.augmented.tracked, self.augmented.gamma)
        found = np.zeros_like(self.table)
        shares = self.table[pairs.states].ravel()
        found[pairs.states] = occupancy_for_ever(pairs, shares).reshape(len(pairs.states), -1)
        return found

    def simulate(self, episodes: int = 100, **options: Any) -> "Simulation":
        """Episodes of the original model: its states, its rewards; ``options`` as for `lexicone.simulate`."""
        from lexicone.models._simulation import simulate

        options.setdefault("gamma", self.augmented.gamma)
        found = simulate(self.augmented.tracked, self.table, episodes, **options)
        if found.trajectories is None:
            return found
        states = self.augmented.state[found.trajectories.states].astype(np.int32)
        return found._replace(trajectories=found.trajectories._replace(states=states))

    @cached_property
    def shadow(self) -> tuple[Float[np.ndarray, "S A"], Float[np.ndarray, "S A"]]:
        """What it does in each state of the original, whatever the budgets: shares of actions, and how often.

        Where it never goes the shares are those of action 0. Good for drawings; it is not the same policy.
        """
        original = self.augmented.original
        total = np.zeros((original.num_states, original.num_actions))
        np.add.at(total, self.augmented.state, self.occupancy)
        shares = np.where(np.isinf(total).any(axis=1, keepdims=True), np.isinf(total), total)
        shares[shares.sum(axis=1) == 0, 0] = 1.0
        return shares / shares.sum(axis=1, keepdims=True), total

    def draw(self, title: str | None = None) -> "Figure":
        """Its shadow, on the map or as a graph."""
        check_text("title", title, optional=True)
        from lexicone.plots._models import draw_model

        return draw_model(self.augmented.original, *self.shadow, title)
