"""What frames rest on: limits that last, numbers that are short, pictures that are read from files."""

from __future__ import annotations

import io

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from tests.many import examples
from torcheer.errors import FileFormatError
from torcheer.inspector.recording.charts.images import decode_image
from torcheer.inspector.recording.charts.limits import AxisLimits, ColourLimits
from torcheer.inspector.recording.lettering import Lettering
from torcheer.inspector.recording.pngreading import decode_png
from torcheer.inspector.recording.readable import readable_number, readable_whole, ticks

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
    letters = Lettering()

    assert readable_whole(1234567) == "1\N{THIN SPACE}234\N{THIN SPACE}567"
    assert letters.width("1111", "title") == letters.width("8888", "title")


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 8))
def test_ticks_lie_between_the_limits_and_are_few(low: float, span: float, most: int) -> None:
    found = ticks(low, low + span, most)

    assert len(found) <= most
    assert all(low - 1e-5 * span <= tick <= low + span * (1 + 1e-5) for tick in found)


# --- pictures of files --------------------------------------------------------------------------------


@settings(deadline=None, max_examples=examples(40))
@given(
    st.sampled_from(["L", "LA", "RGB", "RGBA", "P"]),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(0, 2**32 - 1),
)
def test_a_png_is_read_as_pillow_reads_it(mode: str, width: int, height: int, seed: int) -> None:
    generator = numpy.random.default_rng(seed)
    smooth = generator.integers(0, 40, (height, width, 4)).cumsum(axis=0).cumsum(axis=1).astype(numpy.uint8)
    picture = Pillow.fromarray(smooth, "RGBA").convert(mode)
    file = io.BytesIO()
    picture.save(file, "PNG")

    pixels = decode_png(file.getvalue())

    assert (pixels == numpy.asarray(Pillow.open(file).convert("RGBA"))).all()


@pytest.mark.parametrize("cut", [0, 10, 40, 60])
def test_a_png_that_is_cut_short_is_refused(cut: int) -> None:
    file = io.BytesIO()
    Pillow.effect_noise((20, 20), 50).save(file, "PNG")

    with pytest.raises(FileFormatError):
        decode_png(file.getvalue()[:cut])


def test_a_jpeg_is_read_by_the_library() -> None:
    file = io.BytesIO()
    Pillow.new("RGB", (16, 16), (200, 100, 50)).save(file, "JPEG", quality=95)

    pixels = decode_image(file.getvalue(), "jpeg")

    assert numpy.abs(pixels[8, 8, :3].astype(int) - [200, 100, 50]).max() < 6
