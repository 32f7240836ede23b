"""Videos of tensors: `DataRecorder` makes them while a training runs, `make_video` afterwards from a run."""

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
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal, get_args

from PIL import Image

from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.run import ImageRecord, RunWarning, SavedRun, TensorRecord, WarningsOnce, open_run
from torcheer.tensorfile import target_of
from torcheer.video.canvas import Canvas, theme_named
from torcheer.video.charts import Moment, SeriesView, WantedKind, checked_kind, frame_of
from torcheer.video.film_files import INSTALL, FilmMaker, Format, SpanningFilm, can_encode_mp4, stem_of

_LEAST_PIXELS, _MOST_PIXELS = 16, 4096  # of a side


class DataRecorder:
    """A video of each tensor that it is given, in a folder.

    `tensor_plot2D` and `tensor_pca` are callbacks of (name, step, tensor), `flush` is one for the end:

        recorder = DataRecorder((640, 480), 20.0, 100, "output")
        handler = ParallelHandler(callback_onrun=recorder.tensor_plot2D, callback_onclosing=recorder.flush)

    A video has at most `max_frames` frames, and still shows the whole training: when it is full, every third
    frame stays, and from then on every third comes in, later every ninth, and so on. Its last frame is
    the last tensor, once `flush` was called. Files that are there already are left alone: another
    `weight.mp4` is `weight-2.mp4`.

    `format` is mp4 (needs `pip install torcheer[video]`), gif or png, a folder of pictures. Without one it is
    mp4 where that can be, and gif where it cannot. Nothing raises once it is made: what fails is told once
    and counted.
    """

    def __init__(
        self,
        size: tuple[int, int] = (640, 480),
        fps: float = 20.0,
        max_frames: int = 100,
        folder: str | os.PathLike[str] = "output",
        *,
        format: Format | None = None,
        theme: Literal["light", "dark"] = "light",
    ) -> None:
        self.size, self.fps = _checked_size(size), _checked_rate(fps)
        if not _is_whole(max_frames) or max_frames < 1:
            raise InputError(f"max_frames is {max_frames!r}: give the most frames of a video, 1 or more.")
        self.max_frames = int(max_frames)
        self.folder = Path(os.fsdecode(folder)).absolute()  # the child may work elsewhere
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{str(self.folder)!r} is a file: videos go into a folder, name another.")
        if format is None and not can_encode_mp4():
            words = f"there is no encoder for MP4 here: videos become GIF, which takes more room. {INSTALL}"
            warnings.warn(words, RunWarning, stacklevel=2)
            format = "gif"
        self.format = _checked_format(format or "mp4")
        self.theme = theme
        theme_named(theme)
        self._begin()

    def _begin(self) -> None:
        self._recordings: dict[tuple[WantedKind, str], _Recording] = {}
        self._maker = FilmMaker(self.size, self.fps, self.format)
        self._canvas = Canvas(self._maker.size, theme_named(self.theme))
        self._teller = WarningsOnce()

    def __getstate__(self) -> dict[str, Any]:
        # What it has begun stays with the process that began it.
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def tensor_plot2D(self, name: str, step: int, tensor: Any) -> None:  # noqa: N802  # its users know it so
        """A frame of what suits the shape: a picture, tiles, or a histogram."""
        self._record("auto", name, step, tensor)

    def tensor_histogram(self, name: str, step: int, tensor: Any) -> None:
        """A frame of how the values are spread, whatever the shape."""
        self._record("histogram", name, step, tensor)

    def tensor_pca(self, name: str, step: int, tensor: Any) -> None:
        """A frame of its rows as points, in the plane in which they differ most."""
        self._record("pca", name, step, tensor)

    def flush(self, *_args: Any) -> None:
        """Put the last tensors in, and make every file easy to play. More may come after it."""
        for (_, name), recording in self._recordings.items():
            if recording.film is not None:
                self._guarded(name, recording.film.finish)

    @property
    def files(self) -> dict[str, Path]:
        """The files (for png, folders) that there are, by name."""
        return {
            name if kind == "auto" else f"{name} ({kind})": recording.film.path
            for (kind, name), recording in self._recordings.items()
            if recording.film is not None
        }

    @property
    def num_dropped(self) -> int:
        """How many frames could not be written."""
        return self._teller.num_dropped

    def __repr__(self) -> str:
        width, height = self.size
        return (
            f"<DataRecorder {str(self.folder)!r}: {len(self._recordings)} videos as {self.format}, "
            f"{width} × {height}, {self.fps:g} frames a second>"
        )

    def _record(self, kind: WantedKind, name: str, step: int, tensor: Any) -> None:
        self._guarded(str(name), lambda: self._add(kind, str(name), int(step), tensor))

    def _add(self, kind: WantedKind, name: str, step: int, tensor: Any) -> None:
        recording = self._recordings.get((kind, name))
        if recording is None:
            recording = self._recordings[kind, name] = _Recording(view=SeriesView(name, kind))
        moment = recording.view.of_tensor(step, tensor, self._canvas)
        if recording.film is None:
            # Not before there is something to show: a name of which nothing can be shown has no file.
            stem = stem_of(name) if kind == "auto" else f"{stem_of(name)}.{kind}"
            recording.film = SpanningFilm(self._maker.claim(self.folder, stem), self.max_frames)
        recording.film.add(step, lambda: frame_of(moment, self._canvas))

    def _guarded(self, name: str, act: Callable[[], None]) -> None:
        """Whatever happens, the process goes on."""
        try:
            act()
        except OSError as error:
            words = (
                f"videos cannot be written to {self.folder} ({error.strerror or error}): frames are left out"
            )
            self._teller.tell(f"{words} until they can.", cause=f"disk {error.errno}", num_dropped=1)
        except Exception as error:
            words = str(error) if isinstance(error, TorcheerError) else f"{type(error).__name__}: {error}"
            message = f"{name!r} cannot be recorded: {words}"
            self._teller.tell(message, cause=type(error).__name__, series=name, num_dropped=1)


