"""A soak: a training is watched, its children killed and stopped at random, and then it is killed itself.

    python -m tests.inspector.torture --seconds 600

At the end every step of the training must be in the run, or counted there as missing, for each of some rows;
the memory of all processes must be flat, though batches differ in size; and no process may be left. Exits
with 1 where that is not so.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy

from tests.inspector.feeding import is_running
from torcheer.run import open_run

ROWS = ("0.Act", "0.weight", "0.weight.Grad", "2.bias.Delta")
_KILL_SECONDS = (14.0, 20.0)  # more than five deaths in a minute, and a child is given up
_LARGEST_BATCH = 48
_STOP_SECONDS = (0.2, 1.5)
_CALM_SECONDS = 4.0  # before the training is killed: what it has not told by then, nobody can know
_STEP_SECONDS = 0.006
_CALM = "calm"
_PROMISED_SECONDS = 0.7  # what was logged half a second before a kill is in the run
_WARM_SHARE = 0.4  # of the time, after which memory must not rise
_MOST_GROWTH = 1.15


# --- the training ----------------------------------------------------------------------------------------


def train(folder: Path) -> None:
    """Until it is killed. How many steps are complete stands in a file that outlives it."""
    import torch
    from torch import nn

    import torcheer as tl

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    counted = _counter(folder)
    # Room for the figures of all steps: what is thinned on disk cannot be counted here.
    watcher = tl.watch(
        model,
        optimizer,
        folder / "run",
        every=1,
        budget=None,
        observe=["activation", "weight", "weight_gradient", "update"],
        max_bytes=1 << 30,
        children=2,
    )
    step = 0
    while True:
        size = 1 + step * 7 % _LARGEST_BATCH
        inputs, targets = torch.randn(size, 16), torch.randint(0, 4, (size,))
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watcher.log(loss=loss.item())
        step += 1
        counted[0] = step
        if step % 50 == 0:
            pids = [part.child.pid for part in watcher._parts]
            restarts, dropped = watcher.num_restarts, watcher.dropped[ROWS[0]]
            print(json.dumps({"pids": pids, "restarts": restarts, "dropped": dropped}), flush=True)
        time.sleep(_STEP_SECONDS)
        while (folder / _CALM).exists():  # it logs nothing more, and waits to be killed
            time.sleep(_STEP_SECONDS)


def _counter(folder: Path) -> memoryview:
    path = folder / "steps"
    if not path.exists():
        path.write_bytes(bytes(8))
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 8)).cast("q")


# --- what is done to it ------------------------------------------------------------------------------------


class Torment:
    """One training, from its start to its violent end."""

    def __init__(self, folder: Path, seconds: float, seed: int) -> None:
        self.folder = folder
        self._random = random.Random(seed)
        self._seconds = seconds
        self._counter = _counter(folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.inspector.torture", "--train", str(folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self._text = ""
        self.said: dict[str, Any] = {}
        self.memory: dict[str, list[tuple[float, int]]] = {"training": [], "child": []}
        self.pids: set[int] = set()
        self.num_kills = self.num_stops = 0

    def run(self) -> None:
        self._wait_for_the_first_step()
        started = time.monotonic()
        next_kill = started + self._random.uniform(*_KILL_SECONDS)
        next_stop = started + 3.0
        while (now := time.monotonic()) - started < self._seconds - _CALM_SECONDS:
            time.sleep(0.25)
            self._listen()
            self._measure(now - started)
            if now > next_kill:
                next_kill = now + self._random.uniform(*_KILL_SECONDS)
                self.num_kills += self._signal(signal.SIGKILL, self._some())
            elif now > next_stop:
                next_stop = now + self._random.uniform(4.0, 9.0)
                stopped = self._some()
                self.num_stops += self._signal(signal.SIGSTOP, stopped)
                time.sleep(self._random.uniform(*_STOP_SECONDS))
                self._signal(signal.SIGCONT, stopped)
        time.sleep(_CALM_SECONDS - _PROMISED_SECONDS)
        (self.folder / _CALM).touch()
        time.sleep(_PROMISED_SECONDS)
        self._listen()

    def kill(self) -> float:
        """Seconds until the child is gone, too."""
        self.process.kill()
        self.process.wait()
        since = time.monotonic()
        while any(map(is_running, self.pids)) and time.monotonic() - since < 30:
            time.sleep(0.01)
        return time.monotonic() - since

    @property
    def num_steps(self) -> int:
        return self._counter[0]

    def _wait_for_the_first_step(self) -> None:
        end = time.monotonic() + 120
        while not self.said:
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the training did not begin")
            time.sleep(0.1)
            self._listen()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with suppress(TypeError, BlockingIOError):  # there is nothing
            self._text += self.process.stdout.read() or ""
        *lines, self._text = self._text.split("\n")
        for line in lines:
            with suppress(ValueError):
                self.said = json.loads(line)
                self.pids.update(pid for pid in self.said["pids"] if pid)

    def _some(self) -> list[int]:
        """One of the children, or all."""
        pids: list[int] = self.said.get("pids", [])
        return self._random.sample(pids, self._random.randint(1, len(pids))) if pids else []

    def _signal(self, number: int, pids: list[int]) -> int:
        count = 0
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
                count += 1
        return count

    def _measure(self, at: float) -> None:
        self.memory["training"].append((at, _memory_of(self.process.pid)))
        for pid in self.said["pids"]:
            used = _memory_of(pid)
            if used:
                self.memory["child"].append((at, used))


def _memory_of(pid: int) -> int:
    """Bytes that are its own and in memory: what the processes share has a fixed size."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


