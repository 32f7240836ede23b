"""The tables of `torcheer runs`, as the terminal shows them."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from torcheer.cli.runrows import RunRow, SeriesRow, best_of
from torcheer.graph import readable_bytes
from torcheer.run import Plain, SavedRun, looked_at_first

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


def print_list(rows: Sequence[RunRow]) -> None:
    table = _table("run", "state", ">step", ">duration", ">updated", ">loss", ">size")
    for row in rows:
        state, style = _STATES[row.state]
        table.add_row(
            plain(row.name),
            Text(state, style=style),
            _steps(row),
            duration(row.seconds) if row.started else "–",
            ago(row.updated),
            f"{number(row.last_loss)} {plain(row.loss_name)}" if row.loss_name else "–",
            readable_bytes(row.num_bytes),
        )
    console = _console()
    console.print(table)
    remarks = [f"{plain(row.name)}: {remark}" for row in rows for remark in _remarks(row)]
    if remarks:
        console.print()
    for remark in remarks:
        console.print(Text(remark, style="dim"))


def print_run(
    row: RunRow, hparams: Mapping[str, Plain], series: Sequence[SeriesRow], watch_lines: Sequence[str] = ()
) -> None:
    console = _console()
    state, style = _STATES[row.state]
    console.print(Text.assemble((plain(row.path), "bold"), "  ", (state, style)))
    facts = {
        "step": _steps(row),
        "started": _date(row.started),
        "duration": duration(row.seconds) if row.started else "",
        "updated": ago(row.updated),
        "host": plain(row.host),
        "size": readable_bytes(row.num_bytes),
        "comment": plain(row.comment),
        "tags": ", ".join(map(plain, row.tags)),
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
        if item.kind in _SAID_ABOVE:
            continue
        table.add_row(
            plain(item.name),
            item.kind,
            f"{item.count:,}",
            str(item.last_step),
            number(item.last_value) if item.kind == "scalar" else "",
            _curve(item),
        )
    console.print(table)


def print_comparison(names: Sequence[str], runs: Sequence[SavedRun]) -> None:
    console = _console()
    console.print(_metrics_table(names, runs))
    console.print()
    differing = _differing([run.hparams() for run in runs])
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
    for name in looked_at_first(everywhere):
        cells = []
        for scalars in of_runs:
            found = scalars.get(name)
            cells.append("–" if found is None or not len(found) else _last_and_best(found))
        table.add_row(plain(name), *cells)
    return table


def _last_and_best(scalars: Any) -> str:
    last, best = number(float(scalars.values[-1])), best_of(scalars)
    return last if best is None else f"{last} ({number(best[0])} at {best[1]})"


def _differing(of_runs: Sequence[Mapping[str, Plain]]) -> dict[str, list[str]]:
    names = dict.fromkeys(name for hparams in of_runs for name in hparams)
    rows = {name: [_value(h[name]) if name in h else "–" for h in of_runs] for name in names}
    return {name: values for name, values in rows.items() if len(set(values)) > 1}


def _remarks(row: RunRow) -> list[str]:
    remarks = [plain(row.reason)] if row.reason else []
    if row.num_dropped:
        remarks.append(f"{row.num_dropped:,} dropped: what could not be kept was told when it happened")
    if row.num_thinned:
        remarks.append(f"{row.num_thinned:,} old records thinned, to keep within max_bytes")
    return [*remarks, plain(row.note)] if row.note else remarks


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


def _steps(row: RunRow) -> str:
    if row.last_step is None:
        return "–"
    return str(row.last_step) if row.total_steps is None else f"{row.last_step} / {row.total_steps}"


def _curve(item: SeriesRow) -> Text:
    bad = f"  {item.num_bad:,} NaN or ∞, first at step {item.first_bad_step}" if item.num_bad else ""
    return Text.assemble(item.curve, (bad, "red"))


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
