import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from lexicone.directions._gradients import combine, gram, values_and_gradients


def losses(x):
    return jnp.stack([jnp.sum(x["a"] ** 2), jnp.sum(x["b"] * x["a"][0]), jnp.float64(3.0)])


@pytest.mark.slow
def test_pytrees_give_the_same_as_one_long_vector():
    x = {"a": jnp.arange(3.0), "b": jnp.ones((2, 2))}
    values, gradients = values_and_gradients(losses, x)
    flat, unflatten = jax.flatten_util.ravel_pytree(x)
    jacobian = jax.jacobian(lambda v: losses(unflatten(v)))(flat)
    np.testing.assert_allclose(values, losses(x))
    np.testing.assert_allclose(gram(gradients), jacobian @ jacobian.T)
    weights = jnp.array([0.5, -1.0, 2.0])
    combined, _ = jax.flatten_util.ravel_pytree(combine(weights, gradients))
    np.testing.assert_allclose(combined, weights @ jacobian)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 8191, 8192, 8193, 20_000])
def test_long_rows_are_multiplied_in_blocks(n):
    rows = np.random.default_rng(0).normal(size=(3, n))
    np.testing.assert_allclose(gram(jnp.asarray(rows)), rows @ rows.T, rtol=1e-12)


def test_gradients_match_finite_differences():
    x = {"a": jnp.arange(3.0), "b": jnp.ones((2, 2))}
    _, gradients = values_and_gradients(losses, x)
    step = 1e-6
    moved = {**x, "a": x["a"].at[0].add(step)}
    slope = (losses(moved) - losses(x)) / step
    np.testing.assert_allclose(gradients["a"][:, 0], slope, atol=1e-5)
