"""A film: frames in a file that grows with each of them, and can be looked at after each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

from torcheer.inspector.recording.colours import Pixels

_CHUNK_BYTES: Final = 1 << 20


class Film(Protocol):
    """What holds frames. Whatever fails raises OSError, and leaves the frames that were there."""

    path: Path

    @property
    def num_frames(self) -> int: ...

    def append(self, pixels: Pixels, step: int) -> None: ...

    def keep(self, places: Sequence[int]) -> None:
        """Only the frames at these places, in their order."""

    def finish(self) -> None:
        """Make it as easy to play as can be. More frames may still come."""


class Sample(NamedTuple):
    """Where the bytes of a frame lie in its file."""

    offset: int
    num_bytes: int
    is_key: bool = True  # whether it can be seen without those before it


class SampleFile:
    """A file of a head, frames and a tail. It is open only while it is written to: there may be many."""

    def __init__(self, path: Path, head: bytes, tail: bytes = b"") -> None:
        self.path = path
        self.samples: list[Sample] = []
        self._tail = tail
        self._end = len(head)
        try:
            path.write_bytes(head + tail)
        except OSError:
            # It is of no use to anybody.
            with suppress(OSError):
                path.unlink()
            raise

    def append(self, lead: bytes, data: bytes, *, is_key: bool = True) -> None:
        """One write, over the tail: whoever is killed in it leaves the frames before whole."""
        with self.path.open("r+b", buffering=0) as file:
            file.seek(self._end)
            try:
                _write_all(file, lead + data + self._tail)
            except OSError:
                with suppress(OSError):
                    file.truncate(self._end)
                    file.seek(self._end)
                    file.write(self._tail)
                raise
        self.samples.append(Sample(self._end + len(lead), len(data), is_key))
        self._end += len(lead) + len(data)

    def rewrite(self, head: bytes, kept: Sequence[Sample], lead: Callable[[int, Sample], bytes]) -> None:
        """The same frames, or some of them, with other bytes around; the old file stays until it is done."""
        partial = self.path.with_name(f".{self.path.name}.partial")
        samples: list[Sample] = []
        try:
            with self.path.open("rb") as old, partial.open("wb") as new:
                new.write(head)
                end = len(head)
                for index, sample in enumerate(kept):
                    before = lead(index, sample)
                    new.write(before)
                    samples.append(sample._replace(offset=end + len(before)))
                    _copy(old, new, sample)
                    end += len(before) + sample.num_bytes
                new.write(self._tail)
            os.replace(partial, self.path)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        self.samples, self._end = samples, end


def _write_all(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _copy(old: BinaryIO, new: BinaryIO, sample: Sample) -> None:
    old.seek(sample.offset)
    left = sample.num_bytes
    while left:
        chunk = old.read(min(left, _CHUNK_BYTES))
        if not chunk:
            raise OSError(f"{old.name} was cut short by somebody else")
        new.write(chunk)
        left -= len(chunk)
