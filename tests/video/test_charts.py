"""Frames: known tensors have known colours at known places, and scales last from frame to frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image as Pillow

import torcheer as tl
from tests.many import examples
from torcheer.errors import InputError
from torcheer.video.charts import (
    BAR,
    DANGER,
    DIVERGING,
    SEQUENTIAL,
    SURFACE,
    Canvas,
    Limits,
    Moment,
    SeriesView,
    Spread,
    _body_of,
    averaged,
    frame_of,
    kind_of,
    rgb,
)

FINITE = st.floats(-1e6, 1e6, allow_nan=False, width=32)


def frame(tensor: Any, *, name: str = "weight", kind: Any = "auto") -> Any:
    canvas = Canvas((640, 480))
    return drawn(SeriesView(name, kind).of_tensor(3, tensor, canvas), canvas)


def drawn(moment: Moment, canvas: Canvas) -> Any:
    """Rows, columns and colours of a frame."""
    return numpy.array(frame_of(moment, canvas))


def is_colour(pixels: Any, colour: Any) -> Any:
    return (pixels == numpy.array(colour)).all(axis=-1)


def cells(pixels: Any, rows: int, columns: int, scale_width: int = 80) -> Any:
    """The middle of each cell of a picture that fills its box."""
    box = _body_of(Canvas((640, 480)))
    down = box.y + ((numpy.arange(rows) + 0.5) * box.height / rows).astype(int)
    across = box.x + ((numpy.arange(columns) + 0.5) * (box.width - scale_width) / columns).astype(int)
    return pixels[down[:, None], across]


# --- pictures -----------------------------------------------------------------------------------------


def test_a_matrix_with_both_signs_is_centred_on_zero() -> None:
    seen = cells(frame(torch.tensor([[-1.0, 0.0, 1.0]]).expand(3, 3)), 3, 3)

    assert tuple(seen[0, 0]) == tuple(DIVERGING[0])
    assert tuple(seen[1, 1]) == tuple(DIVERGING[127])
    assert tuple(seen[2, 2]) == tuple(DIVERGING[-1])


def test_the_middle_of_the_diverging_ramp_is_the_tokens_own_zero() -> None:
    assert tuple(DIVERGING[127]) == rgb("#EEF0F2")


def test_a_matrix_of_one_sign_runs_from_zero() -> None:
    seen = cells(frame(torch.tensor([[0.0, 2.0], [4.0, 1.0]])), 2, 2)

    assert tuple(seen[0, 0]) == tuple(SEQUENTIAL[0])
    assert tuple(seen[0, 1]) == tuple(SEQUENTIAL[127])
    assert tuple(seen[1, 0]) == tuple(SEQUENTIAL[-1])


def test_of_negative_values_zero_is_the_quiet_end_too() -> None:
    seen = cells(frame(torch.tensor([[0.0, -2.0], [-4.0, -1.0]])), 2, 2)

    assert tuple(seen[0, 0]) == tuple(SEQUENTIAL[0])
    assert tuple(seen[1, 0]) == tuple(SEQUENTIAL[-1])


def test_what_is_not_finite_is_red() -> None:
    values = torch.zeros(2, 2)
    values[0, 1], values[1, 0], values[1, 1] = float("nan"), float("inf"), 1.0

    seen = cells(frame(values), 2, 2)

    assert tuple(seen[0, 1]) == tuple(seen[1, 0]) == DANGER
    assert DANGER not in (tuple(seen[0, 0]), tuple(seen[1, 1]))


def test_every_cell_of_a_small_matrix_has_the_colour_of_its_value() -> None:
    values = numpy.random.default_rng(0).normal(0, 1, (7, 9))

    seen = cells(frame(values), 7, 9)

    limits = Limits(is_of_colours=True)
    limits.include(values)
    bound = limits.high
    levels = numpy.rint((values + bound) / (2 * bound) * 254).astype(int)
    assert (seen == DIVERGING[levels]).all()


@settings(deadline=None, max_examples=examples(60))
@given(arrays.arrays(numpy.float64, st.tuples(st.integers(1, 40), st.integers(1, 40)), elements=FINITE))
def test_fewer_pixels_than_values_show_their_means(values: Any) -> None:
    small = averaged(values, 8, 8)

    rows, columns = (min(8, size) for size in values.shape)
    assert small.shape == (rows, columns)
    for row in range(rows):
        for column in range(columns):
            part = values[
                row * values.shape[0] // rows : (row + 1) * values.shape[0] // rows,
                column * values.shape[1] // columns : (column + 1) * values.shape[1] // columns,
            ]
            # A mean of means: all rows of a cell have as many columns.
            assert small[row, column] == pytest.approx(part.mean(), rel=1e-6, abs=1e-6)


def test_one_nan_in_a_large_matrix_is_not_lost() -> None:
    values = torch.zeros(3000, 3000)
    values[1234, 567] = float("nan")

    pixels = frame(values)

    body = pixels[70:]  # below the figures, which say it in red, too
    assert is_colour(body, DANGER).any()


def test_a_smaller_tensor_is_seen_with_the_scale_of_the_larger_one_before() -> None:
    canvas, view = Canvas((640, 480)), SeriesView("weight")
    values = torch.tensor([[-1.0, 1.0], [0.5, -0.5]])
    frame_of(view.of_tensor(0, values * 4, canvas), canvas)

    later = drawn(view.of_tensor(1, values, canvas), canvas)

    assert tuple(cells(later, 2, 2)[0, 1]) == tuple(DIVERGING[round(127 + 127 / 4)])


# --- tiles --------------------------------------------------------------------------------------------


def test_filters_of_three_channels_are_in_colour() -> None:
    filters = torch.zeros(1, 3, 3, 3)
    filters[0, 0, 0, 0], filters[0, 1, 1, 1], filters[0, 2, 2, 2] = 1.0, 1.0, -1.0

    pixels = frame(filters)

    for colour in ((255, 128, 128), (128, 255, 128), (128, 128, 0)):
        assert is_colour(pixels, colour).sum() > 1000


def test_a_filter_is_a_row_and_a_channel_a_column() -> None:
    filters = torch.zeros(2, 2, 3, 3)
    filters[0, 1] = 1.0
    filters[1, 0] = -1.0

    pixels = frame(filters)

    down, across = numpy.nonzero(is_colour(pixels[62:, :460], DIVERGING[-1]))
    below, left = numpy.nonzero(is_colour(pixels[62:, :460], DIVERGING[0]))
    assert numpy.median(down) < numpy.median(below)
    assert numpy.median(left) < numpy.median(across)


def test_more_filters_than_pixels_are_counted() -> None:
    canvas = Canvas((640, 480))
    moment = SeriesView("conv.weight").of_tensor(0, torch.randn(512, 512, 3, 3), canvas)

    said = moment.chart.draw(canvas, _body_of(canvas), moment.taken)

    assert "of 512 filters" in said
    assert "of 512 channels" in said


# --- which kind ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [
        ("fc.weight", (10, 20), "picture"),
        ("mask", (1, 28, 28), "picture"),
        ("conv.weight", (8, 3, 5, 5), "tiles"),
        ("conv.weight.Grad", (8, 3, 5, 5), "tiles"),
        ("conv.weight.exp_avg", (8, 3, 5, 5), "tiles"),
        ("conv.weight", (8, 4, 1, 1), "picture"),
        ("conv.Act", (8, 3, 5, 5), "histogram"),
        ("conv.Grad", (8, 3, 5, 5), "histogram"),
        ("image", (8, 3, 224, 224), "histogram"),
        ("bias", (10,), "histogram"),
        ("loss", (), "histogram"),
        ("conv1d.weight", (8, 4, 3), "histogram"),
        ("nothing", (0, 3), "histogram"),
    ],
)
def test_the_shape_says_what_is_drawn(name: str, shape: tuple[int, ...], kind: str) -> None:
    assert kind_of(name, shape) == kind


@pytest.mark.parametrize(
    "shape", [(), (0,), (3, 0), (5,), (4, 4), (1, 4, 4), (2, 3, 4), (2, 3, 3, 3), (2, 2, 2, 2, 2)]
)
@pytest.mark.parametrize("kind", ["auto", "picture", "tiles", "histogram"])
@pytest.mark.parametrize("fill", [0.0, 1.0, float("nan"), float("inf"), 3e38, 1e-40])
def test_whatever_is_asked_for_there_is_a_frame(shape: tuple[int, ...], kind: Any, fill: float) -> None:
    pixels = frame(torch.full(shape, fill), kind=kind)

    assert pixels.shape == (480, 640, 3)


@pytest.mark.parametrize(
    "dtype",
    [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float64, torch.complex64],
)
def test_every_type_of_number_is_drawn_as_its_value(dtype: torch.dtype) -> None:
    plain = frame(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))

    seen = frame(torch.tensor([[0, 1], [1, 0]]).to(dtype))

    assert (cells(seen, 2, 2) == cells(plain, 2, 2)).all()


def test_a_tensor_that_needs_gradients_or_is_a_view_is_drawn() -> None:
    whole = torch.arange(36.0).reshape(6, 6).requires_grad_()

    seen = frame(whole[::2, 1::2].T)

    assert (seen == frame(whole.detach()[::2, 1::2].T.contiguous())).all()


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(InputError, match="numbers"):
        frame(numpy.array(["text"]))


# --- histograms ---------------------------------------------------------------------------------------


@given(arrays.arrays(numpy.float32, st.integers(1, 300), elements=st.floats(-100, 100, width=32)))
def test_few_values_are_counted_exactly(values: Any) -> None:
    spread = Spread.of_values(values)

    counts, _ = numpy.histogram(values.astype(float), 40, (-101, 101))
    assert numpy.allclose(spread.shares(-101, 101, 40), counts / values.size)


def test_zeros_belong_into_one_bar() -> None:
    values = numpy.concatenate([numpy.zeros(50_000), numpy.linspace(-0.7, 1.3, 50_000)])

    shares = Spread.of_values(values).shares(-1.0, 1.5, 50)

    assert shares[20] == pytest.approx(0.5 + 0.0125, abs=2e-3)
    assert shares[19] == pytest.approx(0.0125, abs=2e-3)


def test_many_values_are_counted_nearly_exactly() -> None:
    values = numpy.random.default_rng(0).normal(0, 1, 200_000)
    canvas = Canvas((640, 480))

    spread = SeriesView("bias").of_tensor(0, values, canvas).taken

    assert isinstance(spread, Spread)
    counts, _ = numpy.histogram(values, 30, (-6, 6))
    assert numpy.abs(spread.shares(-6, 6, 30) - counts / values.size).max() < 1e-3


def test_bars_are_as_high_as_their_shares() -> None:
    values = torch.cat([torch.full((75,), 0.11), torch.full((25,), 0.91)])

    pixels = frame(values)

    heights = is_colour(pixels, BAR).sum(axis=0)
    bars = heights[heights > 0]
    assert bars.max() == pytest.approx(3 * bars.min(), rel=0.03)
    columns = numpy.flatnonzero(heights)
    assert (heights[columns[:3]] == bars.max()).all()
    assert (heights[columns[-3:]] == bars.min()).all()


def test_zeros_alone_have_a_bar_of_their_own() -> None:
    heights = is_colour(frame(torch.zeros(100)), BAR).sum(axis=0)

    assert 5 <= (heights > 0).sum() <= 12


# --- whole frames -------------------------------------------------------------------------------------


def test_an_image_keeps_its_colours() -> None:
    rgba = numpy.zeros((2, 2, 4), numpy.uint8)
    rgba[..., 3] = 255
    rgba[0, 1, :3], rgba[1, 0, 3] = (10, 200, 30), 0
    canvas = Canvas((640, 480))

    pixels = drawn(SeriesView("image").of_image(0, Pillow.fromarray(rgba)), canvas)

    assert is_colour(pixels[62:440, 320:], (10, 200, 30)).sum() > 10_000
    assert is_colour(pixels[62:440, :320], (0, 0, 0)).any()
    assert not is_colour(pixels[62:440, :320], (10, 200, 30)).any()


@pytest.mark.parametrize("size", [(4000, 1), (1, 4000)])
def test_a_line_is_not_lost_where_an_image_is_made_smaller(size: tuple[int, int]) -> None:
    image = Pillow.new("RGB", size, (10, 200, 30))

    pixels = drawn(SeriesView("image").of_image(0, image), Canvas((640, 480)))

    assert is_colour(pixels, (10, 200, 30)).sum() > 300


@pytest.mark.parametrize("size", [(16, 16), (64, 64), (100, 80), (160, 120), (281, 201), (1920, 1080)])
def test_a_frame_has_its_size(size: tuple[int, int]) -> None:
    canvas = Canvas(size)
    for tensor in (torch.randn(4, 4), torch.randn(8, 3, 3, 3), torch.randn(8, 8, 3, 3), torch.randn(100)):
        pixels = drawn(
            SeriesView("a name that is too long for a small frame").of_tensor(0, tensor, canvas), canvas
        )
        assert pixels.shape == (size[1], size[0], 3)
        assert not is_colour(pixels, SURFACE).all()


def test_name_and_step_are_in_the_frame() -> None:
    canvas = Canvas((640, 480))
    values = torch.eye(3)
    pixels = {
        (name, step): drawn(SeriesView(name).of_tensor(step, values, canvas), canvas)[:34]
        for name in ("one", "two")
        for step in (1, 2)
    }

    assert (pixels["one", 1][:, :320] == pixels["one", 2][:, :320]).all()
    assert (pixels["one", 1][:, 320:] != pixels["one", 2][:, 320:]).any()
    assert (pixels["one", 1][:, :320] != pixels["two", 1][:, :320]).any()


def test_a_piece_says_of_what_it_is_one() -> None:
    canvas = Canvas((640, 480))
    piece = torch.eye(3)
    plain, of_more, of_all = (
        drawn(SeriesView("w", "auto", whole).of_tensor(0, piece, canvas), canvas)[34:60]
        for whole in (None, (30, 30), (3, 3))
    )

    assert (plain == of_all).all()
    assert (plain != of_more).any()


@pytest.mark.parametrize("size", [1, 10, 1000, 100_000])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_figures_of_a_frame_are_those_of_torch(size: int, scale: float) -> None:
    torch.manual_seed(0)
    values = (torch.randn(size, dtype=torch.float64) + 3) * scale
    values = values.float()
    spoilt = torch.cat([values, torch.tensor([float("nan"), float("inf"), -float("inf")])])

    moment = SeriesView("bias").of_tensor(0, spoilt, Canvas((640, 480)))

    exact = values.double()
    std = pytest.approx(exact.std().item(), rel=1e-4) if size > 1 else None
    assert moment.figures["mean"] == pytest.approx(exact.mean().item(), rel=1e-5)
    assert moment.figures["std"] == std
    assert (moment.figures["min"], moment.figures["max"]) == (values.min().item(), values.max().item())
    assert moment.counts == {"NaN": 1, "Inf": 2}


@pytest.mark.parametrize("values", [[1.5], [1.0, 2.0, 4.0], [3.0, 3.0]])
def test_the_std_of_a_tensor_and_of_its_histogram_are_the_same(tmp_path: Path, values: list[float]) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log_histogram(0, "h", numpy.array(values))
    (record,) = tl.open_run(tmp_path / "run").histograms("h")
    canvas = Canvas((640, 480))

    of_histogram = SeriesView("h").of_histogram(record).figures["std"]
    of_tensor = SeriesView("h").of_tensor(0, numpy.array(values), canvas).figures["std"]

    assert of_histogram == pytest.approx(of_tensor)
    assert (of_tensor is None) == (len(values) == 1)


# --- scales ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_of_colours", [True, False])
@given(ranges=st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=20))
def test_limits_hold_all_that_was_seen_and_never_shrink(
    ranges: list[tuple[float, float]], is_of_colours: bool
) -> None:
    limits = Limits(is_of_colours=is_of_colours)
    before = None
    for pair in ranges:
        limits.include(numpy.array(pair))
        largest = max(map(abs, pair))
        if largest > 0:
            assert limits.low - 1e-6 * largest <= min(pair)
            assert max(pair) <= limits.high + 1e-6 * largest
            if before is not None:
                assert limits.low <= before[0]
                assert limits.high >= before[1]
            before = limits.low, limits.high
        assert limits.low < limits.high
        if is_of_colours and limits.low < 0 < limits.high:
            assert limits.low == -limits.high


def test_values_close_together_are_told_apart_without_zero() -> None:
    limits = Limits(is_of_colours=True)
    limits.include(numpy.array([0.98, 1.03]))

    assert 0.8 < limits.low <= 0.98
    assert 1.03 <= limits.high < 1.2


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_lie_between_the_limits_and_are_few(low: float, span: float, most: int) -> None:
    limits = Limits()
    limits.include(numpy.array([low, low + span]))

    found = limits.ticks(most)

    slack = 1e-5 * (limits.high - limits.low)
    assert 1 <= len(found) <= most + 1
    assert all(limits.low - slack <= tick <= limits.high + slack for tick in found)
