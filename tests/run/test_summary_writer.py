"""`tl.SummaryWriter` does what `torch.utils.tensorboard.SummaryWriter` does, and the training goes on."""

from __future__ import annotations

import inspect
import os
import re
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.compat.proto.event_pb2 import Event
from torch import nn
from torch.utils.tensorboard import SummaryWriter as TorchsWriter
from torch.utils.tensorboard.summary import hparams, image, scalar

import torcheer as tl
from tests.run.encode_checks import written_by_tensorboard
from torcheer.run.warnings_once import RunWarning

PUBLIC = sorted(
    name for name, _ in inspect.getmembers(TorchsWriter, inspect.isfunction) if not name.startswith("_")
)


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default) for one in found]


# --- the same face ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*PUBLIC, "__init__", "__enter__", "__exit__"])
def test_every_method_takes_what_torchs_own_takes(method: str) -> None:
    assert parameters(getattr(tl.SummaryWriter, method)) == parameters(getattr(TorchsWriter, method))


def test_the_folder_is_named_by_date_host_and_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tl.SummaryWriter(comment="-lr0.1") as writer:
        pass

    assert re.fullmatch(r"runs/[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+-lr0\.1", str(writer.log_dir))
    assert writer.get_logdir() == writer.log_dir
    assert (tmp_path / writer.log_dir).is_dir()


def test_a_folder_that_is_given_is_taken_as_it_is(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path / "run", "no part of it", None, 5, 10, ".x") as writer:
        writer.add_scalar("loss", 1.0)

    assert writer.log_dir == tmp_path / "run"
    assert (writer.max_queue, writer.flush_secs, writer.filename_suffix) == (5, 10, ".x")
    assert tl.open_run(tmp_path / "run").scalars("loss").values.tolist() == [1.0]


# --- numbers ---------------------------------------------------------------------------------------------

NUMBERS: dict[str, Any] = {
    "float": 0.5,
    "int": 3,
    "bool": True,
    "numpy": np.float32(1.5),
    "tensor": torch.tensor(2.5, requires_grad=True),
    "one element": torch.tensor([[4.0]]),
    "array": np.array([7]),
    "nan": float("nan"),
    "inf": float("-inf"),
}


def test_numbers_are_those_that_torchs_own_writes(tmp_path: Path) -> None:
    def write(writer: Any) -> None:
        for step, (name, value) in enumerate(NUMBERS.items()):
            writer.add_scalar(name, value, step, walltime=100.5 + step)
            writer.add_scalar(name, value, new_style=True, double_precision=True)

    theirs = written_by_tensorboard(tmp_path / "theirs", write)
    with tl.SummaryWriter(tmp_path / "ours") as writer:
        write(writer)
    ours = tl.open_run(tmp_path / "ours")

    for name in NUMBERS:
        events = theirs.Scalars(name)
        read = ours.scalars(name)
        assert read.steps.tolist() == [event.step for event in events[:1]] + [0]
        assert read.times[0] == events[0].wall_time
        np.testing.assert_equal(read.values[0], events[0].value)


