"""A page that follows runs: it asks, and hears answers in whichever order they come."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from tests.app.serving import PATIENCE_SECONDS, SECRET, Page, take_apart
from torcheer.app.server import serve_runs_in_background


class Heard(NamedTuple):
    """An answer and the bytes that came with it."""

    answer: Any
    data: bytes


class RunsPage(Page):
    """A page with a number for each question."""

    def __init__(self, serving: Any) -> None:
        super().__init__(serving)
        self._waiting: defaultdict[int, deque[Heard]] = defaultdict(deque)
        self._last = 1000

    def begin(self, type: str, **question: Any) -> int:
        self._last += 1
        self.socket.send(json.dumps({"type": type, "id": self._last, **question}))
        return self._last

    def hear(self, number: int) -> Heard:
        """The next answer to a question."""
        while not self._waiting[number]:
            heard = self.hear_any()
            self._waiting[heard.answer["id"]].append(heard)
        return self._waiting[number].popleft()

    def hear_any(self, timeout: float = PATIENCE_SECONDS) -> Heard:
        message = self.socket.recv(timeout=timeout)
        return Heard(json.loads(message), b"") if isinstance(message, str) else Heard(*take_apart(message))

    def once(self, type: str, **question: Any) -> Heard:
        return self.hear(self.begin(type, **question))

    def refused(self, type: str, **question: Any) -> str:
        answer = self.once(type, **question).answer
        assert answer["type"] == "refusal", answer
        return str(answer["message"])

    def stop(self, number: int) -> None:
        self.begin("stop", which=number)

    # --- what goes on ---------------------------------------------------------------------------

    def runs(self, number: int, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Follow the list until it is as wanted: runs by their names."""
        known: dict[str, Any] = {}
        while True:
            answer = self.hear(number).answer
            assert answer["type"] == "runs", answer
            known |= {run["id"]: run for run in answer["runs"]}
            for gone in answer["gone"]:
                del known[gone]
            by_name = {run["name"]: run for run in known.values()}
            if until(by_name):
                return by_name

    def all_runs(self, number_of_runs: int) -> dict[str, Any]:
        """All runs once they have been read."""
        number = self.begin("runs")
        found = self.runs(
            number, lambda runs: len(runs) == number_of_runs and all(_is_read(run) for run in runs.values())
        )
        self.stop(number)
        return found

    def series(self, run_id: str, *names: str, **changes: Any) -> int:
        wanted = [{"run_id": run_id, "name": name} for name in names]
        question = {"axis": "step", "low": None, "high": None, "num_buckets": 100, "wanted": wanted}
        return self.begin("series", **(question | changes))

    def blocks(self, number: int, count: int = 0) -> list[tuple[dict[str, Any], np.ndarray]]:
        """The blocks of the next answer, each with its columns; and of later ones, until there are `count`.

        A look that takes long sends what it has and goes on.
        """
        answer, data = self.hear(number)
        assert answer["type"] == "series", answer
        found, numbers = [], np.frombuffer(data)
        for block in answer["blocks"]:
            num_columns = 3 if block["form"] == "points" else 7
            size = num_columns * block["num_items"]
            found.append((block, numbers[:size].reshape(num_columns, -1)))
            numbers = numbers[size:]
        assert not len(numbers)
        return found if len(found) >= count else found + self.blocks(number, count - len(found))


def _is_read(run: dict[str, Any]) -> bool:
    return bool(run["num_series"] or run["note"])


def make_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server look for runs more often than it should outside of tests."""
    for where in (
        "run_news._LIST_SECONDS",
        "run_shelf._SUMMARY_SECONDS",
        "run_shelf._SCAN_SECONDS",
        "run_answers._LIST_SECONDS",
    ):
        monkeypatch.setattr(f"torcheer.app.runs.{where}", 0.03)
    monkeypatch.setattr("torcheer.app.runs.run_news._PATIENT", 0)


@contextmanager
def page_on(*folders: Path) -> Iterator[RunsPage]:
    with serve_runs_in_background(*folders, secret=SECRET) as serving, RunsPage(serving) as page:
        yield page


# --- processes of analyses ---------------------------------------------------------------------

FAILING: Final = (sys.executable, "-c", "raise SystemExit('a secret reason')")
# Says how far it is and then never ends.
ENDLESS: Final = (
    sys.executable,
    "-c",
    """
import sys, time
sys.stdout.write('{"progress": 0.25}\\n')
sys.stdout.flush()
time.sleep(1000)
""",
)


def started_processes(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """All processes that the server starts from now on."""
    processes: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def started(*command: Any, **options: Any) -> Any:
        processes.append(await start(*command, **options))
        return processes[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", started)
    return processes
