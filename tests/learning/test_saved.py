from dataclasses import replace

import numpy as np
import pytest

from lexicone._base import checkpoint
from lexicone.learning._saved import load
from lexicone.learning._train import train
from lexicone.order import Order
from tests.helpers.trainings import LEARNER, MAZE, ORDER, UPDATES, assert_same, other_maze, run


@pytest.mark.slow
def test_resume_refuses_another_training(tmp_path):
    path = tmp_path / "run.safetensors"
    run(seeds=1, checkpoint=path)
    for changes, named in (
        ({"learner": replace(LEARNER, delta=0.2)}, r"delta is [\d.]+, not 0.2$"),
        ({"order": Order([-3.0], names=["tiles+goal", "time"])}, "thresholds"),
        ({"seed": 4}, "key"),
        ({"updates": 50}, "updates is 60, not 50; one can go on longer"),
        ({"seeds": 2}, "seeds"),
    ):
        with pytest.raises(ValueError, match=rf"^resume: .* is of another training: its {named}"):
            run(**{"seeds": 1, **changes}, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="its model is"):
        train(
            other_maze(),
            ORDER,
            LEARNER,
            seeds=1,
            updates=UPDATES,
            snapshots=4,
            checkpoint=path,
            resume=True,
        )


@pytest.mark.slow
def test_saved_and_loaded(tmp_path, trained):
    path = tmp_path / "run.safetensors"
    trained.save(path)
    again = load(path)
    assert_same(again, trained)
    assert (again.order, again.learner, again.updates) == (ORDER, LEARNER, UPDATES)
    np.testing.assert_array_equal(again.mdp.reward, MAZE.reward)
    assert again.mdp.state_names == MAZE.state_names
    assert again.mdp.layout is not None
    np.testing.assert_array_equal(again.evaluate(20).returns, trained.evaluate(20).returns)
    with pytest.raises(ValueError, match="does not fit the learner"):
        load(path, replace(LEARNER, hidden=(7,)))


def without(entries, name):
    return {key: entry for key, entry in entries.items() if key != name}


@pytest.mark.parametrize(
    ("alter", "message"),
    [
        (lambda a, f: (a, {**f, "settings": {**f["settings"], "wings": 2}}), "settings .*'wings'"),
        (
            lambda a, f: (a, {**f, "settings": {**f["settings"], "gamma": 9.0}}),
            "settings .*: gamma",
        ),
        (lambda a, f: (a, {**f, "settings": 3}), "settings "),
        (lambda a, f: (a, without(f, "map")), "a model .* no entry 'map'"),
        (lambda a, f: (a, {**f, "thresholds": ["x"]}), "an order .*'x'"),
        (
            lambda a, f: (a, {**f, "names": None, "thresholds": ["1", "2"]}),
            "a model .* has 3 objectives",
        ),
        (lambda a, f: (a, {**f, "names": None, "thresholds": 3}), "an order "),
        (lambda a, f: (a, without(f, "seeds")), "numbers .* no entry 'seeds'"),
        (lambda a, f: (a, {**f, "every": 0}), "numbers .* every: must be"),
        (lambda a, f: (without(a, "mdp.reward"), f), "a model .* no entry 'mdp.reward'"),
        (lambda a, f: ({**a, "mdp.initial": np.ones(9)}, f), "a model .* initial"),
        (lambda a, f: (without(a, "run.update"), f), "a run .* no entry 'run.update'"),
        (lambda a, f: ({**a, "run.update": np.array(61)}, f), "a run .*update is 61, .* 60 in all"),
        (lambda a, f: ({**a, "run.update": np.array(-1)}, f), "a run .*update is -1"),
        (
            lambda a, f: ({k: v for k, v in a.items() if ".log." not in k}, f),
            "a run .* no entry 'run.log'",
        ),
        (lambda a, f: ({**a, "run.log.found": np.ones((9, 3))}, f), r"a run .* shape \(9, 3\)"),
        (lambda a, f: ({**a, "run.snapshots": np.ones((4, 2, 9, 4))}, f), "a run .*snapshots has"),
        (lambda a, f: (a, 3), "no training"),
        (lambda a, f: (a, f), None),
    ],
)
def test_a_file_with_other_contents_is_refused(alter, message, tmp_path, trained):
    """Also if its digest is right."""
    path = tmp_path / "run"
    trained.save(path)
    checkpoint.write(path, *alter(*checkpoint.read(path)))
    if message is None:
        assert_same(load(path), trained)
        return
    with pytest.raises(ValueError, match=rf"^path: '.*run' (has|holds) {message}"):
        load(path)
