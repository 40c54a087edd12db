"""Networks of the learners: a policy over actions and critics of every objective.

They are equinox modules, so a network *is* a pytree of its arrays: it can be averaged, saved, vmapped over seeds and
handed to an optimiser as it stands. A network is applied to many inputs at once: rows of features ``[M,D]``; whole
numbers ``[M]``, which stand for one-hot vectors; or None, the one-hot vectors of all states of a model, whose product
with the first layer is that layer itself.

The paper's policy (appendix "Policy Function"): one-hot → 128 ReLU → dropout 0.6 → softmax with temperature 10.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lexicone._base.checks import check_kind, check_range
from lexicone.learning._random_bits import random_bits, uniforms

__all__ = [
    "IMPOSSIBLE",
    "Critics",
    "Inputs",
    "Layer",
    "Network",
    "dropout_masks",
    "log_policy",
    "policy_gradients",
]

Inputs = Float[Array, "M D"] | Int[Array, " M"] | None
"""Features, numbers of states, or all states."""
IMPOSSIBLE = -1e30
"""``ln π`` of an action that is not available is below this, and finite, so that its product with 0 is 0."""
_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}
_ONE_HOT_INPUTS = 256  # up to so many states a product with one-hot rows is faster than sums
_LEVELS = 2**16  # dropout compares 16 random bits: two decisions from 32


class Layer(eqx.Module):
    """``x → weight·x + bias``."""

    weight: Float[Array, "*runs out inputs"]
    bias: Float[Array, "*runs out"]

    def __call__(self, inputs: Inputs) -> Float[Array, "M out"]:
        """Of every row."""
        if inputs is None:
            rows = self.weight.T
        elif jnp.issubdtype(inputs.dtype, jnp.integer):
            rows = self.weight.T[inputs]
        else:
            rows = inputs @ self.weight.T
        return rows + jnp.broadcast_to(self.bias, rows.shape)

    def gradients(
        self, inputs: Any, errors: Float[Array, "M out"], credit: Float[Array, "M K"]
    ) -> "Layer":
        """``Σ_m credit[m,k]·∂(errors_m·output_m)`` by weight and bias, for every k: leaves ``[K,…]``."""
        size = self.weight.shape[-1]
        weighted = credit.T[:, None, :] * errors.T[None]  # [K,out,M]
        bias = jnp.sum(weighted, axis=2)
        if not jnp.issubdtype(inputs.dtype, jnp.integer):
            return Layer(weighted @ inputs, bias)
        if size > _ONE_HOT_INPUTS:
            columns = jnp.zeros((*bias.shape, size), bias.dtype)
            return Layer(columns.at[:, :, inputs].add(weighted), bias)
        marks = jax.nn.one_hot(inputs, size, dtype=errors.dtype, axis=0)
        rows = (credit.T[:, None, :] * marks[None]) @ errors  # [K,inputs,out]
        return Layer(jnp.swapaxes(rows, 1, 2), bias)


class Network(eqx.Module):
    """Fully connected layers with an activation after each but the last; no hidden layers make a plain table.

    All weights of a layer begin uniform between ±1/√inputs, as those of PyTorch do.
    """

    layers: tuple[Layer, ...]
    activation: str = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        hidden: Sequence[int],
        outputs: int,
        key: Any,
        *,
        activation: str = "relu",
        last_scale: float = 1.0,
    ) -> None:
        """``last_scale`` multiplies the last layer's first weights: near 0, a policy begins almost uniform."""
        check_kind("activation", activation, _ACTIVATIONS)
        sizes = (inputs, *hidden, outputs)
        for name, size in zip(("inputs", *["hidden"] * len(hidden), "outputs"), sizes, strict=True):
            if size < 1:
                raise ValueError(f"{name}: a layer must have at least 1 unit, got {size}")
        counts = [(before + 1) * after for before, after in pairwise(sizes)]
        numbers = 2 * uniforms(key, 0, (sum(counts),)) - 1
        layers, place = [], 0
        for i, (before, after) in enumerate(pairwise(sizes)):
            scale = before**-0.5 * (last_scale if i == len(hidden) else 1.0)
            rows = scale * numbers[place : place + counts[i]].reshape(after, before + 1)
            layers.append(Layer(rows[:, 1:], rows[:, 0]))
            place += counts[i]
        self.layers, self.activation = tuple(layers), activation

    def __call__(self, inputs: Inputs, masks: Sequence[Array] = ()) -> Float[Array, "M out"]:
        """``masks`` multiply the hidden layers' outputs, ``[M,width]`` each: see `dropout_masks`."""
        rows: Any = inputs
        for i, layer in enumerate(self.layers):
            rows = layer(rows)
            if i < len(self.layers) - 1:
                rows = _ACTIVATIONS[self.activation](rows)
                rows = rows * masks[i] if masks else rows
        return rows

    @property
    def widths(self) -> tuple[int, ...]:
        """The sizes of the hidden layers."""
        return tuple(layer.weight.shape[-2] for layer in self.layers[:-1])


