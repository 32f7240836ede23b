"""What is tortured, what must come out of it, and rounds of kills: torchrun, copies, two machines."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from unittest import mock

import numpy

import torcheer.features.extraction
from tests.features import torture_target
from tests.features.torture_target import PACE
from torcheer.errors import FileFormatError
from torcheer.features.extraction import extract
from torcheer.features.journal import read_journals
from torcheer.features.saved_features import Features, open_features
from torcheer.features.stores import store_at

ROOT: Final = Path(__file__).parents[2]
_TARGETS: Final = "tests.features.torture_target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One sort of extraction."""

    name: str
    target: str
    layers: tuple[str, ...]
    options: Mapping[str, str]
    ending: str = ""

    def command(self, to: Path) -> list[str]:
        options = [f"--{name}={value}" for name, value in self.options.items()]
        layers = ",".join(self.layers)
        target = f"{_TARGETS}:{self.target}"
        return ["torcheer", "extract", target, "--layers", layers, "--to", str(to), "--no-progress", *options]


_NET: Final = ("inner.0", "inner.4", "inner.5")
_WORDS: Final = ("words", "mix")
_PCA: Final = {"transform": f"{_TARGETS}:pca"}
_RAGGED: Final = {"shapes": "ragged", "ids": "name"}

KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(name="rows", target="model_and_data", layers=_NET, options={}),
        Kind(name="pca", target="model_and_data", layers=("inner.0", "inner.5"), options=_PCA),
        Kind(name="ragged", target="texts", layers=_WORDS, options=_RAGGED),
        Kind(name="stream", target="stream", layers=_NET, options={}),
        Kind(name="few", target="few", layers=_NET, options={}),
        Kind(name="zarr", target="model_and_data", layers=_NET, options={}, ending=".zarr"),
        Kind(name="zarr-pca", target="model_and_data", layers=("inner.5",), options=_PCA, ending=".zarr"),
        Kind(name="zarr-ragged", target="texts", layers=_WORDS, options=_RAGGED, ending=".zarr"),
        Kind(name="zarr-stream", target="stream", layers=_NET, options={}, ending=".zarr"),
    )
}


def environment(**more: str) -> dict[str, str]:
    """One thread each, as torchrun has it."""
    own = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", PACE)}
    return {**own, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **more}


class Reference:
    """What an undisturbed process makes of it, without torchrun, to the last bit."""

    def __init__(self, kind: Kind, place: Path) -> None:
        self.path = place / f"reference-{kind.name}{kind.ending}"
        command = [sys.executable, "-m", *kind.command(self.path)]
        # With as many threads as torch takes: torchrun gives each process one, and nothing may depend on it.
        own = environment()
        del own["OMP_NUM_THREADS"]
        subprocess.run(command, check=True, env=own, cwd=ROOT, stdout=subprocess.DEVNULL)
        self._features = open_features(self.path)
        assert self._features.is_complete
        self._layers = {name: _values(self._features, name) for name in self._features.layers}

    @property
    def num_samples(self) -> int:
        return self._features.num_samples

    def check_done(self, path: Path) -> int:
        """What is reported as done must be what it will be in the end. How many samples that are."""
        try:
            features = open_features(path)
        except FileFormatError:
            assert not _has_manifest(path), f"{path} has a manifest, and does not open"
            return 0
        numbers = numpy.flatnonzero(features.done)
        if len(numbers):
            for name, expected in self._layers.items():
                found = features[name][numbers]
                for number, one in zip(numbers, found, strict=True):
                    assert _same(one, expected[number]), f"{path}: {name}[{number}] is reported as done"
            for role in ("labels", "ids", "lengths"):
                column, wanted = getattr(features, role), getattr(self._features, role)
                if wanted is not None:
                    assert numpy.array_equal(column[numbers], wanted[numbers]), f"{path}: {role}"
        return len(numbers)

    def check_equal(self, path: Path) -> None:
        """Every layer, labels, ids and lengths; and each file that NumPy alone reads, byte by byte."""
        features = open_features(path)
        assert features.is_complete, f"{path} is not complete"
        assert self.check_done(path) == self.num_samples
        # What a ragged layer is in, is called after the process that wrote it.
        ragged = {array.file for array in features.manifest.arrays if array.layout == "ragged"}
        for file in _plain_files(self.path):
            name = file.relative_to(self.path)
            if not ragged & {name.parts[0], name.parts[0].partition(".rank-")[0]}:
                assert (path / name).read_bytes() == file.read_bytes(), f"{path / name} is not {file}"
        for array in features.manifest.layers:
            if features.manifest.storage == "npy" and array.layout == "rows":
                whole = numpy.load(path / f"{array.file}.npy")
                assert _same(whole, numpy.asarray(self._layers[array.name])), f"{path}: {array.file}.npy"


