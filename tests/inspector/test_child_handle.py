"""One child from the training's side: what goes into its ring comes into the run, whatever happens to it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy
import pytest

from tests.inspector.feeding import (
    PATIENCE,
    feed,
    fill,
    is_running,
    job_of,
    num_lost,
    plan_with,
    seen_steps,
    started,
    wait_until,
)
from torcheer.errors import InputError, InspectorError
from torcheer.inspector.child_process import Child
from torcheer.inspector.protocol import Callbacks, Numbers, Told
from torcheer.run import open_run

PLAN = plan_with("a.Act", "a.weight", "a.weight.Grad")


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    before = _children_of_this_process()
    yield
    wait_until(lambda: _children_of_this_process() <= before, "the end of all children")


def _children_of_this_process() -> set[int]:
    found = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (task / "children").read_text().split()}
    return {pid for pid in found if is_running(pid) and b"from multiprocessing" not in _command_of(pid)}


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def killed(child: Child) -> int:
    """Kill the process, and wait until it is gone."""
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid), "the end of the killed process")
    return pid


def wait_for_another(child: Child, pid: int) -> list[object]:
    """Until the training, which polls, has another child."""
    heard: list[object] = []

    def has_another() -> bool:
        heard.extend(child.poll())
        return child.pid != pid

    wait_until(has_another, "another child")
    return heard


# --- what goes in comes out ------------------------------------------------------------------------------


def test_figures_of_all_frames_are_in_the_run(run: Path) -> None:
    child = started(run)
    child.new_plan(PLAN)
    feed(child, PLAN, range(50))

    assert child.close(PATIENCE)

    with open_run(run) as saved:
        table = saved.watched.table("mean")
        assert saved.state == "finished"
        assert not saved.gaps
    assert table.steps.tolist() == list(range(50))
    assert list(table.names) == [row.name for row in PLAN.rows]
    assert numpy.array_equal(table.values, numpy.arange(3)[:, None] + numpy.arange(50.0)[None, :])


def test_tensors_are_kept_as_they_were(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    fill(ring, PLAN, 7, {"a.weight": numpy.array([[1.5, 0.0, numpy.nan]], dtype=numpy.float32)})

    assert child.close(PATIENCE)

    with open_run(run) as saved:
        (tensor,) = saved.tensors("a.weight")
        assert tensor.step == 7
        assert numpy.array_equal(
            numpy.asarray(tensor), numpy.array([[1.5, 0.0, numpy.nan]], "<f4"), equal_nan=True
        )


def test_what_was_flushed_is_on_disk(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    feed(child, PLAN, range(5))
    child.tell(Numbers(step=3, time=1.7e9, values={"loss": 0.5}))

    assert child.flush(PATIENCE)

    assert ring.num_kept == 5
    assert seen_steps(run, "a.Act") == list(range(5))
    with open_run(run) as saved:
        assert saved.scalars("loss").values.tolist() == [0.5]
    child.close(PATIENCE)


def test_a_new_plan_empties_the_old_ring_first(run: Path) -> None:
    child = started(run)
    other = plan_with("b.Act", number=1)
    old = child.new_plan(PLAN)
    feed(child, PLAN, range(10))
    ring = child.new_plan(other)
    for step in range(10, 20):
        assert fill(ring, other, step)

    assert child.close(PATIENCE)

    assert old is not ring
    assert child.ring is ring
    assert seen_steps(run, "a.Act") == list(range(10))
    assert seen_steps(run, "b.Act") == list(range(10, 20))


def test_without_a_run_frames_are_read_and_nothing_is_written(tmp_path: Path) -> None:
    child = started(None)
    ring = child.new_plan(PLAN)
    feed(child, PLAN, range(40))

    assert child.flush(PATIENCE)

    assert ring.num_kept == 40
    assert child.close(PATIENCE)
    assert not list(tmp_path.iterdir())


def test_what_the_training_counts_is_in_the_run(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    for step in (5, 6, 9):
        ring.count("full", step)
    for step in (11, 12):
        ring.count("budget", step)

    child.close(PATIENCE)

    with open_run(run) as saved:
        full, budget = saved.gaps
    assert (full.reason, dict(full.counts), full.first_step, full.last_step) == (
        "full", {row.name: 3 for row in PLAN.rows}, 5, 9
    )  # fmt: skip
    assert (budget.reason, dict(budget.counts)) == ("budget", {"all that is watched": 2 * len(PLAN.rows)})
    assert (budget.first_step, budget.last_step) == (11, 12)


def test_ranks_have_their_own_part_and_their_records_a_prefix(run: Path) -> None:
    children = [started(run, rank=rank) for rank in (0, 1)]
    for child in children:
        child.new_plan(PLAN)
        feed(child, PLAN, range(3))
    for child in children:
        assert child.close(PATIENCE)

    assert seen_steps(run, "a.Act", 0) == seen_steps(run, "a.Act", 1) == [0, 1, 2]
    with open_run(run) as saved:
        assert len(list(saved.tensors("rank 1/a.Act"))) == len(list(saved.tensors("a.Act"))) == 3


# --- a child that is killed --------------------------------------------------------------------------------


@pytest.mark.usefixtures("fresh_children")
def test_a_killed_child_is_started_again_and_every_frame_is_kept_or_counted(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    feed(child, PLAN, range(30))
    wait_until(lambda: ring.num_given_back > 20, "frames that are read")

    pid = killed(child)
    wait_for_another(child, pid)
    feed(child, PLAN, range(30, 60))
    assert child.close(PATIENCE)

    steps = seen_steps(run, "a.weight.Grad")
    assert len(set(steps)) == len(steps)
    assert set(range(30, 60)) <= set(steps)
    assert len(steps) + num_lost(run, "a.weight.Grad") == 60
    assert child.num_restarts == 1


def test_the_gap_of_a_killed_child_names_rows_and_steps(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    assert child.flush(PATIENCE)
    for step in range(100, 110):
        fill(ring, PLAN, step)
    # Read, and most often not yet on disk: blocks are written a few times a second.
    wait_until(lambda: ring.num_given_back == 10, "frames that are read")
    pid = killed(child)
    wait_for_another(child, pid)
    assert child.close(PATIENCE)

    with open_run(run) as saved:
        gaps = saved.gaps
        num_kept = len(seen_steps(run, "a.Act")) if len(saved.watched.steps) else 0
    assert num_kept + num_lost(run, "a.Act") == 10
    for gap in gaps:
        assert gap.reason == "killed"
        assert dict(gap.counts) == dict.fromkeys((row.name for row in PLAN.rows), 10 - num_kept)
        assert (gap.first_step, gap.last_step) == (100 + num_kept, 109)


def test_frames_that_are_on_disk_are_not_counted_as_lost_though_many_slots_were_filled_since(
    run: Path,
) -> None:
    plan = plan_with("a.Act", num_slots=4)
    child = started(run)
    ring = child.new_plan(plan)
    num_frames, num_dropped = 0, 0

    def keeps(number: int) -> bool:
        """Whether so many are on disk; and another frame, or none where there is no room."""
        nonlocal num_frames, num_dropped
        if fill(ring, plan, num_frames + num_dropped):
            num_frames += 1
        else:
            num_dropped += 1
        child.poll()
        return ring.num_kept >= number

    wait_until(lambda: keeps(40), "frames on disk, ten times as many as there are slots")
    killed(child)
    enough = num_frames + 10
    wait_until(lambda: keeps(enough) and child.num_restarts, "frames of the next child on disk")
    assert child.close(PATIENCE)

    assert child.num_restarts == 1
    assert len(seen_steps(run, "a.Act")) + num_lost(run, "a.Act") == num_frames


def test_what_waits_in_the_ring_is_read_by_the_next_child(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    assert child.flush(PATIENCE)
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    for step in range(8):
        assert fill(ring, PLAN, step)
    killed(child)

    assert child.close(PATIENCE)

    assert seen_steps(run, "a.Act") == list(range(8))
    assert num_lost(run, "a.Act") == 0


def test_what_the_training_counted_is_in_the_run_once_though_a_child_was_killed(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    for step in (5, 6, 9):
        ring.count("full", step)
    assert child.flush(PATIENCE)
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    ring.count("full", 12)
    killed(child)
    wait_for_another(child, pid)

    assert child.close(PATIENCE)

    with open_run(run) as saved:
        assert [(gap.counts["a.Act"], gap.first_step, gap.last_step) for gap in saved.gaps] == [
            (3, 5, 9),
            (1, 12, 12),
        ]


def test_a_child_that_dies_again_and_again_is_given_up_told_once_and_all_is_counted(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    heard: list[object] = []
    step = 0
    while not child.is_given_up:
        step += fill(ring, PLAN, step)
        pid = killed(child)
        while child.pid == pid and not child.is_given_up:
            heard.extend(child.poll())
    for _ in range(10):
        step += fill(ring, PLAN, step)
        heard.extend(child.poll())

    assert [type(message) for message in heard] == [Told]
    assert 3 <= child.num_restarts <= 10
    assert not child.is_alive()
    assert not child.flush(1.0)
    assert child.close(PATIENCE)
    with open_run(run) as saved:
        num_kept = len(seen_steps(run, "a.Act")) if saved.watched else 0
    assert num_kept + num_lost(run, "a.Act") == step


@pytest.mark.usefixtures("fresh_children")
def test_polling_does_not_wait_for_a_child_that_stands_still(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGSTOP)
    try:
        for step in range(1500):
            fill(ring, PLAN, step)
            child.tell(Numbers(step=step, time=1.7e9, values={"loss": 0.5, "a" * 100: 1.0}))
            child.poll()
        assert not child.flush(0.1)
        assert not child.close(0.1)
    finally:
        os.kill(child.pid, signal.SIGCONT)
    # It was told to close: it finishes by itself what it has.
    wait_until(lambda: not child.is_alive(), "the end of the child")
    assert seen_steps(run, "a.Act") == list(range(16))


# --- idle, inert, closed -----------------------------------------------------------------------------------


def test_an_idle_child_ends_and_the_next_frame_starts_another(run: Path) -> None:
    child = started(run, idle_seconds=0.3)
    ring = child.new_plan(PLAN)
    feed(child, PLAN, range(3))
    pid = child.pid
    wait_until(lambda: (child.poll() and False) or not child.is_alive(), "the end of the idle child")
    child.poll()

    fill(ring, PLAN, 3)
    wait_until(lambda: (child.poll() and False) or (child.is_alive() and child.pid != pid), "another")
    assert child.close(PATIENCE)

    assert seen_steps(run, "a.Act") == [0, 1, 2, 3]
    assert num_lost(run, "a.Act") == 0
    assert child.num_restarts == 0


def test_in_a_fork_of_the_training_a_child_does_nothing(run: Path) -> None:
    child = started(run)
    ring = child.new_plan(PLAN)
    feed(child, PLAN, range(3))

    fork = os.fork()
    if fork == 0:
        is_calm = child.is_inert and child.poll() == [] and not child.is_alive() and child.pid is None
        child.tell(Numbers(step=3, time=1.7e9, values={"of the fork": 0.5}))
        is_calm = is_calm and child.close(1.0) and not child.flush(1.0)
        os._exit(0 if is_calm else 1)
    assert os.waitpid(fork, 0)[1] == 0

    assert child.is_alive()
    assert not child.is_inert
    fill(ring, PLAN, 3)
    assert child.close(PATIENCE)
    assert seen_steps(run, "a.Act") == [0, 1, 2, 3]
    with open_run(run) as saved:
        assert "of the fork" not in saved.names("scalar")


def test_closing_twice_is_closing_once(run: Path) -> None:
    child = started(run)
    child.new_plan(PLAN)

    assert child.close(PATIENCE)
    assert child.close(PATIENCE)

    assert not child.is_alive()
    assert child.poll() == []
    child.tell(Numbers(step=3, time=1.7e9, values={"loss": 0.5}))


def test_what_the_training_died_of_is_in_the_run(run: Path) -> None:
    child = started(run)
    child.close(PATIENCE, "ValueError: no data")

    with open_run(run) as saved:
        assert saved.state == "died"
        assert saved.status().reason == "ValueError: no data"


def test_no_descriptor_and_no_memory_is_left_behind(run: Path) -> None:
    def opened() -> tuple[int, int]:
        maps = Path("/proc/self/maps").read_text().count("memfd:torcheer")
        return len(os.listdir("/proc/self/fd")), maps

    def named() -> set[str]:
        return {entry.name for entry in os.scandir("/dev/shm") if entry.is_file()}

    def live() -> None:
        child = started(run)
        for number in range(3):
            child.new_plan(plan_with("a.Act", number=number))
            feed(child, plan_with("a.Act", number=number), range(3))
        pid = killed(child)
        wait_for_another(child, pid)
        assert child.close(PATIENCE)

    live()
    before, names = opened(), named()
    live()
    live()

    assert opened() == before
    # Other tests have folders there, and files for a moment.
    wait_until(lambda: named() <= names, "the end of shared memory")


def test_a_training_with_thousands_of_open_files_can_be_watched(run: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 1200:
        pytest.skip("so many files may not be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 1200), limits[1]))
    with ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        for _ in range(1100):
            stack.callback(os.close, os.open("/dev/null", os.O_RDONLY))
        child = started(run)
        child.new_plan(PLAN)
        feed(child, PLAN, range(5))
        assert child.flush(PATIENCE)
        pid = killed(child)
        wait_for_another(child, pid)
        feed(child, PLAN, range(5, 10))
        assert child.close(PATIENCE)

    assert seen_steps(run, "a.Act") == list(range(10))


# --- ways to start -----------------------------------------------------------------------------------------


def test_a_lambda_cannot_be_handed_to_a_process_that_is_spawned(run: Path) -> None:
    for method in ("spawn", "forkserver"):
        child = Child(job_of(run), Callbacks(on_run=lambda *_: None), method)
        with pytest.raises(InputError, match="lambda"):
            child.start()


def test_one_that_is_left_to_end_by_itself_stays_no_zombie(run: Path) -> None:
    child = started(run)
    pid = child.pid
    assert not child.close(0.0)

    wait_until(
        lambda: not Path(f"/proc/{pid}").exists(), "the end of the process, and somebody who asks for it"
    )


def test_the_users_own_start_method_can_still_be_set_afterwards(run: Path) -> None:
    before = multiprocessing.get_start_method(allow_none=True)
    child = started(run, Callbacks(on_run=lambda *_: None))
    assert child.close(PATIENCE)
    assert multiprocessing.get_start_method(allow_none=True) == before


def test_start_methods_have_names(run: Path) -> None:
    with pytest.raises(InputError, match="spawn"):
        Child(job_of(run), None, "sporn").start()


@pytest.mark.usefixtures("fresh_children")
def test_a_callback_that_cannot_be_read_there_is_an_error_at_the_start(run: Path) -> None:
    with pytest.raises(InspectorError, match="not today"):
        started(run, Callbacks(on_run=_Unreadable()))


@pytest.mark.usefixtures("fresh_children")
def test_no_child_needs_a_temporary_folder(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(run / "nowhere"))
    assert started(run, Callbacks(on_run=print)).close(PATIENCE)


@pytest.mark.usefixtures("fresh_children")
def test_a_callback_may_hold_much_more_than_the_channel_takes_at_once(run: Path) -> None:
    much = partial(print, bytes(20 << 20))
    assert started(run, Callbacks(on_run=much)).close(PATIENCE)


class _Unreadable:
    def __call__(self, *_: object) -> None: ...

    def __reduce__(self) -> tuple[object, ...]:
        return _raise, ()


def _raise() -> None:
    raise ValueError("not today")
