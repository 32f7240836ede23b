"""What a program gets from a run: what was logged, exactly, and clear words for what is not there."""

from __future__ import annotations

import csv
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

import torcheer as tl
from tests.run.handmade_part import HandmadePart
from torcheer.errors import FileFormatError, InputError
from torcheer.run.read import saved_run
from torcheer.run.read.saved_run import SavedRun, Seen
from torcheer.run.read.scalars import sparkline
from torcheer.run.records import EmbeddingHead, TensorHead


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with something of every kind."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    pixels = numpy.arange(48, dtype=numpy.uint8).reshape(4, 4, 3)
    with tl.Run(folder, comment="all kinds", tags=("a", "b"), total_steps=3) as run:
        run.log_hparams({"lr": 0.1, "optimizer": "sgd"})
        run.log_hparams({"lr": 0.2}, {"best": 0.9})
        for step in range(3):
            run.log(step, {"train/loss": 1 / (step + 1), "train/acc": step / 2})
            run.log_tensor(step, "w", torch.full((2, 3), step + 0.5, dtype=torch.bfloat16))
            run.log_text(step, "note", f"step {step}")
        run.log(7, {"train/loss": float("nan")})
        run.log_histogram(0, "spread", numpy.arange(10.0), bins=[0.0, 5.0, 10.0])
        run.log_image(0, "picture", pixels, dataformats="HWC")
        run.log_video(0, "film", numpy.zeros((3, 3, 2, 2), dtype=numpy.uint8))
        run.log_audio(0, "sound", numpy.zeros(100, dtype=numpy.float32), sample_rate=8000)
        run.log_embedding(0, "points", numpy.eye(3, 4, dtype=numpy.float32), metadata=["x", "y", "z"])
        run.log_pr_curve(0, "curve", [0, 1, 1], [0.1, 0.6, 0.9], num_thresholds=5)
        run.log_confusion(0, "mixed", [[5, 1], [2, 6]], labels=["cat", "dog"])
        run.log_pass(
            0, "pass", tl.log_forward_pass(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), torch.ones(1, 3))
        )
    return folder


@pytest.fixture
def run(folder: Path) -> SavedRun:
    return tl.open_run(folder)


def test_scalars_have_steps_times_and_values(run: SavedRun) -> None:
    loss = run.scalars("train/loss")

    assert loss.steps.tolist() == [0, 1, 2, 7]
    assert loss.values[:3].tolist() == [1.0, 0.5, 1 / 3]
    assert numpy.asarray(loss, dtype=numpy.float32).dtype == numpy.float32
    assert numpy.array_equal(numpy.asarray(loss), loss.values, equal_nan=True)
    assert (numpy.diff(loss.times) >= 0).all()
    assert len(loss) == 4
    assert repr(loss) == "<Scalars 'train/loss': 4 points, steps 0–7, last nan █▃▁·>"
    with pytest.raises(ValueError, match="read-only"):
        loss.values[0] = 2.0


def test_scalars_become_data_frames(run: SavedRun) -> None:
    frame = run.scalars("train/acc").to_pandas()
    wide = run.scalars_frame()

    assert frame["step"].tolist() == [0, 1, 2]
    assert frame["value"].tolist() == [0.0, 0.5, 1.0]
    assert str(frame["time"].dt.tz) == "UTC"
    assert list(wide.columns) == ["train/loss", "train/acc"]
    assert wide.index.tolist() == [0, 1, 2, 7]
    assert wide["train/acc"].isna().tolist() == [False, False, False, True]
    assert list(run.scalars_frame(["train/acc"]).index) == [0, 1, 2]


