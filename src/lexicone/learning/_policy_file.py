"""Policies that act with NumPy alone: no JAX, no environment. What `export` writes and `load_policy` reads."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from lexicone._base import checkpoint
from lexicone._base.arrays import as_numbers
from lexicone._base.checks import check_flags, check_function, check_kind, check_seed, check_type
from lexicone.learning._spaces import Actions, flatten

__all__ = ["NUMPY_ACTIVATIONS", "Policy", "actions_from", "describe_actions", "load_policy"]

NUMPY_ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
}
_FARTHEST, _LEAST = 10.0, 1e-8  # as in training: see `_normalise`
_KIND = "policy"


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy as a function from an observation to an action, with what it knows of observations."""

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    activation: str
    mean: Float[np.ndarray, " D"]
    square: Float[np.ndarray, " D"]
    """The observations' mean and variance in training."""
    log_std: Float[np.ndarray, " numbers"]
    actions: Actions
    observations: Any
    """How an observation becomes numbers (`describe_observations`); None where ``features`` does it."""
    features: Callable[[Any], Any] | None = None
    greedy: bool = False
    """Take the most probable action instead of sampling."""
    generator: np.random.Generator = field(default_factory=np.random.default_rng)
    """Where sampled actions come from."""

    def see(self, observation: Any) -> Float[np.ndarray, " D"]:
        """What the network sees, before it is scaled."""
        if self.observations is not None:
            try:
                row = flatten(self.observations, observation)
            except (TypeError, ValueError, LookupError, OverflowError, AttributeError) as error:
                raise ValueError(f"observation: is none of the training's: {error}") from error
        elif self.features is None:
            raise ValueError(
                "features: were a function of observations in training; give it to load_policy as features"
            )
        else:
            row = as_numbers("features(observation)", self.features(observation)).reshape(-1)
        if len(row) != len(self.mean):
            raise ValueError(f"observation: expected {len(self.mean)} numbers, got {len(row)}")
        return as_numbers("observation", row, finite=True)

    def outputs(self, rows: Float[np.ndarray, "M D"]) -> Float[np.ndarray, "M outputs"]:
        """Logits of choices, or means of numbers."""
        rows = as_numbers("rows", rows, (None, len(self.mean)))
        rows = np.clip((rows - self.mean) / np.sqrt(self.square + _LEAST), -_FARTHEST, _FARTHEST)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            rows = rows @ weight.T + bias
            if i < len(self.weights) - 1:
                rows = NUMPY_ACTIVATIONS[self.activation](rows)
        return rows

    def choose(
        self, rows: Float[np.ndarray, "M D"], generator: np.random.Generator | None
    ) -> np.ndarray:
        """What to do in M places, ``[M,parts]``; the most probable without a generator."""
        if generator is not None:
            check_type("generator", generator, np.random.Generator, "a numpy.random.Generator")
        rows = as_numbers("rows", rows, (None, len(self.mean)))
        outputs = self.outputs(rows)
        if not self.actions.discrete:
            if generator is None:
                return outputs
            return outputs + np.exp(self.log_std) * generator.standard_normal(outputs.shape)
        parts = _shares(self.actions, outputs)
        if generator is None:
            return np.stack([np.argmax(part, axis=-1) for part in parts], axis=-1)
        draws = generator.random((len(parts), len(rows)))
        chosen = []
        for part, draw in zip(parts, draws, strict=True):
            beyond = np.cumsum(part, axis=-1)
            beyond[:, -1] = 2.0
            chosen.append(np.sum(draw[:, None] >= beyond, axis=-1))
        return np.stack(chosen, axis=-1)

    def probabilities(self, observation: Any) -> Any:
        """Of every choice, the environment's first one first; a list of such where there are several at once."""
        if not self.actions.discrete:
            raise ValueError(
                "policy: its actions are numbers; distribution has their mean and deviation"
            )
        parts = [
            part[0] for part in _shares(self.actions, self.outputs(self.see(observation)[None]))
        ]
        return parts[0] if len(parts) == 1 else parts

    def distribution(self, observation: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of every number, before it is scaled and moved into its bounds."""
        if self.actions.discrete:
            raise ValueError("policy: its actions are choices; probabilities has those")
        return self.outputs(self.see(observation)[None])[0], np.exp(self.log_std)

    def act(self, observation: Any) -> Any:
        """What to do, as the environment takes it."""
        row = self.see(observation)[None]
        chosen = self.choose(row, None if self.greedy else self.generator)
        taken = self.actions.to_world(chosen)[0]
        return int(taken) if self.actions.discrete and taken.ndim == 0 else taken

    def __call__(self, observation: Any) -> Any:
        """The same as `act`."""
        return self.act(observation)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the function ``features`` to one file; `load_policy` reads it."""
        arrays = {"mean": self.mean, "square": self.square, "log_std": self.log_std}
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight.{i}": weight, f"bias.{i}": bias}
        facts = {
            "kind": _KIND,
            "activation": self.activation,
            "actions": describe_actions(self.actions),
            "observations": self.observations,
            "layers": len(self.weights),
        }
        checkpoint.write(path, arrays, facts)


def _shares(actions: Actions, outputs: np.ndarray) -> list[np.ndarray]:
    """The probabilities of each choice, ``[M,size]``."""
    parts = np.split(outputs, np.cumsum(actions.sizes)[:-1], axis=-1)
    raised = [np.exp(part - part.max(axis=-1, keepdims=True)) for part in parts]
    return [part / part.sum(axis=-1, keepdims=True) for part in raised]


def describe_actions(actions: Actions) -> dict[str, Any]:
    """As JSON can hold them; bounds as words, since some are infinite."""
    words = {name: [repr(b) for b in getattr(actions, name)] for name in ("low", "high")}
    lists = {name: list(getattr(actions, name)) for name in ("sizes", "first", "shape")}
    return {**lists, **words, "dtype": actions.dtype}


def actions_from(facts: dict[str, Any]) -> Actions:
    """What `describe_actions` wrote."""
    return Actions(
        tuple(facts["sizes"]),
        tuple(facts["first"]),
        tuple(map(float, facts["low"])),
        tuple(map(float, facts["high"])),
        tuple(facts["shape"]),
        facts["dtype"],
    )


def load_policy(
    path: str | os.PathLike[str],
    *,
    features: Callable[[Any], Any] | None = None,
    greedy: bool = False,
    seed: int | None = None,
) -> Policy:
    """A policy that `TrainedSegments.export` wrote. It acts with NumPy alone.

    Args:
        path: the file.
        features: the function from an observation to a vector, if there was one in training.
        greedy: take the most probable action instead of sampling.
        seed: of the samples; another one each time by default.
    """
    check_function("features", features, optional=True)
    check_flags(greedy=greedy)
    if seed is not None:
        check_seed(seed)
    arrays, facts = checkpoint.read(path)
    if not isinstance(facts, dict) or facts.get("kind") != _KIND:
        raise ValueError(f"path: {os.fspath(path)!r} holds no policy; lx.load reads trainings")
    try:
        policy = _read(arrays, facts)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValueError(
            f"path: {os.fspath(path)!r} has a policy that cannot be read: {error!r}"
        ) from None
    if features is not None and policy.observations is not None:
        raise ValueError("features: the policy was trained without any")
    return replace(policy, features=features, greedy=greedy, generator=np.random.default_rng(seed))


def _read(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Policy:
    """The policy of a file, whose layers must fit each other."""
    count = range(facts["layers"])
    weights = tuple(arrays[f"weight.{i}"] for i in count)
    biases = tuple(arrays[f"bias.{i}"] for i in count)
    actions, activation = actions_from(facts["actions"]), facts["activation"]
    check_kind("activation", activation, tuple(NUMPY_ACTIVATIONS))
    mean, square, log_std = (arrays[name] for name in ("mean", "square", "log_std"))
    sizes = [len(mean), *map(len, weights)]
    shapes = [weight.shape for weight in weights] == list(zip(sizes[1:], sizes, strict=False))
    ends = sizes[-1] == actions.outputs and log_std.shape == (len(actions.low),)
    if not (shapes and ends and mean.shape == square.shape == (sizes[0],)):
        raise ValueError("its layers do not fit each other")
    if [bias.shape for bias in biases] != [(size,) for size in sizes[1:]]:
        raise ValueError("its layers do not fit each other")
    return Policy(
        weights, biases, activation, mean, square, log_std, actions, facts["observations"]
    )
