"""Ordered losses in loops: compiled models, functions that vmap does not know, half precision, parts of batches."""

import pytest
import torch
from torch import Tensor, nn

from lexicone.torch import OrderedAggregator, OrderedWeighting, ordered_backward, ordered_loss
from lexicone.torch._weighting import gram

pytestmark = pytest.mark.usefixtures("without_shape_checks")

INPUTS = torch.randn(16, 3, generator=torch.Generator().manual_seed(0))


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def losses_of(outputs: Tensor) -> list[Tensor]:
    return [(outputs - 1).pow(2).mean(), outputs.abs().mean()]


def gradients_of(model: nn.Module, outputs: Tensor, **options) -> list[Tensor]:
    """Those of ordered_backward; a copy, so that the next call begins anew."""
    model.zero_grad()
    ordered_backward(losses_of(outputs), OrderedAggregator([0.5]), model.parameters(), **options)
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model():
    """Its backward pass is compiled too, and cannot be made for several losses at a time."""
    model = small_model()
    expected = gradients_of(model, model(INPUTS))
    compiled = torch.compile(model, backend="aot_eager")
    torch.testing.assert_close(gradients_of(model, compiled(INPUTS)), expected)
    model.zero_grad()
    ordered_loss(
        losses_of(compiled(INPUTS)), OrderedWeighting([0.5]), model.parameters()
    ).backward()
    torch.testing.assert_close([p.grad for p in model.parameters()], expected)
    with pytest.raises(RuntimeError, match="vmap"):
        gradients_of(model, compiled(INPUTS), parallel_chunk_size=None)


class Peeking(torch.autograd.Function):
    """The identity, whose backward pass looks at a number."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, *gradients):
        return gradients[0] if float(gradients[0].sum()) < 1e9 else None


def test_a_function_that_vmap_does_not_know():
    model = small_model()
    expected = gradients_of(model, model(INPUTS))
    peeked = gradients_of(model, Peeking.apply(model(INPUTS)))  # pyright: ignore
    torch.testing.assert_close(peeked, expected)
    with pytest.raises(RuntimeError, match="vmap"):
        gradients_of(model, Peeking.apply(model(INPUTS)), parallel_chunk_size=2)  # pyright: ignore


def test_several_losses_at_a_time_are_the_same():
    model = small_model()
    expected = gradients_of(model, model(INPUTS))
    for chunk in (2, None):
        at_once = gradients_of(model, model(INPUTS), parallel_chunk_size=chunk)
        torch.testing.assert_close(at_once, expected)
    for wrong in (0, -1, 1.5, "all"):
        with pytest.raises(ValueError, match=r"parallel_chunk_size: must be a whole number"):
            gradients_of(model, model(INPUTS), parallel_chunk_size=wrong)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_whose_squares_overflow(dtype):
    """A gradient of length 300 has a square of 90,000: too much for 16 bits, which end at 65,504."""
    weight = torch.full((4,), 0.5, dtype=dtype, requires_grad=True)
    given = torch.full((4,), 150.0, dtype=dtype)
    aggregator = OrderedAggregator([1.0])
    weights = ordered_backward([weight @ given, weight @ weight], aggregator, [weight])
    assert weights.isfinite().all()
    assert weight.grad is not None
    assert weight.grad.dtype == dtype
    assert (weight.grad > 0).all()
    rows = torch.stack([given, 2 * weight.detach()])
    assert (rows.half() @ rows.half().T).isinf().any()
    torch.testing.assert_close(aggregator(rows), weight.grad)


def test_products_of_long_rows_round_little():
    """One sum over all of a long row, as in a plain product, loses digits where blocks keep them."""
    rows = torch.rand(2, 2_000_000, generator=torch.Generator().manual_seed(0))
    exact = rows.double() @ rows.double().T
    off = ((gram(rows) - exact).abs() / exact).max()
    assert off < 1e-6


def test_directions_of_microbatches_add_up():
    """As with loss.backward(): two calls without zero_grad, and the gradients of both are there."""
    model = small_model()
    parts = [gradients_of(model, model(half)) for half in INPUTS.split(8)]
    model.zero_grad()
    for half in INPUTS.split(8):
        ordered_backward(losses_of(model(half)), OrderedAggregator([0.5]), list(model.parameters()))
    for parameter, first, second in zip(model.parameters(), *parts, strict=True):
        torch.testing.assert_close(parameter.grad, first + second)


def test_a_frozen_part_stays_without_gradients():
    model = small_model()
    next(model.parameters()).requires_grad_(False)
    ordered_backward(losses_of(model(INPUTS)), OrderedAggregator([0.5]), model.parameters())
    grads = [p.grad for p in model.parameters()]
    assert grads[0] is None
    assert all(each is not None and each.any() for each in grads[1:])


def test_saved_with_the_model_and_loaded_by_weights_alone(tmp_path):
    """No code is read: ``weights_only``. The one that goes on decides as the one that was saved."""

    class Trained(nn.Module):
        def __init__(self):
            super().__init__()
            self.model, self.weighting = small_model(), OrderedWeighting([0.5])

    first, second = Trained(), Trained()
    for _ in range(3):
        ordered_loss(losses_of(first.model(INPUTS)), first.weighting, first.model.parameters())
    torch.save(first.state_dict(), tmp_path / "trained.pt")
    second.load_state_dict(torch.load(tmp_path / "trained.pt", weights_only=True))
    torch.testing.assert_close(second.weighting.losses, first.weighting.losses)
    gramian = torch.tensor([[1.0, -0.5], [-0.5, 1.0]])
    weights = first.weighting(gramian)
    torch.testing.assert_close(second.weighting(gramian), weights)
    torch.testing.assert_close(second.weighting(gramian), weights)  # asking changes nothing
    with pytest.raises(ValueError, match=r"losses: observe"):
        Trained().weighting(gramian)
