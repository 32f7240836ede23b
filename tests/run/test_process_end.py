"""Processes fork, spawn, end and die while they write: each part stays whole and says how it ended."""

from __future__ import annotations

import os
import signal
import tempfile
from pathlib import Path

import pytest

from tests.copying import ROOT, Copy
from tests.many import examples
from tests.run.raw_tables import RawPart, parts_in
from torcheer.run.part_storage import is_locked, take_lock
from torcheer.run.run import Run

BEGINNING = """
import os, sys, signal, time, threading, warnings
warnings.simplefilter("error", ResourceWarning)
from torcheer.run.run import Run
from pathlib import Path
"""


def start(script: str, folder: Path) -> Copy:
    # A file of its own: others may be about to read theirs.
    with tempfile.NamedTemporaryFile("w", suffix=".py", dir=folder, delete=False) as file:
        file.write(BEGINNING + script)
    environment = os.environ | {"PYTHONPATH": f"src{os.pathsep}.", "PYTHONWARNINGS": "error::ResourceWarning"}
    return Copy([file.name, str(folder / "run")], cwd=ROOT, env=environment)


def end(process: Copy, *, code: int = 0) -> tuple[str, str]:
    out, error = process.communicate(timeout=60)
    assert process.returncode == code, error
    return out, error


def run_script(script: str, folder: Path, *, code: int = 0) -> str:
    return end(start(script, folder), code=code)[1]


# -- the end


@pytest.mark.parametrize(
    ("last_line", "code", "outcome", "reason"),
    [
        ("pass", 0, "finished", ""),
        ("sys.exit()", 0, "finished", ""),
        ("1 / 0", 1, "died", "ZeroDivisionError: division by zero"),
        ("raise KeyError('x' * 2000 + '\\nmore')", 1, "died", "KeyError: 'xxxx"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "died", "KeyboardInterrupt"),
        ("run.close(); 1 / 0", 1, "finished", ""),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM, "", ""),
    ],
)
def test_the_session_says_how_the_program_ended(
    tmp_path: Path, last_line: str, code: int, outcome: str, reason: str
) -> None:
    script = "run = Run(sys.argv[1])\nfor step in range(100): run.log(step, loss=1.0)\n"
    run_script(script + ("run.flush()\n" if code < -2 else "") + last_line, tmp_path, code=code)

    part = RawPart(tmp_path / "run")
    assert part.points("loss").steps.tolist() == list(range(100))
    assert part.session("outcome") == outcome
    assert part.session("reason").startswith(reason)
    assert len(part.session("reason")) <= 500
    assert bool(part.session("ended")) == bool(outcome)


WITH_RECORDS = """
from torcheer.run.write import process_end, writer
from torcheer.run.records import Encoded, Observation
from torcheer.run.records import TextHead
def put(run, step, wait):
    def encode():
        threading.Event().wait(wait)
        return Encoded(TextHead(num_characters=1), b"x")
    run._put(Observation(kind="text", name="note", step=step, time=0.0, num_bytes=1, encode=encode))
"""


def test_a_program_that_ends_waits_as_long_as_the_writing_makes_progress(tmp_path: Path) -> None:
    script = """
process_end._EXIT_WAIT_SECONDS = 0.8
run = Run(sys.argv[1])
for step in range(12): put(run, step, 0.1)
run.log(0, loss=1.0)
"""
    error = run_script(WITH_RECORDS + script, tmp_path)

    part = RawPart(tmp_path / "run")
    assert [step for step, _ in part.records("text", "note")] == list(range(12))
    assert part.session("outcome") == "finished"
    assert "RunWarning" not in error


def test_a_program_that_ends_before_all_is_written_says_what_is_lost(tmp_path: Path) -> None:
    script = """
process_end._EXIT_WAIT_SECONDS = writer._LOOK_SECONDS = 0.1
run = Run(sys.argv[1])
put(run, 0, 0)
run.flush()
for step in range(1, 4): put(run, step, 1e6)
run.log(0, loss=1.0)
"""
    error = run_script(WITH_RECORDS + script, tmp_path)

    part = RawPart(tmp_path / "run")
    assert part.records("text", "note") == [(0, b"x")]
    assert part.points("loss").steps.tolist() == [0]
    assert (part.session("outcome"), part.session("num_dropped")) == ("finished", 3)
    assert "3 events are lost" in error


def test_a_with_block_that_is_left_by_an_exception_has_died(tmp_path: Path) -> None:
    run = Run(tmp_path)

    def train() -> None:
        with run:
            run.log(0, loss=1.0)
            1 / 0

    with pytest.raises(ZeroDivisionError):
        train()

    assert run.state == "died"
    assert RawPart(tmp_path).session("outcome") == "died"
    assert RawPart(tmp_path).session("reason") == "ZeroDivisionError: division by zero"


