"""Put batches into a part, whatever the disk does: wait, take another file, leave one out, or give up."""

from __future__ import annotations

import errno
import math
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from torcheer.run.part_storage import Fault, PartLock, fault_of, is_full, needs_new_connection, words_for
from torcheer.run.records import EncodedRecord
from torcheer.run.warnings_once import WarningsOnce
from torcheer.run.write.part_file import PartFile, Settings, take_back_elsewhere, take_part
from torcheer.run.write.process_end import Ending
from torcheer.run.write.queue import Batch

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 30.0
_MOST_LEFT = 3  # parts; if the same happens to all of them, it is not they that are damaged


class Disk:
    """One part of a run at a time. Nothing here raises for anything about the disk."""

    def __init__(
        self, folder: Path, rank: int, settings: Settings, teller: WarningsOnce, purge_step: int | None = None
    ) -> None:
        self.folder = folder
        self.rank = rank
        self.settings = settings
        self._teller = teller
        self._purge_step = purge_step
        self._damaged: set[str] = set()  # parts that are not to be taken
        self._num_left = 0  # parts that were damaged while they were written
        self._was_open = False
        self.is_gone = False  # the folder was deleted: nothing is written any more
        self._begin()

    def _begin(self) -> None:
        """With nothing open: at the beginning, and in a forked child."""
        self._pause_seconds = 0.0  # above 0: nothing could be written when it was last tried
        self._retry_at = 0.0  # by time.monotonic()
        self._is_short_of_room = False  # for some record; numbers may have it
        self._part: PartFile | None = None
        self._lock: PartLock | None = None
        self._has_complained = False  # of something that may pass
        self._needs_connection = False
        self._num_thinned_before = 0  # in parts that were left

    @property
    def num_thinned(self) -> int:
        return self._num_thinned_before + (0 if self._part is None else self._part.num_thinned)

    def seconds_to_retry(self) -> float:
        """0 while something can be written, or when it is time to try again."""
        return max(0.0, self._retry_at - time.monotonic()) if self._pause_seconds else 0.0

    def write(self, batch: Batch) -> bool:
        """True: it is on disk; what never can be is told and counted. False: not now what is left in it."""
        if batch.records and self._is_short_of_room:
            return self._write_by_size(batch)
        try:
            self._write(batch)
        except Exception as error:
            if batch.records and self._part is not None and is_full(error):
                self._needs_connection = needs_new_connection(error)
                self._is_short_of_room = True
                return self._write_by_size(batch)
            return self._handle(error, batch)
        self._recover()
        return True

    def tidy(self) -> None:
        """When there is nothing to write: see whether it works again, or do a little housekeeping."""
        if self._pause_seconds:
            self.write(Batch())
            return
        if self._part is None or self.is_gone:
            return
        try:
            if self._part.is_in_place():
                self._part.tidy()
        except (sqlite3.Error, OSError) as error:
            self._handle(error, Batch())

    def end(self, ending: Ending) -> None:
        """Say how it ended, and let go of the part. Afterwards nothing is open."""
        with suppress(sqlite3.Error, OSError):
            if self._part is not None and not self.is_gone and self._part.is_in_place():
                self._part.end(*ending, self._teller.num_dropped)
        self._let_go()

    def _let_go(self) -> None:
        part, lock, self._part, self._lock = self._part, self._lock, None, None
        if part is not None:
            self._num_thinned_before += part.num_thinned
            part.close()
        if lock is not None:
            lock.release()

    def renew_after_fork(self) -> None:
        """In the child: what the parent has open, and has to take back, stays the parent's."""
        if self._part is not None:
            self._part.abandon_after_fork()
        if self._lock is not None:
            self._lock.forget_after_fork()
        self._purge_step = None
        self._begin()

    def _write(self, batch: Batch) -> None:
        if self.is_gone or not self._is_in_place():
            self.is_gone = True
            self._teller.tell(
                f"the run {self.folder} was deleted or moved while it was written: what is logged from here "
                "on is lost. Make a new tl.Run to go on.",
                cause="gone",
                num_dropped=batch.num_events,
            )
            return
        if self._part is None:
            self._part = self._open()
            self._was_open = True
        if self._needs_connection:
            self._part.reconnect()
            self._needs_connection = False
        if self._purge_step is not None:
            self._purge(self._part, self._purge_step)
            self._purge_step = None
        if batch.records and not self._part.has_room_for(sum(record.num_bytes for record in batch.records)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if not batch.is_empty or self._pause_seconds:
            self._part.write(batch, self._teller.num_dropped)

    def _purge(self, part: PartFile, purge_step: int) -> None:
        try:
            part.purge(purge_step)
        except Exception as error:
            if fault_of(error) is not Fault.UNFIT:
                raise
            self._teller.tell(
                f"the run {self.folder}: what was logged from step {purge_step} on cannot be taken back: "
                f"{error}"
            )
        others = take_back_elsewhere(self.folder, self.rank, purge_step, {part.name, *self._damaged})
        for name, reason in others:
            self._teller.tell(
                f"the run {self.folder}: what was logged from step {purge_step} on is not taken back in "
                f"{name}: {reason}."
            )

    def _is_in_place(self) -> bool:
        """A folder is made at the beginning only: who deletes one later does not want it back."""
        if self._part is not None:
            return self._part.is_in_place()
        return not self._was_open or self.folder.is_dir()

    def _open(self) -> PartFile:
        self.folder.mkdir(parents=True, exist_ok=True)
        part, self._lock, passed_over = take_part(self.folder, self.rank, self.settings, self._damaged)
        for reason in passed_over:
            self._teller.tell(
                f"the run {self.folder}: {reason}; it is left as it is, and another file is written."
            )
        return part

    def _handle(self, error: Exception, batch: Batch) -> bool:
        # Without a part nothing was written yet: whatever it is, it is about the place.
        if self._part is None or (fault := fault_of(error)) is Fault.PASSING:
            self._fail(error)
            return False
        if fault is Fault.DAMAGED and self._num_left < _MOST_LEFT:
            self._teller.tell(
                f"the run {self.folder}: {self._part.name} is damaged ({error}); it is left as it is, and "
                "another file is written."
            )
            self._damaged.add(self._part.name)
            self._num_left += 1
            self._let_go()
            return self.write(batch)
        return self._write_pieces(batch, error)

    def _fail(self, error: Exception) -> None:
        self._needs_connection = self._part is not None and needs_new_connection(error)
        if self._part is not None and is_full(error):
            self._part.empty_log()
        self._pause_seconds = min(max(_FIRST_PAUSE_SECONDS, 2 * self._pause_seconds), _LONGEST_PAUSE_SECONDS)
        self._retry_at = time.monotonic() + self._pause_seconds
        self._complain(
            f"the run {self.folder} cannot be written: {words_for(error)}. The training goes on; what is "
            "logged is kept in memory for a while, and written as soon as it works again.",
            cause=f"disk: {words_for(error)}",
        )

    def _write_by_size(self, batch: Batch) -> bool:
        """There is little room: all numbers first, then record by record. A series keeps its order."""
        if batch.columns:
            if not self.write(Batch(columns=batch.columns)):
                return False
            batch.columns = {}
        left: list[EncodedRecord] = []
        waiting: set[tuple[str, str]] = set()
        smallest_refused = math.inf
        for record in batch.records:
            series = record.kind, record.name
            may_fit = series not in waiting and record.num_bytes < smallest_refused
            # Where nothing can be written any more, the others are not tried either.
            if may_fit and not (left and self._pause_seconds) and self._write_small(Batch(records=[record])):
                continue
            if may_fit:
                smallest_refused = record.num_bytes
            left.append(record)
            waiting.add(series)
        self._is_short_of_room = bool(left)
        if left:
            batch.records = left
            return False
        self._recover()
        return True

    def _write_small(self, piece: Batch) -> bool:
        try:
            self._write(piece)
        except Exception as error:
            if self._part is None or not is_full(error):
                return self._handle(error, piece)
            self._needs_connection = needs_new_connection(error)
            self._complain(
                f"the run {self.folder} cannot be written as a whole: {words_for(error)}, and there is no "
                f"room for {piece.named()}. The training goes on; what has no room is kept in memory for a "
                "while, and written as soon as there is some.",
                cause=f"disk: {words_for(error)}",
            )
            is_written = False
        else:
            is_written = True
        self._pause_seconds = 0.0
        return is_written

    def _complain(self, message: str, cause: str) -> None:
        self._has_complained = True
        self._teller.tell(message, cause=cause)

    def _recover(self) -> None:
        self._pause_seconds = 0.0
        if self._has_complained and not (self._is_short_of_room or self.is_gone):
            self._has_complained = False
            self._teller.tell(
                f"the run {self.folder} is written again; events lost so far: {self._teller.num_dropped}.",
                cause="written again",
            )

    def _write_pieces(self, batch: Batch, error: Exception) -> bool:
        """Something in it cannot be stored: all else is."""
        pieces = batch.pieces()
        if len(pieces) <= 1:
            self._teller.tell(
                f"{batch.named()} cannot be written: {type(error).__name__}: {error}",
                cause=f"unfit {type(error).__name__} {batch.named()}",
                num_dropped=batch.num_events,
            )
            return True
        for piece in pieces:
            if not self.write(piece):
                return False
            batch.remove(piece)
        return True
