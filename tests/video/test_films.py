"""Films: they decode to what was put in, span what they should, and survive whoever writes them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import av
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from tests.copying import Copy, run_copy
from tests.many import examples
from torcheer.video.recorder import Film, FilmMaker, Format, SpanningFilm, stem_of

SIZE = (96, 64)
ENDINGS: dict[Format, str] = {"mp4": ".mp4", "gif": ".gif", "png": ""}


def shade(number: int) -> Any:
    """A frame that says which one it is by its grey."""
    return Pillow.new("RGB", SIZE, (20 + 5 * number % 200,) * 3)


def decoded(path: Path) -> list[Any]:
    """The frames of a film as red, green and blue."""
    if path.is_dir():
        # A writer that was killed may leave a hidden file that is not whole.
        return [numpy.asarray(Pillow.open(file).convert("RGB")) for file in sorted(path.glob("step-*.png"))]
    if path.suffix == ".gif":
        with Pillow.open(path) as film:
            frames = []
            for index in range(getattr(film, "n_frames", 1)):
                film.seek(index)
                frames.append(numpy.asarray(film.convert("RGB")))
            return frames
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def numbers(path: Path) -> list[int]:
    """Which frames there are, by their greys."""
    return [round((float(frame.mean()) - 20) / 5) for frame in decoded(path)]


def film_at(folder: Path, format: Format, fps: float = 20.0) -> Film:
    return FilmMaker(SIZE, fps, format).claim(folder, "film")


@pytest.mark.parametrize("format", ENDINGS)
def test_a_film_holds_its_frames_after_each_of_them(tmp_path: Path, format: Format) -> None:
    film = film_at(tmp_path, format)
    for number in range(5):
        film.append(shade(number), number)
        assert numbers(film.path) == list(range(number + 1))
    film.finish()

    assert film.path == tmp_path / f"film{ENDINGS[format]}"
    assert numbers(film.path) == [0, 1, 2, 3, 4]
    assert decoded(film.path)[0].shape == (SIZE[1], SIZE[0], 3)


@pytest.mark.parametrize("format", ENDINGS)
def test_frames_can_be_taken_out_and_more_put_in_after_the_end(tmp_path: Path, format: Format) -> None:
    film = film_at(tmp_path, format)
    for number in range(9):
        film.append(shade(number), number)
    film.finish()

    film.keep(range(0, 9, 3))
    assert numbers(film.path) == [0, 3, 6]
    film.append(shade(20), 20)
    assert numbers(film.path) == [0, 3, 6, 20]
    film.finish()

    assert numbers(film.path) == [0, 3, 6, 20]


@pytest.mark.parametrize("is_finished", [True, False])
@pytest.mark.parametrize("fps", [20.0, 29.97, 1.0, 0.5])
def test_an_mp4_is_played_at_its_speed(tmp_path: Path, fps: float, is_finished: bool) -> None:
    film = film_at(tmp_path, "mp4", fps)
    for number in range(6):
        film.append(shade(number), number)
    if is_finished:
        film.finish()

    with av.open(str(film.path)) as container:
        stream = container.streams.video[0]
        times = [float(frame.pts * frame.time_base) for frame in container.decode(stream)]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert float(stream.average_rate) == pytest.approx(fps, rel=1e-3)
    assert times == pytest.approx([number / fps for number in range(6)], rel=1e-3)


def test_a_finished_mp4_says_how_long_it_is_and_where_its_frames_are(tmp_path: Path) -> None:
    film = film_at(tmp_path, "mp4")
    for number in range(40):
        film.append(shade(number), number)
    film.finish()

    data = film.path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # it can be played while it is loaded
    assert b"moof" not in data
    with av.open(str(film.path)) as container:
        assert container.duration == 2_000_000
        container.seek(1_000_000)
        frame = next(container.decode(video=0))
        assert frame.pts * frame.time_base == Fraction(1)


def test_colours_survive_the_encoder(tmp_path: Path) -> None:
    generator = numpy.random.default_rng(0)
    blocks = generator.integers(0, 256, (4, 6, 3), dtype=numpy.uint8)
    picture = blocks.repeat(16, axis=0).repeat(16, axis=1)
    film = film_at(tmp_path, "mp4")
    film.append(Pillow.fromarray(picture), 0)

    seen = decoded(film.path)[0][8::16, 8::16].astype(int)

    assert numpy.abs(seen - blocks).max() <= 8


def _marks(path: Path) -> list[int]:
    """The idr_pic_id of each frame, read from its slice header bit by bit."""
    with av.open(str(path)) as container:
        setup = bytes(container.streams.video[0].codec_context.extradata)
        packets = [bytes(packet) for packet in container.demux(video=0) if packet.size]
    length = int.from_bytes(setup[6:8], "big")
    sequence = _Bits(setup[8 + 4 : 8 + length])  # after the header, the profile and the level
    sequence.exponential()
    frame_bits = sequence.exponential() + 4
    found = []
    for packet in packets:
        at = 0
        while packet[at + 4] & 0x1F != 5:
            at += 4 + int.from_bytes(packet[at : at + 4], "big")
        header = _Bits(packet[at + 5 : at + 25])
        for _ in range(3):
            header.exponential()
        header.take(frame_bits)
        found.append(header.exponential())
    return found


class _Bits:
    def __init__(self, data: bytes) -> None:
        self._bits = "".join(f"{byte:08b}" for byte in data.replace(b"\x00\x00\x03", b"\x00\x00"))

    def take(self, count: int) -> int:
        taken, self._bits = self._bits[:count], self._bits[count:]
        return int(taken or "0", 2)

    def exponential(self) -> int:
        zeros = self._bits.index("1")
        return self.take(2 * zeros + 1) - 1


def test_neighbouring_frames_of_films_that_share_an_encoder_differ_in_their_marks(tmp_path: Path) -> None:
    maker = FilmMaker(SIZE, 20.0, "mp4")
    films = [maker.claim(tmp_path, name) for name in "abc"]
    for number in range(18):
        for film in films[: 1 + number % 3]:
            film.append(shade(number), number)

    films[0].keep(range(0, films[0].num_frames, 3))
    films[0].append(shade(1), 1)

    for film in films:
        marks = _marks(film.path)
        assert len(marks) == film.num_frames
        assert marks == [index % 2 for index in range(len(marks))]


def test_later_frames_may_lean_on_earlier_ones_where_none_is_taken_out(tmp_path: Path) -> None:
    film = FilmMaker(SIZE, 20.0, "mp4", keyframe_every=10).claim(tmp_path, "film")
    for number in range(35):
        film.append(shade(number), number)
    assert numbers(film.path) == list(range(35))
    film.finish()

    assert numbers(film.path) == list(range(35))
    with av.open(str(film.path)) as container:
        keys = [packet.is_keyframe for packet in container.demux(video=0) if packet.size]
    assert [index for index, is_key in enumerate(keys) if is_key] == [0, 10, 20, 30]


# --- GIF ------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(1, 90), st.integers(1, 90), st.integers(1, 256), st.integers(1, 30), st.integers(0, 2**32 - 1)
)
def test_a_gif_of_256_colours_is_exact(width: int, height: int, num: int, run: int, seed: int) -> None:
    generator = numpy.random.default_rng(seed)
    # Colours that differ in their upper bits, in stretches of some length.
    colours = generator.permutation(1 << 15)[:num]
    places = generator.integers(0, num, width * height // run + 1).repeat(run)[: width * height]
    parts = numpy.stack([colours >> 10, colours >> 5 & 31, colours & 31], axis=-1).astype(numpy.uint8) << 3
    picture = parts[places].reshape(height, width, 3)

    with TemporaryDirectory() as folder:
        film = FilmMaker((width, height), 20.0, "gif").claim(Path(folder), "film")
        film.append(Pillow.fromarray(picture), 0)
        seen = decoded(film.path)[0]

    assert (seen == picture).all()


def test_a_gif_of_more_colours_is_near(tmp_path: Path) -> None:
    picture = numpy.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=numpy.uint8)
    film = FilmMaker((60, 60), 20.0, "gif").claim(tmp_path, "film")
    film.append(Pillow.fromarray(picture), 0)

    errors = numpy.abs(decoded(film.path)[0].astype(int) - picture)
    assert errors.mean() < 16
    assert errors.max() < 51


def test_a_gif_plays_at_its_speed_for_ever(tmp_path: Path) -> None:
    film = film_at(tmp_path, "gif", 10.0)
    film.append(shade(0), 0)
    film.append(shade(1), 1)

    with Pillow.open(film.path) as seen:
        assert seen.info["duration"] == 100
        assert seen.info["loop"] == 0


def test_a_gif_that_is_cut_off_shows_the_frames_before(tmp_path: Path) -> None:
    film = film_at(tmp_path, "gif")
    for number in range(4):
        film.append(shade(number), number)
    whole = film.path.read_bytes()
    cut = tmp_path / "cut.gif"
    cut.write_bytes(whole[: whole.rindex(b"\x21\xf9\x04")])  # in the middle of a write, without a tail

    assert numbers(cut) == [0, 1, 2]


# --- all of a training ------------------------------------------------------------------------------------


class Listed:
    """A film in memory."""

    path = Path("listed")

    def __init__(self) -> None:
        self.frames: list[int] = []

    @property
    def num_frames(self) -> int:
        return len(self.frames)

    def append(self, pixels: Any, step: int) -> None:
        self.frames.append(step)

    def keep(self, places: Any) -> None:
        self.frames = [self.frames[place] for place in places]

    def finish(self) -> None:
        pass


@given(st.integers(1, 40), st.integers(1, 600), st.sets(st.integers(0, 600)))
def test_a_film_spans_all_that_was_given_and_is_never_too_long(
    most: int, num: int, flushes: set[int]
) -> None:
    film = Listed()
    spanning = SpanningFilm(cast(Any, film), most)
    for step in range(num):
        spanning.add(step, lambda: Pillow.new("RGB", (1, 1)))
        assert film.num_frames <= most
        if step in flushes:
            spanning.finish()
            assert film.frames[-1] == step
    spanning.finish()

    assert film.frames[-1] == num - 1
    assert film.num_frames <= most
    assert film.frames == sorted(set(film.frames))
    if num <= most:
        assert film.frames == list(range(num))
    if most >= 2:
        assert film.frames[0] == 0
    if most >= 4 and num > most and not flushes:
        # Evenly, all but the way to the last.
        gaps = set(numpy.diff(film.frames[:-1]).tolist())
        assert len(gaps) <= 1
        assert film.num_frames >= most // 3


# --- whoever writes them ----------------------------------------------------------------------------------

_WRITER = """
import sys
from pathlib import Path
from PIL import Image
from torcheer.video.recorder import FilmMaker
film = FilmMaker((96, 64), 20.0, sys.argv[2]).claim(Path(sys.argv[1]), "film")
number = 0
while True:
    film.append(Image.new("RGB", (96, 64), (20 + 5 * number % 200,) * 3), number)
    number += 1
    print(number, flush=True)
