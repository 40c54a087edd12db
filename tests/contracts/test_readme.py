import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("without_shape_checks")
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_example_runs_and_prints_what_it_says(capsys):
    example, training = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    found: dict = {}
    exec(example, found)
    np.testing.assert_allclose(found["r"].values, [-0.5, -0.5503], atol=1e-4)
    np.testing.assert_allclose(found["s"].values, [-3, -5.2], atol=1e-6)
    assert "optimal" in capsys.readouterr().out
    exec(training, found)
    assert (found["t"].evaluate(100).success >= 0.9).all()


def test_the_map_names_every_room():
    rows = README.split("## Where to find what")[1].split("\n## ")[0]
    named = re.findall(r"^\| `([\w/.]+)`", rows, flags=re.MULTILINE)
    package = ROOT / "src" / "lexicone"
    rooms = [f"{path.parent.name}/" for path in package.glob("*/__init__.py")]
    assert sorted(named) == sorted([*rooms, "order.py"])
