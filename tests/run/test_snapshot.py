"""A part's file in every state that it may be found in: being written, cut off, read-only, not there yet."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.run.handmade_part import HandmadePart
from torcheer.run.read import snapshot
from torcheer.run.read.run_reader import RunReader
from torcheer.run.read.snapshot import SnapshotFile

# Writes through the file that is given, then waits to be told to go on, or to be killed.
CHILD = """
import sys
from pathlib import Path
from tests.run.handmade_part import HandmadePart
part = HandmadePart(Path(sys.argv[1]))
for step in range(5):
    part.add_block("loss", [(step, float(step), step / 10)])
print("written", flush=True)
for line in sys.stdin:
    part.add_block("loss", [(5, 5.0, 0.5)])
    print("written", flush=True)
"""


@contextlib.contextmanager
def writing_child(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CHILD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "written\n"
            yield child
        finally:
            child.kill()


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    found = {entry.name: entry.stat() for entry in os.scandir(folder)}
    return {name: (state.st_size, state.st_mtime_ns) for name, state in found.items()}


def values_in(folder: Path) -> list[float]:
    reader = RunReader(folder)
    values: list[float] = reader.points("loss").values.tolist()
    reader.close()
    return values


def test_reading_a_finished_run_leaves_its_folder_as_it_was(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(0, 0.0, 1.5)])
    part.finish()
    before = listing(tmp_path)

    assert values_in(tmp_path) == [1.5]
    assert list(before) == ["rank-0.sqlite"]
    assert listing(tmp_path) == before


def test_a_run_that_another_process_writes_is_read_as_it_grows(tmp_path: Path) -> None:
    with writing_child(tmp_path) as child:
        reader = RunReader(tmp_path)
        tail = reader.tail("loss")
        before = set(os.listdir(tmp_path))
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("more\n")
        child.stdin.flush()
        child.stdout.readline()

        assert reader.refresh()
        assert tail.points.values.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
        assert reader.tail("loss", tail.cursor).points.values.tolist() == [0.5]
        assert set(os.listdir(tmp_path)) == before


def test_a_writer_that_was_killed_leaves_all_that_it_committed(tmp_path: Path) -> None:
    with writing_child(tmp_path) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert (tmp_path / "rank-0.sqlite-wal").stat().st_size > 0
    before = {name: state for name, state in listing(tmp_path).items() if not name.endswith("-shm")}

    reader = RunReader(tmp_path)

    assert reader.points("loss").values.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert reader.status().state == "died"
    assert reader.status().reason
    assert {name: listing(tmp_path)[name] for name in before} == before


def test_nothing_new_is_nothing_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(0, 0.0, 1.0)])
    os.utime(part.path, ns=(1, 1))
    os.utime(f"{part.path}-wal", ns=(1, 1))
    os.utime(tmp_path, ns=(1, 1))
    reader = RunReader(tmp_path)
    monkeypatch.setattr(snapshot, "_read", lambda *_: pytest.fail("the file was opened"))
    monkeypatch.setattr(os, "scandir", lambda *_: pytest.fail("the folder was listed"))

    assert not reader.refresh()


def test_a_change_in_the_same_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path, journal="delete")
    part.add_block("loss", [(0, 0.0, 1.0)])
    reader = RunReader(tmp_path)
    state = part.path.stat()
    part.run("UPDATE points SET id = id + 1")  # a new block of the same size
    part.run("UPDATE names SET description = 'x'")
    os.utime(part.path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert part.path.stat().st_size == state.st_size

    assert reader.refresh()


# --- where SQLite itself would have to write ---------------------------------------------------


@contextlib.contextmanager
def read_only(folder: Path, place: Path) -> Iterator[Path]:
    """The folder, seen through a mount that cannot be written to; skips where that is not allowed."""
    place.mkdir()
    mounts = (["mount", "--bind", str(folder), str(place)], ["mount", "-o", "remount,ro,bind", str(place)])
    try:
        for command in mounts:
            subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        subprocess.run(["umount", str(place)], check=False, capture_output=True)
        pytest.skip("mounting is not allowed here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def killed_run(folder: Path, *, without: str) -> None:
    with writing_child(folder) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
    (folder / f"rank-0.sqlite{without}").unlink()


def test_a_cut_off_run_is_read_from_a_file_system_that_is_read_only(tmp_path: Path) -> None:
    killed_run(tmp_path / "run", without="-shm")
    with read_only(tmp_path / "run", tmp_path / "mounted") as folder:
        reader = RunReader(folder)

        assert reader.points("loss").values.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
        assert "copy" in reader.status().note
        reader.close()


def test_a_finished_run_is_read_from_a_file_system_that_is_read_only(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("loss", [(0, 0.0, 1.5)])
    part.finish()
    with read_only(tmp_path / "run", tmp_path / "mounted") as folder:
        reader = RunReader(folder)

        assert reader.points("loss").values.tolist() == [1.5]
        assert reader.status().note == ""


def refusing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """SQLite where it may create nothing, which does not happen to root. Gives what was opened."""
    opened: list[str] = []
    read = snapshot._read

    def refuse(uri: str, job: Callable[[sqlite3.Connection], object]) -> object:
        opened.append(uri)
        if uri.endswith("?mode=ro"):
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return read(uri, job)

    monkeypatch.setattr(snapshot, "_read", refuse)
    return opened


def test_where_nothing_may_be_created_a_copy_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_run(tmp_path, without="-shm")
    opened = refusing(monkeypatch)
    reader = RunReader(tmp_path)

    assert reader.points("loss").values.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert "copy" in reader.status().note
    copy = Path(opened[-1].removeprefix("file://"))
    assert copy.exists()
    reader.close()
    assert not copy.parent.exists()
    assert sorted(os.listdir(tmp_path)) == ["rank-0.sqlite", "rank-0.sqlite-wal"]


def test_the_file_of_a_living_writer_is_never_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = HandmadePart(tmp_path)
    refusing(monkeypatch)
    monkeypatch.setattr(shutil, "copyfile", lambda *_: pytest.fail("copying drops the writer's locks"))
    file = SnapshotFile(part.path, lambda: True)

    with pytest.raises(sqlite3.OperationalError):
        file.read(lambda connection: connection.execute("SELECT * FROM names").fetchall())


def test_a_half_written_transaction_is_rolled_back_in_a_copy_only(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "live", journal="delete")
    part.add_block("loss", [(0, 0.0, 1.5)])
    part.run("PRAGMA cache_size = 1")  # so that what is not committed yet is in the file already
    part.run("BEGIN")
    for step in range(1, 200):
        part.run(
            "INSERT INTO points (name, first, count, level, num_bad, steps, times, vals) "
            "VALUES (1, ?, 1, 0, 0, zeroblob(8), zeroblob(8), zeroblob(8))",
            step,
        )
        part.run("INSERT INTO documents VALUES (?, 1, zeroblob(9000))", str(step))
    shutil.copytree(tmp_path / "live", tmp_path / "dead")  # as a kill would leave it
    part.run("ROLLBACK")
    before = listing(tmp_path / "dead")
    assert before["rank-0.sqlite-journal"][0] > 0

    reader = RunReader(tmp_path / "dead")

    assert reader.points("loss").values.tolist() == [1.5]
    assert listing(tmp_path / "dead") == before
    reader.close()


def test_a_file_that_is_resumed_while_it_is_read_as_one_at_rest_is_read_again(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(0, 0.0, 1.5)])
    part.connection.close()
    file = SnapshotFile(part.path, lambda: False)
    num_calls = 0

    def count(connection: sqlite3.Connection) -> int:
        nonlocal num_calls
        num_calls += 1
        if num_calls == 1:
            other = sqlite3.connect(part.path)
            other.execute("INSERT INTO points SELECT 2, name, 1, count, 0, 0, steps, times, vals FROM points")
            other.commit()
            other.close()
        return int(connection.execute("SELECT count(*) FROM points").fetchone()[0])

    assert file.read(count) == 2
    assert num_calls == 2


# --- files that are none, or not yet -----------------------------------------------------------


def test_a_file_that_is_being_made_is_empty_and_then_is_not(tmp_path: Path) -> None:
    (tmp_path / "rank-0.sqlite").touch()
    reader = RunReader(tmp_path)
    assert reader.status().state == "unknown"
    assert reader.status().note == ""
    assert not reader.series()

    part = HandmadePart(tmp_path)
    part.add_block("loss", [(0, 0.0, 1.0)])

    assert reader.refresh()
    assert reader.series()


def test_tables_that_are_not_there_yet_are_waited_for(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "rank-0.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE TABLE soon (x)")
        connection.execute("DROP TABLE soon")

        reader = RunReader(tmp_path)

        assert not reader.series()
        assert reader.status().note == ""


def test_what_is_no_part_is_said_in_the_note(tmp_path: Path) -> None:
    for name, make, words in (
        ("text", lambda path: path.write_text("no database at all " * 100), "not a database"),
        ("other", _make_foreign, "not one of a run"),
        ("newer", _make_newer, "newer torcheer (format 2"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        make(folder / "rank-0.sqlite")  # type: ignore[no-untyped-call]

        reader = RunReader(folder)

        assert words in reader.status().note
        assert not reader.series()
        assert len(reader.points("loss").steps) == 0


def _make_foreign(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE points (id INTEGER PRIMARY KEY, password TEXT)")


def _make_newer(path: Path) -> None:
    part = HandmadePart(path.parent)
    part.add_block("loss", [(0, 0.0, 1.0)])
    part.run("UPDATE meta SET value = '2' WHERE key = 'format'")
    part.finish()


def test_a_file_that_vanishes_takes_its_series_along(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path, journal="delete")
    part.add_block("loss", [(0, 0.0, 1.0)])
    part.finish()
    reader = RunReader(tmp_path)
    shutil.rmtree(tmp_path)

    assert reader.refresh()
    assert not reader.series()
    assert "no files of a run" in reader.status().note
    assert not reader.refresh()


@pytest.mark.parametrize("was_seen_gone", [False, True])
def test_a_run_that_was_removed_and_made_again_is_begun_anew(tmp_path: Path, was_seen_gone: bool) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("old", [(step, 0.0, 1.0) for step in range(5)])
    part.add_block("loss", [(0, 0.0, 1.0), (1, 0.0, 1.0)])
    part.finish()
    reader = RunReader(tmp_path / "run")
    tail = reader.tail("loss")
    shutil.rmtree(tmp_path / "run")
    if was_seen_gone:
        reader.refresh()
    again = HandmadePart(tmp_path / "run")
    again.run("UPDATE sessions SET started = 5000.0")
    again.add_block("loss", [(0, 0.0, 2.0)])

    assert reader.refresh()
    assert [key.name for key in reader.series()] == ["loss"]
    later = reader.tail("loss", tail.cursor)
    assert later.is_fresh
    assert later.points.values.tolist() == [2.0]


def test_odd_characters_in_a_path_do_not_matter(tmp_path: Path) -> None:
    folder = tmp_path / "50%25? #1 &mode=rwc ü"
    part = HandmadePart(folder)
    part.add_block("loss", [(0, 0.0, 1.0)])
    part.finish()

    assert values_in(folder) == [1.0]
    assert os.listdir(folder) == ["rank-0.sqlite"]


def test_several_readings_in_a_row_open_a_file_once_and_see_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(0, 0.0, 1.0)])
    reader = RunReader(tmp_path)
    opened: list[str] = []
    connected = snapshot._connected
    monkeypatch.setattr(snapshot, "_connected", lambda uri: opened.append(uri) or connected(uri))

    with reader.holding():
        assert reader.points("loss").values.tolist() == [1.0]
        part.add_block("loss", [(1, 1.0, 2.0)])
        reader.refresh()
        assert reader.points("loss").values.tolist() == [1.0, 2.0]
        assert len(opened) == 1
    reader.points("loss")

    assert len(opened) == 2
    part.finish()
    assert os.listdir(tmp_path) == ["rank-0.sqlite"], "no reader is in the way of tidying up"
