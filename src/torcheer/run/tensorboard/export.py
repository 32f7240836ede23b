"""Write a run as TensorBoard's event files."""

from __future__ import annotations

import io
import itertools
import math
import os
import re
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import numpy

from torcheer.errors import InputError
from torcheer.graph import PassDocument, check_document
from torcheer.run import records
from torcheer.run.read.part_protocol import RecordEntry, SeriesEntry, SeriesKey
from torcheer.run.read.run_folders import is_run
from torcheer.run.read.run_reader import RunReader
from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.event_file import framed
from torcheer.run.tensorboard.event_values import strings_message, tensor_message
from torcheer.run.tensorboard.events_part import EVENT_FILES, event_files
from torcheer.run.tensorboard.projector import CONFIG

# What TensorBoard has nothing for. Tensors and histograms of an inspector are written as all others are.
KINDS_NOT_EXPORTED: Final[tuple[records.Kind, ...]] = (
    "watch",
    "statistics",
    "alarm",
    "gap",
    "netview",
    "moment",
    "table",
)
_VERSION: Final = "brain.Event:2"
_NOT_FOR_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME: Final = 60  # in characters: folders have names of 255 bytes
_BUFFER_BYTES: Final = 1 << 20


def export_tensorboard(run: RunReader, folder: str | Path) -> Path:
    """Write everything that TensorBoard can show into a folder, which must not have event files yet.

    Scalars become simple values, which have four bytes. A confusion matrix becomes a tensor, a video an
    animated GIF, the last pass of a model its graph. Statistics, alarms and gaps of an inspector are left
    out. Returns the event file.
    """
    target = Path(folder)
    if event_files(target):
        raise InputError(
            f"{target} has event files already: name a folder that has none, or is not there yet."
        )
    if is_run(target):
        raise InputError(f"{target} is a run, which would then have everything twice: name another folder.")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target} cannot be made ({error.strerror}): name another folder.") from error
    series = run.series()
    name = f"events.out.{EVENT_FILES}.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.0"
    path = target / name
    unfinished = target / f".{name}.part".replace(EVENT_FILES, "export")
    try:
        with open(unfinished, "wb", buffering=_BUFFER_BYTES) as file:
            _Export(run, target, file).write_all(series)
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    return path


