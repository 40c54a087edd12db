"""The page of tasks says what the registry says; ``python docs/make_gallery.py`` writes it anew."""

import importlib.util
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parent.parent.parent / "docs"


def the_script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    return script


def test_the_page_is_what_the_registry_gives():
    assert (DOCS / "gallery.md").read_text() == the_script().page()


def test_every_model_on_the_page_has_a_small_picture():
    script = the_script()
    kept = sorted((DOCS / "figures" / "tasks").iterdir())
    tasks = script.TASKS.values()
    assert kept == sorted(script.picture(name) for task in tasks for name in script.drawn(task))
    assert all(picture.stat().st_size <= 100_000 for picture in kept)
