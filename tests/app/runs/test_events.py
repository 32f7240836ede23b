"""Alarms and gaps of runs, as a page hears of them: all at first, then what is new."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import torcheer as tl
from tests.app.runs_page import RunsPage, page_on
from tests.app.watched_runs import only_id
from tests.run.handmade_part import HandmadePart
from torcheer.app.runs import run_answers as events_module
from torcheer.run.records import AlarmHead, GapHead


def alarm(run: tl.Run, step: int, kind: str = "nan", **changes: Any) -> None:
    given: dict[str, Any] = {"layer": "features.0", "variable": "weight.Grad", "value": 0.5, "threshold": 0.1}
    run.log_alarm(step, kind, **(given | {"message": f"at step {step}", "time": 1000.0 + step} | changes))


def hear_events(page: RunsPage, number: int) -> Any:
    answer = page.hear(number).answer
    assert answer["type"] == "events", answer
    return answer


def steps_of(answer: Any) -> list[int]:
    return [one["step"] for one in answer["alarms"]]


def test_alarms_and_gaps_of_all_ranks_come_in_the_order_of_time(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run, tl.Run(tmp_path / "run", rank=2) as other:
        alarm(run, 30)
        alarm(run, 10, "dead_units", layer="act", variable="Act", value=None, threshold=None)
        alarm(other, 20, "nan")
        counts = {"features.0.Act": 3, "act.Act": 4}
        run.log_gap(12, 15, reason="full", counts=counts, message="the ring was full", time=1012.0)
        other.log_gap(2, 3, reason="killed", counts={}, time=1002.0)
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        answer = hear_events(page, page.begin("events", run_ids=[run_id]))
        assert answer["is_all"]
        assert [(one["step"], one["rank"], one["alarm"]) for one in answer["alarms"]] == [
            (10, 0, "dead_units"),
            (20, 2, "nan"),
            (30, 0, "nan"),
        ]
        last = dict(answer["alarms"][2])
        assert page.once("record", run_id=run_id, record=last.pop("record")).answer["entry"]["step"] == 30
        assert last == {
            "run_id": run_id,
            "rank": 0,
            "alarm": "nan",
            "step": 30,
            "time": 1030.0,
            "layer": "features.0",
            "variable": "weight.Grad",
            "row": "features.0.weight.Grad",
            "value": 0.5,
            "threshold": 0.1,
            "message": "at step 30",
        }
        assert (answer["alarms"][0]["value"], answer["alarms"][0]["threshold"]) == (None, None)
        killed, full = answer["gaps"]
        assert (killed["reason"], killed["rank"], killed["num_missing"]) == ("killed", 2, 0)
        assert (full["first_step"], full["last_step"], full["time"]) == (12, 15, 1012.0)
        assert (full["counts"], full["num_missing"], full["message"]) == (counts, 7, "the ring was full")


def test_what_is_new_comes_by_itself_and_alone(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as first, tl.Run(tmp_path / "b") as second, page_on(tmp_path) as page:
        alarm(first, 1)
        second.log(0, loss=1.0)
        first.flush()
        second.flush()
        runs = page.all_runs(2)
        ids = [runs["a"]["id"], runs["b"]["id"]]
        number = page.begin("events", run_ids=ids)
        answer = hear_events(page, number)
        assert (answer["is_all"], steps_of(answer)) == (True, [1])
        for step, run in ((2, second), (3, first), (4, second)):
            run.log(step, loss=1.0)  # no news for those who wait for alarms
            alarm(run, step)
            run.flush()
            answer = hear_events(page, number)
            assert (answer["is_all"], steps_of(answer), answer["gaps"]) == (False, [step], [])
            assert answer["alarms"][0]["run_id"] == ids[run is second]
        first.log_gap(5, 6, reason="budget", counts={"x": 2})
        first.flush()
        answer = hear_events(page, number)
        assert (answer["is_all"], answer["alarms"], answer["gaps"][0]["last_step"]) == (False, [], 6)


def test_a_run_that_takes_some_back_makes_all_come_anew(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with tl.Run(tmp_path / name) as run:
            for step in (5, 15):
                alarm(run, step, message=name)
    with page_on(tmp_path) as page:
        runs = page.all_runs(2)
        number = page.begin("events", run_ids=[run["id"] for run in runs.values()])
        assert steps_of(hear_events(page, number)) == [5, 5, 15, 15]
        with tl.Run(tmp_path / "a", purge_step=10):
            pass
        answer = hear_events(page, number)
        assert answer["is_all"]
        assert sorted((one["message"], one["step"]) for one in answer["alarms"]) == [
            ("a", 5),
            ("b", 5),
            ("b", 15),
        ]


def test_runs_without_any_and_runs_that_are_not_there_are_answered_with_nothing(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run, page_on(tmp_path) as page:
        run.log(0, loss=1.0)
        run.flush()
        run_id = only_id(page)
        number = page.begin("events", run_ids=["nobody", run_id, run_id])
        answer = hear_events(page, number)
        assert (answer["is_all"], answer["alarms"], answer["gaps"]) == (True, [], [])
        alarm(run, 7)
        run.flush()
        assert steps_of(hear_events(page, number)) == [7]


def test_of_very_many_the_first_and_the_last_come_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_module, "MAX_EVENTS", 100)
    monkeypatch.setattr("torcheer.app.wire.CHUNK_BYTES", 5000)
    with tl.Run(tmp_path / "run") as run:
        for step in range(500):
            alarm(run, step)
    with page_on(tmp_path) as page:
        number = page.begin("events", run_ids=[only_id(page)])
        steps: list[int] = []
        marks = []
        while len(steps) < 100:
            answer = hear_events(page, number)
            assert len(json.dumps(answer)) < 10_000
            marks.append(answer["is_all"])
            steps += steps_of(answer)
        assert steps == [*range(50), *range(450, 500)]
        assert marks == [True] + [False] * (len(marks) - 1)
        assert len(marks) > 3


def test_the_list_of_runs_counts_alarms(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "alarmed") as run, tl.Run(tmp_path / "alarmed", rank=1) as other:
        alarm(run, 1)
        alarm(run, 2, "dead_units")
        alarm(other, 3)
    with tl.Run(tmp_path / "calm") as run:
        run.log(0, loss=1.0)
    with page_on(tmp_path) as page:
        runs = page.all_runs(2)
        assert {name: run["num_alarms"] for name, run in runs.items()} == {"alarmed": 3, "calm": 0}


def test_words_without_end_and_numbers_beyond_counting_are_cut_short(tmp_path: Path) -> None:
    long = "<b>" * 100_000
    part = HandmadePart(tmp_path / "run")
    head = AlarmHead(layer=long, variable=long, value=1.0, threshold=None, message=long)
    part.add_record("alarm", long, head, b"", step=2**62)
    counts = {f"{long}{index}": 2**60 for index in range(100)}
    gap = GapHead(reason="full", counts=counts, last_step=2**62, message=long)
    part.add_record("gap", "watch", gap, b"", step=-(2**62))
    part.add_record("gap", "watch", b'{"kind":"gap","reason":"boredom","counts":{},"last_step":1}', b"")
    part.add_record("alarm", "nan", gap, b"")
    part.add_record(
        "alarm", "fine", AlarmHead(layer="", variable="", value=None, threshold=None, message=""), b""
    )
    with page_on(tmp_path) as page:
        number = page.begin("events", run_ids=[only_id(page)])
        answer = hear_events(page, number)
        assert len(json.dumps(answer)) < 100_000
        assert sorted(len(one["alarm"]) for one in answer["alarms"]) == [4, 200]
        (shown,) = answer["gaps"]
        assert (shown["first_step"], shown["last_step"]) == (-(2**53) + 1, 2**53 - 1)
        assert shown["num_missing"] == 2**53 - 1
        assert len(shown["counts"]) <= 64