class _Export:
    def __init__(self, run: RunReader, folder: Path, file: BinaryIO) -> None:
        self._run = run
        self._folder = folder
        self._file = file
        self._tables: list[str] = []  # of the projector's configuration

    def write_all(self, series: Mapping[SeriesKey, SeriesEntry]) -> None:
        first = min((entry.last_time for entry in series.values()), default=time.time())
        self._file.write(framed(pb.double_field(1, first) + pb.text_field(3, _VERSION)))
        for kind, name in series:
            if kind == "scalar":
                self._write_points(name)
            elif kind != "pass" and kind not in KINDS_NOT_EXPORTED:
                self._write_records(kind, name)
        self._write_last_graph([name for kind, name in series if kind == "pass"])
        if self._tables:
            (self._folder / CONFIG).write_text("".join(self._tables), "utf-8")

    def _write_points(self, name: str) -> None:
        steps, times, values = self._run.points(name)
        with numpy.errstate(invalid="ignore"):
            # Where some number does not fit into four bytes.
            wide = bool((numpy.isfinite(values) & (numpy.abs(values) > _LARGEST_SINGLE)).any())
        for step, moment, value in zip(steps.tolist(), times.tolist(), values.tolist(), strict=True):
            self._write(step, moment, [scalar_value(name, value, wide)])

    def _write_records(self, kind: records.Kind, name: str) -> None:
        for entry in self._run.records(kind, name):
            data = self._run.data(f"{entry.part}:{entry.id}")
            if data is None:
                continue  # thinned meanwhile
            if isinstance(entry.head, records.EmbeddingHead):
                self._write_embedding(name, entry, entry.head, data)
            else:
                make = _KINDS.get(type(entry.head))
                self._write(entry.step, entry.time, [] if make is None else make(name, entry.head, data))

    def _write(self, step: int, moment: float, values: Sequence[bytes]) -> None:
        if values:
            summary = b"".join(pb.bytes_field(1, value) for value in values)
            self._file.write(framed(_event(step, moment) + pb.bytes_field(5, summary)))

    def _write_last_graph(self, names: Sequence[str]) -> None:
        # They show one graph of a run.
        entries = [entry for name in names for entry in self._run.records("pass", name)]
        last = max(entries, key=lambda entry: (entry.step, entry.time), default=None)
        if last is None or not isinstance(last.head, records.PassHead):
            return
        text = self._run.document(last.head.document)
        if text is not None:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
                document = msgspec.json.decode(text, type=PassDocument)
                check_document(document)
                graph = graph_message(document)
                self._file.write(framed(_event(last.step, last.time) + pb.bytes_field(4, graph)))

    def _write_embedding(
        self, name: str, entry: RecordEntry, head: records.EmbeddingHead, data: bytes
    ) -> None:
        # A name may be longer than those of folders; the number tells two of them apart.
        place = f"{entry.step:05d}/{_NOT_FOR_NAMES.sub('_', name)[:_LONGEST_NAME]}-{entry.id}"
        folder = self._folder / place
        folder.mkdir(parents=True, exist_ok=True)
        labels_at, sprite_at = head.matrix_bytes, head.matrix_bytes + head.label_bytes
        matrix = numpy.frombuffer(data[:labels_at], dtype="<f4").reshape(head.num_points, head.num_dims)
        numpy.savetxt(folder / "tensors.tsv", matrix, delimiter="\t", fmt="%.9g")
        quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        lines = [
            f'  tensor_name: "{quoted}:{entry.step:05d}"',
            f'  tensor_path: "{place}/tensors.tsv"',
        ]
        if head.columns:
            columns: list[list[Any]] = []  # where they are not what they should be
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                columns = msgspec.json.decode(data[labels_at:sprite_at], type=list[list[Any]])
            (folder / "metadata.tsv").write_text(_table(head.columns, columns), "utf-8")
            lines.append(f'  metadata_path: "{place}/metadata.tsv"')
        if head.sprite_bytes:
            (folder / "sprite.png").write_bytes(data[sprite_at:])
            size = f"single_image_dim: {head.sprite_width} single_image_dim: {head.sprite_height}"
            lines.append(f'  sprite {{ image_path: "{place}/sprite.png" {size} }}')
        self._tables.append("embeddings {\n" + "\n".join(lines) + "\n}\n")


def _event(step: int, moment: float) -> bytes:
    return pb.double_field(1, moment) + pb.int_field(2, step)


