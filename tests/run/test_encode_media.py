"""Pictures have the pixels that torch.utils.tensorboard would give them, as PNG files that Pillow reads."""

from __future__ import annotations

import io
import json
import math
import sys
import types
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image
from torch.utils.tensorboard._utils import _prepare_video

from tests.many import examples
from tests.run.encode_checks import FakeRun, logged, refused, written_by_tensorboard
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


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (20, 7), (700, 1100)])
def test_pillow_reads_the_pixels_that_were_written(size: tuple[int, int], channels: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (*size, channels), dtype=np.uint8)

    np.testing.assert_array_equal(pixels(encode_png(image)).reshape(image.shape), image)


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


def test_a_picture_is_resized_with_its_boxes() -> None:
    image = torch.zeros(3, 4, 6)
    image[0] = 1
    made, order, boxes = rescaled(image, "CHW", [[1, 1, 2, 3]], 2.5)

    assert (made.shape, order) == ((10, 15, 3), "HWC")
    assert made[5, 5].tolist() == [255, 0, 0]
    assert boxes.tolist() == [[2.5, 2.5, 5, 7.5]]
    assert rescaled(image[0], "HW", None, 0.5)[0].shape == (2, 3, 1)


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


# --- Videos, sound, text and embeddings come back as they were given ----------------------------------


# --- video -----------------------------------------------------------------------------------------------


def frames(made: Encoded) -> np.ndarray:
    ends = np.cumsum(made.head.frame_bytes)
    assert ends[-1] == len(made.data)
    pieces = [made.data[end - size : end] for end, size in zip(ends, made.head.frame_bytes, strict=True)]
    images = [np.asarray(Image.open(io.BytesIO(piece))) for piece in pieces]
    return np.stack([image if image.ndim == 3 else image[..., None] for image in images])


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("channels", [1, 3])
def test_videos_are_arranged_as_in_torch_utils_tensorboard(number: int, channels: int) -> None:
    videos = torch.rand(number, 2, channels, 3, 4)
    expected = (_prepare_video(videos.numpy()).astype(np.float32) * 255).clip(0, 255).astype(np.uint8)

    made = logged(lambda run: run.log_video(0, "v", videos, frames_per_second=12.5))

    np.testing.assert_array_equal(frames(made), expected)
    assert (made.head.height, made.head.width) == expected.shape[1:3]
    assert made.head.frames_per_second == 12.5


def test_bytes_of_a_video_stay_as_they_are() -> None:
    video = torch.arange(256, dtype=torch.uint8).reshape(1, 1, 16, 16)  # frames, channels, height, width

    made = logged(lambda run: run.log_video(0, "v", video))

    np.testing.assert_array_equal(frames(made)[0, ..., 0], video[0, 0].numpy())


def test_what_is_no_video_is_told() -> None:
    assert "no video" in refused(lambda run: run.log_video(0, "v", torch.rand(3, 4, 5)))
    assert "no video" in refused(lambda run: run.log_video(0, "v", torch.rand(2, 2, 7, 4, 5)))
    assert "no pixels" in refused(lambda run: run.log_video(0, "v", torch.rand(2, 0, 3, 4, 5)))
    for rate in (0, -1, math.nan):
        assert "above 0" in refused(
            lambda run, rate=rate: run.log_video(0, "v", torch.rand(1, 1, 4, 5), frames_per_second=rate)
        )


# --- sound -----------------------------------------------------------------------------------------------


def samples(data: bytes) -> tuple[np.ndarray, int]:
    """Frames by channels, and the rate."""
    with wave.open(io.BytesIO(data)) as file:
        assert file.getsampwidth() == 2
        read = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
        return read.reshape(-1, file.getnchannels()), file.getframerate()


