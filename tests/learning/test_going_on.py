"""Callbacks, logs, longer budgets, files of others, Ctrl-C: on a model, in copies that are Python code, in JAX."""

import csv
import io
import struct
from typing import Any

import numpy as np
import pytest

from lexicone._base.events import EventFile, crc32c
from lexicone.learning._plan import make_plan
from lexicone.learning._saved import load
from lexicone.learning._train import train, train_many
from lexicone.learning._watch import NothingToRender
from lexicone.learning.algos._ppo import PPO
from lexicone.order import Order
from tests.helpers.interruption import killed_after
from tests.helpers.small_worlds import Bets, Counter
from tests.helpers.trainings import LEARNER, MAZE, ORDER, assert_same, run

PPO_SMALL = PPO(hidden=(4,), copies=3, length=8, epochs=1, minibatches=2)
BETS = Bets()


def on_model(**options: Any) -> Any:
    return run(snapshots=0, **{"updates": 20, **options})


def in_copies(**options: Any) -> Any:
    return train(Counter, Order([0.0]), PPO_SMALL, **{"seeds": 2, "updates": 6, **options})


def in_jax(**options: Any) -> Any:
    return train(BETS, Order([0.0]), PPO_SMALL, **{"seeds": 2, "updates": 20, **options})


ALL = [on_model, in_copies, in_jax]


@pytest.mark.slow
@pytest.mark.parametrize("start", ALL)
def test_a_callback_sees_every_row_and_may_stop(start, tmp_path):
    path, seen = tmp_path / "run", []

    def until_4(metrics: dict[str, Any]) -> bool:
        seen.append(metrics)
        return metrics["update"] >= 4

    whole = start()
    total = int(whole.run.update)
    stopped = start(callback=until_4, checkpoint=path)
    assert (stopped.status, int(stopped.run.update)) == ("stopped", 4)
    assert [metrics["update"] for metrics in seen] == [1, 2, 3, 4]
    assert all(metrics["updates"] == total for metrics in seen)
    assert seen[-1]["seconds"] >= seen[0]["seconds"] >= 0
    for name in ("returns", "steps", "satisfied"):
        found = np.stack([metrics[name] for metrics in seen], axis=1)
        np.testing.assert_array_equal(found, whole.history[name][:, :4])
    kept = load(
        path, **({} if start is on_model else {"task": Counter if start is in_copies else BETS})
    )
    assert kept.status == "stopped"
    assert_same(kept, stopped) if start is on_model else None
    on = start(checkpoint=path, resume=True, callback=seen.append)
    assert (on.status, seen[4]["update"]) == ("finished", 5)
    assert_same(on, whole)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (1 / 3, r"^callback: must return True, False or None, got 0\.333"),
        (KeyError("loss"), r"^callback: .*bad failed after update 3: KeyError: 'loss'$"),
    ],
)
def test_a_callback_that_fails_is_named_and_all_is_kept(answer, message, tmp_path):
    def bad(metrics: dict[str, Any]) -> Any:
        if metrics["update"] < 3:
            return None
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match=message):
        on_model(callback=bad, checkpoint=tmp_path / "run")
    assert int(load(tmp_path / "run").run.update) == 3
    assert load(tmp_path / "run").status == "unfinished"


@pytest.mark.slow
@pytest.mark.parametrize("start", ALL)
def test_ctrl_c_returns_what_there_is(start, tmp_path):
    def press(metrics: dict[str, Any]) -> None:
        if metrics["update"] == 2:
            raise KeyboardInterrupt

    found = start(callback=press, checkpoint=tmp_path / "run")
    assert found.status == "interrupted"
    assert 2 <= int(found.run.update) < found.updates
    assert found.evaluate(3).returns.shape[1] == 3
    on = start(resume=True, checkpoint=tmp_path / "run")
    assert_same(on, start())


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_an_update_loses_only_that(tmp_path):
    class Pressed(Counter):
        left = 60

        def step(self, action: Any) -> Any:
            Pressed.left -= 1
            if Pressed.left == 0:
                raise KeyboardInterrupt
            return super().step(action)

    options: Any = {"seeds": 1, "updates": 6}
    found = train(Pressed, Order([0.0]), PPO_SMALL, checkpoint=tmp_path / "run", **options)
    assert (found.status, int(found.run.update)) == (
        "interrupted",
        2,
    )  # of 24 steps each, and 2·4 tried
    on = train(
        Pressed, Order([0.0]), PPO_SMALL, checkpoint=tmp_path / "run", resume=True, **options
    )
    assert_same(on, train(Pressed, Order([0.0]), PPO_SMALL, **options))


