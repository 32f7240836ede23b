"""What a video can be asked to be: its size, speed, length, place and format."""

from __future__ import annotations

import math
import os
import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, get_args

from torcheer.errors import InputError
from torcheer.inspector.recording.films.h264 import INSTALL, is_installed
from torcheer.inspector.recording.films.opening import Format
from torcheer.run.telling import RunWarning

_MOST_PIXELS: Final = 4096
_LEAST_PIXELS: Final = 16


def checked_size(size: Any) -> tuple[int, int]:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise InputError(f"{size!r} is no size: give (width, height), such as (640, 480).") from None
    if not all(_is_whole(side) for side in (width, height)):
        raise InputError(f"a size is two whole numbers of pixels, such as (640, 480), and not {size!r}.")
    if not (min(width, height) >= _LEAST_PIXELS and max(width, height) <= _MOST_PIXELS):
        raise InputError(
            f"frames cannot have {width} × {height}: a side has {_LEAST_PIXELS} to {_MOST_PIXELS} pixels."
        )
    return int(width), int(height)


def checked_rate(frames_per_second: Any) -> float:
    is_number = isinstance(frames_per_second, Real) and not isinstance(frames_per_second, bool)
    if not is_number or not (math.isfinite(frames_per_second) and 0.1 <= frames_per_second <= 1000):
        raise InputError(
            f"{frames_per_second!r} frames a second cannot be played: give a number from 0.1 to 1000."
        )
    return float(frames_per_second)


def checked_count(max_frames: Any) -> int:
    if not _is_whole(max_frames) or max_frames < 1:
        raise InputError(
            f"max_frames is how many frames a video has at most, 1 or more, and not {max_frames!r}."
        )
    return int(max_frames)


def checked_folder(folder: Any) -> Path:
    try:
        path = Path(os.fsdecode(folder)).absolute()  # the child may work elsewhere
    except (TypeError, ValueError):
        raise InputError(f"{folder!r} is no folder: give a path such as 'output'.") from None
    if path.exists() and not path.is_dir():
        raise InputError(f"{str(path)!r} is a file: videos go into a folder, name another.")
    return path


def usable_format(format: Any) -> Format:
    if format is None:
        if is_installed():
            return "mp4"
        warnings.warn(
            f"there is no encoder for MP4 here: videos become GIF, which takes longer. {INSTALL}",
            RunWarning,
            stacklevel=3,
        )
        return "gif"
    if format not in get_args(Format):
        raise InputError(f"there is no format {format!r}: {', '.join(get_args(Format))}.")
    if format == "mp4" and not is_installed():
        raise InputError(f"MP4 needs an encoder that is not here: {INSTALL}, or say format='gif'.")
    checked: Format = format
    return checked


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
