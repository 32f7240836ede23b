"""Videos of tensors while they change: callbacks for the child of an inspector, or for any loop."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, Literal, get_args

from torcheer.errors import InputError, TorcheerError
from torcheer.run import RunWarning, WarningsOnce
from torcheer.video.canvas import Canvas, theme_named
from torcheer.video.charts import WantedKind
from torcheer.video.film_files import INSTALL, FilmMaker, Format, SpanningFilm, can_encode_mp4, stem_of
from torcheer.video.frame import SeriesView, frame_of

_MOST_PIXELS: Final = 4096  # of a side
_LEAST_PIXELS: Final = 16


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
        self.size = checked_size(size)
        self.fps = checked_rate(fps)
        self.max_frames = _checked_count(max_frames)
        self.folder = _checked_folder(folder)
        self.format: Format = _usable_format(format)
        self.theme = theme
        theme_named(theme)
        self._begin()

    def _begin(self) -> None:
        self._recordings: dict[tuple[WantedKind, str], _Recording] = {}
        self._canvas: Canvas | None = None
        self._maker: FilmMaker | None = None
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

    def flush(self, *_: Any) -> None:
        """Put the last tensors in, and make every file easy to play. More may come after it."""
        for recording in self._recordings.values():
            self._guarded(recording.view.name, recording.flush)

    @property
    def files(self) -> dict[str, Path]:
        """The files (for png, folders) that there are, by name."""
        return {each.label: each.film.path for each in self._recordings.values() if each.film is not None}

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
        self._guarded(str(name), lambda: self._recording(kind, str(name)).add(int(step), tensor))

    def _recording(self, kind: WantedKind, name: str) -> _Recording:
        found = self._recordings.get((kind, name))
        if found is None:
            if self._maker is None:
                self._maker = FilmMaker(self.size, self.fps, self.format)
            if self._canvas is None:
                self._canvas = Canvas(self._maker.size, theme_named(self.theme))
            found = _Recording(self, kind, name, self._canvas, self._maker)
            self._recordings[kind, name] = found
        return found

    def _guarded(self, name: str, act: Callable[[], None]) -> None:
        """Whatever happens, the process goes on."""
        try:
            act()
        except TorcheerError as error:
            self._teller.tell(
                f"{name!r} cannot be recorded: {error}", cause="recording", series=name, num_dropped=1
            )
        except OSError as error:
            where = f"{self.folder} ({error.strerror or error})"
            message = (
                f"videos cannot be written to {where}: frames are left out until they can. It is said once."
            )
            self._teller.tell(message, cause=f"disk {error.errno}", num_dropped=1)
        except Exception as error:
            message = f"a frame of {name!r} failed: {type(error).__name__}: {error}. The recording goes on."
            self._teller.tell(message, cause=type(error).__name__, series=name, num_dropped=1)


class _Recording:
    """One video of a recorder."""

    def __init__(
        self, owner: DataRecorder, kind: WantedKind, name: str, canvas: Canvas, maker: FilmMaker
    ) -> None:
        self.label = name if kind == "auto" else f"{name} ({kind})"
        self.view = SeriesView(name, kind)
        self.film: SpanningFilm | None = None
        self._canvas, self._maker = canvas, maker
        self._folder, self._max_frames = owner.folder, owner.max_frames
        self._stem = stem_of(name) if kind == "auto" else f"{stem_of(name)}.{kind}"

    def add(self, step: int, tensor: Any) -> None:
        moment = self.view.of_tensor(step, tensor, self._canvas)
        if self.film is None:
            # Not before there is something to show: a name of which nothing can be shown has no file.
            self.film = SpanningFilm(self._maker.claim(self._folder, self._stem), self._max_frames)
        self.film.add(step, lambda: frame_of(moment, self._canvas))

    def flush(self) -> None:
        if self.film is not None:
            self.film.finish()


# --- what a video can be asked to be ---------------------------------------------------------------------


def checked_size(size: Any) -> tuple[int, int]:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise InputError(f"{size!r} is no size: give (width, height), such as (640, 480).") from None
    if not all(_is_whole(side) for side in (width, height)):
        raise InputError(f"a size is two whole numbers of pixels, such as (640, 480), and not {size!r}.")
    if not (min(width, height) >= _LEAST_PIXELS and max(width, height) <= _MOST_PIXELS):
        raise InputError(
            f"frames cannot have {width} × {height}: a side has {_LEAST_PIXELS} to {_MOST_PIXELS} pixels."
        )
    return int(width), int(height)


def checked_rate(frames_per_second: Any) -> float:
    is_number = isinstance(frames_per_second, Real) and not isinstance(frames_per_second, bool)
    if not is_number or not (math.isfinite(frames_per_second) and 0.1 <= frames_per_second <= 1000):
        raise InputError(
            f"{frames_per_second!r} frames a second cannot be played: give a number from 0.1 to 1000."
        )
    return float(frames_per_second)


def _checked_count(max_frames: Any) -> int:
    if not _is_whole(max_frames) or max_frames < 1:
        raise InputError(
            f"max_frames is how many frames a video has at most, 1 or more, and not {max_frames!r}."
        )
    return int(max_frames)


def _checked_folder(folder: Any) -> Path:
    try:
        path = Path(os.fsdecode(folder)).absolute()  # the child may work elsewhere
    except (TypeError, ValueError):
        raise InputError(f"{folder!r} is no folder: give a path such as 'output'.") from None
    if path.exists() and not path.is_dir():
        raise InputError(f"{str(path)!r} is a file: videos go into a folder, name another.")
    return path


def _usable_format(format: Any) -> Format:
    if format is None:
        if can_encode_mp4():
            return "mp4"
        warnings.warn(
            f"there is no encoder for MP4 here: videos become GIF, which takes more room. {INSTALL}",
            RunWarning,
            stacklevel=3,
        )
        return "gif"
    if format not in get_args(Format):
        raise InputError(f"there is no format {format!r}: {', '.join(get_args(Format))}.")
    if format == "mp4" and not can_encode_mp4():
        raise InputError(f"MP4 needs an encoder that is not here: {INSTALL}, or say format='gif'.")
    checked: Format = format
    return checked


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