SOUNDS = {
    "float": torch.rand(1, 200) * 2 - 1,
    "double": np.random.rand(50) * 2 - 1,
    "loud": torch.randn(300) * 2,
    "ends": np.array([-1.0, 1.0, 0.0]),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_sound_is_that_of_torch_utils_tensorboard(tmp_path: Path) -> None:
    theirs = written_by_tensorboard(
        tmp_path,
        lambda writer: [writer.add_audio(name, x, sample_rate=8000) for name, x in SOUNDS.items()],
    )

    for name, sound in SOUNDS.items():
        (event,) = theirs.Audio(name)
        made = logged(lambda run, sound=sound: run.log_audio(0, "a", sound, sample_rate=8000))

        assert made.data == event.encoded_audio_string
        assert (made.head.sample_rate, made.head.num_frames) == (event.sample_rate, event.length_frames)


def test_channels_are_told_apart() -> None:
    sound = torch.stack([torch.linspace(-1, 0, 50), torch.linspace(0, 1, 50)])

    made = logged(lambda run: run.log_audio(0, "a", sound))
    read, rate = samples(made.data)

    assert (made.head.num_channels, made.head.num_frames, rate) == (2, 50, 44100)
    np.testing.assert_array_equal(read.T, (sound * 32767).to(torch.int16).numpy())


def test_whole_numbers_of_sixteen_bits_are_samples_already() -> None:
    sound = np.array([-32768, -1, 0, 1, 32767], dtype=np.int16)

    assert samples(logged(lambda run: run.log_audio(0, "a", sound)).data)[0][:, 0].tolist() == sound.tolist()


def test_half_precision_and_what_is_not_finite_do_not_wrap_round() -> None:
    half = torch.tensor([1.0, -1.0], dtype=torch.float16)
    odd = torch.tensor([math.nan, math.inf, -math.inf])

    assert samples(logged(lambda run: run.log_audio(0, "a", half)).data)[0][:, 0].tolist() == [32767, -32767]
    assert samples(logged(lambda run: run.log_audio(0, "a", odd)).data)[0][:, 0].tolist() == [
        0,
        32767,
        -32767,
    ]


def test_that_sound_was_cut_off_is_said() -> None:
    run = FakeRun()
    run.log_audio(0, "a", [0.5, 2.0])

    assert "cut off" in run.only().description


def test_what_is_no_sound_is_told() -> None:
    assert "no sound" in refused(lambda run: run.log_audio(0, "a", torch.rand(2, 3, 4)))
    assert "no sound" in refused(lambda run: run.log_audio(0, "a", torch.rand(0)))
    assert "int16" in refused(lambda run: run.log_audio(0, "a", torch.tensor([1, 2])))
    assert "44100" in refused(lambda run: run.log_audio(0, "a", torch.rand(9), sample_rate=0))


# --- text ------------------------------------------------------------------------------------------------


@given(st.text())
def test_text_of_any_letters_comes_back(text: str) -> None:
    made = logged(lambda run: run.log_text(0, "t", text))

    assert made.data.decode() == text
    assert made.head.num_characters == len(text)


def test_half_characters_and_bytes_are_written_out() -> None:
    assert logged(lambda run: run.log_text(0, "t", "a\udc80")).data == b"a\\udc80"
    assert logged(lambda run: run.log_text(0, "t", b"caf\xc3\xa9 \xff")).data.decode() == "café \\xff"
    assert logged(lambda run: run.log_text(0, "t", {"lr": 1})).data == b"{'lr': 1}"


# --- embeddings ------------------------------------------------------------------------------------------


def embedding(made: Encoded) -> tuple[np.ndarray, Any, bytes]:
    head, data = made.head, made.data
    matrix, rest = data[: head.matrix_bytes], data[head.matrix_bytes :]
    labels, sheet = rest[: head.label_bytes], rest[head.label_bytes :]
    assert len(sheet) == head.sprite_bytes
    points = np.frombuffer(matrix, dtype="<f4").reshape(head.num_points, head.num_dims)
    return points, json.loads(labels) if labels else None, sheet


@settings(max_examples=examples(30), deadline=None)
@given(
    labels=st.lists(st.text(), min_size=1, max_size=20),
    num_dims=st.integers(1, 5),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.int32]),
)
def test_points_and_labels_come_back(labels: list[str], num_dims: int, dtype: torch.dtype) -> None:
    points = (torch.randn(len(labels), num_dims) * 10).to(dtype)

    made = logged(lambda run: run.log_embedding(0, "e", points, metadata=labels))
    again, columns, sheet = embedding(made)

    np.testing.assert_array_equal(again, points.float().numpy())
    assert (columns, made.head.columns, sheet) == ([labels], ["label"], b"")


