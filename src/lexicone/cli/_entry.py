"""Where the command begins: what takes time is imported inside of `quiet_end`."""

from lexicone.cli._guard import quiet_end

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line; a user's mistake ends with one line and exit code 2."""
    with quiet_end(whole_process=arguments is None):
        from lexicone.cli import _main  # it takes half a second

        _main.main(arguments)
