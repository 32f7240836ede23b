"""Pictures by Pillow, which is optional: made from pixels, or read from a file."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError, InputError
from torcheer.tensorfile.files import open_file


@functools.cache
def pillow() -> Any:
    """Pillow's module of images, or None where it is not installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        return None


def picture_of(pixels: NDArray[numpy.uint8]) -> Any:
    """A Pillow picture of these pixels; the pixels themselves where there is no Pillow."""
    image = pillow()
    return pixels if image is None else image.fromarray(pixels)


def check_mode(mode: str) -> None:
    """Whether pictures can be read at all, and so."""
    image = _required()
    try:
        image.new(mode, (1, 1))
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"mode={mode!r} is none of Pillow's: give 'RGB', or 'L' for grey.") from error


def _required() -> Any:
    image = pillow()
    if image is None:
        raise InputError("reading pictures needs Pillow, which is not installed: pip install pillow")
    return image


def read_picture(path: Path, mode: str) -> Any:
    """The picture in a file, whole, in a mode of Pillow's. What is no picture is named."""
    image = _required()
    try:
        with open_file(path) as file:
            return image.open(file).convert(mode)
    # Pillow raises whatever its decoders meet: a broken file is no reason to know them all.
    except Exception as error:
        reason = str(error).partition(" <")[0] or type(error).__name__
        raise FileFormatError(
            f"{path} is no picture that can be read: {reason}. Remove it or get it again; find_broken() "
            "lists all such files."
        ) from error
