"""A video of a series of a run, made afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from torcheer.errors import InputError, TorcheerError
from torcheer.inspector.recording.charts.kinds import checked_kind
from torcheer.inspector.recording.colours import theme_named
from torcheer.inspector.recording.films.film import Film
from torcheer.inspector.recording.films.h264 import INSTALL, is_installed
from torcheer.inspector.recording.films.opening import FilmMaker, Format
from torcheer.inspector.recording.finding import find_series, whole_shape_of
from torcheer.inspector.recording.moving import Moving, frame_of
from torcheer.inspector.recording.savedmoments import moment_of
from torcheer.inspector.recording.settings import checked_rate, checked_size
from torcheer.inspector.recording.sheet import Sheet
from torcheer.run.reading.face import SavedRun, open_run
from torcheer.tensorfile.files import target_of

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
    sheet = Sheet(maker.size, colours)
    with nullcontext(run) if isinstance(run, SavedRun) else open_run(run) as saved:
        series, found = find_series(saved, name, wanted)
        records = _between(found, first_step, last_step)
        moving = Moving(series, wanted, whole_shape_of(saved, series))
        # Once through all of it for the scales, so that they are the same in the first frame as in the last.
        for index, _ in enumerate(_moments(records, moving, sheet)):
            _tell(progress, index + 1, records)
        film = maker.open(_target(path, format))
        try:
            for index, moment in enumerate(_moments(records, moving, sheet)):
                if moment is not None:
                    film.append(frame_of(moment, sheet), moment.heading.step)
                _tell(progress, len(records) + index + 1, records)
        finally:
            _finish(film)
        if not film.num_frames:
            raise InputError(f"no record of {series!r} can be shown: {_why_none(records, moving, sheet)}")
    num_left_out = len(records) - film.num_frames
    return MadeVideo(path=film.path, series=series, num_frames=film.num_frames, num_left_out=num_left_out)


def _tell(progress: Progress | None, num_done: int, records: Sequence[Any]) -> None:
    if progress is not None:
        progress(num_done, 2 * len(records))


# --- which records -------------------------------------------------------------------------------------


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
    if format == "mp4" and not is_installed():
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


# --- frames --------------------------------------------------------------------------------------------


def _moments(records: Sequence[Any], moving: Moving, sheet: Sheet) -> Iterator[Any]:
    """What is to be seen of each record; None where it is gone, or cannot be shown."""
    for record in records:
        try:
            yield moment_of(record, moving, sheet)
        except TorcheerError:
            yield None


def _why_none(records: Sequence[Any], moving: Moving, sheet: Sheet) -> str:
    try:
        moment_of(records[-1], moving, sheet)
    except TorcheerError as error:
        return str(error)
    return "try again."


def _finish(film: Film) -> None:
    """Also where somebody interrupts it: what is there is to play; a film without frames is nothing."""
    if film.num_frames:
        film.finish()
    elif film.path.is_file():
        film.path.unlink()
