"""Run a `tl.Loop` in another process and control it from a page. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.training.control.control_commands import (
        About,
        Counters,
        Fault,
        Init,
        Level,
        RunOn,
        SetLive,
        State,
        Step,
        Stop,
        TestAll,
        TestItem,
        Value,
    )
    from torcheer.training.control.controller import Control, Status, close_all, control
else:
    __getattr__, __dir__ = lazy_imports(__name__)