@dataclass(slots=True, kw_only=True)
class _Recording:
    """One video of a recorder."""

    view: SeriesView
    film: SpanningFilm | None = None


# --- what a video can be asked to be --------------------------------------------------------------------


def _checked_size(size: Any) -> tuple[int, int]:
    if not (isinstance(size, Sequence) and len(size) == 2 and all(map(_is_whole, size))):
        raise InputError(f"{size!r} is no size: give two whole numbers of pixels, such as (640, 480).")
    width, height = map(int, size)
    if not (min(width, height) >= _LEAST_PIXELS and max(width, height) <= _MOST_PIXELS):
        raise InputError(
            f"frames cannot have {width} × {height}: a side has {_LEAST_PIXELS} to {_MOST_PIXELS} pixels."
        )
    return width, height


def _checked_rate(frames_per_second: Any) -> float:
    if not isinstance(frames_per_second, int | float) or not 0.1 <= frames_per_second <= 1000:
        raise InputError(
            f"{frames_per_second!r} frames a second cannot be played: give a number from 0.1 to 1000."
        )
    return float(frames_per_second)


def _checked_format(format: Format) -> Format:
    if format not in get_args(Format):
        raise InputError(f"there is no format {format!r}: {', '.join(get_args(Format))}.")
    if format == "mp4" and not can_encode_mp4():
        raise InputError(f"MP4 needs an encoder that is not here: {INSTALL}, or make a GIF.")
    return format


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


# --- a video of a run -----------------------------------------------------------------------------------

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
    wanted, colours, format = checked_kind(kind), theme_named(theme), _format_of(path)
    size, fps = _checked_size(size), _checked_rate(fps)
    maker = FilmMaker(size, fps, format, keyframe_every=max(2, round(fps * _KEYFRAME_SECONDS)))
    canvas = Canvas(maker.size, colours)
    with nullcontext(run) if isinstance(run, SavedRun) else open_run(run) as saved:
        series, records = _find_series(saved, name, wanted, first_step, last_step)
        view = SeriesView(series, wanted, _whole_shape_of(saved, series))

        def moments(num_before: int) -> Iterator[Moment]:
            for index, record in enumerate(records):
                moment = _moment_of(record, view, canvas)
                if isinstance(moment, Moment):
                    yield moment
                if progress is not None:
                    progress(num_before + index + 1, 2 * len(records))

        # Once through all of it for the scales, so that they are the same in the first frame as in the last.
        if not sum(1 for _ in moments(0)):
            why = _moment_of(records[-1], view, canvas)
            raise InputError(f"no record of {series!r} can be shown: {why}")
        film = maker.open(_target(path, format))
        try:
            for moment in moments(len(records)):
                film.append(frame_of(moment, canvas), moment.step)
        finally:  # also where somebody interrupts it: what is there is to play
            film.finish()
    num_left_out = len(records) - film.num_frames
    return MadeVideo(path=film.path, series=series, num_frames=film.num_frames, num_left_out=num_left_out)


