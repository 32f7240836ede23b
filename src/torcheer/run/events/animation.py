"""PNG frames as one animated PNG, which every browser plays."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_HEADER: Final = b"IHDR"
_PIXELS: Final = b"IDAT"
_MILLISECONDS: Final = 1000


def animated(data: bytes, frame_bytes: Sequence[int], frames_per_second: float) -> bytes | None:
    """None where a frame is no PNG, or has another size or form than the first."""
    frames, at = [], 0
    for length in frame_bytes:
        frames.append(dict(_chunks(data[at : at + length])))
        at += length
    if not frames or any(frame.get(_HEADER) != frames[0].get(_HEADER) for frame in frames):
        return None
    header = frames[0].get(_HEADER, b"")
    if len(header) != 13 or any(_PIXELS not in frame for frame in frames):
        return None
    delay = min(0xFFFF, max(1, round(_MILLISECONDS / frames_per_second))) if frames_per_second > 0 else 125
    parts = [_SIGNATURE, _chunk(_HEADER, header), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    number = 0
    for index, frame in enumerate(frames):
        control = struct.pack(">I8sIIHHBB", number, header[:8], 0, 0, delay, _MILLISECONDS, 0, 0)
        parts.append(_chunk(b"fcTL", control))
        number += 1
        if index == 0:
            parts.append(_chunk(_PIXELS, frame[_PIXELS]))
            continue
        parts.append(_chunk(b"fdAT", struct.pack(">I", number) + frame[_PIXELS]))
        number += 1
    return b"".join((*parts, _chunk(b"IEND", b"")))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a PNG; pixels that come in several pieces in one."""
    if not png.startswith(_SIGNATURE):
        return
    at, pixels = len(_SIGNATURE), b""
    while at + 12 <= len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        if kind == _PIXELS:
            pixels += body
        else:
            yield kind, body
        at += 12 + length
    if pixels:
        yield _PIXELS, pixels


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
