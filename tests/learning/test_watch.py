"""Films and figures of episodes: as many pictures as there are steps, of what really happened."""

from typing import Any

import numpy as np
import pytest
from PIL import Image

from lexicone._base.film import Film
from lexicone.learning._train import train
from lexicone.learning.algos._ppo import PPO
from lexicone.models._simulation import simulate
from lexicone.order import Order
from tests.helpers.commands import run as command
from tests.helpers.small_worlds import Counter
from tests.helpers.trainings import LEARNER, run

SMALL = PPO(hidden=(4,), copies=3, length=8, epochs=1, minibatches=2)


class Painted(Counter):
    """Counter whose pictures become brighter with time; one that is told to, as Gymnasium has it."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return np.full((60, 240, 3), 80 * self.time, np.uint8)


@pytest.fixture(scope="module")
def painted():
    return train(Painted, Order({"time": 0.0, "force": None}), SMALL, seeds=2, updates=2)


def shown(path: Any) -> tuple[list[int], list[int]]:
    """How bright each picture is in its middle, and how long it stands, in milliseconds."""
    found, times = [], []
    with Image.open(path) as image:
        for i in range(getattr(image, "n_frames", 1)):
            image.seek(i)
            colour: Any = image.convert("RGB").getpixel((120, 30))
            found.append(colour[0])
            times.append(int(image.info["duration"]))
    return found, times


@pytest.mark.slow
def test_an_environment_is_rendered_step_by_step_to_its_last_picture(painted, tmp_path):
    path = tmp_path / "two.gif"
    painted.watch(path, 1, episodes=2)
    found, times = shown(path)
    np.testing.assert_allclose(found, [0, 80, 160, 240] * 2, atol=2)
    assert times == [200, 200, 200, 700] * 2
    painted.watch(tmp_path / "cut.gif", max_steps=2)
    np.testing.assert_allclose(shown(tmp_path / "cut.gif")[0], [0, 80, 160], atol=2)
    painted.watch(tmp_path / "course.png")
    assert (tmp_path / "course.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_model_moves_on_its_map_and_the_command_finds_what_to_write(tmp_path, capsys):
    trained = run(snapshots=0, updates=20, checkpoint=tmp_path / "training.safetensors")
    code, out, _ = command(["watch", str(tmp_path), "--run-number", "2", "--episodes", "2"], capsys)
    assert (code, "".join(out.split())) == (0, str(tmp_path / "watch.gif"))
    found = simulate(trained.mdp, trained.policy(2), 2, seed=0, max_steps=12)
    stood = sum(shown(tmp_path / "watch.gif")[1])
    assert stood == 250 * found.lengths.sum() + 2 * 700  # the last ones stand for longer
    code, _, err = command(["watch", str(tmp_path), "--run-number", "9"], capsys)
    assert (code, "seed: expected a whole number from 0 to 2" in err) == (2, True)


@pytest.mark.slow
def test_a_learner_of_whole_episodes_is_filmed_too(tmp_path):
    from tests.fuzz.material import make_env

    lived = train(make_env, [-0.5], LEARNER, seeds=1, updates=1)
    lived.watch(tmp_path / "lived.png", greedy=True)
    assert (tmp_path / "lived.png").exists()


def test_long_films_keep_every_second_picture_and_all_ends():
    film = Film()
    for episode, steps in enumerate((700, 10)):
        for step in range(steps):
            film.add(np.zeros((2, 2, 3)), episode, step)
        film.end()
    kept = [(shot.episode, shot.step) for shot in film._shots]
    assert len(kept) < 600
    assert kept[:3] == [(0, 0), (0, 2), (0, 4)]
    assert (0, 699) in kept
    assert kept[-1] == (1, 9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "film.avi"}, r"^path: expected the ending \.gif, \.mp4 for a film"),
        ({"path": "a.gif", "seed": 2}, r"^seed: expected a whole number from 0 to 1"),
        ({"path": "a.gif", "episodes": 0}, r"^episodes: must be a whole number of at least 1"),
        ({"path": "a.gif", "max_steps": 0}, r"^max_steps: must be a whole number"),
        ({"path": "a.gif", "start": -1}, r"^start: must be between 0 and"),
    ],
)
def test_mistakes_are_named(given, message, painted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        painted.watch(**given)


@pytest.mark.slow
def test_mp4(painted, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    painted.watch(tmp_path / "film.mp4")
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"
