"""Small products, one thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def _one_thread() -> Iterator[None]:
    # Where cores are shared, threads of small products wait for one another.
    with threadpool_limits(1):
        yield
