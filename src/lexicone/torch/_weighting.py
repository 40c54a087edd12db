"""Ordered losses as a TorchJD weighting (Gram matrix → K weights) and the aggregator on it (Jacobian → one gradient).

Both are told the present losses by ``observe``; running means of them decide which bounds are met, and are kept in
``state_dict``. All stays on the device of the losses.
"""

from collections.abc import Iterable, Mapping
from typing import Any

try:
    import torch
    from torch import Tensor
    from torchjd import Stateful
    from torchjd.aggregation import GramianWeightedAggregator, Weighting
    from torchjd.linalg import PSDMatrix
except ImportError as error:
    raise ImportError(f"{error}; pip install 'lexicone[torch]'") from error

from lexicone._base.arrays import is_true
from lexicone.directions._find_direction import Direction, DirectionMethod
from lexicone.directions._loss_means import (
    LossMeans,
    LossSettings,
    check_losses,
    choose_direction,
    losses_met,
    note_losses,
    start_means,
)
from lexicone.order import Order

__all__ = ["OrderedAggregator", "OrderedWeighting"]


class OrderedWeighting(Weighting[PSDMatrix], Stateful):
    """Weights for the gradients of K losses in order of importance, from their Gram matrix. For TorchJD's `autogram`.

    >>> weighting = OrderedWeighting([1.0])                         # an upper bound: losses are minimised
    >>> gradients = torch.tensor([[0.0, 4.0], [-4.0, 4.0]])
    >>> weighting.observe(torch.tensor([0.5, 8.0]))(gradients @ gradients.T).round()
    tensor([0., 1.])
    >>> weighting.met
    tensor([True])

    Args:
        order: K−1 *upper bounds* of losses, most important first: an `Order`, a list, or a dict of names. Losses are
            *minimised*. (Everywhere else the thresholds of an `Order` are lower bounds, and larger is better.)
        smoothing: how much of earlier batches is kept in the running means that decide which bounds are met. 0 for
            losses without noise.
        method: ``"flow"``, ``"exact"``, … as in `find_direction`, and so are the other options.

    `observe` the losses, then call it with their Gram matrix ``[K,K]``. Weights are 0 where there is no direction;
    `direction` says why.
    """

    mean: Tensor
    variance: Tensor
    weight: Tensor
    shift: Tensor

    def __init__(
        self,
        order: Order | Iterable[float] | Mapping[str, float | None],
        *,
        smoothing: float = 0.9,
        method: DirectionMethod = "flow",
        **options: Any,
    ) -> None:
        super().__init__()
        self.settings = LossSettings.checked(order, smoothing, {"method": method, **options})
        self.direction: Direction | None = None
        """What was found last."""
        for name, start in start_means(torch.zeros(()), self.settings)._asdict().items():
            self.register_buffer(name, start.clone())

    @property
    def losses(self) -> LossMeans:
        """Running means of the losses, and their deviations."""
        return LossMeans(self.mean, self.variance, self.weight, self.shift)

    @property
    def met(self) -> Tensor:
        """Which running means are within their upper bounds, ``[K−1]``."""
        return losses_met(self.losses, self.settings)

    @torch.no_grad()
    def observe(self, losses: Tensor | Iterable[Tensor]) -> "OrderedWeighting":
        """Take note of the losses of a batch, ``[K]``; returns itself. NaN and infinity raise ValueError."""
        losses = stack_losses(losses).detach()
        check_losses(self.settings, losses)
        wide = losses.to(torch.promote_types(losses.dtype, torch.float32))
        before = LossMeans(*(each.to(wide) for each in self.losses))
        self._keep(note_losses(before, wide, self.settings))
        return self

    def _keep(self, losses: LossMeans) -> None:
        self.mean, self.variance, self.weight, self.shift = losses

    def reset(self) -> None:
        """Forget all losses."""
        self._keep(start_means(self.mean, self.settings))
        self.direction = None

    @torch.no_grad()
    def forward(self, gramian: PSDMatrix, /) -> Tensor:
        """K weights in the dtype and on the device of the Gram matrix."""
        size = len(self.settings.order)
        if not isinstance(gramian, Tensor) or not gramian.is_floating_point():
            raise ValueError(f"gramian: expected a tensor of numbers, got {gramian!r}")
        if tuple(gramian.shape) != (size, size):
            raise ValueError(
                f"gramian: the order has {size} losses, got shape {tuple(gramian.shape)}"
            )
        if is_true(self.weight == 0):
            raise ValueError("losses: observe(losses) comes before the first direction")
        wide = gramian.to(torch.promote_types(gramian.dtype, torch.float32))
        means = LossMeans(*(each.to(wide) for each in self.losses))
        with gramian.device:  # where new arrays are made
            self.direction = choose_direction(wide, means.mean, means, self.settings)
        return self.direction.weights.to(gramian.dtype)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.settings.options.items())
        order, smoothing = self.settings.order, self.settings.smoothing
        return f"{type(self).__name__}({order!r}, smoothing={smoothing}, {given})"


class OrderedAggregator(GramianWeightedAggregator, Stateful):
    """One gradient from the Jacobian of K losses in order of importance. For TorchJD's `autojac`.

    Takes what `OrderedWeighting` takes, which is its ``gramian_weighting``. `observe` the losses, then call it with the
    Jacobian ``[K,n]``, or let ``jac_to_grad`` do so.
    """

    gramian_weighting: OrderedWeighting

    def __init__(
        self, order: Order | Iterable[float] | Mapping[str, float | None], **options: Any
    ) -> None:
        super().__init__(OrderedWeighting(order, **options))

    @property
    def met(self) -> Tensor:
        """Which running means are within their upper bounds, ``[K−1]``."""
        return self.gramian_weighting.met

    @property
    def direction(self) -> Direction | None:
        """What was found last."""
        return self.gramian_weighting.direction

    def observe(self, losses: Tensor | Iterable[Tensor]) -> "OrderedAggregator":
        """Take note of the losses of a batch, ``[K]``; returns itself."""
        self.gramian_weighting.observe(losses)
        return self

    def reset(self) -> None:
        """Forget all losses."""
        self.gramian_weighting.reset()

    def __repr__(self) -> str:
        return repr(self.gramian_weighting).replace("Weighting", "Aggregator", 1)

    def __str__(self) -> str:
        return f"Ordered {list(self.gramian_weighting.settings.order.thresholds)}"


def stack_losses(losses: Tensor | Iterable[Tensor]) -> Tensor:
    """``[K]``, from one tensor or from K numbers."""
    if isinstance(losses, Tensor):
        if not losses.is_floating_point():
            raise ValueError(f"losses: expected K numbers, got {losses!r}")
        return losses
    try:
        if isinstance(losses, str | bytes):
            raise TypeError
        each = [loss if isinstance(loss, Tensor) else torch.tensor(float(loss)) for loss in losses]
        return torch.stack([loss.reshape(()) for loss in each])
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise ValueError(f"losses: expected K numbers, got {losses!r}") from None