def dropout_masks(
    network: Network, rows: int, rate: float, key: Any, time: Any = 0
) -> tuple[Array, ...]:
    """For each hidden layer ``[rows,width]``: 0 with probability ``rate``, else ``1/(1−rate)``.

    Every row is dropped out by itself, at every time anew. No masks at all for rate 0.
    """
    check_range("rate", rate, 0, 1, below=True)
    if rate == 0:
        return ()
    dtype = network.layers[0].weight.dtype

    def draw(stream: Any, width: int) -> Array:
        count = rows * width
        bits = random_bits(key, stream, (count + 1) // 2)
        halves = jnp.concatenate([bits >> 16, bits & (_LEVELS - 1)])[:count]
        return (halves >= round(rate * _LEVELS)).astype(dtype).reshape(rows, width) / (1 - rate)

    streams = [time * len(network.widths) + i for i in range(len(network.widths))]
    return tuple(draw(stream, width) for stream, width in zip(streams, network.widths, strict=True))


def log_policy(
    network: Network,
    inputs: Inputs,
    temperature: Float[Array, ""] | float = 1.0,
    masks: Sequence[Array] = (),
    available: Bool[Array, "M A"] | None = None,
) -> Float[Array, "M A"]:
    """``ln π(a|s) = log-softmax(network(s)/temperature)``. A high temperature keeps actions equally likely.

    Actions that are not ``available`` have the probability 0, and a logarithm below `IMPOSSIBLE`.
    """
    return jax.nn.log_softmax(_scores(network(inputs, masks), temperature, available), axis=-1)


def _scores(rows: Array, temperature: Any, available: Any) -> Array:
    scores = rows / temperature
    return scores if available is None else jnp.where(available, scores, 2 * IMPOSSIBLE)


def policy_gradients(
    network: Network,
    inputs: Float[Array, "M D"] | Int[Array, " M"],
    actions: Int[Array, " M"],
    credit: Float[Array, "M K"],
    temperature: Float[Array, ""] | float = 1.0,
    masks: Sequence[Array] = (),
    available: Bool[Array, "M A"] | None = None,
) -> Network:
    """The K gradients of ``Σ_m credit[m,k]·ln π(a_m|x_m)``, as a network whose leaves are ``[K,…]``.

    The errors that flow back are the same for all objectives up to their credit, which therefore enters only where
    errors meet a layer's inputs: one backward pass for all, where ``jax.vjp`` with K cotangents makes K.
    """
    rows: Any = inputs
    steps: list[tuple[Any, Callable[[Array], tuple[Array]]]] = []
    for i, layer in enumerate(network.layers):
        before = rows
        rows = layer(rows)
        back: Any = None
        if i < len(network.layers) - 1:
            mask = masks[i] if masks else 1.0
            rows, back = jax.vjp(lambda x, m=mask: _ACTIVATIONS[network.activation](x) * m, rows)
        steps.append((before, back))
    chosen = jax.nn.one_hot(actions, rows.shape[1], dtype=rows.dtype)
    scores = _scores(rows, temperature, available)
    errors = (chosen - jax.nn.softmax(scores, axis=-1)) / temperature
    found = []
    for layer, (before, back) in zip(reversed(network.layers), reversed(steps), strict=True):
        (errors,) = (errors,) if back is None else back(errors)
        found.append(layer.gradients(before, errors, credit))
        errors = errors @ layer.weight
    return eqx.tree_at(lambda n: n.layers, network, tuple(reversed(found)))


class Critics(eqx.Module):
    """One value network per objective, independent of each other; kept and applied together."""

    networks: Network
    """Leaves ``[K,…]``."""

    def __init__(
        self, inputs: int, hidden: Sequence[int], objectives: int, key: Any, **options: Any
    ) -> None:
        """``options`` are those of `Network`."""
        keys = jax.random.split(key, objectives)
        self.networks = jax.vmap(lambda k: Network(inputs, hidden, 1, k, **options))(keys)

    def __call__(self, inputs: Inputs) -> Float[Array, "M K"]:
        """V of every row and objective."""
        return jax.vmap(lambda network: network(inputs)[:, 0], out_axes=1)(self.networks)
