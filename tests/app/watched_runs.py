"""Runs with something watched in them, and what a page hears of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import torcheer as tl
from tests.app.runs_page import RunsPage
from torcheer.run import WatchedRow

COLUMNS = ("mean", "norm", "nan", "inf")


def row_of(name: str) -> WatchedRow:
    layer, _, variable = name.rpartition(".")
    return WatchedRow(
        name=name, layer=layer, variable=variable, role="activation", module="ReLU", shape=[2, 3]
    )


def log_plan(run: tl.Run, *names: str, digest: str = "a", every: str = "20/s") -> None:
    run.log_watch(0, [row_of(name) for name in names], COLUMNS, digest=digest, every=every)


def log_figures(run: tl.Run, steps: Sequence[int] | np.ndarray, values: Any, digest: str = "a") -> None:
    """Figures as [column][row][step], a second for each step."""
    steps = np.asarray(steps, dtype=np.int64)
    run.log_statistics(digest, steps, 1.7e9 + steps.astype(np.float64), np.asarray(values, np.float32))


def figures(num_rows: int, steps: Sequence[int] | np.ndarray, seed: int = 0) -> np.ndarray:
    """Figures as [column][row][step], without NaN and infinities."""
    table = np.random.default_rng(seed).normal(size=(len(COLUMNS), num_rows, len(steps)))
    table[2:] = 0.0
    return table.astype(np.float32)


class Heat(NamedTuple):
    """An answer about all rows."""

    answer: Any
    values: np.ndarray  # [row][bucket]
    marks: np.ndarray

    @property
    def names(self) -> list[str]:
        return [row["name"] for row in self.answer["rows"]]


def ask_heat(page: RunsPage, run_id: str, column: str = "mean", **changes: Any) -> int:
    question = {"rank": 0, "low": None, "high": None, "num_buckets": 100, "column": column}
    return page.begin("watched", run_id=run_id, **(question | changes))


def hear_heat(page: RunsPage, number: int) -> Heat:
    answer, data = page.hear(number)
    assert answer["type"] == "watched", answer
    shape = len(answer["rows"]), len(answer["first_steps"])
    size = shape[0] * shape[1]
    assert len(data) == 5 * size
    values = np.frombuffer(data, "<f4", size).reshape(shape)
    return Heat(answer, values, np.frombuffer(data, np.uint8, size, 4 * size).reshape(shape))


def heat(page: RunsPage, run_id: str, column: str = "mean", **changes: Any) -> Heat:
    number = ask_heat(page, run_id, column, **changes)
    found = hear_heat(page, number)
    page.stop(number)
    return found


def ask_row(page: RunsPage, run_id: str, row: str, **changes: Any) -> int:
    question = {"rank": 0, "low": None, "high": None, "num_buckets": 100, "row": row}
    return page.begin("watched_row", run_id=run_id, **(question | changes))


def hear_row(page: RunsPage, number: int) -> tuple[Any, np.ndarray]:
    answer, data = page.hear(number)
    assert answer["type"] == "watched_row", answer
    shape = len(answer["columns"]), len(answer["first_steps"])
    values = np.frombuffer(data, "<f4", shape[0] * shape[1]).reshape(shape)
    marks = np.frombuffer(data, bool, offset=values.nbytes).reshape(shape)
    answer["estimates"] = dict(zip(answer["columns"], marks.tolist(), strict=True))
    return answer, values


def only_id(page: RunsPage) -> str:
    (run,) = page.all_runs(1).values()
    return str(run["id"])


def push_at_once(monkeypatch: pytest.MonkeyPatch, seconds: float = 0.02) -> None:
    monkeypatch.setattr("torcheer.app.runs.watched_figures._PUSH_SECONDS", seconds)
