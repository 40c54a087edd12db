import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import jax
import numpy as np
import pytest
import tyro
from rich.console import Console

from lexicone.cli import _train as cli_train
from lexicone.cli._evaluate import Evaluate
from lexicone.cli._experiments import ReproduceExp2, ReproduceFtn
from lexicone.cli._train import Train, make_learner
from lexicone.exact._solve import solve
from lexicone.learning._saved import load
from lexicone.learning.algos._reinforce import Reinforce
from lexicone.order import Order
from lexicone.studies import exp1, exp2, fruit_tree as ftn, policy_gradient
from lexicone.studies.policy_gradient import Options, Part, train_part
from lexicone.tasks import fruit_tree, maze
from lexicone.tasks._fruit_tree import fruits_of
from tests.helpers.commands import modules_after, run as command
from tests.helpers.names import action_number

SMALL = ["hidden=8", "dropout=0", "temperature=1", "batch=4", "max_steps=10"]
TRAIN = [
    "maze:small",
    "--thresholds",
    "0.5",
    "--learner",
    "reinforce",
    "--seeds",
    "2",
    "--episodes",
    "8000",
]


@pytest.fixture(autouse=True, scope="module")
def compile_quickly():
    """Compilation dominates here, and these programs are tiny."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def run(command, arguments):
    return tyro.cli(command, args=arguments).run(Console(width=100))


def test_the_commands_parse_without_jax():
    use = "import lexicone.cli._train, lexicone.cli._experiments"
    assert modules_after(use) == "False False"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("train")
    run(Train, [*TRAIN, "--settings", *SMALL, "--out", str(out), "--json"])
    return out


@pytest.mark.slow
def test_train_writes_everything(folder):
    names = {file.name for file in folder.iterdir()}
    assert {"training.safetensors", "results.json", "history.png", "policy.svg"} <= names
    results = json.loads((folder / "results.json").read_text())
    assert results["objectives"] == ["goal", "tiles"]
    assert results["episodes"] == 8000
    assert len(results["success"]) == 2
    trained = load(folder / "training.safetensors")
    assert trained.learner == Reinforce(
        hidden=(8,), dropout=0.0, temperature=1.0, batch=4, max_steps=10
    )
    np.testing.assert_allclose(results["values"], trained.values(), rtol=1e-6)
    exact = solve(trained.mdp, trained.order)
    np.testing.assert_allclose(results["gap"], trained.gap(exact), atol=1e-9)


@pytest.mark.slow
def test_evaluate_judges_again(folder, capsys):
    run(Evaluate, [str(folder), "--episodes", "50", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["evaluation_episodes"] == 50
    for share, (low, high) in zip(found["success"], found["success_intervals"], strict=True):
        assert 0 <= low < share + 1e-9 < high + 2e-9 <= 1 + 2e-9
    assert found["held"] == [[bool(returns[0] >= 0.5)] for returns in found["returns"]]
    assert Order([0.5]).key(found["exact"]) == pytest.approx([0.5, 0])
    run(Evaluate, [str(folder / "training.safetensors"), "--greedy"])
    out = " ".join(capsys.readouterr().out.split())
    assert "goal ≥ 0.5" in out
    assert "greedy actions" in out
    assert "(optimal)" in out
    assert "exact expected values within 10 steps" in out
    assert "goal ≥ 0.5 on average holds on" in out


@pytest.mark.slow
def test_resume_of_a_finished_training_changes_nothing(folder, monkeypatch):
    monkeypatch.setattr(cli_train, "_draw", lambda *_: None)
    before = (folder / "training.safetensors").read_bytes()
    run(Train, [*TRAIN, "--settings", *SMALL, "--out", str(folder), "--json", "--resume"])
    assert (folder / "training.safetensors").read_bytes() == before
    with pytest.raises(ValueError, match=r"is of another training: its \w+ is .*, not "):
        run(Train, [*TRAIN, "--out", str(folder), "--json", "--resume"])


@pytest.mark.slow
def test_another_training_is_not_replaced_and_logs_lie_beside(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cli_train, "_draw", lambda *_: None)
    call = [*TRAIN, "--settings", *SMALL, "--json", "--seed", "5"]
    with pytest.raises(ValueError, match=r"^checkpoint: .* its key is .*--overwrite"):
        run(Train, [*call, "--out", str(folder)])
    path = tmp_path / "training.safetensors"
    path.write_bytes((folder / "training.safetensors").read_bytes())
    run(Train, [*call, "--out", str(tmp_path), "--overwrite", "--log", "csv"])
    assert load(path).key == (0, 5)
    assert (tmp_path / "log.csv").read_text().count("\n") == 1 + 2 * 2000
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["diagnosis"][0] == "On 100 fresh episodes of each seed:"


def test_ctrl_c_says_what_is_kept(tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("lexicone.learning._outer_loop._in_pieces", interrupted)
    call = ["train", *TRAIN, "--settings", *SMALL, "--json", "--out", str(tmp_path)]
    code, out, err = command(call, capsys)
    assert (code, out) == (130, "")
    said = "lexicone: interrupted after 0 of 2000 updates, which are saved; --resume goes on\n"
    assert err == said
    assert load(tmp_path).status == "interrupted"


KILLED = """
import sys, tyro
from rich.console import Console
from lexicone.learning import _outer_loop
from lexicone.cli._train import Train
_outer_loop._SAVE_SECONDS, _outer_loop._PIECE_SECONDS = 0.0, 0.01
tyro.cli(Train).run(Console())
"""


@pytest.mark.slow
def test_killed_and_resumed_ends_like_uninterrupted(tmp_path, folder, monkeypatch):
    """Killed outright while it trains; the file that --resume ends with is the same, bit for bit."""
    monkeypatch.setattr(cli_train, "_draw", lambda *_: None)
    long = [*TRAIN, "--settings", *SMALL, "--json", "--out"]
    cut = tmp_path / "cut"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, *long, str(cut)],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "JAX_ENABLE_X64": "1", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
    )
    path = cut / "training.safetensors"
    for _ in range(6000):
        if path.exists() or process.poll() is not None:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 0 < int(load(path).run.update) < 2000, "it was not killed in the middle"
    run(Train, [*long, str(cut), "--resume"])
    assert path.read_bytes() == (folder / "training.safetensors").read_bytes()


def test_policies_are_drawn_where_either_of_them_goes():
    mdp = maze("small", objectives="path")  # a goal above, bad tiles between, the start below
    exact = solve(mdp, Order([-4.0]))
    left = np.eye(4)[np.full(mdp.num_states, action_number(mdp, "Left"))]
    assert mdp.layout is not None
    rows, columns = mdp.layout.positions.T
    best = np.asarray(exact.occupancy).sum(axis=1) > 0
    beside = (rows == 2) & (columns < 2)  # the start, and the tile to its left
    found = cli_train._visited(mdp, left, exact)
    np.testing.assert_array_equal(found, beside | best)
    assert beside.sum() == 2
    assert (beside & ~best).any()
    assert (best & ~beside).any()
    assert not found.all()


@pytest.mark.slow
def test_reproduce_a_maze(tmp_path, capsys, monkeypatch):
    whole = exp2.experiment()
    small = {"hidden": (), "dropout": 0.0, "max_steps": 10, "batch": 1, "method": "sequential"}
    parts = [
        part._replace(learner=replace(part.learner, credit="returns", **small))
        for part in whole.parts
    ]
    monkeypatch.setattr(exp2, "experiment", lambda: whole._replace(parts=tuple(parts)))
    arguments = ["--seeds", "2", "--episodes", "16", "--out", str(tmp_path)]
    run(ReproduceExp2, arguments)
    out = " ".join(capsys.readouterr().out.split())
    assert "4 of 10" in out
    assert "A seed is successful: the goal is reached without a bad tile" in out
    names = {file.name for file in tmp_path.iterdir()}
    assert {"literal-one-seed.png", "best-one-seed.svg", "all-seeds.png", "results.json"} <= names
    first = json.loads((tmp_path / "results.json").read_text())
    options = Options(seeds=2, episodes=16, resume=True, progress=False)
    again = policy_gradient.run(exp2.experiment(), options, tmp_path)
    assert json.loads(json.dumps(again)) == first
    results = first["parts"]
    assert results["literal"]["exact"] == pytest.approx([1, 0])
    assert results["best"]["episodes"] == 16
    assert np.shape(results["literal"]["curves"]["success"]) == (2, 16)


def test_the_papers_settings():
    one, two = exp1.experiment(), exp2.experiment()
    assert (one.mdp.num_states, two.mdp.num_states) == (20, 15)
    for experiment in (one, two):
        literal = experiment.parts[0].learner
        assert (literal.batch, literal.method, literal.credit) == (1, "sequential", "returns")
        assert (literal.hidden, literal.dropout, literal.temperature) == ((128,), 0.6, 10)
    clean, dirty, lost = np.array([1.0, -10]), np.array([-3.0, -8]), np.array([0.0, -200])
    assert [bool(one.success(r)) for r in (clean, dirty, lost)] == [True, False, False]
    assert [bool(two.success(np.array(r))) for r in ((1, 0), (1, -4), (0, 0))] == [
        True,
        False,
        False,
    ]


def test_the_desired_leaf():
    mdp = fruit_tree(5, seed=3)
    policy = np.random.default_rng(0).dirichlet([1, 1], size=mdp.num_states)
    shares = [float(ftn.leaf_probability(policy, leaf)) for leaf in range(32)]
    assert sum(shares) == pytest.approx(1)
    state, share = 0, 1.0
    for turn in (0, 1, 1, 0, 1):  # leaf 13
        share *= policy[state, turn]
        state = int(mdp.next_state[state, turn, 0])
    assert shares[13] == pytest.approx(share)
    fruits = fruits_of(mdp)
    np.testing.assert_array_equal(fruits[13], mdp.reward[mdp.next_state[:, :, 0] == state][0, 0])
    order = ftn.desired(mdp, 13)
    assert order.argmax(fruits) == 13
    with pytest.raises(ValueError, match="--leaf: must be from 0 to 31, got 32"):
        ftn.desired(mdp, 32)


@pytest.mark.slow
def test_the_literal_learner_cannot_tell_deltas_apart_on_a_tree(tmp_path):
    """The gradients of one episode are multiples of each other; those of a batch are not."""
    mdp = fruit_tree(2, seed=1, num_objectives=3)
    order = Order([0.1, 0.1])
    options = Options(seeds=2, progress=False)
    ends = {}
    for batch in (1, 8):
        for degrees in (0, 20):
            learner = Reinforce(
                delta=np.radians(degrees), batch=batch, max_steps=2, hidden=(), dropout=0.0
            )
            part = Part(f"{batch}-{degrees}", "", learner, order, 400)
            ends[batch, degrees] = train_part(part, mdp, options, tmp_path)
    np.testing.assert_array_equal(ends[1, 0].policies, ends[1, 20].policies)
    np.testing.assert_allclose(ends[1, 0].history["cosines"], 1)
    assert not np.allclose(ends[8, 0].policies, ends[8, 20].policies)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (("wings=2",), {}, r"^--settings: 'wings=2' is none of NAME=VALUE with delta="),
        (("batch",), {}, r"^--settings: 'batch' \(did you mean batch\?\) is none of NAME=VALUE"),
        (
            ("lerning_rate=1",),
            {},
            r"^--settings: 'lerning_rate=1' \(did you mean learning_rate\?\)",
        ),
        (("batch=0",), {}, r"^batch: must be a whole number of at least 1"),
        ((), {"delta_deg": 90.0}, r"^--delta-deg: must be at least 0 and below 90"),
        (("delta=0.1",), {"delta_deg": 5.0}, r"^--delta-deg: delta is among"),
        ((), {"name": "sarsa"}, r"^--learner: there is no 'sarsa'; there are .*reinforce"),
    ],
)
def test_mistakes_are_named(settings, options, message):
    with pytest.raises(ValueError, match=message):
        make_learner(options.pop("name", "reinforce"), settings, **options)


def test_settings_take_the_type_of_their_field():
    made = make_learner("Reinforce", ("gamma=1", "hidden=[8, 4]", "active-constraints=true"), 30.0)
    assert made == Reinforce(
        gamma=1.0, hidden=(8, 4), active_constraints=True, delta=np.radians(30)
    )


def test_reproduce_refuses_nonsense_at_once(tmp_path):
    with pytest.raises(ValueError, match="--seeds: must be at least 1"):
        run(ReproduceFtn, ["--seeds", "0", "--out", str(tmp_path)])
