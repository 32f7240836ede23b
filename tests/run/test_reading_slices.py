"""Pieces of records, and what records say of themselves, read without the rest of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import torcheer as tl
from tests.run.handmade import HandmadePart
from torcheer.run.read.part_queries import Slice
from torcheer.run.read.parts import SeriesKey
from torcheer.run.read.run_reader import RunReader
from torcheer.run.read.sqlite_part import SqlitePart
from torcheer.run.records import decode_head


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
