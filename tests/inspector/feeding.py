"""Play the training for a child: fill the slots of its ring by hand, and see what is in the run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy
from numpy.typing import NDArray

from tests.inspector.frame_builder import frame_of, plan_of, row_of
from torcheer.inspector import child_process
from torcheer.inspector.child import lifetime
from torcheer.inspector.child.child_loop import Loop  # noqa: F401 - so that no fork has to import it
from torcheer.inspector.child_process import Child
from torcheer.inspector.frame_format import FRAME, Plan, RowFlag
from torcheer.inspector.protocol import Callbacks, Job
from torcheer.inspector.ring import Ring

PATIENCE = 60.0  # seconds; for a machine that is busy with other things


@contextmanager
def children_are_forks() -> Iterator[None]:
    """A child needs no new interpreter, and is not nice: it would have to wait for all other tests."""

    def start(end: Any) -> Any:
        return child_process._start_by_multiprocessing(None, "fork", end)

    starts = mock.patch.object(child_process, "_start_fresh", start)
    with starts, mock.patch.object(lifetime, "_NICENESS", 0):
        yield


def job_of(run: Path | str | None, **settings: Any) -> Job:
    chosen: dict[str, Any] = {
        "run": None if run is None else str(run),
        "rank": 0,
        "max_bytes": 1 << 30,
        "every": "20/s",
        "thresholds": None,
        "histogram_seconds": 0.0,
        "keeps_tensors": True,
        "idle_seconds": 0.0,
        "parent": os.getpid(),
        "is_again": False,
    }
    return Job(**{**chosen, **settings})


def plan_with(*names: str, num_slots: int = 16, number: int = 0) -> Plan:
    rows = [row_of(name, excerpt_bytes=256) for name in names]
    plan = plan_of(rows, sample_elements=64, number=number)
    return Plan(number=number, rows=plan.rows, sample_elements=64, num_slots=num_slots)


def started(
    run: Path | str | None,
    callbacks: Callbacks | None = None,
    start_method: str | None = None,
    **settings: Any,
) -> Child:
    child = Child(job_of(run, **settings), callbacks, start_method)
    child.start()
    return child


def has_room(ring: Ring) -> bool:
    return ring.num_waiting < ring.num_slots


def fill(ring: Ring, plan: Plan, step: int, arrays: Mapping[str, NDArray[Any]] | None = None) -> bool:
    """One frame. False: the ring is full."""
    if not has_room(ring):
        return False
    number = ring.num_filled
    slot = ring.slot(number)
    if arrays is None:
        arrays = {
            row.name: numpy.full((2, 3), step, dtype=numpy.float32) + index
            for index, row in enumerate(plan.rows)
        }
    frame = frame_of(plan, arrays, step=step, slot=slot)
    now = time.time()
    FRAME.pack_into(slot, 0, number, step, now, frame.flags)
    ring.note(number, step, now, numpy.packbits(frame.rows["flags"] & RowFlag.SEEN).tobytes())
    ring.publish()
    return True


def feed(child: Child, plan: Plan, steps: range) -> None:
    """Frames for all these steps, waiting for room where there is none."""
    ring = child.ring
    assert ring is not None
    for step in steps:
        wait_until(lambda: has_room(ring) or (not child.poll() and has_room(ring)), "room in the ring")
        assert fill(ring, plan, step)


def wait_until(is_so: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is no zombie that nobody has asked for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def seen_steps(run: Path | str, name: str, rank: int = 0) -> list[int]:
    """The steps at which the run has figures of a row."""
    from torcheer.run import open_run

    with open_run(run) as saved:
        watched = saved.watched.of_rank(rank)
        figures = watched[name]["mean"]
        return [
            step
            for step, value in zip(figures.steps.tolist(), figures.values, strict=True)
            if not numpy.isnan(value)
        ]


def num_lost(run: Path | str, name: str) -> int:
    """How many records of a row the run knows to be missing."""
    from torcheer.run import open_run

    with open_run(run) as saved:
        return sum(gap.counts.get(name, 0) for gap in saved.gaps)
