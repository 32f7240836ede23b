"""`torcheer control`, `torcheer learn` and `torcheer video`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from torcheer.cli.runs import RunArgument, folder_of
from torcheer.errors import InputError
from torcheer.graph import PARTS, Progress
from torcheer.learn import MAX_SOURCE, Example

if TYPE_CHECKING:
    from torcheer.training.control import Value

_WORDS: Final[Mapping[str, Value]] = {"True": True, "False": False, "None": None, "": None}


def control(
    target: Annotated[
        str,
        typer.Argument(
            help="path/to/file.py:function or package.module:function, which returns a tl.Loop.",
            metavar="TARGET",
        ),
    ],
    folder: Annotated[Path, typer.Option(help="Where its runs go.")] = Path("runs"),
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter to begin with, over that of the code; repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="To begin with.", show_default="that of the code")] = None,
    port: Annotated[int | None, typer.Option(help="Which port.", show_default="a free one")] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Step and run a training from a page. It runs in a process of its own, which ends with this."""
    from torcheer.app import view
    from torcheer.training.control import Control

    made = Control(target, folder=folder, values=read_settings(settings or ()), seed=seed)
    view([], controls=[made], host=host, port=port, open_browser=browser)


def read_settings(settings: Sequence[str]) -> dict[str, Value]:
    """`hidden=20` by name. The training says whether it has such a parameter, and may have such a value."""
    values: dict[str, Value] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise InputError(f"--set {setting!r} names no parameter: write --set learning_rate=0.1.")
        if name in values:
            raise InputError(f"--set gives {name} twice: leave one of them out.")
        values[name] = _value_of(text.strip())
    return values


def _value_of(text: str) -> Value:
    """A number, a truth or None where it reads as one, else the text; in double quotes always a text."""
    if text in _WORDS:
        return _WORDS[text]
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, int | float | str):
        return found
    try:
        return float(text)  # .5, as people write it
    except ValueError:
        return text


def learn(
    expression: Annotated[
        str | None,
        typer.Argument(
            help="A file such as two_layers.py, or the expression itself; it is read, never run.",
            metavar="[FILE or EXPRESSION]",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Which port.", show_default="a free one")] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Watch how gradients come about: examples, expressions of your own, exercises."""
    from torcheer.app import learn as serve

    own = None if expression is None else read_own(expression)
    serve(own, host=host, port=port, open_browser=browser)


_ABOUT: Final = "What you gave to `torcheer learn`."


def read_own(expression: str) -> Example:
    """The expression as an example, from a file if it names one. Lines may be parted by `;`."""
    path = Path(expression)
    source, title = expression, "Yours"
    if expression.endswith(".py"):
        try:
            with path.open(encoding="utf-8") as file:
                source = file.read(MAX_SOURCE + 1)
        except FileNotFoundError:
            raise InputError(f"there is no file {expression} here.") from None
        except OSError as error:
            raise InputError(f"{expression} cannot be read: {error.strerror or error}.") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{expression} cannot be read: it is no text in UTF-8.") from error
        title = f"Yours: {path.name}"
    if len(source) > MAX_SOURCE:
        raise InputError(f"{title} has more than {MAX_SOURCE:,} signs: take a smaller expression.")
    return Example(id="yours", title=title, about=_ABOUT, source=source)


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

    with Progress(f"{layer} → {output}", None, PARTS) as progress:
        try:
            made = make_video(
                folder_of(run),
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
            left = f": {output} holds the frames so far" if output.exists() else ""
            typer.echo(f"torcheer: stopped{left}", err=True)
            raise typer.Exit(130) from None
        except OSError as error:
            raise InputError(f"{str(output)!r} cannot be written: {error.strerror or error}.") from error
    left_out = f", {made.num_left_out} records left out" if made.num_left_out else ""
    typer.echo(f"torcheer: wrote {made.path}: {made.series}, {made.num_frames} frames{left_out}", err=True)


def _pixels(size: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise InputError(f"{size!r} is no size: give width and height as 640x480.")
    return int(found[1]), int(found[2])
