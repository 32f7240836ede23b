"""Files of tensors as safetensors writes them: a header that is checked first, tensors with checksums.

The file is read with `pread` and not mapped into memory: if it is cut short while it is open there is an
error to raise, where a mapping would end the process.
"""

from __future__ import annotations

import json
import math
import os
import threading
import weakref
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy
from msgspec import Meta, Struct

from torcheer.errors import FileFormatError, InputError
from torcheer.tensorfile.files import NoOrdinaryFileError, open_file
from torcheer.tensorfile.tensor_figures import Array, Figures, as_numbers, as_real, figures_of

CHECKSUMS = "torcheer.checksums"
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors library
MAX_DIMS = 64  # torch's own
LENGTH_BYTES = 8  # the file begins with the length of its header

# By what safetensors calls them.
ITEM_BYTES = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 1),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 2),
    **dict.fromkeys(("I32", "U32", "F32"), 4),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 8),
}

Size = Annotated[int, Meta(ge=0, le=2**62)]


class NotSafetensors(ValueError):  # noqa: N818  # says what it is, and is turned into an error with a file's name
    """These bytes are no safetensors file at all."""


class HeaderEntry(msgspec.Struct, frozen=True, gc=False):
    """A tensor as the header names it. The defaults are for the metadata, which stand among the tensors."""

    dtype: str = ""
    shape: list[Size] = []
    data_offsets: tuple[Size, Size] = (0, 0)


