"""Records of a run as a program gets them: what they are at once, their bytes when they are asked for."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Generic, Self, TypeVar, cast, overload

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError, InputError
from torcheer.graph import PassDocument, shape_text
from torcheer.run import records
from torcheer.run.read.part_protocol import RecordEntry
from torcheer.run.read.run_reader import RunReader, record_id
from torcheer.tensorfile import RAW_TYPES, as_numbers

H = TypeVar("H", bound=records.AnyHead)
R = TypeVar("R", bound="SavedRecord[Any]")


class SavedRecord(Generic[H]):
    """A record of a series. `head` says what it is, `raw` are its bytes."""

    __slots__ = ("_id", "_reader", "head", "name", "num_bytes", "step", "time")
    _ABOUT = "{record.num_bytes:,} bytes"

    def __init__(self, name: str, entry: RecordEntry, reader: RunReader) -> None:
        self.name = name
        self.step = entry.step
        self.time = entry.time  # seconds since 1970
        self.num_bytes = entry.num_bytes
        self.head = cast(H, entry.head)
        self._id = record_id(entry)
        self._reader = reader

    @property
    def raw(self) -> bytes:
        """Its bytes, read now. `torcheer.run.records` says what they are for each kind."""
        if not self.num_bytes:
            return b""
        data = self._reader.data(self._id)
        if data is None:
            raise InputError(
                f"{self.name!r} at step {self.step} is not there any more: a run that grows beyond its "
                "max_bytes loses old records. Ask the run for the series again to see those that are left."
            )
        return data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write its bytes to a file."""
        Path(path).write_bytes(self.raw)

    def _about(self) -> str:
        return self._ABOUT.format(record=self, head=self.head).rstrip()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at step {self.step}: {self._about()}>"


class Records(Sequence[R], Generic[R]):
    """The records of a series, by step. Their bytes are read one at a time, when they are asked for."""

    def __init__(self, name: str, items: Sequence[R]) -> None:
        self.name = name
        self._items = items

    @property
    def steps(self) -> NDArray[numpy.int64]:
        return numpy.array([item.step for item in self._items], dtype=numpy.int64)

    @property
    def times(self) -> NDArray[numpy.float64]:
        return numpy.array([item.time for item in self._items], dtype=numpy.float64)

    def at(self, step: int) -> R:
        """The last record of that step."""
        places = numpy.flatnonzero(self.steps == step)
        if len(places):
            return self[int(places[-1])]
        raise InputError(f"{self.name!r} has no record at step {step}: {self._about_steps()}.")

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> R | Self:
        if isinstance(place, slice):
            return type(self)(self.name, self._items[place])
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<Records {self.name!r}: {len(self)}, {self._about_steps()}>"

    def _about_steps(self) -> str:
        steps = self.steps
        if not len(steps):
            return "there are none"
        if len(steps) <= 8:
            return "steps " + ", ".join(map(str, steps))
        return f"{len(steps):,} from step {steps[0]} to {steps[-1]}, listed in .steps"


_LABELS: Final = msgspec.json.Decoder(list[list[Any]])


class HistogramRecord(SavedRecord[records.HistogramHead]):
    """How values were spread at one step: `counts[i]` of them between `edges[i]` and `edges[i + 1]`."""

    _ABOUT = "{head.num:g} values in {head.num_bins} bins"

    @property
    def edges(self) -> NDArray[numpy.float64]:
        return numpy.frombuffer(self.raw, "<f8")[: self.head.num_bins + 1]

    @property
    def counts(self) -> NDArray[numpy.float64]:
        return numpy.frombuffer(self.raw, "<f8")[self.head.num_bins + 1 :]


class ImageRecord(SavedRecord[records.ImageHead]):
    """A picture at one step; `raw` is its file. A notebook shows it."""

    _ABOUT = "{head.width} × {head.height} {head.encoding}"

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


