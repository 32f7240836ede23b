"""The embeddings that TensorBoard keeps as tables in files beside its events."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Final

import numpy

from torcheer.run.parts import RecordEntry, SeriesKey
from torcheer.run.records import EmbeddingHead

CONFIG: Final = "projector_config.pbtxt"
_FIRST_ID: Final = 1 << 40  # far from those of the events
_MAX_BYTES: Final = 1 << 28  # of one table
_MAX_CONFIG_BYTES: Final = 1 << 20
_BLOCK: Final = re.compile(r"embeddings\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_PAIR: Final = re.compile(r'(\w+)\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(\d+))')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """One embedding of the configuration."""

    name: str
    step: int
    tensor: Path
    labels: Path | None
    sprite: Path | None
    sprite_size: tuple[int, int]


class ProjectorFolder:
    """Looks again when the configuration has changed."""

    def __init__(self, folder: Path, part: str) -> None:
        self._folder = folder
        self._part = part
        self._seen: tuple[int, int] | None = None
        self._data: dict[int, _Table] = {}
        self.generation = 0
        self.records: Mapping[SeriesKey, Sequence[RecordEntry]] = {}
        self.note = ""

    def refresh(self) -> bool:
        """Whether there is anything else than before."""
        path = self._folder / CONFIG
        try:
            status = path.stat()
        except OSError:
            return False
        seen = (status.st_mtime_ns, status.st_size)
        if seen == self._seen or status.st_size > _MAX_CONFIG_BYTES:
            return False
        self.generation += self._seen is not None
        self._seen = seen
        self.note = ""
        found: dict[SeriesKey, list[RecordEntry]] = {}
        for number, table in enumerate(self._tables(path), _FIRST_ID):
            entry = self._entry(number, table)
            if entry is None:
                self.note = f"the embedding {table.name!r} could not be read"
                continue
            self._data[number] = table
            found.setdefault(SeriesKey("embedding", table.name), []).append(entry)
        self.records = {key: sorted(entries, key=lambda entry: entry.step) for key, entries in found.items()}
        return True

    def data(self, record: int) -> bytes | None:
        table = self._data.get(record)
        read = None if table is None else _read(table)
        return None if read is None else read[1]

    def _entry(self, number: int, table: _Table) -> RecordEntry | None:
        read = _read(table)
        if read is None:
            return None
        head, data = read
        time = os.stat(table.tensor).st_mtime
        return RecordEntry(
            id=number, part=self._part, step=table.step, time=time, num_bytes=len(data), head=head
        )

    def _tables(self, path: Path) -> list[_Table]:
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            return []
        tables = []
        for block in _BLOCK.findall(text):
            pairs = _PAIR.findall(block)
            words = {key: word for key, word, _ in pairs if word}
            sizes = [int(number) for key, _, number in pairs if key == "single_image_dim" and number]
            tensor = self._inside(words.get("tensor_path"))
            if tensor is None:
                continue
            name, _, step = words.get("tensor_name", "embedding").rpartition(":")
            tables.append(
                _Table(
                    name=name or step,
                    step=int(step) if name and step.isdigit() and len(step) < 19 else 0,
                    tensor=tensor,
                    labels=self._inside(words.get("metadata_path")),
                    sprite=self._inside(words.get("image_path")),
                    sprite_size=(sizes[0], sizes[1]) if len(sizes) == 2 else (0, 0),
                )
            )
        return tables

    def _inside(self, name: str | None) -> Path | None:
        """A file of this folder; a configuration must not lead anywhere else."""
        if not name:
            return None
        path = (self._folder / name).resolve()
        is_ours = path.is_relative_to(self._folder.resolve()) and path.is_file()
        return path if is_ours and path.stat().st_size <= _MAX_BYTES else None


def _read(table: _Table) -> tuple[EmbeddingHead, bytes] | None:
    with suppress(OSError, ValueError):
        text = table.tensor.read_text("utf-8")
        matrix = numpy.loadtxt(StringIO(text), delimiter="\t", dtype=numpy.float32, ndmin=2, comments=None)
        columns, labels = _labels(table.labels, len(matrix))
        sprite = b"" if table.sprite is None else table.sprite.read_bytes()
        width, height = table.sprite_size
        head = EmbeddingHead(
            num_points=matrix.shape[0],
            num_dims=matrix.shape[1],
            columns=columns,
            matrix_bytes=matrix.nbytes,
            label_bytes=len(labels),
            sprite_bytes=len(sprite),
            sprite_width=width,
            sprite_height=height,
            # The sheet is a square of so many pictures.
            sprites_per_row=int(numpy.ceil(numpy.sqrt(len(matrix)))) if sprite else 0,
        )
        return head, matrix.astype("<f4").tobytes() + labels + sprite
    return None


def _labels(path: Path | None, count: int) -> tuple[list[str], bytes]:
    if path is None:
        return [], b"[]"
    rows = [line.split("\t") for line in path.read_text("utf-8", "replace").splitlines()]
    # A header is there only where there are several columns.
    header = (
        rows.pop(0)
        if rows and len(rows) == count + 1
        else [f"column {at}" for at in range(len(rows[0]) if rows else 0)]
    )
    if len(header) == 1 and header[0] == "column 0":
        header = ["label"]
    filled = [(row + [""] * len(header))[: len(header)] for row in (rows + [[]] * count)[:count]]
    return header, json.dumps([list(column) for column in zip(*filled, strict=True)]).encode()