def test_without_pandas_it_is_said_how_to_get_it(run: SavedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    for ask in (run.scalars("train/acc").to_pandas, run.scalars_frame):
        with pytest.raises(InputError, match=r"pip install torcheer\[pandas\]"):
            ask()


def test_names_are_given_by_kind(run: SavedRun) -> None:
    assert run.names("scalar") == ["train/loss", "train/acc"]
    assert run.names("tensor") == ["w"]
    assert set(run.names()) >= {"train/loss", "w", "note", "mixed"}
    assert list(run.scalars()) == ["train/loss", "train/acc"]
    with pytest.raises(InputError, match="there is no kind 'scalars' in a run: scalar, tensor"):
        run.names("scalars")  # type: ignore[arg-type]


def test_a_name_that_is_not_there_is_answered_with_the_nearest(run: SavedRun) -> None:
    for ask, name, words in (
        (run.scalars, "trainloss", "did you mean 'train/loss'"),
        (run.scalars, "w", r"'w' is no scalar of this run, but a tensor: run.tensors\('w'\)"),
        (run.scalars, "§", "it has 'train/loss', 'train/acc'"),
        (run.images, "§", "it has 'picture'"),
        (run.scalars_frame, ["trainloss"], "did you mean"),
    ):
        with pytest.raises(InputError, match=words):
            ask(name)  # type: ignore[operator]


def test_a_tensor_is_read_when_it_is_asked_for(run: SavedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = run.tensors("w")
    reader = run.reader()
    with monkeypatch.context() as patched:
        patched.setattr(reader, "data", lambda _: pytest.fail("its bytes were read"))
        assert [tensor.step for tensor in tensors] == [0, 1, 2]
        assert (tensors[1].shape, tensors[1].dtype, tensors[1].num_bytes) == ((2, 3), "bfloat16", 12)
        assert len(tensors[1:]) == 2
        assert tensors[1:][0].step == 1
        assert repr(tensors[-1]) == "<TensorRecord 'w' at step 2: 2×3 bfloat16>"

    assert tensors[2].array.tolist() == [[2.5] * 3] * 2
    assert tensors[2].array.dtype == numpy.float32
    assert torch.equal(tensors.at(1).to_torch(), torch.full((2, 3), 1.5, dtype=torch.bfloat16))
    assert tensors.steps.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="no record at step 5: steps 0, 1, 2"):
        tensors.at(5)


@pytest.mark.parametrize(
    "dtype",
    "bool uint8 int8 int16 uint16 int32 int64 uint64 float16 bfloat16 float32 float64 complex64 complex128 "
    "float8_e4m3fn float8_e5m2".split(),
)
def test_a_tensor_of_any_type_comes_back_exactly(tmp_path: Path, dtype: str) -> None:
    kind = getattr(torch, dtype)
    for tensor in (
        torch.arange(6).reshape(2, 3).to(kind),
        torch.zeros(0, 3).to(kind),
        torch.tensor(1).to(kind),
    ):
        with tl.Run(tmp_path) as run:
            run.log_tensor(0, "w", tensor)

        read = tl.open_run(tmp_path).tensors("w")[-1]

        back = read.to_torch()
        assert back.dtype == tensor.dtype
        assert back.shape == tensor.shape
        assert torch.equal(back.view(torch.uint8), tensor.view(torch.uint8)) if tensor.dim() else True
        assert read.array.shape == tuple(tensor.shape)
        assert numpy.array_equal(numpy.asarray(read).astype(complex), tensor.to(torch.complex128).numpy())


def test_every_other_kind_comes_back_as_what_it_is(run: SavedRun) -> None:
    spread, curve, mixed = run.histograms("spread")[0], run.pr_curves("curve")[0], run.confusions("mixed")[0]
    points, seen = run.embeddings("points")[0], run.passes("pass")[0]

    assert (spread.edges.tolist(), spread.counts.tolist()) == ([0, 5, 10], [5, 5])
    assert run.images("picture")[0].raw.startswith(b"\x89PNG")
    assert (run.images("picture")[0].width, run.images("picture")[0].height) == (4, 4)
    assert "image/png" in run.images("picture")[0]._repr_mimebundle_()
    assert [frame[1:4] for frame in run.videos("film")[0].frames] == [b"PNG"] * 3
    assert run.audios("sound")[0].raw.startswith(b"RIFF")
    assert run.audios("sound")[0].sample_rate == 8000
    assert [str(text) for text in run.texts("note")] == ["step 0", "step 1", "step 2"]
    assert points.matrix.tolist() == numpy.eye(3, 4).tolist()
    assert list(points.labels.values()) == [["x", "y", "z"]]
    assert points.sprites == b""
    assert curve.thresholds.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert curve.true_positives.tolist() == [2, 2, 2, 1, 0]
    assert curve.recall[0] == 1
    assert (mixed.labels, mixed.matrix.tolist()) == (["cat", "dog"], [[5, 1], [2, 6]])
    assert seen.document.model_name == "Sequential"
    assert len(seen.figures["mean"]) == len(seen.document.ops)
    assert run.hparams() == {"lr": 0.2, "optimizer": "sgd"}


def test_the_status_says_how_it_went(run: SavedRun) -> None:
    status = run.status()

    assert (status.state, status.last_step, status.total_steps) == ("finished", 7, 3)
    assert (status.comment, status.tags, status.source) == ("all kinds", ("a", "b"), "torcheer")
    assert (status.num_points, status.note, status.num_dropped) == (7, "", 0)
    assert status.started <= status.updated
    assert "finished, last step 7" in repr(run)


def test_a_run_that_is_being_written_can_be_read_by_its_writer(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log(0, loss=1.0)
        assert run.scalars("loss").values.tolist() == [1.0]
        run.log(1, loss=0.5)
        assert run.scalars("loss").values.tolist() == [1.0, 0.5]
        assert tl.open_run(tmp_path).state == "running"
    assert tl.open_run(tmp_path).state == "finished"


def test_csv_gives_the_same_numbers_again(run: SavedRun, tmp_path: Path) -> None:
    run.to_csv(tmp_path / "long.csv")
    run.to_csv(tmp_path / "wide.csv", wide=True)

    rows = list(csv.DictReader(io.StringIO((tmp_path / "long.csv").read_text())))
    loss = run.scalars("train/loss")
    found = [row for row in rows if row["name"] == "train/loss"]
    assert [float(row["time"]) for row in found] == loss.times.tolist()
    assert [float(row["value"]) for row in found][:3] == loss.values[:3].tolist()
    assert (tmp_path / "wide.csv").read_text() == (
        "step,train/loss,train/acc\n0,1.0,0.0\n1,0.5,0.5\n2,0.3333333333333333,1.0\n7,nan,\n"
    )


def test_what_is_no_run_is_said_with_what_is(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, words in (
        (tmp_path / "gone", "there is no folder"),
        (tmp_path / "empty", "no files of torcheer or TensorBoard"),
        (folder / "rank-0.sqlite", "is a file: a run is the folder that it lies in"),
        (folder.parent, f"there are 1 in it, {folder}"),
    ):
        with pytest.raises(InputError, match=words):
            tl.open_run(path)


def test_a_record_that_was_thinned_meanwhile_says_so(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    numbers = [part.add_text("note", f"{step}", step) for step in range(3)]
    texts = tl.open_run(tmp_path).texts("note")
    part.thin(numbers[1])

    assert texts[0].text == "0"
    with pytest.raises(InputError, match="'note' at step 1 is not there any more"):
        texts[1].text
    assert [text.step for text in tl.open_run(tmp_path).texts("note")] == [0, 2]


def test_records_of_several_writers_are_in_order_of_their_steps(tmp_path: Path) -> None:
    for rank in (1, 0):
        part = HandmadePart(tmp_path, f"rank-{rank}")
        for step in (5, 3):
            part.add_text("note", f"{rank}:{step}", step, time=float(step + rank))
        part.connection.close()

    assert [text.text for text in tl.open_run(tmp_path).texts("note")] == ["0:3", "1:3", "0:5", "1:5"]


def test_damaged_labels_and_documents_are_errors_with_words(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    head = EmbeddingHead(
        num_points=1,
        num_dims=1,
        columns=["label"],
        matrix_bytes=4,
        label_bytes=2,
        sprite_bytes=0,
        sprite_width=0,
        sprite_height=0,
        sprites_per_row=0,
    )
    part.add_record("embedding", "points", head, b"\0\0\0\0[[")

    record = tl.open_run(tmp_path).embeddings("points")[0]

    assert record.matrix.tolist() == [[0.0]]
    with pytest.raises(FileFormatError, match="labels of 'points' at step 0"):
        record.labels


def test_complex_halves_are_read_though_numpy_has_none(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    head = TensorHead(
        shape=[1], dtype="complex32", mean=0, std=0, min=0, max=0, num_zeros=0, num_nan=0, num_inf=0
    )
    part.add_record("tensor", "w", head, numpy.array([1.5, -2.0], "<f2").tobytes())

    assert tl.open_run(tmp_path).tensors("w")[0].array.tolist() == [1.5 - 2j]


def test_a_curve_in_a_line_of_text_shows_where_it_is_no_number() -> None:
    nan, inf = float("nan"), float("inf")
    assert sparkline(numpy.array([0.0, 1.0])) == "▁█"
    assert sparkline(numpy.array([1.0, nan, 2.0, inf])) == "▁·█·"
    assert sparkline(numpy.array([nan])) == "·"
    assert sparkline(numpy.array([3.0, 3.0])) == "▅▅"
    assert sparkline(numpy.array([])) == ""
    assert sparkline(numpy.array([1.7e308, -1.7e308])) == "█▁"
    assert len(sparkline(numpy.arange(1000.0), width=10)) == 10


def test_reading_needs_no_torch(folder: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import torcheer as tl\n"
        f"run = tl.open_run({str(folder)!r})\n"
        "assert run.scalars('train/loss').steps.tolist() == [0, 1, 2, 7]\n"
        "assert run.tensors('w')[2].array[0, 0] == 2.5\n"
        "assert run.passes('pass')[0].document.ops\n"
        "assert len(list(run.follow(from_start=True))) > 10\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr


def test_a_run_becomes_event_files_and_back(run: SavedRun, tmp_path: Path) -> None:
    run.export_tensorboard(tmp_path)

    again = tl.open_run(tmp_path)

    assert again.status().source == "tensorboard"
    assert again.scalars("train/acc").values.tolist() == [0.0, 0.5, 1.0]


def test_embeddings_with_long_names_become_event_files(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        for ending in "ab":
            run.log_embedding(1, "x" * 5000 + ending, torch.rand(3, 2))

    with tl.open_run(tmp_path / "run") as saved:
        saved.export_tensorboard(tmp_path / "events")

    folders = list((tmp_path / "events").glob("00001/*"))
    assert len(folders) == 2
    assert all((folder / "tensors.tsv").stat().st_size for folder in folders)


# --- Following a run: everything once, in order, until the run has ended ------------------------------


TRAINING = """
import sys
import torcheer as tl
run = tl.Run(sys.argv[1])
run.log(0, loss=1.0)
run.flush()
print("begun", flush=True)
for line in sys.stdin:
    step = int(line)
    run.log(step, loss=1 / (step + 1), note=f"step {step}")
    run.flush()
    print("logged", flush=True)
run.close()
"""


@pytest.fixture
def training(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", TRAINING, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        yield child
        child.kill()


def log(child: subprocess.Popen[str], step: int) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{step}\n")
    child.stdin.flush()
    assert child.stdout.readline() == "logged\n"


def told(seen: Seen) -> tuple[str, str, int, float | str | None]:
    value = str(seen.record) if seen.record is not None else seen.value
    return seen.kind, seen.name, seen.step, value


def test_a_training_in_another_process_is_followed_to_its_end(
    tmp_path: Path, training: subprocess.Popen[str]
) -> None:
    followed = tl.open_run(tmp_path / "run").follow()
    log(training, 1)
    first = [told(next(followed)) for _ in range(2)]
    log(training, 2)
    assert training.stdin is not None
    training.stdin.close()
    rest = [told(seen) for seen in followed]

    assert sorted(first) == [("scalar", "loss", 1, 0.5), ("text", "note", 1, "step 1")]
    assert sorted(rest) == [("scalar", "loss", 2, 1 / 3), ("text", "note", 2, "step 2")]


def test_a_training_that_is_killed_ends_the_following(
    tmp_path: Path, training: subprocess.Popen[str]
) -> None:
    followed = tl.open_run(tmp_path / "run").follow("scalar", from_start=True)
    assert next(followed).value == 1.0
    log(training, 7)
    os.kill(training.pid, signal.SIGKILL)
    training.wait()

    assert [seen.step for seen in followed] == [7]
    assert tl.open_run(tmp_path / "run").state == "died"


def test_records_of_arrays_and_of_rows_are_followed_as_they_are(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(1, "weight", numpy.ones((2, 3)))
        run.log_row(2, "epochs", {"epoch": 2, "name": "second"})
    tensor, table = (seen.record for seen in tl.open_run(tmp_path).follow(from_start=True))

    assert tensor.array.shape == (2, 3)
    assert table.columns == ["epoch", "name"]


def test_the_process_that_writes_can_follow_itself(tmp_path: Path) -> None:
    run = tl.Run(tmp_path)
    followed = run.follow(from_start=True)

    def train() -> None:
        for step in range(5):
            run.log(step, loss=float(step))
        run.close()

    thread = threading.Thread(target=train)
    thread.start()
    seen = [item.value for item in followed]
    thread.join()

    assert seen == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_run.time, "sleep", lambda _: None)


def test_a_series_is_never_out_of_order_whatever_its_times_say(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("a", [(0, 5.0, 0.0), (1, 1.0, 1.0), (2, float("nan"), 2.0), (3, 2.0, 3.0)])
    part.add_block("b", [(0, 2.0, 0.5), (1, 6.0, 1.5)])
    part.finish()

    seen = list(SavedRun(tmp_path).follow(from_start=True))

    assert [item.value for item in seen if item.name == "a"] == [0.0, 1.0, 2.0, 3.0]
    assert [item.value for item in seen if item.name == "b"] == [0.5, 1.5]
    assert seen[0].name == "b"
    assert len(seen) == 6


@pytest.mark.usefixtures("no_pauses")
def test_what_was_taken_back_is_not_told_again_and_what_comes_instead_is(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    part.add_block("loss", [(step, float(step), 1.0) for step in range(6)])
    followed = SavedRun(tmp_path).follow(from_start=True, timeout=0.0)
    assert [item.step for item in itertools.islice(followed, 6)] == [0, 1, 2, 3, 4, 5]
    part.purge("loss", 3)
    part.add_block("loss", [(3, 10.0, 2.0), (4, 11.0, 2.0)])
    part.finish()

    assert [(item.step, item.value) for item in followed] == [(3, 2.0), (4, 2.0)]


@pytest.mark.usefixtures("no_pauses")
def test_a_second_writer_and_a_session_that_resumes_are_followed_too(tmp_path: Path) -> None:
    first = HandmadePart(tmp_path, "rank-0")
    first.add_block("loss", [(0, 1.0, 1.0)])
    followed = SavedRun(tmp_path).follow(timeout=600.0)
    second = HandmadePart(tmp_path, "rank-1")
    second.add_block("loss", [(0, 2.0, 2.0)])
    assert next(followed).value == 2.0
    first.run("INSERT INTO sessions (started, host, pid) VALUES (3.0, 'here', 2)")
    first.add_block("loss", [(1, 3.0, 3.0)])
    second.add_block("loss", [(1, 4.0, 4.0)])
    first.finish()
    second.finish()

    assert [item.value for item in followed] == [3.0, 4.0]


@pytest.mark.usefixtures("no_pauses")
def test_records_that_are_thinned_are_not_told_again(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    numbers = [part.add_text("note", f"{step}", step) for step in range(4)]
    followed = SavedRun(tmp_path).follow(from_start=True)
    assert [str(next(followed).record) for _ in range(4)] == ["0", "1", "2", "3"]
    part.thin(numbers[1])
    part.add_text("note", "4", 4)
    part.finish()

    assert [str(item.record) for item in followed] == ["4"]


def test_a_kind_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    HandmadePart(tmp_path).finish()

    with pytest.raises(InputError, match="there is no kind 'scalars'"):
        tl.open_run(tmp_path).follow("scalars")  # type: ignore[arg-type]


def test_what_is_logged_after_a_purge_is_seen_whatever_the_clock_says(tmp_path: Path) -> None:
    with tl.SummaryWriter(str(tmp_path)) as writer:
        for step in range(10):
            writer.add_scalar("x", step, step, walltime=1000.0 + step)
        writer.flush()
        events = tl.open_run(tmp_path).follow(from_start=True, timeout=3)
        assert [next(events).step for _ in range(10)] == list(range(10))
    with tl.SummaryWriter(str(tmp_path), purge_step=5) as writer:
        for step in range(5, 10):
            writer.add_scalar("x", 100 + step, step, walltime=500.0 + step)
        writer.flush()
        assert [(seen.step, seen.value) for seen in itertools.islice(events, 5)] == [
            (step, 100.0 + step) for step in range(5, 10)
        ]
    assert list(events) == []
