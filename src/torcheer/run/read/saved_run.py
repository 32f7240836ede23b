"""What a program can ask of a run, while it is written or after."""

from __future__ import annotations

import heapq
import math
import os
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar, get_args, overload

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run.read.part_protocol import Part, SeriesEntry, SeriesKey, State
from torcheer.run.read.run_folders import LinkRule, find_runs, is_run, links_note, links_within
from torcheer.run.read.run_reader import RunReader, RunStatus
from torcheer.run.read.saved_records import (
    AudioRecord,
    ConfusionRecord,
    EmbeddingRecord,
    HistogramRecord,
    ImageRecord,
    PassRecord,
    PrCurveRecord,
    Records,
    SavedRecord,
    TensorRecord,
    TextRecord,
    VideoRecord,
)
from torcheer.run.read.scalars import (
    Scalars,
    by_step,
    nearest,
    needed_pandas,
    save_table,
    scalar_names,
    scalars_of,
    write_csv,
)
from torcheer.run.read.watched import Alarm, Gap, Watched
from torcheer.run.records import HparamsHead, Kind, Plain
from torcheer.run.tables import Table, TableRecord

R = TypeVar("R", bound=SavedRecord[Any])

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
# By which a kind is read, where that is not its name with an s.
_METHODS: Final = {"pass": "passes", "table": "table"}


