"""Pictures have the pixels that torch.utils.tensorboard would give them, as PNG files that Pillow reads."""

from __future__ import annotations

import io
import math
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from tests.many import examples
from tests.run.observing_checks import FakeRun, logged, refused, written_by_tensorboard
from torcheer.run.encode.media import encode_png, rescaled
from torcheer.run.records import Encoded


def pixels(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        return np.asarray(image)


def rgb(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


# --- PNG -------------------------------------------------------------------------------------------------


@settings(max_examples=examples(60), deadline=None)
@given(
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    channels=st.integers(1, 4),
    seed=st.integers(0, 1000),
    is_smooth=st.booleans(),
)
def test_pillow_reads_the_pixels_that_were_written(
    height: int, width: int, channels: int, seed: int, is_smooth: bool
) -> None:
    generator = np.random.default_rng(seed)
    if is_smooth:  # where filters other than none are chosen
        ramp = np.add.outer(np.arange(height) * 3, np.arange(width) * 5)
        image = (ramp[..., None] + generator.integers(0, 2, channels)).astype(np.uint8)
    else:
        image = generator.integers(0, 256, (height, width, channels), dtype=np.uint8)

    again = pixels(encode_png(image))

    np.testing.assert_array_equal(again.reshape(image.shape), image)


def test_a_picture_of_many_bands_is_whole() -> None:
    rows, columns = np.mgrid[0:700, 0:1100]
    image = np.stack([rows, columns, rows ^ columns], axis=-1).astype(np.uint8)

    png = encode_png(image)

    np.testing.assert_array_equal(pixels(png), image)
    assert len(png) < image.nbytes / 4  # filters find what is alike


# --- pixels ----------------------------------------------------------------------------------------------

IMAGES: dict[str, tuple[Any, str]] = {
    "float": (torch.rand(3, 6, 9), "CHW"),
    "double": (np.random.rand(3, 6, 9), "CHW"),
    "half": (torch.rand(3, 6, 9).half(), "CHW"),
    "bfloat16": (torch.rand(3, 6, 9).bfloat16(), "CHW"),
    "beyond": (torch.randn(3, 6, 9) * 3, "CHW"),
    "bytes": (torch.randint(0, 256, (3, 6, 9), dtype=torch.uint8), "CHW"),
    "whole numbers": (torch.randint(0, 2, (3, 6, 9)), "CHW"),
    "truth": (np.random.rand(6, 9) > 0.5, "HW"),
    "grey": (torch.rand(1, 6, 9), "CHW"),
    "alpha": (torch.rand(4, 6, 9), "CHW"),
    "last": (torch.rand(6, 9, 3), "HWC"),
    "lower case": (torch.rand(6, 9, 3), "hwc"),
    "turned": (torch.rand(9, 6, 3), "WHC"),
    "flat": (torch.rand(6, 9), "HW"),
    "flat, turned": (torch.rand(6, 9), "WH"),
    "grad": (torch.rand(3, 6, 9), "CHW"),
}
BATCHES: dict[str, tuple[Any, str]] = {
    "batch": (torch.rand(5, 3, 6, 9), "NCHW"),
    "two rows": (torch.rand(11, 3, 4, 5), "NCHW"),
    "full rows": (torch.rand(16, 3, 4, 5), "NCHW"),
    "grey": (torch.rand(3, 1, 6, 9), "NCHW"),
    "bytes": (torch.randint(0, 256, (9, 3, 6, 9), dtype=torch.uint8), "NCHW"),
    "last": (torch.rand(5, 6, 9, 3), "NHWC"),
    "odd": (torch.rand(6, 9, 3, 5), "HWCN"),
}


def test_pixels_are_those_of_torch_utils_tensorboard(tmp_path: Path) -> None:
    def write(writer: Any) -> None:
        for name, (image, order) in IMAGES.items():
            writer.add_image(name, image, dataformats=order)
        for name, (images, order) in BATCHES.items():
            writer.add_images(f"{name}, many", images, dataformats=order)

    theirs = written_by_tensorboard(tmp_path, write)

    for name, (image, order) in IMAGES.items():
        made = logged(lambda run, i=image, o=order: run.log_image(0, "i", i, dataformats=o))
        _check_same(made, theirs.Images(name))
    for name, (images, order) in BATCHES.items():
        made = logged(lambda run, i=images, o=order: run.log_images(0, "i", i, dataformats=o))
        _check_same(made, theirs.Images(f"{name}, many"))


def _check_same(made: Encoded, events: Any) -> None:
    (event,) = events
    head = made.head
    assert (head.width, head.height) == (event.width, event.height)
    again = pixels(made.data)
    if head.channels == 4:
        np.testing.assert_array_equal(again, pixels(event.encoded_image_string))
    else:
        np.testing.assert_array_equal(rgb(made.data), rgb(event.encoded_image_string))
    assert head.channels == (1 if again.ndim == 2 else again.shape[2])


def test_what_is_not_finite_is_black_or_white() -> None:
    image = torch.tensor([[math.nan, math.inf, -math.inf, 0.5]])

    assert pixels(logged(lambda run: run.log_image(0, "i", image)).data).tolist() == [[0, 255, 0, 127]]


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        *(((3, 6, 9), (9, 6)), ((6, 9, 3), (9, 6)), ((6, 9), (9, 6)), ((1, 6, 9), (9, 6))),
        *(((3, 5, 3), (3, 5)), ((6, 9, 1), (9, 6))),
    ],
)
def test_the_order_of_dimensions_is_found_out(shape: tuple[int, ...], size: tuple[int, int]) -> None:
    head = logged(lambda run: run.log_image(0, "i", torch.rand(shape))).head

    assert (head.width, head.height) == size