def _format_of(path: str | os.PathLike[str]) -> Format:
    format = _ENDINGS.get(Path(os.fsdecode(path)).suffix.lower())
    if format is None:
        raise InputError(
            f"a video cannot be written as {os.fsdecode(path)!r}: give .mp4, .gif, or a folder for PNG files."
        )
    return _checked_format(format)


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


# --- which series, and which of its records -------------------------------------------------------------

_RANK: Final = re.compile(r"rank (\d+)/(.+)")
_LISTED: Final = 12
_Source = Literal["tensor", "histogram", "image"]


def _find_series(
    run: SavedRun, name: str, kind: WantedKind, first: int | None, last: int | None
) -> tuple[str, list[Any]]:
    """The one series that is meant, and its records. InputError lists those that it could be."""
    sources: dict[_Source, Callable[[str], Sequence[Any]]] = {"tensor": run.tensors}
    if kind in ("auto", "histogram"):
        sources |= {"histogram": run.histograms, "image": run.images}
    names = list(dict.fromkeys(series for each in sources for series in run.names(each)))
    found = [series for series in names if series == name] or [
        series for series in names if name and series.startswith((f"{name}.", f"{name}/"))
    ]
    if len(found) != 1:
        raise InputError(_not_one(name, found, names, kind))
    held = [records(found[0]) for each, records in sources.items() if found[0] in run.names(each)]
    # Of the tensors and the histograms of a name, as a histogram whichever there are more of.
    records = max(held, key=len) if kind == "histogram" else held[0]
    low, high = (-math.inf if first is None else first), (math.inf if last is None else last)
    kept = [record for record in records if low <= record.step <= high]
    if not kept:
        steps = f"its steps go from {records[0].step} to {records[-1].step}" if records else "it is empty"
        raise InputError(f"there are no records between steps {first} and {last}: {steps}.")
    return found[0], kept


def _not_one(name: str, found: list[str], names: list[str], kind: WantedKind) -> str:
    """Why no single series is meant."""
    shown = ", ".join(map(repr, (found or names)[:_LISTED])) + (
        ", …" if len(found or names) > _LISTED else ""
    )
    if found:
        return f"{name!r} could be any of {shown}: name one of them."
    of_kind = "" if kind == "auto" else f" for kind {kind!r}"
    if not names:
        return (
            f"this run has nothing that a video could be made of{of_kind}: run.log_tensor keeps tensors, and "
            "so does tl.watch(model, run=…, tensors='sample')."
        )
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {shown}."
    return f"this run has no tensor, histogram or image {name!r}{of_kind}: {hint}"


def _whole_shape_of(run: SavedRun, series: str) -> tuple[int, ...] | None:
    """The shape of a tensor that was watched, of which a run may keep but a piece."""
    rank, name = 0, series
    if (match := _RANK.fullmatch(series)) is not None:
        rank, name = int(match[1]), match[2]
    watched = run.watched
    if rank in watched.ranks:
        watched = watched.of_rank(rank)
    shapes = [row.shape for row in watched.rows if row.name == name and row.shape is not None]
    return tuple(shapes[0]) if shapes else None


# --- what is to be seen of a record ---------------------------------------------------------------------

_PICTURE_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
_MOST_PICTURE_PIXELS: Final = 1 << 26


def _moment_of(record: Any, view: SeriesView, canvas: Canvas) -> Moment | TorcheerError:
    """The error where the record is gone or cannot be shown."""
    try:
        if isinstance(record, TensorRecord):
            return view.of_tensor(record.step, record.array, canvas)
        if isinstance(record, ImageRecord):
            return view.of_image(record.step, decode_picture(record.raw))
        return view.of_histogram(record)
    except TorcheerError as error:
        return error


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
