import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lexicone.learning import _networks as networks
from lexicone.learning._networks import (
    Critics,
    Network,
    dropout_masks,
    log_policy,
    policy_gradients,
)

KEY = jax.random.key(0)


def make(inputs, hidden, outputs, **options):
    return jax.jit(lambda key: Network(inputs, hidden, outputs, key, **options))(KEY)


masks_of = jax.jit(dropout_masks, static_argnums=(1, 2))
table_of = jax.jit(log_policy)


def paper_policy():
    return make(20, (128,), 4)


def test_the_papers_policy_has_its_size():
    sizes = [leaf.shape for leaf in jax.tree.leaves(paper_policy())]
    assert sizes == [(128, 20), (128,), (4, 128), (4,)]
    assert all(jnp.abs(leaf).max() <= 20**-0.5 for leaf in jax.tree.leaves(paper_policy()))


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [(), (8,), (8, 5)])
def test_numbers_and_none_stand_for_one_hot_vectors(hidden):
    network = make(6, hidden, 3, activation="tanh")
    table = network(jnp.eye(6))
    np.testing.assert_allclose(network(None), table, atol=1e-12)
    states = jnp.array([4, 0, 4])
    np.testing.assert_allclose(network(states), table[states], atol=1e-12)
    assert network.widths == hidden


def test_a_layer_is_what_it_says():
    network = make(2, (3,), 2)
    first, last = network.layers
    x = np.array([[0.3, -2.0]])
    hidden = np.maximum(x @ np.asarray(first.weight).T + np.asarray(first.bias), 0)
    expected = hidden @ np.asarray(last.weight).T + np.asarray(last.bias)
    np.testing.assert_allclose(network(jnp.asarray(x)), expected, atol=1e-12)
    halved = network(jnp.asarray(x), [jnp.array([[0.0, 1.0, 2.0]])])
    expected = (hidden * [0, 1, 2]) @ np.asarray(last.weight).T + np.asarray(last.bias)
    np.testing.assert_allclose(halved, expected, atol=1e-12)


def test_last_scale_begins_almost_uniform():
    table = np.exp(table_of(make(9, (16,), 4, last_scale=1e-3), None))
    np.testing.assert_allclose(table, 0.25, atol=1e-3)
    assert np.abs(np.exp(table_of(make(9, (16,), 4), None)) - 0.25).max() > 0.01


def test_temperature_divides_the_preferences():
    network = make(3, (), 2)
    odds = network(None)[:, 0] - network(None)[:, 1]
    for temperature in (1.0, 10.0):
        log_table = log_policy(network, None, temperature)
        np.testing.assert_allclose(log_table[:, 0] - log_table[:, 1], odds / temperature)
        np.testing.assert_allclose(jnp.exp(log_table).sum(axis=1), 1)


def test_dropout_drops_its_share_and_keeps_the_mean():
    (mask,) = masks_of(paper_policy(), 400, 0.6, KEY)
    kept = np.asarray(mask) > 0
    assert mask.shape == (400, 128)
    np.testing.assert_allclose(np.asarray(mask)[kept], 2.5)
    assert stats.binomtest(int(kept.sum()), kept.size, 0.4).pvalue > 1e-4
    assert stats.binomtest(int(kept.sum()), kept.size, 0.41).pvalue < 1e-4
    assert stats.chisquare(kept.sum(axis=1)).pvalue > 1e-4  # rows alike
    assert abs(np.corrcoef(kept[:-1].ravel(), kept[1:].ravel())[0, 1]) < 0.02  # and independent


def test_dropout_differs_in_time_and_key_and_layer():
    network = make(4, (64, 64), 2)
    now = masks_of(network, 3, 0.5, KEY, 0)
    later = masks_of(network, 3, 0.5, KEY, 1)
    other = masks_of(network, 3, 0.5, jax.random.key(1), 0)
    drawn = [np.asarray(mask) for masks in (now, later, other) for mask in masks]
    assert len(drawn) == 6
    for i, first in enumerate(drawn):
        for second in drawn[:i]:
            assert 0.3 < np.mean(first == second) < 0.7
    again = masks_of(network, 3, 0.5, KEY, 0)
    np.testing.assert_array_equal(again[1], now[1])


def test_no_dropout_draws_nothing():
    assert dropout_masks(paper_policy(), 400, 0.0, KEY) == ()
    with pytest.raises(ValueError, match="rate: must be at least 0 and below 1, got 1"):
        dropout_masks(paper_policy(), 4, 1.0, KEY)


@pytest.mark.slow
@pytest.mark.parametrize(("hidden", "few"), [((), 256), ((5, 3), 256), ((5,), 1)])
def test_all_policy_gradients_in_one_pass_are_those_of_autodiff(hidden, few, monkeypatch):
    monkeypatch.setattr(networks, "_ONE_HOT_INPUTS", few)
    network = make(6, hidden, 4, activation="relu" if few > 1 else "tanh")
    rng = np.random.default_rng(0)
    states, actions = jnp.asarray(rng.integers(0, 6, 9)), jnp.asarray(rng.integers(0, 4, 9))
    credit = jnp.asarray(rng.normal(size=(9, 3)))
    masks = masks_of(network, 9, 0.5, KEY)

    def total(network, inputs, k):
        rows = log_policy(network, inputs, 2.0, masks)[jnp.arange(9), actions]
        return jnp.sum(rows * credit[:, k])

    for inputs in (states, jax.nn.one_hot(states, 6) + 0.1):
        ours = jax.jit(policy_gradients)(network, inputs, actions, credit, 2.0, masks)
        slopes = jax.jit(jax.vmap(jax.grad(total), (None, None, 0)))
        theirs = slopes(network, inputs, jnp.arange(3))
        assert jax.tree.structure(ours) == jax.tree.structure(theirs)
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_critics_are_independent_of_each_other():
    critics = jax.jit(lambda key: Critics(5, (7,), 3, key))(KEY)
    values = jax.jit(lambda c: c(None))(critics)
    assert values.shape == (5, 3)
    assert len({float(v) for v in values[0]}) == 3
    gradients = jax.jit(jax.jacobian(lambda c: c(None).sum(axis=0)))(critics)
    weight = np.asarray(gradients.networks.layers[0].weight)  # [of objective, network, …]
    for k in range(3):
        for j in range(3):
            assert np.any(weight[k, j]) == (k == j)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="activation: expected one of relu, tanh, got 'cosine'"):
        Network(2, (3,), 2, KEY, activation="cosine")
    with pytest.raises(ValueError, match="hidden: a layer must have at least 1 unit, got 0"):
        Network(2, (3, 0), 2, KEY)
