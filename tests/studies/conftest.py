import pytest


@pytest.fixture(autouse=True, scope="module")
def as_users_have_it(without_shape_checks: None) -> None:
    """Whole programs run here."""
