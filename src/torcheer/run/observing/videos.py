"""Videos as records: frames one after the other, a PNG each."""

from __future__ import annotations

import math
from typing import Any

from torcheer.errors import InputError
from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import Copied, real_numbers
from torcheer.run.observing.grids import video_grid
from torcheer.run.observing.images import pixel_bytes
from torcheer.run.observing.png import encode_png
from torcheer.run.records import VideoHead


def video_of(value: Any) -> Copied:
    """Copy videos of shape (number, frames, channels, height, width), or one without the number."""
    copied = real_numbers(value, "the pixels")
    shape = copied.array.shape
    if len(shape) not in (4, 5) or shape[-3] not in (1, 2, 3, 4):
        raise InputError(
            f"shape {shape} is no video: give (number, frames, channels, height, width), 1, 3 or 4 channels."
        )
    if 0 in shape:
        raise InputError(f"there are no pixels in shape {shape}.")
    return copied


def rate_of(frames_per_second: Any) -> float:
    rate = float(frames_per_second)
    if not (math.isfinite(rate) and rate > 0):
        raise InputError(f"{frames_per_second} frames per second cannot be shown: give a number above 0.")
    return rate


def encode_video(copied: Copied, frames_per_second: float) -> Encoded:
    pixels = pixel_bytes(copied)
    if pixels.ndim == 4:
        pixels = pixels[None]
    frames = video_grid(pixels.transpose(0, 1, 3, 4, 2))
    packed = [encode_png(frame) for frame in frames]
    head = VideoHead(
        width=frames.shape[2],
        height=frames.shape[1],
        frames_per_second=frames_per_second,
        frame_bytes=[len(frame) for frame in packed],
    )
    return Encoded(head, b"".join(packed))
