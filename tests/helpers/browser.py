"""A real browser for the tests of the page: a Chromium that is installed, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 20_000  # milliseconds that anything may take


def find_chromium() -> str | None:
    """Where it is, if it is anywhere; ``LEXICONE_CHROMIUM`` says so too."""
    given = os.environ.get("LEXICONE_CHROMIUM")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = find_chromium()
    if path is None:
        pytest.skip("there is no Chromium here; apt-get install chromium has one")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Window:
    """A page with what a test wants to do on it; whatever its console says is an error."""

    def __init__(self, browser: Any, address: str, width: int = 1280, dark: bool = False) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.context.set_default_timeout(SECONDS)
        self.page = self.context.new_page()
        self.address = address.partition("#")[0]
        self.said: list[str] = []
        self.page.on("console", lambda message: self._hear(message))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))

    def _hear(self, message: Any) -> None:
        refused = "Failed to load resource" in message.text  # the page says so itself
        if message.type in ("error", "warning") and not refused:
            self.said.append(message.text)

    def go(self, state: str = "", settle: bool = True) -> None:
        """To the page with that state, anew."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{state}" if state else self.address)
        if settle:
            self.settle()

    def settle(self) -> None:
        """Waits until nothing is computed any more."""
        self.page.wait_for_selector("#tabs [role=tab]")
        self.page.wait_for_selector("body:not([data-busy])")

    def text(self, selector: str) -> str:
        return " ".join(self.page.inner_text(selector).split())

    @property
    def state(self) -> dict[str, str]:
        """What the address holds."""
        from urllib.parse import parse_qsl, urlsplit

        return dict(parse_qsl(urlsplit(self.page.url).fragment))

    def values(self) -> list[float]:
        """Of the answer, objective by objective."""
        cells = self.page.locator("#answer-body tbody td:nth-child(3)").all_inner_texts()
        return [float(cell.replace("−", "-").replace("∞", "inf")) for cell in cells]

    def close(self) -> None:
        self.context.close()
