"""What goes wrong is told so often that it is heard, and not so often that it hides something else."""

from __future__ import annotations

import importlib
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.run.raw_tables import RawPart, told
from torcheer.run.records import Observation
from torcheer.run.run import Run
from torcheer.run.tensorboard.summary_writer import SummaryWriter
from torcheer.run.warnings_once import RunWarning


def test_one_mistake_with_many_series_is_told_for_a_few_of_them_and_counted_for_all(tmp_path: Path) -> None:
    with told() as messages, Run(tmp_path) as run:
        for step in range(3):
            for number in range(60):
                run.log_histogram(step, f"grad/{number}", None)
                run.log(step, {f"grad/{number}": None})

    assert run.num_dropped == 360
    for method in ("log_histogram", "log"):
        of_method = [message for message in messages if message.split(" ")[0].rstrip(":") == method]
        assert [f"'grad/{number}'" in message for number, message in enumerate(of_method)] == [True] * 5 + [
            False
        ]
        assert "more series" in of_method[-1]
        assert "run.num_dropped" in of_method[-1]
    assert len(messages) == 12


def test_what_happens_to_the_run_itself_is_told_though_much_was_told_before(tmp_path: Path) -> None:
    with told() as messages:
        run = Run(tmp_path / "run")
        for method in (run.log_histogram, run.log_tensor, run.log_image, run.log_audio, run.log_video):
            for number in range(60):
                method(0, f"wrong/{number}", None)
        num_before = 5 * 6
        shutil.rmtree(tmp_path / "run")
        run.log(1, loss=1.0)
        run.flush()
        run.close()
        run.log(2, loss=1.0)

    assert "was deleted" in messages[num_before]
    assert "is closed" in messages[num_before + 1]
    assert len(messages) == num_before + 2


def test_a_hook_for_warnings_that_raises_does_not_reach_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OSError("no terminal")

    with warnings.catch_warnings():
        warnings.simplefilter("always", RunWarning)
        monkeypatch.setattr(warnings, "showwarning", broken)
        with Run(tmp_path) as run:
            run.log(0, loss=None)
            run.log(1, loss=1.0)

    assert run.num_dropped == 1
    assert RawPart(tmp_path).points("loss").steps.tolist() == [1]


def test_what_a_thread_of_ours_tells_points_at_no_line_of_somebody_else(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught, Run(tmp_path / "first") as run:
        warnings.simplefilter("always")
        run._put(Observation(kind="text", name="note", step=0, time=0.0, num_bytes=1, encode=lambda: 1 / 0))  # type: ignore[arg-type, return-value]
        run.flush()

    assert [Path(warning.filename).suffix for warning in caught] == [""]
    assert "torcheer" in caught[0].filename


def test_a_warning_points_at_the_users_line_also_where_torch_can_compile(tmp_path: Path) -> None:
    importlib.import_module("torch._dynamo")
    with Run(tmp_path) as run, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run.log_tensor(0, "weight", None)

    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]


def test_a_writer_called_wrongly_raises_nothing(tmp_path: Path) -> None:
    with told() as messages, SummaryWriter(str(tmp_path)) as writer:
        called = [name for name in dir(writer) if name.startswith("add_")]
        for name in called:
            getattr(writer, name)()

    assert len(called) > 15
    assert sorted(message.partition(":")[0] for message in messages) == sorted(called)
