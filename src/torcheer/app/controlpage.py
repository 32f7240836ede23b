"""The page of a training that a program wants to be controlled: served until Ctrl-C, or beside a notebook."""

from __future__ import annotations

import sys
from typing import Final

from torcheer.app.server import Serving, serve_runs_in_background
from torcheer.app.viewing import control_place, view
from torcheer.desktop import in_notebook, open_in_browser
from torcheer.training.control import Control

_servings: Final[list[Serving]] = []  # of a notebook, which go on until it ends


def show_control(control: Control, *, open_browser: bool, port: int | None) -> str | None:
    """Serve it until Ctrl-C; in a notebook, which has to go on, beside it. Returns the address there."""
    if not in_notebook():
        view([], controls=[control], port=port, open_browser=open_browser)
        return None
    serving = serve_runs_in_background(port=port, controls=[control])
    _servings.append(serving)
    url = f"{serving.url}{control_place(control)}"
    sys.stdout.write(f"The training can be controlled at {url}\n")
    sys.stdout.flush()
    if open_browser:
        open_in_browser(url)
    return url
