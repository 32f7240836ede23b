"""`torcheer runs`: list, show, compare, export and remove runs."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TextIO

import typer

from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run import LOCK_ENDING, PART_ENDING, is_event_file, is_part, open_run

if TYPE_CHECKING:
    from torcheer.run import SavedRun

# What reads and prints is imported when it is needed: `torcheer --version` should not wait for it.
runs_app = typer.Typer(no_args_is_help=True, help="List, show, compare, export and remove runs.")
export_app = typer.Typer(no_args_is_help=True, help="Write a run as CSV or as TensorBoard's event files.")
runs_app.add_typer(export_app, name="export")

RunArgument = Annotated[
    Path, typer.Argument(metavar="RUN", help="The folder of a run, or its name in the folder runs.")
]
RunsArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN…", help="Folders of runs, or their names in the folder runs.")
]
LinksOption = Annotated[
    bool, typer.Option("--follow-links", help="Follow links that lead out of the folder.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
SortKey = Literal["updated", "started", "name", "step"]


@runs_app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Where to look, at any depth.")] = Path("runs"),
    as_json: JsonOption = False,
    sort: Annotated[SortKey, typer.Option(help="Which come first: the newest, or by name.")] = "updated",
    follow_links: LinksOption = False,
) -> None:
    """List the runs in a folder, with their state."""
    from torcheer.cli.run_tables import list_rows, print_json, print_list

    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}: name the one that holds your runs.")
    rows, note = list_rows(folder, sort, follow_links=follow_links)
    if as_json:
        print_json(rows)
    elif not rows:
        why = f"{note} (--follow-links)" if note else f"tl.Run({str(folder / 'first')!r}) would put one there"
        raise InputError(f"there are no runs in {str(folder)!r}: {why}.")
    else:
        print_list(rows)
    if note:
        typer.echo(f"torcheer: {note}: --follow-links follows them.", err=True)


@runs_app.command()
def show(run: RunArgument, as_json: JsonOption = False, follow_links: LinksOption = False) -> None:
    """Show what a run holds: its series, how long they are, how they end."""
    from torcheer.cli.run_tables import list_row, print_json, print_run, series_rows, watch_lines, watch_rows

    saved = _opened(run, follow_links)
    row, series = list_row(saved.path.name, saved), series_rows(saved)
    if as_json:
        print_json({"run": row, "hparams": saved.hparams(), "series": series, **watch_rows(saved)})
    else:
        print_run(row, saved.hparams(), series, list(watch_lines(saved)))


@runs_app.command()
def compare(runs: RunsArgument, follow_links: LinksOption = False) -> None:
    """Compare runs: their metrics side by side, and the hyperparameters in which they differ."""
    from torcheer.cli.run_tables import print_comparison

    if len(runs) < 2:
        raise InputError("name at least two runs to compare: torcheer runs compare runs/first runs/second")
    names = [run.resolve().name for run in runs]
    if len(set(names)) < len(names):  # two end alike
        names = list(map(str, runs))
    print_comparison(names, [_opened(run, follow_links) for run in runs])


@export_app.command("csv")
def export_csv(
    run: RunArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to; - for the terminal.")] = Path("-"),
    wide: Annotated[bool, typer.Option("--wide", help="A row a step, a column a scalar.")] = False,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="Only this scalar; may be given several times.")
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Alarms and gaps of an inspector, instead of scalars.")
    ] = False,
    follow_links: LinksOption = False,
) -> None:
    """Write the scalars of a run as CSV, or its alarms and gaps."""
    from torcheer.run import save_table, write_csv, write_events_csv

    if events and (wide or names):
        raise InputError("--events writes alarms and gaps: --wide and --name are for scalars.")
    saved = _opened(run, follow_links)
    for name in names or ():
        saved.scalars(name)  # a name that is not there is said before the file is made

    def write(stream: TextIO) -> None:
        if events:
            write_events_csv(saved.reader(), stream)
        else:
            write_csv(saved.reader(), stream, names=names, wide=wide)

    if str(output) == "-":
        write(sys.stdout)
        return
    try:
        save_table(output, write)
    except OSError as error:
        raise InputError(
            f"{str(output)!r} cannot be written ({error.strerror}): name another file."
        ) from error
    typer.echo(f"torcheer: wrote {output}", err=True)


@export_app.command("tensorboard")
def export_events(
    run: RunArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the event file.")],
    follow_links: LinksOption = False,
) -> None:
    """Write a run as an event file, which TensorBoard shows."""
    from torcheer.run import KINDS_NOT_EXPORTED

    saved = _opened(run, follow_links)
    written = saved.export_tensorboard(output)
    typer.echo(f"torcheer: wrote {written}", err=True)
    if any(key.kind in KINDS_NOT_EXPORTED for key in saved.reader().series()):
        typer.echo(
            "torcheer: left out what TensorBoard has nothing for: statistics of layers, alarms, gaps.",
            err=True,
        )


@runs_app.command("rm")
def remove(
    runs: RunsArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also runs that are being written.")] = False,
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Leave what else is in the folder, instead of refusing.")
    ] = False,
) -> None:
    """Remove runs from the disk. Nothing but their own files is ever removed."""
    folders = list(dict.fromkeys(folder_of(run).resolve() for run in runs))
    about = [_checked(folder, force=force, files_only=files_only) for folder in folders]
    if not yes:
        for line in about:
            typer.echo(line)
        typer.confirm(
            "Remove for good?" if len(folders) == 1 else f"Remove these {len(folders)} for good?", abort=True
        )
    for folder in folders:
        # Once more: somebody may have resumed it while the question stood there.
        _checked(folder, force=force, files_only=files_only)
        typer.echo(f"torcheer: {_remove(folder)}", err=True)


def folder_of(run: Path) -> Path:
    """The folder that is meant: as it stands, or in `runs`."""
    inside = Path("runs") / run
    return inside if not run.exists() and inside.is_dir() else run


def _opened(run: Path, follow_links: bool) -> SavedRun:
    return open_run(folder_of(run), follow_links=follow_links)


_BESIDE: Final = ("-wal", "-shm", "-journal")  # that SQLite puts beside a part
_RECENT_SECONDS: Final = 60  # event files that were written to since may be written to still
_SHOWN: Final = 5


def _files_in(folder: Path) -> tuple[list[Path], list[str]]:
    """The run's own files, and the names of what else is there."""
    files, others = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            name, endings = entry.name, (LOCK_ENDING, *(PART_ENDING + ending for ending in _BESIDE))
            is_beside = name.startswith("rank-") and name.endswith(endings)
            is_own = is_beside or is_event_file(name) or is_part(name)
            if is_own and (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                files.append(folder / entry.name)
            else:
                others.append(entry.name)
    return files, sorted(others)


def _checked(folder: Path, *, force: bool, files_only: bool) -> str:
    """What would go, in words. InputError where it should not be done; nothing was removed then."""
    with open_run(folder) as run:
        status = run.status()
    files, others = _files_in(folder)
    is_recent = status.state == "unknown" and time.time() - status.updated < _RECENT_SECONDS
    if not force and (status.state == "running" or is_recent):
        what = "was written to a moment ago" if is_recent else "is being written"
        raise InputError(f"{folder} {what}: stop the training first, or say --force. Nothing was removed.")
    if others and not files_only:
        shown = ", ".join(map(repr, others[:_SHOWN]))
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        raise InputError(
            f"{folder} holds what is not the run's own: {shown}{more}. Move it away, or say --files-only to "
            "remove the run's own files and leave the rest. Nothing was removed."
        )
    return f"{folder}: {status.state}, {len(files)} files, {readable_bytes(status.num_bytes)}"


def _remove(folder: Path) -> str:
    """What was done, in a sentence."""
    files, _ = _files_in(folder)
    for path in files:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path} cannot be removed ({error.strerror}): see that you may write to its folder."
            ) from error
    try:
        folder.rmdir()
    except OSError:  # there is something else in it, or it is a link
        return f"removed {len(files)} files of {folder}; the folder stays"
    return f"removed {folder}"
