"""What `torcheer runs` prints: rows of runs, of a run's series and records, and of what was watched."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy
from rich.console import Console
from rich.table import Table
from rich.text import Text

from torcheer.graph import readable_bytes
from torcheer.run import (
    Plain,
    SavedRun,
    Scalars,
    SeriesKey,
    by_interest,
    every_text,
    find_runs,
    is_loss,
    links_note,
    links_within,
    loss_of,
    losses_of,
    sparkline,
)

_HIGHER_IS_BETTER: Final = re.compile(r"acc|f1|auc|iou|precision|recall|score|bleu|psnr|ssim", re.IGNORECASE)


Row = dict[str, Any]  # of a run or a series, as programs get it; times are seconds since 1970


def list_rows(folder: Path, sort: str, *, follow_links: bool = False) -> tuple[list[Row], str]:
    """All runs of a folder, and what should be known of the search."""
    rows = []
    links = links_within(folder, follow_links=follow_links)
    all_found = find_runs(folder, links)
    for found in all_found:
        name = folder.resolve().name if found.name == "." else found.name
        with SavedRun(found.path, links=links) as run:
            rows.append(list_row(name, run))
    orders: dict[str, Callable[[Row], Any]] = {
        "updated": lambda row: (row["state"] != "running", -row["updated"]),
        "started": lambda row: -row["started"],
        "step": lambda row: -(row["last_step"] or 0),
        "name": lambda row: row["name"],
    }
    return sorted(rows, key=orders[sort]), links_note(all_found.num_links_out)


def list_row(name: str, run: SavedRun) -> Row:
    status, series = run.status(), run.reader().series()
    loss = loss_of(key.name for key in series if key.kind == "scalar")
    return {
        "name": name,
        "path": str(run.path),
        **asdict(status),
        # From the first session to the last thing written.
        "seconds": max(status.updated - status.started, 0.0) if status.started else 0.0,
        "loss_name": loss,
        "last_loss": series[SeriesKey("scalar", loss)].last_value if loss else None,
    }


def series_rows(run: SavedRun) -> list[Row]:
    """Scalars first, in the order in which people look at them; then the rest by kind."""
    series = run.reader().series()
    scalars = by_interest([key.name for key in series if key.kind == "scalar"])
    others = sorted((key for key in series if key.kind != "scalar"), key=lambda key: key.kind)
    names = ("count", "last_step", "last_value", "num_bad", "first_bad_step", "description")
    return [
        {
            "kind": key.kind,
            "name": key.name,
            **{name: getattr(series[key], name) for name in names},
            "curve": sparkline(run.reader().points(key.name).values) if key.kind == "scalar" else "",
        }
        for key in [*(SeriesKey("scalar", name) for name in scalars), *others]
    ]


def best_of(scalars: Scalars) -> tuple[float, int] | None:
    """The best value and its step: the lowest of a loss, the highest of an accuracy; None of all else."""
    is_high = not is_loss(scalars.name) and _HIGHER_IS_BETTER.search(scalars.name) is not None
    finite = numpy.flatnonzero(numpy.isfinite(scalars.values))
    if not len(finite) or not (is_high or is_loss(scalars.name)):
        return None
    values = scalars.values[finite]
    place = finite[values.argmax() if is_high else values.argmin()]
    return float(scalars.values[place]), int(scalars.steps[place])


# A shape and a word: not everybody sees the colour.
_STATES: Final = {
    "running": ("● running", "green"),
    "finished": ("✓ finished", ""),
    "died": ("✕ died", "red"),
    "unknown": ("○ unknown", "dim"),
}


_SAID_ABOVE: Final = ("watch", "statistics", "alarm", "gap", "netview", "moment")


def print_json(rows: object) -> None:
    """NaN and infinity, which JSON does not have, become null."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n")


