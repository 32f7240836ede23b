"""What is not in the run is counted there, once: after kills, on a full disk, and where nobody listens."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from tests.inspector.feeding import (
    PATIENCE,
    feed,
    fill,
    num_lost,
    plan_with,
    seen_steps,
    started,
    wait_until,
)
from tests.many import IS_ALL, examples
from torcheer.errors import InspectorError
from torcheer.inspector.child.run_writer import Missing, log_gap
from torcheer.inspector.child_process import Child
from torcheer.inspector.frame_format import COLUMNS, Layout, Plan
from torcheer.inspector.protocol import Lost, Numbers
from torcheer.inspector.ring import Ring
from torcheer.run import Run, open_run


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


# --- after kills -------------------------------------------------------------------------------------------


def test_after_several_kills_every_frame_is_there_or_counted_once(run: Path) -> None:
    child = started(run)
    plans = [plan_with("a.Act", "b.Act", number=0), plan_with("a.Act", number=1)]
    rings = [child.new_plan(plan) for plan in plans]
    step = 0
    num_kills = 4 if IS_ALL else 2
    for _ in range(num_kills):
        first, num_kept, is_killed = child.pid, rings[-1].num_kept, False
        assert first is not None
        while child.pid == first:
            step += fill(rings[-1], plans[-1], step)
            child.poll()
            time.sleep(0.002)
            if not is_killed and rings[-1].num_kept > num_kept:  # it has written something, and has more
                os.kill(first, signal.SIGKILL)
                is_killed = True
    assert child.close(PATIENCE)

    assert child.num_restarts == num_kills
    seen = seen_steps(run, "a.Act")
    assert len(set(seen)) == len(seen)
    assert len(seen) + num_lost(run, "a.Act") == step


@pytest.fixture
def taken(run: Path) -> tuple[Plan, Ring]:
    """Six frames that a killed child took, of which it had stored four."""
    plan = plan_with("a.Act", "b.Act")
    ring = Ring.of_size(plan.num_slots, Layout(plan).num_bytes, len(plan.rows))
    for step in range(6):
        names = ("a.Act", "b.Act") if step < 5 else ("a.Act",)
        assert fill(ring, plan, step, {name: numpy.ones(2, numpy.float32) for name in names})
    ring.give_back(6)
    times = [note.time for number in range(6) if (note := ring.noted(number)) is not None]
    with Run(run, rank=0) as written:
        table = numpy.ones((len(COLUMNS), 2, 4), dtype=numpy.float32)
        written.log_statistics(plan.digest(), numpy.arange(4), numpy.array(times[:4]), table)
    return plan, ring


def test_what_a_killed_child_took_and_did_not_store_is_lost(taken: tuple[Plan, Ring], run: Path) -> None:
    plan, ring = taken

    (lost,) = Missing(str(run), 0).after_kill(ring, plan)

    assert lost.counts == {"a.Act": 2, "b.Act": 1}
    assert (lost.reason, lost.first_step, lost.last_step) == ("killed", 4, 5)


def test_what_the_run_counts_as_lost_is_not_counted_again(taken: tuple[Plan, Ring], run: Path) -> None:
    plan, ring = taken
    for step in (6, 7, 9):
        ring.count("full", step)
    first, second = Missing(str(run), 0).after_kill(ring, plan)
    with Run(run, rank=0) as written:
        log_gap(written, first)
        log_gap(written, second)
    assert fill(ring, plan, 10)
    ring.give_back()
    ring.count("full", 11)

    later, full = Missing(str(run), 0).after_kill(ring, plan)

    assert second.counts == {"a.Act": 3, "b.Act": 3}
    assert (second.reason, second.first_step, second.last_step) == ("full", 6, 9)
    assert (later.counts, later.first_step, later.last_step) == ({"a.Act": 1, "b.Act": 1}, 10, 10)
    assert (full.counts, full.first_step, full.last_step) == ({"a.Act": 1, "b.Act": 1}, 11, 11)


def test_figures_of_an_earlier_training_do_not_count(taken: tuple[Plan, Ring], run: Path) -> None:
    plan = taken[0]
    ring = Ring.of_size(plan.num_slots, Layout(plan).num_bytes, len(plan.rows))
    assert fill(ring, plan, 0)
    ring.give_back()

    (lost,) = Missing(str(run), 0).after_kill(ring, plan)

    assert lost.counts == {"a.Act": 1, "b.Act": 1}


# --- a disk that is full -----------------------------------------------------------------------------------


def test_what_has_no_room_on_the_disk_is_counted_in_the_run_and_told_to_the_training(
    small_disk: Path,
) -> None:
    (small_disk / "ballast").write_bytes(bytes(2_500_000))
    run = small_disk / "run"
    plan = plan_with(*(f"layer.{number}.Act" for number in range(200)), num_slots=16)
    child = started(run, keeps_tensors=False)
    child.new_plan(plan)
    feed(child, plan, range(10))
    assert child.flush(PATIENCE)  # these have room
    heard: list[object] = []
    for first in range(10, 100, 10):
        feed(child, plan, range(first, first + 10))
        child.flush(0.05)  # which, when there is none, nothing becomes of
        heard += child.poll()

    assert child.close(PATIENCE)
    heard += child.poll()

    name = "layer.7.Act"
    num_kept, num_missing = len(seen_steps(run, name)), num_lost(run, name)
    assert num_kept > 0
    assert num_missing > 0
    assert num_kept + num_missing == 100
    assert sum(lost.counts[name] for lost in heard if isinstance(lost, Lost)) == num_missing
    with open_run(run) as saved:
        assert {gap.reason for gap in saved.gaps} == {"error"}


def test_where_room_is_short_figures_are_kept_and_tensors_are_not(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(3_200_000))
    run, plan = small_disk / "run", plan_with("a.Act", num_slots=64)
    child = started(run)
    child.new_plan(plan)
    feed(child, plan, range(50))
    assert child.close(PATIENCE)

    assert seen_steps(run, "a.Act") == list(range(50))
    assert num_lost(run, "a.Act") == 0
    with open_run(run) as saved:
        assert not saved.names("tensor")
    assert any("nearly full" in getattr(message, "message", "") for message in child.poll())


def test_a_ring_that_the_system_does_not_allow_is_an_error_that_says_what_to_do(run: Path) -> None:
    child = started(run)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(InspectorError, match="ulimit"):
            child.new_plan(plan_with("a.Act"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert child.close(PATIENCE)


# --- nobody who listens ------------------------------------------------------------------------------------


def test_what_comes_into_a_ring_that_no_child_hears_of_is_counted(run: Path) -> None:
    child = started(run)
    child.new_plan(plan_with("a.Act"))
    assert child.flush(PATIENCE)
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        for step in range(1500):
            child.tell(Numbers(step=step, time=time.time(), values={"loss": 0.5, "b" * 200: 1.0}))
        later = plan_with("a.Act", number=1)
        ring = child.new_plan(later)  # which it never hears of
        for step in range(3):
            assert fill(ring, later, step)
        for step in range(3, 7):
            ring.count("full", step)
        assert not child.close(0.1)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not child.is_alive(), "the end of the child")

    assert num_lost(run, "a.Act") == 3 + 4


def test_the_end_of_a_training_whose_child_was_given_up_is_in_the_run(run: Path) -> None:
    child = started(run)
    child.new_plan(plan_with("a.Act"))
    while not child.is_given_up:
        if child.is_alive() and child.pid is not None:
            os.kill(child.pid, signal.SIGKILL)
        child.poll()
    assert child.close(PATIENCE, "KeyboardInterrupt")

    with open_run(run) as saved:
        assert (saved.state, saved.status().reason) == ("died", "KeyboardInterrupt")


# --- no memory ---------------------------------------------------------------------------------------------


def test_many_watches_in_a_row_leave_no_descriptor_though_nothing_is_collected(run: Path) -> None:
    plan = plan_with("a.Act")

    def watch() -> Child:
        child = started(run, start_method="fork")
        child.new_plan(plan)
        feed(child, plan, range(2))
        assert child.close(PATIENCE)
        return child

    closed = [watch()]
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        closed += [watch() for _ in range(examples(25))]
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()
    assert "memfd:torcheer" not in Path("/proc/self/maps").read_text()
    # What was counted can still be asked for.
    assert all(child.ring is not None and child.ring.num_filled == 2 for child in closed)


def test_a_ring_that_somebody_looks_into_is_let_go_of_with_the_last_look() -> None:
    ring = Ring.of_size(2, 4096)
    looking = numpy.frombuffer(ring.slot(0), numpy.uint8)
    ring.publish()

    ring.close()
    ring.close()

    assert ring.num_filled == 1
    assert looking.sum() == 0
    named = "memfd:torcheer"
    assert named in Path("/proc/self/maps").read_text()
    del looking
    assert named not in Path("/proc/self/maps").read_text()