def _table(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> str:
    rows = [*([names] if len(names) > 1 else []), *zip(*columns, strict=False)]
    return "".join("\t".join(re.sub(r"[\t\r\n]", " ", str(cell)) for cell in row) + "\n" for row in rows)


def graph_message(document: PassDocument) -> bytes:
    """The ops of a pass as nodes, named by their modules, so that these can be opened and closed."""
    names = [_node_name(document, index) for index in range(len(document.ops))]
    nodes = []
    for op, name in zip(document.ops, names, strict=True):
        parents = dict.fromkeys(link.op for link in op.parents if link.op >= 0)
        inputs = b"".join(pb.text_field(3, names[parent]) for parent in parents)
        nodes.append(pb.bytes_field(1, pb.text_field(1, name) + pb.text_field(2, op.type) + inputs))
    return b"".join(nodes) + pb.bytes_field(4, pb.int_field(1, 22))


def _node_name(document: PassDocument, index: int) -> str:
    op = document.ops[index]
    places, at = [op.label], op.scope
    while at >= 0:
        scope = document.scopes[at]
        if scope.address is not None:
            places += [place for place in reversed(scope.address.split(".")) if place]
            break
        places.append(scope.name)
        at = scope.parent
    return "/".join(_NOT_FOR_NAMES.sub("_", place) for place in reversed(places))


_SCALAR_CLASS: Final = 1
_LARGEST_SINGLE: Final = float(numpy.finfo(numpy.float32).max)
_SUCCESS: Final = 1
_MAX_TENSOR_BYTES: Final = 1 << 30
_MOST_VIDEO_PIXELS: Final = 1 << 28  # of all frames; a larger video becomes its first picture


def scalar_value(name: str, value: float, wide: bool) -> bytes:
    """A simple value, which has four bytes, or a tensor of eight."""
    if not wide:
        return pb.text_field(1, name) + pb.single_field(2, value)
    tensor = tensor_message([], "float64", numpy.float64(value).tobytes())
    return _tensor_value(name, "scalars", tensor, data_class=_SCALAR_CLASS)[0]


def _metadata(plugin: str, content: bytes = b"", data_class: int = 0) -> bytes:
    plugin_data = pb.text_field(1, plugin) + (pb.bytes_field(2, content) if content else b"")
    extra = pb.int_field(4, data_class) if data_class else b""
    return pb.bytes_field(9, pb.bytes_field(1, plugin_data) + extra)


def _tensor_value(name: str, plugin: str, tensor: bytes | None, **metadata: Any) -> Sequence[bytes]:
    if tensor is None:
        return []
    return [pb.text_field(1, name) + _metadata(plugin, **metadata) + pb.bytes_field(8, tensor)]


def _tensor(name: str, head: records.TensorHead, data: bytes) -> Sequence[bytes]:
    tensor = tensor_message(head.shape, head.dtype, data) if len(data) < _MAX_TENSOR_BYTES else None
    return _tensor_value(name, "tensor", tensor)


def _histogram(name: str, head: records.HistogramHead, data: bytes) -> Sequence[bytes]:
    numbers = numpy.frombuffer(data, dtype="<f8")
    edges, counts = numbers[: head.num_bins + 1], numbers[head.num_bins + 1 :]
    sums = (head.min, head.max, head.num, head.sum, head.sum_squares)
    message = b"".join(pb.double_field(at, value or 0.0) for at, value in enumerate(sums, 1))
    # Each limit is the upper one of its count: the lowest edge is that of an empty first bar.
    message += pb.doubles_field(6, edges) + pb.doubles_field(7, numpy.append([0.0], counts))
    return [pb.text_field(1, name) + pb.bytes_field(5, message)]


def _video(name: str, head: records.VideoHead, data: bytes) -> Sequence[bytes]:
    ends = list(itertools.accumulate(head.frame_bytes, initial=0))
    frames = [data[start:end] for start, end in itertools.pairwise(ends)]
    is_large = head.width * head.height * len(frames) > _MOST_VIDEO_PIXELS
    picture = b"".join(frames[:1]) if is_large else _animated(frames, head)
    return [_picture(name, head.width, head.height, 3, picture)] if picture else []


def _animated(frames: Sequence[bytes], head: records.VideoHead) -> bytes:
    """The frames as an animated GIF; empty where they cannot be read."""
    from PIL import Image

    def read(frame: bytes) -> Image.Image:
        with Image.open(io.BytesIO(frame), formats=["PNG"]) as picture:
            if picture.size != (head.width, head.height):
                raise ValueError("a frame of another size")
            return picture.convert("RGB")

    file = io.BytesIO()
    with suppress(OSError, ValueError, ArithmeticError, IndexError, Image.DecompressionBombError):
        # Pillow writes hundredths of a second, and browsers play what is faster than two of them slowly.
        duration = min(max(1000 / head.frames_per_second, 20), 60_000)
        rest = map(read, frames[1:])
        read(frames[0]).save(file, "GIF", save_all=True, append_images=rest, duration=duration, loop=0)
        return file.getvalue()
    return b""


def _picture(name: str, width: int, height: int, channels: int, data: bytes) -> bytes:
    sizes = pb.int_field(1, height) + pb.int_field(2, width) + pb.int_field(3, channels)
    return pb.text_field(1, name) + pb.bytes_field(4, sizes + pb.bytes_field(4, data))


def _audio(name: str, head: records.AudioHead, data: bytes) -> Sequence[bytes]:
    message = pb.single_field(1, head.sample_rate) + pb.int_field(2, head.num_channels)
    message += pb.int_field(3, head.num_frames) + pb.bytes_field(4, data) + pb.text_field(5, "audio/wav")
    return [pb.text_field(1, name) + pb.bytes_field(6, message)]


def _pr_curve(name: str, head: records.PrCurveHead, data: bytes) -> Sequence[bytes]:
    rows = numpy.frombuffer(data, dtype="<f8").astype("<f4").tobytes()
    tensor = tensor_message([6, head.num_thresholds], "float32", rows)
    return _tensor_value(name, "pr_curves", tensor, content=pb.int_field(2, head.num_thresholds))


def _layout(_: str, head: records.LayoutHead, data: bytes) -> Sequence[bytes]:
    groups = b""
    for group in head.groups:
        charts = b"".join(pb.bytes_field(2, _chart(chart)) for chart in group.charts)
        groups += pb.bytes_field(2, pb.text_field(1, group.title) + charts)
    return _tensor_value("custom_scalars__config__", "custom_scalars", strings_message([groups]))


def _chart(chart: records.LayoutChart) -> bytes:
    if chart.form == "lines":
        content = pb.bytes_field(2, b"".join(pb.text_field(1, name) for name in chart.names))
    else:
        series = b"".join(pb.text_field(at, name) for at, name in enumerate(chart.names[:3], 1))
        content = pb.bytes_field(3, pb.bytes_field(1, series))
    return pb.text_field(1, chart.title) + content


_TYPE_NUMBERS: Final = {str: 1, bool: 2, float: 3}


def _hparams(_: str, head: records.HparamsHead, data: bytes) -> Sequence[bytes]:
    """Three values: what there is to choose, what was chosen, and that it is done."""
    infos = b"".join(
        pb.bytes_field(4, pb.text_field(1, name) + pb.int_field(4, _TYPE_NUMBERS.get(type(value), 3)))
        for name, value in head.hparams.items()
    )
    infos += b"".join(pb.bytes_field(5, pb.bytes_field(1, pb.text_field(2, name))) for name in head.metrics)
    start = b"".join(
        pb.bytes_field(1, pb.text_field(1, name) + pb.bytes_field(2, _plain(value)))
        for name, value in head.hparams.items()
    )
    contents = (
        ("experiment", pb.bytes_field(2, infos)),
        ("session_start_info", pb.bytes_field(3, start)),
        ("session_end_info", pb.bytes_field(4, pb.int_field(1, _SUCCESS))),
    )
    return [
        pb.text_field(1, f"_hparams_/{name}") + _metadata("hparams", content) for name, content in contents
    ]


def _plain(value: records.Plain) -> bytes:
    if isinstance(value, bool):
        return pb.int_field(4, value)
    if isinstance(value, str):
        return pb.text_field(3, value)
    return pb.double_field(2, math.nan if value is None else value)


_KINDS: Final[dict[type, Callable[[str, Any, bytes], Sequence[bytes]]]] = {
    records.TensorHead: _tensor,
    records.HistogramHead: _histogram,
    records.ImageHead: lambda name, head, data: [
        _picture(name, head.width, head.height, head.channels, data)
    ],
    records.VideoHead: _video,
    records.AudioHead: _audio,
    records.TextHead: lambda name, _, data: _tensor_value(
        f"{name}/text_summary", "text", strings_message([data])
    ),
    records.PrCurveHead: _pr_curve,
    # They have no such thing: the counts go as a tensor.
    records.ConfusionHead: lambda name, head, data: _tensor_value(
        name, "tensor", tensor_message([len(head.labels)] * 2, "float64", data)
    ),
    records.LayoutHead: _layout,
    records.HparamsHead: _hparams,
}