class VideoRecord(SavedRecord[records.VideoHead]):
    """Moving pictures at one step."""

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


class AudioRecord(SavedRecord[records.AudioHead]):
    """Sound at one step; `raw` is a WAV file."""

    _ABOUT = "{head.num_frames} frames at {head.sample_rate:g} Hz"

    @property
    def sample_rate(self) -> float:
        return self.head.sample_rate


class TextRecord(SavedRecord[records.TextHead]):
    """Text at one step."""

    _ABOUT = "{head.num_characters} characters"

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", errors="replace")

    def __str__(self) -> str:
        return self.text


class EmbeddingRecord(SavedRecord[records.EmbeddingHead]):
    """Points in many dimensions at one step, with their labels."""

    _ABOUT = "{head.num_points:,} points of {head.num_dims} dimensions"

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


class PrCurveRecord(SavedRecord[records.PrCurveHead]):
    """Precision and recall at one step, over thresholds that rise evenly from 0 to 1."""

    _ABOUT = "{head.num_thresholds} thresholds"

    @property
    def thresholds(self) -> NDArray[numpy.float64]:
        return numpy.linspace(0, 1, self.head.num_thresholds)

    true_positives = property(lambda self: self._row(0))
    false_positives = property(lambda self: self._row(1))
    true_negatives = property(lambda self: self._row(2))
    false_negatives = property(lambda self: self._row(3))
    precision = property(lambda self: self._row(4))
    recall = property(lambda self: self._row(5))

    def _row(self, which: int) -> NDArray[numpy.float64]:
        count = self.head.num_thresholds
        return numpy.frombuffer(self.raw, "<f8")[which * count : (which + 1) * count]


class ConfusionRecord(SavedRecord[records.ConfusionHead]):
    """How often which class was taken for which, at one step."""

    @property
    def labels(self) -> list[str]:
        return self.head.labels

    @property
    def matrix(self) -> NDArray[numpy.float64]:
        """A row for each true class, a column for each that was said."""
        return numpy.frombuffer(self.raw, "<f8").reshape(len(self.labels), len(self.labels))

    def _about(self) -> str:
        return f"{len(self.labels)} classes"


class PassRecord(SavedRecord[records.PassHead]):
    """A pass of the model at one step, without its tensors."""

    _ABOUT = "{head.model_name}, {head.num_ops:,} ops"

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


class TensorRecord(SavedRecord[records.TensorHead]):
    """A tensor at one step."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.head.shape)

    @property
    def dtype(self) -> str:
        """Torch's name for it: `float32`, `bfloat16`."""
        return self.head.dtype

    @property
    def array(self) -> NDArray[Any]:
        """The values, exact. NumPy has no bfloat16 and no floats of eight bits: they become float32."""
        return array_of(self.raw, self.dtype, self.shape)

    def to_torch(self) -> Any:
        """The tensor as torch has it, on the CPU. Needs torch."""
        torch = importlib.import_module("torch")
        dtype = getattr(torch, self.dtype)
        if not self.num_bytes:
            return torch.empty(self.shape, dtype=dtype)
        return torch.frombuffer(bytearray(self.raw), dtype=dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array(self.array, dtype=dtype) if copy else numpy.asarray(self.array, dtype=dtype)

    def _about(self) -> str:
        return f"{shape_text(self.shape)} {self.dtype}"


def array_of(raw: bytes, dtype: str, shape: Sequence[int]) -> NDArray[Any]:
    """Numbers from their bytes, where `dtype` is torch's name for them."""
    if dtype in RAW_TYPES:
        array = as_numbers(numpy.frombuffer(raw, f"<u{RAW_TYPES[dtype]}"), dtype)
    elif dtype == "complex32":
        array = numpy.frombuffer(raw, "<f2").astype(numpy.float32).view(numpy.complex64)
    else:
        array = numpy.frombuffer(raw, numpy.dtype(dtype).newbyteorder("<"))
    return array.reshape(shape)
