"""What holds for every subcommand."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from lexicone.cli import _main
from lexicone.cli._main import COMMANDS, EXPERIMENTS
from tests.helpers.commands import modules_after, run

CALLS = [
    [],
    *([name] for name in COMMANDS),
    *(["reproduce", name] for name in EXPERIMENTS),
]
LEARNERS = {
    *("train", "evaluate", "watch", "study", "compare-learners"),
    *("exp1", "exp2", "ftn", "all"),
}


def is_64():
    return jnp.zeros(()).dtype == jnp.float64


def spoken(call):
    return " ".join(["lexicone", *call])


@pytest.mark.parametrize("call", CALLS, ids=spoken)
def test_help_says_how_to_call_it(call, capsys):
    code, out, err = run([*call, "--help"], capsys)
    assert (code, err) == (0, "")
    assert f"usage: {spoken(call)}" in out
    examples = out.partition("Examples:")[2]
    assert spoken(call) in examples


@pytest.mark.slow
def test_help_imports_neither_jax_nor_torch():
    """All of it in one interpreter."""
    use = (
        "from lexicone.cli import main\n"
        f"for call in {CALLS!r}:\n"
        "    try: main([*call, '--help'])\n"
        "    except SystemExit: pass\n"
    )
    assert modules_after(use) == "False False"


@pytest.mark.parametrize("call", [c for c in CALLS if c not in ([], ["reproduce"])], ids=spoken)
@pytest.mark.parametrize("own", [False, True], ids=["32 bits", "64 bits"])
def test_all_commands_compute_with_64_bits_and_learners_as_jax_is_set(
    call, own, capsys, monkeypatch
):
    command = {**COMMANDS, **EXPERIMENTS}[call[-1]]
    seen = []
    monkeypatch.setattr(command, "run", lambda *_: seen.append(is_64()))
    required = {
        "show": ["maze"],
        "solve": ["maze", "--thresholds", "1"],
        "verify": ["maze", "folder"],
        "pareto": ["maze"],
        "train": ["maze", "--thresholds", "1"],
        "evaluate": ["folder"],
        "watch": ["folder"],
        "compare": ["maze", "--thresholds", "1"],
        "augment": ["maze", "--thresholds", "1"],
        "inspect": ["maze"],
        "maximize": ["benchmark", "--x0", "1", "1", "--thresholds", "0"],
        "figure": ["cone"],
        "report": ["folder"],
        "study": ["study.toml"],
    }.get(call[-1], [])
    with jax.enable_x64(own):
        assert run([*call, *required], capsys)[0] == 0
        assert is_64() == own  # and afterwards all is as it was
    assert seen == [own if call[-1] in LEARNERS else True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "bits"),
    [("maximize", 64), ("train", 32)],
)
def test_a_new_process_decides_before_jax_is_imported(command, bits):
    program = (
        "import sys\n"
        "from lexicone.cli import _main\n"
        "assert 'jax' not in sys.modules\n"
        f"command = object.__new__(_main.COMMANDS[{command!r}])\n"
        "with _main._precision_for(command):\n"
        "    import jax.numpy as jnp\n"
        "    print(jnp.zeros(1).dtype)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"float{bits}"


def test_the_help_states_the_precision(capsys):
    text = " ".join(run(["--help"], capsys)[1].split())
    assert "Commands compute with 64 bits." in text
    for name in LEARNERS:
        assert name in _main._DESCRIPTION
