"""Two tasks on one trunk: tell digits apart to a bound, then draw them again to a bound, then small weights.

    python experiments/ordered_losses/digits.py --json experiments/ordered_losses/digits.json

A small network on scikit-learn's digits (1,797 images of 8×8), trained in minibatches with `ordered_gradient` and Adam,
10 seeds at once. Beside it: the same losses added up with weights that do not know the bounds.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

import lexicone as lx

BOUNDS = {"class": 0.1, "drawing": 0.03, "size": None}
SUMS = {"equal sum": (1.0, 1.0, 1.0), "sum, size .01": (1.0, 1.0, 0.01)}
HELD_OUT = 500


def data() -> tuple[jax.Array, jax.Array]:
    """Images ``[1797,64]`` from 0 to 1, and their digits."""
    images, digits = load_digits(return_X_y=True)
    return jnp.asarray(images / 16.0, jnp.float32), jnp.asarray(digits)


def start(key: jax.Array) -> dict[str, jax.Array]:
    """A trunk of 48 units, one head that tells digits apart and one that draws."""
    shapes = {"trunk": (65, 48), "class": (49, 10), "drawing": (49, 64)}
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.normal(k, shape) / jnp.sqrt(shape[0])
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def layer(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Affine: the last row is the bias."""
    return x @ weights[:-1] + weights[-1][None]


def losses(params: Any, images: jax.Array, digits: jax.Array) -> jax.Array:
    """Cross-entropy, mean squared error of the drawing, and mean square of the weights."""
    hidden = jnp.tanh(layer(params["trunk"], images))
    chance = jax.nn.log_softmax(layer(params["class"], hidden))
    picked = jnp.take_along_axis(chance, digits[:, None], axis=1)
    drawing = jax.nn.sigmoid(layer(params["drawing"], hidden))
    size = sum(jnp.sum(w**2) for w in params.values()) / sum(w.size for w in params.values())
    return jnp.stack([-jnp.mean(picked), jnp.mean((drawing - images) ** 2), size])


def train(key: jax.Array, images: Any, digits: Any, steps: int, weights: Any) -> Any:
    """Parameters after so many minibatches; ``weights`` of a plain sum, or None for the order."""
    descent = lx.ordered_gradient(losses, BOUNDS)
    optimizer = optax.adam(optax.cosine_decay_schedule(0.01, steps))
    key, first = jax.random.split(key)
    params = start(first)

    def step(carry: Any, key: jax.Array) -> tuple[Any, None]:
        params, state, moments = carry
        rows = jax.random.randint(key, (128,), HELD_OUT, images.shape[0])
        batch = images[rows], digits[rows]
        if weights is None:
            gradient, state = descent.update(params, state, *batch)
        else:
            gradient = jax.grad(lambda p: jnp.asarray(weights) @ losses(p, *batch))(params)
        updates, moments = optimizer.update(gradient, moments, params)
        return (optax.apply_updates(params, updates), state, moments), None

    carry = (params, descent.init(params), optimizer.init(params))
    return jax.lax.scan(step, carry, jax.random.split(key, steps))[0][0]


def run(seeds: int = 10, steps: int = 3000) -> dict[str, Any]:
    """For each method: the three losses on training data, accuracy and drawing on held-out images; means over seeds."""
    images, digits = data()
    keys = jax.random.split(jax.random.key(0), seeds)
    rows = {}
    for name, weights in {"ordered": None, **SUMS}.items():
        params = jax.jit(jax.vmap(lambda key, w=weights: train(key, images, digits, steps, w)))(
            keys
        )

        def judge(params: Any) -> Any:
            fitted = losses(params, images[HELD_OUT:], digits[HELD_OUT:])
            hidden = jnp.tanh(layer(params["trunk"], images[:HELD_OUT]))
            right = jnp.argmax(layer(params["class"], hidden), axis=1) == digits[:HELD_OUT]
            drawn = losses(params, images[:HELD_OUT], digits[:HELD_OUT])[1]
            return jnp.concatenate([fitted, jnp.stack([jnp.mean(right), drawn])])

        figures = np.asarray(jax.jit(jax.vmap(judge))(params))
        limits = np.array([BOUNDS["class"], BOUNDS["drawing"]])
        rows[name] = {
            "both bounds hold within 10 %": float(
                np.mean(np.all(figures[:, :2] <= 1.1 * limits, 1))
            ),
            **dict(
                zip(
                    ("class", "drawing", "size", "held-out accuracy", "held-out drawing"),
                    figures.mean(axis=0).tolist(),
                    strict=True,
                )
            ),
        }
    return rows


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = run(options.seeds, options.steps)
    for method, row in results.items():
        print(f"{method:16s}", "  ".join(f"{key} {value:.4f}" for key, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