def print_list(rows: Sequence[Row]) -> None:
    table = _table("run", "state", ">step", ">duration", ">updated", ">loss", ">size")
    for row in rows:
        state, style = _STATES[row["state"]]
        table.add_row(
            plain(row["name"]),
            Text(state, style=style),
            _steps(row),
            duration(row["seconds"]) if row["started"] else "–",
            ago(row["updated"]),
            f"{number(row['last_loss'])} {plain(row['loss_name'])}" if row["loss_name"] else "–",
            readable_bytes(row["num_bytes"]),
        )
    console = _console()
    console.print(table)
    remarks = [f"{plain(row['name'])}: {remark}" for row in rows for remark in _remarks(row)]
    if remarks:
        console.print()
    for remark in remarks:
        console.print(Text(remark, style="dim"))


def print_run(
    row: Row, hparams: Mapping[str, Plain], series: Sequence[Row], watch_lines: Sequence[str] = ()
) -> None:
    console = _console()
    state, style = _STATES[row["state"]]
    console.print(Text.assemble((plain(row["path"]), "bold"), "  ", (state, style)))
    facts = {
        "step": _steps(row),
        "started": _date(row["started"]),
        "duration": duration(row["seconds"]) if row["started"] else "",
        "updated": ago(row["updated"]),
        "host": plain(row["host"]),
        "size": readable_bytes(row["num_bytes"]),
        "comment": plain(row["comment"]),
        "tags": ", ".join(map(plain, row["tags"])),
        "hparams": ", ".join(f"{plain(name)}={_value(value)}" for name, value in hparams.items()),
    }
    grid = Table.grid(padding=(0, 2))
    for title, fact in facts.items():
        if fact:
            grid.add_row(Text(title, style="dim"), Text(fact))
    console.print(grid)
    for remark in _remarks(row):
        console.print(Text(remark, style="yellow"))
    if watch_lines:
        console.print()
    for line in watch_lines:
        console.print(Text(line))
    console.print()
    table = _table("series", "kind", ">count", ">last step", ">last value", "curve")
    for item in series:
        if item["kind"] in _SAID_ABOVE:
            continue
        num_bad, first_bad = item["num_bad"], item["first_bad_step"]
        bad = f"  {num_bad:,} NaN or ∞, first at step {first_bad}" if num_bad else ""
        table.add_row(
            plain(item["name"]),
            item["kind"],
            f"{item['count']:,}",
            str(item["last_step"]),
            number(item["last_value"]) if item["kind"] == "scalar" else "",
            Text.assemble(item["curve"], (bad, "red")),
        )
    console.print(table)


def print_comparison(names: Sequence[str], runs: Sequence[SavedRun]) -> None:
    console = _console()
    console.print(_metrics_table(names, runs))
    console.print()
    hparams = [run.hparams() for run in runs]
    rows = {
        name: [_value(its[name]) if name in its else "–" for its in hparams]
        for name in dict.fromkeys(name for its in hparams for name in its)
    }
    differing = {name: values for name, values in rows.items() if len(set(values)) > 1}
    if not differing:
        console.print(Text("No hyperparameters were logged that differ.", style="dim"))
        return
    table = _table("hyperparameter", *(f">{name}" for name in names))
    for name, values in differing.items():
        table.add_row(plain(name), *values)
    console.print(table)


def _metrics_table(names: Sequence[str], runs: Sequence[SavedRun]) -> Table:
    table = _table("last (best at step)", *(f">{name}" for name in names))
    table.add_row("state", *(Text(*_STATES[run.state]) for run in runs))
    of_runs = [run.scalars() for run in runs]
    everywhere = dict.fromkeys(name for scalars in of_runs for name in scalars)
    for name in by_interest(everywhere):
        cells = []
        for scalars in of_runs:
            found = scalars.get(name)
            last = number(float(found.values[-1]) if found is not None and len(found) else None)
            best = None if found is None else best_of(found)
            cells.append(last if best is None else f"{last} ({number(best[0])} at {best[1]})")
        table.add_row(plain(name), *cells)
    return table


def _remarks(row: Row) -> list[str]:
    losses = losses_of(row["num_dropped"], row["num_thinned"])
    return [remark for remark in (plain(row["reason"]), *losses, plain(row["note"])) if remark]


def plain(text: str) -> str:
    """Text from a file, for the terminal: what could steer it is shown as a dot."""
    return "".join(letter if letter.isprintable() else "·" for letter in text)


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}".replace("nan", "NaN").replace("inf", "∞")