def test_a_session_that_ended_well_is_not_spoilt_by_one_that_is_killed(tmp_path: Path) -> None:
    Run(tmp_path / "run").close()
    run_script("run = Run(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)", tmp_path, code=-signal.SIGKILL)

    assert RawPart(tmp_path / "run").ask("SELECT outcome FROM sessions") == [("finished",), ("",)]


# -- locks


def test_the_lock_is_held_while_a_process_writes_and_free_when_it_is_killed(tmp_path: Path) -> None:
    process = start("run = Run(sys.argv[1]); print('open', flush=True); sys.stdin.read()", tmp_path)
    process.stdout.readline()
    lock = tmp_path / "run" / "rank-0.lock"
    held = is_locked(lock)
    process.kill()
    process.communicate()

    assert held is True
    assert is_locked(lock) is False
    assert is_locked(tmp_path / "nothing.lock") is False


def test_the_process_that_holds_a_lock_knows_it_without_touching_the_file(tmp_path: Path) -> None:
    lock = take_lock(tmp_path / "rank-0.lock")
    assert lock is not None
    assert is_locked(tmp_path / "rank-0.lock") is True
    assert is_locked(tmp_path / ".." / tmp_path.name / "rank-0.lock") is True
    assert take_lock(tmp_path / "rank-0.lock") is None
    lock.release()

    assert is_locked(tmp_path / "rank-0.lock") is False
    again = take_lock(tmp_path / "rank-0.lock")
    assert again is not None
    again.release()


