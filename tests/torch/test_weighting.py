"""Ordered losses as a TorchJD weighting and aggregator, with the properties that TorchJD checks of its own."""

import math

import pytest
import torch
from torch import Tensor, nn
from torchjd import autojac
from torchjd.aggregation import Mean, UPGrad
from torchjd.autogram import Engine

import lexicone as lx
from lexicone.torch import OrderedAggregator, OrderedWeighting, ordered_backward, ordered_loss

pytestmark = pytest.mark.usefixtures("without_shape_checks")

SHAPES = [(1, 1, 1), (4, 3, 1), (4, 3, 2), (4, 3, 3), (9, 11, 5), (9, 11, 9)]  # rows, columns, rank
METHODS = ("flow", "exact", "sequential", "halfspace")


def random_matrix(rows: int, columns: int, rank: int, seed: int = 0) -> Tensor:
    made = torch.Generator().manual_seed(seed)
    left = torch.randn(rows, rank, generator=made)
    return left @ torch.randn(rank, columns, generator=made) / math.sqrt(rank)


def stationary_matrix(rows: int, columns: int, rank: int) -> Tensor:
    """Positive weights make its rows sum to 0: no direction lowers all of them."""
    matrix = random_matrix(rows, columns, rank)
    weights = torch.rand(rows, generator=torch.Generator().manual_seed(1)) + 0.1
    matrix[-1] = -(weights[:-1] @ matrix[:-1]) / weights[-1]
    return matrix


def at_their_bounds(rows: int, **options) -> OrderedAggregator:
    """All losses but the last exactly at their bounds: to be kept, while the last is improved."""
    return OrderedAggregator([1.0] * (rows - 1), **options).observe(torch.ones(rows))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [0.0, 1e-10, 1.0, 1e15])
def test_a_vector_of_finite_numbers_at_any_scale(method, scale):
    for shape in SHAPES:
        matrix = scale * random_matrix(*shape)
        vector = at_their_bounds(shape[0], method=method)(matrix)
        assert vector.shape == matrix.shape[1:]
        assert vector.dtype == matrix.dtype
        assert vector.isfinite().all()


