"""Ordered losses in a training loop: in place of ``loss.backward()``, or as one loss that others call backward on."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor
from torchjd.autogram import Engine
from torchjd.autojac import jac

from lexicone._base.checks import check_type, check_whole, is_listing
from lexicone.directions._loss_means import check_gradients, check_losses
from lexicone.torch._weighting import Losses, OrderedAggregator, OrderedWeighting, gram

__all__ = ["ordered_backward", "ordered_loss"]


def ordered_backward(
    losses: Losses,
    aggregator: OrderedAggregator | OrderedWeighting,
    parameters: Iterable[Tensor],
    *,
    parallel_chunk_size: int | None = 1,
) -> Tensor:
    """``loss.backward()`` for K losses in order: adds the combined gradient to ``.grad``, returns the K weights.

    One backward pass per loss; a parameter that no loss depends on gets a gradient of 0. TorchJD's
    ``parallel_chunk_size`` is for how many losses one pass is made by ``vmap`` (None: for all of them): faster for many
    losses of a small model, but not for compiled models, nor for functions that ``vmap`` does not know.
    """
    weighting = _weighting("aggregator", aggregator)
    _check_chunk(parallel_chunk_size)
    losses, inputs = _stacked(weighting, losses), _trained(parameters)
    if not all(each.is_leaf for each in inputs):
        raise ValueError(
            "parameters: one of them is computed from others, and has no .grad to add to"
        )
    jacobians = jac(losses, inputs, parallel_chunk_size=parallel_chunk_size)
    gramian = _gram(jacobians)
    check_gradients(weighting.settings, gramian)  # before note is taken of the losses
    weights = weighting.observe(losses)(gramian)
    for each, jacobian in zip(inputs, jacobians, strict=True):
        gradient = torch.tensordot(weights.to(jacobian.dtype), jacobian, dims=1)
        each.grad = gradient if each.grad is None else each.grad + gradient
    return weights


def ordered_loss(
    losses: Losses,
    weighting: OrderedWeighting | OrderedAggregator,
    parameters: Iterable[Tensor] | Engine,
    *,
    parallel_chunk_size: int | None = 1,
) -> Tensor:
    """``Σ wᵢ lossᵢ`` with fixed weights: one loss whose gradient is the combined gradient of K losses in order.

    For where something else calls ``backward``: Lightning's ``training_step`` returns it. The value itself means
    nothing. With an ``Engine`` of TorchJD's `autogram` the Gram matrix is found without the Jacobian; the engine sees
    only what goes through its modules' calls, so for losses of the weights themselves, such as their size, give the
    parameters instead. The last argument is `ordered_backward`'s.
    """
    weighting = _weighting("weighting", weighting)
    _check_chunk(parallel_chunk_size)
    losses = _stacked(weighting, losses)
    if isinstance(parameters, Engine):
        gramian = parameters.compute_gramian(losses)
    else:
        inputs = _trained(parameters)
        gramian = _gram(
            jac(losses, inputs, retain_graph=True, parallel_chunk_size=parallel_chunk_size)
        )
    check_gradients(weighting.settings, gramian)
    weights = weighting.observe(losses)(gramian)
    return weights.to(losses.dtype) @ losses


def _gram(jacobians: Iterable[Tensor]) -> Tensor:
    total, *others = [gram(each.reshape(len(each), -1)) for each in jacobians]
    for each in others:
        total = total + each.to(total.device)
    return total


def _check_chunk(parallel_chunk_size: int | None) -> None:
    if parallel_chunk_size is not None:
        check_whole(parallel_chunk_size=parallel_chunk_size)


def _weighting(name: str, given: OrderedAggregator | OrderedWeighting) -> OrderedWeighting:
    kinds = (OrderedAggregator, OrderedWeighting)
    check_type(name, given, kinds, "an OrderedAggregator or an OrderedWeighting")
    return given.gramian_weighting if isinstance(given, OrderedAggregator) else given


def _stacked(weighting: OrderedWeighting, losses: Losses) -> Tensor:
    losses = weighting.stack(losses)
    if not losses.requires_grad:
        raise ValueError("losses: none of them depends on anything that needs a gradient")
    check_losses(weighting.settings, losses.detach())
    return losses


def _trained(parameters: Iterable[Tensor]) -> list[Tensor]:
    if isinstance(parameters, Tensor | Mapping) or not is_listing(parameters):
        raise ValueError(
            "parameters: expected a list of tensors, such as model.parameters(), "
            f"got {type(parameters).__name__}"
        )
    given = list(parameters)
    for one in given:
        check_type("parameters", one, Tensor, "a list of tensors, such as model.parameters()")
    inputs = list({id(one): one for one in given if one.requires_grad}.values())  # each once
    if not inputs:
        raise ValueError("parameters: none of them needs a gradient, so there is nothing to train")
    return inputs
