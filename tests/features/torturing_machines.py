"""Two machines, as far as one can be two: network namespaces joined by a cable, and a folder for both."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.features.torturing import Kind, Reference
from tests.features.torturing_launches import Round, Tally

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
