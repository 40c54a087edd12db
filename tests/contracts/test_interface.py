"""The public interface: as it is stored, and the same at run time as in the stubs."""

import ast
import difflib
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.interface import PACKAGE, STORED, definitions, interface, lists, names_of


def module_name(listing: Path) -> str:
    return ".".join(["lexicone", *listing.parent.relative_to(PACKAGE).parts])


def in_a_fresh_interpreter(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_is_as_stored():
    """A change of names or signatures shows in review as a change of ``interface.txt``."""
    before, now = STORED.read_text().splitlines(), interface().splitlines()
    changes = "\n".join(difflib.unified_diff(before, now, "stored", "sources", lineterm="", n=0))
    assert not changes, (
        f"the public interface changed; if it is meant, run `make interface`\n{changes}"
    )


@pytest.mark.parametrize("listing", lists(), ids=module_name)
def test_a_list_names_what_is_there(listing: Path):
    room = importlib.import_module(module_name(listing))
    listed = names_of(listing)
    assert sorted(room.__all__) == sorted(listed)
    assert set(listed) <= set(dir(room))
    for name, origin in listed.items():
        if origin == PACKAGE:  # `from . import tasks`
            assert getattr(room, name) is importlib.import_module(f"lexicone.{name}")
        else:
            source = origin.relative_to(PACKAGE.parent).with_suffix("").parts
            assert getattr(room, name) is getattr(importlib.import_module(".".join(source)), name)


def test_an_unknown_name_is_an_attribute_error():
    import lexicone

    with pytest.raises(AttributeError, match="solved"):
        lexicone.solved  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.slow
def test_everything_can_be_imported_eagerly():
    program = """
import importlib, pkgutil
import lexicone
modules = [m.name for m in pkgutil.walk_packages(lexicone.__path__, "lexicone.")]
for name in modules:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(modules))
"""
    assert int(in_a_fresh_interpreter(program, EAGER_IMPORT="1")) > 90


def test_importing_the_package_loads_nothing_heavy():
    """What keeps ``import lexicone`` far below 0.3 s, without a clock: only lazy_loader comes with it."""
    program = """
import sys
before = set(sys.modules)
import lexicone
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - sys.stdlib_module_names))
"""
    assert set(in_a_fresh_interpreter(program).split()) == {"lexicone", "lazy_loader"}


def test_many_parameters_are_explained():
    """A public function with five parameters or more has a list of them in its docstring."""
    bare, listed = [], 0
    for origin, name in {(o, n) for path in lists() for n, o in names_of(path).items()}:
        for node in [] if origin.is_dir() else definitions(origin, name):
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                explained = "Args:" in (ast.get_docstring(node) or "")
                listed += explained
                if len(parameters) >= 5 and not explained:
                    bare.append(f"{origin.relative_to(PACKAGE)}: {name}")
    assert not bare
    assert listed > 10