class ReadMethods:
    """The methods by which a run is read. Each looks at the files again: what was written since is there."""

    def _reader(self) -> RunReader:
        raise NotImplementedError

    def status(self) -> RunStatus:
        """How the run goes: its state, its last step, how large it is, what could not be read."""
        return self._reader().status()

    def names(self, kind: Kind | None = None) -> list[str]:
        """The names of all series, or of those of a kind: `run.names("scalar")`."""
        _check_kinds(() if kind is None else (kind,))
        series = self._reader().series()
        return list(dict.fromkeys(key.name for key in series if kind is None or key.kind == kind))

    @overload
    def scalars(self, name: str) -> Scalars: ...
    @overload
    def scalars(self, name: None = None) -> dict[str, Scalars]: ...
    def scalars(self, name: str | None = None) -> Scalars | dict[str, Scalars]:
        """A scalar with its steps, times and values; without a name all of them, by name."""
        reader = self._reader()
        if name is None:
            with reader.holding():
                return {each: scalars_of(each, reader.points(each)) for each in scalar_names(reader)}
        _check(reader, "scalar", name)
        return scalars_of(name, reader.points(name))

    def scalars_frame(self, names: Collection[str] | None = None) -> Any:
        """Scalars as one data frame: a row for each step, a column for each name. Needs pandas.

        Where a scalar was logged twice at a step, the last value stands.
        """
        reader, pandas = self._reader(), needed_pandas("scalars_frame")
        for name in names or ():
            _check(reader, "scalar", name)
        chosen = list(scalar_names(reader) if names is None else names)
        steps, columns = by_step(reader, chosen)
        data = {name: column.astype(numpy.float64) for name, column in zip(chosen, columns, strict=True)}
        return pandas.DataFrame(data, index=pandas.Index(steps, name="step"), columns=chosen)

    def tensors(self, name: str) -> Records[TensorRecord]:
        """A tensor over its steps: `run.tensors("conv1.weight")[-1].array`."""
        return self._records("tensor", name, TensorRecord)

    def histograms(self, name: str) -> Records[HistogramRecord]:
        return self._records("histogram", name, HistogramRecord)

    def images(self, name: str) -> Records[ImageRecord]:
        return self._records("image", name, ImageRecord)

    def videos(self, name: str) -> Records[VideoRecord]:
        return self._records("video", name, VideoRecord)

    def audios(self, name: str) -> Records[AudioRecord]:
        return self._records("audio", name, AudioRecord)

    def texts(self, name: str) -> Records[TextRecord]:
        return self._records("text", name, TextRecord)

    def embeddings(self, name: str) -> Records[EmbeddingRecord]:
        return self._records("embedding", name, EmbeddingRecord)

    def pr_curves(self, name: str) -> Records[PrCurveRecord]:
        return self._records("pr_curve", name, PrCurveRecord)

    def confusions(self, name: str) -> Records[ConfusionRecord]:
        return self._records("confusion", name, ConfusionRecord)

    def passes(self, name: str) -> Records[PassRecord]:
        return self._records("pass", name, PassRecord)

    def table(self, name: str) -> Table:
        """All rows of a table: `run.table("epochs")["loss"]`; `.records` are those logged together."""
        return Table(name, self._records("table", name, TableRecord))

    @property
    def watched(self) -> Watched:
        """What an inspector watched: `run.watched["conv1.weight"].norm`, `run.watched.table("norm")`."""
        return Watched(self._reader())

    @property
    def alarms(self) -> list[Alarm]:
        """What an inspector saw that should be looked at, by time."""
        return self._reader().events().alarms

    @property
    def gaps(self) -> list[Gap]:
        """What an inspector was to see and did not, by time."""
        return self._reader().events().gaps

    def hparams(self) -> dict[str, Plain]:
        """The hyperparameters, the later ones over the earlier."""
        reader = self._reader()
        names = [key.name for key in reader.series() if key.kind == "hparams"]
        entries = [entry for name in names for entry in reader.records("hparams", name)]
        found: dict[str, Plain] = {}
        for entry in sorted(entries, key=lambda entry: entry.time):
            assert isinstance(entry.head, HparamsHead)
            found |= entry.head.hparams
        return found

    def follow(
        self,
        kinds: Kind | Collection[Kind] | None = None,
        *,
        from_start: bool = False,
        timeout: float | None = None,
    ) -> Follower:
        """What is written from now on, by whichever process, as it comes: an iterator that ends with the run.

        `kinds` chooses what is wanted, `from_start` begins with what is there already, and after `timeout`
        seconds without anything new it ends in any case. Statistics do not come: they are put together and
        thinned while they are written. Ask `run.watched` again to see how they grow.
        """
        wanted = (kinds,) if isinstance(kinds, str) else kinds
        _check_kinds(wanted or ())
        if "statistics" in (wanted or ()):
            raise InputError(
                "statistics are not followed one by one, since they are put together and thinned while they "
                "are written: ask run.watched again to see how they grow."
            )
        return Follower(self._reader(), wanted, from_start=from_start, timeout=timeout)

    def to_csv(self, path: str | os.PathLike[str], *, wide: bool = False) -> None:
        """Write all scalars as CSV: name, step, time and value, or `wide`, a column for each name."""
        reader = self._reader()
        save_table(path, lambda stream: write_csv(reader, stream, wide=wide))

    def export_tensorboard(self, folder: str | os.PathLike[str]) -> Path:
        """Write the run as event files, which TensorBoard shows. Returns the file."""
        from torcheer.run.tensorboard.export import export_tensorboard

        return export_tensorboard(self._reader(), Path(folder))

    def _records(self, kind: Kind, name: str, make: type[R]) -> Records[R]:
        reader = self._reader()
        _check(reader, kind, name)
        return Records(name, [make(name, entry, reader) for entry in reader.records(kind, name)])


class SavedRun(ReadMethods):
    """A run on disk. It may still be written, by whichever process. For one thread at a time."""

    def __init__(self, path: str | os.PathLike[str], *, links: LinkRule | None = None) -> None:
        self.path = Path(path)
        self._run = RunReader(path, links=links)

    @property
    def state(self) -> State:
        """running, finished or died; unknown of event files, which do not say."""
        return self.status().state

    def close(self) -> None:
        """Let go of what a run that had to be copied takes up. All else is closed already."""
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reader(self) -> RunReader:
        """What stands behind it, for those who want all parts and records."""
        self._run.refresh()
        return self._run

    _reader = reader

    def __repr__(self) -> str:
        status = self.status()
        step = "" if status.last_step is None else f", last step {status.last_step}"
        return (
            f"<SavedRun {str(self.path)!r}: {status.state}{step}, {status.num_series} series, "
            f"{readable_bytes(status.num_bytes)}>"
        )


