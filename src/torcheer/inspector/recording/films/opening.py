"""Begin films of one size and format, where there is room for them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal

from torcheer.inspector.recording.films.filenames import claim, make_file
from torcheer.inspector.recording.films.film import Film
from torcheer.inspector.recording.films.giffilm import GifFilm
from torcheer.inspector.recording.films.h264 import Encoder
from torcheer.inspector.recording.films.mp4film import Mp4Film
from torcheer.inspector.recording.films.pngfilm import PngFilm

Format = Literal["mp4", "gif", "png"]


class FilmMaker:
    """Films that share what they can: hundreds of encoders would not fit into memory."""

    def __init__(
        self, size: tuple[int, int], frames_per_second: float, format: Format, keyframe_every: int = 1
    ) -> None:
        # H.264 has colours for four pixels at a time: an odd size becomes one more.
        self.size = (size[0] + size[0] % 2, size[1] + size[1] % 2) if format == "mp4" else size
        self._frames_per_second = frames_per_second
        self._format = format
        self._keyframe_every = keyframe_every

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.size, self._frames_per_second, self._keyframe_every)

    def claim(self, folder: Path, stem: str) -> Film:
        """A film in a folder, under a name that nothing there has yet."""
        if self._format == "png":
            return self.open(claim(folder, stem, "", Path.mkdir))
        if self._format == "mp4":
            self._encoder  # noqa: B018  # what is missing is said before there is an empty file
        return self.open(claim(folder, stem, f".{self._format}", make_file))

    def open(self, path: Path) -> Film:
        """A film at a path; a file that is there is written over."""
        if self._format == "mp4":
            return Mp4Film(path, self.size, self._frames_per_second, self._encoder)
        if self._format == "gif":
            return GifFilm(path, self.size, self._frames_per_second)
        return PngFilm(path)
