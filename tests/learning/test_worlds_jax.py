"""What is taken as a world in JAX: gymnax before 1.0, parameters, and the adapters that the documentation shows."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.learning._named_worlds import find_world
from lexicone.learning._prepare import prepare
from lexicone.learning._worlds_jax import is_jax_world, open_jax_world
from lexicone.learning.algos._ppo import PPO
from lexicone.order import Order
from tests.contracts.test_documents import blocks_of
from tests.helpers.small_worlds import EndsOrIsCut

PAGE = Path(__file__).parents[2] / "docs" / "own-environment.md"
ORDER = Order([0.0])


class Params(NamedTuple):
    max_steps_in_episode: int = 3
    goal: float = 2.5


class Place(NamedTuple):
    x: Any
    time: Any


class Old:
    """As gymnax was before 1.0: one ``done``, which time ends, too."""

    default_params = Params()
    num_actions = 2
    name = "Old"

    def reset_env(self, key: Any, params: Params) -> tuple[Any, Any]:
        state = Place(jnp.zeros(()), jnp.int32(0))
        return state.x[None], state

    def step_env(self, key: Any, state: Place, action: Any, params: Params) -> tuple[Any, ...]:
        after = Place(state.x + action, state.time + 1)
        done = (after.x >= params.goal) | (after.time >= params.max_steps_in_episode)
        return after.x[None], after, jnp.zeros(()), done, {}

    def step(self, key: Any, state: Any, action: Any, params: Any = None) -> Any:
        raise AssertionError("it would begin anew by itself")

    def reset(self, key: Any, params: Any = None) -> Any:
        raise AssertionError


def pay(state: Any, action: Any, after: Any) -> list[Any]:
    return [after.x, -1.0 * action]


def ends(task: Any, action: int, count: int) -> list[tuple[bool, bool]]:
    world = open_jax_world(task, ORDER, rewards=pay)
    _, state = world.reset(jax.random.key(0))
    found = []
    for _ in range(count):
        _, state, reward, over, cut, _ = world.step(jax.random.key(1), state, jnp.int32(action))
        assert reward.shape == (2,)
        found.append((bool(over), bool(cut)))
    return found


def test_gymnax_before_its_first_version_and_parameters():
    no, over, cut = (False, False), (True, False), (False, True)
    assert ends(Old(), 0, 3) == [no, no, cut]
    quick = (Old(), Params(max_steps_in_episode=5, goal=1.5))
    assert is_jax_world(quick)
    assert ends(quick, 1, 2) == [no, over]
    assert ends(quick, 0, 5)[-1] == cut
    assert open_jax_world(quick, ORDER, rewards=pay).limit == 5
    assert not is_jax_world((Params(), Old()))


def test_gymnax_itself():
    gymnax = pytest.importorskip("gymnax")
    made = gymnax.make("MountainCarContinuous-v0")
    world = open_jax_world(made, ORDER, rewards=lambda s, a, n: [n.position, -(a[0] ** 2)])
    assert (world.inputs, world.actions.low, world.limit) == (2, (-1.0,), 999)


def alike(first: Any, then: Any) -> tuple[Any, Any]:
    """A world whose state is ``first`` at the beginning, and ``then`` after a step."""
    step = lambda key, state, action: (jnp.zeros(1), then, jnp.zeros(2), False, False, {})  # noqa: E731
    return (lambda key: (jnp.zeros(1), first)), step


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            alike({"time": 0}, {"time": 1.0}),
            r"a state\['time'\] of int\d+\[\] from reset and of fl",
        ),
        (alike(jnp.zeros(2), jnp.zeros(3)), r"a state of float\d+\[2\] from reset and of .*\[3\]"),
        (alike((0, 0), (0,)), r"another kind of state or observation from step"),
    ],
)
def test_states_stay_what_they_are(task, message):
    assert open_jax_world(alike({"time": 0}, {"time": 1}), ORDER, actions=2).inputs == 1
    with pytest.raises(ValueError, match=rf"^task: .* returns {message}"):
        open_jax_world(task, ORDER, actions=2)


def test_images_need_a_function():
    def world(shape: tuple[int, ...]) -> tuple[Any, Any]:
        shown = {"seen": jnp.zeros(shape), "more": jnp.zeros(2)}
        step = lambda key, state, action: (shown, state, jnp.zeros(2), False, False, {})  # noqa: E731
        return (lambda key: (shown, 0)), step

    assert open_jax_world(world((4, 4)), ORDER, actions=2).inputs == 18
    with pytest.raises(ValueError, match=r"shape \(4, 4, 3\), images as it seems.* as features"):
        open_jax_world(world((4, 4, 3)), ORDER, actions=2)
    given = open_jax_world(world((4, 4, 3)), ORDER, actions=2, features=lambda o: o["seen"])
    assert given.inputs == 48


@pytest.mark.parametrize("given", [EndsOrIsCut, lambda: EndsOrIsCut()])
def test_a_class_or_a_function_that_makes_one(given):
    prepared = prepare(given, ORDER, PPO())
    assert (prepared.facts.world, prepared.facts.inputs) == ("jax", 1)
    with pytest.raises(ValueError, match=r"^task: made a Params, not a gymnasium.Env"):
        prepare(Params, ORDER, PPO())


@pytest.mark.parametrize("name", ["World", "make"])
def test_a_class_or_a_function_in_a_file(name, tmp_path):
    path = tmp_path / "worlds.py"
    path.write_text(
        "import jax.numpy as jnp\n"
        "class World:\n"
        "    def __init__(self, choices=2): self.actions = choices\n"
        "    def reset(self, key): return jnp.zeros(1), 0\n"
        "    def step(self, key, state, action):\n"
        "        return jnp.zeros(1), state, jnp.zeros(2), True, False, {}\n"
        "def make(choices=2): return World(choices)\n"
    )
    found = prepare(f"{path}:{name}", ORDER, PPO()).facts
    assert (found.world, found.environment_id) == ("jax", f"{path}:{name}")
    found = prepare(find_world(f"{path}:{name}", {"choices": 3}), ORDER, PPO()).facts
    assert (found.action_spec.sizes, found.environment_options) == ((3,), {"choices": 3})


def brax() -> Any:
    """Like one of brax: all is in the state, a single reward, done as a number."""

    class State(NamedTuple):
        obs: Any
        reward: Any
        done: Any

    def begin(key: Any) -> State:
        return State(jnp.zeros(3), jnp.zeros(()), jnp.zeros(()))

    def go(state: State, action: Any) -> State:
        obs = state.obs + jnp.sum(action)
        return State(obs, obs[0], (obs[0] > 1).astype(float))

    return SimpleNamespace(reset=begin, step=go, action_size=2)


def jumanji() -> Any:
    """Like one of jumanji: steps are told by an object with a discount."""

    class TimeStep(NamedTuple):
        observation: Any
        reward: Any
        discount: Any
        kind: Any

        def last(self) -> Any:
            return self.kind == 2

    jax.tree_util.register_pytree_node(
        TimeStep, lambda t: (tuple(t), None), lambda _, leaves: TimeStep(*leaves)
    )

    def begin(key: Any) -> Any:
        return jnp.zeros(()), TimeStep({"x": jnp.zeros(2)}, jnp.zeros(()), jnp.ones(()), 0)

    def go(state: Any, action: Any) -> Any:
        after = state + 1
        ended, late = action == 1, after >= 3
        shown = {"x": jnp.stack([after, 0.0])}
        discount = jnp.where(ended, 0.0, 1.0)
        return after, TimeStep(shown, 1.0, discount, jnp.where(ended | late, 2, 1))

    return SimpleNamespace(reset=begin, step=go)


def test_the_adapters_of_the_page():
    names: dict[str, Any] = {"jnp": jnp}
    (block,) = (text for _, text in blocks_of(PAGE) if "class FromBrax" in text)
    exec(block, names)
    world = open_jax_world(
        names["FromBrax"](brax()), ORDER, rewards=lambda s, a, n: [n.reward, -a[0]]
    )
    assert (world.inputs, world.actions.low, world.limit) == (3, (-1.0, -1.0), 1000)
    row, state = world.reset(jax.random.key(0))
    row, state, reward, over, _, _ = world.step(jax.random.key(1), state, jnp.ones(2))
    np.testing.assert_allclose(reward, [2.0, -1.0])
    assert bool(over)
    world = open_jax_world(
        names["FromJumanji"](jumanji(), 2), ORDER, rewards=lambda s, a, n: [n, -1.0 * a]
    )
    row, state = world.reset(jax.random.key(0))
    found = []
    for action in (0, 0, 0, 1):
        row, state, _, over, cut, _ = world.step(jax.random.key(1), state, jnp.int32(action))
        found.append((bool(over), bool(cut)))
    assert found == [(False, False)] * 2 + [(False, True), (True, False)]
    np.testing.assert_allclose(row, [4.0, 0.0])