def duration(seconds: float) -> str:
    """`3 d 04 h`, `2 h 05 min`, `12 min 30 s`, `8 s`."""
    whole = int(seconds)
    if whole >= 86400:
        return f"{whole // 86400} d {whole % 86400 // 3600:02} h"
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 60} min {whole % 60:02} s" if whole >= 60 else f"{whole} s"


def ago(moment: float) -> str:
    if not moment:
        return "–"
    seconds = time.time() - moment
    # The larger of the two units is enough.
    return "now" if seconds < 2 else f"{' '.join(duration(seconds).split()[:2])} ago"


def _date(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment)) if moment else ""
    except (OverflowError, ValueError, OSError):  # a file can say anything
        return ""


def _steps(row: Row) -> str:
    if row["last_step"] is None:
        return "–"
    return (
        str(row["last_step"]) if row["total_steps"] is None else f"{row['last_step']} / {row['total_steps']}"
    )


def _value(value: Plain) -> str:
    return (
        plain(value) if isinstance(value, str) else f"{value:.6g}" if isinstance(value, float) else str(value)
    )


def _table(*titles: str) -> Table:
    """Columns by title; a > before it puts what is in it to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        justify: Any = "right" if title.startswith(">") else "left"
        table.add_column(Text(plain(title.removeprefix(">"))), justify=justify, overflow="fold")
    return table


def _console() -> Console:
    # Into a pipe or a file, a line is a row: it is not broken at the width of some terminal.
    console = Console(highlight=False, markup=False, emoji=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, emoji=False, width=200)


_MOST_ALARMS: Final = 5
_MOST_GAPS: Final = 3
_REASONS: Final = {
    "full": "the ring was full",
    "killed": "the child was killed",
    "budget": "to stay within the budget",
    "error": "of an error",
}


def watch_rows(run: SavedRun) -> dict[str, Any]:
    """The same for programs."""
    ranks = [
        {
            "rank": rank,
            **{name: getattr(its, name) for name in ("every", "got", "names", "columns")},
            "num_steps": len(its.steps),
            "last_step": int(its.steps[-1]) if len(its.steps) else None,
        }
        for rank in run.watched.ranks
        for its in [run.watched.of_rank(rank)]
    ]
    return {"watched": ranks, "alarms": run.alarms, "gaps": run.gaps}


def watch_lines(run: SavedRun) -> Iterator[str]:
    """A few lines; none of a run that nobody watched."""
    watched, alarms, gaps = run.watched, run.alarms, run.gaps
    for rank in watched.ranks:
        its = watched.of_rank(rank)
        of_rank = f"rank {rank}: " if len(watched.ranks) > 1 else ""
        every = f", {plain(every_text(its.every, its.got))}" if its.every else ""
        rows = f"{len(its):,} rows of {len(its.layers):,} layers"
        yield f"watched: {of_rank}{rows} at {len(its.steps):,} steps{every}"
    if alarms:
        kinds = Counter(alarm.alarm for alarm in alarms)
        counted = ", ".join(f"{plain(kind)} {count:,}" for kind, count in kinds.most_common())
        yield f"alarms: {len(alarms):,} ({counted})"
    for alarm in alarms[:_MOST_ALARMS]:
        said = plain(alarm.message) or f"{plain(alarm.alarm)} of {plain(alarm.row)}"
        yield f"  step {alarm.step}: {said}"
    if len(alarms) > _MOST_ALARMS:
        yield f"  and {len(alarms) - _MOST_ALARMS:,} more: torcheer runs export csv --events"
    if gaps:
        yield f"gaps: {len(gaps):,}, {sum(gap.num_missing for gap in gaps):,} records missing"
    for gap in gaps[:_MOST_GAPS]:
        is_one = gap.first_step == gap.last_step
        steps = f"step {gap.first_step}" if is_one else f"steps {gap.first_step}–{gap.last_step}"
        yield f"  {steps}: {gap.num_missing:,} missing, {_REASONS.get(gap.reason, gap.reason)}"
    if len(gaps) > _MOST_GAPS:
        yield f"  and {len(gaps) - _MOST_GAPS:,} more"
