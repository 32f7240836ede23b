"""What goes wrong in the child is told once, counted, and stops nothing. What it finds, all hear of."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy

from tests.inspector.feeding import (
    PATIENCE,
    feed,
    fill,
    has_room,
    num_lost,
    plan_with,
    seen_steps,
    started,
    wait_until,
)
from torcheer.inspector.child_process import Child
from torcheer.inspector.frame_format import ROW_TYPE, Layout, Plan
from torcheer.inspector.protocol import Callbacks, Numbers, Raised, Thresholds, Told
from torcheer.inspector.ring import Ring
from torcheer.run import Run, open_run

PLAN = plan_with("a.Act", "a.weight")


def closed(child: Child) -> list[object]:
    """All that it said, when it has ended."""
    heard: list[object] = [*child.poll()]
    assert child.close(PATIENCE)
    return [*heard, *child.poll()]


def fill_with_nonsense(ring: Ring, plan: Plan, step: int) -> None:
    """A frame whose first row has a type that there is not."""
    layout = Layout(plan)
    slot = ring.slot(ring.num_filled)
    assert fill(ring, plan, step)
    ring.slot(ring.num_filled - 1)
    numpy.frombuffer(slot, ROW_TYPE, layout.num_rows, layout.rows_at)["dtype"][0] = 250


def test_a_frame_that_cannot_be_read_is_counted_and_the_others_are_kept(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    for step in range(12):
        if step % 4 == 2:
            fill_with_nonsense(ring, PLAN, step)
        else:
            fill(ring, PLAN, step)

    heard = closed(child)

    assert seen_steps(run, "a.weight") == [step for step in range(12) if step % 4 != 2]
    assert num_lost(run, "a.weight") == 3
    with open_run(run) as saved:
        assert {gap.reason for gap in saved.gaps} == {"error"}
    assert [type(message) for message in heard] == [Told]


def test_an_alarm_goes_into_the_run_and_to_the_training(run: Path) -> None:
    child = started(run, thresholds=Thresholds())
    ring = child.new_plan(PLAN)
    fill(ring, PLAN, 4)
    fill(ring, PLAN, 5, {"a.Act": numpy.array([[1.0, numpy.nan]], numpy.float32)})

    heard = [message for message in closed(child) if isinstance(message, Raised)]

    with open_run(run) as saved:
        (alarm,) = saved.alarms
    assert [(raised.alarm, raised.layer, raised.step) for raised in heard] == [("nan", "a", 5)]
    assert (alarm.alarm, alarm.layer, alarm.step, alarm.message) == ("nan", "a", 5, heard[0].message)


def test_a_loss_that_the_training_tells_is_looked_at(run: Path) -> None:
    child = started(run, thresholds=Thresholds())
    child.new_plan(PLAN)
    for step in range(300):
        loss = 1.0 + 0.01 * (step % 7) if step != 280 else 1e6
        child.tell(Numbers(step=step, time=1.7e9 + step, values={"loss": loss}))

    heard = [message for message in closed(child) if isinstance(message, Raised)]

    assert [(raised.alarm, raised.step) for raised in heard] == [("loss_spike", 280)]


def test_the_last_loss_that_the_training_logs_by_itself_is_looked_at(run: Path) -> None:
    with Run(run) as own:
        child = started(run, thresholds=Thresholds(), follows_losses=True)
        child.new_plan(PLAN)
        for step in range(50):
            own.log(step, loss=1.0)
        assert child.flush(PATIENCE)
        own.log(50, loss=float("nan"))  # and is closed at once

        heard = [message for message in closed(child) if isinstance(message, Raised)]

    assert [(raised.alarm, raised.step) for raised in heard] == [("nan", 50)]


def test_a_run_that_is_deleted_is_told_and_stops_nothing(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    feed(child, PLAN, range(3))
    assert child.flush(PATIENCE)
    shutil.rmtree(run)
    heard: list[object] = []
    for step in range(3, 60):
        wait_until(lambda: has_room(ring), "room in the ring")
        fill(ring, PLAN, step)
    wait_until(lambda: heard.extend(child.poll()) or heard, "words about the run")

    heard += closed(child)

    assert ring.num_waiting == 0
    assert not run.exists()
    told = [message.message for message in heard if isinstance(message, Told)]
    assert len(told) == 1
    assert "deleted or moved" in told[0]


def test_a_callback_that_fails_is_told_to_the_training_and_the_figures_are_kept(run: Path) -> None:
    child = started(run, Callbacks(on_run=fail_at_two))
    ring = child.new_plan(PLAN)
    for step in range(5):
        fill(ring, PLAN, step)

    told = [message.message for message in closed(child) if isinstance(message, Told)]

    assert len(told) == 2
    assert "ValueError: two" in told[0]
    assert "2 times" in told[1]
    assert seen_steps(run, "a.Act") == [0, 1, 2, 3, 4]


def fail_at_two(name: str, step: int, tensor: object) -> None:
    if step == 2:
        raise ValueError("two")


def test_histograms_are_given_out_for_each_row(run: Path) -> None:
    child = started(run, histogram_seconds=0.2)
    ring = child.new_plan(PLAN)
    fill(ring, PLAN, 0)
    child.flush(PATIENCE)

    closed(child)

    with open_run(run) as saved:
        assert sorted(saved.names("histogram")) == ["a.Act", "a.weight"]
        (histogram,) = saved.histograms("a.weight")
        assert histogram.head.num == 6


def test_the_shape_of_a_row_is_known_after_it_was_seen(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    fill(ring, PLAN, 0, {"a.Act": numpy.ones((2, 5), numpy.float32)})

    closed(child)

    with open_run(run) as saved:
        assert [row.shape for row in saved.watched.rows] == [[2, 5], None]
