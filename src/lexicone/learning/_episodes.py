"""Episodes for learning, collected by one compiled loop over a model.

The policy is a table of all states, so a step is a few look-ups, and the loop keeps one number per step: which entry
of the model's tables was used. The rest is read off afterwards. The loop stops when every episode has ended, also when
many runs are vmapped: see `RUNS`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from lexicone._base.checks import check_range, check_type, check_whole
from lexicone.learning._random_bits import uniforms
from lexicone.models._environment import Environment, action_bounds, check_key, draw_index

__all__ = [
    "RUNS",
    "SMALL_TABLE",
    "Episodes",
    "collect",
    "collect_with",
    "spread_credit",
    "sum_by_state",
    "sum_over_steps",
    "visits",
]

SMALL_TABLE = 4096  # up to so many entries a product with zeros and ones is faster than sums
_BLOCK = 32  # steps

RUNS = "runs"
"""The name that the axis of runs needs in ``jax.vmap(…, axis_name=RUNS)``.

With it the runs agree when to stop. Without it the result is the same, but JAX then copies every recorded step at every
step, to keep runs that have ended as they were.
"""


class Episodes(NamedTuple):
    """N episodes, time first, padded to T steps. After its end an episode has reward 0 and is not alive."""

    state: Int[Array, "T N"]
    action: Int[Array, "T N"]
    reward: Float[Array, "T N K"]
    alive: Bool[Array, "T N"]
    """Whether the step was taken."""
    last: Int[Array, " N"]
    """The state in which the episode stopped."""
    terminated: Bool[Array, " N"]
    """It stopped in a terminal state; else it was cut off."""

    @property
    def returns(self) -> Float[Array, "N K"]:
        """Undiscounted."""
        return jnp.sum(self.reward, axis=0)

    @property
    def steps(self) -> Int[Array, ""]:
        """How many were taken in all."""
        return jnp.sum(self.alive)


def collect(
    env: Environment, policy: Float[Array, "S A"], key: Any, *, episodes: int, max_steps: int
) -> Episodes:
    """Run episodes of a policy.

    Args:
        env: the compiled model.
        policy: probabilities of actions.
        key: a JAX key.
        episodes: how many, all at once.
        max_steps: of each at most.
    """
    check_type("env", env, Environment, "an Environment")
    check_key("key", key)
    check_whole(episodes=episodes)
    check_range("max_steps", max_steps, 1, 2**31 - 1, whole=True)
    if not isinstance(policy, jax.Array) or policy.shape != env.next_state.shape[:2]:
        raise ValueError(
            f"policy: expected a JAX array of shape {env.next_state.shape[:2]}, got {policy!r}"
        )
    act = lambda state, time: (policy[state], ())  # noqa: E731
    return collect_with(env, act, key, episodes=episodes, max_steps=max_steps)[0]


def collect_with(
    env: Environment,
    act: Callable[[Int[Array, " N"], Int[Array, ""]], tuple[Float[Array, "N A"], PyTree]],
    key: Any,
    *,
    episodes: int,
    max_steps: int,
) -> tuple[Episodes, PyTree]:
    """The same for a policy that is a function: ``act(states, time) -> (probabilities, notes)``.

    The notes (any pytree of arrays ``[N,…]``) of every step are returned with the episodes, ``[T,N,…]``.
    """
    num_states, num_actions, branches = env.next_state.shape
    dtype = env.start.dtype
    # For one successor the draw is not used: then only choices and starts are drawn.
    draws = uniforms(key, 0, (1 + (1 if branches == 1 else 2) * max_steps, episodes), dtype)
    choices, moves = draws[1 : 1 + max_steps], draws[-max_steps:]
    first = jax.vmap(draw_index, (None, 0))(env.start, draws[0])
    bounds = env.cumulative.reshape(num_states * num_actions, branches)
    successors = env.next_state.reshape(-1)

    def unfinished(carry: Any) -> Array:
        time, _, alive, _, _ = carry
        return (time < max_steps) & _in_any_run(jnp.any(alive))

    def step(carry: Any) -> Any:
        time, state, alive, log, notes = carry
        probabilities, note = act(state, time)
        allowed = None if env.available is None else env.available[state]
        beyond = action_bounds(probabilities, allowed).astype(dtype)
        choice = state * num_actions + jax.vmap(draw_index)(beyond, choices[time])
        entry = choice * branches + jax.vmap(draw_index)(bounds[choice], moves[time])
        after = jnp.where(alive, successors[entry], state)
        log = log.at[time].set(jnp.where(alive, entry, -1))
        notes = jax.tree.map(lambda all, new: all.at[time].set(new), notes, note)
        return time + 1, after, alive & ~env.terminal[after], log, notes

    log = jnp.full((max_steps, episodes), -1, jnp.int32)
    notes = jax.tree.map(
        lambda note: jnp.zeros((max_steps, *note.shape), note.dtype),
        jax.eval_shape(act, first, jnp.int32(0))[1],
    )
    begin = (jnp.int32(0), first, ~env.terminal[first], log, notes)
    _, last, _, log, notes = jax.lax.while_loop(unfinished, step, begin)
    alive = log >= 0
    entry = jnp.where(alive, log, 0)
    reward = env.reward.reshape(-1, env.reward.shape[-1])[entry]
    choice = entry // branches
    found = Episodes(
        state=choice // num_actions,
        action=choice % num_actions,
        reward=jnp.where(alive[..., None], reward, 0.0),
        alive=alive,
        last=last,
        terminated=env.terminal[last],
    )
    return found, notes


def _in_any_run(flag: Array) -> Array:
    """Whether the flag is set in any of the vmapped runs."""
    return _longest_run(flag.astype(jnp.int32)) > 0


def spread_credit(
    episodes: Episodes, credit: Float[Array, "T N K"], log_table: Float[Array, "S A"]
) -> Float[Array, "K S A"]:
    """The derivative of ``Σ_t ln π(a_t|s_t)·credit_t`` by the table ``ln π``, for each of the K credits.

    Pulled back through the network (`pull_back_all`) this makes all K policy gradients.
    """
    num_actions, size = log_table.shape[1], log_table.size
    credit = jnp.where(episodes.alive[..., None], credit, 0.0)
    index = (episodes.state * num_actions + episodes.action).reshape(-1)
    flat = credit.reshape(-1, credit.shape[-1])
    if size <= SMALL_TABLE:
        totals = flat.T @ jax.nn.one_hot(index, size, dtype=flat.dtype)
    else:
        totals = jnp.zeros((flat.shape[1], size), flat.dtype).at[:, index].add(flat.T)
    return totals.reshape(-1, *log_table.shape)


def visits(episodes: Episodes, log_table: Float[Array, "S A"]) -> Float[Array, " S"]:
    """How often each state was acted in."""
    taken = episodes.alive.astype(log_table.dtype)[..., None]
    return sum_by_state(episodes, taken, log_table)[0]


def sum_by_state(
    episodes: Episodes, credit: Float[Array, "T N K"], log_table: Float[Array, "S A"]
) -> Float[Array, "K S"]:
    """The sum of each of K credits over the steps in each state, whatever was done there."""
    one_action = episodes._replace(action=jnp.zeros_like(episodes.action))
    return spread_credit(one_action, credit, log_table[:, :1])[..., 0]


def sum_over_steps(
    part: Callable[..., PyTree],
    credit: Float[Array, "T N K"],
    alive: Bool[Array, "T N"],
    *arrays: Any,
) -> PyTree:
    """The sum of ``part(credit, *arrays)`` over blocks of steps, whose rows ``[T,N,…]`` become ``[M,…]``.

    It stops after the last step that was taken: episodes are often far shorter than their cap. Rows that were not
    taken, or that a block before had, come with credit 0.
    """
    count, lanes = alive.shape
    size = min(_BLOCK, count)
    length = _longest_run(jnp.sum(jnp.any(alive, axis=1)))
    credit = jnp.where(alive[..., None], credit, 0.0)

    def block(begin: Array) -> PyTree:
        first = jnp.minimum(begin, count - size)

        def rows(array: Array) -> Array:
            own = jax.lax.dynamic_slice_in_dim(array, first, size)
            return own.reshape(size * lanes, *array.shape[2:])

        fresh = jnp.repeat(first + jnp.arange(size) >= begin, lanes)
        return part(jnp.where(fresh[:, None], rows(credit), 0.0), *jax.tree.map(rows, arrays))

    def add(carry: tuple[Array, PyTree]) -> tuple[Array, PyTree]:
        begin, total = carry
        return begin + size, jax.tree.map(jnp.add, total, block(begin))

    zero = jax.tree.map(
        lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(block, length)
    )
    begin = (jnp.zeros_like(length), zero)
    return jax.lax.while_loop(lambda carry: carry[0] < length, add, begin)[1]


def _longest_run(length: Array) -> Array:
    """The largest among the vmapped runs; its own where they have no name."""
    try:
        return jax.lax.pmax(length, RUNS)
    except NameError:
        return length
