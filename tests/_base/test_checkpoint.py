import json

import numpy as np
import pytest

from lexicone._base import checkpoint

ARRAYS = {
    "weights": np.arange(12.0).reshape(3, 4),
    "single": np.array(7, dtype=np.int32),
    "flags": np.array([True, False]),
    "key": np.array([1, 2**32 - 1], dtype=np.uint32),
    "none": np.zeros((0, 5), dtype=np.float32),
}
FACTS = {"name": "Δ=20°", "numbers": [1, 2.5, None], "nested": {"yes": True}}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "deep" / "run.safetensors"
    checkpoint.write(path, ARRAYS, FACTS)
    return path


def test_what_is_written_is_read(saved):
    arrays, facts = checkpoint.read(saved)
    assert facts == FACTS
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrays[name], array)


def test_a_file_cut_short_is_refused(saved):
    whole = saved.read_bytes()
    for length in (0, 5, 8, 40, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"^path: .* is cut short or is no checkpoint"):
            checkpoint.read(saved)


def test_a_changed_file_is_refused(saved):
    whole = bytearray(saved.read_bytes())
    size = int.from_bytes(whole[:8], "little")
    for place in (8 + size, len(whole) - 1):
        changed = bytearray(whole)
        changed[place] ^= 1
        saved.write_bytes(changed)
        with pytest.raises(ValueError, match=r"^path: .* was changed after it was written"):
            checkpoint.read(saved)
    edited = whole.replace(b"2.5", b"9.5")
    saved.write_bytes(edited)
    with pytest.raises(ValueError, match="was changed after it was written"):
        checkpoint.read(saved)
    unreadable = whole.replace(b"digest", b"digits")
    saved.write_bytes(unreadable)
    with pytest.raises(ValueError, match="was changed after it was written"):
        checkpoint.read(saved)
    saved.write_bytes(whole)
    checkpoint.read(saved)


def test_the_same_contents_make_the_same_file(saved, tmp_path):
    checkpoint.write(tmp_path / "again", dict(reversed(ARRAYS.items())), FACTS)
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_another_programs_file_is_refused(saved):
    from safetensors.numpy import save_file

    save_file({"weights": ARRAYS["weights"]}, saved)
    with pytest.raises(ValueError, match="was not written by lexicone"):
        checkpoint.read(saved)
    saved.write_text(json.dumps(FACTS))
    with pytest.raises(ValueError, match="is cut short or is no checkpoint"):
        checkpoint.read(saved)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        checkpoint.read(saved.with_name("other"))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        checkpoint.write(saved, ARRAYS, {"x": float("nan")})
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoint.write(saved, ARRAYS, FACTS)
    assert saved.read_bytes() == before
    assert [file.name for file in saved.parent.iterdir()] == [saved.name]


def test_the_digest_sees_names_types_shapes_and_numbers():
    base = checkpoint.digest({"a": np.zeros(4)}, "x")
    others = [
        checkpoint.digest({"b": np.zeros(4)}, "x"),
        checkpoint.digest({"a": np.zeros(4, dtype=np.float32)}, "x"),
        checkpoint.digest({"a": np.zeros((2, 2))}, "x"),
        checkpoint.digest({"a": np.array([0, 0, 0, 1.0])}, "x"),
        checkpoint.digest({"a": np.zeros(4)}, "y"),
    ]
    assert base == checkpoint.digest({"a": np.zeros(4)}, "x")
    assert len({base, *others}) == 6