@pytest.mark.slow
@pytest.mark.parametrize("start", ALL)
def test_a_larger_budget_goes_on_and_is_recorded(start, tmp_path):
    short = start()
    done = int(short.run.update)
    start(checkpoint=tmp_path / "run")
    long = start(checkpoint=tmp_path / "run", resume=True, updates=3 * done)
    assert (long.updates, long.status) == (3 * done, "finished")
    assert long.extended == ((done, done),)
    for name in ("returns", "steps"):
        np.testing.assert_array_equal(long.history[name][:, :done], short.history[name])
        assert long.history[name].shape[1] == 3 * done
    world = {on_model: {}, in_copies: {"task": Counter}, in_jax: {"task": BETS}}[start]
    assert load(tmp_path / "run", **world).extended == long.extended
    again = start(checkpoint=tmp_path / "run", resume=True, updates=3 * done)
    assert_same(again, long)
    with pytest.raises(ValueError, match=r"updates is \d+, not \d+; one can go on longer, not end"):
        start(checkpoint=tmp_path / "run", resume=True)


@pytest.mark.slow
def test_a_longer_training_killed_on_its_way_ends_with_the_same_bits(tmp_path):
    """And schedules are stretched: what was learned in the second half depends on the whole."""
    for name in ("whole", "cut"):
        in_copies(checkpoint=tmp_path / name)
    longer: Any = {"resume": True, "updates": 15}
    whole = in_copies(checkpoint=tmp_path / "whole", **longer)
    with killed_after(3):
        in_copies(checkpoint=tmp_path / "cut", **longer)
    half = load(tmp_path / "cut", task=Counter)
    assert 6 < int(half.run.update) < 15
    assert half.extended == ((6, 6),)
    assert_same(in_copies(checkpoint=tmp_path / "cut", **longer), whole)
    with pytest.raises(
        AssertionError
    ):  # one that was meant to be so long from the beginning differs
        assert_same(in_copies(updates=15), whole)


def test_rows_of_the_history_stay_as_wide_as_they_were(tmp_path):
    on_model(checkpoint=tmp_path / "run", log_every=4)
    long = on_model(checkpoint=tmp_path / "run", resume=True, updates=30)
    assert long.every == 4
    np.testing.assert_array_equal(long.history["update"], [4, 8, 12, 16, 20, 24, 28, 30])


def test_the_file_of_another_training_is_not_replaced(tmp_path):
    path = tmp_path / "run"
    on_model(checkpoint=path)
    before = path.read_bytes()
    on_model(checkpoint=path)  # the same one
    assert path.read_bytes() == before
    with pytest.raises(
        ValueError, match=r"^checkpoint: .* holds another training: its key is .*overwrite=True"
    ):
        on_model(checkpoint=path, seed=1)
    path.write_text("notes of mine")
    with pytest.raises(
        ValueError, match=r"^checkpoint: there is a file already, and .* no checkpoint"
    ):
        on_model(checkpoint=path)
    assert path.read_text() == "notes of mine"
    on_model(checkpoint=path, overwrite=True, seed=1)
    assert load(path).key == (0, 1)
    with pytest.raises(ValueError, match=r"^resume, overwrite: give one"):
        on_model(checkpoint=path, overwrite=True, resume=True)
    run(checkpoint=path, overwrite=True)
    with pytest.raises(ValueError, match=r"snapshots at even distances; it cannot become longer"):
        run(checkpoint=path, resume=True, updates=70)


