"""Videos of tensors while they change: callbacks for the child of an inspector, or for any loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from torcheer.errors import TorcheerError
from torcheer.inspector.recording.charts.kinds import WantedKind
from torcheer.inspector.recording.colours import theme_named
from torcheer.inspector.recording.films.filenames import stem_of
from torcheer.inspector.recording.films.opening import FilmMaker, Format
from torcheer.inspector.recording.films.spanning import SpanningFilm
from torcheer.inspector.recording.moving import Moving, frame_of
from torcheer.inspector.recording.settings import (
    checked_count,
    checked_folder,
    checked_rate,
    checked_size,
    usable_format,
)
from torcheer.inspector.recording.sheet import Sheet
from torcheer.run.telling import Teller


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
        self.max_frames = checked_count(max_frames)
        self.folder = checked_folder(folder)
        self.format: Format = usable_format(format)
        self.theme = theme
        theme_named(theme)
        self._begin()

    def _begin(self) -> None:
        self._films: dict[tuple[WantedKind, str], _Recorded] = {}
        self._sheet: Sheet | None = None
        self._maker: FilmMaker | None = None
        self._teller = Teller()

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
        for recorded in self._films.values():
            self._guarded(recorded.moving.name, recorded.flush)

    @property
    def files(self) -> dict[str, Path]:
        """The files (for png, folders) that there are, by name."""
        return {
            recorded.label: recorded.path for recorded in self._films.values() if recorded.path is not None
        }

    @property
    def num_dropped(self) -> int:
        """How many frames could not be written."""
        return self._teller.num_dropped

    def __repr__(self) -> str:
        width, height = self.size
        return (
            f"<DataRecorder {str(self.folder)!r}: {len(self._films)} videos as {self.format}, "
            f"{width} × {height}, {self.fps:g} frames a second>"
        )

    def _record(self, kind: WantedKind, name: str, step: int, tensor: Any) -> None:
        self._guarded(str(name), lambda: self._film(kind, str(name)).add(int(step), tensor))

    def _film(self, kind: WantedKind, name: str) -> _Recorded:
        found = self._films.get((kind, name))
        if found is None:
            if self._maker is None:
                self._maker = FilmMaker(self.size, self.fps, self.format)
                self._sheet = Sheet(self._maker.size, theme_named(self.theme))
            assert self._sheet is not None
            found = _Recorded(self, kind, name, self._sheet, self._maker)
            self._films[kind, name] = found
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


class _Recorded:
    """One video of a recorder."""

    def __init__(
        self, owner: DataRecorder, kind: WantedKind, name: str, sheet: Sheet, maker: FilmMaker
    ) -> None:
        self.label = name if kind == "auto" else f"{name} ({kind})"
        self.moving = Moving(name, kind)
        self._sheet = sheet
        stem = stem_of(name) if kind == "auto" else f"{stem_of(name)}.{kind}"
        self._maker, self._folder, self._stem = maker, owner.folder, stem
        self._max_frames = owner.max_frames
        self._film: SpanningFilm | None = None

    @property
    def path(self) -> Path | None:
        return None if self._film is None else self._film.path

    def add(self, step: int, tensor: Any) -> None:
        moment = self.moving.of_tensor(step, tensor, self._sheet)
        if self._film is None:
            # Not before there is something to show: a name of which nothing can be shown has no file.
            self._film = SpanningFilm(self._maker.claim(self._folder, self._stem), self._max_frames)
        self._film.add(step, lambda: frame_of(moment, self._sheet))

    def flush(self) -> None:
        if self._film is not None:
            self._film.finish()
