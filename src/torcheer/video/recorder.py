"""Videos of tensors: `DataRecorder` makes them while a training runs, `make_video` afterwards from a run."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import io
import itertools
import math
import os
import re
import struct
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy
from PIL import GifImagePlugin, Image

from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.run import ImageRecord, RunWarning, SavedRun, TensorRecord, WarningsOnce, open_run
from torcheer.tensorfile import target_of
from torcheer.video.charts import KINDS, Canvas, Moment, SeriesView, frame_of

# --- Films: frames as an MP4, a GIF or a folder of PNG files, which can be looked at after each frame -
#
# Whoever is killed while writing leaves all frames before. While it grows, an MP4 is fragmented: a head
# without frames, then each frame with a few bytes that say all about it, so it plays up to wherever it
# ends. When it is done it is written once more with one table of all frames, which every player can seek
# in.
#
# A film has a `path` and `num_frames`. `append` adds a frame, `keep` leaves only those at some places,
# and `finish` makes it easy to play; more frames may follow. What fails raises OSError and leaves the
# frames that were there.


Format = Literal["mp4", "gif", "png"]
INSTALL: Final = "pip install 'torcheer[video]'"


class FilmMaker:
    """Begins films of one size and format. Those of MP4 share an encoder: hundreds would fill the memory."""

    def __init__(
        self, size: tuple[int, int], frames_per_second: float, format: Format, keyframe_every: int = 1
    ) -> None:
        # H.264 has colours for four pixels at a time: an odd size becomes one more.
        self.size = (size[0] + size[0] % 2, size[1] + size[1] % 2) if format == "mp4" else size
        self._frames_per_second = frames_per_second
        self._format = format
        self._keyframe_every = keyframe_every

    @cached_property
    def _encoder(self) -> Encoder:
        return Encoder(self.size, self._frames_per_second, self._keyframe_every)

    def claim(self, folder: Path, stem: str) -> Film:
        """A film in a folder, under a name that nothing there has yet: `a.mp4`, or `a-2.mp4`."""
        if self._format == "mp4":
            self._encoder  # noqa: B018  # what is missing is said before there is an empty file
        folder.mkdir(parents=True, exist_ok=True)
        ending = "" if self._format == "png" else f".{self._format}"
        path, number = folder / f"{stem}{ending}", 1
        while True:
            try:
                path.mkdir() if self._format == "png" else path.touch(exist_ok=False)
                return self.open(path)
            except FileExistsError:
                number += 1
                path = folder / f"{stem}-{number}{ending}"

    def open(self, path: Path) -> Film:
        """A film at a path; a file that is there is written over."""
        if self._format == "mp4":
            return Mp4Film(path, self._encoder)
        if self._format == "gif":
            return GifFilm(path, self.size, self._frames_per_second)
        return PngFilm(path)


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_MOST_LETTERS: Final = 120


def stem_of(name: str) -> str:
    """The name itself where every file system takes it; otherwise its like, with a mark of its own."""
    plain = _UNSAFE.sub("_", name)[:_MOST_LETTERS].strip(".")
    if plain == name and plain:
        return plain
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{mark}" if plain else mark


def _write_from(path: Path, start: int, data: bytes) -> None:
    """One write over what stands there; what fails is cut off again.

    The file is open only meanwhile: there may be many.
    """
    with path.open("r+b", buffering=0) as file:
        file.seek(start)
        try:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
        except OSError:
            file.truncate(start)
            raise


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A path to write to; what is there takes the place of the file once it is whole."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


_QUANTISER: Final = 18  # hardly to be told from the original
_BT709: Final = 1
_GROWING: Final = "frag_every_frame+empty_moov+default_base_moof+skip_trailer"
_FINISHED: Final = "faststart"


def can_encode_mp4() -> bool:
    return importlib.util.find_spec("av") is not None


class Encoder:
    """H.264 by PyAV: frames of one size, each out as soon as it is in.

    With `keyframe_every=1` every frame stands for itself. One encoder can then serve many films, and frames
    can be taken out of a film later on. What the standard asks of such frames is that two in a row differ
    in a mark, which the encoder sets to 0 and 1 in turn: `mark` is the one that a film needs next.
    """

    def __init__(self, size: tuple[int, int], frames_per_second: float, keyframe_every: int = 1) -> None:
        try:
            import av
            from av.video.reformatter import VideoReformatter

            self.av: Any = av
            # Nothing is ever written by this container: it holds the encoder, and describes its stream.
            self._container: Any = av.open(io.BytesIO(), "w", format="mp4", options={"movflags": _GROWING})
            self.rate = Fraction(frames_per_second).limit_denominator(1000)
            self._stream: Any = self._container.add_stream("libx264", rate=self.rate)
        except (ImportError, ValueError) as error:
            raise InputError(f"MP4 needs an encoder that is not here ({error}): {INSTALL}.") from None
        self._reformatter: Any = VideoReformatter()
        self._num_encoded = 0
        self._are_all_keys = keyframe_every == 1
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        context = self._stream.codec_context
        context.gop_size = keyframe_every
        context.max_b_frames = 0
        context.thread_count = 1  # beside a training, cores are not ours to take
        context.colorspace = context.color_primaries = context.color_trc = _BT709
        context.options = {
            "preset": "ultrafast" if self._are_all_keys else "veryfast",
            "tune": "zerolatency",
            "qp": str(_QUANTISER),
            "forced-idr": "1",
            # Each frame says where it begins, and none is a key by chance.
            "x264-params": f"keyint={keyframe_every}:min-keyint={min(keyframe_every, 2)}:scenecut=0:aud=1",
        }
        self._container.start_encoding()
        self.head = self._fragment(None, 0)

    def fragment(self, image: Image.Image, index: int, mark: int) -> bytes:
        """A frame as the bytes that follow the head and the frames before it."""
        if self._are_all_keys and mark != self._num_encoded % 2:
            self._encoded(Image.new("RGB", image.size))  # a frame for nobody, and cheap
        return self._fragment(self._encoded(image), index)[len(self.head) :]

    def _encoded(self, image: Image.Image) -> Any:
        frame = self.av.VideoFrame.from_ndarray(numpy.asarray(image), format="rgb24")
        frame = self._reformatter.reformat(
            frame, format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG", interpolation="AREA"
        )
        frame.pts, frame.time_base = self._num_encoded, 1 / self.rate
        self._num_encoded += 1
        (packet,) = self._stream.encode(frame)
        return packet

    def _fragment(self, packet: Any, index: int) -> bytes:
        """A file of one frame or none. One that stayed open would keep the last frame to itself."""
        options = {
            "movflags": f"{_GROWING}+frag_discont",  # it begins at the time of its frame
            "avoid_negative_ts": "disabled",  # and is not moved to zero
            "fragment_index": str(index + 1),
        }
        file = io.BytesIO()
        with self.av.open(file, "w", format="mp4", options=options) as container:
            stream = container.add_stream_from_template(self._stream)
            container.start_encoding()
            if packet is not None:
                self.mux(container, stream, packet, index)
        return file.getvalue()

    def mux(self, container: Any, stream: Any, packet: Any, index: int) -> None:
        packet.stream, packet.time_base = stream, 1 / self.rate
        packet.pts = packet.dts = index
        packet.duration = 1
        container.mux(packet)


class Mp4Film:
    """Frames of one encoder, which other films may share."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        self.path = path
        self.num_frames = 0
        self._encoder = encoder
        self._num_bytes = len(encoder.head)
        self._is_finished = False
        path.write_bytes(encoder.head)

    def append(self, image: Image.Image, step: int) -> None:
        if self._is_finished:
            self.keep(range(self.num_frames))
        data = self._encoder.fragment(image, self.num_frames, mark=self.num_frames % 2)
        _write_from(self.path, self._num_bytes, data)
        self._num_bytes += len(data)
        self.num_frames += 1

    def keep(self, places: Sequence[int]) -> None:
        """Only frames that stand for themselves can be taken out.

        Their marks stay right where places are even and odd in turn, as every third is.
        """
        self._rewrite(places, _GROWING)
        self._is_finished = False

    def finish(self) -> None:
        if not self._is_finished and self.num_frames:
            self._rewrite(range(self.num_frames), _FINISHED)
            self._is_finished = True

    def _rewrite(self, places: Sequence[int], movflags: str) -> None:
        """Some of the frames, as they were encoded, in a new file."""
        av, options = self._encoder.av, {"movflags": movflags}
        with (
            _replacing(self.path) as partial,
            av.open(str(self.path)) as old,
            av.open(str(partial), "w", format="mp4", options=options) as new,
        ):
            stream = new.add_stream_from_template(old.streams.video[0])
            new.start_encoding()
            packets = (packet for packet in old.demux(video=0) if packet.size)
            kept = (packet for place, packet in enumerate(packets) if place in places)
            for index, packet in enumerate(kept):
                self._encoder.mux(new, stream, packet, index)
        self.num_frames = len(places)
        self._num_bytes = self.path.stat().st_size