@pytest.mark.parametrize("step", [7, 7.0, np.int64(7), torch.tensor(7)])
def test_a_step_may_be_any_whole_number(step: Any, tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", 1.0, step)
        writer.add_scalar("b", 1.0, step, 5.0)
        writer.add_scalars("c", {"d": 1.0}, step)

    run = tl.open_run(tmp_path)
    assert [run.scalars(name).steps.tolist() for name in ("a", "b", "c/d")] == [[7], [7], [7]]


def test_scalars_of_one_chart_are_marked_so(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalars("loss", {"train": step * 1.0, "test": torch.tensor([step * 2.0])}, step)

    run = tl.open_run(tmp_path)
    assert run.scalars("loss/train").values.tolist() == [0, 1, 2]
    assert run.scalars("loss/test").values.tolist() == [0, 2, 4]
    assert {entry.description for entry in run._reader().series().values()} == {"of loss"}


def test_what_is_no_number_is_told_and_counted(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        for value, what in (
            ("0.5", "add_text"),
            (torch.ones(2), r"shape \(2,\)"),
            (None, "NoneType"),
            (1j, "complex"),
        ):
            with pytest.warns(RunWarning, match=what):
                writer.add_scalar(what, value)
        for walltime in (None, 5.0):
            with pytest.warns(RunWarning, match="name"):
                writer.add_scalar(7, 1.0, walltime=walltime)
        assert writer._open_run().num_dropped == 6


# --- all kinds -------------------------------------------------------------------------------------------


def test_every_kind_of_thing_arrives(tmp_path: Path) -> None:
    image, batch = torch.rand(3, 8, 8), torch.rand(4, 3, 8, 8)
    raw = {"min": 0.0, "max": 2.0, "num": 3, "sum": 4.0, "sum_squares": 6.0}
    ones = np.ones(5)
    with tl.SummaryWriter(tmp_path) as writer:
        writer.add_tensor("tensor", image.bfloat16(), 1)
        writer.add_histogram("histogram", image, 2)
        writer.add_histogram_raw("raw", **raw, bucket_limits=[1.0, 2.0], bucket_counts=[1, 2], global_step=3)
        writer.add_image("image", image, 4)
        writer.add_images("images", batch, 5)
        writer.add_image_with_boxes("boxes", image, torch.tensor([[1, 2, 3, 4]]), 6, labels=["cat"])
        writer.add_image_with_boxes("scaled", image, torch.tensor([[1, 2, 3, 4]]), 6, rescale=2)
        writer.add_video("video", batch[None], 7, fps=9)
        writer.add_audio("audio", torch.rand(1, 50), 8, sample_rate=8000)
        writer.add_text("text", "hello", 9)
        writer.add_embedding(torch.randn(4, 3), list("abcd"), batch, 10, "points")
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1]), torch.rand(3), 11, num_thresholds=1000)
        writer.add_pr_curve_raw("pr raw", ones, ones, ones, ones, ones, ones, 12)

    run = tl.open_run(tmp_path)
    assert torch.equal(run.tensors("tensor")[0].to_torch(), image.bfloat16())
    steps = {key.name: entry.last_step for key, entry in run._reader().series().items()}
    early = {"tensor": 1, "histogram": 2, "raw": 3, "image": 4, "images": 5, "boxes": 6, "scaled": 6}
    assert steps == early | {"video": 7, "audio": 8, "text": 9, "points": 10, "pr": 11, "pr raw": 12}
    heads = {key.name: run._reader().records(key.kind, key.name)[0].head for key in run._reader().series()}
    assert (heads["boxes"].boxes, heads["boxes"].box_labels) == ([[1, 2, 3, 4]], ["cat"])
    assert (heads["scaled"].boxes, heads["scaled"].width) == ([[2, 4, 6, 8]], 16)
    assert heads["video"].frames_per_second == 9
    assert heads["pr"].num_thresholds == 127  # as many as torch's own keeps
    assert heads["points"].columns == ["label"]


def test_a_layout_grows_with_each_chart(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        writer.add_custom_scalars_multilinechart(["a", "b"], "group", "lines")
        writer.add_custom_scalars_marginchart(["v", "low", "high"], "group", "margin")
        with pytest.warns(RunWarning, match="three names"):
            writer.add_custom_scalars_marginchart(["too few"])
        writer.add_custom_scalars({"other": {"x": ["Multiline", ["y"]]}})

    reader = tl.open_run(tmp_path)._reader()
    heads = [record.head for record in reader.records("layout", "layout")]
    assert [[(g.title, [c.title for c in g.charts]) for g in head.groups] for head in heads] == [
        [("group", ["lines"])],
        [("group", ["lines", "margin"])],
        [("group", ["lines", "margin"]), ("other", ["x"])],
    ]


def test_hyperparameters_are_a_run_of_their_own(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0)
        writer.add_hparams({"lr": 0.1, "on": True, "name": "x"}, {"hparam/acc": 0.5}, run_name="trial")
        writer.add_hparams({"lr": 0.2}, {"hparam/acc": torch.tensor(0.75)}, {"lr": [0.1, 0.2]}, None, 4)

    trial = tl.open_run(tmp_path / "trial")
    assert trial.hparams() == {"lr": 0.1, "on": True, "name": "x"}
    assert trial.scalars("hparam/acc").values.tolist() == [0.5]
    assert trial.state == "finished"
    (other,) = (path for path in tmp_path.iterdir() if path.is_dir() and path.name != "trial")
    float(other.name)  # named by the time
    assert tl.open_run(other).scalars("hparam/acc").steps.tolist() == [4]
    assert tl.open_run(tmp_path).names("hparams") == []


def test_hyperparameters_that_are_no_dicts_are_told(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer, pytest.warns(RunWarning, match="each a dict"):
        writer.add_hparams([("lr", 1)], {})


# --- the graph -------------------------------------------------------------------------------------------


def test_a_graph_is_a_pass_that_leaves_the_model_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x, state = torch.randn(5, 4), torch.get_rng_state()

    with tl.SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, x, verbose=True)

    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    (record,) = tl.open_run(tmp_path).passes("graph")
    assert (record.head.model_name, record.step) == ("Sequential", 0)
    assert "linear" in capsys.readouterr().out


class TakesDict(nn.Module):
    def forward(self, x: dict[str, torch.Tensor]) -> torch.Tensor:
        return x["a"] + x["b"]


class TakesTwo(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (TakesDict(), {"a": torch.ones(2), "b": torch.ones(2)}),
        (TakesTwo(), (torch.ones(2), torch.ones(2))),
        (TakesTwo(), [torch.ones(2), torch.ones(2)]),
    ],
    ids=["dict", "tuple", "list"],
)
def test_inputs_of_a_graph_are_taken_as_torchs_own_takes_them(
    model: nn.Module, inputs: Any, tmp_path: Path
) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, inputs, use_strict_trace=False)

    assert len(tl.open_run(tmp_path).passes("graph")) == 1


