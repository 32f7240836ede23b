"""`DataRecorder`, as the child of an inspector uses it."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import av
import numpy
import pytest
import torch

from torcheer.errors import InputError
from torcheer.run import RunWarning
from torcheer.video import DataRecorder


def frames(path: Path) -> list[Any]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_the_calls_of_the_seed_make_a_video_of_each_name(tmp_path: Path) -> None:
    dr = DataRecorder((640, 480), 20.0, 100, str(tmp_path / "output"))
    on_run, on_closing = pickle.loads(pickle.dumps((dr.tensor_plot2D, dr.flush)))
    tensors = {
        "classifier0_.weight": torch.randn(16, 9),
        "mask": torch.randn(1, 12, 12),
        "features.0.weight": torch.randn(8, 3, 3, 3),
        "classifier0_.bias": torch.randn(16),
    }

    for step in range(7):
        for name, tensor in tensors.items():
            on_run(name, step, tensor + step)
    on_closing()

    for name in tensors:
        path = tmp_path / "output" / f"{name}.mp4"
        seen = frames(path)
        assert len(seen) == 7
        assert seen[0].shape == (480, 640, 3)
        with av.open(str(path)) as container:
            assert container.streams.video[0].average_rate == 20
    assert not dr.files  # all of it happened in the copy


def test_a_video_ends_with_the_last_tensor_though_it_is_full(tmp_path: Path) -> None:
    recorder = DataRecorder((320, 240), 20.0, 10, tmp_path)
    for step in range(40):
        recorder.tensor_plot2D("w", step, torch.full((2, 2), 1.0 if step == 39 else 0.0))
    recorder.flush()

    seen = frames(recorder.files["w"])

    assert 3 <= len(seen) <= 10
    body = seen[-1][70:200, 60:150].astype(int)
    assert (body.sum(axis=-1) < 300).any()  # the dark end of the ramp
    assert not (seen[-2][70:200, 60:150].astype(int).sum(axis=-1) < 300).any()


def test_a_tensor_may_change_after_it_was_given(tmp_path: Path) -> None:
    recorders = [DataRecorder((320, 240), 20.0, 3, tmp_path / name) for name in ("changed", "left")]
    values = torch.randn(8, 8)
    for recorder in recorders:
        for step in range(5):
            given = values.clone()
            recorder.tensor_plot2D("w", step, given)
            if recorder is recorders[0]:
                given.fill_(100.0)
        recorder.flush()

    changed, left = (frames(recorder.files["w"]) for recorder in recorders)

    assert all((one == other).all() for one, other in zip(changed, left, strict=True))


def test_histograms_on_request_have_videos_of_their_own(tmp_path: Path) -> None:
    recorder = DataRecorder((320, 240), 20.0, 10, tmp_path)
    for step in range(3):
        recorder.tensor_plot2D("w", step, torch.randn(20, 6))
        recorder.tensor_histogram("w", step, torch.randn(20, 6))
    recorder.flush()

    assert {path.name for path in tmp_path.iterdir()} == {"w.mp4", "w.histogram.mp4"}
    assert set(recorder.files) == {"w", "w (histogram)"}


def test_an_odd_size_becomes_even_for_mp4_and_stays_for_gif(tmp_path: Path) -> None:
    for format in ("mp4", "gif"):
        recorder = DataRecorder((101, 75), 20.0, 10, tmp_path, format=format)  # type: ignore[arg-type]
        recorder.tensor_plot2D("w", 0, torch.randn(3, 3))
        recorder.flush()

    assert frames(tmp_path / "w.mp4")[0].shape == (76, 102, 3)
    assert frames(tmp_path / "w.gif")[0].shape == (75, 101, 3)


def test_what_cannot_be_shown_is_told_once_and_the_rest_goes_on(tmp_path: Path) -> None:
    recorder = DataRecorder((320, 240), 20.0, 10, tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(5):
            recorder.tensor_plot2D("words", step, numpy.array(["a"]))
            recorder.tensor_plot2D("w", step, torch.randn(3, 3))
    recorder.flush()

    assert [warning.category for warning in told] == [RunWarning]
    assert "'words'" in str(told[0].message)
    assert recorder.num_dropped == 5
    assert len(frames(recorder.files["w"])) == 5
    assert list(tmp_path.iterdir()) == [tmp_path / "w.mp4"]


def test_a_folder_that_vanishes_is_told_and_nothing_is_raised(tmp_path: Path) -> None:
    recorder = DataRecorder((320, 240), 20.0, 10, tmp_path / "videos")
    recorder.tensor_plot2D("w", 0, torch.randn(3, 3))
    (tmp_path / "videos" / "w.mp4").unlink()

    with pytest.warns(RunWarning, match="cannot be written"):
        recorder.tensor_plot2D("w", 1, torch.randn(3, 3))
    recorder.flush()


def test_a_copy_of_one_that_has_begun_begins_anew(tmp_path: Path) -> None:
    recorder = DataRecorder((320, 240), 20.0, 10, tmp_path)
    recorder.tensor_plot2D("w", 0, torch.randn(3, 3))

    copy = pickle.loads(pickle.dumps(recorder))
    copy.tensor_plot2D("w", 1, torch.randn(3, 3))
    copy.flush()

    assert copy.files["w"].name == "w-2.mp4"
    assert len(frames(copy.files["w"])) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": 640}, "size"),
        ({"size": (640.0, 480)}, "whole numbers"),
        ({"size": (0, 480)}, "16"),
        ({"size": (100_000, 480)}, "4096"),
        ({"fps": 0}, "frames a second"),
        ({"fps": float("nan")}, "frames a second"),
        ({"fps": "fast"}, "frames a second"),
        ({"max_frames": 0}, "max_frames"),
        ({"max_frames": 2.5}, "max_frames"),
        ({"folder": __file__}, "file"),
        ({"format": "avi"}, "mp4, gif, png"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"size": (64, 64), "fps": 20, "max_frames": 10, "folder": tmp_path, **change}

    with pytest.raises(InputError, match=words):
        DataRecorder(**arguments)


def test_without_the_library_it_becomes_gif_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.warns(RunWarning, match=r"torcheer\[video\]") as told:
        recorder = DataRecorder((64, 64), 20.0, 10, tmp_path)
    recorder.tensor_plot2D("w", 0, torch.randn(3, 3))
    recorder.flush()

    assert told[0].filename == __file__
    assert recorder.files["w"] == tmp_path / "w.gif"
    with pytest.raises(InputError, match=r"torcheer\[video\]"):
        DataRecorder((64, 64), 20.0, 10, tmp_path, format="mp4")


def test_no_torch_is_needed_to_record_arrays(tmp_path: Path) -> None:
    program = (
        "import sys, numpy\n"
        "from torcheer.video import DataRecorder, make_video\n"
        "recorder = DataRecorder((64, 64), 20.0, 10, sys.argv[1])\n"
        "recorder.tensor_plot2D('w', 0, numpy.eye(3))\n"
        "recorder.flush()\n"
        "assert 'torch' not in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=120)

    assert len(frames(tmp_path / "w.mp4")) == 1


def test_nothing_is_said_where_nothing_is_wrong(tmp_path: Path) -> None:
    recorder = DataRecorder((64, 64), 20.0, 4, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(30):
            for scale in (0.0, 1e-30, 1.0, 1e30, float("nan"), float("inf")):
                recorder.tensor_plot2D("w", step, torch.randn(3, 3) * scale)
                recorder.tensor_plot2D("b", step, torch.randn(30) * scale)
        recorder.flush()

    assert recorder.num_dropped == 0
