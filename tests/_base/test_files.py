import os
import stat

import numpy as np
import pytest
from matplotlib.figure import Figure

from lexicone import plots
from lexicone._base import checkpoint
from lexicone._base.files import check_writable, write_atomically, write_text
from lexicone.studies import results
from lexicone.tasks import maze


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "file"
    write_text(path, "first €")
    assert path.read_text(encoding="utf-8") == "first €"

    def half(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, half)
    assert path.read_text(encoding="utf-8") == "first €"
    assert [file.name for file in path.parent.iterdir()] == ["file"]


WRITERS = {
    "figure": lambda path: plots.save(Figure(), path, ("svg",)),
    "results": lambda path: results.write({}, path.with_suffix(".svg")),
    "model": lambda path: maze("small").save(path.with_suffix(".svg")),
    "checkpoint": lambda path: checkpoint.write(path.with_suffix(".svg"), {"x": np.zeros(2)}, {}),
}


@pytest.mark.parametrize("name", WRITERS)
def test_whatever_is_written_is_whole_and_has_the_rights_of_a_new_file(name, tmp_path, monkeypatch):
    target = tmp_path / "it.svg"
    before = os.umask(0o027)
    try:
        WRITERS[name](tmp_path / "it")
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    whole = target.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        WRITERS[name](tmp_path / "it")
    assert target.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == ["it.svg"]


def test_what_cannot_be_written_is_told_beforehand(tmp_path):
    (tmp_path / "file").write_text("")
    check_writable("out", tmp_path / "new" / "file")
    assert list((tmp_path / "new").iterdir()) == []
    for path, reason in (
        (tmp_path, "it is a folder"),
        (tmp_path / "file" / "x", "File exists|Not a directory"),
        (3, "expected a path, got 3"),
    ):
        with pytest.raises(ValueError, match=rf"^out: .*({reason})"):
            check_writable("out", path)


def test_what_is_no_file_is_not_replaced_by_one(tmp_path):
    """As a device would be. Negative control: a file is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(ValueError, match=r"^place: .* is a folder or a device, not a file"):
            write_atomically(path, lambda file: file.write(b"new"), name="place")
        with pytest.raises(ValueError, match=r"^place: cannot write to"):
            check_writable("place", path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    (tmp_path / "file").write_bytes(b"old")
    write_atomically(tmp_path / "file", lambda file: file.write(b"new"))
    assert (tmp_path / "file").read_bytes() == b"new"
