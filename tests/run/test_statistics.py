"""Blocks of statistics on disk: small ones are merged, old ones thinned, and nothing else is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, pairwise

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.many import examples
from tests.run.watching import is_true, table_at
from torcheer.run import statistics
from torcheer.run.part_storage import make_tables
from torcheer.run.records import EncodedRecord, StatisticsHead, decode_head
from torcheer.run.statistics import (
    FigureTable,
    StatisticsBlock,
    StatisticsWriter,
    block_to_thin,
    checked_table,
    joined_tables,
    purge_statistics,
    table_of,
)

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=60)


class Part:
    """The tables of a part in memory, and a writer of statistics that can be opened anew."""

    def __init__(self, max_bytes: int = 1 << 40) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        make_tables(self.connection)
        self.connection.execute("INSERT INTO names (id, kind, name) VALUES (1, 'statistics', 'watch')")
        self.max_bytes = max_bytes
        self.ids = count(1)
        self.num_thinned = 0
        self.open()

    def open(self) -> None:
        self.writer = StatisticsWriter(self.connection, self.max_bytes, self.ids)

    def add(self, *tables: FigureTable) -> None:
        records = [
            EncodedRecord("statistics", "watch", int(t.steps[0]), float(t.times[0]), t.head(), t.data())
            for t in tables
        ]
        self.num_thinned += self.writer.add(1, records)

    def tables(self) -> list[FigureTable]:
        """All blocks in their order, each checked against its row."""
        found = self.connection.execute(
            "SELECT r.step, r.head, r.num_bytes, d.bytes FROM records r JOIN data d ON d.record = r.id "
            "ORDER BY r.time"
        ).fetchall()
        tables = []
        for step, head, num_bytes, data in found:
            decoded = decode_head(head)
            assert isinstance(decoded, StatisticsHead)
            table = table_of(decoded, data)
            assert (step, num_bytes) == (table.steps[0], len(data))
            assert (decoded.last_step, decoded.last_time) == (table.steps[-1], table.times[-1])
            assert is_true(table)
            tables.append(table)
        assert self.connection.execute("SELECT count(*) FROM data").fetchone()[0] == len(found)
        return tables

    def steps(self, digest: str = "plan") -> list[int]:
        return [step for table in self.tables() if table.digest == digest for step in table.steps.tolist()]


def stretches(lengths: Sequence[int], *, start: int = 0) -> Iterator[range]:
    for length in lengths:
        yield range(start, start + length)
        start += length


@contextmanager
def blocks_of(num_bytes: int) -> Iterator[None]:
    """Smaller blocks, so that few steps make many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "_MOST_BLOCK_BYTES", num_bytes)
        patch.setattr(statistics, "_LEAST_BLOCK_BYTES", 1)
        yield


@settings(max_examples=examples(40))
@given(LENGTHS, st.integers(100, 20_000), st.integers(1, 7))
def test_merging_loses_nothing_and_keeps_the_order(lengths: list[int], most: int, at_once: int) -> None:
    with blocks_of(most):
        part = Part()
        tables = [table_at(steps) for steps in stretches(lengths)]
        for start in range(0, len(tables), at_once):
            part.add(*tables[start : start + at_once])

        assert part.steps() == list(range(sum(lengths)))
        assert part.num_thinned == 0


def test_many_small_blocks_become_few() -> None:
    with blocks_of(40_000):
        part = Part()
        for steps in stretches([1] * 2000):
            part.add(table_at(steps))

    of_step = len(table_at([0]).data())
    assert len(part.tables()) <= 2000 * of_step / 40_000 + 8 * 5
    assert max(len(table.data()) for table in part.tables()) < 2 * 40_000


@settings(max_examples=examples(40))
@given(st.lists(LENGTHS, min_size=1, max_size=4), st.integers(2_000, 20_000))
def test_a_part_that_is_opened_again_goes_on_where_it_was(sessions: list[list[int]], most: int) -> None:
    with blocks_of(most):
        part, at = Part(), 0
        for lengths in sessions:
            part.open()
            for steps in stretches(lengths, start=at):
                part.add(table_at(steps))
            at += sum(lengths)

        assert part.steps() == list(range(at))


def test_hundreds_of_short_sessions_do_not_leave_hundreds_of_blocks() -> None:
    part = Part()
    for step in range(300):
        part.open()
        part.add(table_at([step]))

    assert len(part.tables()) <= 30
    assert part.steps() == list(range(300))


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 10)), max_size=50), st.integers(500, 5_000))
def test_plans_that_take_turns_stay_apart(turns: list[tuple[str, int]], most: int) -> None:
    with blocks_of(most):
        part, at, expected = Part(), 0, dict[str, list[int]](a=[], b=[], c=[])
        for digest, length in turns:
            steps = range(at, at + length)
            part.add(table_at(steps, digest=digest, num_rows=1 + "abc".index(digest)))
            expected[digest] += steps
            at += length

        for digest, steps_of_plan in expected.items():
            assert sorted(part.steps(digest)) == steps_of_plan