def test_readers_who_test_the_lock_all_the_time_do_not_keep_a_writer_from_it(tmp_path: Path) -> None:
    script = """
from torcheer.run.part_storage import is_locked
print("ready", flush=True)
lock = Path(sys.argv[1], "rank-0.lock")
while not Path(sys.argv[1], "stop").exists():
    is_locked(lock)
"""
    Run(tmp_path / "run").close()
    processes = [start(script, tmp_path) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline()
    for _ in range(examples(30)):
        Run(tmp_path / "run").close()
    (tmp_path / "run" / "stop").touch()
    for process in processes:
        end(process)

    assert [part.path.stem for part in parts_in(tmp_path / "run")] == ["rank-0"]


def test_two_processes_on_one_path_have_a_part_each(tmp_path: Path) -> None:
    script = """
run = Run(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
for step in range(300): run.log(step, loss=float(os.getpid()))
"""
    processes = [start(script, tmp_path) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline()
    for process in processes:
        end(process)

    parts = parts_in(tmp_path / "run")
    assert [part.path.stem for part in parts] == ["rank-0", "rank-0.1", "rank-0.2"]
    assert {part.points("loss").values[0] for part in parts} == {float(process.pid) for process in processes}
    assert all(part.points("loss").steps.tolist() == list(range(300)) for part in parts)


# -- forks


def test_a_forked_child_writes_a_part_of_its_own_and_nothing_of_the_parents(tmp_path: Path) -> None:
    script = """
run = Run(sys.argv[1], comment="both")
for step in range(500): run.log(step, parent=1.0)
child = os.fork()
if child == 0:
    run.log("wrong", loss=1.0)
    for step in range(300): run.log(step, child=1.0)
    sys.exit()
for step in range(500, 600): run.log(step, parent=1.0)
assert os.waitpid(child, 0)[1] == 0
run.log(600, parent=1.0)
assert run.num_dropped == 0
"""
    run_script(script, tmp_path)

    parent, child = parts_in(tmp_path / "run")
    assert (parent.names(), child.names()) == (["parent"], ["child"])
    assert parent.points("parent").steps.tolist() == list(range(601))
    assert child.points("child").steps.tolist() == list(range(300))
    assert [part.session("outcome") for part in (parent, child)] == ["finished", "finished"]
    assert [part.session("num_dropped") for part in (parent, child)] == [0, 1]
    assert parent.is_intact()
    assert child.is_intact()


def test_a_child_that_never_logs_leaves_no_trace(tmp_path: Path) -> None:
    script = """
with Run(sys.argv[1]) as run:
    run.log(0, loss=1.0)
    child = os.fork()
    if child == 0:
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
    run.log(1, loss=1.0)
"""
    run_script(script, tmp_path)

    (part,) = parts_in(tmp_path / "run")
    assert part.points("loss").steps.tolist() == [0, 1]
    assert part.ask("SELECT outcome FROM sessions") == [("finished",)]


def test_many_forks_in_the_midst_of_writing_neither_hang_nor_harm(tmp_path: Path) -> None:
    num_forks = examples(15)
    script = f"""
run = Run(sys.argv[1])
is_over = threading.Event()
num_logged = 0
def log():
    global num_logged
    while not is_over.wait(0.0005):  # or a slow machine has minutes of it to write in the end
        run.log(num_logged, loss=1.0, text="x" * 100)
        num_logged += 1
thread = threading.Thread(target=log)
thread.start()
for number in range({num_forks}):
    child = os.fork()
    if child == 0:
        run.log(number, child=float(number))
        assert run.flush()
        run.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
is_over.set()
thread.join()
run.close()
assert run.num_dropped == 0
print(num_logged)
"""
    out, _ = end(start(script, tmp_path))

    parent, child = parts_in(tmp_path / "run")
    assert parent.points("loss").steps.tolist() == list(range(int(out)))
    assert len(parent.records("text", "text")) == int(out)
    # Each resumed the part of the one before.
    assert child.points("child").steps.tolist() == list(range(num_forks))
    assert parent.is_intact()


def test_a_child_does_not_hold_the_lock_of_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = """
run = Run(sys.argv[1])
run.log(0, loss=1.0)
run.flush()
child = os.fork()
if child == 0:
    print("forked", os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
time.sleep(60)
"""
    process = start(script, tmp_path)
    process.stdout.readline()
    process.kill()
    process.wait()
    held = is_locked(tmp_path / "run" / "rank-0.lock")
    process.communicate()

    assert held is False


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_multiprocessing_write_all_that_they_log(tmp_path: Path, method: str) -> None:
    script = f"""
import multiprocessing
def work(run, number):
    for step in range(500):
        run.log(step, {{f"worker/{{number}}": 1.0}})
    if number == 1:
        raise ValueError("bad worker")
if __name__ == "__main__":
    run = Run(sys.argv[1])
    run.log(0, parent=1.0)
    context = multiprocessing.get_context({method!r})
    processes = [context.Process(target=work, args=(run, number)) for number in range(2)]
    for process in processes: process.start()
    for process in processes: process.join()
    run.log(1, parent=1.0)
"""
    run_script(script, tmp_path)

    parent, *workers = parts_in(tmp_path / "run")
    assert parent.points("parent").steps.tolist() == [0, 1]
    assert sorted(name for part in workers for name in part.names()) == ["worker/0", "worker/1"]
    for part in workers:
        for name in part.names():
            assert part.points(name).steps.tolist() == list(range(500))
    ends = [row for part in workers for row in part.ask("SELECT outcome, reason FROM sessions")]
    assert sorted(ends) == [("died", "ValueError: bad worker"), ("finished", "")]


def test_a_signal_that_closes_the_run_in_the_midst_of_logging_ends_it_well(tmp_path: Path) -> None:
    script = """
run = Run(sys.argv[1])
def stop(number, frame):
    run.log(step, stopped=1.0)
    run.close()
    sys.exit()
signal.signal(signal.SIGTERM, stop)
step = 0
while True:
    run.log(step, loss=1.0)
    run.log("wrong", loss=1.0)
    step += 1
    if step == 500: print("logging", flush=True)
"""
    process = start(script, tmp_path)
    process.stdout.readline()
    process.terminate()
    end(process)

    part = RawPart(tmp_path / "run")
    assert part.session("outcome") == "finished"
    assert part.points("stopped").steps.tolist()[0] in (len(part.points("loss").steps) - k for k in (0, 1))


def test_a_child_describes_its_series_again_and_makes_no_deleted_folder_anew(tmp_path: Path) -> None:
    script = """
import shutil
run = Run(sys.argv[1])
run._describe("scalar", "loss", "of all")
run.log(0, loss=1.0)
run.flush()
for name in ("first", "second"):
    child = os.fork()
    if child == 0:
        run._describe("scalar", "loss", "of all")
        run.log(0, loss=1.0)
        os._exit(run.flush())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    for part in ("rank-0", "rank-0.1"):
        if name == "first":
            shutil.copy(f"{sys.argv[1]}/{part}.sqlite", f"{sys.argv[1]}-{part}.sqlite")
            shutil.copy(f"{sys.argv[1]}/{part}.sqlite-wal", f"{sys.argv[1]}-{part}.sqlite-wal")
    shutil.rmtree(sys.argv[1], ignore_errors=True)
print(os.path.exists(sys.argv[1]))
"""
    out, _ = end(start(script, tmp_path))

    assert out.split() == ["1", "0", "False"]
    for part in ("run-rank-0", "run-rank-0.1"):
        assert RawPart(tmp_path, part).ask("SELECT description FROM names") == [("of all",)]
