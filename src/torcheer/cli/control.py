"""`torcheer control`: step and run a training from a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def control(
    target: Annotated[
        str,
        typer.Argument(
            help="path/to/file.py:function or package.module:function, which returns a tl.Loop.",
            metavar="TARGET",
        ),
    ],
    folder: Annotated[Path, typer.Option(help="Where its runs go.")] = Path("runs"),
    seed: Annotated[int | None, typer.Option(help="To begin with.", show_default="that of the code")] = None,
    port: Annotated[int | None, typer.Option(help="Which port.", show_default="a free one")] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Step and run a training from a page. It runs in a process of its own, which ends with this."""
    from torcheer.app.viewing import view
    from torcheer.training.control.control import Control

    made = Control(target, folder=folder, seed=seed)
    view([], controls=[made], host=host, port=port, open_browser=browser)
