"""Alarms and gaps in a run: kept, read, followed, bounded, and said by the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.run.raw_tables import RawPart
from tests.run.watching import log_plan, log_table, table_at
from torcheer.cli import app
from torcheer.run.read.run_reader import RunReader
from torcheer.run.read.saved_run import open_run
from torcheer.run.read.watched import Alarm, Gap
from torcheer.run.run import Run
from torcheer.run.warnings_once import RunWarning
from torcheer.run.write import part_file


def log_events(run: Run) -> None:
    run.log_alarm(
        7,
        "exploding_gradient",
        layer="features.0",
        variable="weight.Grad",
        value=118.0,
        threshold=50.0,
        message="the norm of the gradient is 118",
        time=1000.0,
    )
    run.log_alarm(9, "nan", layer="features.0", variable="Act", value=float("nan"), time=1001.0)
    run.log_gap(3, 5, reason="full", counts={"a.weight": 2, "b.weight": 3}, message="late", time=1002.0)


def test_alarms_and_gaps_come_back_as_they_were(tmp_path: Path) -> None:
    with Run(tmp_path, rank=1) as run:
        log_events(run)
        alarms, gaps = run.alarms, run.gaps

    assert alarms[0] == Alarm(
        alarm="exploding_gradient",
        layer="features.0",
        variable="weight.Grad",
        step=7,
        time=1000.0,
        value=118.0,
        threshold=50.0,
        message="the norm of the gradient is 118",
        rank=1,
        record="rank-1:1",
    )
    assert (alarms[1].value, alarms[1].row) == (None, "features.0.Act")
    assert gaps == [
        Gap(
            reason="full",
            counts={"a.weight": 2, "b.weight": 3},
            first_step=3,
            last_step=5,
            time=1002.0,
            message="late",
            rank=1,
            record="rank-1:3",
        )
    ]
    assert gaps[0].num_missing == 5


def test_ranks_are_put_together_by_time(tmp_path: Path) -> None:
    runs = [Run(tmp_path, rank=rank) for rank in range(3)]
    for number in range(9):
        runs[number % 3].log_alarm(number, "nan", time=1000.0 + number)
    for run in runs:
        run.close()

    alarms = open_run(tmp_path).alarms
    assert [(alarm.step, alarm.rank) for alarm in alarms] == [(number, number % 3) for number in range(9)]


def test_who_follows_gets_what_is_new_and_all_of_it_when_some_was_taken_back(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_events(run)
        run.flush()
        reader = RunReader(tmp_path)
        first = reader.events()
        assert (first.is_fresh, len(first.alarms), len(first.gaps)) == (True, 2, 1)
        again = reader.events(first.cursor)
        assert (again.is_fresh, again.alarms, again.gaps) == (False, [], [])

        run.log_alarm(20, "nan")
        run.log_alarm(21, "dead_units")
        with Run(tmp_path) as other:  # a part that was not there before
            other.log_alarm(22, "nan")
        run.flush()
        reader.refresh()
        later = reader.events(again.cursor)
        assert [alarm.step for alarm in later.alarms] == [20, 21, 22]
        assert (later.is_fresh, later.gaps) == (False, [])

    with Run(tmp_path, purge_step=20) as run:
        run.log(0, loss=1.0)
        run.flush()
        reader.refresh()
        purged = reader.events(later.cursor)
        assert purged.is_fresh
        assert [alarm.step for alarm in purged.alarms] == [7, 9]


def test_alarms_without_end_keep_the_first_and_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_file, "MOST_RECORDS", {"alarm": 100, "gap": 10})
    with Run(tmp_path) as run:
        reader = RunReader(tmp_path)
        cursor = reader.events().cursor
        for step in range(1000):
            run.log_alarm(step, "nan" if step % 2 else "inf")
            run.log_gap(step, step, reason="full", counts={})
            if step % 9 == 0:
                run.flush()
            if step == 95:  # most of them, of which some go later
                run.flush()
                reader.refresh()
                cursor = reader.events(cursor).cursor
        run.flush()
        steps = [alarm.step for alarm in run.alarms]
        reader.refresh()

        assert len(steps) <= 100
        assert steps == sorted(steps)
        assert steps[:50] == list(range(50))
        assert steps[-30:] == list(range(970, 1000))
        assert len(run.gaps) <= 10
        assert run.num_thinned == 2000 - len(steps) - len(run.gaps)
        after = reader.events(cursor)
        assert after.is_fresh
        assert [alarm.step for alarm in after.alarms] == steps


def test_plans_without_end_lose_the_oldest_with_their_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_file, "_MOST_PLANS", 3)
    with Run(tmp_path) as run:
        for number in range(6):
            log_plan(run, (f"layer{number}",), digest=f"plan {number}", step=number)
            log_table(run, table_at([number], digest=f"plan {number}", num_rows=1))
        watched = run.watched
        assert watched.names == ["layer5.weight", "layer4.weight", "layer3.weight"]  # the last plan's first
        assert watched.steps.tolist() == [3, 4, 5]


def test_nothing_of_it_raises_into_a_training(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        with pytest.warns(RunWarning, match="reason is 'bored'"):
            run.log_gap(0, 1, reason="bored", counts={})  # type: ignore[arg-type]
        with pytest.warns(RunWarning, match="whole numbers"):
            run.log_alarm("first", "nan")  # type: ignore[arg-type]
        with pytest.warns(RunWarning, match=r"\[column\]\[row\]\[step\]"):
            run.log_statistics("plan", [1], [1.0], [1.0])
        with pytest.warns(RunWarning, match="log_watch"):
            run.log_watch("first", [], ["mean"], digest="plan")  # type: ignore[arg-type]

        assert run.num_dropped == 4
        run.log_alarm(1, "n\udcffn", layer="\udcff", message="half a letter")
        assert [alarm.message for alarm in run.alarms] == ["half a letter"]


def test_the_command_line_says_what_was_watched_and_what_went_wrong(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at(range(20)))
        log_events(run)
        for step in range(10, 16):
            run.log_alarm(step, "nan", layer="a", variable="Act")
    shown = CliRunner().invoke(app, ["runs", "show", str(tmp_path)])
    assert shown.exit_code == 0
    lines = [line.rstrip() for line in shown.output.splitlines()]
    assert "watched: 2 rows of 2 layers at 20 steps, 20/s" in lines
    assert "alarms: 8 (nan 7, exploding_gradient 1)" in lines
    assert "  step 7: the norm of the gradient is 118" in lines
    assert "  step 10: nan of a.Act" in lines
    assert "  and 3 more: torcheer runs export csv --events" in lines
    assert "gaps: 1, 5 records missing" in lines
    assert "  steps 3–5: 5 missing, the ring was full" in lines
    assert "statistics" not in shown.output

    as_json = json.loads(CliRunner().invoke(app, ["runs", "show", "--json", str(tmp_path)]).output)
    assert as_json["watched"][0]["num_steps"] == 20
    assert (len(as_json["alarms"]), len(as_json["gaps"])) == (8, 1)


def test_alarms_and_gaps_as_csv(tmp_path: Path) -> None:
    with Run(tmp_path / "run") as run:
        log_events(run)
    target = tmp_path / "events.csv"
    done = CliRunner().invoke(
        app, ["runs", "export", "csv", str(tmp_path / "run"), "--events", "-o", str(target)]
    )
    assert done.exit_code == 0
    with open(target, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["event"], row["kind"], row["step"], row["last_step"]) for row in rows] == [
        ("alarm", "exploding_gradient", "7", "7"),
        ("alarm", "nan", "9", "9"),
        ("gap", "full", "3", "5"),
    ]
    assert (rows[0]["value"], rows[1]["value"], rows[2]["missing"]) == ("118.0", "", "5")
    refused = CliRunner().invoke(app, ["runs", "export", "csv", str(tmp_path / "run"), "--events", "--wide"])
    assert refused.exit_code != 0


def test_event_files_have_all_but_what_tensorboard_does_not_show(tmp_path: Path) -> None:
    with Run(tmp_path / "run") as run:
        run.log(1, loss=0.5)
        log_plan(run)
        log_table(run, table_at(range(20)))
        log_events(run)
    target = tmp_path / "events"
    done = CliRunner().invoke(
        app, ["runs", "export", "tensorboard", str(tmp_path / "run"), "-o", str(target)]
    )

    assert done.exit_code == 0
    assert "left out" in done.output
    assert [key.kind for key in RunReader(target).series()] == ["scalar"]


def test_who_follows_a_run_sees_alarms_and_gaps_and_no_statistics(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        log_plan(run)
        log_table(run, table_at(range(20)))
        log_events(run)
    seen = [(one.kind, one.name) for one in open_run(tmp_path).follow(from_start=True, timeout=5)]

    assert sorted(seen) == [
        ("alarm", "exploding_gradient"),
        ("alarm", "nan"),
        ("gap", "watch"),
        ("watch", "watch"),
    ]
    assert RawPart(tmp_path).names("statistics") == ["watch"]
