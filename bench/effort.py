"""How long the benches take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    seconds_a_model: float
    seconds_a_size: float
    num_imports: int


FULL = Effort(seconds_a_model=20, seconds_a_size=3, num_imports=7)
QUICK = Effort(seconds_a_model=3, seconds_a_size=1, num_imports=2)
