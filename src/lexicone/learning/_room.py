"""How much memory a training takes, told before any of it is taken."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from lexicone._base.memory import check_memory
from lexicone.learning._episodes import SMALL_TABLE
from lexicone.learning._plan import Plan
from lexicone.learning._problem import Problem

__all__ = ["check_segments", "check_size"]

_COPIES = 2  # of the states of runs: before an update and after it


def check_size(learner: Any, problem: Problem, plan: Plan, variants: int = 1) -> None:
    """A ValueError if the runs' states, their batches of episodes or their history do not fit into memory."""
    runs = plan.seeds * variants
    item = problem.thresholds.dtype.itemsize
    _check_states(learner, partial(learner.init, problem), runs)
    objectives = problem.sizes.objectives
    rows = plan.rows * runs * item * (3 * objectives + objectives**2)
    check_memory("log_every", rows, f"a history of {plan.rows} rows")
    steps = learner.batch * learner.max_steps
    if problem.env is None:
        check_memory("learner", steps * item * problem.sizes.inputs, f"a batch of {steps} steps")
        return
    states, actions, _ = problem.env.next_state.shape
    kept = plan.snapshots * runs * states * actions * item
    check_memory("snapshots", kept, f"{plan.snapshots} snapshots")
    each = 8 * (objectives + 1) + (states * actions if states * actions <= SMALL_TABLE else 0)
    what = f"batches of {learner.batch} episodes of up to {learner.max_steps} steps, for {runs} runs at once,"
    check_memory("max_steps", runs * steps * each * item, what)


def check_segments(learner: Any, problem: Any, plan: Plan, begin: Callable[[Any], Any]) -> None:
    """The same where runs learn from segments; ``begin(key)`` is the state with which one begins."""
    runs, item = plan.seeds, problem.thresholds.dtype.itemsize
    inputs, actions, objectives = problem.sizes
    each = 4 * inputs + 2 * actions.outputs + 8 * objectives
    steps = learner.copies * learner.length
    what = f"segments of {learner.copies} copies × {learner.length} steps"
    check_memory("length", steps * each * item, what)
    _check_states(learner, begin, runs)
    widths = sum(learner.hidden) + sum(learner.critic_hidden or learner.hidden)
    each += (objectives + 1) * widths
    check_memory("seeds", runs * steps * each * item, f"{what}, for {runs} runs at once,")
    rows = plan.rows * runs * item * (6 * objectives + objectives**2)
    check_memory("log_every", rows, f"a history of {plan.rows} rows")


def _check_states(learner: Any, begin: Callable[[Any], Any], runs: int) -> None:
    try:
        of_one = _size(jax.eval_shape(begin, jax.random.key(0)))
    except OverflowError:
        raise ValueError(f"learner: its state is too large for any memory: {learner!r}") from None
    check_memory(
        "learner",
        _COPIES * of_one,
        "the state of one run (its networks and what the optimiser keeps)",
    )
    check_memory("seeds", _COPIES * of_one * runs, f"the state of {runs} runs")


def _size(tree: Any) -> int:
    return sum(math.prod(leaf.shape) * _item(leaf.dtype) for leaf in jax.tree.leaves(tree))


def _item(dtype: Any) -> int:
    return getattr(dtype, "itemsize", 8)
