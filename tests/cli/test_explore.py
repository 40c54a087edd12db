"""What ``lexicone explore`` opens, and that it serves; the page itself is tested in tests/web."""

import re
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("uvicorn", reason="the extra web is not installed")
from lexicone.cli._explore import Explore
from lexicone.models import MDP
from lexicone.order import at_most
from lexicone.tasks import maze
from tests.helpers.commands import run
from tests.helpers.saved_runs import PPO_RUN


def test_nothing_is_opened_without_being_asked(tmp_path):
    opened = Explore().open(tmp_path)
    assert (opened.kind, opened.path, opened.state) == ("", "", "")


def test_a_task_that_the_page_knows_is_said_by_name(tmp_path):
    command = Explore("maze:extended", (at_most(3),), ("objectives=path", "slip=0.1"))
    opened = command.open(tmp_path)
    assert opened.kind == ""
    assert opened.state == "task=maze:extended&objectives=path&slip=0.1&t=-3"
    assert "objectives=endpoint" in Explore("maze").open(tmp_path).state  # as in other commands


@pytest.mark.parametrize(
    ("command", "states"),
    [
        (Explore("grid:7"), 49),
        (Explore("garnet", set=("seed=3",)), 100),
        (Explore("grid", objectives=("time", "1")), 100),
    ],
    ids=["variant", "option", "objectives"],
)
def test_other_tasks_are_opened_as_models_with_lines_that_make_them_again(
    command, states, tmp_path
):
    opened = command.open(tmp_path)
    assert (opened.kind, opened.state) == ("model", "opened=1")
    held = MDP.load(opened.path)
    assert held.num_states == states
    names: dict = {}
    exec("\n".join(["import lexicone as lx", *opened.lines]), names)
    assert names["mdp"].objective_labels == held.objective_labels
    assert (names["mdp"].reward == held.reward).all()


def test_models_and_drawings_in_files_are_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    maze("small").save("own.npz")
    (tmp_path / "own.txt").write_text("S.G\n")
    (tmp_path / "held").mkdir()
    for task, states in (("own.npz", 9), ("maze:own.txt", 3)):
        opened = Explore(task).open(tmp_path / "held")
        names: dict = {}
        exec("\n".join(["import lexicone as lx", *opened.lines]), names)
        assert names["mdp"].num_states == MDP.load(opened.path).num_states == states


def test_a_training_is_opened_by_its_file_or_folder(tmp_path):
    folder = tmp_path / "train"
    folder.mkdir()
    (folder / "training.safetensors").write_bytes(PPO_RUN.read_bytes())
    for task in (str(folder), str(PPO_RUN)):
        opened = Explore(task).open(tmp_path)
        assert (opened.kind, opened.state) == ("run", "opened=1&view=training")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no such"], "there is no task"),
        (["missing.npz"], "no file"),
        (["maze", "--thresholds", "1", "2"], "--thresholds"),
        (["--thresholds", "1"], "--thresholds: give a task first"),
        (["--port", "70000"], "--port"),
        (["--workers", "0"], "--workers"),
        (["--seconds", "0"], "--seconds"),
        (["--host", "256.0.0.1"], "--host"),
        ([str(PPO_RUN.parent)], "it is no training"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_and_nothing_is_served(arguments, message, capsys):
    code, _, err = run(["explore", "--no-browser", *arguments], capsys)
    assert code == 2
    assert message in err


@pytest.mark.slow
def test_it_serves_on_this_computer_until_it_is_interrupted():
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # in the background too
    code = f"{heed}; from lexicone.cli import main; main()"
    command = [sys.executable, "-c", code, "explore", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        with urllib.request.urlopen(address, timeout=20) as page:
            assert b"lexicone" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "closed" in process.stdout.read()
