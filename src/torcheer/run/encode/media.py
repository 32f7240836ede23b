"""Pictures as records: from tensors, arrays, Pillow's images and matplotlib's figures."""

from __future__ import annotations

import importlib
import io
import math
import sys
import wave
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.encode.arrays import Copied, check_size, is_tensor, real_numbers
from torcheer.run.records import AudioHead, EmbeddingHead, Encoded, ImageHead, Pending, VideoHead, plain_text
from torcheer.tensorfile import Array

_CHANNELS = (1, 2, 3, 4)  # grey, with alpha, RGB, with alpha
_ORDERS = {frozenset("HW"), frozenset("HWC"), frozenset("NHW"), frozenset("NCHW")}
Pixels = NDArray[numpy.uint8]  # rows, columns, channels
_LARGE_BYTES = 1 << 20
_PILLOW_MODES = ("L", "LA", "RGB", "RGBA")


def image_record(
    value: Any, dataformats: str | None, *, boxes: Any = None, labels: Any = None, is_batch: bool = False
) -> Pending:
    """A picture, or a batch of them. `dataformats` names the dimensions; None finds them out."""
    copied, order = _copied(value, dataformats, is_batch)
    marks = _marks(boxes, labels)
    return Pending(len(copied.raw), partial(_encode_image, copied, order, *marks), copied.note)


def figure_record(figure: Any, *, close: bool) -> Pending:
    """A figure of matplotlib, or a list of equally large ones as a grid."""
    if isinstance(figure, list | tuple):
        pixels = [_pixels_of_figure(one, close=close) for one in figure]
        return image_record(pixels, "NHWC", is_batch=True)
    return image_record(_pixels_of_figure(figure, close=close), "HWC")


def _copied(value: Any, dataformats: str | None, is_batch: bool = False) -> tuple[Copied, str]:
    """A copy of the pixels, and the order of its dimensions."""
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
    return copied, order


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


def _marks(boxes: Any, labels: Any) -> tuple[list[list[float]], list[str]]:
    """Boxes as (left, top, right, bottom). Labels that are not as many as the boxes are left out."""
    if boxes is None:
        return [], []
    numbers = real_numbers(boxes, "the boxes").numbers().astype(numpy.float64)
    if numbers.size == 0:
        return [], []
    if numbers.ndim == 1:
        numbers = numbers[None]
    if numbers.ndim != 2 or numbers.shape[1] != 4 or not numpy.isfinite(numbers).all():
        raise InputError(f"boxes of shape {numbers.shape}: give four numbers each, left, top, right, bottom.")
    names = [labels] if isinstance(labels, str) else [] if labels is None else list(labels)
    texts = [plain_text(name) for name in names] if len(names) == len(numbers) else []
    return numbers.tolist(), texts


def rescaled(image: Any, dataformats: str, boxes: Any, scale: float) -> tuple[Pixels, str, Array]:
    """A picture of another size, with its boxes."""
    if not 0 < float(scale) < math.inf:
        raise InputError(f"rescale={scale}: give a number above 0.")
    copied, order = _copied(image, dataformats)
    pixels = _arranged(pixel_bytes(copied), order)
    height, width = max(1, int(pixels.shape[0] * scale)), max(1, int(pixels.shape[1] * scale))
    check_size(height * width * pixels.shape[2])
    from PIL import Image

    flat = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    made = Image.fromarray(numpy.ascontiguousarray(flat)).resize((width, height), Image.Resampling.LANCZOS)
    resized = numpy.asarray(made).reshape(height, width, -1)
    return resized, "HWC", numpy.array(_marks(boxes, None)[0]) * scale


def is_pillow(value: Any) -> bool:
    return hasattr(value, "getbands") and hasattr(value, "convert") and hasattr(value, "mode")


def _from_pillow(image: Any) -> Array:
    if image.mode not in _PILLOW_MODES:
        image = image.convert("RGBA" if "transparency" in image.info else "L" if image.mode == "1" else "RGB")
    return numpy.asarray(image)


def is_figure(value: Any) -> bool:
    """True for a figure of matplotlib."""
    return hasattr(value, "savefig") and hasattr(value, "canvas")


def _pixels_of_figure(figure: Any, *, close: bool) -> Array:
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


