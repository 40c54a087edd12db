"""Solutions in files: the same again, or a refusal."""

import dataclasses
import random

import numpy as np
import pytest

import lexicone as lx
from lexicone.exact._solution import Solution
from lexicone.proofs import verify
from tests.helpers.small_models import drawn

pytestmark = pytest.mark.usefixtures("without_shape_checks")

MEMORY = drawn(2, {0: [(0, (0, 0)), (1, (-10, 5))]}, [1])
CASES = {
    "named": (lx.tasks.space_traders(), lx.Order({"success": 0.88, "time": None}), {}),
    "memory": (MEMORY, lx.Order([-5.0]), {}),
    "infinite": (MEMORY, lx.Order([np.inf], break_ties=True), {}),
    "deterministic": (lx.tasks.space_traders(), lx.Order([0.88]), {"policies": "deterministic"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_again(case, tmp_path):
    mdp, order, options = CASES[case]
    solution = lx.solve(mdp, order, **options)
    path = tmp_path / "folder" / "solution.safetensors"
    solution.save(path)
    again = lx.Solution.load(path)
    for field in dataclasses.fields(Solution):
        ours, theirs = getattr(solution, field.name), getattr(again, field.name)
        if field.name == "certificate":
            assert (ours is None) == (theirs is None)
            for a, b in zip(
                () if ours is None else ours.stages,
                () if theirs is None else theirs.stages,
                strict=True,
            ):
                assert a.objective == b.objective
                np.testing.assert_array_equal(a.weights, b.weights)
                np.testing.assert_array_equal(a.state_values, b.state_values)
        elif isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype
        else:
            assert ours == theirs
            assert type(ours) is type(theirs)
    assert verify(mdp, again).message == verify(mdp, solution).message


def test_flipped_bits_are_refused(tmp_path):
    mdp, order, _ = CASES["named"]
    path = tmp_path / "solution.safetensors"
    lx.solve(mdp, order).save(path)
    whole = path.read_bytes()
    random_source = random.Random(0)
    for _ in range(200):
        place, bit = random_source.randrange(len(whole)), random_source.randrange(8)
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        path.write_bytes(bytes(damaged))
        with pytest.raises(ValueError, match=r"^path: "):
            lx.Solution.load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"^path: "):
        lx.Solution.load(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^path: "):
        lx.Solution.load(tmp_path / "none")
    model = tmp_path / "model.npz"
    lx.tasks.space_traders().save(model)
    with pytest.raises(ValueError, match=r"^path: "):
        lx.Solution.load(model)
    from lexicone._base import checkpoint

    other = tmp_path / "other"
    checkpoint.write(other, {"x": np.zeros(2)}, {"settings": {}})
    with pytest.raises(ValueError, match=r"^path: .*holds no solution"):
        lx.Solution.load(other)
    lx.solve(lx.tasks.space_traders(), lx.Order([0.88])).save(other)
    arrays, facts = checkpoint.read(other)
    for change in (
        {"status": "splendid"},
        {"thresholds": ["x"]},
        {"thresholds": ["1", "2"]},
        {"stages": [0, 1, 1, 1]},
        {"gamma": None},
    ):
        checkpoint.write(other, arrays, {**facts, **change})
        with pytest.raises(ValueError, match=r"^path: "):
            lx.Solution.load(other)