def test_a_graph_that_fails_is_told_and_the_training_goes_on(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        with pytest.warns(RunWarning, match="add_graph"):
            writer.add_graph(nn.Linear(4, 3), torch.randn(2, 5))
        with pytest.warns(RunWarning, match="add_graph\\(model, input\\)"):
            writer.add_onnx_graph("model.onnx")
        writer.add_scalar("loss", 1.0)

    assert tl.open_run(tmp_path).names() == ["loss"]


def test_a_mesh_is_refused_clearly_and_once(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for step in range(3):
                writer.add_mesh("bunny", torch.zeros(1, 5, 3), global_step=step)
        assert writer._open_run().num_dropped == 3

    (warning,) = caught
    assert "add_embedding" in str(warning.message)


# --- opening and closing ---------------------------------------------------------------------------------


def test_what_is_added_after_close_goes_on_with_the_run(tmp_path: Path) -> None:
    writer = tl.SummaryWriter(tmp_path)
    writer.add_scalar("loss", 1.0, 0)
    writer.close()
    writer.close()
    writer.flush()
    writer.add_scalar("loss", 2.0, 1)
    writer.close()

    run = tl.open_run(tmp_path)
    assert run.scalars("loss").values.tolist() == [1, 2]
    assert run.state == "finished"


def test_purge_step_takes_back_what_was_logged_from_there_on_once(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        for step in range(10):
            writer.add_scalar("loss", step * 1.0, step)
    writer = tl.SummaryWriter(tmp_path, purge_step=4)
    writer.add_scalar("loss", 40.0, 4)
    writer.close()
    writer.add_scalar("loss", 50.0, 5)  # opens it again, and takes nothing back
    writer.close()

    assert tl.open_run(tmp_path).scalars("loss").values.tolist() == [0, 1, 2, 3, 40, 50]


def test_flush_puts_all_of_it_on_disk(tmp_path: Path) -> None:
    with tl.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0)
        writer.flush()

        assert tl.open_run(tmp_path).scalars("loss").values.tolist() == [1]


def test_a_training_that_raises_has_died_of_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), tl.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1 / 0)

    status = tl.open_run(tmp_path).status()
    assert (status.state, status.reason) == ("died", "ZeroDivisionError: division by zero")


def test_many_threads_may_add_to_it_even_after_close(tmp_path: Path) -> None:
    writer = tl.SummaryWriter(tmp_path)
    writer.close()
    start = threading.Barrier(4)

    def add(thread: int) -> None:
        start.wait()
        for step in range(100):
            writer.add_scalar(f"loss/{thread}", 1.0, step)

    threads = [threading.Thread(target=add, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()

    run = tl.open_run(tmp_path)
    assert [len(run.scalars(f"loss/{thread}")) for thread in range(4)] == [100] * 4
    assert len(list(tmp_path.glob("*.sqlite"))) == 1


def test_a_folder_that_cannot_be_written_does_not_end_the_training(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with tl.SummaryWriter(os.fspath(blocked / "run")) as writer:
            writer.add_scalar("loss", 1.0)
            writer.add_histogram("h", torch.randn(5))

    assert any(issubclass(warning.category, RunWarning) for warning in caught)


# --- Scripts that reach for the file writer behind TensorBoard's writer go on working -----------------


def test_summaries_that_a_script_makes_itself_are_kept(tmp_path: Path) -> None:
    with tl.SummaryWriter(str(tmp_path)) as writer:
        for summary in hparams({"lr": 0.1, "name": "adam"}, {"acc": 0.5}):
            writer.file_writer.add_summary(summary)
        writer.file_writer.add_summary(scalar("loss", 0.25), 7, walltime=1234.5)
        writer._get_file_writer().add_event(Event(step=9, summary=scalar("loss", 0.125)))
        writer.all_writers[str(tmp_path)].add_summary(
            image("picture", np.zeros((3, 4, 5)), dataformats="CHW"), 1
        )
        assert writer.file_writer.get_logdir() == str(tmp_path)
        writer.file_writer.flush()

    run = tl.open_run(tmp_path)
    loss = run.scalars("loss")
    assert (loss.steps.tolist(), loss.values.tolist(), loss.times[0]) == ([7, 9], [0.25, 0.125], 1234.5)
    (entry,) = run.reader().records("hparams", "hparams")
    assert entry.head.hparams == {"lr": 0.1, "name": "adam"}  # type: ignore[union-attr]
    (picture,) = run.reader().records("image", "picture")
    assert (picture.head.width, picture.head.height) == (5, 4)  # type: ignore[union-attr]


def test_what_is_no_summary_is_told_and_counted(tmp_path: Path) -> None:
    with tl.SummaryWriter(str(tmp_path)) as writer, pytest.warns(tl.RunWarning, match="is no summary"):
        writer.file_writer.add_summary("no summary")
    assert tl.open_run(tmp_path).status().num_dropped == 1
