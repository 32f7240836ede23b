"""A writer that is killed at a random instant leaves a run that is intact and nearly whole."""

from __future__ import annotations

import random
from pathlib import Path

from tests.many import IS_ALL
from tests.run.torture import torture


def test_killed_writers_leave_intact_runs_with_all_but_the_last_half_second(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"python -m tests.run.torture --kills 6 --seed {seed}")

    tally = torture(6, seed, tmp_path) if IS_ALL else torture(3, seed, tmp_path, longest=1.2)

    assert tally.num_events > 0