_GIF_LOOP: Final = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"  # played over and over
_GIF_TAIL: Final = b";"


class GifFilm:
    """Each frame is whole, with 256 colours of its own; the tail is written over with each of them."""

    def __init__(self, path: Path, size: tuple[int, int], frames_per_second: float) -> None:
        self.path = path
        # Browsers slow down what is faster than two hundredths of a second.
        self._milliseconds = 10 * min(0xFFFF, max(2, round(100 / frames_per_second)))
        screen = struct.pack("<HHBBB", *size, 0x70, 0, 0)  # no colours for all frames
        self._head = b"GIF89a" + screen + _GIF_LOOP
        self._ends = [len(self._head)]
        path.write_bytes(self._head + _GIF_TAIL)

    @property
    def num_frames(self) -> int:
        return len(self._ends) - 1

    def append(self, image: Image.Image, step: int) -> None:
        options: dict[str, Any] = {"duration": self._milliseconds, "disposal": 1, "include_color_table": True}
        data = b"".join(GifImagePlugin.getdata(image.quantize(kmeans=1), **options))
        _write_from(self.path, self._ends[-1], data + _GIF_TAIL)
        self._ends.append(self._ends[-1] + len(data))

    def keep(self, places: Sequence[int]) -> None:
        whole = self.path.read_bytes()
        frames = [whole[self._ends[place] : self._ends[place + 1]] for place in places]
        with _replacing(self.path) as partial:
            partial.write_bytes(self._head + b"".join(frames) + _GIF_TAIL)
        self._ends = list(itertools.accumulate(map(len, frames), initial=len(self._head)))

    def finish(self) -> None:
        """It is whole at any time."""


