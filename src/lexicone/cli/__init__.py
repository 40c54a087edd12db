"""The command ``lexicone``: one file per group of subcommands."""

from lexicone.cli._entry import main

__all__ = ["main"]
