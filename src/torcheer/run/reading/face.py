"""What a program can ask of a run, while it is written or after."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final, Self, TypeVar, get_args, overload

from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run.parts import SeriesKey, State
from torcheer.run.reading.eventlist import Alarm, Gap
from torcheer.run.reading.finding import find_runs, is_run
from torcheer.run.reading.following import Follower
from torcheer.run.reading.links import LinkRule, links_note, links_within
from torcheer.run.reading.reader import RunReader, RunStatus
from torcheer.run.reading.recordkinds import (
    AudioRecord,
    ConfusionRecord,
    EmbeddingRecord,
    HistogramRecord,
    ImageRecord,
    PassRecord,
    PrCurveRecord,
    TextRecord,
    VideoRecord,
)
from torcheer.run.reading.savedrecords import Records, SavedRecord
from torcheer.run.reading.scalars import Scalars, scalars_of
from torcheer.run.reading.tablereading import Table, TableRecord
from torcheer.run.reading.tables import save_csv, scalars_frame
from torcheer.run.reading.tensorrecord import TensorRecord
from torcheer.run.reading.watchedface import Watched
from torcheer.run.records import HparamsHead, Kind, Plain

R = TypeVar("R", bound=SavedRecord[Any])

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_METHODS: Final[dict[Kind, str]] = {
    "scalar": "scalars",
    "tensor": "tensors",
    "histogram": "histograms",
    "image": "images",
    "video": "videos",
    "audio": "audios",
    "text": "texts",
    "embedding": "embeddings",
    "pr_curve": "pr_curves",
    "confusion": "confusions",
    "pass": "passes",
    "table": "table",
}


class Reading:
    """The methods by which a run is read. Each looks at the files again: what was written since is there."""

    def _reader(self) -> RunReader:
        raise NotImplementedError

    def status(self) -> RunStatus:
        """How the run goes: its state, its last step, how large it is, what could not be read."""
        return self._reader().status()

    def names(self, kind: Kind | None = None) -> list[str]:
        """The names of all series, or of those of a kind: `run.names("scalar")`."""
        if kind is not None and kind not in KINDS:
            raise InputError(f"there is no kind {kind!r} in a run: {', '.join(KINDS)}.")
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
            names = [key.name for key in reader.series() if key.kind == "scalar"]
            with reader.holding():
                return {each: scalars_of(each, reader.points(each)) for each in names}
        _check(reader, "scalar", name)
        return scalars_of(name, reader.points(name))

    def scalars_frame(self, names: Collection[str] | None = None) -> Any:
        """Scalars as one data frame: a row for each step, a column for each name. Needs pandas.

        Where a scalar was logged twice at a step, the last value stands.
        """
        reader = self._reader()
        for name in names or ():
            _check(reader, "scalar", name)
        return scalars_frame(reader, names)

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
        return hparams_of(self._reader())[0]

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
        unknown = [kind for kind in wanted or () if kind not in KINDS]
        if unknown:
            raise InputError(f"there is no kind {unknown[0]!r} in a run: {', '.join(KINDS)}.")
        if "statistics" in (wanted or ()):
            raise InputError(
                "statistics are not followed one by one, since they are put together and thinned while they "
                "are written: ask run.watched again to see how they grow."
            )
        reader = self._reader()
        return Follower(reader.path, wanted, from_start=from_start, timeout=timeout, links=reader.links)

    def to_csv(self, path: str | os.PathLike[str], *, wide: bool = False) -> None:
        """Write all scalars as CSV: name, step, time and value, or `wide`, a column for each name."""
        save_csv(self._reader(), path, wide=wide)

    def export_tensorboard(self, folder: str | os.PathLike[str]) -> Path:
        """Write the run as event files, which TensorBoard shows. Returns the file."""
        from torcheer.run.events.exporting import export_tensorboard

        return export_tensorboard(self._reader(), Path(folder))

    def _records(self, kind: Kind, name: str, make: type[R]) -> Records[R]:
        reader = self._reader()
        _check(reader, kind, name)
        return Records(name, [make(name, entry, reader) for entry in reader.records(kind, name)])


class SavedRun(Reading):
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

    def _reader(self) -> RunReader:
        return self.reader()

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
    listed = ", ".join(found[:5])
    return (
        f"there are {len(found)} in it, {listed}."
        if len(found) <= 5
        else (f"there are {len(found)} in it: {listed}…")
    )


def hparams_of(reader: RunReader) -> tuple[dict[str, Plain], dict[str, float | None]]:
    """The hyperparameters of a run, and the metrics that were logged with them."""
    heads = []
    for key in reader.series():
        if key.kind == "hparams":
            heads += [(entry.time, entry.head) for entry in reader.records("hparams", key.name)]
    hparams: dict[str, Plain] = {}
    metrics: dict[str, float | None] = {}
    for _, head in sorted(heads, key=lambda item: item[0]):
        if isinstance(head, HparamsHead):
            hparams.update(head.hparams)
            metrics.update(head.metrics)
    return hparams, metrics


def _check(reader: RunReader, kind: Kind, name: str) -> None:
    series = reader.series()
    if SeriesKey(kind, name) in series:
        return
    others = [key.kind for key in series if key.name == name and key.kind in _METHODS]
    if others:
        raise InputError(
            f"{name!r} is no {kind} of this run, but a {others[0]}: run.{_METHODS[others[0]]}({name!r})."
        )
    names = [key.name for key in series if key.kind == kind]
    raise InputError(f"this run has no {kind} {name!r}: {_nearest(name, names)}.")


def _nearest(name: str, names: Sequence[str]) -> str:
    if not names:
        return "it has none at all"
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}"
    listed = ", ".join(map(repr, names[:8]))
    return f"it has {listed}" if len(names) <= 8 else f"it has {listed} and {len(names) - 8} more"
