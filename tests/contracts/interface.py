"""The public interface as text, read from the sources: what `interface.txt` holds (``make interface`` writes it).

For each room: its public names, functions with their signatures, classes with their public fields and methods.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "lexicone"
STORED = Path(__file__).with_name("interface.txt")


def lists() -> list[Path]:
    """Every list of public names, the package's own first: a stub, or a room's ``__init__.py`` that imports at once."""
    rooms = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))
    stubs = [room / "__init__.pyi" for room in rooms]
    found = [stub if stub.exists() else stub.with_suffix(".py") for stub in stubs]
    return [path for path in found if names_of(path)]


def names_of(listing: Path) -> dict[str, Path]:
    """The names that a file imports from the package, and from where: a module, or the folder of a room."""
    found = {}
    for node in ast.parse(listing.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            base = listing.parent if node.level else PACKAGE.parent
            origin = base.joinpath(*(node.module or "").split("."))
            origin = origin if origin.is_dir() else origin.with_suffix(".py")
            if origin.is_relative_to(PACKAGE):
                found |= {alias.name: origin for alias in node.names}
    return found


def interface() -> str:
    """One block per list; a name that another room lists is only pointed to."""
    return "\n\n".join("\n".join(_room(listing)) for listing in lists()) + "\n"


def _room(listing: Path) -> Iterator[str]:
    yield ".".join(["lexicone", *listing.parent.relative_to(PACKAGE).parts])
    for name, origin in sorted(names_of(listing).items()):
        if origin.is_dir():
            room = ".".join(origin.relative_to(PACKAGE).parts)
            yield f"  {name}" + (f" (lexicone.{room})" if room else " (room)")
        else:
            yield from (f"  {line}" for line in _definition(origin, name))


def _definition(module: Path, name: str) -> Iterator[str]:
    """A function with its overloads, a class with what it has and inherits, or any other name without its value."""
    found = definitions(module, name)
    if not found:
        raise ValueError(f"{module}: has no {name}")
    for node in found:
        match node:
            case ast.FunctionDef():
                yield _signature(node)
            case ast.ClassDef():
                bases = ", ".join(ast.unparse(base) for base in node.bases)
                yield _marks(node) + f"class {name}" + (f"({bases})" if bases else "")
                yield from (f"  {line}" for line in _members(module, node))
            case _:
                yield f"{name} = …"


def definitions(module: Path, name: str) -> list[ast.stmt]:
    """Where a module defines a name: once, or once for each overload and then the function itself."""
    found = []
    for node in ast.parse(module.read_text()).body:
        match node:
            case ast.FunctionDef(name=own) | ast.ClassDef(name=own):
                pass
            case ast.Assign(targets=[ast.Name(id=own)]) | ast.AnnAssign(target=ast.Name(id=own)):
                pass
            case _:
                continue
        if own == name:
            found.append(node)
    return found


def _members(module: Path, node: ast.ClassDef) -> Iterator[str]:
    """Public fields and methods, those of the package's own base classes first."""
    for base in node.bases:
        if isinstance(base, ast.Name):
            origin = names_of(module).get(base.id, module)
            for parent in definitions(origin, base.id):
                if isinstance(parent, ast.ClassDef):
                    yield from _members(origin, parent)
    for member in node.body:
        match member:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield ast.unparse(member)
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.startswith("_"):
                yield ast.unparse(member)
            case ast.FunctionDef(name=name) if name == "__init__" or not name.startswith("_"):
                yield _signature(member)


def _marks(node: ast.ClassDef | ast.FunctionDef) -> str:
    """The decorators that change how a thing is used; `one_thread` does not."""
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    return "".join(f"@{mark} " for mark in marks if mark != "one_thread()")


def _signature(node: ast.FunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{_marks(node)}{node.name}({ast.unparse(node.args)}){returns}"


if __name__ == "__main__":
    STORED.write_text(interface())