# --- what must hold ----------------------------------------------------------------------------------------


def faults_of(torment: Torment, seconds_to_end: float) -> list[str]:
    faults = []
    if seconds_to_end > 2.5:
        faults.append(f"the children ended {seconds_to_end:.1f} s after the training")
    left = [pid for pid in torment.pids if is_running(pid)]
    if left:
        faults.append(f"processes are left: {left}")
    for name, points in torment.memory.items():
        faults += _growth(name, points)
    with open_run(torment.folder / "run") as saved:
        gaps, watched = saved.gaps, saved.watched
        for row in ROWS:
            figures = watched[row]["mean"]
            steps = figures.steps[~numpy.isnan(figures.values)]
            num_kept, num_lost = len(steps), sum(gap.counts.get(row, 0) for gap in gaps)
            print(f"  {row}: {num_kept:,} in the run, {num_lost:,} counted as missing")
            # The step in which it was killed may be complete, and not counted yet.
            if not 0 <= num_kept + num_lost - torment.num_steps <= 1:
                faults.append(
                    f"{row}: {torment.num_steps} steps, {num_kept} in the run, {num_lost} counted as missing"
                )
        # The training writes them itself, and logged the last one more than half a second before the kill.
        losses = saved.scalars("loss").steps.tolist()
        if losses != list(range(torment.num_steps)):
            faults.append(f"of {torment.num_steps} losses the run has {len(losses)}, up to {losses[-1:]}")
        if saved.status().num_dropped:
            faults.append(f"{saved.status().num_dropped} events could not be written")
    return faults


def _growth(name: str, points: list[tuple[float, int]]) -> list[str]:
    """The middle of the last third against the middle of the third before it, after a time to warm up."""
    end = points[-1][0]
    early = [used for at, used in points if _WARM_SHARE * end < at < 0.7 * end]
    late = [used for at, used in points if at >= 0.7 * end]
    if not early or not late:
        return []
    before, after = (float(numpy.median(used)) for used in (early, late))
    megabytes = ", then ".join(f"{used / 1e6:.1f} MB" for used in (before, after))
    print(f"  memory of the {name}: {megabytes}, at most {max(late) / 1e6:.1f}")
    if after <= _MOST_GROWTH * before:
        return []
    return [f"the memory of the {name} grew to {after / before:.2f} times"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.train is not None:
        train(arguments.train)
    with tempfile.TemporaryDirectory() as folder:
        torment = Torment(Path(folder), arguments.seconds, arguments.seed)
        try:
            torment.run()
        finally:
            seconds = torment.kill()
        print(
            f"{torment.num_steps:,} steps; children were killed {torment.num_kills} times and stopped "
            f"{torment.num_stops} times; they ended {seconds:.2f} s after the training. It said last: "
            f"{torment.said}"
        )
        faults = faults_of(torment, seconds)
    if os.path.isdir("/dev/shm"):
        numbers = [str(pid) for pid in (torment.process.pid, *torment.pids)]
        left = [name for name in os.listdir("/dev/shm") if any(number in name for number in numbers)]
        if left:
            faults.append(f"shared memory is left: {left}")
    for fault in faults:
        print("FAULT:", fault)
    print("all is well" if not faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
