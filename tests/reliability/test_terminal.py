"""What people type and read: other alphabets, narrow terminals, closed pipes, Ctrl-C, brackets in names, slips."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from lexicone import cli
from lexicone.cli._main import COMMANDS, EXPERIMENTS
from lexicone.models._mdp import MDP
from tests.helpers.commands import run

MAZE = ["maze:extended", "--set", "objectives=path"]
CALLS = [
    ["--help"],
    ["solve", "--help"],
    ["tasks"],
    ["tasks", "maze"],
    ["show", *MAZE],
    ["solve", *MAZE, "--thresholds", "-3"],
    ["pareto", *MAZE],
    ["augment", *MAZE, "--thresholds", "-3"],
    ["inspect", *MAZE],
    ["maximize", "benchmark", "--x0", "1.5", "1.5", "--thresholds", "-0.5"],
]


@pytest.fixture
def names(tmp_path):
    """A model whose names are markup to some and no ASCII to others."""
    path = tmp_path / "model [/b] ≥.npz"
    MDP(
        next_state=[[[1]], [[1]]],
        probability=[[[1.0]], [[1.0]]],
        reward=[[[[1.0, 2.0]]], [[[0.0, 0.0]]]],
        initial=[1.0, 0.0],
        terminal=[False, True],
        objective_names=("price [/day]", "time [min] ≥ :smile:"),
    ).save(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "columns"), [("ascii", "20"), ("latin-1", "20"), ("cp1252", "100")]
)
def test_every_encoding_and_width_has_some_output(encoding, columns, names, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    for call in [
        *CALLS,
        ["solve", str(names), "--thresholds", "1"],
        ["solve", "∞", "--thresholds"],
    ]:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding) for _ in range(2))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        try:
            cli.main(call)
            code = 0
        except SystemExit as end:
            code = end.code
        out.flush()
        err.flush()
        assert code == (2 if "∞" in call else 0), call
        said = out.buffer.getvalue() if code == 0 else err.buffer.getvalue()  # type: ignore
        assert len(said.decode(encoding)) > 20


def test_brackets_and_colons_are_printed_as_they_are(names, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "x[/b]"
    code, out, err = run(["solve", str(names), "--thresholds", "1", "--out", str(folder)], capsys)
    assert (code, err) == (0, "")
    for text in ("price [/day]", "time [min] ≥ :smile:", "x[/b]"):
        assert text in out
    code, out, _ = run(["pareto", str(names)], capsys)
    assert (code, "price [/day]" in out) == (0, True)


def test_progress_shows_names_as_they_are(capsys):
    from lexicone._base.progress import progress_bars

    with progress_bars(transient=False) as bar:
        bar.add_task("price [/day] :smile:", total=1, completed=1)
    assert "price [/day] :smile:" in capsys.readouterr().out


def start(*arguments, **options):
    """The command in a process of its own, its first line read where there is one to wait for.

    Interrupts count there even where these tests run in the background of a shell, which lets them be ignored.
    """
    heed = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = "from lexicone.cli import main; print('ready', file=sys.stderr, flush=True); main()"
    return subprocess.Popen(
        [sys.executable, "-c", f"{heed}; {code}", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.slow
@pytest.mark.parametrize("said", [{"PYTHONIOENCODING": "ascii"}, {}], ids=["ascii", "C"])
def test_a_c_locale_is_no_obstacle(said):
    lean = {"LC_ALL": "C", "PYTHONUTF8": "0", **said}
    done = start("tasks", stdout=subprocess.PIPE, env={**os.environ, **lean})
    out, err = done.communicate()
    assert (done.returncode, err) == (0, "ready\n")
    assert out.isascii()
    assert "states ?" in out


@pytest.mark.slow
def test_a_c_locale_draws_and_keeps_what_was_typed(names, tmp_path):
    lean = {"LC_ALL": "C", "PYTHONUTF8": "0", "LEXICONE_CACHE": ""}
    call = ["solve", str(names), "--thresholds", "1", "--out", str(tmp_path / "out")]
    done = start(*call, stdout=subprocess.PIPE, env={**os.environ, **lean})
    assert (done.communicate()[1], done.returncode) == ("ready\n", 0)
    assert names.name in (tmp_path / "out" / "policy.svg").read_text(encoding="utf-8")
    assert names.name in (tmp_path / "out" / "run.json").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("call", [["--help"], ["solve", "--help"]], ids=" ".join)
def test_a_closed_pipe_ends_quietly(call):
    reading, writing = os.pipe()
    os.close(reading)
    done = start(*call, stdout=writing)
    os.close(writing)
    assert done.communicate()[1] == "ready\n"
    assert done.returncode == 141


@pytest.mark.slow
def test_an_output_that_cannot_be_written_is_an_error():
    with open("/dev/full", "w") as full:
        done = start("--help", stdout=full)
    err = done.communicate()[1]
    assert err == "ready\nlexicone: cannot write the output: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.3, 3.0])
def test_ctrl_c_ends_quietly_from_the_first_moment_on(seconds, tmp_path):
    call = ["train", "maze:small", "--thresholds", "1", "--out", str(tmp_path / "out"), "--json"]
    done = start(*call, stdout=subprocess.PIPE)
    assert done.stderr is not None
    assert done.stderr.readline() == "ready\n"
    time.sleep(seconds)
    done.send_signal(signal.SIGINT)
    said = done.communicate()[1]
    assert not said or (said.startswith("lexicone: interrupted") and said.count("\n") == 1)
    assert done.returncode in (130, -signal.SIGINT)


def test_an_interrupt_where_no_exception_gets_out_is_heeded_all_the_same():
    code = """
        import signal, time
        from lexicone.cli._guard import quiet_end

        class Dying:
            def __del__(self):
                signal.raise_signal(signal.SIGINT)
                time.sleep(1)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        with quiet_end():
            Dying()
            time.sleep(60)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (130, "lexicone: interrupted\n")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (["slove"], "there is no command 'slove'; did you mean solve?"),
        (["reproduce", "lqa"], "there is no command 'lqa'; did you mean"),
        (["reproduce", "lpa", "--seed", "-1"], "--seed: must be between 0 and 4294967295, got -1"),
        (["train", *MAZE, "--thresholds", "0", "--seed", "-1"], "--seed: must be between 0 and"),
        (["qqqq"], "there is no command 'qqqq'. There are tasks, show,"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_slips_are_named_and_often_guessed(call, says, capsys):
    code, out, err = run(call, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"lexicone: {says}")


def test_help_has_one_line_for_each_command(capsys):
    code, out, _ = run(["--help"], capsys)
    lines = out.splitlines()
    assert code == 0
    assert len(lines) < len(COMMANDS) + 16
    for name in COMMANDS:
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1
    assert run([], capsys)[1] == out
    assert all(name in run(["reproduce", "--help"], capsys)[1] for name in EXPERIMENTS)
