"""A film as MP4: it plays whenever the process that writes it ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from torcheer.inspector.recording.colours import Pixels
from torcheer.inspector.recording.films.film import Sample, SampleFile
from torcheer.inspector.recording.films.h264 import Encoder
from torcheer.inspector.recording.films.mp4boxes import Track, finished_head, fragment_lead, fragmented_head


class Mp4Film:
    """Frames of one encoder, which other films may share."""

    def __init__(self, path: Path, size: tuple[int, int], frames_per_second: float, encoder: Encoder) -> None:
        self.path = path
        self._encoder = encoder
        self._track = Track(
            width=size[0],
            height=size[1],
            frames_per_second=frames_per_second,
            decoder_setup=encoder.decoder_setup,
        )
        self._file = SampleFile(path, fragmented_head(self._track))
        self._is_finished = False

    @property
    def num_frames(self) -> int:
        return len(self._file.samples)

    def append(self, pixels: Pixels, step: int) -> None:
        if self._is_finished:
            self._rewrite_fragments(self._file.samples)
        index = self.num_frames
        coded = self._encoder.encode(pixels, mark=index & 1)
        lead = fragment_lead(index, Sample(0, len(coded.data), coded.is_key))
        self._file.append(lead, coded.data, is_key=coded.is_key)

    def keep(self, places: Sequence[int]) -> None:
        """Only frames that stand for themselves can be taken out.

        Their marks stay right where places are even and odd in turn, as every third is.
        """
        self._rewrite_fragments([self._file.samples[place] for place in places])

    def finish(self) -> None:
        if self._is_finished or not self.num_frames:
            return
        samples = self._file.samples
        self._file.rewrite(finished_head(self._track, samples), samples, lambda index, sample: b"")
        self._is_finished = True

    def _rewrite_fragments(self, samples: Sequence[Sample]) -> None:
        self._file.rewrite(fragmented_head(self._track), samples, fragment_lead)
        self._is_finished = False
