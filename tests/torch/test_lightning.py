"""Ordered losses inside PyTorch Lightning, with its automatic optimisation: the parameters of a plain loop."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from lexicone.torch import OrderedWeighting, ordered_loss

lightning = pytest.importorskip("lightning", reason="needs lightning")

pytestmark = [
    pytest.mark.usefixtures("without_shape_checks"),
    pytest.mark.filterwarnings("ignore"),  # Lightning's own advice on workers and loggers
    pytest.mark.slow,
]


def batches() -> DataLoader:
    made = torch.Generator().manual_seed(0)
    inputs = torch.randn(64, 3, generator=made)
    return DataLoader(TensorDataset(inputs, inputs.sum(dim=1, keepdim=True)), batch_size=16)


def losses_of(model: nn.Module, inputs: Tensor, targets: Tensor) -> list[Tensor]:
    missed = model(inputs) - targets
    return [missed.pow(2).mean(), sum(p.abs().sum() for p in model.parameters())]  # pyright: ignore


class Ordered(lightning.LightningModule):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model, self.weighting = model, OrderedWeighting([0.3])

    def training_step(self, batch, index):
        return ordered_loss(losses_of(self.model, *batch), self.weighting, self.model.parameters())

    def configure_optimizers(self):
        return torch.optim.Adam(self.model.parameters(), lr=0.01)


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))


def test_a_lightning_run_and_a_plain_loop_give_the_same_parameters(tmp_path):
    inside = Ordered(small_model())
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(inside, batches())
    trainer.save_checkpoint(tmp_path / "last.ckpt")

    model, weighting = small_model(), OrderedWeighting([0.3])
    before = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        for batch in batches():
            optimizer.zero_grad()
            ordered_loss(losses_of(model, *batch), weighting, model.parameters()).backward()
            optimizer.step()

    for ours, theirs, start in zip(
        model.parameters(), inside.model.parameters(), before.parameters(), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
        assert not torch.equal(ours, start)
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)["state_dict"]
    torch.testing.assert_close(saved["weighting.mean"], weighting.mean, rtol=0, atol=0)
