"""Statistics that say what cannot be: what makes sense is read, and the rest is in the note."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.run.handmade_part import HandmadePart
from tests.run.raw_tables import quick_folder
from tests.run.watching import COLUMNS, figure, log_plan, log_table, rows_of, table_at
from torcheer.run.read import watched
from torcheer.run.read.run_reader import RunReader
from torcheer.run.records import AlarmHead, GapHead, StatisticsHead, WatchHead
from torcheer.run.run import Run

GOOD = table_at(range(4))


def statistics_head(**changed: object) -> StatisticsHead:
    return msgspec.structs.replace(GOOD.head(), **changed)


def watch_head(**changed: object) -> WatchHead:
    head = WatchHead(digest="plan", num_rows=2, columns=list(COLUMNS), every="20/s")
    return msgspec.structs.replace(head, **changed)


@pytest.fixture
def part(tmp_path: Path) -> HandmadePart:
    part = HandmadePart(tmp_path)
    part.add_record("watch", "watch", watch_head(), msgspec.json.encode(rows_of("ab")))
    part.add_record("statistics", "watch", GOOD.head(), GOOD.data(), time=1000.0)
    return part


def steps_in(part: HandmadePart) -> tuple[list[int], str]:
    """What is read of it, and the note."""
    reader = RunReader(part.path.parent)
    found = [reader.watched.table(0, column) for column in COLUMNS]
    rows = [reader.watched.row(0, row.name) for row in reader.watched.plan(0).rows]
    assert all(row is not None for row in rows)
    for column, table in enumerate(found):
        for row in range(2):
            assert numpy.array_equal(table.values[row], figure(column, row, table.steps))
    reader.events()
    return found[0].steps.tolist(), reader.status().note


def test_what_is_right_has_no_note(part: HandmadePart) -> None:
    assert steps_in(part) == ([0, 1, 2, 3], "")


@pytest.mark.parametrize(
    "changed",
    [
        {"num_steps": 0},
        {"num_steps": -4},
        {"num_steps": 2**62},
        {"num_rows": -2},
        {"num_rows": 2**62, "num_columns": 2**62},
        {"num_rows": 0, "num_columns": 0},
        {"num_columns": 10**9},
        {"stride": 0},
        {"num_rows": 3, "num_columns": 2},  # fits its bytes, and not its plan
        {"num_rows": 6, "num_columns": 1},
        {"digest": "another"},
    ],
)
def test_a_head_that_lies_costs_its_own_block_only(part: HandmadePart, changed: dict[str, object]) -> None:
    later = table_at(range(10, 14))
    lying = msgspec.structs.replace(later.head(), **changed)
    part.add_record("statistics", "watch", lying, later.data(), time=2000.0)
    whole = table_at(range(20, 22))
    part.add_record("statistics", "watch", whole.head(), whole.data(), time=3000.0)

    steps, note = steps_in(part)

    assert steps == [0, 1, 2, 3, 20, 21]
    assert note


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE data SET bytes = zeroblob(3) WHERE record = 3",
        "UPDATE data SET bytes = 'text' WHERE record = 3",
        "DELETE FROM data WHERE record = 3",
        "UPDATE records SET num_bytes = num_bytes + 1 WHERE id = 3",
        "UPDATE records SET time = 'late' WHERE id = 3",
        "UPDATE records SET time = 9e999 WHERE id = 3",
        "UPDATE records SET head = '{}' WHERE id = 3",
        "UPDATE records SET head = zeroblob(10) WHERE id = 3",
        "UPDATE records SET step = 1.5 WHERE id = 3",
    ],
)
def test_a_damaged_row_costs_its_own_block_only(part: HandmadePart, change: str) -> None:
    later = table_at(range(10, 14))
    part.add_record("statistics", "watch", later.head(), later.data(), time=2000.0)
    part.run(change)

    steps, note = steps_in(part)

    assert steps == [0, 1, 2, 3]
    assert note


@pytest.mark.parametrize(
    ("head", "data"),
    [
        (watch_head(), b""),
        (watch_head(), b"not JSON"),
        (watch_head(), b"[" * 100_000),
        (watch_head(), b'["a", "b"]'),
        (watch_head(), b"\xff\xfe" * 100),
        (watch_head(num_rows=10**12), msgspec.json.encode(rows_of("ab"))),
        (watch_head(num_rows=-1), msgspec.json.encode(rows_of("ab"))),
        (watch_head(num_rows=1), msgspec.json.encode(rows_of("ab"))),
        (watch_head(columns=[]), msgspec.json.encode(rows_of("ab"))),
    ],
)
def test_statistics_of_which_nobody_knows_what_they_are_of_are_left_out(
    tmp_path: Path, head: WatchHead, data: bytes
) -> None:
    part = HandmadePart(tmp_path)
    part.add_record("watch", "watch", head, data)
    part.add_record("statistics", "watch", GOOD.head(), GOOD.data())
    reader = RunReader(tmp_path)

    assert reader.watched.table(0, "mean").steps.tolist() == []
    assert reader.status().note or not reader.watched.ranks()


def test_names_that_stand_there_twice_are_one_row(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_record("watch", "watch", watch_head(), msgspec.json.encode(rows_of("aa")))
    part.add_record("statistics", "watch", GOOD.head(), GOOD.data())
    table = RunReader(tmp_path).watched.table(0, "mean")

    assert table.names == ["a.weight"]
    assert table.values.shape == (1, 4)


def test_more_rows_than_anybody_watches_are_left_out(
    part: HandmadePart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "_MOST_ROWS", 1)
    table = RunReader(part.path.parent).watched.table(0, "std")

    assert table.names == ["a.weight"]
    assert numpy.array_equal(table.values, [figure(1, 0, table.steps)])


def test_alarms_and_gaps_with_bytes_are_none(part: HandmadePart) -> None:
    alarm = AlarmHead(layer="a", variable="weight", value=1.0, threshold=0.5, message="it is large")
    gap = GapHead(reason="full", counts={"a.weight": 2}, last_step=5, message="")
    part.add_record("alarm", "nan", alarm, b"")
    part.add_record("alarm", "nan", alarm, b"something")
    part.add_record("gap", "watch", gap, b"")
    part.add_record("gap", "watch", gap, b"something")
    part.add_record(
        "gap", "watch", b'{"kind":"gap","reason":"bored","counts":{},"last_step":1,"message":""}', b""
    )
    reader = RunReader(part.path.parent)
    found = reader.events()

    assert (len(found.alarms), len(found.gaps)) == (1, 1)
    assert reader.status().note


@given(
    st.integers(-3, 2**40),
    st.integers(-3, 2**40),
    st.integers(-3, 2**40),
    st.integers(0, 2**20),
    st.integers(-1, 3),
)
def test_only_what_fits_its_bytes_fits(
    num_columns: int, num_rows: int, num_steps: int, num_bytes: int, stride: int
) -> None:
    head = StatisticsHead(
        digest="",
        num_columns=num_columns,
        num_rows=num_rows,
        num_steps=num_steps,
        last_step=0,
        last_time=0.0,
        stride=stride,
    )
    is_right = min(num_columns, num_rows) >= 0 and min(num_steps, stride) >= 1
    assert head.fits(num_bytes) == (is_right and num_bytes == num_steps * (16 + 4 * num_columns * num_rows))


@given(st.integers(0, 2**32))
def test_bytes_that_changed_on_disk_never_crash_a_reader(seed: int) -> None:
    chance = random.Random(seed)
    with quick_folder() as folder:
        with Run(folder) as run:
            log_plan(run)
            for start in range(0, 60, 6):
                log_table(run, table_at(range(start, start + 6)))
            run.log_alarm(3, "nan", layer="a")
        path = Path(folder) / "rank-0.sqlite"
        raw = bytearray(path.read_bytes())
        for _ in range(chance.randrange(1, 30)):
            at = chance.randrange(100, len(raw))
            raw[at : at + 4] = chance.randbytes(4)
        path.write_bytes(raw)

        reader = RunReader(folder)
        for rank in reader.watched.ranks():
            for name in reader.watched.plan(rank).columns:
                table = reader.watched.table(rank, name)
                assert table.values.shape == (len(table.rows), len(table.steps))
            for row in reader.watched.plan(rank).rows:
                reader.watched.row(rank, row.name)
        reader.events()
        reader.status()
