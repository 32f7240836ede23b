"""Runs: events written and read against TensorBoard's own, a training that logs, and a large run opened."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy
import torch
from sklearn.datasets import load_digits
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter

import torcheer as tl
from bench.effort import Effort
from bench.measure import Times, clocks, interleave
from bench.report import ROOT, Section, Table, Verdict
from bench.runopening import NUM_SERIES, OPEN_TEXT, Opened, open_big_run, opened_table

NUM_EVENTS: Final = 20_000
NUM_NAMES: Final = 10
NUM_SCALARS: Final = 20
NUM_STEPS: Final = 50

OURS, OURS_FACE, THEIRS = "tl.Run.log", "tl.SummaryWriter", "torch.utils.tensorboard.SummaryWriter"
READ, READ_EVENTS, READ_THEIRS = "tl.open_run", "tl.open_run, their event files", "EventAccumulator"
PLAIN, LOGGED = "a step", f"a step with {NUM_SCALARS} scalars logged"

TEXT: Final = f"""\
Writing: {NUM_EVENTS:,} scalars of {NUM_NAMES} names, from the first call until all of it is with the system
(`flush`); CPU time of the process, all threads. Reading: the same events, from opening the folder to arrays
of steps and values. `tl.SummaryWriter.add_scalar` takes one name a call, as theirs; `run.log` takes all
{NUM_NAMES} in one call."""
STEP_TEXT: Final = f"""\
A training step of a small CNN on digits, batch 64, {NUM_SCALARS} numbers logged after each, {NUM_STEPS} steps
a round; CPU time of the process with the writer's thread, and its commits to disk."""


def bench_runs(effort: Effort) -> Section:
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        opened = open_big_run(Path(folder), effort)
        measures = (_written, _read, _steps)
        written, read, steps = (measure(Path(folder), share) for measure, share in effort.divide(measures))
    return Section(
        title="Runs",
        parts=[
            TEXT,
            _events_table(written, read),
            STEP_TEXT,
            _steps_table(steps),
            OPEN_TEXT,
            opened_table(opened),
        ],
        verdicts=_verdicts(written, read, steps, opened),
        data={
            "written": written.by_name,
            "read": read.by_name,
            "steps": steps.by_name,
            "opened": asdict(opened),
        },
    )


def _verdicts(written: Times, read: Times, steps: Times, opened: Opened) -> list[Verdict]:
    return [
        Verdict(
            what="scalars written: theirs × tl.SummaryWriter",
            figure=written.ratio(THEIRS, OURS_FACE).median,
            at_least=10,
        ),
        Verdict(
            what="scalars written: theirs × run.log", figure=written.ratio(THEIRS, OURS).median, at_least=10
        ),
        Verdict(what="scalars read: theirs × ours", figure=read.ratio(READ_THEIRS, READ).median, at_least=10),
        Verdict(
            what=f"a training step, {NUM_SCALARS} scalars logged",
            figure=steps.ratio(LOGGED, PLAIN).median,
            at_most=1.02,
        ),
        Verdict(
            what=f"{NUM_SERIES} × {opened.num_points:,} points, seconds to the first chart",
            figure=opened.median_seconds,
            at_most=2,
        ),
    ]


# --- events ------------------------------------------------------------------------------------------


def _written(folder: Path, effort: Effort) -> Times:
    print("  scalars written …", flush=True)
    places = (folder / "written" / str(number) for number in count())
    runs: dict[str, Callable[[], Any]] = {
        OURS: lambda: _write_run(next(places)),
        OURS_FACE: lambda: _write_with(tl.SummaryWriter, next(places)),
        THEIRS: lambda: _write_with(SummaryWriter, next(places)),
    }
    return interleave(clocks(runs), effort)


def _write_run(folder: Path) -> None:
    with tl.Run(folder) as run:
        for step in range(NUM_EVENTS // NUM_NAMES):
            run.log(step, {f"train/{at}": step * 0.5 for at in range(NUM_NAMES)})
        run.flush()


def _write_with(make: Callable[[str], Any], folder: Path) -> None:
    writer = make(str(folder))
    for step in range(NUM_EVENTS // NUM_NAMES):
        for at in range(NUM_NAMES):
            writer.add_scalar(f"train/{at}", step * 0.5, step)
    writer.flush()
    writer.close()


def _read(folder: Path, effort: Effort) -> Times:
    print("  scalars read …", flush=True)
    _write_run(folder / "ours")
    _write_with(SummaryWriter, folder / "theirs")
    runs: dict[str, Callable[[], Any]] = {
        READ: partial(_read_run, folder / "ours"),
        READ_EVENTS: partial(_read_run, folder / "theirs"),
        READ_THEIRS: partial(_read_theirs, folder / "theirs"),
    }
    return interleave(clocks(runs), effort)


def _read_run(folder: Path) -> None:
    run = tl.open_run(folder)
    found = [run.scalars(name) for name in run.names("scalar")]
    assert sum(len(series) for series in found) == NUM_EVENTS


def _read_theirs(folder: Path) -> None:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    found = [events.Scalars(name) for name in events.Tags()["scalars"]]
    arrays = [numpy.array([(event.step, event.value) for event in series]) for series in found]
    assert sum(map(len, arrays)) == NUM_EVENTS


def _events_table(written: Times, read: Times) -> Table:
    rows = [("written", written, name) for name in (OURS, OURS_FACE, THEIRS)]
    rows += [("read", read, name) for name in (READ, READ_EVENTS, READ_THEIRS)]
    theirs = {"written": THEIRS, "read": READ_THEIRS}
    return Table(
        columns=("", "µs an event", "theirs / this"),
        rows=[
            (
                f"{what}: {name}",
                f"{times.median(name) / NUM_EVENTS * 1e6:.2f}",
                "" if name == theirs[what] else f"{times.ratio(theirs[what], name).median:.0f} ×",
            )
            for what, times, name in rows
        ],
    )


# --- a training --------------------------------------------------------------------------------------


def _steps(folder: Path, effort: Effort) -> Times:
    print("  a training step …", flush=True)
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images[:64], dtype=torch.float32).view(-1, 1, 8, 8)
    y = torch.tensor(labels[:64])
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4096, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tl.Run(folder / "steps") as run:
        runs: dict[str, Callable[[], Any]] = {
            PLAIN: partial(_train, model, optimizer, x, y, None),
            LOGGED: partial(_train, model, optimizer, x, y, run),
        }
        return interleave(clocks(runs), effort)


def _train(
    model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor, run: tl.Run | None
) -> None:
    for step in range(NUM_STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        value = loss.item()
        if run is not None:
            run.log(step, {f"train/{at}": value for at in range(NUM_SCALARS)})
    if run is not None:
        run.flush()


def _steps_table(steps: Times) -> Table:
    return Table(
        columns=("", "ms a step", "× a step"),
        rows=[
            (name, f"{steps.median(name) / NUM_STEPS * 1e3:.3f}", str(steps.ratio(name, PLAIN)))
            for name in (PLAIN, LOGGED)
        ],
    )
