"""Continuous worlds whose optimum can be computed: what they are, and how one is stepped through in JAX.

A world has states x in a box, actions u between bounds, and noise w from a list of values with their chances:

    x' = move(x, u, w),   K rewards pay(x, u, x'),   the episode ends where over(x'), or else with probability 1 − γ

Learners see only ``reset`` and ``step``. The grid that gives the optimum (`_world_grid`) is made of the very same
functions, which therefore take the array library as ``xp`` and any leading axes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lexicone._base.checks import check_seed, check_type, check_whole
from lexicone.exact._linear_quadratic import LinearQuadraticSolution
from lexicone.exact._solve import Solution, solve
from lexicone.models._linear_quadratic import LinearQuadratic, matrix_root
from lexicone.order import Order, OrderLike, as_order, match_names

if TYPE_CHECKING:
    from lexicone.tasks._world_grid import Grid

__all__ = ["BoxWorld", "LinearWorld", "Optimum", "World"]


class Optimum(NamedTuple):
    """The best that can be had in a world, and how that is known."""

    values: Float[np.ndarray, " K"]
    """Expected returns of an episode, in the order's sequence."""
    order: Order
    how: str
    """In a few words."""
    solution: Solution | LinearQuadraticSolution
    grid: "Grid | None" = None
    """The grid that was solved; None where the optimum is exact."""


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """A world in JAX, as `train` takes it, with an optimum to compare with."""

    name: str
    description: str
    reward_names: tuple[str, ...]
    """Of the K objectives, most important first."""
    thresholds: tuple[float, ...]
    """K−1 that make it interesting."""
    actions: tuple[tuple[float, ...], tuple[float, ...]]
    """The least and the most of each number that is chosen."""
    gamma: float
    """The probability that an episode goes on after a step; with 1 it ends at a goal."""
    max_steps: int
    """After which an episode is cut off: long enough that it hardly ever matters to a good policy."""

    @property
    def order(self) -> Order:
        """The objectives with these thresholds."""
        return Order(self.thresholds, names=self.reward_names)

    def __repr__(self) -> str:
        return f"<world {self.name}: {', '.join(self.reward_names)}>"

    def _places(self, order: OrderLike | None) -> tuple[Order, list[int]]:
        """The order, and where each of its objectives stands in the world's rewards."""
        order = self.order if order is None else as_order(order).at_gamma(1.0)
        if len(order) != len(self.reward_names):
            raise ValueError(
                f"order: has {len(order)} objectives, and {self.name} has {len(self.reward_names)}: "
                f"{', '.join(self.reward_names)}"
            )
        return order, list(match_names(order, self.reward_names, self.name))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BoxWorld(World):
    """States in a box of few dimensions: a grid of them is a model, whose exact optimum is near the world's."""

    state_names: tuple[str, ...]
    """Of the n numbers that make up a state."""
    low: tuple[float, ...]
    high: tuple[float, ...]
    """The box, n numbers each. ``move`` stays inside it."""
    start: tuple[tuple[float, ...], tuple[float, ...]]
    """Episodes begin anywhere between these, all equally likely."""
    noise: tuple[tuple[float, ...], ...]
    """The values of w."""
    chances: tuple[float, ...]
    """Of each; they sum to 1."""
    move: Callable[[Any, Any, Any, Any], Any]
    """``(x […,n], u […,m], w […,d], xp) -> x' […,n]``."""
    pay: Callable[[Any, Any, Any, Any], Any]
    """``(x, u, x', xp) -> rewards […,K]``."""
    over: Callable[[Any, Any], Any] | None = None
    """``(x', xp) -> […]``, where an episode has reached its goal; nowhere if None."""
    grids: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """From coarse to fine: how many points along each axis of the states, and of the actions."""

    def reset(self, key: Any) -> tuple[Any, Any]:
        """``key -> (observation, state)``, which are the same."""
        import jax
        import jax.numpy as jnp

        low, high = (jnp.asarray(bound, float) for bound in self.start)
        x = jax.random.uniform(key, low.shape, minval=low, maxval=high)
        return x, x

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, ...]:
        """``key, state, action -> (observation, state, reward, terminated, truncated, info)``."""
        import jax
        import jax.numpy as jnp

        which, end = jax.random.split(key)
        w = jax.random.choice(which, jnp.asarray(self.noise), p=jnp.asarray(self.chances))
        x = self.move(state, action, w, jnp)
        reward = self.pay(state, action, x, jnp)
        over = jnp.asarray(False) if self.over is None else self.over(x, jnp)
        survival = jnp.where(over, 0.0, self.gamma)
        if self.gamma < 1:
            over = over | ~jax.random.bernoulli(end, self.gamma)
        return x, x, reward, over, jnp.asarray(False), {"survival": survival}

    def optimum(self, order: OrderLike | None = None, *, grid: int = 1) -> Optimum:
        """The exact optimum of a grid, which is near the world's own: see `trend` for how near.

        Args:
            order: by default the world's own thresholds. The same names in another sequence reorder the objectives.
            grid: which of ``grids``, from 0 (coarse, quick) to 2.
        """
        from lexicone.tasks._world_grid import make_grid

        check_whole(0, grid=grid)
        if grid >= len(self.grids):
            raise ValueError(f"grid: expected 0 to {len(self.grids) - 1}, got {grid}")
        order, places = self._places(order)
        points, levels = self.grids[int(grid)]
        table = make_grid(self, points, levels)
        found = solve(table.model.reorder(places), order, gamma=self.gamma)
        size = "×".join(map(str, points))
        how = f"grid of {size} states and {'×'.join(map(str, levels))} actions"
        return Optimum(found.values, order, how, found, table)

    def simulate(
        self, optimum: Optimum, *, episodes: int = 2000, seed: Any = 0
    ) -> Float[np.ndarray, "E K"]:
        """Returns of episodes in the world itself with the policy of a grid: what the grid's values are worth."""
        from lexicone.tasks._world_grid import run_grid_policy

        check_type("optimum", optimum, Optimum, "an optimum of this world")
        check_whole(episodes=episodes)
        check_seed(seed)
        return run_grid_policy(self, optimum, int(episodes), seed)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LinearWorld(World):
    """A linear–quadratic model as a world: its optimum is exact."""

    model: LinearQuadratic

    @cached_property
    def _roots(self) -> tuple[np.ndarray, np.ndarray]:
        return matrix_root(self.model.initial), matrix_root(self.model.noise)

    def reset(self, key: Any) -> tuple[Any, Any]:
        """``key -> (observation, state)``, which are the same."""
        import jax
        import jax.numpy as jnp

        x = jnp.asarray(self._roots[0], float) @ jax.random.normal(key, (self.model.num_states,))
        return x, x

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, ...]:
        """``key, state, action -> (observation, state, reward, terminated, truncated, info)``."""
        import jax
        import jax.numpy as jnp

        model, (noisy, end) = self.model, jax.random.split(key)
        both = jnp.concatenate([state, action])
        reward = -jnp.einsum("i,kij,j->k", both, jnp.asarray(model.costs, float), both)
        shock = jnp.asarray(self._roots[1], float) @ jax.random.normal(noisy, state.shape)
        x = jnp.asarray(model.A, float) @ state + jnp.asarray(model.B, float) @ action + shock
        over = ~jax.random.bernoulli(end, model.gamma)
        return x, x, reward, over, jnp.asarray(False), {"survival": jnp.asarray(model.gamma, float)}

    def optimum(self, order: OrderLike | None = None) -> Optimum:
        """The exact optimum; its gain never comes near the bounds of the actions."""
        order, places = self._places(order)
        found = solve(self.model.reorder(places), order)
        assert isinstance(found, LinearQuadraticSolution)
        return Optimum(found.values, order, "exact: Riccati equations", found)

    def simulate(
        self, optimum: Optimum, *, episodes: int = 2000, seed: Any = 0
    ) -> Float[np.ndarray, "E K"]:
        """Returns of episodes with the optimum's gain, in the order's sequence."""
        check_type("optimum", optimum, Optimum, "an optimum of this world")
        solution = optimum.solution
        assert isinstance(solution, LinearQuadraticSolution)
        model = self.model.reorder(self._places(optimum.order)[1])
        return model.simulate(solution.gain, solution.noise, episodes=episodes, seed=seed)