def _values(features: Features, name: str) -> Any:
    return features[name][:]


def _same(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes())


def _has_manifest(path: Path) -> bool:
    return any((path / folder / "manifest.json").exists() for folder in ("", "torcheer"))


def _plain_files(path: Path) -> list[Path]:
    """Arrays and chunks; but no journals, nor what says in which part of them a ragged sample is."""
    found = [*path.rglob("*.npy"), *path.rglob("c.*"), *path.rglob("*.npz")]
    return [file for file in found if "places" not in file.relative_to(path).as_posix() and file.is_file()]


def state_of(path: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file: when it was written, which it is, and what is in it."""
    return {
        file.relative_to(path).as_posix(): (file.stat().st_mtime_ns, file.stat().st_ino, file.read_bytes())
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


def leftovers(path: Path) -> list[str]:
    """Files that were begun under another name, by a process that was killed."""
    return [file.name for file in path.rglob(".*") if file.is_file()]


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


_NUM_SLOTS: Final = 4
_COPY_PATIENCE_SECONDS: Final = 120.0


class ForkRound:
    """One extraction by ranks that are killed and replaced until it is done, or enough have died."""

    def __init__(
        self, kind: Kind, reference: Reference, place: Path, choices: random.Random, tally: Tally
    ) -> None:
        self._kind = kind
        self._reference = reference
        self._choices = choices
        self._tally = tally
        self.path = place / f"fork-{kind.name}-{tally.rounds}{kind.ending}"
        self._pace = place / "fork-pace"
        self._errors = place / "fork-errors"
        tally.rounds += 1

    def run(self, num_kills: int) -> None:
        self._errors.write_text("")
        self._pace.write_text(str(self._choices.choice((0.0, 0.003, 0.03))))
        slots = {slot: self._start(slot, _NUM_SLOTS) for slot in range(_NUM_SLOTS)}
        try:
            for _ in range(num_kills):
                if self._is_complete():
                    break
                slot = self._choices.randrange(_NUM_SLOTS)
                time.sleep(self._choices.choice((0.0, 0.02, 0.1, 0.3)) * self._choices.random())
                self._end(slots.pop(slot))
                self._look()
                slots[slot] = self._start(*self._place_of(slot))
        finally:
            for pid in slots.values():
                self._end(pid, is_counted=False)
        self._finish()
        self._reference.check_equal(self.path)
        before = state_of(self.path)
        self._wait(self._start(0, 1))
        found = changes(before, state_of(self.path))
        assert not found, f"finished, it was written to again: {found}"
        self._tally.leftovers += len(leftovers(self.path))

    def _place_of(self, slot: int) -> tuple[int, int]:
        if self._choices.random() < 0.7:
            return slot, _NUM_SLOTS
        num_ranks = self._choices.randint(1, 7)
        return self._choices.randrange(num_ranks), num_ranks

    def _finish(self) -> None:
        """By another number of them, undisturbed."""
        self._pace.write_text("0")
        num_ranks = self._choices.randint(1, 5)
        for pid in [self._start(rank, num_ranks) for rank in range(num_ranks)]:
            self._wait(pid)

    def _start(self, rank: int, num_ranks: int) -> int:
        commit_seconds = self._choices.choice((0.0, 0.0, 0.03, 0.3))
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            os.environ.update(RANK=str(rank), WORLD_SIZE=str(num_ranks), **{PACE: str(self._pace)})
            with mock.patch.object(torcheer.features.extraction, "_COMMIT_SECONDS", commit_seconds):
                self._extract()
            status = 0
        except BaseException:
            with self._errors.open("a") as file:
                file.write(f"rank {rank} of {num_ranks}:\n{traceback.format_exc()}\n")
        finally:
            os._exit(status)

    def _extract(self) -> None:
        options = dict(self._kind.options)
        model, data = getattr(torture_target, self._kind.target)()
        extract(
            model,
            data,
            layers=list(self._kind.layers),
            to=self.path,
            transform=options.get("transform"),
            shapes=options.get("shapes"),
            ids=options.get("ids"),
            device="cpu",
            progress=False,
        )

    def _end(self, pid: int, *, is_counted: bool = True) -> None:
        was_running = is_running(pid)
        kill(pid)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -9), f"a rank ended with {code}:\n{self._errors.read_text()[-6000:]}"
        self._tally.rank_kills += is_counted and was_running and code == -9

    def _wait(self, pid: int) -> None:
        end = time.monotonic() + _COPY_PATIENCE_SECONDS
        while is_running(pid):
            if time.monotonic() > end:
                kill(pid)
            time.sleep(0.005)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code == 0, f"a rank ended with {code}:\n{self._errors.read_text()[-6000:]}"

    def _is_complete(self) -> bool:
        return read_journals(store_at(self.path).journals()).num_rows == self._reference.num_samples

    def _look(self) -> None:
        self._reference.check_done(self.path)
        self._tally.looks += 1


_PORT: Final = 29_517
_MONITOR_SECONDS: Final = "0.2"


class NotPermittedError(Exception):
    """There can be no network namespaces here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """The names of the namespaces, and their addresses."""

    names: tuple[str, str]
    addresses: tuple[str, str] = ("10.213.97.1", "10.213.97.2")


class TwoMachines(Round):
    """A round in which each machine has a torchrun of its own, with two ranks."""

    def __init__(
        self,
        machines: Machines,
        kind: Kind,
        reference: Reference,
        place: Path,
        choices: random.Random,
        tally: Tally,
    ) -> None:
        super().__init__(kind, reference, place, choices, tally)
        self._machines = machines
        self._num_launches = 0

    def commands(self, num_ranks: int) -> list[list[str]]:
        """Half of the ranks on each. The first machine is where they meet."""
        self._num_launches += 1
        port = _PORT + self._num_launches
        first = self._machines.addresses[0]
        commands = []
        for name, address in zip(self._machines.names, self._machines.addresses, strict=True):
            run = ["ip", "netns", "exec", name, sys.executable, "-m", "torch.distributed.run"]
            meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{first}:{port}", "--rdzv-id", "torture"]
            meeting += ["--rdzv-conf", f"is_host={int(address == first)}", "--local-addr", address]
            ranks = ["--nnodes", "2", "--nproc-per-node", str(num_ranks // 2), "--max-restarts", "1000"]
            ranks += ["--monitor-interval", _MONITOR_SECONDS]
            commands.append([*run, *meeting, *ranks, "-m", *self._kind.command(self.path)])
        return commands


@contextmanager
def two_machines() -> Iterator[Machines]:
    if shutil.which("ip") is None:
        raise NotPermittedError("there is no program ip")
    machines = Machines(names=(f"torture-{os.getpid()}-a", f"torture-{os.getpid()}-b"))
    ends = [f"t{os.getpid() % 10**6}{letter}" for letter in "ab"]
    try:
        for name in machines.names:
            _ip("netns", "add", name)
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end, address in zip(machines.names, ends, machines.addresses, strict=True):
            _ip("link", "set", end, "netns", name)
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield machines
    finally:
        for name in machines.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", ends[0]], check=False, capture_output=True)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise NotPermittedError(f"ip {' '.join(words)}: {done.stderr.strip()}")
