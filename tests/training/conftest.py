"""How children that watch a training begin in these tests (as forks, at once), and a terminal to look at."""

import io
from collections.abc import Iterator

import pytest

from tests.inspector.feeding import children_are_forks


@pytest.fixture(scope="module", autouse=True)
def forked_children() -> Iterator[None]:
    with children_are_forks():
        yield


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """What goes to stderr, as on a terminal of 120 columns that is drawn each time."""
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr("torcheer.graph.progress.REFRESH_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    return shown