def test_labels_may_have_several_columns() -> None:
    rows = [["a", 1], ("b", torch.tensor(2))]

    made = logged(
        lambda run: run.log_embedding(0, "e", np.eye(2), metadata=rows, metadata_header=["name", "class"])
    )

    assert made.head.columns == ["name", "class"]
    assert embedding(made)[1] == [["a", "b"], ["1", "2"]]


def test_a_header_of_one_name_is_for_labels_of_one_column() -> None:
    for rows in (["a", "b"], [["a"], ["b"]]):
        made = logged(
            lambda run, rows=rows: run.log_embedding(
                0, "e", np.eye(2), metadata=rows, metadata_header=["name"]
            )
        )

        assert (made.head.columns, embedding(made)[1]) == (["name"], [["a", "b"]])


def test_a_tensor_of_labels_reads_as_numbers() -> None:
    made = logged(lambda run: run.log_embedding(0, "e", np.eye(3), metadata=torch.tensor([7, 8, 9])))

    assert embedding(made)[1] == [["7", "8", "9"]]


@pytest.mark.parametrize(("number", "channels"), [(1, 3), (5, 3), (9, 1), (10, 3)])
def test_the_sheet_of_pictures_is_that_of_torch_utils_tensorboard(
    number: int, channels: int, tmp_path: Path
) -> None:
    points, pictures = torch.randn(number, 2), torch.rand(number, channels, 4, 5)
    written_by_tensorboard(tmp_path, lambda writer: writer.add_embedding(points, label_img=pictures))
    (theirs,) = tmp_path.rglob("sprite.png")

    made = logged(lambda run: run.log_embedding(0, "e", points, label_img=pictures))

    sheet = Image.open(io.BytesIO(embedding(made)[2])).convert("RGB")
    np.testing.assert_array_equal(np.asarray(sheet), np.asarray(Image.open(theirs).convert("RGB")))
    head = made.head
    assert (head.sprite_width, head.sprite_height) == (5, 4)
    last = pictures[-1].expand(3, 4, 5)  # stands where the head says
    top, left = (number - 1) // head.sprites_per_row * 4, (number - 1) % head.sprites_per_row * 5
    np.testing.assert_array_equal(
        np.asarray(sheet)[top : top + 4, left : left + 5],
        (last.double() * 255).to(torch.uint8).permute(1, 2, 0).numpy(),
    )


def test_tall_pictures_and_bytes_have_a_sheet_too() -> None:
    pictures = torch.randint(0, 256, (2, 3, 9, 2), dtype=torch.uint8)

    made = logged(lambda run: run.log_embedding(0, "e", np.eye(2), label_img=pictures))

    sheet = np.asarray(Image.open(io.BytesIO(embedding(made)[2])))
    np.testing.assert_array_equal(sheet[:9, 2:4], pictures[1].permute(1, 2, 0).numpy())


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"points": torch.randn(3)}, "no list of points"),
        ({"points": torch.randn(0, 3)}, "no list of points"),
        ({"points": torch.randn(3, 2), "metadata": ["a"]}, "1 labels for 3 points"),
        ({"points": torch.randn(1, 2), "metadata": [["a"]], "metadata_header": ["x", "y"]}, "2 names"),
        ({"points": torch.randn(3, 2), "label_img": torch.rand(2, 3, 4, 4)}, "2 pictures for 3"),
        ({"points": torch.randn(3, 2), "label_img": torch.rand(3, 4, 4)}, "no pictures"),
        ({"points": torch.randn(3, 2, dtype=torch.complex64)}, "complex"),
    ],
)
def test_an_embedding_that_cannot_be_is_told(options: dict[str, Any], what: str) -> None:
    assert what in refused(lambda run: run.log_embedding(0, "e", **options))