class PngFilm:
    """A file for each frame, named by its step, in a folder of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: list[Path] = []

    @property
    def num_frames(self) -> int:
        return len(self._files)

    def append(self, image: Image.Image, step: int) -> None:
        file, number = self.path / f"step-{step:08d}.png", 1
        while file.exists():  # one step may have several frames
            number += 1
            file = self.path / f"step-{step:08d}-{number}.png"
        with _replacing(file) as partial:
            image.save(partial, "PNG")
        self._files.append(file)

    def keep(self, places: Sequence[int]) -> None:
        kept = [self._files[place] for place in places]
        for file in set(self._files) - set(kept):
            file.unlink(missing_ok=True)
        self._files = kept

    def finish(self) -> None:
        """There is nothing to finish."""


_THIN_BY: Final = 3  # an odd number: see the marks of `Encoder`

Film = Mp4Film | GifFilm | PngFilm
Draw = Callable[[], Image.Image]


class SpanningFilm:
    """A film of at most so many frames that spans all of a training, however long that becomes.

    It takes every frame, then every third, every ninth…; those taken before are thinned alike. The last one
    given, if it was not taken, waits until the film is finished.
    """

    def __init__(self, film: Film, max_frames: int) -> None:
        self.path, self._film, self._max_frames = film.path, film, max_frames
        self._stride = 1
        self._num_given = 0
        self._waiting: tuple[int, Draw] | None = None

    def add(self, step: int, draw: Draw) -> None:
        """Whatever is not drawn now may be drawn later: `draw` must not need anything that changes."""
        place = self._num_given
        self._num_given += 1
        if place % self._stride == 0 and self._film.num_frames >= self._max_frames:
            self._film.keep(range(0, self._film.num_frames, _THIN_BY))
            self._stride *= _THIN_BY
        if place % self._stride or self._film.num_frames >= self._max_frames:
            self._waiting = step, draw
        else:
            self._waiting = None
            self._film.append(draw(), step)

    def finish(self) -> None:
        """Put the last one in, in the place of another where the film is full."""
        if self._waiting is not None:
            step, draw = self._waiting
            if self._film.num_frames >= self._max_frames:
                self._film.keep(range(self._max_frames - 1))
            self._film.append(draw(), step)
            self._waiting = None
        self._film.finish()


_LEAST_PIXELS, _MOST_PIXELS = 16, 4096  # of a side


class DataRecorder:
    """A video of each tensor that it is given, in a folder.

    `tensor_plot2D` and `tensor_histogram` are callbacks of (name, step, tensor), `flush` is one for the end:

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
        self._begin()

    def _begin(self) -> None:
        self._views: dict[tuple[str, str], SeriesView] = {}  # by kind and name
        self._films: dict[tuple[str, str], SpanningFilm] = {}
        self._maker = FilmMaker(self.size, self.fps, self.format)
        self._canvas = Canvas(self._maker.size)
        self._teller = WarningsOnce()

    def __getstate__(self) -> dict[str, Any]:
        # What it has begun stays with the process that began it.
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def tensor_plot2D(self, name: str, step: int, tensor: Any) -> None:  # noqa: N802  # its users know it so
        """A frame of what suits the shape: a picture, tiles, or a histogram."""
        self._guarded(str(name), lambda: self._add("auto", str(name), int(step), tensor))

    def tensor_histogram(self, name: str, step: int, tensor: Any) -> None:
        """A frame of how the values are spread, whatever the shape."""
        self._guarded(str(name), lambda: self._add("histogram", str(name), int(step), tensor))

    def flush(self, *_args: Any) -> None:
        """Put the last tensors in, and make every file easy to play. More may come after it."""
        for (_, name), film in self._films.items():
            self._guarded(name, film.finish)

    @property
    def files(self) -> dict[str, Path]:
        """The files (for png, folders) that there are, by name."""
        return {
            name if kind == "auto" else f"{name} ({kind})": film.path
            for (kind, name), film in self._films.items()
        }

    @property
    def num_dropped(self) -> int:
        """How many frames could not be written."""
        return self._teller.num_dropped

    def __repr__(self) -> str:
        width, height = self.size
        return (
            f"<DataRecorder {str(self.folder)!r}: {len(self._views)} videos as {self.format}, "
            f"{width} × {height}, {self.fps:g} frames a second>"
        )

    def _add(self, kind: str, name: str, step: int, tensor: Any) -> None:
        view = self._views.setdefault((kind, name), SeriesView(name, kind))
        moment = view.of_tensor(step, tensor, self._canvas)
        if (kind, name) not in self._films:
            # Not before there is something to show: a name of which nothing can be shown has no file.
            stem = stem_of(name) if kind == "auto" else f"{stem_of(name)}.{kind}"
            film = self._maker.claim(self.folder, stem)
            self._films[kind, name] = SpanningFilm(film, self.max_frames)
        self._films[kind, name].add(step, lambda: frame_of(moment, self._canvas))

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
    progress: Progress | None = None,
) -> MadeVideo:
    """Make a video of a tensor, histogram or image of a run over its steps.

    `name` is that of a series, `features.0.weight`, or a layer that has only one. The ending of `path`
    chooses the format: `.mp4` (needs `pip install torcheer[video]`), `.gif`, and none for a folder of PNG
    files. `kind` is auto, picture, tiles or histogram. The scales are the same in all frames.
    Interrupted, it leaves a video of the frames so far.
    """
    if kind not in KINDS:
        raise InputError(f"there is no kind {kind!r}: {', '.join(KINDS)}.")
    format = _ENDINGS.get(Path(os.fsdecode(path)).suffix.lower())
    if format is None:
        raise InputError(
            f"a video cannot be written as {os.fsdecode(path)!r}: give .mp4, .gif, or a folder for PNG files."
        )
    format, size, fps = _checked_format(format), _checked_size(size), _checked_rate(fps)
    maker = FilmMaker(size, fps, format, keyframe_every=max(2, round(fps)))  # one a second
    canvas = Canvas(maker.size)
    with nullcontext(run) if isinstance(run, SavedRun) else open_run(run) as saved:
        series, records = _find_series(saved, name, kind, first_step, last_step)
        view = SeriesView(series, kind, _whole_shape_of(saved, series))

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


_RANK: Final = re.compile(r"rank (\d+)/(.+)")
_LISTED: Final = 12


def _find_series(
    run: SavedRun, name: str, kind: str, first: int | None, last: int | None
) -> tuple[str, list[Any]]:
    """The one series that is meant, and its records. InputError lists those that it could be."""
    sources: dict[Any, Callable[[str], Sequence[Any]]] = {"tensor": run.tensors}
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


def _not_one(name: str, found: list[str], names: list[str], kind: str) -> str:
    """Why no single series is meant."""
    shown = ", ".join(map(repr, (found or names)[:_LISTED])) + ", …" * (len(found or names) > _LISTED)
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
    match = _RANK.fullmatch(series)
    rank, name = (int(match[1]), match[2]) if match else (0, series)
    watched = run.watched.of_rank(rank) if rank in run.watched.ranks else run.watched
    shapes = [row.shape for row in watched.rows if row.name == name and row.shape is not None]
    return tuple(shapes[0]) if shapes else None


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
