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
from torcheer.inspector.child.resuming import Resumed
from torcheer.inspector.columns import COLUMNS
from torcheer.inspector.launching import Child
from torcheer.inspector.messages import Lost, Numbers
from torcheer.inspector.ring import Ring
from torcheer.run import Run, WatchedRow, open_run


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


def test_after_several_kills_every_frame_and_number_is_there_or_counted_once(run: Path) -> None:
    child = started(run)
    plans = [plan_with("a.Act", "b.Act", number=0), plan_with("a.Act", number=1)]
    rings = [child.new_plan(plan) for plan in plans]
    step = num_told = 0
    num_kills = 4 if IS_ALL else 2
    for _ in range(num_kills):
        first, num_kept, is_killed = child.pid, rings[-1].num_kept, False
        assert first is not None
        while child.pid == first:
            step += fill(rings[-1], plans[-1], step)
            child.tell(Numbers(step=num_told, time=time.time(), values={"loss": 0.5}))
            num_told += 1
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
    with open_run(run) as saved:
        numbers = saved.scalars("loss").steps.tolist()
    assert numbers == list(range(num_told))


def write_figures(run: Run, values: dict[str, list[float]]) -> None:
    """Of steps from 0 on, with times from 1001 on."""
    rows = [WatchedRow(name=name, layer="a", variable="Act", role="activation", module="", shape=None)
            for name in values]  # fmt: skip
    table = numpy.array(list(values.values()), dtype=numpy.float32)
    num_steps = table.shape[1]
    run.log_watch(0, rows, COLUMNS, digest="of these")
    run.log_statistics(
        "of these",
        numpy.arange(num_steps),
        1001.0 + numpy.arange(num_steps),
        numpy.broadcast_to(table, (len(COLUMNS), *table.shape)).copy(),
    )


def test_of_what_a_killed_child_had_each_row_misses_what_it_misses(run: Path) -> None:
    nan = float("nan")
    with Run(run, rank=0) as written:
        write_figures(written, {"a": [1.0, 1.0, 1.0, 1.0], "b": [1.0, nan, nan, nan]})
    lost = Lost(reason="killed", counts={"a": 6, "b": 6, "c": 6}, first_step=0, last_step=5, time=1000.5)

    missing = Resumed(str(run), 0).missing(lost)

    assert missing is not None
    assert missing.counts == {"a": 2, "b": 5, "c": 6}
    assert (missing.first_step, missing.last_step) == (4, 5)


def test_steps_of_an_earlier_training_do_not_count(run: Path) -> None:
    with Run(run, rank=0) as written:
        write_figures(written, {"a": [1.0, 1.0, 1.0, 1.0]})
    lost = Lost(reason="killed", counts={"a": 2}, first_step=0, last_step=1, time=5000.0)

    assert Resumed(str(run), 0).missing(lost) == lost


def test_numbers_that_any_killed_child_wrote_are_not_written_again(run: Path) -> None:
    child = Run(run, rank=0)
    write_figures(child, {"a": [1.0]})
    other = Run(run, rank=0)  # the training's own: what it logs says nothing of what a child was told
    other.log(1, other=1.0)
    child._put_scalars(1, 1001.0, {"loss": 0.5})
    child.close()
    other.close()
    resumed = Resumed(str(run), 0)

    def left(at: float) -> set[str]:
        return set(resumed.new_of(Numbers(step=1, time=at, values={"loss": 1.0, "other": 1.0})).values)

    assert left(1001.0) == {"other"}
    assert left(1002.0) == {"loss", "other"}


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


def test_what_waits_in_a_full_channel_at_the_end_is_not_lost(run: Path) -> None:
    plan = plan_with("a.Act")
    child = started(run)
    child.new_plan(plan)
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
        child.tell(Lost(reason="full", counts={"a.Act": 4}, first_step=3, last_step=6, time=time.time()))
        assert not child.close(0.1)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not child.is_alive(), "the end of the child")

    with open_run(run) as saved:
        assert sorted(saved.scalars("loss").steps.tolist()) == list(range(1500))
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
