"""Watched runs of somebody else's making: what they say of themselves is not believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.app.runs_page import RunsPage, page_on
from tests.app.serving import SECRET
from tests.app.watched_runs import (
    COLUMNS,
    ask_heat,
    ask_row,
    figures,
    hear_heat,
    hear_row,
    heat,
    only_id,
    push_at_once,
    row_of,
)
from tests.run.handmade_part import HandmadePart
from torcheer.app.listen import listen
from torcheer.app.passes.saved import SavedPasses
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.server import Server, Serving
from torcheer.errors import FileFormatError
from torcheer.run import RunReader, StatisticsHead, WatchedRow, WatchHead, find_runs


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


WATCHED: dict[str, Any] = {
    "type": "watched",
    "run_id": "x",
    "rank": 0,
    "column": "mean",
    "low": None,
    "high": None,
    "num_buckets": 9,
}
ROW = {**WATCHED, "type": "watched_row", "row": "a.Act"}
del ROW["column"]


@pytest.mark.parametrize(
    "question",
    [
        WATCHED | {"num_buckets": 0},
        WATCHED | {"num_buckets": 2049},
        WATCHED | {"column": "c" * 65},
        WATCHED | {"rank": "first"},
        WATCHED | {"low": 0.5},
        WATCHED | {"path": "/etc/passwd"},
        ROW | {"row": "r" * 4097},
        ROW | {"num_buckets": 2**60},
        {"type": "events", "run_ids": ["x"] * 257},
        {"type": "events", "run_ids": "x"},
    ],
)
def test_a_question_that_nobody_should_ask_is_refused(tmp_path: Path, question: dict[str, Any]) -> None:
    with page_on(tmp_path) as page:
        page.socket.send(json.dumps({"id": 7, **question}))
        assert page.hear(7).answer["type"] == "refusal"
        assert page.once("events", run_ids=[]).answer["is_all"]


def test_a_plan_that_is_written_anew_with_other_rows_is_no_trap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_at_once(monkeypatch)
    values = figures(3, range(10))
    part = HandmadePart(tmp_path / "run")
    add_plan(part, [row_of("a.Act"), row_of("b.Act")])
    add_figures(part, range(10), values[:, :2])
    with page_on(tmp_path) as page:
        number = ask_heat(page, only_id(page))
        assert np.array_equal(hear_heat(page, number).values, values[0, :2])
        add_plan(part, [row_of("a.Act"), row_of("b.Act"), row_of("c.Act")])
        add_figures(part, range(10, 20), values)
        while (found := hear_heat(page, number)).answer["last_steps"] != list(range(10, 20)):
            pass
        assert np.array_equal(found.values, values[0])


def test_a_run_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    add_plan(part, [row_of("a.Act")])

    def opener(path: Path) -> RunReader:
        raise FileFormatError("it is no run: make it again.")

    runs = RunShelf([tmp_path], find_runs, opener)
    with Serving(Server(SavedPasses(()), listen(port=0), SECRET, runs)) as serving, RunsPage(serving) as page:
        (run,) = page.all_runs(1).values()
        for question in (WATCHED, ROW):
            page.socket.send(json.dumps(question | {"id": 7, "run_id": run["id"]}))
            assert "make it again" in page.hear(7).answer["message"]
        events = page.once("events", run_ids=[run["id"]]).answer
        assert (events["is_all"], events["alarms"]) == (True, [])
