"""A video of a series of a run, made afterwards."""

from __future__ import annotations

import difflib
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy
from PIL import Image

from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.run import HistogramRecord, ImageRecord, SavedRun, TensorRecord, open_run
from torcheer.tensorfile import target_of
from torcheer.video.canvas import Canvas, theme_named
from torcheer.video.charts import Spread, WantedKind, checked_kind
from torcheer.video.data_recorder import checked_rate, checked_size
from torcheer.video.film_files import INSTALL, Film, FilmMaker, Format, can_encode_mp4
from torcheer.video.frame import Figures, Moment, SeriesView, frame_of

Progress = Callable[[int, int], None]  # how much is done, and of how much

_ENDINGS: Final[dict[str, Format]] = {".mp4": "mp4", ".gif": "gif", "": "png"}
_KEYFRAME_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeVideo:
    """What came of it."""

    path: Path
    series: str
    num_frames: int
    num_left_out: int  # records that were gone, or could not be shown


def make_video(
    run: str | os.PathLike[str] | SavedRun,
    name: str,
    path: str | os.PathLike[str],
    *,
    size: tuple[int, int] = (640, 480),
    fps: float = 20.0,
    first_step: int | None = None,
    last_step: int | None = None,
    kind: str = "auto",
    theme: str = "light",
    progress: Progress | None = None,
) -> MadeVideo:
    """Make a video of a tensor, histogram or image of a run over its steps.

    `name` is that of a series, `features.0.weight`, or a layer that has only one. The ending of `path`
    chooses the format: `.mp4` (needs `pip install torcheer[video]`), `.gif`, and none for a folder of PNG
    files. `kind` is auto, picture, tiles, histogram or pca. The scales are the same in all frames.
    Interrupted, it leaves a video of the frames so far.
    """
    wanted = checked_kind(kind)
    size, fps = checked_size(size), checked_rate(fps)
    colours = theme_named(theme)
    format = _format_of(path)
    maker = FilmMaker(size, fps, format, keyframe_every=max(2, round(fps * _KEYFRAME_SECONDS)))
    canvas = Canvas(maker.size, colours)
    with nullcontext(run) if isinstance(run, SavedRun) else open_run(run) as saved:
        series, found = _find_series(saved, name, wanted)
        records = _between(found, first_step, last_step)
        view = SeriesView(series, wanted, _whole_shape_of(saved, series))
        # Once through all of it for the scales, so that they are the same in the first frame as in the last.
        for index, _ in enumerate(_moments(records, view, canvas)):
            _tell(progress, index + 1, records)
        film = maker.open(_target(path, format))
        try:
            for index, moment in enumerate(_moments(records, view, canvas)):
                if moment is not None:
                    film.append(frame_of(moment, canvas), moment.step)
                _tell(progress, len(records) + index + 1, records)
        finally:
            _finish(film)
        if not film.num_frames:
            raise InputError(f"no record of {series!r} can be shown: {_why_none(records, view, canvas)}")
    num_left_out = len(records) - film.num_frames
    return MadeVideo(path=film.path, series=series, num_frames=film.num_frames, num_left_out=num_left_out)


def _tell(progress: Progress | None, num_done: int, records: Sequence[Any]) -> None:
    if progress is not None:
        progress(num_done, 2 * len(records))


def _finish(film: Film) -> None:
    """Also where somebody interrupts it: what is there is to play; a film without frames is nothing."""
    if film.num_frames:
        film.finish()
    elif film.path.is_file():
        film.path.unlink()


# --- where to ------------------------------------------------------------------------------------------


def _format_of(path: str | os.PathLike[str]) -> Format:
    try:
        ending = Path(os.fsdecode(path)).suffix.lower()
    except (TypeError, ValueError):
        raise InputError(f"a video is written to a path such as 'out.mp4', not to {path!r}.") from None
    format = _ENDINGS.get(ending)
    if format is None:
        raise InputError(
            f"a video cannot be written as {ending!r}: .mp4, .gif, or no ending for a folder of PNG files."
        )
    if format == "mp4" and not can_encode_mp4():
        raise InputError(f"MP4 needs an encoder that is not here: {INSTALL}, or name a .gif.")
    return format


def _target(path: str | os.PathLike[str], format: Format) -> Path:
    try:
        if format != "png":
            return Path(target_of(path, "a video", "out.mp4"))
        folder = Path(os.fsdecode(path))
        folder.mkdir(parents=True, exist_ok=True)
        is_free = next(folder.iterdir(), None) is None
    except OSError as error:
        raise InputError(f"{os.fsdecode(path)!r} cannot be written: {error.strerror or error}.") from error
    if not is_free:
        raise InputError(f"{str(folder)!r} has files in it already: name a folder that is new or empty.")
    return folder


# --- which series, and which of its records ------------------------------------------------------------

SeriesKind = Literal["tensor", "histogram", "image"]

_KINDS: Final[tuple[SeriesKind, ...]] = ("tensor", "histogram", "image")
_RANK: Final = re.compile(r"rank (\d+)/(.+)")
_LISTED: Final = 12