def open_run(path: str | os.PathLike[str], *, follow_links: bool = False) -> SavedRun:
    """Open a folder that `tl.Run` wrote, or a folder of TensorBoard's event files. Needs no torch.

    The folder may be a link. Links in it that lead out of it are followed if `follow_links`.
    """
    try:
        folder = Path(path)
        is_there = folder.exists()
    except (TypeError, OSError, ValueError) as error:
        raise InputError(f"{path!r} cannot be a folder ({error}): name that of a run.") from None
    if not is_there:
        raise InputError(
            f"there is no folder {str(path)!r}: runs are folders, and `torcheer runs list` lists them."
        )
    if not folder.is_dir():
        raise InputError(
            f"{str(path)!r} is a file: a run is the folder that it lies in, {str(folder.parent)!r}."
        )
    links = links_within(folder, follow_links=follow_links)
    if not is_run(folder, links):
        raise InputError(f"{str(path)!r} is no run: {_runs_below(folder, links)}")
    return SavedRun(folder, links=links)


def _runs_below(folder: Path, links: LinkRule) -> str:
    runs = find_runs(folder, links)
    found = [str(folder / run.name) for run in runs]
    if not found and runs.num_links_out:
        return f"{links_note(runs.num_links_out)}: follow_links=True follows them."
    if not found:
        return "there are no files of torcheer or TensorBoard in it, nor in the folders below."
    return f"there are {len(found)} in it, {', '.join(found[:5])}{'…' if len(found) > 5 else '.'}"


def _check_kinds(kinds: Collection[str]) -> None:
    unknown = next((kind for kind in kinds if kind not in KINDS), None)
    if unknown is not None:
        raise InputError(f"there is no kind {unknown!r} in a run: {', '.join(KINDS)}.")


def _check(reader: RunReader, kind: Kind, name: str) -> None:
    series = reader.series()
    if SeriesKey(kind, name) in series:
        return
    readable = {"scalar", *_RECORD_TYPES}
    other = next((key.kind for key in series if key.name == name and key.kind in readable), None)
    if other is not None:
        method = _METHODS.get(other, f"{other}s")
        raise InputError(f"{name!r} is no {kind} of this run, but a {other}: run.{method}({name!r}).")
    names = [key.name for key in series if key.kind == kind]
    raise InputError(f"this run has no {kind} {name!r}: {nearest(name, names)}.")


