"""`tl.control`: the page from which a person steps a training, which runs in a process of its own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torcheer.errors import InputError
from torcheer.training.control.control import Control
from torcheer.training.control.finding import target_of
from torcheer.training.control.protocol import Value

if TYPE_CHECKING:
    from torcheer.training.loop import Loop

_WORKER = "torcheer.training.control.worker"


def control(
    loop: Callable[[], Loop[Any]] | Loop[Any],
    *,
    folder: str | os.PathLike[str] | None = None,
    values: Mapping[str, Value] | None = None,
    seed: int | None = None,
    open_browser: bool = True,
    port: int | None = None,
) -> str | None:
    """Open the page from which a training is initialised, stepped, run, stopped and tested.

    - `loop`: a function that takes nothing and returns a `tl.Loop`, or a `tl.Loop`, at the level of its
      module: another process imports it from there. Call this under `if __name__ == "__main__":`.
    - `folder`: where its runs go; `runs` by default.
    - `values`, `seed`: to begin with, over those of the code.
    - `port`: on which the page is served; one that is free by default.

    It serves until Ctrl-C, and the training ends with it. In a notebook it goes on beside the cells, and
    returns the address.
    """
    main = sys.modules.get("__main__")
    if getattr(getattr(main, "__spec__", None), "name", "") == _WORKER:
        raise InputError(
            "tl.control was called while its own process imports the training: put the call under "
            "`if __name__ == '__main__':`."
        )
    from torcheer.training.looping.seeding import checked_seed

    made = Control(
        str(target_of(loop)),
        folder=getattr(loop, "folder", "runs") if folder is None else folder,
        values=values,
        seed=None if seed is None else checked_seed(seed),
        # What is no folder or archive is a mark of some finder, which knows it by its name.
        search_path=[os.path.abspath(entry) if os.path.exists(entry or ".") else entry for entry in sys.path],
    )
    # The one seam upwards: the app stands above this room.
    page = importlib.import_module("torcheer.app")
    address: str | None = page.show_control(made, open_browser=open_browser, port=port)
    return address
