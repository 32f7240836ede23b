"""The parts of a GIF file: 256 colours chosen for each frame, and LZW, which is all that it can do."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.recording.colours import Pixels, channels

_NUM_COLOURS: Final = 256
_CLEAR, _END, _FIRST_FREE = 256, 257, 258
_MOST_CODES: Final = 4096
TAIL: Final = b";"
# Six shades of each of the three: no colour is far from one of them.
_SPREAD: Final = numpy.stack(numpy.meshgrid(*[numpy.arange(0, 256, 51)] * 3), axis=-1).reshape(-1, 3)


def gif_head(size: tuple[int, int]) -> bytes:
    """Played over and over."""
    screen = struct.pack("<HHBBB", *size, 0x70, 0, 0)  # no colours for all: each frame has its own
    return b"GIF89a" + screen + b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"


def gif_frame(pixels: Pixels, frames_per_second: float) -> bytes:
    """A whole frame, which needs none before it."""
    hundredths = min(0xFFFF, max(2, round(100 / frames_per_second)))  # browsers slow down what is faster
    control = struct.pack("<BBBBHBB", 0x21, 0xF9, 4, 4, hundredths, 0, 0)
    places, colours = quantised(pixels)
    height, width = pixels.shape
    image = struct.pack("<BHHHHB", 0x2C, 0, 0, width, height, 0x87)
    packed = lzw(places)
    blocks = b"".join(
        bytes([len(block)]) + block for block in (packed[at : at + 255] for at in range(0, len(packed), 255))
    )
    return control + image + colours.tobytes() + b"\x08" + blocks + b"\x00"


def quantised(pixels: Pixels) -> tuple[NDArray[numpy.uint8], NDArray[numpy.uint8]]:
    """The place of each pixel among 256 colours, and these.

    Colours that are alike in their upper five bits are one: that leaves the ramps as they are to the eye.
    Where there are still too many, the most frequent stay, and the others take the nearest of them or of
    some that are spread evenly.
    """
    parts = channels(pixels).astype(numpy.int32)
    bins = (parts[..., 0] >> 3) << 10 | (parts[..., 1] >> 3) << 5 | parts[..., 2] >> 3
    counts = numpy.bincount(bins.reshape(-1), minlength=1 << 15)
    used = numpy.flatnonzero(counts)
    some = numpy.zeros(1 << 15, "<u4")
    some[bins] = pixels  # a colour that is really there stands for each bin
    table = numpy.zeros((_NUM_COLOURS, 3), numpy.uint8)
    if len(used) <= _NUM_COLOURS:
        kept = used
    else:
        kept = used[numpy.argsort(-counts[used], kind="stable")[: _NUM_COLOURS - len(_SPREAD)]]
        table[len(kept) :] = _SPREAD
    table[: len(kept)] = channels(some[kept])[:, :3]
    place_of = numpy.zeros(1 << 15, numpy.uint8)
    place_of[kept] = numpy.arange(len(kept))
    others = numpy.setdiff1d(used, kept)
    if len(others):
        place_of[others] = _nearest(channels(some[others])[:, :3], table)
    return place_of[bins], table


def _nearest(colours: NDArray[Any], table: NDArray[Any]) -> NDArray[numpy.intp]:
    known = table.astype(numpy.float32)
    wanted = colours.astype(numpy.float32)
    # The square of the colour itself is the same for all: it can be left out.
    nearest: NDArray[numpy.intp] = ((known**2).sum(axis=1) - 2 * wanted @ known.T).argmin(axis=1)
    return nearest


def lzw(places: NDArray[numpy.uint8]) -> bytes:
    flat = places.reshape(-1)
    starts = numpy.concatenate([[0], numpy.flatnonzero(flat[1:] != flat[:-1]) + 1])
    lengths = numpy.diff(numpy.append(starts, len(flat)))
    return _packed(_codes(flat[starts].tolist(), lengths.tolist()))


def _codes(colours: list[int], lengths: list[int]) -> list[int]:
    """The codes of runs of equal pixels.

    Within a run the longest match is known beforehand, for all stretches of one colour up to some length
    have a code: so a run takes as many turns as it gets codes, however long it is.
    """
    codes = [_CLEAR]
    table: dict[int, int] = {}
    stretches: dict[int, list[int]] = {}  # by colour: the codes of one, two, three… of it
    free = _FIRST_FREE
    prefix = -1
    num_alike = 0  # how many of the colour of the run the prefix is, if it is nothing else
    for colour, left in zip(colours, lengths, strict=True):
        num_alike = 0
        if prefix < 0:
            prefix, num_alike, left = colour, 1, left - 1
        while left:
            if num_alike:
                known = stretches.setdefault(colour, [colour])
                step = min(left, len(known) - num_alike)
                if step:
                    num_alike += step
                    left -= step
                    prefix = known[num_alike - 1]
                    continue
            key = prefix << 8 | colour
            found = table.get(key)
            left -= 1
            if found is not None:
                prefix = found
                continue
            codes.append(prefix)
            if free < _MOST_CODES:
                table[key] = free
                if num_alike:
                    stretches[colour].append(free)
                free += 1
            else:
                codes.append(_CLEAR)
                table, stretches, free = {}, {}, _FIRST_FREE
            prefix, num_alike = colour, 1
    codes += [prefix, _END]
    return codes


def _packed(codes: list[int]) -> bytes:
    """Codes take as many bits as the newest entry of the table needs; it grows by one with each of them."""
    numbers = numpy.array(codes, numpy.uint16)
    clears = numpy.flatnonzero(numbers == _CLEAR)
    since = (
        numpy.arange(len(numbers))
        - clears[numpy.searchsorted(clears, numpy.arange(len(numbers)), "right") - 1]
    )
    newest = numpy.minimum(_FIRST_FREE + since - 2, _MOST_CODES - 1)  # when that code is read
    widths = numpy.maximum(9, numpy.floor(numpy.log2(numpy.maximum(newest, 1))).astype(int) + 1)
    # A clear code still has the width of what came before it.
    later = clears[1:]
    widths[later] = 12
    bits = (numbers[:, None] >> numpy.arange(12, dtype=numpy.uint16)) & 1
    return numpy.packbits(
        bits[numpy.arange(12) < widths[:, None]].astype(numpy.uint8), bitorder="little"
    ).tobytes()
