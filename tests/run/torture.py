"""Kill a writing process at random instants, again and again, and look at what is left of its run.

    python -m tests.run.torture --kills 200

A child logs numbers, tensors, text and small pictures as fast as it can and says what it has logged, with the
time. It is killed without warning. Then the run must open and be intact; all that was logged more than half a
second before the kill must be there, once, in order and whole; and what earlier children left must be
untouched. Half of the children go on with the run of the one before.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy
from rich.console import Console
from rich.progress import track

from tests.copying import ROOT, Copy
from tests.run.raw_tables import RawPart, parts_in
from torcheer.run.encode.media import encode_png
from torcheer.run.read.run_reader import RunReader

PROMISED_SECONDS = 0.5  # what may be missing
KINDS = ("scalar", "tensor", "text", "image")
ORDINARY_WAIT_SECONDS = 0.03  # for the interpreter, which the threads of the child share
SESSION = 10_000_000  # steps of a child begin at a multiple of it


@dataclass(slots=True)
class Child:
    """What a child said it had logged: for each kind, when."""

    number: int
    times: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    num_found: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    killed_at: float = 0.0
    waits: list[tuple[float, float]] = field(default_factory=list)  # when, and for how long

    def num_promised(self, kind: str) -> int:
        deadline = self.killed_at - PROMISED_SECONDS - self.stalled_seconds()
        return sum(moment < deadline for moment in self.times[kind])

    def stalled_seconds(self) -> float:
        """For how long, in the last second, the machine kept a thread waiting that could have run."""
        waits = [wait for moment, wait in self.waits if moment > self.killed_at - 1.0]
        return sum(wait for wait in waits if wait > ORDINARY_WAIT_SECONDS)


@dataclass(slots=True)
class Tally:
    """Over all kills."""

    num_kills: int = 0
    num_events: int = 0
    num_found: int = 0
    longest_stall: float = 0.0
    oldest_lost: float = 0.0  # seconds before the kill
    num_excused: int = (
        0  # kills where more than the promised was lost, while the machine kept the child waiting
    )


def tensor_of(step: int) -> numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]:
    return numpy.full(step % 997 * (100 if step % 50 == 0 else 1), step % 1000, dtype="<f4")


def picture_of(step: int) -> numpy.ndarray[tuple[int, int], numpy.dtype[numpy.uint8]]:
    size = 200 if step % 20 == 0 else 40
    return numpy.outer(numpy.arange(size), numpy.arange(size) + step).astype(numpy.uint8)


def witness() -> None:
    """Says how late the machine lets a thread run that wants to: for that the writer is not to blame."""
    while True:
        due = time.time() + 0.01
        time.sleep(0.01)
        now = time.time()
        os.write(1, f"wait {now} {now - due}\n".encode())


def log_for_ever(folder: str, number: int, seed: int) -> None:
    """What the child does: line by line, it says what it has logged."""
    from torcheer.run.run import Run

    choices = random.Random(seed)
    threading.Thread(target=witness, daemon=True).start()
    run = Run(folder)
    share_of_records, pause = choices.choice([0.0, 0.02, 0.3]), choices.choice([0.0, 0.0, 0.0005])
    counts = dict.fromkeys(KINDS, 0)
    while True:
        kind = "scalar" if choices.random() >= share_of_records else choices.choice(KINDS[1:])
        step = number * SESSION + counts[kind]
        if kind == "scalar":
            run.log(step, {"loss": float(step), "shadow": -float(step)})
        elif kind == "tensor":
            run.log_tensor(step, "weight", tensor_of(step))
        elif kind == "image":
            run.log_image(step, "picture", picture_of(step), dataformats="HW")
        else:
            run.log_text(step, "note", str(step))
        counts[kind] += 1
        os.write(1, f"{kind} {time.time()}\n".encode())
        if pause:
            time.sleep(pause)


def run_and_kill(folder: Path, child: Child, choices: random.Random, longest: float) -> None:
    command = ["-m", "tests.run.torture", "--child", str(folder), str(child.number)]
    process = Copy([*command, str(choices.randrange(2**32))], cwd=ROOT)
    stream, chunks, begun = process.stdout, [], threading.Event()

    def listen() -> None:
        while chunk := os.read(stream.fileno(), 1 << 16):
            chunks.append(chunk)
            begun.set()

    listener = threading.Thread(target=listen)
    listener.start()
    if choices.random() < 0.1:
        begun.wait(choices.uniform(0.0, 0.6))  # while it still begins
    else:
        begun.wait(60)
        shortest, most = ((0.0, 0.1), (0.6, 1.0), (0.0, 0.5))[child.number % 3]
        time.sleep(longest * choices.uniform(shortest, most))
    child.killed_at = time.time()
    process.kill()
    listener.join()
    process.communicate()
    for line in b"".join(chunks).decode().splitlines():
        kind, moment, *wait = line.split()
        if wait:
            child.waits.append((float(moment), float(wait[0])))
        else:
            child.times[kind].append(float(moment))
    # What it waits for when it is killed, it cannot say any more.
    last = child.waits[-1][0] if child.waits else child.killed_at
    child.waits.append((child.killed_at, child.killed_at - last))


def check(folder: Path, children: list[Child]) -> None:
    """What is on disk of all children of this run. The last one was just killed."""
    if not parts_in(folder) and not any(children[-1].times.values()):
        return  # killed before it made anything
    (part,) = parts_in(folder)
    assert part.is_intact(), "the database is damaged"
    found = dict(zip(KINDS, found_in(part), strict=True))
    for kind in KINDS:
        by_child = numpy.split(found[kind], numpy.flatnonzero(numpy.diff(found[kind] // SESSION)) + 1)
        counts = {int(steps[0]) // SESSION: steps for steps in by_child if len(steps)}
        assert sum(map(len, counts.values())) == len(found[kind]), (
            f"{kind}: a child's events are not together"
        )
        for child in children:
            check_child(
                child, kind, counts.pop(child.number, numpy.empty(0, numpy.int64)), child is children[-1]
            )
        assert not counts, f"{kind}: events of nobody"
    check_reader(folder, found)


def found_in(part: RawPart) -> Iterator[numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]]]:
    """The steps of each kind; their contents must be what belongs to the step."""
    if not part.ask("SELECT 1 FROM sqlite_master WHERE name = 'points'"):
        yield from (numpy.empty(0, numpy.int64) for _ in KINDS)
        return
    points, shadow = part.points("loss"), part.points("shadow")
    assert numpy.array_equal(points.values, points.steps), "a value is not its own"
    assert numpy.array_equal(shadow.values, -points.steps), "two that were logged together are apart"
    yield points.steps
    tensors = part.records("tensor", "weight")
    assert all(data == tensor_of(step).tobytes() for step, data in tensors), "a tensor is not its own"
    yield numpy.array([step for step, _ in tensors], numpy.int64)
    texts = part.records("text", "note")
    assert all(data == str(step).encode() for step, data in texts), "a text is not its own"
    yield numpy.array([step for step, _ in texts], numpy.int64)
    pictures = part.records("image", "picture")
    assert all(data == encode_png(picture_of(step)[:, :, None]) for step, data in pictures), (
        "a picture is not its own"
    )
    yield numpy.array([step for step, _ in pictures], numpy.int64)


def check_child(
    child: Child, kind: str, steps: numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]], is_last: bool
) -> None:
    first = child.number * SESSION
    assert numpy.array_equal(steps, numpy.arange(first, first + len(steps))), (
        f"{kind}: gaps, doubles or disorder"
    )
    if not is_last:
        assert len(steps) == child.num_found[kind], f"{kind}: what an earlier child left has changed"
        return
    child.num_found[kind] = len(steps)
    num_said, num_promised = len(child.times[kind]), child.num_promised(kind)
    assert len(steps) <= num_said + 1, f"{kind}: more than was logged"
    if len(steps) < num_promised:
        age = child.killed_at - child.times[kind][len(steps)]
        raise AssertionError(
            f"{kind}: {len(steps)} of {num_said} found; the first that is lost was logged {age:.2f} s before "
            "the kill"
        )


def check_reader(folder: Path, found: dict[str, numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]]]) -> None:
    reader = RunReader(folder)
    try:
        status = reader.status()
        assert status.num_points == 2 * len(found["scalar"])
        assert status.num_records == sum(len(found[kind]) for kind in KINDS[1:])
        assert status.state == "died" or not status.started
    finally:
        reader.close()


def torture(num_kills: int, seed: int, place: Path, *, longest: float = 3.0, is_shown: bool = False) -> Tally:
    """Raises AssertionError at the first thing that is wrong; the run is left in `place`.

    `longest`: seconds that a child lives.
    """
    choices = random.Random(seed)
    tally = Tally()
    children: list[Child] = []
    folder = place / "run-0"
    kills = range(num_kills)
    for number in track(kills, "killing", console=Console(stderr=True)) if is_shown else kills:
        if choices.random() < 0.5:
            folder, children = place / f"run-{number}", []
        child = Child(number)
        children.append(child)
        run_and_kill(folder, child, choices, longest)
        check(folder, children)
        add_to(tally, child)
    return tally


def add_to(tally: Tally, child: Child) -> None:
    tally.num_kills += 1
    tally.longest_stall = max(tally.longest_stall, child.stalled_seconds())
    oldest_lost = 0.0
    for kind, times in child.times.items():
        tally.num_events += len(times)
        tally.num_found += child.num_found[kind]
        lost = times[child.num_found[kind] :]
        oldest_lost = max([oldest_lost, *(child.killed_at - moment for moment in lost[:1])])
    tally.oldest_lost = max(tally.oldest_lost, oldest_lost)
    tally.num_excused += oldest_lost > PROMISED_SECONDS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "NUMBER", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        folder, number, seed = arguments.child
        log_for_ever(folder, int(number), int(seed))
    place = Path(tempfile.mkdtemp(prefix="torcheer-torture-"))
    print(f"seed {arguments.seed}, in {place}")
    tally = torture(arguments.kills, arguments.seed, place, is_shown=True)
    print(
        f"{tally.num_kills} kills, {tally.num_events:,} events logged, {tally.num_found:,} found. "
        f"The oldest that was lost was logged {tally.oldest_lost:.2f} s before its kill; "
        f"{tally.num_excused} kills lost more than {PROMISED_SECONDS} s, while the machine kept the child "
        f"waiting (for up to {tally.longest_stall:.2f} s)."
    )
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
