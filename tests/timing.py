"""Where the time of the tests goes, by kind. `make test` ends with it.

TEST_TIMES=file also writes a line a test: kind, seconds, name.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.copying import PROCESS_STARTED

SUMMARY: Final = Path(__file__).resolve().parents[1] / "build" / "test-seconds.json"
_STARTS: Final = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", PROCESS_STARTED))
_DOCS: Final = frozenset(("test_docs", "test_tour", "test_notebooks"))


class Timing:
    """In a worker, tells which tests use other processes; in the main process, adds up the seconds."""

    def __init__(self) -> None:
        self._num_started = 0
        self._children_seconds = 0.0
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by test
        self._kinds: dict[str, str] = {}  # by test
        sys.addaudithook(self._audit)

    def _audit(self, event: str, _: object) -> None:
        if event in _STARTS:
            self._num_started += 1

    def pytest_runtest_logstart(self) -> None:
        self._num_started = 0
        self._children_seconds = _children_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        report.user_properties = [*report.user_properties, ("kind", self._kind_of(item))]
        return report

    def _kind_of(self, item: pytest.Item) -> str:
        if "browser" in item.path.parts:
            return "browser"
        if item.path.stem in _DOCS:
            return "docs"
        is_alone = self._num_started == 0 and _children_seconds() == self._children_seconds
        return "unit" if is_alone else "processes"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        self._kinds[report.nodeid] = dict(report.user_properties).get(
            "kind", "unit"
        )  # teardown's is the last word

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return
        by_kind: dict[str, tuple[int, float]] = {}
        for name, seconds in self._seconds.items():
            number, total = by_kind.get(self._kinds[name], (0, 0.0))
            by_kind[self._kinds[name]] = (number + 1, total + seconds)
        SUMMARY.parent.mkdir(exist_ok=True)
        SUMMARY.write_text(json.dumps(by_kind))
        if path := os.environ.get("TEST_TIMES"):
            lines = (
                f"{self._kinds[name]}\t{seconds:.3f}\t{name}\n" for name, seconds in self._seconds.items()
            )
            Path(path).write_text("".join(lines))


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
