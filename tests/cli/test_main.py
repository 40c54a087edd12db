import json

import pytest

from tests.helpers.commands import modules_after, run


@pytest.mark.slow
def test_importing_is_light():
    assert modules_after("import lexicone, lexicone.cli") == "False False"
    use = "import lexicone as lx; lx.find_direction([[1., 0.], [0., 1.]], [0., 0.], [0.])"
    assert modules_after(use) == "False False"


@pytest.mark.slow
def test_the_function_keeps_its_name_when_its_module_is_imported():
    use = "import lexicone.directions._maximize, lexicone as lx; assert callable(lx.maximize)"
    assert modules_after(use) == "True False"


def test_no_arguments_show_the_help(capsys):
    code, out, _ = run([], capsys)
    assert code == 0
    assert "reproduce" in out


def test_version(capsys):
    assert run(["--version"], capsys)[1].startswith("lexicone 0.")


@pytest.mark.slow
def test_maximize(capsys):
    arguments = ["maximize", "benchmark", "--x0", "1.5", "1.5", "--thresholds", "-0.5"]
    code, out, _ = run(arguments, capsys)
    assert code == 0
    assert "threshold -0.5: met" in out
    code, out, _ = run([*arguments, "--json", "--method", "exact", "--step", "safe"], capsys)
    assert json.loads(out)["satisfied"] == [True]


def test_maximize_a_users_function(tmp_path, capsys):
    (tmp_path / "model.py").write_text(
        "import jax.numpy as jnp\n"
        "def losses(x):\n    return jnp.stack([-x[0]**2, -(x[0] - 1)**2])\n"
        "constant = 3\n"
    )
    place = str(tmp_path / "model.py")
    options = ["--x0", "3", "--thresholds", "-0.25", "--max-steps", "2000", "--json"]
    code, out, _ = run(["maximize", f"{place}:losses", *options], capsys)
    assert code == 0
    assert json.loads(out)["values"][0] >= -0.25
    for name, message in (
        (f"{place}:gains", "has no function 'gains'"),
        (f"{place}:constant", "has no function 'constant'"),
        (f"{place}.none.py:losses", "cannot import"),
        ("no.such.module:losses", "cannot import"),
        ("losses", "expected FILE.py:NAME"),
    ):
        code, _, err = run(["maximize", name, *options], capsys)
        assert code == 2
        assert message in err
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--delta-deg", "90"], "--delta-deg: must be at least 0 and below 90"),
        (["--delta-deg", "nan"], "--delta-deg: must be at least 0 and below 90"),
        (["--thresholds", "1", "2"], "fun: must return 3 values"),
        (["--thresholds", "nan"], "thresholds[0]: is NaN"),
        (["--x0", "nan", "1"], "x0: contains NaN"),
        (["--x0", "1", "1", "1"], "fun: cannot be evaluated at x0 of shape (3,)"),
        (["--step-size", "0"], "step_size: must be positive"),
        (["--buffer", "-1"], "buffer: must be at least 0"),
        (["--max-steps", "-1"], "max_steps: expected a whole number"),
    ],
)
def test_mistakes_get_one_line_and_an_exit_code(changes, message, capsys):
    arguments = ["maximize", "benchmark", "--x0", "1.5", "1.5", "--thresholds", "-0.5"]
    code, _, err = run([*arguments, *changes], capsys)
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_function_that_breaks_gets_one_line(tmp_path, capsys):
    place = tmp_path / "broken.py"
    place.write_text("def later(x):\n    raise RuntimeError('no\\nway')\n")
    options = ["--x0", "1", "--thresholds", "0"]
    code, _, err = run(["maximize", f"{place}:later", *options], capsys)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "no way" in err
    (tmp_path / "worse.py").write_text("def (:\n")
    code, _, err = run(["maximize", f"{tmp_path / 'worse.py'}:f", *options], capsys)
    assert (code, len(err.splitlines())) == (2, 1)


def test_folders_are_checked_before_work(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    for command in (["reproduce", "lpa"], ["figure", "cone"], ["show", "maze"]):
        code, _, err = run([*command, "--out", str(file)], capsys)
        assert code == 2
        assert "--out: cannot write" in err
    assert run(["figure", "halfspace", "--delta-deg", "3", "--out", str(tmp_path)], capsys)[0] == 2


def test_unknown_options_are_refused(capsys):
    assert run(["figure", "no-such-figure"], capsys)[0] == 2
    assert run(["dance"], capsys)[0] == 2


@pytest.mark.slow
def test_reproduce_and_figures(tmp_path, capsys):
    code, _, _ = run(["reproduce", "lpa", "--starts", "2", "--out", str(tmp_path)], capsys)
    assert code == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["starts"]["optimal"] == 2
    assert results["runs"]["plain"]["values"][0] == pytest.approx(-0.4495, abs=1e-4)
    assert {p.suffix for p in tmp_path.iterdir()} == {".png", ".svg", ".pdf", ".json"}
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
    again = tmp_path / "again"
    assert run(["figure", "cone", "--delta-deg", "30", "--out", str(again)], capsys)[0] == 0
    assert (again / "cone.svg").read_bytes() != (tmp_path / "cone.svg").read_bytes()
    assert run(["figure", "cone", "--out", str(again)], capsys)[0] == 0
    assert (again / "cone.svg").read_bytes() == (tmp_path / "cone.svg").read_bytes()
