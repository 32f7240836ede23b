"""Ranks that are copies of one process with everything imported: they start at once, and die by the hundred.

There is no torchrun here, only its variables. Whoever is killed is started again alone, while the others go
on, sometimes as a rank among another number of them: nobody minds, for nobody asks.
"""

from __future__ import annotations

import os
import random
import time
import traceback
from pathlib import Path
from typing import Final
from unittest import mock

import torcheer.features.batch_worker
from tests.features import torture_target
from tests.features.torture_target import PACE
from tests.features.torturing import Kind, Reference, changes, leftovers, state_of
from tests.features.torturing_launches import Tally, is_running, kill
from torcheer.features.extraction import extract
from torcheer.features.journal import read_journals
from torcheer.features.stores.store import store_at

_NUM_SLOTS: Final = 4
_PATIENCE_SECONDS: Final = 120.0


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
            with mock.patch.object(torcheer.features.batch_worker, "_COMMIT_SECONDS", commit_seconds):
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
        end = time.monotonic() + _PATIENCE_SECONDS
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
