"""Launches of torchrun whose ranks are killed at random instants, and sometimes all of it at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from tests.features.torture_target import PACE
from tests.features.torturing import ROOT, Kind, Reference, changes, environment, leftovers, state_of

SLOW_SECONDS: Final = 0.25  # that a batch takes while there is killing
_PATIENCE_SECONDS: Final = 240.0
Moment = Literal["start", "making", "fitting", "journal"]


@dataclass(slots=True)
class Tally:
    """Over all rounds."""

    rank_kills: int = 0
    launch_kills: int = 0
    orphans: int = 0  # ranks whose torchrun was killed, and which went on beside those of the next
    looks: int = 0
    rounds: int = 0
    moments: dict[str, int] = field(default_factory=dict)
    leftovers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One launch: with so many ranks, of which so many are killed before all of it is."""

    num_ranks: int
    num_kills: int


class Launch:
    """One or more agents of torchrun that belong together."""

    def __init__(self, commands: Sequence[Sequence[str]], pace: Path, log: Path) -> None:
        self._log = log
        with log.open("ab") as file:
            self.agents = [
                subprocess.Popen(
                    command, env=environment(**{PACE: str(pace)}), cwd=ROOT, stdout=file, stderr=file
                )
                for command in commands
            ]
        self.seen: set[int] = set()

    def ranks(self) -> list[int]:
        """Those that run now. What begins as a copy of its agent is not one yet."""
        found = [
            pid for agent in self.agents for pid in _children(agent.pid) if "torcheer" in _command_of(pid)
        ]
        self.seen.update(found)
        return found

    @property
    def is_over(self) -> bool:
        return all(agent.poll() is not None for agent in self.agents)

    def wait(self) -> None:
        for agent in self.agents:
            status = agent.wait(_PATIENCE_SECONDS)
            assert status == 0, f"torchrun ended with {status}:\n{self._log.read_text()[-6000:]}"

    def kill(self, *, with_ranks: bool) -> list[int]:
        """The agents, and then their ranks or not: whoever is left goes on."""
        ranks = self.ranks()
        for agent in self.agents:
            agent.kill()
            agent.wait()
        if with_ranks:
            for pid in ranks:
                kill(pid)
        return [] if with_ranks else ranks


class Round:
    """One extraction, from the first launch to its end."""

    def __init__(
        self, kind: Kind, reference: Reference, place: Path, choices: random.Random, tally: Tally
    ) -> None:
        self._reference = reference
        self._choices = choices
        self._tally = tally
        self._kind = kind
        self.path = place / f"{kind.name}-{tally.rounds}{kind.ending}"
        self._pace = place / f"pace-{tally.rounds}"
        self._log = place / f"log-{tally.rounds}"
        self._orphans: list[int] = []
        tally.rounds += 1

    def commands(self, num_ranks: int) -> list[list[str]]:
        run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--monitor-interval", "0.05"]
        ranks = ["--nproc-per-node", str(num_ranks), "--max-restarts", "1000"]
        return [[*run, *ranks, "-m", *self._kind.command(self.path)]]

    def run(self, stages: Sequence[Stage]) -> None:
        for stage in stages:
            is_last = stage is stages[-1]
            self._pace.write_text(str(SLOW_SECONDS))
            launch = Launch(self.commands(stage.num_ranks), self._pace, self._log)
            try:
                for _ in range(stage.num_kills):
                    self._kill_one(launch)
                if is_last or launch.is_over:
                    self._pace.write_text("0")
                    launch.wait()
                else:
                    self._wait_for(launch, "journal")
                    self._kill_launch(launch)
            finally:
                if not launch.is_over:
                    launch.kill(with_ranks=True)
            self._look()
        self._let_orphans_end()
        self._reference.check_equal(self.path)
        self._check_that_it_stays()
        self._tally.leftovers += len(leftovers(self.path))

    def _kill_one(self, launch: Launch) -> None:
        moment = self._moment()
        self._wait_for(launch, moment)
        ranks = launch.ranks()
        if not ranks:
            return
        killed = self._choices.sample(ranks, min(len(ranks), self._choices.choice((1, 1, 1, 2))))
        for pid in killed:
            kill(pid)
        self._tally.rank_kills += len(killed)
        self._tally.moments[moment] = self._tally.moments.get(moment, 0) + len(killed)
        self._look()
        self._await(launch, lambda: not set(ranks) & set(launch.ranks()), "its ranks do not end")

    def _moment(self) -> Moment:
        if not self.path.exists() and self._choices.random() < 0.7:
            return "making"
        if "pca" in self._kind.name and not list(self.path.rglob("*.npz")):
            return "fitting"
        return self._choices.choice(("start", "journal", "journal", "journal"))

    def _wait_for(self, launch: Launch, moment: Moment) -> None:
        self._await(launch, lambda: len(launch.ranks()) > 0, "no rank starts")
        if moment == "start":
            time.sleep(self._choices.uniform(0.0, 6.0))
        elif moment == "making":
            self._await(launch, self.path.exists, "nothing is made")
            time.sleep(self._choices.uniform(0.0, 0.1))
        elif moment == "fitting":
            self._await(launch, self.path.exists, "nothing is made")
            time.sleep(self._choices.uniform(0.0, 12 * SLOW_SECONDS))
        else:
            before = self._journalled()
            self._await(launch, lambda: self._journalled() > before, "nothing is written")
            time.sleep(self._choices.choice((0.0, 0.01, self._choices.uniform(0.0, 0.5))))

    def _journalled(self) -> int:
        total = 0
        for path in self.path.rglob("*.jsonl"):
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    def _await(self, launch: Launch, is_so: Callable[[], bool], otherwise: str) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not is_so() and not launch.is_over:
            assert time.monotonic() < end, f"{otherwise}:\n{self._log.read_text()[-6000:]}"
            time.sleep(0.01)

    def _kill_launch(self, launch: Launch) -> None:
        with_ranks = self._choices.random() < 0.5
        left = launch.kill(with_ranks=with_ranks)
        self._orphans += left
        self._tally.launch_kills += 1
        self._tally.orphans += len(left)

    def _let_orphans_end(self) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while any(is_running(pid) for pid in self._orphans):
            assert time.monotonic() < end, "a rank without torchrun does not end"
            time.sleep(0.05)

    def _look(self) -> None:
        self._reference.check_done(self.path)
        self._tally.looks += 1

    def _check_that_it_stays(self) -> None:
        """Finished, the same call does nothing."""
        before = state_of(self.path)
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", *self._kind.command(self.path)]
            subprocess.run(command, check=True, env=environment(), cwd=ROOT, stdout=log, stderr=log)
        found = changes(before, state_of(self.path))
        assert not found, f"finished, it was written to again: {found}"


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if b"torch.distributed.run" in words else b" ".join(words).decode()
