"""Screening: miss at most 2 % of the malignant tumours, then a log loss of at most .12, then few features.

    python experiments/ordered_losses/screening.py --json experiments/ordered_losses/screening.json

A logistic regression on scikit-learn's breast cancer data (569 tumours, 30 features), for 30 random splits into
training, validation and test. The bound is about the validation part, so the first loss is the probability to miss a
tumour there; the log loss is the training part's. What is met is decided by what one really wants, the rate of tumours
that are missed, because that is what `observe` is told. With a margin the bound is approached to within one tumour
less. Beside it, with the same three losses: UPGrad and PCGrad, a penalty on what exceeds the bounds, and the best of 10
weighted sums, chosen on the validation part by the same order. The table says how often the bound of 2 % holds on the
validation part and on the test part, which nobody has seen.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from torch import Tensor
from torchjd.aggregation import PCGradWeighting, UPGradWeighting

import lexicone as lx
from lexicone.torch import OrderedWeighting

BOUNDS = {"missed": 0.02, "log loss": 0.12, "size": None}
WEIGHTS = [(a, c) for a in (0.3, 1.0, 3.0, 10.0, 30.0) for c in (0.003, 0.03)]  # of missed, of size


def parts(seed: int) -> list[tuple[Tensor, Tensor]]:
    """Training (half), validation and test part, with the training part's scale; 1 is malignant."""
    features, benign = load_breast_cancer(return_X_y=True)
    malignant = 1.0 - benign
    train, rest = train_test_split(
        np.arange(len(malignant)), test_size=0.5, random_state=seed, stratify=malignant
    )
    check, test = train_test_split(rest, test_size=0.5, random_state=seed, stratify=malignant[rest])
    scaled = (features - features[train].mean(0)) / features[train].std(0)
    return [
        (torch.tensor(scaled[rows], dtype=torch.float32), torch.tensor(malignant[rows]).float())
        for rows in (train, check, test)
    ]


def log_loss_of(weights: Tensor, features: Tensor, malignant: Tensor) -> Tensor:
    """The log loss on one part."""
    scores = features @ weights[:-1] + weights[-1]
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, malignant)


def losses_of(weights: Tensor, data: list[tuple[Tensor, Tensor]]) -> Tensor:
    """The probability to miss a tumour of the validation part, the log loss of training, the size of the weights."""
    train, (features, malignant), _ = data
    chances = torch.sigmoid(-features @ weights[:-1] - weights[-1])
    missed = (chances * malignant).sum() / malignant.sum()
    return torch.stack([missed, log_loss_of(weights, *train), weights[:-1].abs().sum()])


def figures_of(weights: Tensor, features: Tensor, malignant: Tensor) -> Tensor:
    """What the bounds are about, on one part: the rate of malignant tumours called benign, log loss, size."""
    with torch.no_grad():
        missed = ((features @ weights[:-1] + weights[-1] <= 0) * malignant).sum() / malignant.sum()
        log_loss = log_loss_of(weights, features, malignant)
        return torch.stack([missed, log_loss, weights[:-1].abs().sum()])


def fit(method: str, data: list[tuple[Tensor, Tensor]], steps: int, mix: Any = None) -> Tensor:
    """Weights of a logistic regression after so many steps of Adam."""
    weights = torch.zeros(31, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    margin = [1.0, 0.0] if method == "ordered, margin" else 0.0
    ordered = OrderedWeighting(BOUNDS, spread=0.02, margin=margin)  # .02 is one tumour
    peers = {"UPGrad": UPGradWeighting(), "PCGrad": PCGradWeighting()}
    limits = torch.tensor([BOUNDS["missed"], BOUNDS["log loss"]])
    for _ in range(steps):
        optimizer.zero_grad()
        losses, figures = losses_of(weights, data), figures_of(weights, *data[1])
        if method == "weighted sum":
            losses.backward(torch.tensor([mix[0], 1.0, mix[1]]))
        elif method == "penalty":
            over = figures[:2] > limits
            losses.backward(torch.cat([1000.0 * over, torch.ones(1)]))
        else:
            rows = torch.stack(
                [torch.autograd.grad(loss, weights, retain_graph=True)[0] for loss in losses]
            )
            weighting = peers.get(method) or ordered.observe(figures)
            weights.grad = weighting(rows @ rows.T) @ rows
        optimizer.step()
        schedule.step()
    return weights.detach()


def judge(weights: Tensor, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """On one part: malignant tumours called benign, benign ones called malignant, log loss, size of the weights."""
    features, malignant = part
    missed, log_loss, size = figures_of(weights, features, malignant).tolist()
    called = features @ weights[:-1] + weights[-1] > 0
    alarms = float((called & (malignant == 0)).sum() / (malignant == 0).sum())
    return {"missed": missed, "false alarms": alarms, "log loss": log_loss, "size": size}


def best_sum(data: list[tuple[Tensor, Tensor]], steps: int, mixes: list[Any]) -> Tensor:
    """Of the weighted sums, the one that the order prefers on the validation part."""
    fitted = [fit("weighted sum", data, steps, mix) for mix in mixes]
    order = lx.Order([-BOUNDS["missed"], -BOUNDS["log loss"]])  # larger is better: minus the losses
    return fitted[order.argmax(np.array([-figures_of(w, *data[1]).numpy() for w in fitted]))]


def run(splits: int = 30, steps: int = 600, mixes: list[Any] = WEIGHTS) -> dict[str, Any]:
    """For each method its figures on the test part of each split, and how often the bound holds."""
    methods = ("ordered", "ordered, margin", "weighted sum", "UPGrad", "PCGrad", "penalty")
    rows: dict[str, list[Any]] = {method: [] for method in methods}
    for seed in range(splits):
        data = parts(seed)
        for method in methods:
            summed = method == "weighted sum"
            weights = best_sum(data, steps, mixes) if summed else fit(method, data, steps)
            row = judge(weights, data[2])
            rows[method].append(row | {"validation": judge(weights, data[1])["missed"]})
    limit = BOUNDS["missed"]
    return {
        method: {
            "holds on validation": float(np.mean([r["validation"] <= limit for r in each])),
            "holds on test": float(np.mean([r["missed"] <= limit for r in each])),
            **{key: float(np.mean([r[key] for r in each])) for key in each[0]},
        }
        for method, each in rows.items()
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    results = run(options.splits, options.steps)
    for method, row in results.items():
        print(f"{method:16s}", "  ".join(f"{key} {value:.3f}" for key, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
