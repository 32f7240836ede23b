"""A scalar of a run, as a program or a notebook gets it."""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.part_storage import LOCK_ENDING
from torcheer.run.read.part_protocol import Points
from torcheer.run.read.run_folders import is_event_file, is_part
from torcheer.tensorfile import write_atomically

if TYPE_CHECKING:
    from torcheer.run.read.run_reader import RunReader


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scalars:
    """The points of a scalar, in the order in which they were logged. `numpy.asarray` gives the values."""

    name: str
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float64]

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array(self.values, dtype) if copy else numpy.asarray(self.values, dtype)

    def to_pandas(self) -> Any:
        """A data frame with step, time and value. Needs pandas: `pip install torcheer[pandas]`."""
        pandas = needed_pandas("to_pandas")
        times = pandas.to_datetime(self.times, unit="s", utc=True)
        return pandas.DataFrame({"step": self.steps, "time": times, "value": self.values})

    def __repr__(self) -> str:
        points = "1 point" if len(self) == 1 else f"{len(self):,} points"
        if not len(self):
            return f"<Scalars {self.name!r}: {points}>"
        ends = f"steps {self.steps[0]}–{self.steps[-1]}, last {self.values[-1]:.6g}"
        return f"<Scalars {self.name!r}: {points}, {ends} {sparkline(self.values)}>"


def scalars_of(name: str, points: Points) -> Scalars:
    for column in points:
        # They may be shared with others that read this run.
        column.flags.writeable = False
    return Scalars(name=name, steps=points.steps, times=points.times, values=points.values)


def nearest(name: str, names: Sequence[str]) -> str:
    """What to say instead of a name that is not there."""
    if not names:
        return "it has none at all"
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}"
    listed = ", ".join(map(repr, names[:8]))
    return f"it has {listed}" if len(names) <= 8 else f"it has {listed} and {len(names) - 8} more"


def needed_pandas(what: str) -> ModuleType:
    try:
        import pandas
    except ImportError as error:
        raise InputError(f"{what} needs pandas: pip install torcheer[pandas]") from error
    return pandas


_BARS: Final = "▁▂▃▄▅▆▇█"
_NONE: Final = "·"  # no finite value there


def sparkline(values: NDArray[numpy.float64], width: int = 24) -> str:
    """The means of so many equal pieces, from the lowest to the highest of them."""
    pieces = numpy.array_split(values, min(width, len(values))) if len(values) else []
    finite = [piece[numpy.isfinite(piece)] for piece in pieces]
    with numpy.errstate(all="ignore"):
        # Halves: the sum of two of the largest numbers is infinite.
        means = numpy.array([numpy.mean(piece / 2) if len(piece) else numpy.nan for piece in finite])
        low = numpy.fmin.reduce(means, initial=numpy.inf)
        high = numpy.fmax.reduce(means, initial=-numpy.inf)
        shares = (means - low) / (high - low) if low < high else means * 0 + 0.5
    last = len(_BARS) - 1
    return "".join(
        _BARS[min(int(share * len(_BARS)), last)] if numpy.isfinite(share) else _NONE for share in shares
    )


_CHUNK: Final = 10_000


def scalar_names(reader: RunReader) -> list[str]:
    return [key.name for key in reader.series() if key.kind == "scalar"]


def write_csv(
    reader: RunReader, stream: TextIO, *, names: Collection[str] | None = None, wide: bool = False
) -> None:
    """All scalars, or some. Numbers are written so that reading them gives the same numbers again."""
    chosen = list(scalar_names(reader) if names is None else names)
    writer = csv.writer(stream, lineterminator="\n")
    if wide:
        writer.writerow(["step", *chosen])
        steps, columns = by_step(reader, chosen)
        writer.writerows(zip(steps.tolist(), *columns, strict=True))
    else:
        writer.writerow(["name", "step", "time", "value"])
        for name in chosen:
            writer.writerows(_long_rows(name, reader.points(name)))


