"""`torcheer video`: a video of a tensor, histogram or image of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from torcheer.cli.runs import RunArgument
from torcheer.errors import InputError
from torcheer.graph import PARTS, Progress

_SIZE = re.compile(r"(\d{1,5})[x×X](\d{1,5})")


def video(
    run: RunArgument,
    layer: Annotated[
        str, typer.Argument(help="A series, as features.0.weight, or a layer that has only one of them.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to: .mp4, .gif, or a folder for PNG files.")
    ] = Path("out.mp4"),
    size: Annotated[str, typer.Option(help="Width and height of a frame.")] = "640x480",
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 20.0,
    first_step: Annotated[
        int | None, typer.Option("--from", help="The first step.", show_default="all")
    ] = None,
    last_step: Annotated[int | None, typer.Option("--to", help="The last step.", show_default="all")] = None,
    kind: Annotated[str, typer.Option(help="auto, picture, tiles, histogram or pca.")] = "auto",
    theme: Annotated[str, typer.Option(help="light or dark.")] = "light",
) -> None:
    """Make a video of a tensor of a run over its steps."""
    from torcheer.video import make_video

    before = _stamp(output)
    with Progress(f"{layer} → {output}", None, PARTS) as progress:
        try:
            made = make_video(
                _folder_of(run),
                layer,
                output,
                size=_pixels(size),
                fps=fps,
                first_step=first_step,
                last_step=last_step,
                kind=kind,
                theme=theme,
                progress=progress.reach,
            )
        except KeyboardInterrupt:
            left = f": {output} holds the frames so far" if _stamp(output) not in (None, before) else ""
            typer.echo(f"torcheer: stopped{left}", err=True)
            raise typer.Exit(130) from None
        except OSError as error:
            raise InputError(f"{str(output)!r} cannot be written: {error.strerror or error}.") from error
    left_out = f", {made.num_left_out} records left out" if made.num_left_out else ""
    typer.echo(f"torcheer: wrote {made.path}: {made.series}, {made.num_frames} frames{left_out}", err=True)


def _stamp(path: Path) -> int | None:
    """When it was written; None where it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _folder_of(run: Path) -> Path:
    """As it stands, or in `runs`."""
    inside = Path("runs") / run
    return inside if not run.exists() and inside.is_dir() else run


def _pixels(size: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise InputError(f"{size!r} is no size: give width and height as 640x480.")
    return int(found[1]), int(found[2])