@pytest.mark.parametrize(
    ("shape", "size"),
    [((2, 3, 6, 9), (18, 6)), ((2, 6, 9, 3), (18, 6)), ((2, 6, 9), (18, 6)), ((9, 4, 6, 9), (72, 12))],
)
def test_the_order_of_a_batch_is_found_out(shape: tuple[int, ...], size: tuple[int, int]) -> None:
    head = logged(lambda run: run.log_images(0, "i", torch.rand(shape))).head

    assert (head.width, head.height) == size


@pytest.mark.parametrize(
    ("image", "order", "what"),
    [
        (torch.rand(5, 6, 9), "CHW", "has 5"),
        (torch.rand(7, 8, 9), None, "has 7"),
        (torch.rand(3, 6, 9), "HW", "3 dimensions"),
        (torch.rand(3, 6, 9), "CCH", "no order of dimensions"),
        (torch.rand(3, 6, 9), "XYZ", "no order of dimensions"),
        (torch.rand(3, 0, 9), "CHW", "no pixels"),
        (torch.rand(9), None, "no picture"),
        (torch.rand(2, 2, 3, 4, 5), None, "no picture"),
        (torch.rand(3, 6, 9, dtype=torch.complex64), "CHW", "complex"),
        ("cat.png", None, "not numbers"),
        (None, None, "log_image 'i'"),
    ],
)
def test_what_is_no_picture_is_told_with_what_to_do(image: Any, order: str | None, what: str) -> None:
    assert what in refused(lambda run: run.log_image(0, "i", image, dataformats=order))


def test_a_picture_is_copied_at_once() -> None:
    image = torch.zeros(3, 2, 2, dtype=torch.uint8)
    run = FakeRun()
    run.log_image(0, "i", image)
    image.fill_(255)

    assert pixels(run.only().encode().data).max() == 0


# --- boxes -----------------------------------------------------------------------------------------------


def test_boxes_and_their_labels_stand_in_the_head() -> None:
    boxes = torch.tensor([[1, 2, 3, 4], [0, 0, 5, 5]])

    head = logged(
        lambda run: run.log_image(0, "i", torch.rand(3, 9, 9), boxes=boxes, box_labels=["a", 7])
    ).head

    assert head.boxes == [[1, 2, 3, 4], [0, 0, 5, 5]]
    assert head.box_labels == ["a", "7"]


def test_labels_that_are_not_as_many_as_the_boxes_are_left_out() -> None:
    head = logged(
        lambda run: run.log_image(0, "i", torch.rand(9, 9), boxes=[1, 2, 3, 4], box_labels=["a", "b"])
    ).head

    assert (head.boxes, head.box_labels) == ([[1, 2, 3, 4]], [])


def test_boxes_that_are_none_are_told() -> None:
    image = torch.rand(9, 9)

    assert "four numbers" in refused(lambda run: run.log_image(0, "i", image, boxes=[[1, 2, 3]]))
    assert "four numbers" in refused(lambda run: run.log_image(0, "i", image, boxes=[[1, 2, 3, math.nan]]))
    assert logged(lambda run: run.log_image(0, "i", image, boxes=torch.zeros(0, 4))).head.boxes == []