def _encode_image(copied: Copied, order: str, boxes: list[list[float]], labels: list[str]) -> Encoded:
    pixels = _arranged(pixel_bytes(copied), order)
    height, width, channels = pixels.shape
    head = ImageHead(
        width=width, height=height, channels=channels, encoding="png", boxes=boxes, box_labels=labels
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


def encode_png(pixels: Pixels) -> bytes:
    from PIL import Image  # not needed to read a run

    flat = pixels[..., 0] if pixels.shape[2] == 1 else pixels
    file = io.BytesIO()
    # In a large picture, speed counts for more than the last few percent of size.
    level = 1 if pixels.size > _LARGE_BYTES else 6
    Image.fromarray(numpy.ascontiguousarray(flat)).save(file, "PNG", compress_level=level)
    return file.getvalue()


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


def video_record(value: Any, frames_per_second: Any) -> Pending:
    """Videos of shape (number, frames, channels, height, width), or one without the number."""
    copied = real_numbers(value, "the pixels")
    shape = copied.array.shape
    if len(shape) not in (4, 5) or shape[-3] not in _CHANNELS:
        raise InputError(
            f"shape {shape} is no video: give (number, frames, channels, height, width), 1, 3 or 4 channels."
        )
    if 0 in shape:
        raise InputError(f"there are no pixels in shape {shape}.")
    rate = float(frames_per_second)
    if not (math.isfinite(rate) and rate > 0):
        raise InputError(f"{frames_per_second} frames per second cannot be shown: give a number above 0.")
    return Pending(len(copied.raw), partial(_encode_video, copied, rate))


def _encode_video(copied: Copied, frames_per_second: float) -> Encoded:
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


_MAX_CHANNELS = 32
_MAX_RATE = 2**31 - 1  # a WAV file holds no more


def sound_record(value: Any, sample_rate: Any) -> Pending:
    """Samples of shape (length,) or (channels, length): floats between -1 and 1, or int16."""
    copied = real_numbers(value, "the samples")
    shape = tuple(size for size in copied.array.shape if size != 1) or (1,)
    if len(shape) > 2 or 0 in shape or (len(shape) == 2 and shape[0] > _MAX_CHANNELS):
        raise InputError(f"shape {copied.array.shape} is no sound: give (length,) or (channels, length).")
    if copied.dtype != "int16" and copied.numbers().dtype.kind != "f":
        raise InputError(f"samples of {copied.dtype}: give floats between -1 and 1, or int16.")
    is_cut = copied.dtype != "int16" and bool((numpy.abs(copied.numbers()) > 1).any())
    rate = float(sample_rate)
    if not (math.isfinite(rate) and 1 <= rate <= _MAX_RATE):
        raise InputError(f"a sample rate of {sample_rate}: give samples per second, 44100 for example.")
    samples = copied._replace(array=copied.array.reshape(shape))
    note = "cut off at -1 and 1" if is_cut else copied.note
    return Pending(len(copied.raw), partial(_encode_sound, samples, rate), note)


def _encode_sound(copied: Copied, sample_rate: float) -> Encoded:
    samples = copied.array
    if copied.dtype != "int16":
        numbers = copied.numbers()  # float32 or float64: half precision has no 32767
        cut = numpy.nan_to_num(numbers, nan=0.0, posinf=1.0, neginf=-1.0).clip(-1, 1)
        samples = (cut * 32767).astype(numpy.int16)
    if samples.ndim == 1:
        samples = samples[None]
    num_channels, num_frames = samples.shape
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(num_channels)
        sound.setsampwidth(2)
        sound.setframerate(round(sample_rate))
        sound.writeframes(numpy.ascontiguousarray(samples.T, dtype="<i2").tobytes())
    head = AudioHead(
        sample_rate=sample_rate, num_frames=num_frames, num_channels=num_channels, encoding="wav"
    )
    return Encoded(head, file.getvalue())


def embedding_record(points: Any, metadata: Any, header: Any, pictures: Any) -> Pending:
    copied = real_numbers(points, "the points")
    if copied.array.ndim != 2 or not copied.array.size:
        raise InputError(f"shape {copied.array.shape} is no list of points: give a row of numbers for each.")
    columns, labels = _labels(metadata, header, len(copied.array))
    sprites = None if pictures is None else _pictures(pictures, len(copied.array))
    num_bytes = len(copied.raw) + (0 if sprites is None else len(sprites.raw)) + 64 * sum(map(len, labels))
    return Pending(num_bytes, partial(_encode_embedding, copied, columns, labels, sprites))


def _labels(metadata: Any, header: Any, number: int) -> tuple[list[str], list[list[str]]]:
    if metadata is None:
        return [], []
    rows = metadata.tolist() if hasattr(metadata, "tolist") else list(metadata)
    if len(rows) != number:
        raise InputError(f"{len(rows)} labels for {number} points: give one for each.")
    if not header:
        return ["label"], [[_label(row) for row in rows]]
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


def _encode_embedding(
    points: Copied, columns: list[str], labels: list[list[str]], pictures: Copied | None
) -> Encoded:
    with numpy.errstate(over="ignore"):
        matrix = points.numbers().astype("<f4").tobytes()
    cells = msgspec.json.encode(labels) if columns else b""
    sheet, per_row, height, width = b"", 0, 0, 0
    if pictures is not None:
        number, _, height, width = pictures.array.shape
        per_row = math.ceil(math.sqrt(number))
        sheet = encode_png(_sheet(pictures, per_row))
    head = EmbeddingHead(
        num_points=points.array.shape[0],
        num_dims=points.array.shape[1],
        columns=columns,
        matrix_bytes=len(matrix),
        label_bytes=len(cells),
        sprite_bytes=len(sheet),
        sprite_width=width,
        sprite_height=height,
        sprites_per_row=per_row,
    )
    return Encoded(head, matrix + cells + sheet)


def _sheet(pictures: Copied, per_row: int) -> Pixels:
    """Rows of pictures, made up to a square with black, in the way of torch.utils.tensorboard."""
    if pictures.dtype == "uint8":
        pixels = pixel_bytes(pictures)
    else:
        with numpy.errstate(all="ignore"):
            # In double precision: the sheets of torch.utils.tensorboard are, and a pixel must not differ.
            pixels = cut_off(pictures.numbers().astype(numpy.float64) * 255)
    sheet = image_grid(pixels.transpose(0, 2, 3, 1), per_row)
    height, width, channels = sheet.shape
    if height >= width:
        return sheet
    return numpy.concatenate([sheet, numpy.zeros((width - height, width, channels), dtype=numpy.uint8)])
