"""Films: frames as an MP4, a GIF or a folder of PNG files, which can be looked at after each frame.

Whoever is killed while writing leaves all frames before. While it grows, an MP4 is fragmented: a head without
frames, then each frame with a few bytes that say all about it, so it plays up to wherever it ends. When it is
done it is written once more with one table of all frames, which every player can seek in.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import numpy
from PIL import GifImagePlugin, Image

from torcheer.errors import InputError

Format = Literal["mp4", "gif", "png"]
INSTALL: Final = "pip install 'torcheer[video]'"


class Film(Protocol):
    """What holds frames. Whatever fails raises OSError, and leaves the frames that were there."""

    path: Path

    @property
    def num_frames(self) -> int: ...

    def append(self, image: Image.Image, step: int) -> None: ...

    def keep(self, places: Sequence[int]) -> None:
        """Only the frames at these places, in their order."""

    def finish(self) -> None:
        """Make it as easy to play as can be. More frames may still come."""


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


# --- names ----------------------------------------------------------------------------------------------

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_MOST_LETTERS: Final = 120


def stem_of(name: str) -> str:
    """The name itself where every file system takes it; otherwise its like, with a mark of its own."""
    plain = _UNSAFE.sub("_", name)[:_MOST_LETTERS].strip(".")
    if plain == name and plain:
        return plain
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{mark}" if plain else mark


# --- bytes of a file that grows -------------------------------------------------------------------------


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


# --- MP4 ------------------------------------------------------------------------------------------------

_QUANTISER: Final = 18  # hardly to be told from the original
_BT709: Final = 1
_GROWING: Final = "frag_every_frame+empty_moov+default_base_moof+skip_trailer"
_FINISHED: Final = "faststart"


def can_encode_mp4() -> bool:
    return importlib.util.find_spec("av") is not None


@contextmanager
def _os_errors(av: Any) -> Iterator[None]:
    """Whatever PyAV raises, as OSError."""
    try:
        yield
    except av.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise OSError(f"the encoder failed: {error}") from error


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
        with _os_errors(self.av):
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
            _os_errors(av),
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


# --- GIF and PNG ----------------------------------------------------------------------------------------

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
        self._ends = [len(self._head)]
        for frame in frames:
            self._ends.append(self._ends[-1] + len(frame))

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


# --- a film of a whole training -------------------------------------------------------------------------

_THIN_BY: Final = 3  # an odd number: see the marks of `Encoder`

Draw = Callable[[], Image.Image]


class SpanningFilm:
    """A film of at most so many frames that spans all of a training, however long that becomes.

    It takes every frame, then every third, every ninth…; those taken before are thinned alike. The last one
    given, if it was not taken, waits until the film is finished.
    """

    def __init__(self, film: Film, max_frames: int) -> None:
        self._film, self._max_frames = film, max_frames
        self._stride = 1
        self._num_given = 0
        self._waiting: tuple[int, Draw] | None = None

    @property
    def path(self) -> Path:
        return self._film.path

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
