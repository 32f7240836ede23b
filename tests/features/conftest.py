"""What zarr leaves running, ends with the test that used it: other tests look at which threads there are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_threads_of_zarr_after() -> Iterator[None]:
    yield
    sync = sys.modules.get("zarr.core.sync")
    if sync is None:
        return
    sync.cleanup_resources()
    for thread in threading.enumerate():
        if thread.name.startswith("asyncio_"):  # of its loop, which tells them to end
            thread.join(timeout=5)