_PAUSE_SECONDS: Final = 0.1
_CHUNK: Final = 10_000
_RECORD_TYPES: Final[dict[Kind, type[SavedRecord[Any]]]] = {
    "tensor": TensorRecord,
    "histogram": HistogramRecord,
    "image": ImageRecord,
    "video": VideoRecord,
    "audio": AudioRecord,
    "text": TextRecord,
    "embedding": EmbeddingRecord,
    "pr_curve": PrCurveRecord,
    "confusion": ConfusionRecord,
    "pass": PassRecord,
    "table": TableRecord,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Something that was logged: the value of a scalar, or a record."""

    kind: Kind
    name: str
    step: int
    time: float  # seconds since 1970
    value: float | None = None
    record: SavedRecord[Any] | None = None


class Follower(Iterator[Seen]):
    """What is written into a run from now on, or from its start.

    It ends when the run has ended and all of it was seen, or when nothing came for `timeout` seconds. Event
    files do not say whether somebody writes them still: of them only the timeout is an end.
    """

    def __init__(
        self,
        run: RunReader,
        kinds: Collection[Kind] | None = None,
        *,
        from_start: bool = False,
        timeout: float | None = None,
    ) -> None:
        self._reader = RunReader(run.path, links=run.links)
        self._kinds = kinds
        self._timeout = timeout
        self._progress: dict[str, _Progress] = {}
        if not from_start:
            for _ in self._new():
                pass
        self._events = self._follow()

    def __next__(self) -> Seen:
        return next(self._events)

    def close(self) -> None:
        self._events.close()
        self._reader.close()

    def _follow(self) -> Generator[Seen, None, None]:
        timeout = math.inf if self._timeout is None else self._timeout
        last_news = time.monotonic()
        had_ended = False
        while True:
            has_news = False
            for seen in (seen for of_part in self._new() for _, seen in of_part):
                has_news = True
                yield seen
            has_ended = self._reader.status().state in ("finished", "died")
            if has_news:
                last_news = time.monotonic()
            # Ended, and looked at once more since: the last of it may have come between two looks.
            elif (has_ended and had_ended) or time.monotonic() - last_news >= timeout:
                return
            if had_ended or not has_ended:
                time.sleep(_PAUSE_SECONDS)
            had_ended = has_ended
            self._reader.refresh()

    def _new(self) -> Iterator[Iterator[_Timed]]:
        """What is new in each part: by time, but never out of the order in which a series was logged."""
        for name, part in self._reader.parts().items():
            restarts = self._reader.restarts(name)
            progress = self._progress.setdefault(name, _Progress(restarts=restarts))
            if progress.restarts != restarts:  # something was taken back: all is read again
                progress.restarts, progress.places, progress.entries = restarts, {}, {}
            with self._reader.holding():
                new = [
                    self._new_of(part, key, progress)
                    for key, entry in part.series().items()
                    if progress.entries.get(key) != entry
                    if key.kind != "statistics" and (self._kinds is None or key.kind in self._kinds)
                ]
            progress.entries = dict(part.series())
            yield heapq.merge(*new, key=lambda timed: timed[0])

    def _new_of(self, part: Part, key: SeriesKey, progress: _Progress) -> Iterator[_Timed]:
        place = progress.places.get(key, 0)
        if key.kind == "scalar":
            items: Sequence[Any] | NDArray[Any]
            steps, times, items = part.points(key.name, place)
            progress.places[key] = place + len(times)
        else:
            entries = part.records(key.kind, key.name, place)
            progress.places[key] = entries[-1].id if entries else place
            steps = numpy.array([entry.step for entry in entries], numpy.int64)
            times = numpy.array([entry.time for entry in entries], numpy.float64)
            kind = _RECORD_TYPES.get(key.kind, SavedRecord)
            items = [kind(key.name, entry, self._reader) for entry in entries]
        # What was shown before all was read again is known by its time.
        known = progress.times.setdefault(key, [])
        is_new = ~numpy.isin(times, numpy.concatenate([*known, ()]) if not place else ())
        start = int(numpy.argmax(is_new)) if is_new.any() else len(times)
        known.append(times[start:])
        columns = (numpy.maximum.accumulate(times), times, steps, items)
        return _seen(key, [column[start:] for column in columns])


@dataclass(slots=True, kw_only=True)
class _Progress:
    """How far a part was seen."""

    restarts: int
    places: dict[SeriesKey, int] = field(default_factory=dict)  # points seen, or the id of the last record
    entries: dict[SeriesKey, SeriesEntry] = field(default_factory=dict)
    times: dict[SeriesKey, list[NDArray[numpy.float64]]] = field(default_factory=dict)  # of all that was seen


_Timed = tuple[float, Seen]


def _seen(key: SeriesKey, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> Iterator[_Timed]:
    for start in range(0, len(columns[0]), _CHUNK):
        pieces = (column[start : start + _CHUNK] for column in columns)
        chunk = (piece.tolist() if isinstance(piece, numpy.ndarray) else piece for piece in pieces)
        for order, moment, step, item in zip(*chunk, strict=True):
            what = {"value" if key.kind == "scalar" else "record": item}
            yield order, Seen(kind=key.kind, name=key.name, step=step, time=moment, **what)


def reader_of(run: ReadMethods) -> RunReader:
    """The reader of a run, with all that was logged until now; for other rooms of the package."""
    return run._reader()
