"""A continuous world as a model: states on a grid, and after each step the nearest points by interpolation.

A step from grid point x leads to x' = move(x, u, w), which lies between 2ⁿ points of the grid. Each of them follows
with its weight in the multilinear interpolation of x'. So the mean stays where it is, values are interpolated
linearly, and the error falls with the distance between points. In the world itself the grid's policy acts as the
points around x do, each as often as its weight.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse

from lexicone.exact._solve import Solution
from lexicone.models._factors import Factors
from lexicone.models._mdp import MDP
from lexicone.models._rows import Rows
from lexicone.tasks._world import BoxWorld, Optimum

__all__ = ["Grid", "make_grid", "run_grid_policy"]

_START = 15  # places along each axis of the starts for which the grid stands in
_NEGLIGIBLE = 1e-12  # of an interpolation weight


class Grid(NamedTuple):
    """A world's states and actions in finite numbers."""

    model: MDP
    """The last state is the end, if there is a goal."""
    points: tuple[int, ...]
    actions: Float[np.ndarray, "A m"]

    def around(
        self, world: BoxWorld, x: Float[np.ndarray, "E n"]
    ) -> tuple[Int[np.ndarray, "E c"], Float[np.ndarray, "E c"]]:
        """The grid points around places, and their weights."""
        return _corners(world, self.points, x)


def make_grid(world: BoxWorld, points: tuple[int, ...], levels: tuple[int, ...]) -> Grid:
    """The model of a world on a grid with so many points and so many levels of each action."""
    axes = [np.linspace(a, b, n) for a, b, n in zip(world.low, world.high, points, strict=True)]
    states = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    ranges = zip(*world.actions, levels, strict=True)
    actions = np.array(list(itertools.product(*(np.linspace(a, b, n) for a, b, n in ranges))))
    count, end = len(states), len(states)  # the end comes last
    terminal = np.zeros(count + 1, dtype=bool)
    terminal[end] = True
    if world.over is not None:
        terminal[:end] = world.over(states, np)
    going = np.flatnonzero(~terminal[:end])
    transition, reward = _tables(world, points, states[going], actions, end)
    rows = Rows(
        offsets=np.concatenate([[0], np.cumsum(~terminal)]) * len(actions),
        action=np.tile(np.arange(len(actions)), len(going)),
        ends=transition.indptr,
        next_state=transition.indices,
        probability=transition.data,
        reward=np.repeat(reward, np.diff(transition.indptr), axis=0),
    )
    initial = np.zeros(count + 1)
    at, weight = _corners(world, points, _starts(world))
    np.add.at(initial, at.ravel(), weight.ravel() / len(at))
    model = MDP.from_rows(
        rows,
        initial,
        terminal,
        objective_names=world.reward_names,
        factors=Factors(world.state_names, np.vstack([states, np.full((1, len(axes)), np.nan)])),
    )
    return Grid(model, points, actions)


def _tables(
    world: BoxWorld, points: tuple[int, ...], states: np.ndarray, actions: np.ndarray, end: int
) -> tuple[sparse.csr_array, np.ndarray]:
    """What follows each state and action, ``[C,S+1]``, and the expected rewards ``[C,K]``."""
    shape = (len(states) * len(actions), end + 1)
    x = np.repeat(states, len(actions), axis=0)
    u = np.tile(actions, (len(states), 1))
    number = np.arange(len(x))
    total = sparse.csr_array(shape)
    reward: np.ndarray | float = 0.0
    for w, chance in zip(world.noise, world.chances, strict=True):
        after = world.move(x, u, np.broadcast_to(np.asarray(w, float), (len(x), len(w))), np)
        reward = reward + chance * world.pay(x, u, after, np)
        over = np.zeros(len(x), bool) if world.over is None else np.asarray(world.over(after, np))
        at, weight = _corners(world, points, after)
        at, weight = np.where(over[:, None], end, at), weight * chance
        keep = weight > _NEGLIGIBLE
        entries = (weight[keep], (np.broadcast_to(number[:, None], at.shape)[keep], at[keep]))
        total = total + sparse.coo_array(entries, shape=shape).tocsr()
    return total, np.asarray(reward)


def _corners(
    world: BoxWorld, points: tuple[int, ...], x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The 2ⁿ points around each place, as numbers of states, and their weights."""
    low, high, count = np.array(world.low), np.array(world.high), np.array(points)
    place = np.clip((x - low) / (high - low) * (count - 1), 0, count - 1)
    cell = np.minimum(place.astype(int), count - 2)
    part = place - cell
    at, weight = [], []
    for corner in itertools.product((0, 1), repeat=len(points)):
        at.append(np.ravel_multi_index(tuple((cell + corner).T), points))
        weight.append(np.prod(np.where(corner, part, 1 - part), axis=-1))
    return np.stack(at, axis=-1), np.stack(weight, axis=-1)


def _starts(world: BoxWorld) -> np.ndarray:
    """Middles of equal parts of where episodes begin."""
    middles = (np.arange(_START) + 0.5) / _START
    axes = [a + (b - a) * middles if b > a else [a] for a, b in zip(*world.start, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def run_grid_policy(
    world: BoxWorld, optimum: Optimum, episodes: int, seed: int
) -> Float[np.ndarray, "E K"]:
    """Returns of episodes in the world itself, in the sequence of the optimum's order."""
    grid, solution = optimum.grid, optimum.solution
    assert grid is not None
    assert isinstance(solution, Solution)
    rng = np.random.default_rng(seed)
    policy = np.asarray(solution.policy).cumsum(axis=1)
    low, high = map(np.asarray, world.start)
    x = rng.uniform(low, high, (episodes, len(low)))
    returns = np.zeros((episodes, len(world.reward_names)))
    running = np.arange(episodes)
    noise, chances = np.array(world.noise), np.cumsum(world.chances)
    for _ in range(_longest(world)):
        at, weight = grid.around(world, x)
        chosen = _draw(weight.cumsum(axis=1), rng)
        state = np.take_along_axis(at, chosen[:, None], axis=1)[:, 0]
        u = grid.actions[_draw(policy[state], rng)]
        w = noise[np.searchsorted(chances, rng.random(len(x)) * chances[-1], side="right")]
        after = world.move(x, u, w, np)
        returns[running] += world.pay(x, u, after, np)
        on = rng.random(len(x)) < world.gamma
        if world.over is not None:
            on &= ~np.asarray(world.over(after, np))
        running, x = running[on], after[on]
        if not running.size:
            break
    return returns[:, world._places(optimum.order)[1]]


def _draw(sums: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One number of each row, from running sums of chances."""
    return (sums <= rng.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)


def _longest(world: BoxWorld) -> int:
    """Steps after which no episode is left that matters."""
    return (
        world.max_steps if world.gamma == 1 else math.ceil(math.log(1e-6) / math.log(world.gamma))
    )
