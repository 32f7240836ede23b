"""Tables of runs over the socket: rows as they come, tensors in their cells, figures, CSV, and what lies."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

import torcheer as tl
from tests.app.runs_page import RunsPage, make_impatient, page_on
from tests.run.handmade_part import HandmadePart
from torcheer.app.runs import table_feed
from torcheer.netview import grid_of
from torcheer.run import TableColumn, TableHead

OUTPUTS = torch.randn(3, 2, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[tl.Run]:
    with tl.Run(tmp_path / "first") as made:
        yield made


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    make_impatient(monkeypatch)


def ids(page: RunsPage, number: int = 1) -> dict[str, str]:
    return {
        name: run["id"]
        for name, run in page.runs(page.begin("runs"), lambda runs: len(runs) == number).items()
    }


def follow(page: RunsPage, *run_ids: str, name: str = "epochs", only_last: bool = False) -> int:
    return page.begin("table", run_ids=list(run_ids), name=name, only_last=only_last)


def rows(answer: dict[str, Any]) -> list[list[Any]]:
    return [row for part in answer["parts"] for row in part["rows"]]


def log_epochs(run: tl.Run, *losses: float, first: int = 1) -> None:
    for epoch, loss in enumerate(losses, first):
        run.log_row(epoch, "epochs", {"epoch": epoch, "loss": loss, "who": f"run {epoch}"})
    run.flush()


def test_rows_come_whole_first_and_then_one_by_one(run: tl.Run, tmp_path: Path) -> None:
    log_epochs(run, 0.5)
    with page_on(tmp_path) as page:
        run_id = ids(page)["first"]
        number = follow(page, run_id)
        first = page.hear(number).answer
        assert (first["is_all"], first["note"], rows(first)) == (True, "", [[1, 0.5, "run 1"]])
        (part,) = first["parts"]
        assert [(column["name"], column["form"]) for column in part["columns"]] == [
            ("epoch", "integer"),
            ("loss", "number"),
            ("who", "text"),
        ]
        assert (part["run_id"], part["step"]) == (run_id, 1)

        log_epochs(run, math.nan, -math.inf, first=2)
        found: list[list[Any]] = []
        while len(found) < 2:
            more = page.hear(number).answer
            assert not more["is_all"]
            found += rows(more)
        assert found == [[2, "NaN", "run 2"], [3, "-inf", "run 3"]]


def test_several_runs_stand_in_the_order_asked_for(run: tl.Run, tmp_path: Path) -> None:
    log_epochs(run, 0.5)
    with tl.Run(tmp_path / "second") as other:
        log_epochs(other, 0.25)
    with page_on(tmp_path) as page:
        found = ids(page, 2)
        answer = page.hear(follow(page, found["second"], found["first"], "nothing")).answer
        assert [part["run_id"] for part in answer["parts"]] == [found["second"], found["first"]]
        assert page.hear(follow(page, found["first"], name="nothing yet")).answer["parts"] == []


def test_only_the_last_rows_that_were_logged_together(run: tl.Run, tmp_path: Path) -> None:
    for step in (1, 2):
        run.log_table(step, "trials", {"trial": [0, 1, 2], "loss": [0.1, 0.2, 0.5 * step], "out": OUTPUTS})
    run.flush()
    with page_on(tmp_path) as page:
        number = follow(page, ids(page)["first"], name="trials", only_last=True)
        (part,) = page.hear(number).answer["parts"]
        assert part["step"] == 2
        assert part["rows"] == [[0, 0.1, None], [1, 0.2, None], [2, 1.0, None]]
        run.log_table(3, "trials", {"trial": [9]})
        run.flush()
        assert rows(page.hear(number).answer) == [[9]]


def test_a_table_that_is_taken_back_comes_anew(run: tl.Run, tmp_path: Path) -> None:
    log_epochs(run, 0.5, 0.25)
    run.close()
    with page_on(tmp_path) as page:
        number = follow(page, ids(page)["first"])
        assert len(rows(page.hear(number).answer)) == 2
        with tl.Run(tmp_path / "first", purge_step=2) as again:
            log_epochs(again, 0.125, first=2)
            losses: list[float] = [0.5, 0.25]
            while losses != [0.5, 0.125]:
                answer = page.hear(number).answer
                losses = ([] if answer["is_all"] else losses) + [row[1] for row in rows(answer)]


def test_of_very_many_rows_the_newest_come_and_a_note_says_so(
    run: tl.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_feed, "MAX_ROWS", 3)
    log_epochs(run, 0.1, 0.2, 0.3, 0.4, 0.5)
    with page_on(tmp_path) as page:
        answer = page.hear(follow(page, ids(page)["first"])).answer
    assert [row[0] for row in rows(answer)] == [3, 4, 5]
    assert answer["note"] == "The 3 newest rows are here; 2 others are left out."


def test_what_is_older_than_rows_that_are_left_out_is_left_out_too(
    run: tl.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_feed, "MAX_ROWS", 3)
    for step, size in enumerate((1, 2, 2)):
        run.log_table(step, "epochs", {"step": [step] * size})
    run.flush()
    with page_on(tmp_path) as page:
        answer = page.hear(follow(page, ids(page)["first"])).answer
    assert rows(answer) == [[2], [2]]
    assert answer["note"] == "The 2 newest rows are here; 3 others are left out."


def test_rows_that_come_later_and_cannot_be_shown_are_told_of(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_record("table", "epochs", head(1, ("x", "number", 8, [], "")), bytes(8), step=0)
    with page_on(tmp_path) as page:
        number = follow(page, ids(page)["run"])
        assert page.hear(number).answer["note"] == ""
        part.add_record("table", "epochs", head(9, ("x", "number", 8, [], "")), bytes(8), step=1)
        later = page.hear(number).answer
    part.connection.close()
    assert later["parts"] == []
    assert later["note"].startswith("Some rows cannot be shown: the rows at step 1 are damaged")


def test_tensors_of_some_rows_with_the_limits_of_all(
    run: tl.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = OUTPUTS.clone()
    wide[2, 1, 3] = 1e9
    columns = {"trial": [0, 1, 2], "out": wide, "half": OUTPUTS.bfloat16(), "bits": OUTPUTS > 0}
    run.log_table(1, "trials", columns)
    run.flush()
    with page_on(tmp_path) as page:
        run_id = ids(page)["first"]
        (part,) = page.hear(follow(page, run_id, name="trials", only_last=True)).answer["parts"]
        wanted = {"run_id": run_id, "record": part["record"], "first_row": 1, "num_rows": 1}

        head, data = page.once("table_cells", **wanted, column="out")
        assert np.array_equal(np.frombuffer(data, "<f4").reshape(1, *head["shape"]), OUTPUTS[1:2].numpy())
        assert (head["low"], head["high"]) == (float(wide.min()), 1e9)
        for column, expected in (("half", OUTPUTS.bfloat16().float()), ("bits", (OUTPUTS > 0).float())):
            _, data = page.once("table_cells", **wanted | {"first_row": 0, "num_rows": 3}, column=column)
            assert np.array_equal(np.frombuffer(data, "<f4"), expected.reshape(-1).numpy())

        monkeypatch.setattr(table_feed, "MAX_CELL_VALUES", 7)
        for changes, message in (
            ({"num_rows": 3}, "end at 3"),
            ({"first_row": 2**53 - 1}, "end at 3"),
            ({"column": "trial"}, "no tensors"),
            ({"column": "nothing"}, "no column 'nothing'"),
            ({"record": "rank-0:99"}, "not in the run any more"),
            ({"run_id": "nothing"}, "no longer in the folder"),
            ({}, "8 values are too many"),
        ):
            assert message in page.refused("table_cells", **wanted | {"column": "out"} | changes)


def test_tensors_come_with_the_grid_of_their_shape_an_input_of_three_maps_in_colour(
    run: tl.Run, tmp_path: Path
) -> None:
    shapes = {"Input": (3, 4, 5), "conv": (3, 4, 5), "out": (17,)}
    run.log_table(1, "trials", {"trial": [0], **{name: torch.zeros(1, *its) for name, its in shapes.items()}})
    run.flush()
    with page_on(tmp_path) as page:
        (part,) = page.hear(follow(page, ids(page)["first"], name="trials")).answer["parts"]
        assert part["grids"] == {
            name: msgspec.to_builtins(grid_of(its, is_picture=name == "Input"))
            for name, its in shapes.items()
        }
        assert [part["grids"][name]["is_colour"] for name in shapes] == [True, False, False]


def test_figures_by_equal_cells(run: tl.Run, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "second") as other:
        for each, hidden, losses in ((run, 6, (0.5, 1.5, math.nan)), (other, 9, (4.0,))):
            for loss in losses:
                each.log_row(1, "runs", {"hidden": hidden, "loss": loss, "out": OUTPUTS[0]})
    run.close()
    with page_on(tmp_path) as page:
        found = ids(page, 2)
        question = {"run_ids": [found["first"], found["second"]], "name": "runs"}
        answer = page.once("table_statistics", **question, by=["hidden"]).answer
        refusal = page.refused("table_statistics", **question, by=["out"])
        empty = page.once("table_statistics", run_ids=[found["first"]], name="no", by=["x"]).answer

    figures = {"column": "loss", "count": 2, "mean": 1.0, "std": math.sqrt(0.5), "low": 0.5, "high": 1.5}
    single = {"column": "loss", "count": 1, "mean": 4.0, "std": None, "low": 4.0, "high": 4.0}
    assert answer["groups"] == [
        {"cells": [6], "num_rows": 3, "figures": [figures]},
        {"cells": [9], "num_rows": 1, "figures": [single]},
    ]
    assert "no column 'out' of numbers" in refusal
    assert empty["groups"] == []


def test_csv_is_that_of_the_run(run: tl.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (1, 2):
        run.log_table(step, "trials", {"trial": [0, 1, 2], "who": ["a,b", '"', "\n"], "out": OUTPUTS * step})
    run.close()
    tl.open_run(run.path).table("trials").to_csv(tmp_path / "trials.csv")
    with page_on(tmp_path) as page:
        question = {"run_ids": [ids(page)["first"]], "name": "trials"}
        text = page.once("table_text", **question, only_last=False).answer["text"]
        last = page.once("table_text", **question, only_last=True).answer["text"]
        monkeypatch.setattr(table_feed, "_MAX_TEXT_CELLS", 59)
        assert "6 rows, too many for a page" in page.refused("table_text", **question, only_last=False)

    assert text == (tmp_path / "trials.csv").read_bytes().decode()
    read = list(csv.DictReader(io.StringIO(last, newline="")))
    assert [row["who"] for row in read] == ["a,b", '"', "\n"]
    assert float(read[2]["out[1,3]"]) == float((2 * OUTPUTS)[2, 1, 3])


# --- tables that are not what they say ------------------------------------------------------------------


def head(num_rows: int, *columns: tuple[str, str, int, list[int], str]) -> TableHead:
    return TableHead(
        num_rows=num_rows,
        columns=[
            TableColumn(name=name, form=form, num_bytes=size, shape=shape, dtype=dtype)  # type: ignore[arg-type]
            for name, form, size, shape, dtype in columns
        ],
    )


LIES = [
    (head(10**12), b""),
    (head(10**12, ("x", "tensor", 0, [0], "float32")), b""),
    (head(0, ("x", "tensor", 0, [10**9, 10**9], "float32")), b""),
    (head(10**9, ("x", "number", 8, [], "")), bytes(8)),
    (head(-1, ("x", "number", -8, [], "")), b""),
    (head(1, ("x", "text", 8, [], "")), b"[[[[[[[["),
    (head(2, ("x", "text", 4, [], "")), b'["a"'),
    (head(1, ("x", "tensor", 8, [1], "object")), bytes(8)),
    (head(1, ("x", "tensor", 8, [1], "i4,f4")), bytes(8)),
    (head(1, ("x", "tensor", 4, [1] * 100, "float32")), bytes(4)),
    (head(1, ("x", "tensor", 4, [-1, -1], "float32")), bytes(4)),
    (head(1, ("x", "number", 4, [], ""), ("y", "number", 4, [], "")), bytes(8)),
]


def test_rows_that_lie_about_themselves_are_left_out_before_anything_is_allocated(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    good = head(1, ("x", "number", 8, [], ""))
    for number, lie in enumerate(LIES):
        part.add_record("table", str(number), good, np.float64(0.5).tobytes(), step=0)
        part.add_record("table", str(number), *lie, step=1)
    part.connection.close()

    with page_on(tmp_path) as page:
        run_id = ids(page)["run"]
        for number, (claimed, _) in enumerate(LIES):
            which = {"run_ids": [run_id], "name": str(number)}
            answer = page.once("table", **which, only_last=False).answer
            assert rows(answer) == [[0.5]], number
            assert answer["note"].startswith("Some rows cannot be shown:") or claimed.num_rows == 0
            cells = {"record": f"rank-0:{2 * number + 2}", "column": "x", "first_row": 0, "num_rows": 1}
            for told in (
                page.once("table_statistics", **which, by=[]).answer,
                page.once("table_text", **which, only_last=False).answer,
                page.once("table_cells", run_id=run_id, **cells).answer,
            ):
                assert told["type"] == "refusal" or claimed.num_rows == 0, (number, told)
                assert "log" not in told.get("message", ""), number  # no error of the server's own
