"""What `torcheer runs` says of runs, before it is a table or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy

from torcheer.run import (
    Kind,
    SavedRun,
    Scalars,
    SeriesKey,
    find_runs,
    is_loss,
    links_note,
    links_within,
    looked_at_first,
    loss_of,
    sparkline,
)

_HIGHER_IS_BETTER: Final = re.compile(r"acc|f1|auc|iou|precision|recall|score|bleu|psnr|ssim", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run in a list. Times are seconds since 1970."""

    name: str
    path: str
    source: str
    state: str
    reason: str
    started: float
    updated: float
    seconds: float  # from the first session to the last thing written
    last_step: int | None
    total_steps: int | None
    loss_name: str
    last_loss: float | None
    num_series: int
    num_points: int
    num_records: int
    num_bytes: int
    num_dropped: int
    num_thinned: int
    comment: str
    tags: tuple[str, ...]
    host: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """A series of a run."""

    kind: Kind
    name: str
    count: int
    last_step: int
    last_value: float | None
    num_bad: int
    first_bad_step: int | None
    curve: str  # of a scalar
    description: str


def list_rows(folder: Path, sort: str, *, follow_links: bool = False) -> tuple[list[RunRow], str]:
    """All runs of a folder, and what should be known of the search."""
    rows = []
    links = links_within(folder, follow_links=follow_links)
    all_found = find_runs(folder, links)
    for found in all_found:
        name = folder.resolve().name if found.name == "." else found.name
        with SavedRun(found.path, links=links) as run:
            rows.append(list_row(name, run))
    orders: dict[str, Callable[[RunRow], Any]] = {
        "updated": lambda row: (row.state != "running", -row.updated),
        "started": lambda row: -row.started,
        "step": lambda row: -(row.last_step or 0),
        "name": lambda row: row.name,
    }
    return sorted(rows, key=orders[sort]), links_note(all_found.num_links_out)


def list_row(name: str, run: SavedRun) -> RunRow:
    status = run.status()
    series = run.reader().series()
    loss = loss_of(key.name for key in series if key.kind == "scalar")
    return RunRow(
        name=name,
        path=str(run.path),
        source=status.source,
        state=status.state,
        reason=status.reason,
        started=status.started,
        updated=status.updated,
        seconds=max(status.updated - status.started, 0.0) if status.started else 0.0,
        last_step=status.last_step,
        total_steps=status.total_steps,
        loss_name=loss,
        last_loss=series[SeriesKey("scalar", loss)].last_value if loss else None,
        num_series=status.num_series,
        num_points=status.num_points,
        num_records=status.num_records,
        num_bytes=status.num_bytes,
        num_dropped=status.num_dropped,
        num_thinned=status.num_thinned,
        comment=status.comment,
        tags=status.tags,
        host=status.host,
        note=status.note,
    )


def series_rows(run: SavedRun) -> list[SeriesRow]:
    """Scalars first, in the order in which people look at them; then the rest by kind."""
    series = run.reader().series()
    scalars = looked_at_first([key.name for key in series if key.kind == "scalar"])
    others = sorted((key for key in series if key.kind != "scalar"), key=lambda key: key.kind)
    rows = []
    for key in [*(SeriesKey("scalar", name) for name in scalars), *others]:
        entry = series[key]
        row = SeriesRow(
            kind=key.kind,
            name=key.name,
            count=entry.count,
            last_step=entry.last_step,
            last_value=entry.last_value,
            num_bad=entry.num_bad,
            first_bad_step=entry.first_bad_step,
            curve=sparkline(run.reader().points(key.name).values) if key.kind == "scalar" else "",
            description=entry.description,
        )
        rows.append(row)
    return rows


def best_of(scalars: Scalars) -> tuple[float, int] | None:
    """The best value and its step: the lowest of a loss, the highest of an accuracy; None of all else."""
    is_high = not is_loss(scalars.name) and _HIGHER_IS_BETTER.search(scalars.name) is not None
    finite = numpy.flatnonzero(numpy.isfinite(scalars.values))
    if not len(finite) or not (is_high or is_loss(scalars.name)):
        return None
    values = scalars.values[finite]
    place = finite[values.argmax() if is_high else values.argmin()]
    return float(scalars.values[place]), int(scalars.steps[place])
