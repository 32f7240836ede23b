"""What frames rest on: limits that last, numbers that are short, pictures that are read from files."""

from __future__ import annotations

import io
import struct
import tracemalloc
import warnings
import zlib

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from torcheer.errors import FileFormatError
from torcheer.video.canvas import LIGHT, Canvas
from torcheer.video.charts import AxisLimits, ColourLimits, readable_number, readable_whole, ticks
from torcheer.video.from_run import decode_picture

FINITE = st.floats(-1e6, 1e6, allow_nan=False, width=32)


@given(st.lists(st.tuples(FINITE, FINITE).map(sorted), min_size=1, max_size=20))
def test_limits_hold_all_that_was_seen_and_never_shrink(ranges: list[list[float]]) -> None:
    for limits in (ColourLimits(), AxisLimits()):
        before = None
        for low, high in ranges:
            limits.include(low, high)
            if max(abs(low), abs(high)) > 0:
                slack = 1e-6 * max(abs(low), abs(high))
                assert limits.low - slack <= low
                assert high <= limits.high + slack
                if before is not None:
                    assert limits.low <= before[0]
                    assert limits.high >= before[1]
                before = limits.low, limits.high
            assert limits.low < limits.high


@given(st.lists(st.tuples(FINITE, FINITE).map(sorted), min_size=1, max_size=20))
def test_a_colour_scale_with_both_signs_is_symmetric(ranges: list[list[float]]) -> None:
    limits = ColourLimits()
    for low, high in ranges:
        limits.include(low, high)
    if limits.is_centred:
        assert limits.low == -limits.high
        assert limits.levels(numpy.array([0.0]))[0] == 127


def test_values_close_together_are_told_apart_without_zero() -> None:
    limits = ColourLimits()
    limits.include(0.98, 1.03)

    assert 0.8 < limits.low <= 0.98
    assert 1.03 <= limits.high < 1.2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.5, "−0.5"),
        (1234.4, "1234"),
        (1.5e-7, "1.5e−7"),
        (0.012345, "0.0123"),
        (float("nan"), "NaN"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert readable_number(value) == text


def test_steps_are_grouped_and_digits_are_equally_wide() -> None:
    canvas = Canvas((640, 480), LIGHT)

    assert readable_whole(1234567) == "1\N{THIN SPACE}234\N{THIN SPACE}567"
    assert canvas.text_width("1111", "title") == canvas.text_width("8888", "title")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 8))
def test_ticks_lie_between_the_limits_and_are_few(low: float, span: float, most: int) -> None:
    found = ticks(low, low + span, most)

    assert len(found) <= most
    assert all(low - 1e-5 * span <= tick <= low + span * (1 + 1e-5) for tick in found)


# --- pictures of files --------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_of_any_usual_format_is_read(format: str) -> None:
    file = io.BytesIO()
    Pillow.new("RGB", (16, 12), (200, 100, 50)).save(file, format)

    pixels = numpy.asarray(decode_picture(file.getvalue()).convert("RGB"))

    assert pixels.shape == (12, 16, 3)
    assert numpy.abs(pixels[6, 8].astype(int) - [200, 100, 50]).max() < 6


@pytest.mark.parametrize("cut", [0, 10, 40, 60])
def test_a_picture_that_is_cut_short_is_refused(cut: int) -> None:
    file = io.BytesIO()
    Pillow.effect_noise((20, 20), 50).save(file, "PNG")

    with pytest.raises(FileFormatError):
        decode_picture(file.getvalue()[:cut])


@pytest.mark.parametrize("side", [9_000, 12_000, 1_000_000])
def test_a_picture_that_says_it_is_huge_is_refused_before_it_is_unpacked(side: int) -> None:
    file = io.BytesIO()
    Pillow.new("L", (1, 1)).save(file, "PNG")
    header = b"IHDR" + struct.pack(">II", side, side) + file.getvalue()[24:29]
    data = file.getvalue()[:12] + header + struct.pack(">I", zlib.crc32(header)) + file.getvalue()[33:]

    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FileFormatError, match=r"pixels"):
            decode_picture(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 1 << 20