"""


@pytest.mark.parametrize("format", ENDINGS)
def test_a_film_whose_writer_is_killed_has_all_frames_that_were_written(
    tmp_path: Path, format: Format
) -> None:
    writer = Copy(["-c", _WRITER, str(tmp_path), format], cwd=tmp_path)
    count = 0
    while count < 25:
        count = int(writer.stdout.readline())
    writer.kill()
    written = [count, *map(int, writer.communicate()[0].split())][-1]

    seen = numbers(tmp_path / f"film{ENDINGS[format]}")

    # One more may have been written and not told of.
    assert written <= len(seen) <= written + 1
    assert seen == [number % 40 for number in range(len(seen))]


_FULL = """
import resource, signal, sys, warnings
import numpy
from torcheer.video import DataRecorder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder = DataRecorder((96, 64), 20.0, 100, sys.argv[1], format=sys.argv[2])
values = numpy.random.default_rng(0).normal(0, 1, (40, 40))
for step in range(3):
    recorder.tensor_plot2D("w", step, values)
    recorder.tensor_plot2D("v", step, values)
file = recorder.files["w"]
size = max(path.stat().st_size for path in file.iterdir()) if file.is_dir() else file.stat().st_size
most = size // 2 if file.is_dir() else size + 200
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
for step in range(3, 9):
    recorder.tensor_plot2D("w", step, values)
    recorder.tensor_plot2D("v", step, values)
