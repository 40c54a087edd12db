"""What the reference does to docstrings before it reads them; our docstrings are written for people first."""

import re

from griffe import Docstring, Extension, Object

_TOGETHER = re.compile(r"^ {4}(\w+(?:, \w+)+):(.*(?:\n {8}.*)*)", flags=re.MULTILINE)


def fence_examples(text: str) -> str:
    """A fence around every example: from ``>>>`` to the next empty line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(">>>") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def separate_arguments(text: str) -> str:
    """``delta, buffer: …`` in a list of arguments as two entries with the same words."""

    def apart(entry: re.Match[str]) -> str:
        return "\n".join(f"    {name}:{entry[2]}" for name in entry[1].split(", "))

    return _TOGETHER.sub(apart, text)


class Docstrings(Extension):
    """Applies both to everything that griffe has read."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Called by griffe with each module, class, function and attribute."""
        if isinstance(obj.docstring, Docstring):
            obj.docstring.value = separate_arguments(fence_examples(obj.docstring.value))
