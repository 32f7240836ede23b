"""`torcheer control`: step and run a training from a page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from torcheer.errors import InputError

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
