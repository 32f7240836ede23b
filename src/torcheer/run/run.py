"""A run that is being written: `run.log(step, loss=0.1)` and what stands behind it."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

from torcheer.errors import InputError
from torcheer.models import rank_of_process
from torcheer.run.encode.steps_names_hparams import NOT_A_NUMBER, number_of, step_of
from torcheer.run.log_methods import LogMethods, reason_of
from torcheer.run.read.run_folders import folder_of
from torcheer.run.read.run_reader import RunReader
from torcheer.run.read.saved_run import ReadMethods
from torcheer.run.records import Bulk, EncodedRecord, Kind, Observation
from torcheer.run.warnings_once import WarningsOnce
from torcheer.run.write.disk import Disk
from torcheer.run.write.part_file import Settings
from torcheer.run.write.point_blocks import Call
from torcheer.run.write.process_end import Ending, ending_of, watch, watch_end_of_child
from torcheer.run.write.queue import (
    CALL_WEIGHT,
    MOST_RECORD_BYTES,
    WAKE_WEIGHT,
    Mark,
    tell_too_large,
)
from torcheer.run.write.writer import Writer

NOT_GIVEN: Final[Any] = object()
_HOW = "write run.log(step, loss=0.1), or run.log(step, {'train/loss': 0.1})."


def log_call(
    step: Any, values: Any, others: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, dict[Any, Any]]:
    """A step, as it was given, and values by name. Raises InputError where the call cannot be understood.

    `log(step=3, loss=0.1)` and `log({"loss": 0.1}, step=3)` are good, too. Where a step stands first, "step"
    is a name as any other.
    """
    if isinstance(step, Mapping) and values is None:
        step, values = NOT_GIVEN, step
    if step is NOT_GIVEN:
        step = named.pop("step", NOT_GIVEN)
    if step is NOT_GIVEN or others or not (values is None or hasattr(values, "keys")):
        raise InputError(f"a step is wanted, and values by name: {_HOW}")
    return step, {**(values or {}), **named}


_CLOSE_SECONDS = 30.0  # for a writer that stands still
_PLAIN = frozenset((float, int, bool))
_Path = str | os.PathLike[str]


class Run(LogMethods, ReadMethods):
    """What happens over a training, on disk while it happens. Logging never raises, and never waits for long.

    - `path`: the folder; a new one in `runs/`, named by date and host, where it is left out. One that is
      there already is appended to.
    - `comment`, `tags`: words to find the run by. `total_steps`: where it will end, if you know.
    - `purge_step`: take back what earlier sessions of this rank logged from this step on.
    - `max_bytes`: what tensors, pictures and the like may take; above it old ones are thinned.
    - `rank`: of this process, where several write one run; `RANK` of the environment where it is left out.

    End it with `close()`, or use it in a `with`. Where a program ends without either, an exception that ended
    it is kept as what the run died of; but `sys.exit(1)` leaves nothing that could be seen, and counts as
    finished. In a `with` that is seen, too.
    """

    def __init__(
        self,
        path: _Path | None = None,
        *,
        comment: str = "",
        tags: tuple[str, ...] | list[str] | str = (),
        total_steps: int | None = None,
        purge_step: int | None = None,
        max_bytes: int = 2 << 30,
        rank: int | None = None,
    ) -> None:
        settings = Settings(
            comment=str(comment or ""),
            tags=tags_of(tags),
            total_steps=None if total_steps is None else whole_number_of("total_steps", total_steps),
            max_bytes=whole_number_of("max_bytes", max_bytes, least=0),
        )
        rank = rank_of_process() if rank is None else whole_number_of("rank", rank, least=0)
        purge_step = None if purge_step is None else whole_number_of("purge_step", purge_step)
        self._begin(folder_of(path), rank, settings, purge_step)
        if "://" in str(path):
            self._teller.tell(f"a run is kept in a folder of this machine: {path} is taken as {self.path}.")
        self._writer.open()

    def _begin(self, folder: Path, rank: int, settings: Settings, purge_step: int | None = None) -> None:
        self.path = folder
        self._teller = WarningsOnce()
        self._disk = Disk(folder, rank, settings, self._teller, purge_step)
        self._writer = Writer(self._disk, self._teller)
        self._queue = self._writer.queue
        self._outcome: Literal["running", "finished", "died"] = "running"
        self._saved: RunReader | None = None
        self._saved_in = 0  # the process in which it was opened
        watch(self._writer)
        # A run that nobody can reach any more is over; whoever cleans up must not wait for the disk.
        weakref.finalize(self, self._writer.close_with, Ending("finished"), 0.0).atexit = False

    # -- logging

    def log(
        self,
        step: int = NOT_GIVEN,
        values: Mapping[str, Any] | None = None,
        /,
        *others: Any,
        **named: Any,
    ) -> None:
        """Keep values by name: numbers as points of a curve, text, tensors and passes as what they are.

        `run.log(step, loss=0.1)`, or `run.log(step, {"train/loss": 0.1})`. A tensor or array of one element
        is a number; `run.log_tensor` keeps it as a tensor.
        """
        now = time.time()
        try:
            if type(values) is dict and not others:
                named = {**values, **named}
            elif values is not None or others or type(step) is not int:
                step, named = log_call(step, values, others, named)
            # Plain numbers by far outnumber all else: they are appended as they are.
            if type(step) is int:
                for name, value in named.items():
                    if (type(value) is not float and type(value) not in _PLAIN) or type(name) is not str:
                        break
                else:
                    queue = self._queue
                    if queue.is_running and (queue.weight < WAKE_WEIGHT or queue.press()):
                        queue.items.append((step, now, named))
                        queue.weight += len(named) + CALL_WEIGHT
                        return
            self._log(step_of(step), now, named)
        except Exception as error:
            self._tell(f"log: {reason_of(error)}", f"log {type(error).__name__}")

    def _log(self, step: int, now: float, values: Mapping[Any, Any]) -> None:
        """The long way: look at each value by itself."""
        numbers: dict[str, Any] = {}
        others: dict[str, Any] = {}
        # No value is a mapping, so this is not one of that name: log(step, values={...}).
        if isinstance(given := values.get("values"), Mapping):
            values = {**given, **{name: value for name, value in values.items() if name != "values"}}
        for name, value in values.items():
            if not isinstance(name, str):
                self._tell(f"log: a name is a {type(name).__name__}: give names as text.", "log a name")
                continue
            name = str.__str__(name)  # of NumPy's text and its like, the plain text
            try:
                number = number_of(value)
            except Exception as error:
                self._tell(f"log {name[:80]!r}: {reason_of(error)}", "log", name)
                continue
            if number is NOT_A_NUMBER:
                others[name] = value
            else:
                numbers[name] = number
        self._put_scalars(step, now, numbers)
        for name, value in others.items():
            self._observe_value(step, name, value)

    def _put(self, observation: Observation) -> None:
        if observation.num_bytes > MOST_RECORD_BYTES:
            tell_too_large(self._teller, observation, observation.num_bytes)
        else:
            self._hand_over(observation, 1)

    def keep_encoded(self, records: Sequence[EncodedRecord]) -> None:
        """Keep many records that are encoded already, with little work for each of them."""
        fitting = []
        for record in records:
            if len(record.data) > MOST_RECORD_BYTES:
                tell_too_large(self._teller, record, record.num_bytes)
            else:
                fitting.append(record)
        if fitting:
            bulk = Bulk(fitting, sum([len(record.data) for record in fitting]))
            self._hand_over(bulk, len(fitting))

    def _hand_over(self, item: Call | Observation | Bulk, num_events: int) -> None:
        if not self._is_running():
            self._teller.drop(num_events)
        elif self._queue.press(None if isinstance(item, tuple) else item.num_bytes):
            self._queue.add(item)
        else:
            self._teller.tell(
                f"the run {self.path} is logged faster than it can be written: what does not fit is dropped "
                "and counted (run.num_dropped). Log less often, or smaller things.",
                cause="full",
                num_dropped=num_events,
            )

    def _describe(self, kind: Kind, name: str, description: str) -> None:
        if self._queue.last_described.get(name) != description and self._is_running():
            self._queue.last_described[name] = description
            about = EncodedRecord(kind, name, 0, 0.0, b"", b"", description)
            self._queue.add(Bulk([about], 0))

    def _put_scalars(self, step: int, time: float, values: dict[str, Any]) -> None:
        if values:
            self._hand_over((step, time, values), len(values))

    def _is_running(self) -> bool:
        """True if the writer runs. The first event of a process starts it here."""
        if self._queue.is_running:
            return True
        watch_end_of_child()
        if self._writer.ensure_running():
            return True
        if self._writer.is_closed:
            self._teller.tell(
                f"the run {self.path} is closed: what is logged now is lost. To go on, make a new tl.Run "
                "with the same path.",
                cause="closed",
            )
        return False

    def _tell(self, message: str, cause: str | None = None, series: str | None = None) -> None:
        self._teller.tell(message, cause=cause, series=series, num_dropped=1)

    # -- the run itself

    @property
    def state(self) -> Literal["running", "finished", "died"]:
        return self._outcome

    @property
    def num_dropped(self) -> int:
        """Events that were logged and could not be kept, in this session."""
        return self._teller.num_dropped

    @property
    def num_thinned(self) -> int:
        """Records, and steps of statistics, that made way for newer ones, in this session."""
        return self._disk.num_thinned

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until all that was logged before is on disk. False: the disk refuses, or is too slow."""
        return self._writer.flush(timeout)

    def mark(self, *, hurry: bool = False) -> Mark:
        """A mark that is settled when all that was logged before is on disk, or never will be. Does not wait.

        `hurry` has it written at once; else that is done within a fraction of a second anyway.
        """
        return self._writer.mark(hurry=hurry)

    def close(self) -> None:
        """Write what is left, and say that the run is finished."""
        self._close(Ending("finished"))

    def _close(self, ending: Ending) -> None:
        if self._outcome == "running":
            self._outcome = ending.outcome
            if not self._writer.close_with(ending, _CLOSE_SECONDS):
                self._teller.tell(
                    f"the run {self.path} is closed, but the disk or a large record takes long: what is left "
                    "is written while the program runs on.",
                    cause="slow end",
                )
        if self._saved is not None:
            self._saved.close()
            self._saved = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(ending_of(error))

    def __repr__(self) -> str:
        return f"<Run {self.path} {self.state}>"

    def __getstate__(self) -> tuple[Path, int, Settings]:
        # Another process opens a part of its own when it logs; what is to be taken back, this one has done.
        return self.path, self._disk.rank, self._disk.settings

    def __setstate__(self, state: tuple[Path, int, Settings]) -> None:
        self._begin(*state)

    def _reader(self) -> RunReader:
        """What is on disk, with all that was logged before."""
        self.flush()
        if self._saved is None or self._saved_in != os.getpid():
            self._saved, self._saved_in = RunReader(self.path), os.getpid()
        else:
            self._saved.refresh()
        return self._saved


def tags_of(tags: Any) -> tuple[str, ...]:
    try:
        return (tags,) if isinstance(tags, str) else tuple(map(str, tags or ()))
    except TypeError as error:
        raise InputError(f"tags is {tags!r}: give words, as a list.") from error


def whole_number_of(name: str, value: Any, least: int | None = None) -> int:
    try:
        number = step_of(value)
    except Exception:
        number = None
    if number is None or (least is not None and number < least):
        raise InputError(
            f"{name} is {value!r}: give a whole number{'' if least is None else f' from {least} on'}."
        )
    return number


class RunAccess:
    """What a run is written with, for other rooms of the package: `RunAccess(run).queue`."""

    def __init__(self, run: Run) -> None:
        self.writer, self.queue, self.disk = run._writer, run._queue, run._disk
        self.is_running, self.put_scalars, self.close = run._is_running, run._put_scalars, run._close