def _find_series(run: SavedRun, name: str, kind: WantedKind = "auto") -> tuple[str, Sequence[Any]]:
    """The one series that is meant, and its records. InputError lists those that it could be."""
    kinds: Sequence[SeriesKind] = _KINDS
    if kind != "auto":
        kinds = ("histogram", "tensor") if kind == "histogram" else ("tensor",)
    names = {each: run.names(each) for each in _KINDS}
    everything = list(dict.fromkeys(series for each in kinds for series in names[each]))
    found = [series for series in everything if series == name] or [
        series for series in everything if name and series.startswith((f"{name}.", f"{name}/"))
    ]
    if not found:
        kept = [each for each in _KINDS if name in names[each]]
        raise InputError(_not_there(run, name, everything) if not kept else _not_so(name, kind, kept[0]))
    if len(found) > 1:
        raise InputError(f"{name!r} could be any of {_listed(found)}: name one of them.")
    series = found[0]
    records_of: dict[SeriesKind, Callable[[str], Sequence[Any]]] = {
        "tensor": run.tensors,
        "histogram": run.histograms,
        "image": run.images,
    }
    held: list[Sequence[Any]] = [records_of[each](series) for each in kinds if series in names[each]]
    # Of the tensors and the histograms of a name, as a histogram whichever there are more of.
    return series, max(held, key=len) if kind == "histogram" else held[0]


def _whole_shape_of(run: SavedRun, series: str) -> tuple[int, ...] | None:
    """The shape of a tensor that was watched, of which a run may keep but a piece."""
    rank, name = 0, series
    if (match := _RANK.fullmatch(series)) is not None:
        rank, name = int(match[1]), match[2]
    watched = run.watched
    if rank in watched.ranks:
        watched = watched.of_rank(rank)
    for row in watched.rows:
        if row.name == name and row.shape is not None:
            return tuple(row.shape)
    return None


def _between(records: Sequence[Any], first: int | None, last: int | None) -> list[Any]:
    kept = [
        record
        for record in records
        if (first is None or record.step >= first) and (last is None or record.step <= last)
    ]
    if not kept and records:
        steps = f"its steps go from {records[0].step} to {records[-1].step}"
        raise InputError(f"there are no records between steps {first} and {last}: {steps}.")
    return kept


def _not_so(name: str, kind: WantedKind, kept: SeriesKind) -> str:
    return f"{name!r} is kept as {kept}, and kind {kind!r} needs the tensor itself: leave the kind out."


def _not_there(run: SavedRun, name: str, names: Sequence[str]) -> str:
    if name in run.names("scalar"):
        return f"{name!r} is a scalar, and a video is made of tensors. `torcheer view` draws its curve."
    if not names:
        return (
            "this run has nothing that a video could be made of: run.log_tensor keeps tensors, and so does "
            "tl.watch(model, run=…, tensors='sample')."
        )
    layers = [series.rpartition(".")[0] for series in names]
    known = list(dict.fromkeys([*names, *filter(None, layers)]))
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f"this run has no {name!r}: did you mean {' or '.join(map(repr, near))}?"
    return f"this run has no {name!r}: it has {_listed(names)}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_LISTED]))
    return f"{shown} and {len(names) - _LISTED} more" if len(names) > _LISTED else shown


# --- what is to be seen of a record --------------------------------------------------------------------

_PICTURE_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
_MOST_PICTURE_PIXELS: Final = 1 << 26


def _moments(records: Sequence[Any], view: SeriesView, canvas: Canvas) -> Iterator[Moment | None]:
    """What is to be seen of each record; None where it is gone, or cannot be shown."""
    for record in records:
        try:
            yield _moment_of(record, view, canvas)
        except TorcheerError:
            yield None


def _why_none(records: Sequence[Any], view: SeriesView, canvas: Canvas) -> str:
    try:
        _moment_of(records[-1], view, canvas)
    except TorcheerError as error:
        return str(error)
    return "try again."


def _moment_of(
    record: TensorRecord | HistogramRecord | ImageRecord, view: SeriesView, canvas: Canvas
) -> Moment:
    """Any of torcheer's errors where it is gone or cannot be read."""
    if isinstance(record, TensorRecord):
        return view.of_tensor(record.step, record.array, canvas)
    if isinstance(record, ImageRecord):
        return view.of_image(record.step, decode_picture(record.raw))
    return view.of_spread(record.step, _spread(record), _figures(record))


def decode_picture(data: bytes) -> Image.Image:
    """The picture of a file, whole. Its size is checked before its pixels are read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(data), formats=_PICTURE_FORMATS)
        if picture.width * picture.height > _MOST_PICTURE_PIXELS:
            raise FileFormatError(f"a picture of {picture.width} × {picture.height} pixels is not read.")
        picture.load()
    except FileFormatError:
        raise
    except Exception as error:  # Pillow raises whatever its decoders meet
        raise FileFormatError(f"a picture cannot be read: {error}.") from None
    return picture


def _spread(record: HistogramRecord) -> Spread:
    head = record.head
    edges, counts = record.edges, record.counts
    filled = numpy.flatnonzero(counts)
    if not filled.size:
        return Spread.of_values(numpy.empty(0))
    low = float(edges[filled[0]]) if head.min is None else head.min
    high = float(edges[filled[-1] + 1]) if head.max is None else head.max
    if not high > low:
        return Spread.of_values(numpy.array([low]))
    # The outermost bins of some writers reach to the largest numbers there are: no value is out there.
    kept = slice(int(filled[0]), int(filled[-1]) + 1)
    return Spread.of_counts(numpy.clip(edges[kept.start : kept.stop + 1], low, high), counts[kept])


def _figures(record: HistogramRecord) -> Figures:
    head = record.head
    mean = std = math.nan
    if head.num and head.sum is not None:
        mean = head.sum / head.num
        if head.sum_squares is not None:
            std = math.sqrt(max(0.0, head.sum_squares / head.num - mean * mean))
    return Figures(
        shape=(round(head.num),),
        mean=mean,
        std=std,
        low=math.nan if head.min is None else head.min,
        high=math.nan if head.max is None else head.max,
        num_nan=head.num_nan,
        num_inf=head.num_inf,
    )
