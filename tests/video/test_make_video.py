"""`torcheer video`, as a shell calls it, and `make_video`."""

from __future__ import annotations

import io
import signal
import struct
import subprocess
import sys
import time
import tracemalloc
import warnings
import zlib
from pathlib import Path
from typing import Any

import av
import numpy
import pytest
import torch
import typer
from PIL import Image as Pillow
from typer.testing import CliRunner, Result

import torcheer as tl
from torcheer.cli import video
from torcheer.errors import FileFormatError, InputError
from torcheer.video import make_video
from torcheer.video.recorder import decode_picture

NUM_STEPS = 12


def torcheer_video(*arguments: str | Path) -> Result:
    app = typer.Typer()
    app.command()(video)
    return CliRunner().invoke(app, list(map(str, arguments)))


def refusal(*arguments: str | Path) -> str:
    result = torcheer_video(*arguments)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def frames(path: Path) -> list[Any]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def pictures(folder: Path) -> list[Any]:
    found = []
    for path in sorted(folder.iterdir()):
        with Pillow.open(path) as picture:
            found.append(numpy.asarray(picture.convert("RGB")))
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    torch.manual_seed(0)
    with tl.Run(folder) as writer:
        for step in range(0, 10 * NUM_STEPS, 10):
            writer.log(step, loss=1.0)
            writer.log_tensor(step, "features.0.weight", torch.randn(8, 3, 5, 5))
            writer.log_tensor(step, "features.0.Act", torch.randn(4, 8, 12, 12))
            writer.log_tensor(step, "classifier.weight", torch.randn(10, 30) * (step + 1))
            writer.log_histogram(step, "classifier.bias", torch.randn(1000))
            writer.log_image(step, "sample", torch.full((3, 8, 8), step / 200))
    return folder


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("features.0.weight", ()),
        ("features.0.Act", ("--kind", "histogram")),
        ("classifier.weight", ("--kind", "picture")),
        ("classifier.bias", ()),
        ("sample", ()),
    ],
)
def test_every_series_becomes_a_video(run: Path, tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    path = tmp_path / "out.mp4"

    result = torcheer_video(run, name, "-o", path, "--size", "320x240", "--fps", "10", *options)

    assert result.exit_code == 0, result.output
    assert f"{name}, {NUM_STEPS} frames" in result.output
    seen = frames(path)
    assert len(seen) == NUM_STEPS
    assert seen[0].shape == (240, 320, 3)
    assert (seen[0] != seen[-1]).any()
    with av.open(str(path)) as container:
        assert container.streams.video[0].average_rate == 10


def test_steps_can_be_chosen_and_the_scale_is_that_of_all_of_them(run: Path, tmp_path: Path) -> None:
    made = make_video(run, "classifier.weight", tmp_path / "some", first_step=20, last_step=50)

    first, *_, last = pictures(made.path)
    assert made.num_frames == 4
    assert (first[62:440, 560:] == last[62:440, 560:]).all()  # the numbers of the scale
    assert (first[62:440, :500] != last[62:440, :500]).any()


def test_a_layer_with_one_series_is_enough(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as writer:
        writer.log_tensor(0, "layers.3.weight", torch.randn(3, 3))

    made = make_video(tmp_path / "run", "layers.3", tmp_path / "out.gif", size=(64, 64))

    assert made.series == "layers.3.weight"


def test_a_layer_with_several_lists_them(run: Path, tmp_path: Path) -> None:
    assert "'features.0.weight', 'features.0.Act'" in refusal(run, "features.0", "-o", tmp_path / "out.mp4")
    assert not (tmp_path / "out.mp4").exists()


def test_a_folder_gets_png_files_named_by_step(run: Path, tmp_path: Path) -> None:
    result = torcheer_video(run, "features.0.weight", "-o", tmp_path / "frames", "--size", "101x77")

    assert result.exit_code == 0, result.output
    files = sorted(path.name for path in (tmp_path / "frames").iterdir())
    assert files == [f"step-{step:08d}.png" for step in range(0, 10 * NUM_STEPS, 10)]
    assert pictures(tmp_path / "frames")[0].shape == (77, 101, 3)
    assert "has files in it" in refusal(run, "features.0.weight", "-o", tmp_path / "frames")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("features.0.wieght",), "did you mean 'features.0.weight'"),
        (("nothing like it",), "it has 'features.0.weight'"),
        (("loss",), "no tensor, histogram or image 'loss'"),
        (("classifier.bias", "--kind", "tiles"), "'classifier.bias' for kind 'tiles'"),
        (("sample", "--size", "big"), "640x480"),
        (("sample", "--size", "1x1"), "16"),
        (("sample", "--fps", "0"), "frames a second"),
        (("sample", "--kind", "cube"), "auto, picture, tiles, histogram"),
        (("sample", "--from", "500"), "from 0 to 110"),
        (("sample", "-o", "out.avi"), ".mp4, .gif"),
        (("sample", "-o", "no/such/folder/out.mp4"), "no such folder"),
    ],
)
def test_what_cannot_be_is_said(run: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in refusal(run, *arguments)


def test_no_run_and_a_run_without_tensors_are_said(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "empty") as writer:
        writer.log(0, loss=1.0)

    assert "there is no folder" in refusal(tmp_path / "nowhere", "weight")
    assert "nothing that a video" in refusal(tmp_path / "empty", "weight", "-o", tmp_path / "out.mp4")


def test_without_the_library_mp4_is_refused_before_anything_is_written(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.video.recorder.can_encode_mp4", lambda: False)

    assert "pip install 'torcheer[video]'" in refusal(run, "sample", "-o", tmp_path / "out.mp4")
    assert not list(tmp_path.iterdir())


def test_progress_goes_from_nothing_to_all(run: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []

    make_video(
        run,
        "sample",
        tmp_path / "out.gif",
        size=(64, 64),
        progress=lambda done, total: told.append((done, total)),
    )

    assert told == [(done, 2 * NUM_STEPS) for done in range(1, 2 * NUM_STEPS + 1)]


@pytest.mark.parametrize("name", ["out.mp4", "out.gif"])
def test_interrupted_it_leaves_a_video_of_what_there_is(run: Path, tmp_path: Path, name: str) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == NUM_STEPS + 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_video(run, "sample", tmp_path / name, size=(64, 64), progress=interrupt)

    assert len(frames(tmp_path / name)) == 5
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_control_c_in_a_shell_ends_it_calmly(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as writer:
        for step in range(3000):
            writer.log_tensor(step, "w", torch.randn(20, 20))
    path = tmp_path / "out.mp4"
    process = subprocess.Popen(
        [sys.executable, "-m", "torcheer", "video", str(tmp_path / "run"), "w", "-o", str(path)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and not (path.exists() and path.stat().st_size > 50_000):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()

    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "holds the frames so far" in said
    assert 1 <= len(frames(path)) < 3000


def test_a_picture_that_cannot_be_read_is_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tl.Run(tmp_path / "run") as writer:
        for step in range(4):
            writer.log_image(step, "sample", torch.rand(3, 4, 4))
    from torcheer.run.read.saved_records import SavedRecord

    plain = SavedRecord.raw.fget
    assert plain is not None
    monkeypatch.setattr(
        SavedRecord, "raw", property(lambda record: b"no picture" if record.step == 2 else plain(record))
    )

    made = make_video(tmp_path / "run", "sample", tmp_path / "out.gif", size=(64, 64))

    assert (made.num_frames, made.num_left_out) == (3, 1)


# --- pictures of files --------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_of_any_usual_format_is_read(format: str) -> None:
    file = io.BytesIO()
    Pillow.new("RGB", (16, 12), (200, 100, 50)).save(file, format)

    pixels = numpy.asarray(decode_picture(file.getvalue()).convert("RGB"))

    assert pixels.shape == (12, 16, 3)
    assert numpy.abs(pixels[6, 8].astype(int) - [200, 100, 50]).max() < 6


@pytest.mark.parametrize("cut", [0, 10, 40, 60])
def test_a_picture_that_is_cut_short_is_refused(cut: int) -> None:
    file = io.BytesIO()
    Pillow.effect_noise((20, 20), 50).save(file, "PNG")

    with pytest.raises(FileFormatError):
        decode_picture(file.getvalue()[:cut])


@pytest.mark.parametrize("side", [9_000, 12_000, 1_000_000])
def test_a_picture_that_says_it_is_huge_is_refused_before_it_is_unpacked(side: int) -> None:
    file = io.BytesIO()
    Pillow.new("L", (1, 1)).save(file, "PNG")
    header = b"IHDR" + struct.pack(">II", side, side) + file.getvalue()[24:29]
    data = file.getvalue()[:12] + header + struct.pack(">I", zlib.crc32(header)) + file.getvalue()[33:]

    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FileFormatError, match=r"pixels"):
            decode_picture(data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 1 << 20
