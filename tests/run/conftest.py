"""These tests are about what is written, not about the disk: their folders lie in memory where they can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.raw_tables import quick_folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)