recorder.flush()
print(recorder.num_dropped)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
recorder.tensor_plot2D("w", 9, values)
recorder.tensor_plot2D("v", 9, values)
recorder.flush()
"""


@pytest.mark.parametrize("format", ENDINGS)
def test_a_full_disk_is_told_once_and_what_is_there_stays(tmp_path: Path, format: Format) -> None:
    done = run_copy(["-c", _FULL, str(tmp_path), format], cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 12
    assert done.stderr.count("RunWarning") == 1
    assert "File too large" in done.stderr
    for name in "wv":
        assert len(decoded(tmp_path / f"{name}{ENDINGS[format]}")) == 4
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".partial")]


# --- names ------------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=200), unique=True, min_size=2, max_size=20))
def test_two_names_never_share_a_file_and_none_leaves_its_folder(names: list[str]) -> None:
    stems = [stem_of(name) for name in names]

    assert len(set(stems)) == len(stems)
    for stem in stems:
        assert stem
        assert not stem.startswith(".")
        assert len(stem) < 200
        assert set(stem) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", ".", "", "a\0b", "x" * 999])
def test_names_with_tricks_are_only_names(tmp_path: Path, name: str) -> None:
    film = FilmMaker(SIZE, 20.0, "gif").claim(tmp_path, stem_of(name))
    film.append(shade(0), 0)

    assert film.path.parent == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == [film.path.name]


def test_a_plain_name_is_its_file() -> None:
    assert stem_of("features.0.weight") == "features.0.weight"
    assert stem_of("features.0/weight") != stem_of("features.0.weight")


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"precious")

    paths = [film_at(tmp_path, "mp4").path.name for _ in range(2)]

    assert paths == ["film-2.mp4", "film-3.mp4"]
    assert (tmp_path / "film.mp4").read_bytes() == b"precious"