def _table(path: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.mark.slow
@pytest.mark.parametrize("start", ALL)
def test_a_csv_beside_the_checkpoint_is_the_history_also_after_a_kill(start, tmp_path):
    path = tmp_path / "run"
    with killed_after(2):
        start(checkpoint=path, log="csv")
    table = tmp_path / "log.csv"
    table.write_text(table.read_text() + "3,1,cut sho")
    found = start(checkpoint=path, log=["csv"], resume=True)
    rows = _table(table)
    assert len(rows) == found.seeds * int(found.run.update)
    for row in rows:
        seed, at = int(row["seed"]), int(row["update"]) - 1
        for k, label in enumerate(found.order.labels):
            assert float(row[f"returns.{label}"]) == pytest.approx(
                found.history["returns"][seed, at, k], nan_ok=True
            )
        assert int(row["steps"]) == found.history["steps"][seed, at]
    assert f"cosines.{found.order.labels[0]}~{found.order.labels[1]}" in rows[0]
    once = tmp_path / "once.csv"
    start(log={"csv": once})
    assert once.read_text() == table.read_text()


def _records(data: bytes) -> list[bytes]:
    """By hand: lengths, and data whose checksums are right."""
    found, at = [], 0
    while at < len(data):
        (length,), end = struct.unpack("<Q", data[at : at + 8]), at + 12
        crc = crc32c(data[end : end + length])
        masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % 2**32
        assert struct.unpack("<I", data[end + length : end + length + 4])[0] == masked
        found.append(data[end : end + length])
        at = end + length + 4
    return found


def test_events_are_in_tensorboards_format(tmp_path):
    events = EventFile(tmp_path)
    events.add({"returns/safety": 0.5}, 300)
    events.close()
    (file,) = tmp_path.iterdir()
    first, start, event = _records(file.read_bytes())
    assert b"brain.Event:2" in first
    assert start.endswith(b"\x3a\x02\x08\x01")
    value = b"\x0a\x0ereturns/safety\x15" + struct.pack("<f", 0.5)
    summary = b"\x0a" + bytes([len(value)]) + value
    assert event[9:] == b"\x10\xac\x02\x2a" + bytes([len(summary)]) + summary  # 300 = 0b10·128 + 44


@pytest.mark.slow
def test_tensorboard_reads_what_a_killed_and_resumed_training_wrote(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with killed_after(2):
        in_copies(checkpoint=tmp_path / "run", log="tensorboard")
    found = in_copies(checkpoint=tmp_path / "run", log="tensorboard", resume=True)
    for seed in range(2):
        events = reader.EventAccumulator(str(tmp_path / "tensorboard" / f"seed-{seed}"))
        events.Reload()
        label = found.order.labels[0]
        scalars = events.Scalars(f"returns/{label}")
        assert [event.step for event in scalars] == found.history["steps"][seed].tolist()
        np.testing.assert_allclose(
            [event.value for event in scalars], found.history["returns"][seed, :, 0], rtol=1e-6
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"callback": 3}, r"^callback: expected a function"),
        ({"log": "wandb"}, r"^log: expected one of csv, tensorboard"),
        ({"log": "csv"}, r"^log: csv files are written beside the checkpoint, and there is none"),
        ({"log": {"csv": 3}}, r"^log: expected a path"),
        ({"log": 3}, r"^log: expected a list of names"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_plan(4, **options)


def test_several_learners_at_once_have_no_callback_and_end_with_ctrl_c(monkeypatch):
    with pytest.raises(ValueError, match=r"^callback: is for train"):
        train_many(MAZE, [(ORDER, LEARNER)], seeds=1, updates=1, callback=print)

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("lexicone.learning._outer_loop._in_pieces", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_many(MAZE, [(ORDER, LEARNER)], seeds=1, updates=1)


def test_without_a_terminal_there_are_lines(capsys):
    on_model(progress=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "training: compiling …"
    assert lines[1].startswith("training: compiled and begun after ")
    assert lines[-1].startswith("training: 20 of 20 updates (100%)")
    assert "tiles+goal" in lines[-1]


@pytest.mark.slow
@pytest.mark.parametrize("start", [in_copies, in_jax])
def test_where_there_is_nothing_to_render_a_figure_is_offered(start, tmp_path):
    found = start()
    with pytest.raises(NothingToRender, match=r"^path: \w+ has nothing to render; a \.png shows"):
        found.watch(tmp_path / "film.gif")
    assert not list(tmp_path.iterdir())
    found.watch(tmp_path / "figure.png", 1, episodes=2, greedy=True)
    assert (tmp_path / "figure.png").stat().st_size > 10_000
