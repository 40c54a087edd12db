"""Pictures one after another as a file: GIF with Pillow, MP4 with imageio (extra ``video``)."""

import importlib
import io
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lexicone._base.files import write_atomically

__all__ = ["FORMATS", "Film"]

FORMATS = (".gif", ".mp4")
_MOST = 600  # pictures; where there are more every second one is left out
_WIDEST, _NARROWEST = 480, 240  # pixels
_LINE = 16  # pixels of a line of text
_PAUSE = 0.7  # seconds at the end of an episode


class Film:
    """Pictures ``[height,width,3]`` of bytes, each of a step of an episode. It never holds more than some hundreds."""

    def __init__(self) -> None:
        self._shots: list[_Shot] = []
        self._latest: _Shot | None = None
        self._every = 1

    def __len__(self) -> int:
        return len(self._shots)

    def add(self, picture: np.ndarray, episode: int, step: int) -> None:
        """One more picture."""
        self._latest = _Shot(np.asarray(picture, np.uint8), episode, step)
        if step % self._every == 0:
            self._keep()

    def end(self) -> None:
        """The latest picture was the last one of its episode: it is kept, and stands for a while."""
        if self._latest is not None:
            if not self._shots or self._shots[-1] is not self._latest:
                self._keep()
            self._shots[-1] = self._latest._replace(last=True)
            self._latest = None

    def _keep(self) -> None:
        assert self._latest is not None
        self._shots.append(self._latest)
        if len(self._shots) > _MOST:
            self._every *= 2
            self._shots = [s for s in self._shots if s.last or s.step % self._every == 0]

    def save(
        self,
        path: str | os.PathLike[str],
        per_second: float,
        words: Callable[[int, int], Sequence[str]],
    ) -> None:
        """Write it as the path's ending says, in the pace in which steps were taken.

        ``words(episode, step)`` are the lines below a picture.
        """
        pictures = [_compose(s.picture, words(s.episode, s.step)) for s in self._shots]
        seconds = [_PAUSE if s.last else self._every / per_second for s in self._shots]
        if Path(path).suffix == ".gif":
            write_atomically(path, lambda file: file.write(_gif(pictures, seconds)))
        else:
            write_atomically(path, lambda file: file.write(_mp4(pictures, seconds, per_second)))


class _Shot(NamedTuple):
    picture: np.ndarray
    episode: int
    step: int
    last: bool = False


def _compose(picture: np.ndarray, lines: Sequence[str]) -> Any:
    """The picture, brought to a width between limits, and text under it."""
    from PIL import Image, ImageDraw, ImageFont

    image: Any = Image.fromarray(picture)
    wide = min(max(image.width, _NARROWEST), _WIDEST)
    if wide != image.width:
        sharp = wide > image.width
        tall = max(1, round(image.height * wide / image.width))
        image = image.resize(
            (wide, tall), Image.Resampling.NEAREST if sharp else Image.Resampling.LANCZOS
        )
    tall = image.height + _LINE * len(lines) + 4 * bool(lines)
    whole = Image.new(
        "RGB", (wide + wide % 2, tall + tall % 2), (255, 255, 255)
    )  # films want even sides
    whole.paste(image, (0, 0))
    draw, font = ImageDraw.Draw(whole), ImageFont.truetype(_font(), 12)
    for i, line in enumerate(lines):
        draw.text((4, image.height + 2 + _LINE * i), line, fill=(30, 30, 30), font=font)
    return whole


@cache
def _font() -> str:
    """One that matplotlib brings along, with the signs of thresholds."""
    import matplotlib as mpl

    return os.path.join(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")


def _gif(pictures: list[Any], seconds: list[float]) -> bytes:
    """All pictures have the size of the largest; times are in hundredths of a second, at least two."""
    file = io.BytesIO()
    times = [max(20, round(100 * s) * 10) for s in seconds]
    first, *rest = _same_size(pictures)
    first.save(
        file, "GIF", save_all=True, append_images=rest, duration=times, loop=0, optimize=False
    )
    return file.getvalue()


def _mp4(pictures: list[Any], seconds: list[float], per_second: float) -> bytes:
    try:
        imageio = importlib.import_module("imageio.v2")
        importlib.import_module("imageio_ffmpeg")
    except ImportError as error:
        raise ImportError(
            f"path: MP4 needs imageio: pip install 'lexicone[video]', or write a .gif ({error})"
        ) from error
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a process is started, which JAX warns of
        target = os.path.join(folder, "film.mp4")
        rate = max(1.0, per_second)
        with imageio.get_writer(target, fps=rate, macro_block_size=2, codec="libx264") as writer:
            for picture, time in zip(_same_size(pictures), seconds, strict=True):
                for _ in range(max(1, round(time * rate))):
                    writer.append_data(np.asarray(picture))
        return Path(target).read_bytes()


def _same_size(pictures: list[Any]) -> list[Any]:
    from PIL import Image

    size = max(p.width for p in pictures), max(p.height for p in pictures)
    found = []
    for picture in pictures:
        whole = Image.new("RGB", size, (255, 255, 255))
        whole.paste(picture, (0, 0))
        found.append(whole)
    return found
