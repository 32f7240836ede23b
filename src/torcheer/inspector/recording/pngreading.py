"""Pixels from a PNG file, with zlib and NumPy alone."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError

Bytes = NDArray[numpy.uint8]

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHANNELS: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by the number that the format has for grey, RGB, palette…
_MOST_PIXELS: Final = 1 << 26


class _Header(NamedTuple):
    width: int
    height: int
    depth: int
    colour_type: int
    interlaced: int


def decode_png(data: bytes) -> Bytes:
    """Rows, columns, and red, green, blue and opacity. FileFormatError where it is none that can be read."""
    chunks: dict[bytes, bytes] = {}
    for kind, body in _chunks(data):
        chunks[kind] = chunks.get(kind, b"") + body
    header = _header(chunks.get(b"IHDR", b""))
    num_channels = _CHANNELS[header.colour_type]
    row_bytes = header.width * num_channels * header.depth // 8
    try:
        raw = zlib.decompressobj().decompress(chunks.get(b"IDAT", b""), header.height * (row_bytes + 1))
    except zlib.error as error:
        raise FileFormatError(f"a PNG is damaged: {error}.") from None
    if len(raw) != header.height * (row_bytes + 1):
        raise FileFormatError("a PNG is damaged: it has fewer pixels than it says.")
    rows = numpy.frombuffer(raw, numpy.uint8).reshape(header.height, row_bytes + 1)
    pixel_bytes = num_channels * header.depth // 8
    plain = _unfiltered(rows[:, 0], rows[:, 1:].reshape(header.height, header.width, pixel_bytes))
    # Of numbers with 16 bits the first byte is the one that a screen shows.
    return _as_rgba(plain[..., :: header.depth // 8], header.colour_type, chunks)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(_SIGNATURE):
        raise FileFormatError("this is no PNG.")
    at = len(_SIGNATURE)
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length


def _header(body: bytes) -> _Header:
    if len(body) != 13:
        raise FileFormatError("a PNG is damaged: it does not say how large it is.")
    width, height, depth, colour_type, _, _, interlaced = struct.unpack(">IIBBBBB", body)
    header = _Header(width, height, depth, colour_type, interlaced)
    if not (width and height) or width * height > _MOST_PIXELS:
        raise FileFormatError(f"a PNG of {width} × {height} pixels is not read.")
    if depth not in (8, 16) or interlaced or colour_type not in _CHANNELS:
        raise FileFormatError("only PNG files of 8 or 16 bits a channel that are not interlaced are read.")
    return header


def _unfiltered(filters: Bytes, raw: Bytes) -> Bytes:
    """Take back the differences from the pixels left and above.

    A pixel needs only those left, above and between them, so all pixels on a line that rises to the right
    can be had at once: as many turns as there are such lines, and no turn for each pixel.
    """
    height, width, num_bytes = raw.shape
    out = numpy.zeros((height + 1, width + 1, num_bytes), numpy.int16)  # with nothing left of and above it
    kinds = filters.astype(numpy.intp)
    if (kinds > 4).any():
        raise FileFormatError("a PNG is damaged: it has a filter that there is not.")
    for line in range(height + width - 1):
        rows = numpy.arange(max(0, line - width + 1), min(height, line + 1))
        columns = line - rows
        left, above, corner = out[rows + 1, columns], out[rows, columns + 1], out[rows, columns]
        guess: Any = numpy.choose(
            kinds[rows, None], (0, left, above, (left + above) >> 1, _paeth(left, above, corner))
        )
        out[rows + 1, columns + 1] = (raw[rows, columns] + guess) & 0xFF
    return out[1:, 1:].astype(numpy.uint8)


def _paeth(left: NDArray[numpy.int16], above: NDArray[numpy.int16], corner: NDArray[numpy.int16]) -> Any:
    to_left, to_above = numpy.abs(above - corner), numpy.abs(left - corner)
    to_corner = numpy.abs(left + above - 2 * corner)
    is_left = (to_left <= to_above) & (to_left <= to_corner)
    return numpy.where(is_left, left, numpy.where(to_above <= to_corner, above, corner))


def _as_rgba(plain: Bytes, colour_type: int, chunks: dict[bytes, bytes]) -> Bytes:
    out = numpy.full((*plain.shape[:2], 4), 255, numpy.uint8)
    if colour_type == 3:
        palette = numpy.zeros((256, 4), numpy.uint8)
        palette[:, 3] = 255
        colours = numpy.frombuffer(chunks.get(b"PLTE", b"")[: 3 * 256], numpy.uint8)
        colours = colours[: len(colours) // 3 * 3].reshape(-1, 3)
        palette[: len(colours), :3] = colours
        clear = numpy.frombuffer(chunks.get(b"tRNS", b"")[:256], numpy.uint8)
        palette[: len(clear), 3] = clear
        return palette[plain[..., 0]]
    num_colours = 1 if colour_type in (0, 4) else 3
    out[..., :3] = plain[..., :num_colours]
    if colour_type in (4, 6):
        out[..., 3] = plain[..., -1]
    return out
