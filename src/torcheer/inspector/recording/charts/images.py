"""A picture that was logged as one, in a frame: whole, sharp where it is small."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError
from torcheer.inspector.recording.charts.fitting import averaged, enlarged
from torcheer.inspector.recording.colours import channels, packed
from torcheer.inspector.recording.pngreading import decode_png
from torcheer.inspector.recording.sheet import Box, Sheet

_PNG = b"\x89PNG"
_CODECS = {"jpeg": "mjpeg", "gif": "gif", "webp": "webp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """Rows, columns, and red, green, blue and opacity."""

    rgba: NDArray[numpy.uint8]


class ImageChart:
    """The pictures of one series."""

    def draw(self, sheet: Sheet, box: Box, taken: Image) -> str:
        rows, columns = taken.rgba.shape[:2]
        scale = min(box.width / columns, box.height / rows)
        scale = float(int(scale)) if scale >= 1 else scale
        height, width = max(1, int(rows * scale)), max(1, int(columns * scale))
        paper = channels(numpy.array([sheet.theme.surface], "<u4"))[0, :3].astype(float)
        opaque = taken.rgba[..., 3:] / 255.0
        colours = taken.rgba[..., :3] * opaque + paper * (1 - opaque)
        cells = numpy.stack([averaged(colours[..., channel], height, width) for channel in range(3)], axis=-1)
        pixels = enlarged(packed(cells.round().astype(numpy.uint8)), height, width)
        sheet.put(box.x + (box.width - width) // 2, box.y + (box.height - height) // 2, pixels)
        return "" if scale >= 1 else f"at {scale * 100:.0f} % of its size"


def decode_image(data: bytes, encoding: str) -> NDArray[numpy.uint8]:
    """The pixels of a picture's file. Other formats than PNG need the library that also makes MP4."""
    if data.startswith(_PNG):
        return decode_png(data)
    try:
        av: Any = importlib.import_module("av")
    except ImportError:
        raise FileFormatError(
            f"a picture as {encoding or 'this format'} needs a decoder: pip install 'torcheer[video]'."
        ) from None
    try:
        decoder = av.CodecContext.create(_CODECS.get(encoding, "mjpeg"), "r")
        frames = [*decoder.decode(av.Packet(data)), *decoder.decode(None)]
        pixels: NDArray[numpy.uint8] = frames[0].to_ndarray(format="rgba")
    except (av.FFmpegError, ValueError, IndexError) as error:
        raise FileFormatError(
            f"a picture as {encoding or 'no known format'} cannot be read: {error}."
        ) from None
    return pixels
