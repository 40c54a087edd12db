"""Against Storm itself, where it is installed: its values of single properties, and models that it builds."""

import json

import numpy as np
import pytest

import lexicone as lx
from tests.helpers.checker_files import HOME, ROBOT, ROBOT_PROGRAM, TIME, drn

stormpy = pytest.importorskip(
    "stormpy", reason="Storm is not installed; pip install 'lexicone[storm]' compares with it"
)
pytestmark = pytest.mark.usefixtures("without_shape_checks")
PATHS = ['F "a"', '!"b" U "a"', 'G !"b"', 'G ("a" | "c")', '("a" | !"c") U ("b" & "c")']
PROPERTIES = [f"P{best}=? [{path}]" for path in PATHS for best in ("max", "min")]
PROPERTIES += [
    f'R{{"x"}}{best}=? [{path}]'
    for path in ('F "a"', 'F "b" | "c"', "C")
    for best in ("max", "min")
]


def value(model, text):
    found = stormpy.model_checking(model, stormpy.parse_properties(text)[0])
    return found.get_value(model.initial_states[0])


def random_model(seed):
    """A few states with loops of all kinds, many of which pay nothing."""
    rng = np.random.default_rng(seed)
    count, paid = int(rng.integers(2, 8)), rng.random()
    labelled = rng.random((count, 3)) < 0.3
    labelled[rng.integers(count, size=3), [0, 1, 2]] = True

    def reward():
        return int(rng.integers(0, 3)) if rng.random() < paid else 0

    states = []
    for s in range(count):
        labels = [name for name, has in zip("abc", labelled[s], strict=True) if has]
        actions = []
        for c in range(rng.integers(1, 4)):
            targets = np.sort(rng.choice(count, rng.integers(1, min(count, 3) + 1), replace=False))
            shares = rng.multinomial(8, np.ones(len(targets)) / len(targets)) / 8
            kept = {int(t): p for t, p in zip(targets, shares.tolist(), strict=True) if p > 0}
            actions.append((f"c{c}", reward(), kept))
        states.append((" ".join(["init"] * (s == 0) + labels), reward(), actions))
    states[0][2][0] = ("c0", 1, states[0][2][0][2])  # Storm refuses rewards that are all 0
    return drn(*states, rewards=("x",))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_single_properties_have_the_values_of_storm(seed, tmp_path):
    path = tmp_path / "model.drn"
    path.write_text(random_model(seed))
    model = stormpy.build_model_from_drn(path)
    for asked in PROPERTIES:
        order = lx.order_of([asked])
        found = lx.solve(lx.MDP.from_drn(path, [asked]), order)
        ours, theirs = float(order.in_units(found.values)[0]), value(model, asked)
        if np.isfinite(theirs):
            assert found.status == "optimal", asked
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=asked)
        elif "min" in asked:
            assert found.status == "divergent", asked
        # of a max, Storm counts a goal that is missed as ∞; here it has to be reached


@pytest.mark.parametrize("asked", [HOME, TIME, 'Pmin=? [G !"broken"]', 'R{"time"}max=? [C]'])
def test_a_program_and_its_files_are_the_same_model(asked, tmp_path):
    program, _ = stormpy.instantiate_constants(stormpy.parse_prism_program(ROBOT_PROGRAM), {"N": 3})
    model = stormpy.build_model(program)
    stormpy.io.export_to_umb(model, tmp_path / "robot.umb")
    stormpy.io.export_to_drn(model, tmp_path / "robot.drn")
    models = [
        lx.MDP.from_prism(ROBOT_PROGRAM, [asked], constants={"N": 3}),
        lx.MDP.from_storm(model, [asked]),
        lx.MDP.from_umb(tmp_path / "robot.umb", [asked]),
        lx.MDP.from_drn(tmp_path / "robot.drn", [asked]),
        lx.MDP.from_drn(ROBOT, [asked]),
    ]
    order = lx.order_of([asked])
    for mdp in models:
        shown = order.in_units(lx.solve(mdp, order).values)
        np.testing.assert_allclose(shown, [value(model, asked)], rtol=1e-5)
    assert models[0].factors is not None
    assert sorted(models[0].factors.names) == ["broken", "room"]
    assert models[0].action_names is not None
    assert {"run", "walk", "rest"} <= set(models[0].action_names)


