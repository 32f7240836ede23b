"""A film as a folder of PNG files, a frame each, named by their steps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from torcheer.inspector.recording.colours import Pixels, channels
from torcheer.run.observing.png import encode_png


class PngFilm:
    """In a folder of its own, so that the names can be in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: list[Path] = []

    @property
    def num_frames(self) -> int:
        return len(self._files)

    def append(self, pixels: Pixels, step: int) -> None:
        file = self._free(f"step-{step:08d}")
        partial = file.with_suffix(".partial")
        try:
            partial.write_bytes(encode_png(channels(pixels)))
            partial.replace(file)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        self._files.append(file)

    def keep(self, places: Sequence[int]) -> None:
        kept = [self._files[place] for place in places]
        for file in set(self._files) - set(kept):
            file.unlink(missing_ok=True)
        self._files = kept

    def finish(self) -> None:
        """There is nothing to finish."""

    def _free(self, stem: str) -> Path:
        """One step may have several frames: the second is `step-00000012-2.png`."""
        file, number = self.path / f"{stem}.png", 1
        while file in self._files[-8:] or file.exists():
            number += 1
            file = self.path / f"{stem}-{number}.png"
        return file
