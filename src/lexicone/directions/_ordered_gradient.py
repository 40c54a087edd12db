"""Ordered losses in JAX: K losses in order of importance become one gradient for any optax optimiser.

``init`` and ``update`` are those of an optax transformation, except that the gradients are computed here: K of them,
from one forward pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from lexicone._base.arrays import as_floats
from lexicone._base.checks import check_flags, check_type
from lexicone.directions._find_direction import Direction, DirectionMethod, Reason
from lexicone.directions._gradients import check_tree, combine, gram, pull_back_all
from lexicone.directions._loss_means import (
    LossMeans,
    LossSettings,
    check_losses,
    choose_direction,
    losses_by_name,
    losses_met,
    note_losses,
    start_means,
)
from lexicone.order import OrderLike

__all__ = ["OrderedGradient", "OrderedState", "ordered_gradient"]


class OrderedState(NamedTuple):
    """What `OrderedGradient` remembers between updates, and what it did last."""

    losses: LossMeans
    """Running means of the losses."""
    met: Bool[Array, " K-1"]
    """Which running means are within their upper bounds."""
    direction: Direction
    """Weights of the K gradients, which loss is being improved, and whether there was a direction, or why not."""


@dataclass(frozen=True, eq=False)
class OrderedGradient:
    """K losses in order of importance as one gradient; see `ordered_gradient`.

    `update` is `gradients` and then `combine`. To accumulate over microbatches, average what `gradients` gives for each
    of them and `combine` once: that is the gradient of the whole batch.
    """

    losses: Callable[..., Any]
    settings: LossSettings
    has_aux: bool

    def init(self, params: PyTree) -> OrderedState:
        """The state before the first update."""
        leaves = jax.tree.leaves(_trainable(params))
        means = start_means(jnp.zeros((), jnp.result_type(jnp.float32, *leaves)), self.settings)
        choose = partial(choose_direction, settings=self.settings)
        size = means.mean.shape[0]
        shapes = jax.eval_shape(choose, jnp.eye(size, dtype=means.mean.dtype), means.mean, means)
        nothing = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
        reason = jnp.full_like(nothing.reason, int(Reason.ZERO_GRADIENT))
        met = jnp.zeros(size - 1, bool)
        return OrderedState(means, met, nothing._replace(reason=reason))

    def gradients(self, params: PyTree, *args: Any, **kwargs: Any) -> tuple[Any, PyTree]:
        """K losses and their K gradients: every leaf is ``[K,…]``, and None where nothing can be differentiated.

        With ``has_aux`` the first is the pair (losses, auxiliary output), as from ``jax.value_and_grad``.
        """
        trainable, fixed = eqx.partition(params, eqx.is_inexact_array)
        _trainable(params)

        def evaluate(trainable: PyTree) -> tuple[Float[Array, " K"], Any]:
            out = self.losses(eqx.combine(trainable, fixed), *args, **kwargs)
            losses, aux = self._split(out)
            losses = _stacked(losses_by_name(self.settings, losses))
            check_losses(self.settings, losses)
            return losses, aux

        losses, pull_back, aux = eqx.filter_vjp(evaluate, trainable, has_aux=True)
        gradients = pull_back_all(pull_back, jnp.eye(losses.shape[0], dtype=losses.dtype))
        return ((losses, aux) if self.has_aux else losses), gradients

    def _split(self, out: Any) -> tuple[Any, Any]:
        if not self.has_aux:
            return out, None
        if isinstance(out, tuple) and len(out) == 2:
            return out
        raise ValueError("losses: with has_aux=True it returns the pair (losses, auxiliary output)")

    def combine(
        self, losses: Float[Array, " K"], gradients: PyTree, state: OrderedState
    ) -> tuple[PyTree, OrderedState]:
        """One gradient from K, and the next state. To derivatives the K weights are constants."""
        self._check_state(state)
        rows = check_tree("gradients", gradients, leading=True)
        losses = as_floats(jnp, "losses", losses, like=state.losses.mean)
        check_losses(self.settings, losses)
        if rows != losses.shape[0]:
            raise ValueError(f"gradients: expected {losses.shape[0]} rows, as losses, got {rows}")
        wide = jax.tree.map(lambda leaf: leaf.astype(jnp.result_type(leaf, jnp.float32)), gradients)
        products = gram(wide).astype(losses.dtype)
        known = jnp.isfinite(jnp.diagonal(products)).all()
        means = note_losses(state.losses, jnp.where(known, losses, jnp.nan), self.settings)
        direction = choose_direction(products, losses, means, self.settings)
        direction, means = jax.lax.stop_gradient((direction, means))
        combined = jax.tree.map(
            lambda leaf: jnp.where(direction.found, leaf, 0), combine(direction.weights, gradients)
        )
        return combined, OrderedState(means, losses_met(means, self.settings), direction)

    def _check_state(self, state: Any) -> None:
        check_type("state", state, OrderedState, "the state of init, or of the update before")
        size, known = len(self.settings.order), state.losses.mean.shape[-1]
        if known != size:
            raise ValueError(f"state: is of {known} losses, and the order has {size}")

    def update(
        self, params: PyTree, state: OrderedState, *args: Any, **kwargs: Any
    ) -> tuple[Any, OrderedState]:
        """The gradient at ``params`` for ``losses(params, *args, **kwargs)``, and the next state.

        With ``has_aux`` the first is the pair (gradient, auxiliary output), as from ``jax.grad``.
        """
        self._check_state(state)
        out, gradients = self.gradients(params, *args, **kwargs)
        losses, aux = out if self.has_aux else (out, None)
        combined, state = self.combine(losses, gradients, state)
        return ((combined, aux) if self.has_aux else combined), state


def ordered_gradient(
    losses: Callable[..., Any],
    order: OrderLike,
    *,
    has_aux: bool = False,
    smoothing: float = 0.9,
    method: DirectionMethod = "flow",
    **options: Any,
) -> OrderedGradient:
    """Losses in order of importance, each but the last with an upper bound: the gradient that an optimiser needs.

    >>> import jax.numpy as jnp
    >>> def losses(x):                                # first ‖x‖² ≤ 1, then the distance from (2, 0)
    ...     return jnp.stack([x @ x, jnp.sum((x - jnp.array([2.0, 0.0])) ** 2)])
    >>> descent = ordered_gradient(losses, [1.0])     # an upper bound: losses are minimised
    >>> x = jnp.array([0.0, 2.0])
    >>> state = descent.init(x)
    >>> gradient, state = descent.update(x, state)    # to any optimiser: optimizer.update(gradient, …)
    >>> gradient, state.met                           # too large: get smaller first
    (Array(...), Array([False], ...))

    Args:
        losses: JAX function ``(params, *args, **kwargs)`` → K losses: an array, a list, or a dict with the names of the
            order. They are *minimised*.
        order: K−1 *upper bounds*, most important first: an `Order`, a list, or a dict of names; ``at_most(1.0)`` is
            1.0. (Everywhere else the thresholds of an `Order` are lower bounds, because there larger is better.)
        has_aux: ``losses`` returns (losses, auxiliary output), for example the new state of an equinox model.
        smoothing: how much of earlier batches is kept in the running means that decide which bounds are met. 0 for
            losses without noise. (The flow's pull goes by the latest batch.)
        method: how the direction is found, as in `find_direction`. ``"flow"``, the default, brings each loss to its
            bound and holds it there. ``"exact"`` and ``"sequential"`` are the paper's: improve the first loss above
            its bound and let none of those before it rise.
        options: others of `find_direction`: ``margin`` and ``spread`` for the flow, ``delta`` and
            ``active_constraints`` for the cones, ….

    ``params`` is any pytree; an equinox model is differentiated by its floating-point arrays, and the gradient is None
    elsewhere. Losses whose gradient vanishes (or that do not depend on the parameters) constrain nothing. The gradient
    is 0 where no direction was found (``state.direction.found`` and ``reason``). A loss that is NaN or infinite raises
    ValueError; inside ``jit``, where it cannot, the gradient is 0, the reason NOT_FINITE, and no note is taken of it.
    """
    if not callable(losses):
        raise ValueError(f"losses: expected a function of the parameters, got {losses!r}")
    check_flags(has_aux=has_aux)
    options = {"method": method, **options}
    return OrderedGradient(losses, LossSettings.checked(order, smoothing, options), bool(has_aux))


def _stacked(losses: Any) -> Float[Array, " K"]:
    try:
        found = jnp.stack(losses) if isinstance(losses, list | tuple) else jnp.asarray(losses)
        if jnp.issubdtype(found.dtype, jnp.floating):
            return found
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"losses: expected K floating-point numbers, got {losses!r}; "
        "for (losses, auxiliary output) say has_aux=True"
    )


def _trainable(params: PyTree) -> PyTree:
    trainable = eqx.filter(params, eqx.is_inexact_array)
    for leaf in jax.tree.leaves(trainable):
        if np.ma.isMaskedArray(leaf):
            raise ValueError("params: has a masked array, which JAX cannot take; fill it first")
        if leaf.dtype.kind == "c" or leaf.dtype.itemsize > 8:
            raise ValueError(
                f"params: has numbers of the type {leaf.dtype}, which have no gradients"
            )
    if not any(leaf.size for leaf in jax.tree.leaves(trainable)):
        raise ValueError("params: has no floating-point numbers, so there is nothing to train")
    return trainable
