"""The boxes of an MP4 file with one track of H.264.

While it grows it is fragmented: a head without frames, then each frame with a few bytes that say all about
it. A file like that plays up to wherever it ends. When it is done it is written once more with one
table of all frames, which every player can seek in.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from torcheer.inspector.recording.films.film import Sample

TICKS: Final = 1000  # that a frame lasts
_MATRIX: Final = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_KEY: Final = 0x02000000  # it depends on no other frame
_NOT_KEY: Final = 0x01010000  # it does, and playing cannot begin here
_FOUR_GB: Final = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """What there is to say about the frames."""

    width: int
    height: int
    frames_per_second: float
    decoder_setup: bytes  # the avcC record

    @property
    def ticks_per_second(self) -> int:
        return max(1, round(self.frames_per_second * TICKS))


def fragmented_head(track: Track) -> bytes:
    extends = _full_box(b"trex", struct.pack(">5I", 1, 1, TICKS, 0, 0))
    return _file_type() + _movie(track, _empty_table(), 0, _box(b"mvex", extends))


def fragment_lead(index: int, sample: Sample) -> bytes:
    """What comes before the bytes of a frame."""
    run_flags = 0x000001 | 0x000200 | 0x000400  # where the data begins, its size, its flags
    header = _full_box(b"mfhd", struct.pack(">I", index + 1))
    of_track = _full_box(b"tfhd", struct.pack(">I", 1), flags=0x020000)  # offsets count from here
    starts = _full_box(b"tfdt", struct.pack(">Q", index * TICKS), version=1)
    flags = _KEY if sample.is_key else _NOT_KEY

    def fragment(offset: int) -> bytes:
        run = struct.pack(">IIII", 1, offset, sample.num_bytes, flags)
        return _box(
            b"moof", header + _box(b"traf", of_track + starts + _full_box(b"trun", run, flags=run_flags))
        )

    length = len(fragment(0))
    return fragment(length + 8) + struct.pack(">I4s", sample.num_bytes + 8, b"mdat")


def finished_head(track: Track, samples: Sequence[Sample]) -> bytes:
    """The head of a file in which all frames follow one another in a single box."""
    num_bytes = sum(sample.num_bytes for sample in samples)
    is_large = num_bytes + _FOUR_GB // 4 > _FOUR_GB
    data = (
        struct.pack(">I4sQ", 1, b"mdat", num_bytes + 16)
        if is_large
        else struct.pack(">I4s", num_bytes + 8, b"mdat")
    )

    def head(first: int) -> bytes:
        table = _table(samples, first, is_large=is_large)
        return _file_type() + _movie(track, table, len(samples) * TICKS, b"") + data

    return head(len(head(0)))


def _movie(track: Track, table: bytes, duration: int, extends: bytes) -> bytes:
    ticks = track.ticks_per_second
    times = struct.pack(">IIII", 0, 0, ticks, duration)
    header = (
        times + struct.pack(">IHHII", 0x10000, 0x0100, 0, 0, 0) + _MATRIX + bytes(24) + struct.pack(">I", 2)
    )
    of_track = struct.pack(">IIIIIIIHHHH", 0, 0, 1, 0, duration, 0, 0, 0, 0, 0, 0) + _MATRIX
    of_track += struct.pack(">II", track.width << 16, track.height << 16)
    media = (
        _full_box(b"mdhd", times + struct.pack(">HH", 0x55C4, 0))
        + _full_box(b"hdlr", struct.pack(">I4s12x", 0, b"vide") + b"frames\0")
        + _box(
            b"minf",
            _full_box(b"vmhd", bytes(8), flags=1)
            + _box(b"dinf", _full_box(b"dref", struct.pack(">I", 1) + _full_box(b"url ", b"", flags=1)))
            + _box(b"stbl", _full_box(b"stsd", struct.pack(">I", 1) + _entry(track)) + table),
        )
    )
    tracks = _box(b"trak", _full_box(b"tkhd", of_track, flags=3) + _box(b"mdia", media))
    return _box(b"moov", _full_box(b"mvhd", header) + tracks + extends)


def _entry(track: Track) -> bytes:
    entry = bytes(6) + struct.pack(">H", 1) + bytes(16) + struct.pack(">HH", track.width, track.height)
    entry += struct.pack(">IIIH", 0x480000, 0x480000, 0, 1) + bytes(32) + struct.pack(">Hh", 24, -1)
    colours = _box(b"colr", b"nclx" + struct.pack(">HHHB", 1, 1, 1, 0))  # BT.709, not the full range
    return _box(b"avc1", entry + _box(b"avcC", track.decoder_setup) + colours)


def _empty_table() -> bytes:
    nothing = struct.pack(">I", 0)
    return (
        _full_box(b"stts", nothing)
        + _full_box(b"stsc", nothing)
        + _full_box(b"stsz", bytes(8))
        + _full_box(b"stco", nothing)
    )


def _table(samples: Sequence[Sample], first: int, *, is_large: bool) -> bytes:
    """All frames are one chunk, so that one offset is enough."""
    num = len(samples)
    sizes = struct.pack(f">II{num}I", 0, num, *(sample.num_bytes for sample in samples))
    keys = [index + 1 for index, sample in enumerate(samples) if sample.is_key]
    offset = struct.pack(">IQ" if is_large else ">II", 1, first)
    return (
        _full_box(b"stts", struct.pack(">III", 1, num, TICKS))
        + _full_box(b"stss", struct.pack(f">I{len(keys)}I", len(keys), *keys))
        + _full_box(b"stsc", struct.pack(">IIII", 1, 1, num, 1))
        + _full_box(b"stsz", sizes)
        + _full_box(b"co64" if is_large else b"stco", offset)
    )


def _file_type() -> bytes:
    return _box(b"ftyp", b"isom" + struct.pack(">I", 0x200) + b"isomiso2iso5avc1mp41")


def _box(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I4s", len(body) + 8, kind) + body


def _full_box(kind: bytes, body: bytes, *, version: int = 0, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", version << 24 | flags) + body)