# --- of other packages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "F"])
def test_an_image_of_pillow_is_kept_as_pillow_shows_it(mode: str) -> None:
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (3, 9, 3), dtype=np.uint8))
    image = image.convert("I").convert(mode) if mode == "I;16" else image.convert(mode)

    made = logged(lambda run: run.log_image(0, "i", image))

    assert (made.head.width, made.head.height) == (9, 3)
    expected = image if mode in ("L", "LA", "RGB", "RGBA") else image.convert("RGB")
    np.testing.assert_array_equal(rgb(made.data), np.asarray(expected.convert("RGB")))


def test_images_of_pillow_are_a_batch() -> None:
    images = [Image.new("RGB", (5, 4), color) for color in ("red", "lime")]

    made = logged(lambda run: run.log_images(0, "i", images))

    assert pixels(made.data)[0, [0, 5]].tolist() == [[255, 0, 0], [0, 255, 0]]


def test_run_log_keeps_an_image_of_pillow_as_a_picture() -> None:
    run = FakeRun()
    run._observe_value(4, "cat", Image.new("RGB", (5, 4)))

    assert (run.only().kind, run.only().step) == ("image", 4)


def test_a_picture_is_resized_with_its_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    image = torch.zeros(3, 4, 6)
    image[0] = 1
    for pillow in (Image, None):  # None in its place: Pillow is not there
        monkeypatch.setitem(sys.modules, "PIL.Image", pillow)
        made, order, boxes = rescaled(image, "CHW", [[1, 1, 2, 3]], 2.5)

        assert (made.shape, order) == ((10, 15, 3), "HWC")
        assert made[5, 5].tolist() == [255, 0, 0]
        assert boxes.tolist() == [[2.5, 2.5, 5, 7.5]]


class _Canvas:
    """Draws what a figure is told to be, as matplotlib's canvas would."""

    def __init__(self, figure: _Figure) -> None:
        self._figure = figure
        figure.canvas = self

    def draw(self) -> None:
        self._figure.num_drawn += 1

    def buffer_rgba(self) -> memoryview:
        return memoryview(self._figure.pixels)


class _Figure:
    """As much of matplotlib's figure as is asked for."""

    def __init__(self, pixels: np.ndarray) -> None:
        self.pixels, self.num_drawn = pixels, 0
        self.canvas: object = "its own"

    def savefig(self) -> None: ...

    def set_canvas(self, canvas: object) -> None:
        self.canvas = canvas


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Stands in for matplotlib; gives the figures that were closed."""
    found: list[object] = []
    agg, pyplot = types.ModuleType("agg"), types.ModuleType("pyplot")
    agg.FigureCanvasAgg = _Canvas  # type: ignore[attr-defined]
    pyplot.close = found.append  # type: ignore[attr-defined]
    for name, module in (("matplotlib.backends.backend_agg", agg), ("matplotlib.pyplot", pyplot)):
        monkeypatch.setitem(sys.modules, name, module)
    return found


def test_a_figure_is_drawn_at_once_and_given_its_canvas_back(closed: list[object]) -> None:
    figure = _Figure(np.random.default_rng(0).integers(0, 256, (4, 6, 4), dtype=np.uint8))
    run = FakeRun()
    run.log_figure(0, "f", figure)
    drawn = figure.pixels[..., :3].copy()
    figure.pixels[:] = 0

    np.testing.assert_array_equal(pixels(run.only().encode().data), drawn)
    assert (figure.canvas, figure.num_drawn, closed) == ("its own", 1, [figure])


def test_a_figure_is_not_closed_where_that_is_not_wanted(closed: list[object]) -> None:
    figure = _Figure(np.zeros((4, 6, 4), dtype=np.uint8))
    logged(lambda run: run.log_figure(0, "f", figure, close=False))
    logged(lambda run: run._observe_value(0, "f", figure))

    assert closed == []


def test_figures_are_a_grid(closed: list[object]) -> None:
    figures = [_Figure(np.full((4, 6, 4), shade, dtype=np.uint8)) for shade in (10, 20)]

    made = logged(lambda run: run.log_figure(0, "f", figures))

    assert pixels(made.data)[0, [0, 6], 0].tolist() == [10, 20]
    assert closed == figures


def test_a_figure_of_matplotlib_itself_is_kept() -> None:
    figure = Figure(figsize=(2, 1), dpi=50)
    figure.subplots().plot([1, 2])

    made = logged(lambda run: run.log_figure(0, "f", figure))

    assert (made.head.width, made.head.height) == (100, 50)
    assert len(np.unique(pixels(made.data))) > 5
