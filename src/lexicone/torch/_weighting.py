"""Ordered losses as a TorchJD weighting (Gram matrix → K weights) and the aggregator on it (Jacobian → one gradient).

Both are told the present losses by ``observe``; running means of them decide which bounds are met, and are kept in
``state_dict``. All stays on the device of the losses; on the CPU NumPy decides, in the same memory, because its small
operations take a third of the time.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

try:
    import torch
    from torch import Tensor
    from torchjd import Stateful
    from torchjd.aggregation import GramianWeightedAggregator, Weighting
    from torchjd.linalg import Matrix, PSDMatrix
except ImportError as error:
    raise ImportError(f"{error}; pip install 'lexicone[torch]'") from error

from lexicone._base.arrays import is_true
from lexicone.directions._find_direction import Direction, DirectionMethod
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

__all__ = ["Losses", "OrderedAggregator", "OrderedWeighting", "gram"]

Losses = Tensor | Iterable[Tensor | float] | Mapping[str, Tensor | float]
"""K losses: one tensor ``[K]``, a list, or a dict with the names of the order."""

_BLOCK = 16_384


def gram(rows: Tensor) -> Tensor:
    """``rows @ rows.T``, ``[K,n] → [K,K]``, at least in single precision: squares of half precision overflow soon.

    In blocks, which several threads share, and which round less than one sum over long rows.
    """
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    size, blocks = rows.shape[0], rows.shape[1] // _BLOCK
    rest = rows[:, blocks * _BLOCK :]
    if blocks == 0:
        return rest @ rest.T
    parts = rows[:, : blocks * _BLOCK].reshape(size, blocks, _BLOCK).transpose(0, 1)
    return torch.bmm(parts, parts.transpose(1, 2)).sum(dim=0) + rest @ rest.T


class OrderedWeighting(Weighting[PSDMatrix], Stateful):
    """Weights for the gradients of K losses in order of importance, from their Gram matrix. For TorchJD's `autogram`.

    >>> weighting = OrderedWeighting([1.0])                         # an upper bound: losses are minimised
    >>> gradients = torch.tensor([[0.0, 4.0], [-4.0, 4.0]])
    >>> weighting.observe(torch.tensor([0.5, 8.0]))(gradients @ gradients.T).round()
    tensor([0., 1.])
    >>> weighting.met
    tensor([True])

    Args:
        order: K−1 *upper bounds* of losses, most important first: an `Order`, a list, or a dict of names;
            ``at_most(1.0)`` is 1.0. Losses are *minimised*. (Everywhere else the thresholds of an `Order` are lower
            bounds, and larger is better.)
        smoothing: how much of earlier batches is kept in the running means that decide which bounds are met. 0 for
            losses without noise. (The flow's pull goes by the latest batch.)
        method: ``"flow"``, ``"exact"``, … as in `find_direction`, and so are the other options.

    `observe` the losses, then call it with their Gram matrix ``[K,K]``. Weights are 0 where there is no direction;
    `direction` says why.
    """

    mean: Tensor
    variance: Tensor
    weight: Tensor
    latest: Tensor
    shift: Tensor

    def __init__(
        self,
        order: OrderLike,
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
        return LossMeans(*(getattr(self, name) for name in LossMeans._fields))

    @property
    def met(self) -> Tensor:
        """Which running means are within their upper bounds, ``[K−1]``."""
        return losses_met(self.losses, self.settings)

    @torch.no_grad()
    def observe(self, losses: Losses) -> "OrderedWeighting":
        """Take note of the losses of a batch, ``[K]``; returns itself. NaN and infinity raise ValueError."""
        losses = self.stack(losses).detach()
        check_losses(self.settings, losses)
        wide = losses.to(torch.promote_types(losses.dtype, torch.float32))
        before = LossMeans(*(_small(each.to(wide)) for each in self.losses))
        with np.errstate(all="ignore"):  # infinity is an answer, as it is in PyTorch
            self._keep(note_losses(before, _small(wide), self.settings))
        return self

    def stack(self, losses: Losses) -> Tensor:
        """``[K]``, from one tensor, from K numbers, or from a dict with the names of the order."""
        losses = losses_by_name(self.settings, losses)
        try:
            if isinstance(losses, str | bytes):
                raise TypeError
            if not isinstance(losses, Tensor):
                each = [
                    loss if isinstance(loss, Tensor) else torch.tensor(float(loss))
                    for loss in losses
                ]
                losses = torch.stack([loss.reshape(()) for loss in each])
            if losses.is_floating_point():
                return losses
        except (TypeError, ValueError, RuntimeError, OverflowError):
            pass
        raise ValueError(f"losses: expected K numbers, got {losses!r}")

    def _keep(self, losses: LossMeans) -> None:
        for name, each in losses._asdict().items():
            setattr(self, name, torch.as_tensor(each))

    def reset(self) -> None:
        """Forget all losses."""
        self._keep(LossMeans(*(each.clone() for each in start_means(self.mean, self.settings))))
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
        means = LossMeans(*(_small(each.to(wide)) for each in self.losses))
        with gramian.device, np.errstate(all="ignore"):  # the device is where new arrays are made
            found = choose_direction(_small(wide), means.mean, means, self.settings)
        weights, objective, ended, reason = map(torch.as_tensor, found[:4])
        proof = found.certificate
        proof = None if proof is None else type(proof)(*map(torch.as_tensor, proof))
        self.direction = Direction(weights, objective, ended, reason, proof)
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

    def __init__(self, order: OrderLike, **options: Any) -> None:
        super().__init__(OrderedWeighting(order, **options))
        self.weighting = self.gramian_weighting << gram  # pyright: ignore[reportOperatorIssue]

    @torch.no_grad()
    def forward(self, matrix: Matrix, /) -> Tensor:
        """``Σ wᵢ gᵢ``, ``[K,n] → [n]``; knows no derivative."""
        size = len(self.gramian_weighting.settings.order)
        numbers = isinstance(matrix, Tensor) and matrix.is_floating_point()
        if not numbers or matrix.ndim != 2 or len(matrix) != size:
            raise ValueError(
                f"matrix: expected a tensor of {size} gradients as rows, got {matrix!r}"
            )
        return self.weighting(matrix).to(matrix.dtype) @ matrix

    @property
    def met(self) -> Tensor:
        """Which running means are within their upper bounds, ``[K−1]``."""
        return self.gramian_weighting.met

    @property
    def direction(self) -> Direction | None:
        """What was found last."""
        return self.gramian_weighting.direction

    def observe(self, losses: Losses) -> "OrderedAggregator":
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


def _small(numbers: Tensor) -> Any:
    """As NumPy's, in the same memory, where that is the CPU's."""
    return numbers.numpy() if type(numbers) is Tensor and numbers.device.type == "cpu" else numbers
