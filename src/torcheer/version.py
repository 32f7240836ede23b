"""Which torcheer this is."""

from __future__ import annotations

from typing import Final

RELEASE: Final = "0.1.0"
