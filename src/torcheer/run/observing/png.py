"""Pictures as PNG files, written with zlib alone."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy
from numpy.typing import NDArray

Pixels = NDArray[numpy.uint8]  # rows, columns, channels

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # grey, grey and alpha, RGB, RGB and alpha
_LARGE_BYTES = 1 << 20  # above it speed counts for more than the last few percent of size
_BAND_BYTES = 1 << 20  # rows are filtered a few at a time: a large picture takes no second one


def encode_png(pixels: Pixels) -> bytes:
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    is_large = pixels.size > _LARGE_BYTES
    compressor = zlib.compressobj(1 if is_large else 6)
    packed = [compressor.compress(band) for band in _filtered_bands(pixels, is_fast=is_large)]
    packed.append(compressor.flush())
    return b"".join(
        [_SIGNATURE, _chunk(b"IHDR", header), _chunk(b"IDAT", b"".join(packed)), _chunk(b"IEND", b"")]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))


# --- filters -------------------------------------------------------------------------------------------


def _filtered_bands(pixels: Pixels, *, is_fast: bool) -> Iterator[bytes]:
    """Each row as its difference from what is near it, whichever leaves the smallest numbers."""
    height, width, channels = pixels.shape
    rows = numpy.ascontiguousarray(pixels).reshape(height, width * channels)
    num_rows = max(1, _BAND_BYTES // rows.shape[1])
    above = numpy.zeros((1, rows.shape[1]), dtype=numpy.uint8)
    for start in range(0, height, num_rows):
        band = rows[start : start + num_rows]
        yield _filtered(band, numpy.concatenate([above, band[:-1]]), channels, is_fast=is_fast)
        above = band[-1:]


def _filtered(band: Pixels, above: Pixels, channels: int, *, is_fast: bool) -> bytes:
    left = _shifted(band, channels)
    # By their numbers in the format: none, left, above, Paeth.
    candidates = [(0, band), (1, band - left), (2, band - above)]
    if not is_fast:
        candidates.append((4, band - _paeth(left, above, _shifted(above, channels))))
    # Differences are small numbers of either sign: this is the rule of thumb that the format itself names.
    costs = [numpy.abs(rows.view(numpy.int8).astype(numpy.int16)).sum(axis=1) for _, rows in candidates]
    best = numpy.argmin(numpy.stack(costs), axis=0)
    out = numpy.empty((band.shape[0], band.shape[1] + 1), dtype=numpy.uint8)
    for place, (number, rows) in enumerate(candidates):
        chosen = best == place
        out[chosen, 0] = number
        out[chosen, 1:] = rows[chosen]
    return out.tobytes()


def _shifted(rows: Pixels, channels: int) -> Pixels:
    """What stands one pixel to the left; nothing does for the first."""
    shifted = numpy.zeros_like(rows)
    shifted[:, channels:] = rows[:, :-channels]
    return shifted


def _paeth(left: Pixels, above: Pixels, corner: Pixels) -> Pixels:
    """Whichever of the three is nearest to left + above - corner."""
    a, b, c = (part.astype(numpy.int16) for part in (left, above, corner))
    to_left, to_above, to_corner = numpy.abs(b - c), numpy.abs(a - c), numpy.abs(a + b - 2 * c)
    near_left = (to_left <= to_above) & (to_left <= to_corner)
    return numpy.where(near_left, left, numpy.where(to_above <= to_corner, above, corner))
