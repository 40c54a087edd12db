"""Photographs every view of the page, and a report: ``python docs/make_screens.py`` writes figures/explore/*.png and
figures/report-solution.png; with a FOLDER all views in all sizes.

Needs the development extra and a Chromium. The results are committed.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import lexicone as lx
from lexicone.web._server import Settings, in_background
from lexicone.web._sources import Opened
from tests.helpers.browser import Window, open_browser

FIGURES = Path(__file__).parent / "figures"
COLOURS = 256
COIN = "task=maze:extended&objectives=path&t=-3"
OPENED = "opened=1&t=-3"
VIEWS = {
    "policy": COIN,
    "front": f"{COIN}&view=front",
    "criteria": f"{COIN}&view=criteria",
    "episodes": f"{COIN}&view=episodes&step=3",
    "conflict": "task=maze:extended&objectives=goal,tiles,time&order=2,1,0&t=-4,0",
    "front-three": "task=maze:extended&objectives=goal,tiles,time&t=0.5,-4&view=front",
    "no-map": "task=fruit_tree:5",
    "grid": "task=grid:32&t=-3,-2&gamma=0.99",
    "draw": "drawing=.G..../hhhh#./....#./HHHH../S.....&objectives=path&t=-3",
    "training": "opened=1&view=training&at=4",
}
SIZES = {
    "": (1280, False),
    "-dark": (1280, True),
    "-small": (390, False),
    "-small-dark": (390, True),
}


def train(folder: Path) -> Opened:
    """A small training, for its view."""
    mdp, path = lx.tasks.maze("extended", objectives="path"), folder / "training.safetensors"
    order = lx.Order({"tiles+goal": -3, "time": None})
    lx.train(mdp, order, lx.PPO(), seeds=5, updates=120, snapshots=12, checkpoint=path)
    return Opened("run", str(path), "runs/train")


def photograph(window: Window, name: str, file: Path, width: int) -> None:
    """One view, all of it."""
    window.go(VIEWS[name])
    if name == "draw":
        window.page.click("#edit")
        window.settle()
    window.page.wait_for_timeout(200)
    window.settle()
    window.page.set_viewport_size({"width": width, "height": 900})
    high = window.page.evaluate("() => document.documentElement.scrollHeight")
    controls = window.page.evaluate("() => document.querySelector('.controls').scrollHeight")
    height = max(high, controls + 120)  # all of it is seen without scrolling
    window.page.set_viewport_size({"width": width, "height": height})
    window.page.wait_for_timeout(100)
    window.page.screenshot(path=file)
    assert not window.said, window.said
    shrink(file)


def shrink(file: Path) -> None:
    """The same with the most frequent colours, as they are; few others are left."""
    with Image.open(file) as picture:
        whole = np.asarray(picture.convert("RGB"))
    found, places, counts = np.unique(
        whole.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    kept = found[np.argsort(-counts, kind="stable")[:COLOURS]].astype(int)
    nearest = [int(((kept - colour) ** 2).sum(axis=1).argmin()) for colour in found.astype(int)]
    few = Image.fromarray(np.array(nearest, np.uint8)[places].reshape(whole.shape[:2]), "P")
    few.putpalette(kept.flatten().tolist())
    few.save(file, optimize=True)


def photograph_report(browser: Any, file: Path) -> None:
    """The beginning of the report of the extended maze."""
    mdp = lx.tasks.maze("extended", objectives="path")
    solution = lx.solve(mdp, {"tiles+goal": -3, "time": None})
    with tempfile.TemporaryDirectory() as folder:
        path = lx.report(solution, Path(folder) / "page.html", mdp=mdp, title="The extended maze")
        page = browser.new_page(viewport={"width": 1000, "height": 1720})
        page.goto(f"file://{path}")
        page.screenshot(path=file)
        page.close()
    shrink(file)


def main(folder: Path, names: list[str], sizes: dict[str, Any]) -> None:
    """All views in all sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as held:
        opened = train(Path(held))
        with in_background(opened, Settings(port=0)) as address, open_browser() as browser:
            for ending, (width, dark) in sizes.items():
                window = Window(browser, address, width, dark)
                for name in names:
                    photograph(window, name, folder / f"{name}{ending}.png", width)
                window.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), list(VIEWS), SIZES)
    else:
        main(FIGURES / "explore", list(VIEWS), {"": SIZES[""]})
        main(FIGURES / "explore", ["policy"], {"-small-dark": SIZES["-small-dark"]})
        with open_browser() as found:
            photograph_report(found, FIGURES / "report-solution.png")
