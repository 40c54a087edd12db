"""What the reference does to what it reads, before it writes pages: docstrings are written for people first."""

import re

from griffe import (
    Attribute,
    Class,
    Docstring,
    ExprCall,
    Extension,
    Function,
    Object,
    Parameter,
    ParameterKind,
    Parameters,
)

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
    """Readable docstrings, settings with their plain defaults, and a signature for every NamedTuple: its fields."""

    def on_object(self, *, obj: Object, **_: object) -> None:
        """Called by griffe with each module, class, function and attribute."""
        if isinstance(obj.docstring, Docstring):
            obj.docstring.value = separate_arguments(fence_examples(obj.docstring.value))

    def on_attribute_instance(self, *, attr: Attribute, **_: object) -> None:
        """Called by griffe with each attribute: ``number(default, low, high)`` is shown as the default."""
        value = attr.value
        if isinstance(value, ExprCall) and str(value.function) == "number" and value.arguments:
            attr.value = value.arguments[0]

    def on_class_members(self, *, cls: Class, **_: object) -> None:
        """Called by griffe with each class and all that it holds."""
        if not any(str(base) == "NamedTuple" for base in cls.bases):
            return
        kind = ParameterKind.positional_or_keyword
        fields = [
            Parameter(name, annotation=field.annotation, kind=kind, default=field.value)
            for name, field in cls.members.items()
            if isinstance(field, Attribute) and field.annotation is not None
        ]
        itself = Parameter("self", kind=kind)
        cls.set_member("__init__", Function("__init__", parameters=Parameters(itself, *fields)))