def save_table(path: str | os.PathLike[str], write_rows: Callable[[TextIO], None]) -> None:
    """Write a table to a file of its own."""
    target = Path(path)
    if is_part(target.name) or is_event_file(target.name) or target.suffix == LOCK_ENDING:
        raise InputError(f"{target} is a file of a run: name another one, such as scalars.csv.")

    def write(file: BinaryIO) -> None:
        stream = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        write_rows(stream)
        stream.detach()

    write_atomically(target, "a table", write, "scalars.csv")


def by_step(reader: RunReader, names: Collection[str]) -> tuple[NDArray[numpy.int64], list[NDArray[Any]]]:
    """All steps, rising, and the last value that each scalar has there, None where it has none."""
    series = [reader.points(name) for name in names]
    steps = numpy.unique(
        numpy.concatenate([numpy.empty(0, numpy.int64), *(points.steps for points in series)])
    )
    columns = []
    for points in series:
        column = numpy.full(len(steps), None, object)
        # Where a place is given twice, NumPy keeps what was given last.
        column[numpy.searchsorted(steps, points.steps)] = points.values.tolist()
        columns.append(column)
    return steps, columns


def _long_rows(name: str, points: Points) -> Iterator[tuple[str, int, float, float]]:
    for start in range(0, len(points.steps), _CHUNK):
        steps, times, values = (column[start : start + _CHUNK].tolist() for column in points)
        yield from zip([name] * len(steps), steps, times, values, strict=True)


_WORDS = re.compile(r"f1|top[0-9]|[a-z]+|[0-9]+")
_LONGEST = 1000
WATCHER_PREFIX = "watch/"
_LOSS = frozenset(("loss", "losses", "nll", "cost", "objective", "perplexity"))
_ACCURACY = frozenset(
    ("acc", "accuracy", "f1", "auc", "map", "iou", "precision", "recall", "top1", "top5", "score")
)
_TRAINING = frozenset(("train", "training", "fit"))
_ASIDE = frozenset(("val", "valid", "validation", "test", "eval", "evaluation", "dev", "aux", "auxiliary"))
_FINE = frozenset(("step", "batch", "iter", "iteration", "epoch", "total", "all"))


def loss_of(names: Iterable[str]) -> str:
    """The scalar that looks most like the loss of a training; empty where none looks like a loss."""
    ranked = sorted((_loss_rank(name), index, name) for index, name in enumerate(names) if is_loss(name))
    return ranked[0][2] if ranked else ""


def by_interest(names: Iterable[str]) -> Sequence[str]:
    """Losses, then accuracies, then the rest, each in the order given; what a watcher says of itself last."""
    return sorted(names, key=_group)


def is_loss(name: str) -> bool:
    return not is_of_watcher(name) and not _LOSS.isdisjoint(_words(name))


def is_of_watcher(name: str) -> bool:
    """True if a watcher reports it on itself, such as its cost. It does not judge the training."""
    return name.startswith(WATCHER_PREFIX)


def _words(name: str) -> list[str]:
    # trainLoss and trainloss are two words, as train_loss is.
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name[:_LONGEST]).lower()
    return _WORDS.findall(re.sub(r"loss(?![a-z])", " loss ", parted))


def _group(name: str) -> int:
    if is_of_watcher(name):
        return 3
    words = _words(name)
    if not _LOSS.isdisjoint(words):
        return 0
    return 1 if not _ACCURACY.isdisjoint(words) else 2


def _loss_rank(name: str) -> tuple[int, int]:
    """The lower the better: is it a loss, of training rather than of a test, and of nothing in particular."""
    words = _words(name)
    if "loss" not in words:
        return 2, 0
    others = [word for word in words if word not in _TRAINING | _FINE and word != "loss"]
    if not _ASIDE.isdisjoint(words):
        return 1, len(others)
    is_training = not _TRAINING.isdisjoint(words)
    return 0, 2 * len(others) - (1 if is_training else 0)
