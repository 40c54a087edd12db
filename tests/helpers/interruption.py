"""Trainings that are killed on the way, for the tests of resuming."""

from contextlib import contextmanager
from unittest import mock

import pytest

from lexicone.learning import _outer_loop as outer_loop


class Killed(Exception):
    pass


@contextmanager
def killed_after(looks):
    """What is trained inside saves its state after every piece, and dies when it is looked at once more."""
    left, in_pieces = iter(range(looks)), outer_loop._in_pieces

    def fragile(run, total, go_on, save, show, **options):
        def look(run):
            if next(left, None) is None:
                raise Killed
            show(run)

        return in_pieces(run, total, go_on, save, look, **options)

    with (
        mock.patch.multiple(outer_loop, _in_pieces=fragile, _SAVE_SECONDS=0.0),
        pytest.raises(Killed),
    ):
        yield
