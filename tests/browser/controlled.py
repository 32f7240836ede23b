"""A served training that a page can control: tests/training/small_loop.py, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app.serving import SECRET
from tests.copying import popen
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving
from torcheer.training.control import Control, Init, RunOn

TARGET = "tests.training.small_loop:loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlled:
    """A server, and the training that its pages may control. `control.pid` is the process, to be killed."""

    serving: Serving
    control: Control

    @property
    def url(self) -> str:
        """Of the control page, with the token that lets one in."""
        return f"{self.serving.url}#control?c={self.control.id}"

    @property
    def runs(self) -> list[Path]:
        """The folders of all runs since Init."""
        return [Path(run) for run in self.control.status.runs]


@contextmanager
def controlled(
    folder: Path, *, target: str = TARGET, values: Mapping[str, Any] | None = None, is_started: bool = True
) -> Iterator[Controlled]:
    """Serve it. `values` go over those of the code. The process comes up at once."""
    control = Control(target, folder=folder, values=values)
    with (
        pytest.MonkeyPatch.context() as patch,
        serve_runs_in_background(controls=[control], secret=SECRET) as serving,
    ):
        patch.setattr("torcheer.training.control.controller.subprocess.Popen", popen)  # it has torch already
        if is_started:
            control.start()
        yield Controlled(serving=serving, control=control)


@contextmanager
def trained(folder: Path, values: Mapping[str, Any]) -> Iterator[Controlled]:
    """The same, once its runs are over."""
    with controlled(folder, values=values) as found:
        found.control.wait(lambda status: status.state == "new")
        begin(found, values)
        found.control.do(RunOn())
        found.control.wait(lambda status: status.state == "done")
        yield found


def begin(served: Controlled, values: Mapping[str, Any]) -> None:
    served.control.do(Init(values=dict(values), seed=1))
    served.control.wait(lambda status: status.state == "ready" and status.counters.step == 0)