@settings(max_examples=examples(40))
@given(LENGTHS, st.integers(1, 40), st.integers(1, 5))
def test_thinning_holds_the_budget_and_keeps_first_and_last(
    lengths: list[int], num_kept: int, num_plans: int
) -> None:
    of_step = len(table_at([0]).data())
    part = Part(max_bytes=4 * num_kept * of_step)
    all_steps = []
    for number, steps in enumerate(stretches(lengths)):
        part.add(table_at(steps, digest=f"plan {number * num_plans // len(lengths)}"))
        all_steps += steps
        kept = [step for table in part.tables() for step in table.steps.tolist()]

        assert all(before < after for before, after in pairwise(kept))  # none twice, none out of order
        assert (kept[0], kept[-1]) == (all_steps[0], all_steps[-1])
        assert len(kept) <= max(num_kept, 4)
        assert len(kept) == len(all_steps) - part.num_thinned
        assert part.writer.num_bytes == sum(len(table.data()) for table in part.tables())


def test_the_newest_stand_densest_and_the_old_are_not_forgotten() -> None:
    of_step = len(table_at([0]).data())
    part = Part(max_bytes=4 * 1000 * of_step)
    for steps in stretches([16] * 6_250):
        part.add(table_at(steps))
    steps_left = numpy.array(part.steps())
    gaps, ages = numpy.diff(steps_left), 99_999 - steps_left[:-1]

    assert 500 < len(steps_left) <= 1000
    assert gaps[ages < 50].max() == 1
    assert gaps[ages > 50_000].min() > gaps[ages < 1_000].max()
    assert (gaps / ages)[ages > 50].max() < 0.2  # nowhere is there a hole
    assert numpy.count_nonzero(steps_left < 50_000) > 50
    assert numpy.count_nonzero(steps_left >= 98_000) > 400
    strides = [table.stride for table in part.tables()]
    assert strides == sorted(strides, reverse=True)
    assert all(number & (number - 1) == 0 for number in strides)


def test_thinning_goes_on_after_the_part_was_opened_again() -> None:
    of_step = len(table_at([0]).data())
    part = Part(max_bytes=4 * 100 * of_step)
    for session in range(20):
        part.open()
        for steps in stretches([7] * 10, start=70 * session):
            part.add(table_at(steps))

    kept = part.steps()
    assert len(kept) <= 100
    assert (kept[0], kept[-1]) == (0, 1399)


def test_a_clock_that_is_set_back_changes_no_order() -> None:
    with blocks_of(500):
        part = Part()
        for number, steps in enumerate(stretches([3] * 50)):
            part.add(table_at(steps, start=1e6 - 1000 * number))

        assert part.steps() == list(range(150))


@settings(max_examples=examples(40))
@given(LENGTHS, st.integers(0, 300), st.integers(300, 5_000))
def test_what_is_taken_back_is_gone_and_the_rest_is_as_it_was(
    lengths: list[int], purge_step: int, most: int
) -> None:
    with blocks_of(most):
        part = Part()
        for steps in stretches(lengths):
            part.add(table_at(steps))
        num_steps = sum(lengths)

        num_changes = part.connection.total_changes
        purge_statistics(part.connection, purge_step)
        assert (part.connection.total_changes > num_changes) == (purge_step < num_steps)
        assert part.steps() == list(range(min(purge_step, num_steps)))
        part.open()
        part.add(table_at([1000]))
        assert part.steps()[-1] == 1000


def test_of_blocks_that_can_be_no_thinner_nothing_is_chosen() -> None:
    def block(id: int, num_steps: int) -> StatisticsBlock:
        return StatisticsBlock(id, float(id), table_at(range(num_steps)).head(), 20)

    assert block_to_thin([]) is None
    assert block_to_thin([block(1, 2)]) is None
    assert block_to_thin([block(1, 1), block(2, 1)]) is None
    assert block_to_thin([block(1, 3)]) is not None


def test_figures_that_do_not_go_together_are_refused() -> None:
    good = table_at([1, 2])
    assert is_true(checked_table("plan", [1, 2], good.times, good.values))
    for steps, times, values in (
        ([1.5, 2.5], good.times, good.values),
        ([1, 2, 3], good.times, good.values),
        ([1, 2], good.times, good.values[:, :, :1]),
        ([1, 2], good.times, good.values[0]),
        ([1, 2], [float("nan"), 1.0], good.values),
        ([], [], good.values[:, :, :0]),
    ):
        with pytest.raises(ValueError, match=r"steps|figures|times"):
            checked_table("plan", steps, times, values)


def test_joined_tables_are_as_thin_as_the_thinnest() -> None:
    thin = table_at(range(8)).every_second(keeps_last=False)
    joined = joined_tables([thin, table_at([8, 9])])

    assert (joined.stride, joined.steps.tolist()) == (2, [0, 2, 4, 6, 8, 9])
    assert is_true(joined)
