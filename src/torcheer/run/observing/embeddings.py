"""Embeddings as records: points, their labels, and a sheet with a picture of each."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec
import numpy

from torcheer.errors import InputError
from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import Copied, is_tensor, real_numbers
from torcheer.run.observing.grids import image_grid
from torcheer.run.observing.images import cut_off, pixel_bytes
from torcheer.run.observing.plaintext import plain_text
from torcheer.run.observing.png import Pixels, encode_png
from torcheer.run.records import EmbeddingHead

ONE_COLUMN = ["label"]


class Embedding(NamedTuple):
    """Points that are copied and not encoded yet."""

    points: Copied
    columns: list[str]
    labels: list[list[str]]  # a list for each column
    pictures: Copied | None

    @property
    def num_bytes(self) -> int:
        pictures = 0 if self.pictures is None else len(self.pictures.raw)
        return len(self.points.raw) + pictures + 64 * sum(map(len, self.labels))


# --- in the training -----------------------------------------------------------------------------------


def embedding_of(points: Any, metadata: Any, header: Any, pictures: Any) -> Embedding:
    copied = real_numbers(points, "the points")
    if copied.array.ndim != 2 or not copied.array.size:
        raise InputError(f"shape {copied.array.shape} is no list of points: give a row of numbers for each.")
    number = len(copied.array)
    columns, labels = _labels(metadata, header, number)
    return Embedding(copied, columns, labels, None if pictures is None else _pictures(pictures, number))


def _labels(metadata: Any, header: Any, number: int) -> tuple[list[str], list[list[str]]]:
    if metadata is None:
        return [], []
    rows = metadata.tolist() if hasattr(metadata, "tolist") else list(metadata)
    if len(rows) != number:
        raise InputError(f"{len(rows)} labels for {number} points: give one for each.")
    if not header:
        return ONE_COLUMN, [[_label(row) for row in rows]]
    columns = [plain_text(name) for name in header]
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
    cells = [list(row) if isinstance(row, list | tuple) else [row] for row in rows]
    if any(len(row) != len(columns) for row in cells):
        raise InputError(f"{len(columns)} names of columns: give as many labels for each point.")
    return columns, [[_label(row[place]) for row in cells] for place in range(len(columns))]


def _label(value: Any) -> str:
    return plain_text(value.tolist() if is_tensor(value) else value)


def _pictures(pictures: Any, number: int) -> Copied:
    copied = real_numbers(pictures, "the pictures")
    shape = copied.array.shape
    if len(shape) != 4 or shape[1] not in (1, 3, 4) or 0 in shape:
        raise InputError(f"shape {shape} are no pictures: give (number, channels, height, width).")
    if shape[0] != number:
        raise InputError(f"{shape[0]} pictures for {number} points: give one for each.")
    return copied


# --- in the encoder's thread ---------------------------------------------------------------------------


def encode_embedding(given: Embedding) -> Encoded:
    with numpy.errstate(over="ignore"):
        matrix = given.points.numbers().astype("<f4").tobytes()
    labels = msgspec.json.encode(given.labels) if given.columns else b""
    sheet, per_row, height, width = b"", 0, 0, 0
    if given.pictures is not None:
        number, _, height, width = given.pictures.array.shape
        per_row = math.ceil(math.sqrt(number))
        sheet = encode_png(_sheet(given.pictures, per_row))
    head = EmbeddingHead(
        num_points=given.points.array.shape[0],
        num_dims=given.points.array.shape[1],
        columns=given.columns,
        matrix_bytes=len(matrix),
        label_bytes=len(labels),
        sprite_bytes=len(sheet),
        sprite_width=width,
        sprite_height=height,
        sprites_per_row=per_row,
    )
    return Encoded(head, matrix + labels + sheet)


def _sheet(pictures: Copied, per_row: int) -> Pixels:
    """Rows of pictures, made up to a square with black, in the way of torch.utils.tensorboard."""
    sheet = image_grid(_bytes(pictures).transpose(0, 2, 3, 1), per_row)
    height, width, channels = sheet.shape
    if height >= width:
        return sheet
    return numpy.concatenate([sheet, numpy.zeros((width - height, width, channels), dtype=numpy.uint8)])


def _bytes(pictures: Copied) -> Pixels:
    if pictures.dtype == "uint8":
        return pixel_bytes(pictures)
    with numpy.errstate(all="ignore"):
        # In double precision: the sheets of torch.utils.tensorboard are, and a pixel must not differ.
        return cut_off(pictures.numbers().astype(numpy.float64) * 255)
