import pytest

from lexicone.learning._result_model import Trained
from tests.helpers.trainings import run


@pytest.fixture(autouse=True, scope="module")
def quickly(compile_quickly: None) -> None:
    """Compilation dominates in this room, and these programs are tiny."""


@pytest.fixture(scope="module")
def trained(compile_quickly: None) -> Trained:
    return run()
