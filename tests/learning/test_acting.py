"""Policies of several runs in NumPy act as the compiled ones do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.learning._acting import Acting, draw_segment
from lexicone.learning._distributions import log_probability
from lexicone.learning._networks import Network
from lexicone.learning._normalise import Moments, standardise
from lexicone.learning._spaces import read_actions
from lexicone.learning.algos._segment_ppo import Agent

RUNS, COPIES = 2, 400
SPACES = {"choices": read_actions((2, 3)), "numbers": read_actions(([-1.0, -2.0], [1.0, 2.0]))}


def agents(kind: str) -> Agent:
    """Of two runs, with weights large enough that what is seen matters."""
    actions = SPACES[kind]

    def one(key):
        seen = Moments(jnp.array(9.0), jnp.array([1.0, -2.0]), jnp.array([4.0, 0.25]))
        std = 0.3 * jnp.arange(len(actions.low)) - 1.0
        return Agent(Network(2, (5,), actions.outputs, key, activation="tanh"), std, seen)

    return jax.vmap(one)(jax.random.split(jax.random.key(3), RUNS))


@pytest.mark.parametrize("kind", SPACES)
def test_outputs_are_those_of_the_network(kind):
    both = agents(kind)
    rows = np.random.default_rng(0).normal(size=(RUNS, 7, 2)) * [
        3.0,
        100.0,
    ]  # some beyond ten deviations
    expected = jax.vmap(lambda agent, seen: agent.policy(standardise(agent.seen, seen)))(both, rows)
    found = Acting(SPACES[kind], both).outputs(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(found[0] - found[1]).max() > 0.01  # each run has its own


@pytest.mark.parametrize("kind", SPACES)
def test_what_is_drawn_has_the_policys_probabilities(kind):
    """Against the distribution that learns from it, which shares no code with it."""
    actions, both = SPACES[kind], agents(kind)
    keys = jax.random.split(jax.random.key(0), RUNS)
    drawn = np.asarray(draw_segment(actions, keys, 50, COPIES, np.dtype(float)))
    assert drawn.shape == (50, RUNS, COPIES, actions.parts)
    act = Acting(actions, both)
    row = np.array([2.0, -1.5])
    taken = np.stack([act(np.tile(row, (RUNS, COPIES, 1)), now) for now in drawn], axis=1)
    for run in range(RUNS):
        agent = jax.tree.map(lambda leaf, run=run: leaf[run], both)
        output = agent.policy(standardise(agent.seen, jnp.asarray(row[None])))
        sample = taken[run].reshape(-1, actions.parts)
        if kind == "numbers":
            np.testing.assert_allclose(sample.mean(axis=0), output[0], atol=0.02)
            np.testing.assert_allclose(sample.std(axis=0), np.exp(agent.log_std), rtol=0.03)
            continue
        pairs = np.array([[i, j] for i in range(2) for j in range(3)])
        outputs = jnp.repeat(output, 6, axis=0)
        share = np.exp(log_probability(actions, outputs, agent.log_std, jnp.asarray(pairs)))
        counted = [(sample == pair).all(axis=1).mean() for pair in pairs]
        np.testing.assert_allclose(counted, share, atol=0.015)
        assert np.ptp(share) > 0.05
