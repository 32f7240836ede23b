"""The NetView of a run: served beside the program that records it, in a notebook, or as one HTML file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final

from torcheer.app.beside import address_of
from torcheer.app.netembedding import embedded_net
from torcheer.app.notebook import InlinePage, show_inline
from torcheer.app.page import (
    MAX_BYTES,
    MAX_NOTEBOOK_BYTES,
    Bundle,
    Subject,
    checked_bytes,
    frame_of,
    read_bundle,
)
from torcheer.app.runs.arrays import ArrayStore
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.places import RunPlace
from torcheer.desktop import in_notebook, open_in_browser
from torcheer.graph import Progress
from torcheer.run import RunReader, Teller
from torcheer.tensorfile import write_whole

_RUN: Final = "file"  # its id in a page that has no other
_FRONT_END: Final = "netfile"
_HEIGHT: Final = 720  # between the cells of a notebook, in pixels

_Path = str | os.PathLike[str]


def show_net(folder: _Path) -> str | None:
    """Show the network of this run: in the notebook, if this is one, as it is now; else in the browser, where
    the page goes on as the run does. Returns the address of that page."""
    if in_notebook():
        page = net_file_page(folder, max_bytes=MAX_NOTEBOOK_BYTES)
        show_inline(InlinePage(page, _HEIGHT, "A network and its values"))
        return None
    url = net_address(folder)
    sys.stdout.write(f"The NetView is at {url}\n")
    sys.stdout.flush()
    open_in_browser(url)
    return url


def net_address(folder: _Path) -> str:
    """Where the NetView of this run is served, beside the program, until that ends."""
    return address_of(folder, "netview")


# --- as one file ---------------------------------------------------------------------------------


def net_file_page(folder: _Path, *, max_bytes: int = MAX_BYTES, bundle: Bundle | None = None) -> str:
    """The page as text. It has at most `max_bytes`, unless front end and structure alone take more."""
    return b"".join(_pieces(folder, checked_bytes(max_bytes), bundle or read_bundle(_FRONT_END))).decode()


def write_net_page(folder: _Path, path: _Path, *, max_bytes: int = MAX_BYTES) -> str:
    """Write the page to a file, which is there when it is whole; returns where it is."""
    max_bytes = checked_bytes(max_bytes)
    bundle = read_bundle(_FRONT_END)

    def write(file: BinaryIO) -> None:
        file.writelines(_pieces(folder, max_bytes, bundle))

    return write_whole(path, "a page", write, "netview.html")


def _pieces(folder: _Path, max_bytes: int, bundle: Bundle) -> Sequence[bytes]:
    path = Path(os.path.abspath(folder))
    subject = Subject(name=path.name, about="a network and its values", data_id="torcheer-net")
    before, after = frame_of(
        subject, replace(bundle, worker="")
    )  # it lays out graphs, of which there are none
    room = max_bytes - len(before) - len(after)
    run = OpenRun(RunPlace(id=_RUN, name=path.name, path=path), RunReader, ArrayStore())
    try:
        with Progress("writing the page", max(0, room)) as progress:
            net = embedded_net(run, room, max_bytes, progress.add)
    finally:
        run.close()
    pieces = [before, *net.data, after]
    if net.has_no_room:
        Teller().tell(
            f"there are no values in the page of {path.name}: max_bytes is {max_bytes:,}, and the page "
            f"without them takes {sum(map(len, pieces)):,}. Give a larger max_bytes."
        )
    return pieces
