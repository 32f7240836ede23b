"""Whatever the blocks are and whenever they are read, the points are those that were logged."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torcheer as tl
from tests.many import examples
from tests.run.handmade_part import HandmadePart, Point
from torcheer.run.read.part_protocol import Points, SeriesKey
from torcheer.run.read.part_rows import Block, Slice
from torcheer.run.read.run_reader import RunReader
from torcheer.run.read.sqlite_part import BlockList, SqlitePart
from torcheer.run.records import decode_head
from torcheer.run.tensorboard.export import export_tensorboard

LOSS = SeriesKey("scalar", "loss")
floats = st.floats(allow_nan=True, allow_infinity=True)
batches = st.lists(
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(0, 1e10), floats), min_size=1, max_size=12
)
# What may happen: points come, neighbours are merged, points are taken back, somebody looks.
happenings = st.lists(
    st.one_of(
        st.tuples(st.just("add"), batches),
        st.tuples(st.just("merge"), st.integers(0, 20), st.integers(2, 8)),
        st.tuples(st.just("purge"), st.integers(0, 30)),
        st.tuples(st.just("look")),
    ),
    max_size=25,
)


def rows_of(points: Points) -> list[tuple[int, float, str]]:
    """As text, so that NaN is equal to itself."""
    columns = zip(points.steps.tolist(), points.times.tolist(), points.values.tolist(), strict=True)
    return [(step, time, repr(value)) for step, time, value in columns]


def as_rows(points: list[Point]) -> list[tuple[int, float, str]]:
    return [(step, time, repr(value)) for step, time, value in points]


@settings(max_examples=examples(60), deadline=None)
@given(happenings)
def test_a_follower_has_all_points_once_whichever_way_they_are_merged_or_taken_back(happened: list) -> None:
    logged: list[Point] = []
    followed: list[tuple[int, float, str]] = []
    cursor = None
    with tempfile.TemporaryDirectory() as folder:
        part = HandmadePart(Path(folder))
        reader = RunReader(folder)
        for what, *details in [*happened, ("look",)]:
            if what == "add":
                part.add_block("loss", details[0])
                logged += details[0]
            elif what == "merge":
                part.merge("loss", *details)
            elif what == "purge":
                part.purge("loss", details[0])
                del logged[details[0] :]
            else:
                reader.refresh()
                tail = reader.tail("loss", cursor)
                cursor = tail.cursor
                followed = rows_of(tail.points) if tail.is_fresh else followed + rows_of(tail.points)

                assert followed == as_rows(logged)
                assert rows_of(reader.points("loss")) == as_rows(logged)
        check_entry(reader, logged)
        part.connection.close()
        reader.close()


def check_entry(reader: RunReader, logged: list[Point]) -> None:
    entry = reader.series().get(LOSS)
    if not logged:
        assert entry is None
        return
    bad = [step for step, _, value in logged if not math.isfinite(value)]
    assert entry is not None
    assert (entry.count, entry.last_step, entry.last_time) == (len(logged), *logged[-1][:2])
    assert repr(entry.last_value) == repr(logged[-1][2])
    assert (entry.num_bad, entry.first_bad_step) == (len(bad), bad[0] if bad else None)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(st.floats(0, 100), max_size=10), min_size=2, max_size=4))
def test_points_of_several_parts_are_in_order_of_time(times_of_parts: list[list[float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        expected = []
        for rank, times in enumerate(times_of_parts):
            part = HandmadePart(Path(folder), f"rank-{rank}", journal="delete")
            points = [(step, time, float(rank)) for step, time in enumerate(sorted(times))]
            if points:
                part.add_block("loss", points)
            expected += points
            part.connection.close()
        # One part alone keeps the order in which it was logged; here all are in order of time anyway.
        expected.sort(key=lambda point: point[1])

        assert rows_of(RunReader(folder).points("loss")) == as_rows(expected)


def test_a_part_that_appears_later_is_in_the_tail(tmp_path: Path) -> None:
    first = HandmadePart(tmp_path, "rank-0")
    first.add_block("loss", [(0, 1.0, 0.5)])
    reader = RunReader(tmp_path)
    tail = reader.tail("loss")
    second = HandmadePart(tmp_path, "rank-1")
    second.add_block("loss", [(0, 2.0, 0.25), (1, 3.0, 0.125)])
    reader.refresh()

    later = reader.tail("loss", tail.cursor)

    assert not later.is_fresh
    assert later.points.values.tolist() == [0.25, 0.125]
    assert reader.series()[LOSS].count == 3
    assert reader.series()[LOSS].last_value == 0.125


def test_a_part_that_vanishes_makes_the_tail_fresh(tmp_path: Path) -> None:
    for rank in (0, 1):
        part = HandmadePart(tmp_path, f"rank-{rank}", journal="delete")
        part.add_block("loss", [(0, float(rank), float(rank))])
        part.finish()
    reader = RunReader(tmp_path)
    tail = reader.tail("loss")
    (tmp_path / "rank-0.sqlite").unlink()
    assert reader.refresh()

    later = reader.tail("loss", tail.cursor)

    assert later.is_fresh
    assert later.points.values.tolist() == [1.0]


def test_blocks_that_were_merged_between_looking_and_reading_are_found(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    for step in range(10):
        part.add_block("loss", [(step, float(step), float(step))])
    reader = RunReader(tmp_path)
    part.add_block("loss", [(10, 10.0, 10.0)])
    part.merge("loss", 2, 9)

    # As of the last look: no more than the entry counts.
    assert reader.points("loss").values.tolist() == list(range(10))


def test_points_taken_back_between_looking_and_reading_are_not_mixed_with_new_ones(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(step, 0.0, 1.0) for step in range(10)])
    reader = RunReader(tmp_path)
    tail = reader.tail("loss")
    part.purge("loss", 3)
    part.add_block("loss", [(step, 0.0, 2.0) for step in range(3, 12)])

    assert len(reader.tail("loss", tail.cursor).points.steps) == 0
    reader.refresh()
    later = reader.tail("loss", tail.cursor)
    assert later.is_fresh
    assert later.points.values.tolist() == [1.0] * 3 + [2.0] * 9


def test_a_description_that_comes_later_is_seen(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(0, 0.0, 1.0)])
    reader = RunReader(tmp_path)
    part.run("UPDATE names SET description = 'of both'")
    reader.refresh()

    assert reader.series()[LOSS].description == "of both"


def test_series_stand_in_the_order_in_which_they_were_first_logged(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    names = [f"{letter}/{number}" for letter in "zma" for number in range(5)]
    for name in names:
        part.add_block(name, [(0, 0.0, 1.0)])
    reader = RunReader(tmp_path)
    part.add_block("m/2", [(1, 1.0, 1.0)])
    reader.refresh()

    assert [key.name for key in reader.series()] == names


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=20), st.integers(0, 80))
def test_no_point_of_overlapping_blocks_is_taken_twice(ranges: list[tuple[int, int]], start: int) -> None:
    blocks = BlockList()
    for number, (first, count) in enumerate(ranges):
        blocks.add([Block(number, 1, first, count, 0)])

    taken = [
        place for piece in blocks.pieces for place in range(piece.block.first + piece.skip, piece.block.end)
    ]

    assert taken == sorted({place for first, count in ranges for place in range(first, first + count)})
    assert blocks.count == len(taken)
    assert blocks.has_gap == (taken != list(range(len(taken))))
    assert sum(piece.num_points for piece in blocks.pieces_from(start)) == max(len(taken) - start, 0)


def test_what_is_read_cannot_be_changed(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    for step in range(2):
        part.add_block("loss", [(step, 0.0, 1.0)])

    for column in RunReader(tmp_path).points("loss"):
        assert not column.flags.writeable
        assert column.dtype in (numpy.int64, numpy.float64)


def test_nothing_new_is_nothing_new_though_the_last_value_is_no_number(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "ours")
    part.add_block("loss", [(0, 0.0, float("nan"))])
    part.finish()
    export_tensorboard(RunReader(tmp_path / "ours"), tmp_path / "theirs")

    for folder in ("ours", "theirs"):
        reader = RunReader(tmp_path / folder)
        assert not math.isfinite(reader.series()[LOSS].last_value or 0)
        assert not reader.refresh()
        assert reader.series() is reader.series()


# --- Pieces of records, and what records say of themselves, read without the rest of them -------------


def part_of(folder: Path) -> SqlitePart:
    (part,) = RunReader(folder).parts().values()
    assert isinstance(part, SqlitePart)
    return part


def test_a_slice_is_that_of_the_whole(tmp_path: Path) -> None:
    large = np.random.default_rng(0).integers(0, 255, 100_000, dtype=np.uint8)
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "a", large)
        run.log_tensor(1, "a", large[:10])
    part = part_of(tmp_path)
    first, second = part.records("tensor", "a")
    whole = part.data(first.id)
    assert whole is not None
    places = [(0, 10), (99_990, 10), (50_000, 20_000), (7, 0), (100_000, 0), (0, 100_000)]
    wanted = [Slice(first.id, first.num_bytes, start, size) for start, size in places]
    assert part.slices(wanted) == [whole[start : start + size] for start, size in places]
    assert part.slices([Slice(second.id, 10, 3, 4), wanted[0]]) == [
        large[3:7].tobytes(),
        large[:10].tobytes(),
    ]
    assert part.slices([]) == []


@pytest.mark.parametrize(("start", "size"), [(-1, 2), (0, 11), (10, 1), (11, 0), (2**62, 2**62)])
def test_a_slice_beyond_the_record_is_none(tmp_path: Path, start: int, size: int) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "a", np.zeros(10, np.uint8))
    assert part_of(tmp_path).slices([Slice(1, 10, start, size)]) == [None]


@pytest.mark.parametrize("bad", [b"123", b"x" * 500, "text", 12, None])
def test_what_is_gone_or_not_as_long_as_it_should_be_is_none_and_the_others_are_read(
    tmp_path: Path, bad: object
) -> None:
    part = HandmadePart(tmp_path)
    first, second = part.add_text("a", "0123456789"), part.add_text("a", "abcdefghij", step=1)
    if bad is None:
        part.run("DELETE FROM data WHERE record = ?", first)
    else:
        part.run("UPDATE data SET bytes = ? WHERE record = ?", bad, first)
    wanted = [Slice(first, 10, 2, 3), Slice(second, 10, 2, 3), Slice(999, 10, 0, 1)]
    assert part_of(tmp_path).slices(wanted) == [None, b"cde", None]


def test_heads_are_those_of_all_kinds_after_a_record_as_of_the_last_refresh(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    numbers = [part.add_text(name, "x", step) for step, name in enumerate(("a", "b", "a", "a"))]
    part.run("UPDATE records SET step = 'no number' WHERE id = ?", numbers[1])
    read = part_of(tmp_path)
    part.add_text("a", "later", 9)
    rows = read.heads()
    assert [row.id for row in rows] == [numbers[0], numbers[2], numbers[3]]
    assert [row.step for row in rows] == [0, 2, 3]
    assert rows[0].key == SeriesKey("text", "a")
    assert isinstance(rows[0].head, bytes)
    assert decode_head(rows[0].head) == read.records("text", "a")[0].head
    assert [row.id for row in read.heads(numbers[2])] == [numbers[3]]
    read.refresh()
    assert [row.step for row in read.heads(numbers[2])] == [3, 9]
