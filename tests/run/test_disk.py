"""Whatever the disk does, the training goes on, somebody is told once, and what was written stays."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.run.raw_tables import RawPart, told
from torcheer.run.part_storage import remote_kind
from torcheer.run.records import Encoded, Observation, TextHead
from torcheer.run.run import Run
from torcheer.run.write import disk, part_file, queue
from torcheer.run.write.part_file import PartFile


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    """To the last byte."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        written = 1
        while written:
            try:
                written = file.write(b"x" * 4096)
            except OSError:  # no space left
                written = 0
    return ballast


def test_a_full_disk_is_told_once_and_written_again_when_there_is_room(small_disk: Path) -> None:
    with told() as messages:
        run = Run(small_disk / "run")
        run.log(0, loss=0.0)
        assert run.flush()
        ballast = fill(small_disk)
        step = 1
        while run.flush():  # a little still fits into what SQLite has
            run.log(step, {"loss": float(step)} | {f"more/{k}/{step}": 0.0 for k in range(50)})
            step += 1
        run.log(step, loss=float(step))
        assert not run.flush()
        assert RawPart(small_disk / "run").points("loss").steps.tolist()[0] == 0
        ballast.unlink()
        assert run.flush()
        run.close()

    part = RawPart(small_disk / "run")
    assert part.points("loss").steps.tolist() == list(range(step + 1))
    assert part.is_intact()
    assert run.num_dropped == 0
    assert ["disk is full" in message for message in messages] == [True, False]
    assert "written again" in messages[1]


def test_a_disk_that_stays_full_costs_the_rest_and_nothing_else(small_disk: Path) -> None:
    with told() as messages, Run(small_disk / "run") as run:
        for step in range(20):
            run.log(step, loss=float(step))
        assert run.flush()
        fill(small_disk)
        run.log_tensor(20, "weight", numpy.zeros(200_000))
        run.log(20, loss=20.0)

    part = RawPart(small_disk / "run")
    steps = part.points("loss").steps.tolist()
    assert steps in (list(range(20)), list(range(21)))  # a single number may fit into what SQLite has
    assert part.names("tensor") == []
    assert run.num_dropped == 1 + 21 - len(steps)
    assert len(messages) == 1


def test_large_records_on_a_small_disk_leave_room_for_all_numbers(small_disk: Path) -> None:
    with told() as messages, Run(small_disk / "run") as run:
        for step in range(100):
            run.log(step, {f"loss/{number}": float(step) for number in range(10)})
            run.log_tensor(step, "weight", numpy.zeros(5_000))
            if step % 10 == 0:
                run.flush()

    part = RawPart(small_disk / "run")
    for number in range(10):
        assert part.points(f"loss/{number}").steps.tolist() == list(range(100))
    num_kept = len(part.records("tensor", "weight"))
    assert 0 < num_kept < 100
    assert run.num_dropped == part.session("num_dropped") == 100 - num_kept
    assert part.session("outcome") == "finished"
    assert part.is_intact()
    assert len(messages) == 1


