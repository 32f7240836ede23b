"""Pictures as records: from tensors, arrays, Pillow's images and matplotlib's figures."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from torcheer.errors import InputError
from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import Copied, check_size, real_numbers
from torcheer.run.observing.grids import image_grid
from torcheer.run.observing.plaintext import plain_text
from torcheer.run.observing.png import Pixels, encode_png
from torcheer.run.records import ImageHead
from torcheer.tensorfile import Array

_CHANNELS = (1, 2, 3, 4)  # grey, with alpha, RGB, with alpha
_ORDERS = {frozenset("HW"), frozenset("HWC"), frozenset("NHW"), frozenset("NCHW")}
_PILLOW_MODES = ("L", "LA", "RGB", "RGBA")


class Marks(NamedTuple):
    """Boxes of a picture: left, top, right, bottom of each; and labels, none or one for each."""

    boxes: list[list[float]]
    labels: list[str]


class ImageToBe(NamedTuple):
    """A picture that is copied and not encoded yet."""

    copied: Copied
    order: str  # of its dimensions: CHW
    marks: Marks = Marks([], [])


# --- in the training -----------------------------------------------------------------------------------


def image_of(value: Any, dataformats: str | None, *, is_batch: bool = False) -> ImageToBe:
    """Copy a picture, or a batch of them. `dataformats` names the dimensions; None finds them out."""
    if is_pillow(value):
        value = _from_pillow(value)
        dataformats = "HWC"[: value.ndim]
    if isinstance(value, list | tuple) and value and all(is_pillow(item) for item in value):
        value, dataformats = [_from_pillow(item.convert("RGB")) for item in value], "NHWC"
    copied = real_numbers(value, "the pixels")
    shape = copied.array.shape
    order = _guessed(shape, is_batch) if dataformats is None else _checked(dataformats, shape)
    sizes = dict(zip(order, shape, strict=True))
    if sizes.get("C", 1) not in _CHANNELS:
        raise InputError(
            f"a picture has 1, 3 or 4 channels, and shape {shape} read as {order} has {sizes['C']}: name the "
            "dimensions with dataformats='HWC', for example."
        )
    if 0 in shape:
        raise InputError(f"there are no pixels in shape {shape}.")
    return ImageToBe(copied, order)


def _checked(dataformats: str, shape: Sequence[int]) -> str:
    order = str(dataformats).upper()
    if len(set(order)) != len(order) or frozenset(order) not in _ORDERS:
        raise InputError(
            f"dataformats={dataformats!r} is no order of dimensions: give CHW, HWC, HW, NCHW or NHWC."
        )
    if len(order) != len(shape):
        raise InputError(
            f"shape {tuple(shape)} has {len(shape)} dimensions, and dataformats={dataformats!r} names "
            f"{len(order)}: name each of them, as in CHW, HWC, HW or NCHW."
        )
    return order


def _guessed(shape: Sequence[int], is_batch: bool) -> str:
    """Channels first, as in torch, unless only the last dimension can be channels."""
    if is_batch and len(shape) in (3, 4):
        return "N" + _guessed(shape[1:], is_batch=False)
    if len(shape) == 2:
        return "HW"
    if len(shape) == 3:
        return "HWC" if shape[0] not in _CHANNELS and shape[2] in _CHANNELS else "CHW"
    batch = "or (N, 3, height, width) with log_images" if not is_batch else "each"
    raise InputError(f"shape {tuple(shape)} is no picture: give (3, height, width), (height, width) {batch}.")


def marks_of(boxes: Any, labels: Any) -> Marks:
    """Boxes as (left, top, right, bottom). Labels that are not as many as the boxes are left out."""
    if boxes is None:
        return Marks([], [])
    numbers = real_numbers(boxes, "the boxes").numbers().astype(numpy.float64)
    if numbers.size == 0:
        return Marks([], [])
    if numbers.ndim == 1:
        numbers = numbers[None]
    if numbers.ndim != 2 or numbers.shape[1] != 4 or not numpy.isfinite(numbers).all():
        raise InputError(f"boxes of shape {numbers.shape}: give four numbers each, left, top, right, bottom.")
    names = [labels] if isinstance(labels, str) else [] if labels is None else list(labels)
    texts = [plain_text(name) for name in names] if len(names) == len(numbers) else []
    return Marks(numbers.tolist(), texts)


def rescaled(image: Any, dataformats: str, boxes: Any, scale: float) -> tuple[Pixels, str, Array]:
    """A picture of another size, with its boxes; by Pillow where it is there, else by the nearest pixels."""
    if not 0 < float(scale) < math.inf:
        raise InputError(f"rescale={scale}: give a number above 0.")
    to_be = image_of(image, dataformats)
    pixels = _arranged(pixel_bytes(to_be.copied), to_be.order)
    height, width = max(1, int(pixels.shape[0] * scale)), max(1, int(pixels.shape[1] * scale))
    check_size(height * width * pixels.shape[2])
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError:
        rows, columns = (numpy.arange(height) / scale).astype(int), (numpy.arange(width) / scale).astype(int)
        resized = pixels[rows.clip(max=pixels.shape[0] - 1)][:, columns.clip(max=pixels.shape[1] - 1)]
    else:
        flat = pixels[..., 0] if pixels.shape[2] == 1 else pixels
        made = pillow.fromarray(numpy.ascontiguousarray(flat)).resize(
            (width, height), pillow.Resampling.LANCZOS
        )
        resized = numpy.asarray(made).reshape(height, width, -1)
    return resized, "HWC", numpy.array(marks_of(boxes, None).boxes) * scale


# --- Pillow and matplotlib -----------------------------------------------------------------------------


def is_pillow(value: Any) -> bool:
    return hasattr(value, "getbands") and hasattr(value, "convert") and hasattr(value, "mode")


def _from_pillow(image: Any) -> Array:
    if image.mode not in _PILLOW_MODES:
        image = image.convert("RGBA" if "transparency" in image.info else "L" if image.mode == "1" else "RGB")
    return numpy.asarray(image)


def is_figure(value: Any) -> bool:
    """Whether it is a figure of matplotlib."""
    return hasattr(value, "savefig") and hasattr(value, "canvas")


def pixels_of_figure(figure: Any, *, close: bool) -> Array:
    """Draw a figure. Here and now: matplotlib is not made for several threads."""
    agg = importlib.import_module("matplotlib.backends.backend_agg")  # the figure brings it with it
    before = figure.canvas
    canvas = agg.FigureCanvasAgg(figure)
    try:
        canvas.draw()
        pixels: Array = numpy.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    finally:
        figure.set_canvas(before)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if close and pyplot is not None:
        pyplot.close(figure)
    return pixels


# --- in the encoder's thread ---------------------------------------------------------------------------


def encode_image(image: ImageToBe) -> Encoded:
    pixels = _arranged(pixel_bytes(image.copied), image.order)
    height, width, channels = pixels.shape
    head = ImageHead(
        width=width,
        height=height,
        channels=channels,
        encoding="png",
        boxes=image.marks.boxes,
        box_labels=image.marks.labels,
    )
    return Encoded(head, encode_png(pixels))


def pixel_bytes(copied: Copied) -> Pixels:
    """Bytes as they are; all else is taken to lie between 0 and 1, and cut off at black and white."""
    if copied.dtype == "uint8":
        return numpy.asarray(copied.array, dtype=numpy.uint8)
    with numpy.errstate(all="ignore"):
        # In single precision and without rounding, in the way of torch.utils.tensorboard: the same pixels.
        return cut_off(copied.numbers().astype(numpy.float32) * 255)


def cut_off(numbers: Array) -> Pixels:
    pixels: Pixels = numpy.nan_to_num(numbers.clip(0, 255), copy=False).astype(numpy.uint8)
    return pixels


def _arranged(pixels: Pixels, order: str) -> Pixels:
    """Rows, columns, channels; a batch as a grid."""
    if "C" not in order:
        pixels, order = pixels[..., None], order + "C"
    if "N" in order:
        return image_grid(pixels.transpose([order.index(letter) for letter in "NHWC"]))
    return pixels.transpose([order.index(letter) for letter in "HWC"])