class _Head(msgspec.Struct, frozen=True):
    """What the header says besides."""

    metadata: dict[str, str] = msgspec.field(name="__metadata__", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What is in a file, once it is known that it can be."""

    metadata: dict[str, str]
    places: dict[str, tuple[int, int]]  # by name: the first byte in the file, and how many there are
    types: dict[str, tuple[str, tuple[int, ...]]]  # by name: type and shape


def read_header(header: bytes, num_bytes: int) -> Header:
    """ValueError where it says what cannot be."""
    try:
        metadata = msgspec.json.decode(header, type=_Head).metadata
        entries = msgspec.json.decode(header, type=dict[str, HeaderEntry])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotSafetensors from None
    entries.pop("__metadata__", None)
    # Without escapes, a name that stands twice shows in the count: quicker, for a pass of many tensors.
    if b"\\" in header or header.count(b'"data_offsets"') != len(entries):
        try:
            json.loads(header, object_pairs_hook=unique)
        except NamedTwice as error:
            raise ValueError(f"its header names {str(error)[:80]!r} twice") from None
        except (ValueError, RecursionError):
            raise NotSafetensors from None
    places = _places(LENGTH_BYTES + len(header), entries, num_bytes)
    types = {name: (entry.dtype, tuple(entry.shape)) for name, entry in entries.items()}
    return Header(metadata=metadata, places=places, types=types)


class NamedTwice(Exception):  # noqa: N818  # no ValueError: the JSON would be taken for broken
    """A name stands twice in one object: two readers could read it in two ways."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What json.loads makes of an object, as object_pairs_hook, where no name stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise NamedTwice(next(name for name in found if names.count(name) > 1))
    return found


def _places(base: int, entries: dict[str, HeaderEntry], num_bytes: int) -> dict[str, tuple[int, int]]:
    """Where each tensor lies, once they fill the file without a gap or an overlap."""
    places: dict[str, tuple[int, int]] = {}
    at = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        start, end = entry.data_offsets
        size = ITEM_BYTES.get(entry.dtype, -1) * math.prod(entry.shape[:MAX_DIMS])
        if len(entry.shape) > MAX_DIMS or start != at or end - start != size:
            raise ValueError(f"its header says of {name[:80]!r} what cannot be")
        places[name] = (base + start, size)
        at = end
    if base + at != num_bytes:
        raise ValueError(f"it has {num_bytes:,} bytes and should have {base + at:,}")
    return places


CHUNK_BYTES = 1 << 20  # still in the processor's cache when it is summed up


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """What a file of tensors is, in the words of errors."""

    name: str
    ordinary: str  # what to do where it is no file at all,
    other: str  # where it is no safetensors file,
    damaged: str  # and where it is damaged
    has_header_sum: bool = False  # the last checksum is that of the header


PASS = FileKind(
    name="a saved pass",
    ordinary="Name the file that history.save wrote.",
    other="Name a file that history.save wrote; no other can be opened.",
    damaged="It may be damaged or half copied: copy it again, or save the history anew.",
)


class TensorBytes:
    """An open file. Closed when nobody needs it any more."""

    def __init__(self, path: str, kind: FileKind = PASS) -> None:
        self.path = path
        self._kind = kind
        try:
            file = open_file(path)  # stays open: values are read when asked for
        except NoOrdinaryFileError:
            raise self.broken("it is no ordinary file", kind.ordinary) from None
        weakref.finalize(self, file.close)
        self._file = file
        self._lock = threading.Lock()
        self._num_bytes = os.fstat(file.fileno()).st_size
        self._header = self._read_header()
        self.metadata = self._header.metadata
        self.types = self._header.types
        self._sums: dict[str, int] | None = None
        self._last: tuple[str, Array] | None = None  # what was read last

    def broken(self, what: str, do: str = "") -> FileFormatError:
        do = do or self._kind.damaged
        return FileFormatError(f"{self.path} cannot be opened as {self._kind.name}: {what}. {do}")

    def __contains__(self, name: object) -> bool:
        return name in self._header.places

    def num_bytes(self, name: str) -> int:
        return self._header.places[name][1]

    @property
    def names(self) -> list[str]:
        """All tensors but the checksums."""
        return [name for name in self._header.places if name != CHECKSUMS]

    def read(self, name: str) -> Array:
        """The bytes of one tensor. The last one is at hand: a page asks for window after window of it."""
        last = self._last
        if last is None or last[0] != name:
            last = self._last = name, self.read_once(name)
        return last[1]

    def read_once(self, name: str) -> Array:
        flat = numpy.empty(self.num_bytes(name), dtype=numpy.uint8)
        self.read_into(name, flat)
        flat.flags.writeable = False
        return flat

    def read_into(self, name: str, flat: Array) -> None:
        """Fill memory of the right size with the bytes of one tensor."""
        start, size = self._header.places[name]
        total = 0
        for at in range(0, size, CHUNK_BYTES):
            chunk = flat[at : at + CHUNK_BYTES]
            self._fill(chunk, start + at)
            total += checksum(chunk)
        if total % 2**64 != self._checksums().get(name):
            raise self.broken(f"the bytes of {name[:80]!r} are not those that were written")

    def check_sums(self) -> None:
        """Raise where the checksums are missing, or that of the header is not right."""
        self._checksums()

    def _read_header(self) -> Header:
        try:
            most = min(self._num_bytes - LENGTH_BYTES, MAX_HEADER_BYTES)
            length = int.from_bytes(self._read_bytes(0, LENGTH_BYTES), "little") if most > 0 else 0
            if not 2 <= length <= most:
                raise NotSafetensors
            header = self._read_bytes(LENGTH_BYTES, length)
            self._header_sum = zlib.crc32(header) if self._kind.has_header_sum else None
            return read_header(header, self._num_bytes)
        except NotSafetensors:
            raise self.broken("it is no safetensors file", self._kind.other) from None
        except FileFormatError:
            raise
        except ValueError as error:
            raise self.broken(str(error)) from None

    def _checksums(self) -> dict[str, int]:
        if self._sums is None:
            names = sorted(self.names)
            num_sums = len(names) + self._kind.has_header_sum
            if CHECKSUMS not in self or self.num_bytes(CHECKSUMS) != 8 * num_sums:
                raise self.broken("its checksums are missing")
            sums = numpy.frombuffer(self._read_bytes(*self._header.places[CHECKSUMS]), dtype="<u8").tolist()
            if self._kind.has_header_sum and sums.pop() != self._header_sum:
                raise self.broken("its header is not the one that was written")
            self._sums = dict(zip(names, sums, strict=True))
        return self._sums

    def _read_bytes(self, start: int, size: int) -> bytes:
        flat = numpy.empty(size, dtype=numpy.uint8)
        self._fill(flat, start)
        return flat.tobytes()

    def _fill(self, flat: Array, start: int) -> None:
        view, done = flat.data, 0
        while done < len(view):
            count = self._read_some(view[done:], start + done)
            if not count:
                raise self.broken("it ends too early: it was changed after it was opened")
            done += count

    def _read_some(self, view: memoryview, start: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [view], start)
        with self._lock:  # Windows
            self._file.seek(start)
            return self._file.readinto(view) or 0


def checksum(flat: Array) -> int:
    """The sum of all bytes taken as 64-bit words, the last one filled up with zeros."""
    num_whole = len(flat) // 8 * 8
    total = int(numpy.add.reduce(flat[:num_whole].view(numpy.uint64)))
    return (total + int.from_bytes(flat[num_whole:].tobytes(), "little")) % 2**64


# The last two dimensions are rows and columns, the one before them counts tiles (the channels of an
# image), and all dimensions before that are held at one index, the item. So a window is a few tiles, each
# a grid of values that really stand in the tensor: a coarse picture takes every n-th row, it never
# averages.
#
# A matrix is one tile; a vector is one tile of one row, which a page may wrap; a single number is one row
# of one column.


TensorKind = Literal["output", "grad", "param", "param_grad"]

WINDOW_BYTES = 1 << 18  # of the first look at a tensor
MAX_WINDOW_VALUES = 1 << 19  # of any: four megabytes at most
_MAX_TILES = 64  # of a first look; more where they are tiny
_MAX_TINY_VALUES = 1024
_MIN_SIDE = 8


class Window(Struct, frozen=True, kw_only=True, gc=False):
    """Which values: item, then tiles, rows and columns as first, step and count."""

    item: list[int]
    first_tile: int
    num_tiles: int
    first_row: int
    row_step: int
    num_rows: int
    first_column: int
    column_step: int
    num_columns: int


class TensorView(Struct, frozen=True, kw_only=True, gc=False):
    """A tensor without its values; those of the window follow as bytes, tile by tile, row by row."""

    shape: list[int]
    dtype: str
    num_elements: int
    mean: float | None  # of the finite values; None where there are none
    std: float | None
    min: float | None
    max: float | None
    num_zeros: int
    num_nan: int
    num_inf: int
    histogram: list[int]
    histogram_low: float
    histogram_high: float
    window: Window
    encoding: Literal["f4", "f8"]  # little-endian floats of four or eight bytes
    note: str  # what a reader must know: "complex numbers: their magnitude is shown"


class Grid(NamedTuple):
    """A shape as tiles of rows and columns."""

    items: tuple[int, ...]
    tiles: int
    rows: int
    columns: int


def grid_of(shape: Sequence[int]) -> Grid:
    tiles, rows, columns = (1, 1, 1, *shape)[-3:]
    return Grid(tuple(shape[:-3]), tiles, rows, columns)


def default_window(shape: Sequence[int], budget_bytes: int = WINDOW_BYTES, *, item_bytes: int = 4) -> Window:
    """A look that fits: all of the first item, else fewer tiles, and every n-th row and column of them."""
    grid = grid_of(shape)
    if 0 in shape:
        return _window(grid, 0, 1, 0, 1, 0)
    budget = max(1, min(budget_bytes // item_bytes, MAX_WINDOW_VALUES))
    area = grid.rows * grid.columns
    if grid.tiles * area <= budget:
        return _window(grid, grid.tiles, 1, grid.rows, 1, grid.columns)
    if grid.tiles == 1 and 1 in (grid.rows, grid.columns):
        # A line of values is shown from its beginning: every n-th of them would be no picture of it.
        return _window(grid, 1, 1, min(grid.rows, budget), 1, min(grid.columns, budget))
    most = max(_MAX_TILES, _MAX_TINY_VALUES // area)
    num_tiles = max(1, min(grid.tiles, most, budget // min(area, _MIN_SIDE * _MIN_SIDE)))
    row_step, column_step = _steps(grid.rows, grid.columns, budget // num_tiles)
    num_rows, num_columns = -(-grid.rows // row_step), -(-grid.columns // column_step)
    return _window(grid, num_tiles, row_step, num_rows, column_step, num_columns)


def _window(
    grid: Grid, num_tiles: int, row_step: int, num_rows: int, column_step: int, num_columns: int
) -> Window:
    return Window(
        item=[0] * len(grid.items),
        first_tile=0,
        num_tiles=num_tiles,
        first_row=0,
        row_step=row_step,
        num_rows=num_rows,
        first_column=0,
        column_step=column_step,
        num_columns=num_columns,
    )


def _steps(rows: int, columns: int, budget: int) -> tuple[int, int]:
    """Alike for rows and columns, so that a picture keeps its form, unless it is far too long for that."""
    # By halves: a shape may come from anybody, and be of any size.
    step, too_small = max(rows, columns), 0
    while step - too_small > 1:
        middle = (step + too_small) // 2
        if -(-rows // middle) * -(-columns // middle) > budget:
            too_small = middle
        else:
            step = middle
    least = min(_MIN_SIDE, rows, columns)
    if min(-(-rows // step), -(-columns // step)) >= least:
        return min(step, rows), min(step, columns)
    side = max(1, math.isqrt(budget))
    if rows <= columns:
        row_step = -(-rows // side)
        return row_step, -(-columns // max(1, budget // -(-rows // row_step)))
    column_step = -(-columns // side)
    return -(-rows // max(1, budget // -(-columns // column_step))), column_step


def num_values(window: Window) -> int:
    return window.num_tiles * window.num_rows * window.num_columns


def check_window(shape: Sequence[int], window: Window) -> None:
    """InputError unless all of the window lies inside the tensor and it is not too much at once.

    Nothing but whole numbers is worked with, however large they are: it may come from anybody.
    """
    grid = grid_of(shape)
    item = window.item
    if len(item) != len(grid.items):
        raise InputError(
            f"the window names {len(item)} indices of an item; this tensor has {len(grid.items)}."
        )
    if not all(0 <= index < max(size, 1) for index, size in zip(item, grid.items, strict=True)):
        raise InputError("the window names an item that the tensor does not have.")
    sides = (
        ("tiles", window.first_tile, 1, window.num_tiles, grid.tiles),
        ("rows", window.first_row, window.row_step, window.num_rows, grid.rows),
        ("columns", window.first_column, window.column_step, window.num_columns, grid.columns),
    )
    for name, first, step, count, size in sides:
        inside = first >= 0 and step >= 1 and count >= 0
        if not inside or (first + (count - 1) * step >= size if count else first > size):
            raise InputError(f"the window reaches outside of the tensor, which has {size} {name}.")
    if num_values(window) > (MAX_WINDOW_VALUES if math.prod(shape) else 0):
        raise InputError(f"the window holds too many values: {MAX_WINDOW_VALUES:,} is the most at a time.")


def look_at(
    array: Array,
    dtype: str,
    window: Window | None = None,
    *,
    figures: Figures | None = None,
    note: str = "",
) -> tuple[TensorView, bytes]:
    """A tensor's view, and the values of a window of it: the one given, or one that fits.

    `dtype` is torch's name for the numbers; bfloat16 and float8 are given as integers of their size. Figures
    that are known already need not be found again.
    """
    item_bytes = item_bytes_of(dtype)
    encoding: Literal["f4", "f8"] = "f8" if item_bytes == 8 else "f4"
    shape = list(array.shape)
    if window is None:
        window = default_window(shape, item_bytes=item_bytes)
    else:
        check_window(shape, window)
    known = figures if figures is not None else figures_of(array, dtype)
    shown = {one.name: getattr(known, one.name) for one in fields(known)}
    shown |= {
        "shape": shape,
        "dtype": dtype,
        "histogram": list(known.histogram),
        "window": window,
        "encoding": encoding,
        "note": "; ".join(filter(None, (note, known.note))),
    }
    view = TensorView(**shown)
    return view, _values(array, dtype, window, encoding)


def item_bytes_of(dtype: str) -> int:
    """How many bytes a value of that type takes in a window: four where they hold every value exactly."""
    return 8 if dtype in ("float64", "int32", "int64", "uint32", "uint64", "complex128", "qint32") else 4


def _values(array: Array, dtype: str, window: Window, encoding: str) -> bytes:
    if not num_values(window):
        return b""
    where: tuple[int | slice, ...] = (
        *window.item,
        _slice(window.first_tile, 1, window.num_tiles),
        _slice(window.first_row, window.row_step, window.num_rows),
        _slice(window.first_column, window.column_step, window.num_columns),
    )
    tiled = array[(None,) * (3 - array.ndim)]
    numbers = as_real(as_numbers(numpy.ascontiguousarray(tiled[where]), dtype))
    return numbers.astype(f"<{encoding}").tobytes()


def _slice(first: int, step: int, count: int) -> slice:
    return slice(first, first + (count - 1) * step + 1, step)
