"""Write a run as TensorBoard's event files."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import msgspec
import numpy

from torcheer.errors import InputError
from torcheer.graph import PassDocument, check_document
from torcheer.run.events import protobuf as pb
from torcheer.run.events.encoding import is_wide, scalar_value, values_of
from torcheer.run.events.framing import framed
from torcheer.run.events.part import EVENT_FILES, event_files
from torcheer.run.events.projector import CONFIG
from torcheer.run.parts import Points, RecordEntry, SeriesEntry, SeriesKey
from torcheer.run.reading.finding import is_run
from torcheer.run.records import EmbeddingHead, Kind, PassHead

# What TensorBoard has nothing for. Tensors and histograms of an inspector are written as all others are.
NOT_SHOWN: Final[tuple[Kind, ...]] = ("watch", "statistics", "alarm", "gap", "netview", "moment", "table")
_VERSION: Final = "brain.Event:2"
_NOT_FOR_NAMES: Final = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME: Final = 60  # in characters: folders have names of 255 bytes
_BUFFER_BYTES: Final = 1 << 20


class Readable(Protocol):
    """What is needed of a run's reader."""

    def series(self) -> Mapping[SeriesKey, SeriesEntry]: ...

    def points(self, name: str) -> Points: ...

    def records(self, kind: Kind, name: str) -> Sequence[RecordEntry]: ...

    def data(self, record_id: str) -> bytes | None: ...

    def document(self, digest: str) -> bytes | None: ...


def export_tensorboard(run: Readable, folder: str | Path) -> Path:
    """Write everything that TensorBoard can show into a folder, which must not have event files yet.

    Scalars become simple values, which have four bytes. A confusion matrix becomes a tensor, a video an
    animated picture, the last pass of a model its graph. Statistics, alarms and gaps of an inspector are left
    out. Returns the event file.
    """
    target = Path(folder)
    if is_run(target) and not event_files(target):
        raise InputError(f"{target} is a run, which would then have everything twice: name another folder.")
    if event_files(target):
        raise InputError(
            f"{target} has event files already: name a folder that has none, or is not there yet."
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{target} cannot be made ({error.strerror}): name another folder.") from error
    series = run.series()
    name = f"events.out.{EVENT_FILES}.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.0"
    path = target / name
    unfinished = target / f".{name}.part"
    unfinished = unfinished.with_name(unfinished.name.replace(EVENT_FILES, "export"))
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
    def __init__(self, run: Readable, folder: Path, file: BinaryIO) -> None:
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
            elif kind != "pass" and kind not in NOT_SHOWN:
                self._write_records(kind, name)
        self._write_last_graph([name for kind, name in series if kind == "pass"])
        if self._tables:
            (self._folder / CONFIG).write_text("".join(self._tables), "utf-8")

    def _write_points(self, name: str) -> None:
        steps, times, values = self._run.points(name)
        wide = is_wide(values)
        for step, moment, value in zip(steps.tolist(), times.tolist(), values.tolist(), strict=True):
            self._write(step, moment, [scalar_value(name, value, wide)])

    def _write_records(self, kind: Kind, name: str) -> None:
        for entry in self._run.records(kind, name):
            data = self._run.data(f"{entry.part}:{entry.id}")
            if data is None:
                continue  # thinned meanwhile
            if isinstance(entry.head, EmbeddingHead):
                self._write_embedding(name, entry, entry.head, data)
            else:
                self._write(entry.step, entry.time, values_of(name, entry.head, data))

    def _write(self, step: int, moment: float, values: Sequence[bytes]) -> None:
        if not values:
            return
        summary = b"".join(pb.bytes_field(1, value) for value in values)
        self._file.write(framed(_event(step, moment) + pb.bytes_field(5, summary)))

    # --- what does not stand in summaries ------------------------------------------------------------

    def _write_last_graph(self, names: Sequence[str]) -> None:
        # They show one graph of a run.
        entries = [entry for name in names for entry in self._run.records("pass", name)]
        last = max(entries, key=lambda entry: (entry.step, entry.time), default=None)
        if last is None or not isinstance(last.head, PassHead):
            return
        text = self._run.document(last.head.document)
        if text is not None:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
                document = msgspec.json.decode(text, type=PassDocument)
                check_document(document)
                graph = graph_message(document)
                self._file.write(framed(_event(last.step, last.time) + pb.bytes_field(4, graph)))

    def _write_embedding(self, name: str, entry: RecordEntry, head: EmbeddingHead, data: bytes) -> None:
        # A name may be longer than those of folders; the number tells two of them apart.
        place = f"{entry.step:05d}/{_NOT_FOR_NAMES.sub('_', name)[:_LONGEST_NAME]}-{entry.id}"
        folder = self._folder / place
        folder.mkdir(parents=True, exist_ok=True)
        labels_at, sprite_at = head.matrix_bytes, head.matrix_bytes + head.label_bytes
        matrix = numpy.frombuffer(data[:labels_at], dtype="<f4").reshape(head.num_points, head.num_dims)
        numpy.savetxt(folder / "tensors.tsv", matrix, delimiter="\t", fmt="%.9g")
        lines = [
            f'  tensor_name: "{_quoted(name)}:{entry.step:05d}"',
            f'  tensor_path: "{place}/tensors.tsv"',
        ]
        if head.columns:
            columns = _columns(data[labels_at:sprite_at])
            (folder / "metadata.tsv").write_text(_table(head.columns, columns), "utf-8")
            lines.append(f'  metadata_path: "{place}/metadata.tsv"')
        if head.sprite_bytes:
            (folder / "sprite.png").write_bytes(data[sprite_at:])
            size = f"single_image_dim: {head.sprite_width} single_image_dim: {head.sprite_height}"
            lines.append(f'  sprite {{ image_path: "{place}/sprite.png" {size} }}')
        self._tables.append("embeddings {\n" + "\n".join(lines) + "\n}\n")


def _event(step: int, moment: float) -> bytes:
    return pb.double_field(1, moment) + pb.int_field(2, step)


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def _table(names: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    rows = [list(names)] if len(names) > 1 else []
    rows += [list(row) for row in zip(*columns, strict=False)]
    return "".join("\t".join(_cell(cell) for cell in row) + "\n" for row in rows)


def _columns(data: bytes) -> list[list[str]]:
    """Of labels; none where they are not what they should be."""
    try:
        return msgspec.json.decode(data, type=list[list[Any]])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return []


def _cell(text: str) -> str:
    return re.sub(r"[\t\r\n]", " ", str(text))


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
