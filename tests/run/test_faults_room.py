"""On a disk that is nearly full, the last room is for numbers; large records wait, and only they."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.run.rawtables import RawPart, quick_folder
from tests.run.test_faults import told
from torcheer.run.run import Run
from torcheer.run.write import part_file


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield Path(folder)


class FewBytes:
    """A disk that has room for so many bytes of a record."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, num_bytes: float) -> None:
        self.num_bytes = num_bytes
        monkeypatch.setattr(part_file, "has_room", self.has_room)

    def has_room(self, path: Path, num_bytes: int, **others: Any) -> bool:
        return num_bytes <= self.num_bytes


def test_numbers_and_small_things_do_not_wait_for_a_record_that_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FewBytes(monkeypatch, 1000)
    with told() as messages:
        run = Run(tmp_path)
        for step in range(5):
            run.log(step, loss=float(step))
            run.log_tensor(step, "weight", numpy.full(1000 if step > 1 else 10, step, dtype="f4"))
            run.log_text(step, "note", str(step))
            assert run.flush() == (step < 2)
        part = RawPart(tmp_path)
        assert part.points("loss").steps.tolist() == list(range(5))
        assert [step for step, _ in part.records("text", "note")] == list(range(5))
        assert [step for step, _ in part.records("tensor", "weight")] == [0, 1]
        disk.num_bytes = 1e9
        assert run.flush()
        run.close()

    assert [step for step, _ in part.records("tensor", "weight")] == list(range(5))
    assert run.num_dropped == 0
    assert ["no room for tensor 'weight'" in message for message in messages] == [True, False]
    assert "written again" in messages[1]


def test_a_series_keeps_its_order_while_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FewBytes(monkeypatch, 100)
    with told():
        run = Run(tmp_path)
        for step, size in enumerate([10, 1000, 10, 1000, 10]):
            run.log_tensor(step, "weight", numpy.zeros(size, dtype="u1"))
        assert not run.flush()
        assert [step for step, _ in RawPart(tmp_path).records("tensor", "weight")] == [0]
        disk.num_bytes = 1e9
        run.close()

    assert [step for step, _ in RawPart(tmp_path).records("tensor", "weight")] == [0, 1, 2, 3, 4]


def test_what_never_finds_room_is_counted_when_the_run_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FewBytes(monkeypatch, 100)
    with told() as messages, Run(tmp_path) as run:
        for step in range(3):
            run.log_tensor(step, "weight", numpy.zeros(1000))
            run.log(step, loss=1.0)

    part = RawPart(tmp_path)
    assert part.points("loss").steps.tolist() == [0, 1, 2]
    assert run.num_dropped == part.session("num_dropped") == 3
    assert part.session("outcome") == "finished"
    assert len(messages) == 1


def test_a_batch_that_fits_only_in_pieces_is_written_and_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FewBytes(monkeypatch, 1500)
    with told() as messages, Run(tmp_path) as run:
        for step in range(10):
            run.log_tensor(step, f"weight/{step}", numpy.zeros(1000, dtype="u1"))

    assert len(RawPart(tmp_path).names("tensor")) == 10
    assert messages == []
    assert run.num_dropped == 0


def test_records_leave_a_share_of_a_small_disk_and_a_fixed_room_on_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rank-0.sqlite"
    for total, kept in ((8 << 20, 1 << 20), (1 << 40, 16 << 20)):
        monkeypatch.setattr(
            part_file.shutil, "disk_usage", lambda _, total=total, kept=kept: (total, 0, kept + 2000)
        )
        assert part_file.has_room(path, 1000, log_is_empty=True)
        assert not part_file.has_room(path, 1001, log_is_empty=True)
        assert part_file.is_low(path)
    Path(f"{path}-wal").write_bytes(b"x" * 500)
    assert not part_file.has_room(path, 1000, log_is_empty=False)
    assert part_file.has_room(path, 750, log_is_empty=False)
