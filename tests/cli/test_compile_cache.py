"""Where compiled programs are kept, and where not."""

import os
import subprocess
import sys

import pytest

from lexicone.cli import _compile_cache as cache

COMMAND = "from lexicone.cli import main; main(['tasks', 'maze']); import os; "
SHOW = COMMAND + "print(os.environ.get('JAX_COMPILATION_CACHE_DIR'))"


def said(home, **variables):
    """The folder that a command of a user with this home tells JAX."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XDG_", "LEXICONE_"))}
    call = [sys.executable, "-c", SHOW]
    environment = {**own, "HOME": str(home), **variables}
    done = subprocess.run(call, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_users_folder_unless_it_is_switched_off_or_set(tmp_path):
    assert said(tmp_path).startswith(str(tmp_path / ".cache" / "lexicone" / "programs-"))
    assert said(tmp_path, LEXICONE_CACHE="off") == "None"
    assert said(tmp_path, JAX_COMPILATION_CACHE_DIR="/elsewhere") == "/elsewhere"


@pytest.mark.parametrize("home", ["/proc/nobody", "/dev/null", ""])
def test_a_home_that_cannot_be_written_breaks_nothing(home, monkeypatch):
    monkeypatch.delenv("LEXICONE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setenv("HOME", home or "/proc/nobody")
    assert cache.cache_folder() is None


def test_another_folder_and_the_oldest_go_first(tmp_path, monkeypatch):
    monkeypatch.setenv("LEXICONE_CACHE", str(tmp_path))
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path
    for age, name in enumerate("abc"):
        (folder / name).write_bytes(b"0" * 400)
        os.utime(folder / name, (1000 + age, 1000 + age))
    monkeypatch.setattr(cache, "_MOST_BYTES", 900)
    cache._make_room(folder)
    assert sorted(os.listdir(folder)) == ["b", "c"]
