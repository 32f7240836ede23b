"""A run that another process writes, as many steps as it is told to."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.copying import ROOT, Copy

# Each line says how many steps to log; the answer comes when they are there. Without more lines it ends.
_SCRIPT = """
import sys
import torcheer as tl
step = 0
with tl.Run(sys.argv[1], comment="in another process", total_steps=100) as run:
    for line in sys.stdin:
        for _ in range(int(line)):
            run.log(step, {"train/loss": 1000.0 - step, "train/acc": step / 8})
            step += 1
        run.flush()
        print(step, flush=True)
"""


class LiveRun:
    """The process that writes it."""

    def __init__(self, process: Copy) -> None:
        self._process = process

    def take(self, num_steps: int) -> None:
        self._process.stdin.write(f"{num_steps}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() != ""

    def finish(self) -> None:
        self._process.stdin.close()
        assert self._process.wait() == 0

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@contextmanager
def live_run(path: Path) -> Iterator[LiveRun]:
    process = Copy(["-c", _SCRIPT, str(path)], cwd=ROOT)
    try:
        yield LiveRun(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
