"""Which of several processes this one is, as torchrun or a process group says. None is in charge."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Final

import torch.distributed

from torcheer.errors import CaptureError
from torcheer.features.reading import Features
from torcheer.run import num_ranks_of_program, rank_of_process

_PATIENCE_SECONDS: Final = 1800.0
_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One of several processes that share the work."""

    number: int
    num_ranks: int

    def owns(self, batch: int) -> bool:
        """Batches are dealt out in turn. Nothing else decides it, so nobody has to ask."""
        return batch % self.num_ranks == self.number

    def share(self, num_batches: int) -> range:
        return range(self.number, num_batches, self.num_ranks)

    def writer_name(self) -> str:
        """No other process has it, not even this rank's when it was started before."""
        host = "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname())[:24]
        return f"rank-{self.number:04}-{host}-{os.getpid()}-{os.urandom(4).hex()}"


def this_rank() -> Rank:
    if _has_group():
        return Rank(number=torch.distributed.get_rank(), num_ranks=torch.distributed.get_world_size())
    number = rank_of_process()
    return Rank(number=number, num_ranks=max(num_ranks_of_program(), number + 1))


def wait_for_others(features: Features) -> None:
    """Where the processes form a group, whoever is done first waits; else each goes its way.

    By looking at the journals, because a barrier gives up after half an hour, however well the others get on.
    """
    if not _has_group() or torch.distributed.get_world_size() == 1:
        return
    num_done, since, pause = -1, monotonic(), _FIRST_PAUSE_SECONDS
    while not features.is_complete:
        if features.num_done != num_done:
            num_done, since = features.num_done, monotonic()
        elif monotonic() - since > _PATIENCE_SECONDS:
            raise CaptureError(
                f"this process is done, and the others have not written anything to {features.path} for "
                f"{_PATIENCE_SECONDS / 60:.0f} minutes: {num_done:,} of {features.num_samples:,} samples are "
                "there. The same call goes on."
            )
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
    torch.distributed.barrier()


def _has_group() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