def test_where_a_file_may_not_grow_the_training_goes_on(tmp_path: Path) -> None:
    script = f"""
import resource, sys
from torcheer.run.run import Run
run = Run({str(tmp_path / "run")!r})
run.log(0, loss=0.0)
assert run.flush()
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
for step in range(1, 50):
    run.log(step, {{f"x/{{step}}/{{k}}": 0.0 for k in range(50)}} | dict(loss=float(step)))
    refused = not run.flush()
    if refused:
        break
assert refused
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
assert run.flush()
run.close()
assert run.num_dropped == 0
print(step)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=python_path())

    assert found.returncode == 0, found.stderr
    assert RawPart(tmp_path / "run").points("loss").steps.tolist() == list(range(int(found.stdout) + 1))
    assert found.stderr.count("RunWarning") == 2


def python_path() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": "src:."}


def test_a_file_in_the_place_of_the_folder_is_told_and_survives(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("precious")
    with told() as messages:
        run = Run(tmp_path / "run")
        for step in range(10):
            run.log(step, loss=1.0)
        assert not run.flush()
        run.close()

    assert (tmp_path / "run").read_text() == "precious"
    assert run.num_dropped == 10
    assert len(messages) == 1
    assert "a file where the folder should be" in messages[0]


def test_a_folder_that_becomes_writable_later_gets_all_that_was_logged_before(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way")
    with told() as messages:
        run = Run(tmp_path / "run")
        for step in range(10):
            run.log(step, loss=float(step))
        assert not run.flush()
        (tmp_path / "run").unlink()
        assert run.flush()
        run.close()

    assert RawPart(tmp_path / "run").points("loss").steps.tolist() == list(range(10))
    assert run.num_dropped == 0
    assert len(messages) == 2


def test_a_folder_that_may_not_be_written_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(disk, "take_part", refuse)
    with told() as messages, Run(tmp_path) as run:
        run.log(0, loss=1.0)

    assert run.num_dropped == 1
    assert len(messages) == 1
    assert "may not be written to" in messages[0]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_deleted_folder_is_not_made_anew(tmp_path: Path, replaced: bool) -> None:
    with told() as messages:
        run = Run(tmp_path / "run")
        run.log(0, loss=0.0)
        assert run.flush()
        shutil.rmtree(tmp_path / "run")
        if replaced:
            Run(tmp_path / "run").close()
        for step in range(5):
            run.log(step, loss=1.0)
        assert not run.flush()
        run.log_text(6, "note", "lost")
        run.close()

    assert (tmp_path / "run").exists() == replaced
    assert run.num_dropped == 6
    assert len(messages) == 1
    assert "deleted" in messages[0]


def damage_with_noise(path: Path) -> None:
    path.write_bytes(os.urandom(20_000))


def damage_in_the_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[3000:9000] = os.urandom(6000)
    path.write_bytes(bytes(data))


def make_foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE points (something TEXT)")
        connection.execute("CREATE TABLE meta (key TEXT, value TEXT)")


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'format'")
        connection.commit()


def make_booby_trapped(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TRIGGER gone AFTER INSERT ON points BEGIN DELETE FROM points; END")


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [damage_with_noise, damage_in_the_middle, make_foreign, make_newer, make_booby_trapped, make_a_folder],
)
def test_a_file_that_is_no_part_of_ours_is_left_alone_and_another_is_taken(
    tmp_path: Path, spoil: Any
) -> None:
    with Run(tmp_path) as run:
        run.log(0, loss=0.0)
    spoil(tmp_path / "rank-0.sqlite")
    before = (tmp_path / "rank-0.sqlite").read_bytes() if spoil is not make_a_folder else None
    with told() as messages, Run(tmp_path) as run:
        run.log(1, loss=1.0)
        assert run.flush()

    part = RawPart(tmp_path, "rank-0.1")
    assert part.points("loss").steps.tolist() == [1]
    assert "rank-0.sqlite" in part.session("note")
    assert before is None or (tmp_path / "rank-0.sqlite").read_bytes() == before
    assert run.num_dropped == 0
    assert len(messages) == 1


def test_a_file_that_is_damaged_while_it_is_written_is_left_for_another(tmp_path: Path) -> None:
    with told() as messages:
        run = Run(tmp_path)
        run.log(0, loss=0.0)
        assert run.flush()
        with closing(sqlite3.connect(tmp_path / "rank-0.sqlite")) as connection:
            connection.execute("DROP TABLE points")
        run.log(1, loss=1.0)
        run.log(1, other=1.0)
        assert run.flush()
        run.close()

    part = RawPart(tmp_path, "rank-0.1")
    assert part.points("loss").steps.tolist() == [1]
    assert part.points("other").steps.tolist() == [1]
    assert run.num_dropped == 0
    assert len(messages) == 1


def test_a_file_that_another_program_holds_locked_is_written_when_it_lets_go(tmp_path: Path) -> None:
    with told() as messages:
        run = Run(tmp_path)
        with closing(sqlite3.connect(tmp_path / "rank-0.sqlite")) as connection:
            connection.execute("BEGIN IMMEDIATE")
            run.log(0, loss=0.0)
            assert not run.flush()
            connection.rollback()
        assert run.flush()
        run.close()

    assert RawPart(tmp_path).points("loss").steps.tolist() == [0]
    assert len(messages) == 2


def observation_of(encode: Any, step: int = 0) -> Observation:
    return Observation(kind="text", name="note", step=step, time=0.0, num_bytes=5, encode=encode)


def encoded(data: Any) -> Encoded:
    return Encoded(TextHead(num_characters=1), data)


def broken() -> Encoded:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    "wrong",
    [
        observation_of(broken),
        observation_of(lambda: encoded(object())),
        observation_of(lambda: encoded("no bytes but text")),
        observation_of(lambda: encoded(b"x"), step=2**70),
    ],
)
def test_one_record_that_cannot_be_written_costs_only_itself(tmp_path: Path, wrong: Observation) -> None:
    with told() as messages:
        run = Run(tmp_path)
        run.log(0, loss=0.0)
        run._put(observation_of(lambda: encoded(b"before")))
        run._put(wrong)
        run._put(observation_of(lambda: encoded(b"after")))
        run._put(wrong)
        run.log(1, loss=1.0)
        assert run.flush()
        run.close()

    part = RawPart(tmp_path)
    assert part.points("loss").steps.tolist() == [0, 1]
    assert part.records("text", "note") == [(0, b"before"), (0, b"after")]
    assert run.num_dropped == part.session("num_dropped") == 2
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("step", "values"),
    [
        ("three", {"loss": 1.0}),
        (None, {"loss": 1.0}),
        (1.5, {"loss": 1.0}),
        (2**63, {"loss": 1.0}),
        (0, {3: 1.0}),
        (0, {"loss": 10**400}),
        (0, {"loss": None}),
        (0, 3),
    ],
)
def test_what_cannot_be_logged_is_told_once_and_counted(tmp_path: Path, step: Any, values: Any) -> None:
    with told() as messages:
        run = Run(tmp_path)
        for _ in range(3):
            run.log(step, values)
        run.log(7, good=1.0)
        run.close()

    assert RawPart(tmp_path).names() == ["good"]
    assert run.num_dropped == RawPart(tmp_path).session("num_dropped") == 3
    assert len(messages) == 1


def test_warnings_that_are_errors_do_not_end_the_training(tmp_path: Path) -> None:
    with warnings.catch_warnings(), Run(tmp_path) as run:
        warnings.simplefilter("error")
        run.log("wrong", loss=1.0)
        run._put(observation_of(broken))
        run.flush()

    assert run.num_dropped == 2


def test_the_warning_points_at_the_line_that_logs(tmp_path: Path) -> None:
    with Run(tmp_path) as run, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run.log("wrong", loss=1.0)

    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]


def test_an_interrupt_passes_through(tmp_path: Path) -> None:
    class Interrupting:
        def __float__(self) -> float:
            raise KeyboardInterrupt

    with Run(tmp_path) as run, pytest.raises(KeyboardInterrupt):
        run.log(0, loss=Interrupting())


def test_logging_after_closing_is_told_once_and_counted(tmp_path: Path) -> None:
    with told() as messages:
        run = Run(tmp_path)
        run.log(0, loss=0.0)
        run.close()
        run.close()
        for step in range(3):
            run.log(step, loss=1.0)
        run.log_text(0, "note", "late")

    assert RawPart(tmp_path).points("loss").steps.tolist() == [0]
    assert run.num_dropped == 4
    assert len(messages) == 1
    assert run.state == "finished"


def test_a_full_queue_drops_and_counts_and_what_was_taken_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "_SHORT", queue.Limits(25, 25, 25))
    monkeypatch.setattr(queue, "_SOFT", queue.Limits(50, 50, 50))
    monkeypatch.setattr(queue, "_HARD", queue.Limits(100, 100, 100))
    monkeypatch.setattr("torcheer.run.run.WAKE_WEIGHT", 25)
    monkeypatch.setattr(queue, "_WAIT_SECONDS", 0.001)
    with told() as messages:
        run = Run(tmp_path)
        run.log(-1, loss=1.0)
        run.flush()
        with run._writer.busy:  # a writer that stands still
            for step in range(1000):
                run.log(step, loss=1.0)
        assert run.flush()
        run.close()

    found = RawPart(tmp_path).points("loss").steps.tolist()
    assert found == list(range(-1, len(found) - 1))
    assert run.num_dropped == 1001 - len(found) > 0
    assert RawPart(tmp_path).session("num_dropped") == run.num_dropped
    assert len(messages) == 1


def test_large_things_beyond_what_memory_should_hold_are_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "_SOFT", queue.Limits(1000, 1000, 500))
    monkeypatch.setattr(queue, "_HARD", queue.Limits(1000, 1000, 1000))
    monkeypatch.setattr(queue, "_SHORT", queue.Limits(1000, 1000, 500))
    monkeypatch.setattr(queue, "_WAIT_SECONDS", 0.001)
    with told() as messages:
        run = Run(tmp_path)
        run.log(0, loss=1.0)
        run.flush()
        with run._writer.busy:
            for step in range(10):
                run.log_tensor(step, "weight", numpy.zeros(40))
        assert run.flush()
        run.log_tensor(99, "weight", numpy.zeros(4000))  # alone, it may be as large as it likes
        assert run.flush()
        run.close()

    found = [step for step, _ in RawPart(tmp_path).records("tensor", "weight")]
    assert found == [0, 1, 2, 99]
    assert run.num_dropped == 7
    assert len(messages) == 1


def test_a_record_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torcheer.run.write.writer.MOST_RECORD_BYTES", 100)
    monkeypatch.setattr("torcheer.run.run.MOST_RECORD_BYTES", 100)
    with told() as messages, Run(tmp_path) as run:
        run.log_tensor(0, "weight", numpy.zeros(13))
        run._put(observation_of(lambda: encoded(b"x" * 101)))
        run.log_tensor(0, "small", numpy.zeros(12))

    assert RawPart(tmp_path).names("tensor") == ["small"]
    assert run.num_dropped == 2
    assert len(messages) == 2


def test_on_a_network_file_system_the_journal_is_another_and_the_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.run.part_storage.remote_kind", lambda _: "nfs4")
    with Run(tmp_path) as run:
        for step in range(10):
            run.log(step, loss=1.0)
            run.flush()
            assert not (tmp_path / "rank-0.sqlite-wal").exists()

    part = RawPart(tmp_path)
    assert part.ask("PRAGMA journal_mode") == [("delete",)]
    assert "nfs4" in part.session("note")
    assert part.points("loss").steps.tolist() == list(range(10))


def test_mounts_are_told_apart(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
        "22 21 0:40 / /data rw shared:1 - nfs4 server:/data rw\n"
        "23 22 8:2 / /data/fast rw - xfs /dev/sdb rw\n"
        "24 21 0:41 / /with\\040space rw - fuse.sshfs host: rw\n"
        "garbage\n"
    )
    kinds = [
        remote_kind(Path(path), table)
        for path in ("/home/a", "/data/x", "/data/fast/x", "/database", "/with space/x")
    ]

    assert kinds == ["", "nfs4", "", "", "fuse.sshfs"]


def test_a_fault_of_our_own_does_not_end_the_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = PartFile.write
    calls = []

    def failing(self: PartFile, *args: Any) -> None:
        calls.append(args)
        if len(calls) == 1:
            raise AssertionError("a mistake")
        original(self, *args)

    monkeypatch.setattr(PartFile, "write", failing)
    with told() as messages, Run(tmp_path) as run:
        run.log(0, loss=0.0)
        run.flush()
        run.log(1, loss=1.0)

    assert RawPart(tmp_path).points("loss").steps.tolist() == [1]
    assert run.num_dropped == 1
    assert len(messages) == 1


def test_what_damages_every_file_is_dropped_and_leaves_few_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("SELECT nothing")

    monkeypatch.setattr(PartFile, "write", refuse)
    with told() as messages, Run(tmp_path) as run:
        for step in range(10):
            run.log(step, loss=0.0)
            run.flush()

    assert run.num_dropped == 10
    assert len(list(tmp_path.glob("*.sqlite"))) == len(messages) == 4


def test_an_address_is_taken_as_a_folder_and_somebody_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with told() as messages:
        Run("s3://bucket/run").close()

    assert len(messages) == 1
    assert str(tmp_path) in messages[0]


def test_a_part_that_belongs_to_somebody_else_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Run(tmp_path).close()
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: "rank-0.sqlite" not in str(path) and access(path, mode)
    )
    with told() as messages, Run(tmp_path) as run:
        run.log(0, loss=1.0)

    assert RawPart(tmp_path, "rank-0.1").points("loss").steps.tolist() == [0]
    assert len(messages) == 1
    assert "rank-0.sqlite may not be written to" in messages[0]


def test_housekeeping_that_fails_is_tried_again_and_ends_when_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, calls = PartFile.tidy, []

    def failing(self: PartFile) -> bool:
        calls.append(1)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(self)

    monkeypatch.setattr(PartFile, "tidy", failing)
    with told() as messages:
        run = Run(tmp_path)
        run.log(0, loss=0.0)
        run.flush()
        run.log(1, loss=1.0)
        assert run.flush()
        run.close()

    assert RawPart(tmp_path).points("loss").steps.tolist() == [0, 1]
    assert 1 < len(calls) < 20
    assert len(messages) == 2


def test_a_block_that_is_not_of_our_making_does_not_stop_a_purge(tmp_path: Path) -> None:
    with Run(tmp_path) as run:
        run.log(5, good=1.0)
        run.log(5, bad=1.0)
    with closing(sqlite3.connect(tmp_path / "rank-0.sqlite")) as connection:
        connection.execute("UPDATE points SET steps = x'00' WHERE name = 2")
        connection.commit()
    with Run(tmp_path, purge_step=0) as run:
        run.log(6, good=2.0)

    assert RawPart(tmp_path).points("good").steps.tolist() == [6]


def test_a_flush_behind_a_slow_record_ends_at_once_where_the_disk_refuses(tmp_path: Path) -> None:
    def slow() -> Encoded:
        is_waited_for.wait(60)
        return encoded(b"x")

    is_waited_for = threading.Event()
    (tmp_path / "run").write_text("in the way")
    with told():
        run = Run(tmp_path / "run")
        run._disk._pause_seconds = 1e6  # it will not try again by itself
        run.log(0, loss=0.0)
        assert not run.flush()
        run._put(observation_of(slow))
        threading.Timer(0.01, is_waited_for.set).start()
        assert not run.flush()
        (tmp_path / "run").unlink()
        assert run.flush()
        run.close()

    assert RawPart(tmp_path / "run").records("text", "note") == [(0, b"x")]


# --- On a disk that is nearly full, the last room is for numbers; large records wait, and only  --------


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
        run.log_text(0, "note", "larger than a weight that waits behind another one")
        assert not run.flush()
        assert [step for step, _ in RawPart(tmp_path).records("tensor", "weight")] == [0]
        assert [step for step, _ in RawPart(tmp_path).records("text", "note")] == [0]
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


def test_small_things_do_not_wait_behind_a_record_that_is_larger_than_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FewBytes(monkeypatch, 1000)
    with told() as messages, Run(tmp_path) as run:
        run.log_tensor(0, "weight", numpy.zeros(17 << 20, dtype="u1"))
        assert not run.flush()
        for step in range(10):
            run.log_text(step, "note", str(step))

    assert [step for step, _ in RawPart(tmp_path).records("text", "note")] == list(range(10))
    assert run.num_dropped == 1
    assert len(messages) == 1


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
    Path(f"{path}-wal").write_bytes(b"x" * 500)
    assert not part_file.has_room(path, 1000, log_is_empty=False)
    assert part_file.has_room(path, 750, log_is_empty=False)