@pytest.mark.parametrize("method", ["flow", "exact"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_conflict_with_what_is_protected(method, shape):
    """Descent along the vector raises no loss that stands at its bound."""
    for seed in range(3):
        matrix = random_matrix(*shape, seed=seed).double()
        vector = at_their_bounds(shape[0], method=method)(matrix)
        along = matrix @ vector / matrix.norm(dim=1)
        assert (along[:-1] >= -1e-6 * vector.norm()).all()


def test_an_aggregator_without_an_order_does_conflict():
    matrix = random_matrix(4, 11, 4).double()
    assert ((matrix @ Mean()(matrix))[:-1] < 0).any()


@pytest.mark.parametrize("method", ["flow", "exact"])
@pytest.mark.parametrize("shape", [(3, 10, 2), (5, 10, 4), (9, 20, 8)])
def test_nothing_moves_at_a_stationary_point_and_something_elsewhere(method, shape):
    rows = shape[0]
    stationary = stationary_matrix(*shape).double()
    assert at_their_bounds(rows, method=method)(stationary).norm() < 1e-6 * stationary.norm()
    free = random_matrix(rows, 20, rows).double()  # independent rows
    vector = at_their_bounds(rows, method=method)(free)
    assert vector.norm() > 5e-3
    assert (free[-1] @ vector) > 0


def improvable_matrix(rows: int, columns: int, rank: int) -> Tensor:
    """One direction lowers all losses: the gradients share it, and differ at right angles to it."""
    made = torch.Generator().manual_seed(rank)
    away = (
        random_matrix(rows, columns - 1, rank - 1) if rank > 1 else torch.zeros(rows, columns - 1)
    )
    return torch.cat([torch.rand(rows, 1, generator=made) + 0.1, away], dim=1)


@pytest.mark.parametrize("method", ["flow", "exact"])
@pytest.mark.parametrize("shape", [(20, 10, 10), (20, 10, 5), (20, 10, 1), (20, 100, 19)])
def test_something_moves_where_all_losses_can_fall(method, shape):
    """Many losses, of any rank; and none that is protected rises. At a stationary point of them nothing moves."""
    matrix = improvable_matrix(*shape).double()
    vector = at_their_bounds(20, method=method, delta=0.0)(matrix)
    along = matrix @ vector
    assert along[-1] > 5e-3
    assert (along[:-1] > -1e-7).all()
    stationary = stationary_matrix(*shape).double()
    still = at_their_bounds(20, method=method)(stationary)
    assert still.norm() < 1e-6 * stationary.norm()


@pytest.mark.parametrize("method", ["flow", "exact"])
def test_what_is_protected_may_come_in_any_sequence(method):
    """Only the order of what is met and can all be kept is free; another loss as the last is another question."""
    matrix = random_matrix(9, 11, 9).double()
    vector = at_their_bounds(9, method=method)(matrix)
    for seed in range(3):
        swapped = torch.randperm(8, generator=torch.Generator().manual_seed(seed)).tolist()
        torch.testing.assert_close(
            at_their_bounds(9, method=method)(matrix[[*swapped, 8]]), vector, atol=1e-7, rtol=1e-7
        )
    other = at_their_bounds(9, method=method)(matrix.flip(0))
    assert (other - vector).norm() > 0.1 * vector.norm()


def test_the_last_loss_may_be_scaled_and_others_too():
    """What is kept is kept at any scale; the vector scales with the loss that is improved."""
    matrix = random_matrix(4, 11, 4).double()
    scales = torch.tensor([3.0, 0.1, 7.0, 2.0], dtype=torch.float64)
    for method in ("flow", "exact"):
        vector = at_their_bounds(4, method=method)(matrix)
        scaled = at_their_bounds(4, method=method)(scales[:, None] * matrix)
        torch.testing.assert_close(scaled, 2.0 * vector, rtol=1e-6, atol=1e-9)


def test_the_weights_are_those_of_find_direction():
    matrix = random_matrix(3, 5, 3).double()
    gramian = matrix @ matrix.T
    losses = torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64)
    weighting = OrderedWeighting({"first": 1.0, "second": 1.5, "third": None}, method="exact")
    weights = weighting.observe(losses)(gramian)
    expected = lx.find_direction(
        gramian, -losses, torch.tensor([-1.0, -1.5], dtype=torch.float64), method="exact"
    )
    torch.testing.assert_close(weights, expected.weights)
    assert weighting.met.tolist() == [True, False]
    assert weighting.direction is not None
    assert int(weighting.direction.objective) == 1


INPUTS = torch.randn(16, 3, generator=torch.Generator().manual_seed(0))


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def losses_of(model: nn.Module) -> Tensor:
    out = model(INPUTS)
    first, second = (out[:, 0] - 1).pow(2).mean(), (out[:, 1] + out[:, 0]).pow(2).mean()
    return torch.stack([first, second, out.abs().mean()])


def by_autojac(model: nn.Module, aggregator: OrderedAggregator) -> None:
    losses = losses_of(model)
    autojac.backward(losses)
    autojac.jac_to_grad(list(model.parameters()), aggregator.observe(losses))


def by_autogram(model: nn.Module, aggregator: OrderedAggregator) -> None:
    engine = Engine(model, batch_dim=None)
    losses = losses_of(model)
    gramian = engine.compute_gramian(losses)
    losses.backward(aggregator.gramian_weighting.observe(losses)(gramian))


def by_one_loss(model: nn.Module, aggregator: OrderedAggregator) -> None:
    losses = list(losses_of(model))
    ordered_loss(losses, aggregator.gramian_weighting, model.parameters()).backward()


def by_one_loss_and_an_engine(model: nn.Module, aggregator: OrderedAggregator) -> None:
    engine = Engine(model, batch_dim=None)
    ordered_loss(losses_of(model), aggregator.gramian_weighting, engine).backward()


@pytest.mark.parametrize(
    "differentiate", [by_autojac, by_autogram, by_one_loss, by_one_loss_and_an_engine]
)
def test_both_engines_and_both_helpers_give_the_same_gradient(differentiate):
    model = small_model()
    ordered_backward(losses_of(model), OrderedAggregator([0.5, 0.1]), model.parameters())
    expected = [p.grad for p in model.parameters()]
    model.zero_grad()
    differentiate(model, OrderedAggregator([0.5, 0.1]))
    assert all(each is not None and each.norm() > 0.01 for each in expected)
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


def test_accumulated_jacobians_are_those_of_the_whole_batch():
    """TorchJD adds up ``.jac``; one direction at the end, from the mean losses."""
    inputs = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    weight = torch.tensor([0.5, -0.4, 0.3], requires_grad=True)

    def losses(part: Tensor) -> Tensor:
        return torch.stack([(part @ weight).pow(2).mean(), weight.pow(2).sum()])

    ordered_backward(losses(inputs), OrderedAggregator([0.1]), [weight])
    assert weight.grad is not None
    whole, weight.grad = weight.grad, None
    total = torch.zeros(2)
    for part in inputs.split(4):
        each = losses(part) / 3
        autojac.backward(each, inputs=[weight])
        total += each.detach()
    autojac.jac_to_grad([weight], OrderedAggregator([0.1]).observe(total))
    torch.testing.assert_close(weight.grad, whole)


def test_the_state_survives_saving_and_goes_on_alike():
    made = [OrderedAggregator([1.0], smoothing=0.8) for _ in range(2)]
    for value in (2.0, 1.5, 0.4):
        made[0].observe(torch.tensor([value, 1.0]))
    made[1].load_state_dict(made[0].state_dict())
    matrix = random_matrix(2, 5, 2)
    for aggregator in made:
        aggregator.observe(torch.tensor([1.2, 3.0]))
    torch.testing.assert_close(made[0](matrix), made[1](matrix))
    assert torch.equal(made[0].gramian_weighting.mean, made[1].gramian_weighting.mean)
    fading = torch.tensor([0.8**3, 0.8**2, 0.8, 1.0])
    mean = (fading @ torch.tensor([2.0, 1.5, 0.4, 1.2])) / fading.sum()
    torch.testing.assert_close(made[1].gramian_weighting.mean[0], mean)
    made[1].reset()
    with pytest.raises(ValueError, match=r"losses: observe\(losses\) comes before"):
        made[1](matrix)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_dtypes_stay(dtype):
    matrix = random_matrix(3, 5, 3).to(dtype)
    aggregator = OrderedAggregator([1.0, 1.0]).observe(torch.ones(3, dtype=dtype))
    assert aggregator(matrix).dtype == dtype
    wide = torch.promote_types(dtype, torch.float32)
    assert aggregator.gramian_weighting.mean.dtype == wide


@pytest.mark.parametrize("method", METHODS)
def test_nothing_leaves_the_device(method):
    """Tensors of the device "meta" have no numbers: whatever copies one to the CPU fails."""
    weighting = OrderedWeighting([1.0, 2.0], method=method).to("meta")
    weights = weighting.observe(torch.ones(3, device="meta"))(torch.eye(3, device="meta"))
    assert weights.device.type == "meta"
    assert weighting.mean.device.type == "meta"
    assert weights.shape == (3,)


def test_one_loss_is_plain_descent():
    matrix = random_matrix(1, 5, 1)
    torch.testing.assert_close(OrderedAggregator([]).observe(torch.ones(1))(matrix), matrix[0])


def test_a_loss_that_does_not_depend_on_the_parameters():
    """As the last it leaves nothing to improve; above, it constrains nothing."""
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    last = OrderedAggregator([9.0])
    assert not ordered_backward([x @ x, torch.tensor(7.0)], last, [x]).any()
    assert x.grad is not None
    assert not x.grad.any()
    assert last.direction is not None
    assert int(last.direction.reason) == lx.Reason.ZERO_GRADIENT
    ordered_backward([torch.tensor(7.0), x @ x], OrderedAggregator([9.0]), [x])
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_a_parameter_may_be_a_single_number():
    x = torch.tensor(2.0, requires_grad=True)
    ordered_loss([x * x, -x], OrderedWeighting([1.0]), [x]).backward()
    assert x.grad is not None
    assert x.grad > 0  # the first is above its bound, and falls


def test_a_parameter_that_no_loss_depends_on():
    x, idle = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    ordered_backward([x @ x, x.sum()], OrderedAggregator([1.0]), [x, idle])
    assert idle.grad is not None
    assert not idle.grad.any()


def test_refusals():
    x = torch.ones(2, requires_grad=True)
    aggregator = OrderedAggregator({"size": 1.0, "sum": None})
    with pytest.raises(ValueError, match=r"losses: sum is NaN or infinite"):
        ordered_backward([x @ x, x.sum() * math.nan], aggregator, [x])
    with pytest.raises(ValueError, match=r"losses: size is NaN or infinite"):
        ordered_loss([x @ x * math.inf, x.sum()], aggregator.gramian_weighting, [x])
    assert float(aggregator.gramian_weighting.weight) == 0  # no note was taken
    with pytest.raises(ValueError, match=r"losses: the order has 2 losses .* got shape \(3,\)"):
        ordered_backward([x @ x, x.sum(), x[0]], aggregator, [x])
    with pytest.raises(ValueError, match=r"parameters: none of them needs a gradient"):
        ordered_backward([x @ x, x.sum()], aggregator, [torch.ones(2)])
    model = nn.Linear(2, 1)
    for wrong in (model, x, 3, model.named_parameters(), {"x": x}):
        with pytest.raises(ValueError, match=r"parameters: expected a list of tensors"):
            ordered_loss([x @ x, x.sum()], aggregator, wrong)  # pyright: ignore
    with pytest.raises(ValueError, match=r"parameters: one of them is computed from others"):
        ordered_backward([x @ x, x.sum()], aggregator, [2 * x])
    for helper in (ordered_backward, ordered_loss):
        with pytest.raises(ValueError, match=r": expected an OrderedAggregator or an Ordered"):
            helper([x @ x, x.sum()], UPGrad(), [x])  # pyright: ignore
    with pytest.raises(ValueError, match=r"losses: none of them depends on"):
        ordered_loss([torch.tensor(1.0), 2.0], aggregator.gramian_weighting, [x])  # pyright: ignore
    with pytest.raises(ValueError, match=r"losses: expected K numbers"):
        aggregator.observe(["one", "two"])  # pyright: ignore
    with pytest.raises(ValueError, match=r"losses: expected K numbers"):
        aggregator.observe(torch.tensor([1j, 2.0]))
    with pytest.raises(ValueError, match=r"matrix: expected a tensor of 2 gradients"):
        aggregator.observe(torch.ones(2))(torch.ones(3, 4))
    with pytest.raises(ValueError, match=r"smoothing: must be"):
        OrderedWeighting([1.0], smoothing=-0.1)
    with pytest.raises(ValueError, match=r"order: expected an Order or a list"):
        OrderedWeighting(1.0)  # pyright: ignore
    with pytest.raises(ValueError, match=r"delta: must be"):
        OrderedWeighting([1.0], method="exact", delta=-1.0)


def test_a_gradient_that_is_not_finite_leaves_nothing_behind():
    """The loss is finite and its gradient is not; whoever skips the batch goes on as if it had not been."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    aggregator = OrderedAggregator({"root": 9.0, "size": None}, smoothing=0.0)
    with pytest.raises(ValueError, match=r"losses: the gradient of root, .* is NaN or infinite"):
        ordered_backward([(x[0] - 1.0).sqrt(), x @ x], aggregator, [x])
    with pytest.raises(ValueError, match=r"losses: the gradient of size is NaN or infinite, or"):
        ordered_backward([x.sum(), 1e30 * (x @ x)], aggregator, [x])  # its square is
    assert x.grad is None
    ordered_backward([x.sum(), x @ x], aggregator, [x])
    torch.testing.assert_close(x.grad, 2 * x.detach())
    slow = OrderedWeighting({"root": 9.0, "size": None})
    for pull_back in (ordered_backward, ordered_loss):
        with pytest.raises(
            ValueError, match=r"losses: the gradient of root, .* is NaN or infinite"
        ):
            pull_back([(x[0] - 1.0).sqrt(), x @ x], slow, [x])
        assert not slow.weight.any()
        assert not slow.mean.any()


def test_losses_with_names_come_in_any_sequence():
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    order = {"size": 1.0, "sum": None}
    weights = ordered_backward([x @ x, x.sum()], OrderedAggregator(order), [x])
    named = ordered_backward({"sum": x.sum(), "size": x @ x}, OrderedAggregator(order), [x])
    torch.testing.assert_close(named, weights)
    with pytest.raises(ValueError, match=r"order: has the objectives size, sum, but losses has"):
        ordered_backward({"sum": x.sum(), "length": x @ x}, OrderedAggregator(order), [x])


def test_one_loss_may_come_alone():
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    ordered_loss(x @ x, OrderedWeighting([]), [x]).backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_forgotten_losses_do_not_share_memory():
    weighting = OrderedWeighting([1.0])
    weighting.observe(torch.tensor([2.0, 3.0])).observe(torch.tensor([1.0, 1.0]))
    kept = {name: each.clone() for name, each in weighting.state_dict().items()}
    weighting.reset()
    weighting.load_state_dict(kept)
    torch.testing.assert_close(weighting.state_dict(), kept)
    assert not torch.equal(kept["mean"], kept["variance"])


def test_is_at_home_in_torchjd():
    aggregator = OrderedAggregator([0.5], method="exact", delta=0.1)
    assert str(aggregator) == "Ordered [0.5]"
    assert repr(aggregator).startswith("OrderedAggregator(Order([0.5])")
    matrix = torch.ones(2, 3, requires_grad=True)
    assert not aggregator.observe(torch.ones(2)).gramian_weighting(matrix @ matrix.T).requires_grad
    assert not aggregator(matrix).requires_grad
    for shape in ((3,), (2, 3, 4)):
        with pytest.raises(ValueError, match="matrix"):
            aggregator(torch.ones(shape))
    assert UPGrad()(random_matrix(2, 3, 2)).shape == (3,)
