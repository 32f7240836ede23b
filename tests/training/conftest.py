"""How children that watch a training begin in these tests: as forks, at once."""

from collections.abc import Iterator

import pytest

from tests.inspector.feeding import children_are_forks


@pytest.fixture(scope="module", autouse=True)
def forked_children() -> Iterator[None]:
    with children_are_forks():
        yield
