"""The embeddings that TensorBoard keeps as tables in files beside its events."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import numpy

from torcheer.run.read.part_protocol import RecordEntry, SeriesKey, check_cancelled
from torcheer.run.records import EmbeddingHead
from torcheer.run.tensorboard.event_file import MOST_CONFIG_BYTES, MOST_TABLE_BYTES, read_small_file

CONFIG: Final = "projector_config.pbtxt"
_FIRST_ID: Final = 1 << 40  # far from those of the events
_MOST_TABLES: Final = 1000
_FREE_BYTES: Final = 1 << 20  # to read again: a file may belong to several tables
_MOST_PICTURE: Final = 1 << 16  # pixels of a side
_BLOCK_BYTES: Final = 1 << 16  # of a table that is read at once
_FILLED_ROWS: Final = 1 << 12
_MOST_COLUMNS: Final = 10_000  # of labels
# What stands in no text: bytes that are no UTF-8, and characters that nobody can see.
_NO_TEXT: Final = re.compile(r"[\ufffd\x00-\x08\x0e-\x1f\x7f]")
# Text, and what stands between it. An open quote is a token of its own, and the end of what can be read.
_TOKEN: Final = re.compile(r'#[^\n]*|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\w.+-]+|[{}<>:]|"', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """One embedding of the configuration."""

    name: str
    step: int
    tensor: Path
    labels: Path | None
    sprite: Path | None
    sprite_size: tuple[int, int]

    @property
    def sizes(self) -> dict[Path, int]:
        """Of its files, in bytes. Raises OSError where one has gone."""
        files = (self.tensor, self.labels, self.sprite)
        return {path: os.stat(path).st_size for path in files if path is not None}


class ProjectorFolder:
    """Looks again when the configuration has changed."""

    def __init__(self, folder: Path, part: str) -> None:
        self._folder = folder
        self._part = part
        self._seen: tuple[int, int] | None = None
        self._of_number: dict[int, tuple[RecordEntry, _Table]] = {}
        self.generation = 0
        self.records: Mapping[SeriesKey, Sequence[RecordEntry]] = {}
        self.note = ""

    def refresh(self) -> bool:
        """True if something changed."""
        path = self._folder / CONFIG
        try:
            status = path.stat()
        except OSError:
            return False
        seen = (status.st_mtime_ns, status.st_size)
        if seen == self._seen:
            return False
        try:
            text = read_small_file(path, MOST_CONFIG_BYTES).decode("utf-8", "replace")
            found, note = self._read_tables(text)
        except OSError as error:
            found, note = {}, f"the embeddings are not read ({error})"
        self.generation += self._seen is not None
        self._seen, self._of_number, self.note = seen, found, note
        records: dict[SeriesKey, list[RecordEntry]] = {}
        for entry, table in sorted(found.values(), key=lambda one: one[0].step):
            records.setdefault(SeriesKey("embedding", table.name), []).append(entry)
        self.records = records
        return True

    def entry(self, record: int) -> RecordEntry | None:
        found = self._of_number.get(record)
        return None if found is None else found[0]

    def data(self, record: int) -> bytes | None:
        found = self._of_number.get(record)
        read = None if found is None else _read(found[1])
        return None if read is None else read[1]

    def _read_tables(self, text: str) -> tuple[dict[int, tuple[RecordEntry, _Table]], str]:
        tables, note = self._tables(text)
        # Each file is paid for once: the same one in many tables is not read as often.
        left = _FREE_BYTES + sum(
            {path: size for table in tables for path, size in table.sizes.items()}.values()
        )
        found = {}
        for number, table in enumerate(tables, _FIRST_ID):
            left -= sum(table.sizes.values())
            read = _read(table) if left >= 0 else None
            if read is None:
                note = _unread(table.name)
                continue
            head, data = read
            time = os.stat(table.tensor).st_mtime
            entry = RecordEntry(
                id=number, part=self._part, step=table.step, time=time, num_bytes=len(data), head=head
            )
            found[number] = entry, table
        return found, note

    def _tables(self, text: str) -> tuple[list[_Table], str]:
        tables: list[_Table] = []
        note = ""
        for block in _blocks(text):
            if block is None:
                which = "some embeddings" if tables else "the embeddings"
                return tables, f"{which} are not read ({CONFIG} is damaged)"
            words, sizes = block
            name, _, step = words.get("tensor_name", "embedding").rpartition(":")
            tensor = self._inside(words.get("tensor_path"))
            if tensor is None:
                note = _unread(name or step)
                continue
            if len(tables) == _MOST_TABLES:
                return tables, f"of more than {_MOST_TABLES:,} embeddings the first are shown"
            tables.append(
                _Table(
                    name=name or step,
                    step=int(step) if name and step.isascii() and step.isdigit() and len(step) < 19 else 0,
                    tensor=tensor,
                    labels=self._inside(words.get("metadata_path")),
                    sprite=self._inside(words.get("image_path")),
                    sprite_size=(sizes[0], sizes[1]) if len(sizes) == 2 else (0, 0),
                )
            )
        return tables, note

    def _inside(self, name: str | None) -> Path | None:
        """A file of this folder; a configuration must not lead anywhere else."""
        if not name:
            return None
        try:
            path = (self._folder / name).resolve()
            is_ours = path.is_relative_to(self._folder.resolve()) and path.is_file()
            return path if is_ours and path.stat().st_size <= MOST_TABLE_BYTES else None
        except (OSError, ValueError, RuntimeError):  # no name that a file can have
            return None


def _unread(name: str) -> str:
    return f"the embedding {name[:100]!r} could not be read"


def _blocks(text: str) -> Iterator[tuple[dict[str, str], list[int]] | None]:
    """What each `embeddings { … }` says: words by name, and the sizes of its pictures.

    Up to where the text is damaged, which None stands for.
    """
    words, sizes = dict[str, str](), list[int]()
    depth, outer, key, is_value, end = 0, "", "", False, 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        is_text = _NO_TEXT.search(text, end, match.start()) is None
        if not is_text or token == '"' or (token in _CLOSING and depth == 0):
            yield None
            return
        end = match.end()
        if token in _OPENING:
            if depth == 0:
                outer, words, sizes = key, {}, []
            depth += 1
        elif token in _CLOSING:
            depth -= 1
            if depth == 0 and outer == "embeddings":
                yield words, sizes
        elif is_value:
            _take_value(key, token, words, sizes)
        elif token != ":" and token[0] != "#":
            key = token
        is_value = token == ":" or (is_value and token[0] == "#")
    if depth or _NO_TEXT.search(text, end) is not None:
        yield None


def _take_value(key: str, token: str, words: dict[str, str], sizes: list[int]) -> None:
    if key in _WORDS and token[0] == '"':
        words[key] = re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
    elif key == "single_image_dim" and len(sizes) < 3 and token.isascii() and token.isdigit():
        sizes.append(min(int(token[:9]), _MOST_PICTURE))


_OPENING: Final = ("{", "<")
_CLOSING: Final = ("}", ">")
_WORDS: Final = frozenset(("tensor_name", "tensor_path", "metadata_path", "image_path"))


def _read(table: _Table) -> tuple[EmbeddingHead, bytes] | None:
    with suppress(OSError, ValueError):
        matrix, num_points, num_dims = _read_matrix(read_small_file(table.tensor, MOST_TABLE_BYTES))
        columns, labels = _labels(table.labels, num_points, len(matrix))
        sprite = b"" if table.sprite is None else read_small_file(table.sprite, MOST_TABLE_BYTES)
        width, height = table.sprite_size
        head = EmbeddingHead(
            num_points=num_points,
            num_dims=num_dims,
            columns=columns,
            matrix_bytes=len(matrix),
            label_bytes=len(labels),
            sprite_bytes=len(sprite),
            sprite_width=width,
            sprite_height=height,
            # The sheet is a square of so many pictures.
            sprites_per_row=int(numpy.ceil(numpy.sqrt(num_points))) if sprite else 0,
        )
        return head, b"".join((matrix, labels, sprite))
    return None


def _read_matrix(data: bytes) -> tuple[bytearray, int, int]:
    """The numbers of a table, how many rows it has and how many columns. ValueError where it is none."""
    matrix, num_dims = bytearray(), 0
    for lines in _line_blocks(data):
        check_cancelled()
        lines = [line for line in lines if line and not line.isspace()]  # an empty line is no row
        if not lines:
            continue
        block = numpy.loadtxt(lines, delimiter="\t", dtype="<f4", ndmin=2, comments=None)
        if num_dims not in (0, block.shape[1]):
            raise ValueError("rows of different lengths")
        num_dims = block.shape[1]
        matrix += block.tobytes()
    if not num_dims:
        raise ValueError("no rows")
    return matrix, len(matrix) // (4 * num_dims), num_dims


def _labels(path: Path | None, count: int, matrix_bytes: int) -> tuple[list[str], bytes]:
    """The names of the columns, and their cells as JSON, column by column."""
    if path is None:
        return [], b"[]"
    data = read_small_file(path, MOST_TABLE_BYTES)
    num_lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    num_columns = data[: data.find(b"\n") + 1 or len(data)].count(b"\t") + 1 if num_lines else 0
    # A header is there only where there are several columns.
    has_header = num_lines == count + 1
    # Each cell that is there takes a byte in the file. Those that are missing must not be many more.
    if num_columns > _MOST_COLUMNS or num_columns * count > len(data) + matrix_bytes + count:
        raise ValueError("a table with far more cells than bytes")
    if has_header:
        header = next(_line_blocks(data))[0].removesuffix("\r").split("\t")
    else:
        header = ["label"] if num_columns == 1 else [f"column {at}" for at in range(num_columns)]
    return header, _columns_json(data, int(has_header), num_columns, count)


def _columns_json(data: bytes, num_lines_skipped: int, num_columns: int, count: int) -> bytes:
    columns = [bytearray() for _ in range(num_columns)]
    num_left = count
    for block in _line_blocks(data):
        check_cancelled()
        lines = block[num_lines_skipped:]
        num_lines_skipped -= len(block) - len(lines)
        lines = lines[:num_left]
        num_left -= len(lines)
        _add_cells(columns, [line.removesuffix("\r").split("\t", num_columns) for line in lines])
    for start in range(0, num_left, _FILLED_ROWS):
        _add_cells(columns, [[]] * min(_FILLED_ROWS, num_left - start))
    return b"[" + b",".join(b"[" + column[:-1] + b"]" for column in columns) + b"]"


def _add_cells(columns: Sequence[bytearray], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        for at, column in enumerate(columns):
            column += msgspec.json.encode([row[at] if at < len(row) else "" for row in rows])[1:-1]
            column += b","


def _line_blocks(data: bytes) -> Iterator[list[str]]:
    """Whole lines without their ends, some at a time, so that other threads have their turn in between."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", min(start + _BLOCK_BYTES, len(data))) + 1 or len(data)
        yield data[start:end].decode("utf-8", "replace").removesuffix("\n").split("\n")
        start = end
