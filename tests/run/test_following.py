"""Following a run: everything once, in order, until the run has ended."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import torcheer as tl
from tests.run.handmade import HandmadePart
from torcheer.errors import InputError
from torcheer.run.read import saved_run
from torcheer.run.read.saved_run import Follower, Seen

TRAINING = """
import sys
import torcheer as tl
run = tl.Run(sys.argv[1])
run.log(0, loss=1.0)
run.flush()
print("begun", flush=True)
for line in sys.stdin:
    step = int(line)
    run.log(step, loss=1 / (step + 1), note=f"step {step}")
    run.flush()
    print("logged", flush=True)
run.close()
"""


@pytest.fixture
def training(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", TRAINING, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        yield child
        child.kill()


def log(child: subprocess.Popen[str], step: int) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{step}\n")
    child.stdin.flush()
    assert child.stdout.readline() == "logged\n"


def told(seen: Seen) -> tuple[str, str, int, float | str | None]:
    value = str(seen.record) if seen.record is not None else seen.value
    return seen.kind, seen.name, seen.step, value


def test_a_training_in_another_process_is_followed_to_its_end(
    tmp_path: Path, training: subprocess.Popen[str]
) -> None:
    followed = tl.open_run(tmp_path / "run").follow()
    log(training, 1)
    first = [told(next(followed)) for _ in range(2)]
    log(training, 2)
    assert training.stdin is not None
    training.stdin.close()
    rest = [told(seen) for seen in followed]

    assert sorted(first) == [("scalar", "loss", 1, 0.5), ("text", "note", 1, "step 1")]
    assert sorted(rest) == [("scalar", "loss", 2, 1 / 3), ("text", "note", 2, "step 2")]


def test_a_training_that_is_killed_ends_the_following(
    tmp_path: Path, training: subprocess.Popen[str]
) -> None:
    followed = tl.open_run(tmp_path / "run").follow("scalar", from_start=True)
    assert next(followed).value == 1.0
    log(training, 7)
    os.kill(training.pid, signal.SIGKILL)
    training.wait()

    assert [seen.step for seen in followed] == [7]
    assert tl.open_run(tmp_path / "run").state == "died"


def test_the_process_that_writes_can_follow_itself(tmp_path: Path) -> None:
    run = tl.Run(tmp_path)
    followed = run.follow(from_start=True)

    def train() -> None:
        for step in range(5):
            run.log(step, loss=float(step))
        run.close()

    thread = threading.Thread(target=train)
    thread.start()
    seen = [item.value for item in followed]
    thread.join()

    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_run.time, "sleep", lambda _: None)


def test_a_series_is_never_out_of_order_whatever_its_times_say(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("a", [(0, 5.0, 0.0), (1, 1.0, 1.0), (2, float("nan"), 2.0), (3, 2.0, 3.0)])
    part.add_block("b", [(0, 2.0, 0.5), (1, 6.0, 1.5)])
    part.finish()

    seen = list(Follower(tmp_path, from_start=True))

    assert [item.value for item in seen if item.name == "a"] == [0.0, 1.0, 2.0, 3.0]
    assert [item.value for item in seen if item.name == "b"] == [0.5, 1.5]
    assert seen[0].name == "b"
    assert len(seen) == 6


@pytest.mark.usefixtures("no_pauses")
def test_what_was_taken_back_is_not_told_again_and_what_comes_instead_is(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(step, float(step), 1.0) for step in range(6)])
    followed = Follower(tmp_path, from_start=True, timeout=0.0)
    assert [item.step for item in itertools.islice(followed, 6)] == [0, 1, 2, 3, 4, 5]
    part.purge("loss", 3)
    part.add_block("loss", [(3, 10.0, 2.0), (4, 11.0, 2.0)])
    part.finish()

    assert [(item.step, item.value) for item in followed] == [(3, 2.0), (4, 2.0)]


@pytest.mark.usefixtures("no_pauses")
def test_a_second_writer_and_a_session_that_resumes_are_followed_too(tmp_path: Path) -> None:
    first = HandmadePart(tmp_path, "rank-0")
    first.add_block("loss", [(0, 1.0, 1.0)])
    followed = Follower(tmp_path, timeout=600.0)
    second = HandmadePart(tmp_path, "rank-1")
    second.add_block("loss", [(0, 2.0, 2.0)])
    assert next(followed).value == 2.0
    first.run("INSERT INTO sessions (started, host, pid) VALUES (3.0, 'here', 2)")
    first.add_block("loss", [(1, 3.0, 3.0)])
    second.add_block("loss", [(1, 4.0, 4.0)])
    first.finish()
    second.finish()

    assert [item.value for item in followed] == [3.0, 4.0]


@pytest.mark.usefixtures("no_pauses")
def test_records_that_are_thinned_are_not_told_again(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    numbers = [part.add_text("note", f"{step}", step) for step in range(4)]
    followed = Follower(tmp_path, from_start=True)
    assert [str(next(followed).record) for _ in range(4)] == ["0", "1", "2", "3"]
    part.thin(numbers[1])
    part.add_text("note", "4", 4)
    part.finish()

    assert [str(item.record) for item in followed] == ["4"]


def test_a_kind_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    HandmadePart(tmp_path).finish()

    with pytest.raises(InputError, match="there is no kind 'scalars'"):
        tl.open_run(tmp_path).follow("scalars")  # type: ignore[arg-type]


def test_what_is_logged_after_a_purge_is_seen_whatever_the_clock_says(tmp_path: Path) -> None:
    with tl.SummaryWriter(str(tmp_path)) as writer:
        for step in range(10):
            writer.add_scalar("x", step, step, walltime=1000.0 + step)
        writer.flush()
        events = tl.open_run(tmp_path).follow(from_start=True, timeout=3)
        assert [next(events).step for _ in range(10)] == list(range(10))
    with tl.SummaryWriter(str(tmp_path), purge_step=5) as writer:
        for step in range(5, 10):
            writer.add_scalar("x", 100 + step, step, walltime=500.0 + step)
        writer.flush()
        assert [(seen.step, seen.value) for seen in itertools.islice(events, 5)] == [
            (step, 100.0 + step) for step in range(5, 10)
        ]
    assert list(events) == []