def test_a_jani_file(tmp_path):
    program, _ = stormpy.instantiate_constants(stormpy.parse_prism_program(ROBOT_PROGRAM), {"N": 3})
    jani, _ = program.to_jani([])
    stormpy.io.export_jani_to_file(tmp_path / "robot.jani", jani)
    time = TIME.replace('"broken"', '"label_broken"')  # Storm's name for it, beside the variable's
    mdp = lx.MDP.from_prism(tmp_path / "robot.jani", [HOME, time])
    found = lx.solve(mdp, lx.order_of([HOME, time], [0.85]))
    np.testing.assert_allclose(found.order.in_units(found.values), [0.85, 6.1875], rtol=1e-6)


def test_two_properties_have_the_value_of_storms_own_query():
    model = stormpy.build_model_from_drn(ROBOT)
    theirs = value(model, 'multi(R{"time"}min=? [C], P>=0.85 [F "home"])')
    found = lx.solve(
        lx.MDP.from_storm(model, [HOME, "Rmin=? [C]"]), lx.order_of([HOME, "Rmin=? [C]"], [0.85])
    )
    np.testing.assert_allclose(found.order.in_units(found.values)[1], theirs, rtol=1e-4)


def test_storm_reads_what_is_written(tmp_path):
    objectives = {"home": HOME, "time": TIME}
    mdp = lx.MDP.from_prism(ROBOT_PROGRAM, objectives, constants={"N": 3})
    solved = lx.solve(mdp, lx.order_of(objectives, [0.85]))
    mdp.to_drn(tmp_path / "model.drn")
    model = stormpy.build_model_from_drn(tmp_path / "model.drn")
    np.testing.assert_allclose(value(model, 'R{"time"}min=? [C]'), 2.71, rtol=1e-5)
    mdp.to_drn(tmp_path / "chain.drn", solved)
    chain = stormpy.build_model_from_drn(tmp_path / "chain.drn")
    np.testing.assert_allclose(value(chain, 'R{"home"}=? [C]'), 0.85, rtol=1e-5)
    np.testing.assert_allclose(value(chain, 'R{"time"}=? [C]'), 6.1875, rtol=1e-5)


def test_schedulers_look_like_those_of_storm(tmp_path):
    program, _ = stormpy.instantiate_constants(stormpy.parse_prism_program(ROBOT_PROGRAM), {"N": 3})
    options = stormpy.BuilderOptions(build_full=True)
    model = stormpy.build_model(program, options=options)
    asked = stormpy.parse_properties(HOME)[0]
    scheduler = stormpy.model_checking(model, asked, extract_scheduler=True).get_scheduler()
    theirs = {json.dumps(e["s"]): e["c"] for e in json.loads(scheduler.to_json_str(model))}
    mdp = lx.MDP.from_storm(model, [HOME])
    mdp.write_policy(tmp_path / "ours.json", lx.solve(mdp, []), "storm")
    ours = json.loads((tmp_path / "ours.json").read_text())
    assert len(ours) == 3
    for entry in ours:
        known = theirs[json.dumps(entry["s"], sort_keys=True)]
        assert [{k: c[k] for k in ("index", "labels", "prob")} for c in known] == entry["c"]


def test_states_without_a_choice_are_warned_of(tmp_path):
    file = tmp_path / "stuck.prism"
    file.write_text(
        'mdp\nmodule m\n x:[0..3] init 0;\n [] x<2 -> (x\'=x+1);\nendmodule\nlabel "end" = x=3;\n'
    )
    with pytest.warns(UserWarning, match=r"stuck\.prism: 1 state has no choice, a deadlock.*x=2"):
        mdp = lx.MDP.from_prism(file, ['Pmax=? [F "end"]'])
    assert lx.solve(mdp, lx.Order([])).values.tolist() == [0.0]
    file.write_text(
        file.read_text().replace("x<2 ->", "x<3 ->").replace("endm", " [] x=3 -> true;\nendm")
    )
    assert (
        lx.MDP.from_prism(file, ['Pmax=? [F "end"]']).num_states > 0
    )  # no warning, which would be an error


def test_what_storm_cannot_build_is_one_line(tmp_path):
    bad = tmp_path / "bad.prism"
    bad.write_text("mdp\nmodule m\n s:[0..2 init 0;\nendmodule")
    with pytest.raises(
        ValueError, match=r"^path: Storm cannot build .*Parsing error at 3:10"
    ) as error:
        lx.MDP.from_prism(bad, [HOME])
    assert len(str(error.value).splitlines()) == 1
    with pytest.raises(ValueError, match=r"^path: Storm cannot build"):
        lx.MDP.from_prism(ROBOT_PROGRAM, [HOME])  # N is not said
    with pytest.raises(ValueError, match=r"^path: Storm cannot build"):
        lx.MDP.from_prism(ROBOT_PROGRAM, [HOME], constants={"M": 2})
