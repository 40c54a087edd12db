"""A training that is killed while it trains goes on from its file and ends with the same bits; see `kills`."""

import random

import pytest

from tests.reliability.kills import fingerprint, kill_and_resume, start


@pytest.mark.slow
def test_a_killed_command_resumes_to_the_same_bits(tmp_path):
    assert start(tmp_path / "whole").wait() == 0
    assert kill_and_resume(tmp_path / "killed", 1, random.Random(3)) == (1, 1, 0)
    assert fingerprint(tmp_path / "killed") == fingerprint(tmp_path / "whole")
