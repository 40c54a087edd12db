from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.browser import Window, open_browser


@pytest.fixture(autouse=True, scope="module")
def as_users_have_it(without_shape_checks: None) -> None:
    """Whole programs run here."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def address(browser: Any) -> Iterator[str]:
    """Of a server with nothing opened."""
    from lexicone.web._server import Settings, in_background
    from lexicone.web._sources import Opened

    with in_background(Opened(), Settings(port=0, workers=2, seconds=20)) as found:
        yield found


@pytest.fixture(scope="module")
def window(browser: Any, address: str) -> Iterator[Window]:
    found = Window(browser, address)
    yield found
    found.close()


@pytest.fixture(autouse=True)
def quiet_console(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever the console of a shared window says fails the test."""
    yield
    if "window" in request.fixturenames:
        shared = request.getfixturevalue("window")
        said, shared.said = shared.said, []
        assert said == []
