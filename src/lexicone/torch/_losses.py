"""Ordered losses in a training loop: in place of ``loss.backward()``, or as one loss that others call backward on."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torchjd.autogram import Engine
from torchjd.autojac import backward, jac, jac_to_grad

from lexicone._base.checks import check_type, is_listing
from lexicone.torch._weighting import OrderedAggregator, OrderedWeighting, stack_losses

__all__ = ["gram", "ordered_backward", "ordered_loss"]

_BLOCK = 16_384


def ordered_backward(
    losses: Tensor | Iterable[Tensor], aggregator: OrderedAggregator, parameters: Iterable[Tensor]
) -> Tensor:
    """``loss.backward()`` for K losses in order: adds the combined gradient to ``.grad``, returns the K weights.

    One backward pass per loss; a parameter that no loss depends on gets a gradient of 0.
    """
    check_type("aggregator", aggregator, OrderedAggregator, "an OrderedAggregator")
    losses, inputs = _differentiable(losses, parameters)
    aggregator.observe(losses)
    backward(losses, inputs=inputs)
    return jac_to_grad(inputs, aggregator, optimize_gramian_computation=True)


def ordered_loss(
    losses: Tensor | Iterable[Tensor],
    weighting: OrderedWeighting,
    parameters: Iterable[Tensor] | Engine,
) -> Tensor:
    """``Σ wᵢ lossᵢ`` with fixed weights: one loss whose gradient is the combined gradient of K losses in order.

    For where something else calls ``backward``: Lightning's ``training_step`` returns it. The value itself means
    nothing. With an ``Engine`` of TorchJD's `autogram` the Gram matrix is found without the Jacobian.
    """
    check_type("weighting", weighting, OrderedWeighting, "an OrderedWeighting")
    if isinstance(parameters, Engine):
        losses, _ = _differentiable(losses, None)
        gramian = parameters.compute_gramian(losses)
    else:
        losses, inputs = _differentiable(losses, parameters)
        rows = [gram(each.flatten(1)) for each in jac(losses, inputs, retain_graph=True)]
        gramian = torch.stack(rows).sum(dim=0)
    weights = weighting.observe(losses)(gramian)
    return weights.to(losses.dtype) @ losses


def gram(rows: Tensor) -> Tensor:
    """``rows @ rows.T``, ``[K,n] → [K,K]``, in blocks that several threads share: half the time for long rows."""
    size, blocks = rows.shape[0], rows.shape[1] // _BLOCK
    rest = rows[:, blocks * _BLOCK :]
    if blocks == 0:
        return rest @ rest.T
    parts = rows[:, : blocks * _BLOCK].reshape(size, blocks, _BLOCK).transpose(0, 1)
    return torch.bmm(parts, parts.transpose(1, 2)).sum(dim=0) + rest @ rest.T


def _differentiable(
    losses: Tensor | Iterable[Tensor], parameters: Iterable[Tensor] | None
) -> tuple[Tensor, list[Tensor]]:
    losses = stack_losses(losses)
    given = [] if parameters is None else parameters
    if isinstance(given, Tensor) or not is_listing(given):
        raise ValueError(f"parameters: expected a list of tensors, got {parameters!r}")
    given = list(given)
    for parameter in given:
        check_type("parameters", parameter, Tensor, "tensors")
    inputs = list({id(p): p for p in given if p.requires_grad}.values())  # each once
    if parameters is not None and not inputs:
        raise ValueError("parameters: none of them needs a gradient, so there is nothing to train")
    if not losses.requires_grad:
        raise ValueError("losses: none of them depends on anything that needs a gradient")
    return losses, inputs
