"""Watched runs of somebody else's making: what they say of themselves is not believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.app.following import page_on
from tests.app.watched_runs import COLUMNS, ask_row, figures, hear_row, heat, only_id, row_of
from tests.run.handmade import HandmadePart
from torcheer.run.records import StatisticsHead, WatchedRow, WatchHead


def add_plan(
    part: HandmadePart, rows: Any, digest: str = "a", num_rows: int | None = None, columns: Any = COLUMNS
) -> None:
    data = rows if isinstance(rows, bytes) else msgspec.json.encode(rows)
    num_rows = len(rows) if num_rows is None else num_rows
    head = WatchHead(digest=digest, num_rows=num_rows, columns=list(columns), every="x" * 100_000)
    part.add_record("watch", "watch", head, data)


def add_figures(part: HandmadePart, steps: Any, values: Any, digest: str = "a", **lies: Any) -> None:
    steps = np.asarray(steps, "<i8")
    values = np.asarray(values, "<f4")
    times = lies.pop("times", 1000.0 + np.arange(len(steps)))
    told: dict[str, Any] = dict(zip(("num_columns", "num_rows", "num_steps"), values.shape, strict=True))
    told |= {"last_step": int(steps[-1]), "last_time": 1000.0 + len(steps)}
    head = StatisticsHead(digest=digest, **(told | lies))
    data = steps.tobytes() + np.asarray(times, "<f8").tobytes() + values.tobytes()
    part.add_record("statistics", "watch", head, data, step=int(steps[0]))


def test_blocks_that_are_not_what_they_say_are_passed_over(tmp_path: Path) -> None:
    good = figures(2, range(10))
    part = HandmadePart(tmp_path / "run")
    add_plan(part, [row_of("a.Act"), row_of("b.Act")])
    add_figures(part, range(10), good)
    lies: list[dict[str, Any]] = [
        {"num_rows": 2**60},
        {"num_rows": -2},
        {"num_steps": 2**61},
        {"num_steps": 0},
        {"num_columns": 2**63 - 1},
        {"num_columns": 0, "num_rows": 0},
        {"num_columns": 2, "num_rows": 4},  # as many bytes, but not as the plan has it
        {"digest": "unknown"},
        {"digest": "\0" * 1000},
    ]
    for number, lie in enumerate(lies):
        add_figures(part, range(20 + 10 * number, 30 + 10 * number), good, **lie)
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        for column, values in zip(COLUMNS, good, strict=True):
            found = heat(page, run_id, column)
            assert found.answer["first_steps"] == list(range(10))
            assert np.array_equal(found.values, values)
        assert len(found.answer["every"]) <= 2000
        _, row = hear_row(page, ask_row(page, run_id, "b.Act"))
        assert np.array_equal(row, good[:, 1])


@pytest.mark.parametrize(
    ("rows", "num_rows"),
    [
        (b"", 1),
        (b"[" * 100_000, 1),
        (b"\xff\xfe", 1),
        (b'[{"name": 5}]', 1),
        (b"null", 1),
        ([row_of("a.Act")], 2**62),
        ([row_of("a.Act")], -1),
        ([], 0),
    ],
    ids=["empty", "deep", "no text", "no name", "null", "fewer", "negative", "none"],
)
def test_a_plan_that_cannot_be_leaves_the_page_alive(tmp_path: Path, rows: Any, num_rows: int) -> None:
    part = HandmadePart(tmp_path / "run")
    add_plan(part, rows, num_rows=num_rows)
    add_figures(part, range(5), figures(1, range(5)))
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        assert heat(page, run_id).values.size == 0
        answer, _ = hear_row(page, ask_row(page, run_id, "a.Act"))
        assert answer["row"] is None


def test_rows_and_columns_of_any_kind_can_be_sent(tmp_path: Path) -> None:
    rows = [
        WatchedRow(name="x" * 5000, layer="", variable="", role="", module=""),  # no page can ask for it
        WatchedRow(
            name="<script>\u2028", layer="l" * 9999, variable="v" * 9999, role="r" * 9999, module="m" * 9999
        ),
        WatchedRow(name="deep", layer="", variable="", role="", module="", shape=[1] * 1000),
        WatchedRow(name="wide", layer="", variable="", role="", module="", shape=[2**62]),
        WatchedRow(name="", layer="", variable="", role="", module="", shape=[]),
    ]
    columns = ["c" * 5000, "mean", "mean", ""]
    values = figures(5, range(4))
    part = HandmadePart(tmp_path / "run")
    add_plan(part, rows, columns=columns)
    add_figures(part, range(4), values)
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        found = heat(page, run_id)
        assert found.names == ["<script>\u2028", "deep", "wide", ""]
        assert np.array_equal(found.values, values[1, 1:]) or np.array_equal(found.values, values[2, 1:])
        assert [row["shape"] for row in found.answer["rows"]] == [None, None, None, []]
        assert max(len(row["layer"]) for row in found.answer["rows"]) <= 2000
        answer, row = hear_row(page, ask_row(page, run_id, "wide"))
        assert row.shape == (len(answer["columns"]), 4)
        assert max(map(len, answer["columns"])) <= 64


def test_steps_and_times_in_any_order_are_shown_in_theirs(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    add_plan(part, [row_of("a.Act")])
    steps = [2**63 - 1, -(2**63), 0, 5, 5, 3]
    add_figures(part, steps, figures(1, steps), times=[np.nan, np.inf, -1e300, 0.0, 5.0, 4.0], last_step=-7)
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        for num_buckets in (1, 2, 3, 100):
            found = heat(page, run_id, num_buckets=num_buckets)
            first = found.answer["first_steps"]
            assert first == sorted(first)
            assert len(first) <= num_buckets
            assert all(abs(step) < 2**53 for step in first + found.answer["last_steps"])
