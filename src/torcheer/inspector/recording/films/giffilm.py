"""A film as GIF, which needs no library. It takes longer than MP4, and more room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torcheer.inspector.recording.colours import Pixels
from torcheer.inspector.recording.films.film import SampleFile
from torcheer.inspector.recording.films.gifcoding import TAIL, gif_frame, gif_head


class GifFilm:
    """Each frame is whole; the tail is written over and moved on with each of them."""

    def __init__(self, path: Path, size: tuple[int, int], frames_per_second: float) -> None:
        self.path = path
        self._head = gif_head(size)
        self._frames_per_second = frames_per_second
        self._file = SampleFile(path, self._head, TAIL)

    @property
    def num_frames(self) -> int:
        return len(self._file.samples)

    def append(self, pixels: Pixels, step: int) -> None:
        self._file.append(b"", gif_frame(pixels, self._frames_per_second))

    def keep(self, places: Sequence[int]) -> None:
        kept = [self._file.samples[place] for place in places]
        self._file.rewrite(self._head, kept, lambda index, sample: b"")

    def finish(self) -> None:
        """It is whole at any time."""
