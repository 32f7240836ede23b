"""Where the run of a test goes, and how its children begin: as forks, where no new interpreter is needed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.inspector.feeding import children_are_forks


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Where the run of a test goes."""
    return tmp_path / "run"


@pytest.fixture
def fresh_children() -> None:
    """A test that asks for it has children as users have them: nice ones, each in a new interpreter."""


@pytest.fixture(autouse=True)
def forked_children(request: pytest.FixtureRequest) -> Iterator[None]:
    if "fresh_children" in request.fixturenames:
        yield
        return
    with children_are_forks():
        yield
