"""`purge_step` takes back what earlier sessions logged, in whichever of the rank's files it stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.rawtables import RawPart, quick_folder
from tests.run.test_faults import told
from torcheer.run.run import Run


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


def log_with(*runs: Run) -> None:
    for run in runs:
        for step in range(10):
            run.log(step, loss=1.0)
            run.log_text(step, "note", "x")
        run.flush()


def steps_in(folder: Path, name: str) -> tuple[list[int], list[int]]:
    part = RawPart(folder, name)
    return part.points("loss").steps.tolist(), [step for step, _ in part.records("text", "note")]


def generation_of(folder: Path, name: str) -> int:
    return int(RawPart(folder, name).ask("SELECT value FROM meta WHERE key = 'generation'")[0][0])


def test_it_takes_back_in_all_parts_of_its_rank_and_in_no_other(tmp_path: Path) -> None:
    with Run(tmp_path) as first, Run(tmp_path) as second, Run(tmp_path, rank=1) as other:
        log_with(first, second, other)
    with told() as messages, Run(tmp_path, purge_step=5):
        pass

    assert messages == []
    assert steps_in(tmp_path, "rank-0") == steps_in(tmp_path, "rank-0.1") == ([0, 1, 2, 3, 4],) * 2
    assert steps_in(tmp_path, "rank-1")[0] == list(range(10))
    assert [generation_of(tmp_path, name) for name in ("rank-0", "rank-0.1", "rank-1")] == [1, 1, 0]
    # Nobody wrote into the second one: it was only looked through.
    assert RawPart(tmp_path, "rank-0.1").ask("SELECT outcome FROM sessions") == [("finished",)]


def test_a_part_without_such_steps_is_left_as_it_is(tmp_path: Path) -> None:
    with Run(tmp_path) as first, Run(tmp_path) as second:
        log_with(first, second)
    with Run(tmp_path, purge_step=10):
        pass

    assert generation_of(tmp_path, "rank-0.1") == 0


def test_what_somebody_else_is_writing_is_not_taken_back_and_told(tmp_path: Path) -> None:
    with told() as messages:
        holder = Run(tmp_path)
        log_with(holder)
        with Run(tmp_path, purge_step=5) as resumed:
            resumed.log(5, loss=2.0)
        holder.close()

    assert steps_in(tmp_path, "rank-0")[0] == list(range(10))
    assert RawPart(tmp_path, "rank-0.1").points("loss").steps.tolist() == [5]
    (message,) = messages
    assert "from step 5 on is not taken back in rank-0.sqlite: somebody writes it" in message


def test_a_file_that_is_no_part_is_told_and_stops_neither_the_purge_nor_the_run(tmp_path: Path) -> None:
    with Run(tmp_path) as first, Run(tmp_path) as second, Run(tmp_path) as third:
        log_with(first, second, third)
    (tmp_path / "rank-0.1.sqlite").write_bytes(b"no database" * 1000)
    (tmp_path / "rank-0.3.sqlite").touch()  # of somebody who was killed at once
    with told() as messages, Run(tmp_path, purge_step=5) as run:
        run.log(5, loss=2.0)

    assert steps_in(tmp_path, "rank-0.2")[0] == [0, 1, 2, 3, 4]
    assert steps_in(tmp_path, "rank-0")[0] == [0, 1, 2, 3, 4, 5]
    (message,) = messages
    assert "rank-0.1.sqlite" in message
