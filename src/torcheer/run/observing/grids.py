"""Many pictures side by side in one, in the way of torch.utils.tensorboard."""

from __future__ import annotations

import math

import numpy

from torcheer.tensorfile import Array

NUM_COLUMNS = 8


def image_grid(images: Array, num_columns: int = NUM_COLUMNS) -> Array:
    """Pictures (number, rows, columns, channels) as one, row after row; what is left over stays black."""
    number, height, width, channels = images.shape
    num_columns = min(number, num_columns)
    num_rows = math.ceil(number / num_columns)
    padding = numpy.zeros((num_rows * num_columns - number, height, width, channels), dtype=images.dtype)
    cells = numpy.concatenate([images, padding]).reshape(num_rows, num_columns, height, width, channels)
    return cells.transpose(0, 2, 1, 3, 4).reshape(num_rows * height, num_columns * width, channels)


def video_grid(videos: Array) -> Array:
    """Videos (number, frames, rows, columns, channels) as one; their number is made up to a power of two."""
    number, frames, height, width, channels = videos.shape
    num_cells = 1 << (number - 1).bit_length()
    num_rows = 1 << ((number.bit_length() - 1) // 2)
    padding = numpy.zeros((num_cells - number, *videos.shape[1:]), dtype=videos.dtype)
    cells = numpy.concatenate([videos, padding])
    cells = cells.reshape(num_rows, num_cells // num_rows, frames, height, width, channels)
    return cells.transpose(2, 0, 3, 1, 4, 5).reshape(
        frames, num_rows * height, num_cells // num_rows * width, channels
    )
