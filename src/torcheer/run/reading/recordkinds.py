"""What each kind of record is to a program: arrays, text, pictures."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError
from torcheer.graph import PassDocument
from torcheer.run.reading.savedrecords import SavedRecord
from torcheer.run.records import (
    AudioHead,
    ConfusionHead,
    EmbeddingHead,
    HistogramHead,
    ImageHead,
    PassHead,
    PrCurveHead,
    TextHead,
    VideoHead,
)

_LABELS: Final = msgspec.json.Decoder(list[list[Any]])


class HistogramRecord(SavedRecord[HistogramHead]):
    """How values were spread at one step: `counts[i]` of them between `edges[i]` and `edges[i + 1]`."""

    __slots__ = ()

    @property
    def edges(self) -> NDArray[numpy.float64]:
        return numpy.frombuffer(self.raw, "<f8")[: self.head.num_bins + 1]

    @property
    def counts(self) -> NDArray[numpy.float64]:
        return numpy.frombuffer(self.raw, "<f8")[self.head.num_bins + 1 :]

    def _about(self) -> str:
        return f"{self.head.num:g} values in {self.head.num_bins} bins"


class ImageRecord(SavedRecord[ImageHead]):
    """A picture at one step; `raw` is its file. A notebook shows it."""

    __slots__ = ()

    @property
    def width(self) -> int:
        return self.head.width

    @property
    def height(self) -> int:
        return self.head.height

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        kinds = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
        kind = kinds.get(self.head.encoding)
        shown = {} if kind is None else {kind: self.raw}
        return {"text/plain": repr(self), **shown}

    def _about(self) -> str:
        return f"{self.width} × {self.height} {self.head.encoding}".rstrip()


class VideoRecord(SavedRecord[VideoHead]):
    """Moving pictures at one step."""

    __slots__ = ()

    @property
    def frames_per_second(self) -> float:
        return self.head.frames_per_second

    @property
    def frames(self) -> list[bytes]:
        """A PNG each."""
        raw, frames, start = self.raw, [], 0
        for size in self.head.frame_bytes:
            frames.append(raw[start : start + size])
            start += size
        return frames

    def _about(self) -> str:
        return f"{len(self.head.frame_bytes)} frames, {self.head.width} × {self.head.height}"


class AudioRecord(SavedRecord[AudioHead]):
    """Sound at one step; `raw` is a WAV file."""

    __slots__ = ()

    @property
    def sample_rate(self) -> float:
        return self.head.sample_rate

    def _about(self) -> str:
        return f"{self.head.num_frames} frames at {self.sample_rate:g} Hz"


class TextRecord(SavedRecord[TextHead]):
    """Text at one step."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", errors="replace")

    def __str__(self) -> str:
        return self.text

    def _about(self) -> str:
        return f"{self.head.num_characters} characters"


class EmbeddingRecord(SavedRecord[EmbeddingHead]):
    """Points in many dimensions at one step, with their labels."""

    __slots__ = ()

    @property
    def matrix(self) -> NDArray[numpy.float32]:
        """A row for each point."""
        values = numpy.frombuffer(self.raw[: self.head.matrix_bytes], "<f4")
        return values.reshape(self.head.num_points, self.head.num_dims)

    @property
    def labels(self) -> dict[str, list[Any]]:
        """For each column of labels, one for each point."""
        start = self.head.matrix_bytes
        data = self.raw[start : start + self.head.label_bytes]
        try:
            columns = _LABELS.decode(data) if data else []
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FileFormatError(
                f"the labels of {self.name!r} at step {self.step} are damaged: {error}"
            ) from None
        return dict(zip(self.head.columns, columns, strict=False))

    @property
    def sprites(self) -> bytes:
        """The pictures of the points, on one sheet, as PNG; empty where there are none."""
        return self.raw[self.head.matrix_bytes + self.head.label_bytes :]

    def _about(self) -> str:
        return f"{self.head.num_points:,} points of {self.head.num_dims} dimensions"


class PrCurveRecord(SavedRecord[PrCurveHead]):
    """Precision and recall at one step, over thresholds that rise evenly from 0 to 1."""

    __slots__ = ()

    @property
    def thresholds(self) -> NDArray[numpy.float64]:
        return numpy.linspace(0, 1, self.head.num_thresholds)

    @property
    def true_positives(self) -> NDArray[numpy.float64]:
        return self._row(0)

    @property
    def false_positives(self) -> NDArray[numpy.float64]:
        return self._row(1)

    @property
    def true_negatives(self) -> NDArray[numpy.float64]:
        return self._row(2)

    @property
    def false_negatives(self) -> NDArray[numpy.float64]:
        return self._row(3)

    @property
    def precision(self) -> NDArray[numpy.float64]:
        return self._row(4)

    @property
    def recall(self) -> NDArray[numpy.float64]:
        return self._row(5)

    def _row(self, which: int) -> NDArray[numpy.float64]:
        count = self.head.num_thresholds
        return numpy.frombuffer(self.raw, "<f8")[which * count : (which + 1) * count]

    def _about(self) -> str:
        return f"{self.head.num_thresholds} thresholds"


class ConfusionRecord(SavedRecord[ConfusionHead]):
    """How often which class was taken for which, at one step."""

    __slots__ = ()

    @property
    def labels(self) -> list[str]:
        return self.head.labels

    @property
    def matrix(self) -> NDArray[numpy.float64]:
        """A row for each true class, a column for each that was said."""
        return numpy.frombuffer(self.raw, "<f8").reshape(len(self.labels), len(self.labels))

    def _about(self) -> str:
        return f"{len(self.labels)} classes"


class PassRecord(SavedRecord[PassHead]):
    """A pass of the model at one step, without its tensors."""

    __slots__ = ()

    @property
    def figures(self) -> dict[str, NDArray[numpy.float64]]:
        """By name (`mean`, `grad_std`…) a number for each op; NaN where it is not known."""
        table = numpy.frombuffer(self.raw, "<f8").reshape(self.head.num_ops, len(self.head.figures))
        return {name: table[:, column] for column, name in enumerate(self.head.figures)}

    @property
    def document(self) -> PassDocument:
        """The pass itself: its ops, modules and source lines."""
        json = self._reader.document(self.head.document)
        if json is None:
            raise FileFormatError(
                f"the document of the pass {self.name!r} at step {self.step} is not in the run."
            )
        try:
            return msgspec.json.decode(json, type=PassDocument)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FileFormatError(f"the pass {self.name!r} at step {self.step} is damaged: {error}") from None

    def _about(self) -> str:
        return f"{self.head.model_name}, {self.head.num_ops:,} ops"
