"""From a picture to a tensor, for where torchvision is not installed: its names, its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy
import torch
from torch import Tensor

from torcheer.errors import InputError

_WHITE: Final = 255
# What Pillow calls pictures whose pixels are no bytes. torchvision takes int16 for the second, in which the
# brighter half of the pixels would be negative.
_WIDE_MODES: Final = {"I": numpy.int32, "I;16": numpy.int32, "F": numpy.float32}


def to_tensor(picture: Any) -> Tensor:
    """A Pillow picture, or an array (height, width, colour) or (height, width), as a tensor, colour first.

    Bytes become numbers from 0 to 1; all other numbers stay as they are.
    """
    if isinstance(picture, Tensor):
        raise InputError("to_tensor takes a picture or an array, and this is a tensor already: leave it out.")
    mode = getattr(picture, "mode", None)
    pixels = numpy.array(picture, _WIDE_MODES.get(str(mode)), copy=True)
    if mode == "1":  # black and white
        pixels = _WHITE * pixels.astype(numpy.uint8)
    if pixels.ndim not in (2, 3):
        raise InputError(
            f"a picture has height, width and perhaps colours, and this has shape {pixels.shape}."
        )
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    tensor = torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
    return tensor.to(torch.get_default_dtype()).div(_WHITE) if tensor.dtype == torch.uint8 else tensor


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Take the mean of each channel away and divide by its standard deviation. Also of a batch."""
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point() or tensor.dim() < 3:
        raise InputError(
            "normalize takes a tensor (channel, height, width) of floating point numbers, which is what "
            "to_tensor gives: put ToTensor() before Normalize(…)."
        )
    num_channels = tensor.shape[-3]
    for name, figures in (("mean", mean), ("std", std)):
        if len(figures) not in (1, num_channels):
            raise InputError(
                f"{name} has {len(figures)} numbers, and the picture {num_channels} channels: give as many."
            )
    if any(figure == 0 for figure in std):
        raise InputError(f"std={tuple(std)} has a zero, by which nothing can be divided.")
    as_columns = [
        torch.as_tensor(figures, dtype=tensor.dtype, device=tensor.device) for figures in (mean, std)
    ]
    return (tensor - as_columns[0].view(-1, 1, 1)) / as_columns[1].view(-1, 1, 1)


class ToTensor:
    """`to_tensor` as a step of a Compose."""

    def __call__(self, picture: Any) -> Tensor:
        return to_tensor(picture)

    def __repr__(self) -> str:
        return "ToTensor()"


class Normalize:
    """`normalize` as a step of a Compose."""

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean = tuple(mean)
        self.std = tuple(std)

    def __call__(self, tensor: Tensor) -> Tensor:
        return normalize(tensor, self.mean, self.std)

    def __repr__(self) -> str:
        return f"Normalize(mean={self.mean}, std={self.std})"


class Compose:
    """Several steps, one after the other."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], *others: Any) -> None:
        if others or callable(transforms):
            raise InputError("Compose takes one list of steps: Compose([ToTensor(), Normalize(…)]).")
        self.transforms = list(transforms)

    def __call__(self, picture: Any) -> Any:
        for transform in self.transforms:
            picture = transform(picture)
        return picture

    def __repr__(self) -> str:
        return f"Compose({self.transforms})"
