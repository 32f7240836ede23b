"""The examples that train on data: they run, they learn, and they leave what their pages show."""

from pathlib import Path

import numpy
import pytest
import torch
from torch.utils.data import DataLoader

import torcheer as tl
from examples import cifar10, digits, digits_trials
from tests.training.cifarfiles import published, random_parts, write_python_version


def test_the_digits_leave_something_for_every_page(tmp_path: Path) -> None:
    history = digits.main(tmp_path, num_epochs=1)

    assert history["test/accuracy"][-1] > 0.8
    run = tl.open_run(tmp_path / "digits")
    assert run.status().state == "finished"
    for name in ("train/loss", "train/lr", "train/grad_norm", "test/loss", "test/accuracy"):
        assert name in run.names("scalar")
    assert numpy.allclose(run.scalars("test/accuracy").values, history["test/accuracy"])
    assert "hidden.weight" in run.names("histogram")
    assert run.names("image") == ["misread"]
    assert run.names("confusion") == ["confusion"]
    assert run.names("pr_curve") == ["is it a 3", "is it a 8"]
    assert run.names("embedding") == ["hidden"]
    assert run.names("pass") == ["model"]
    assert "features.0" in run.watched.layers
    network = tl.open_run(tmp_path / "digits-network")
    assert [record.array.shape for record in network.tensors("hidden.Act")] == [(10, 64)] * 2


@pytest.mark.many
def test_the_digits_are_read_better_than_97_percent(tmp_path: Path) -> None:
    assert digits.main(tmp_path, num_epochs=20)["test/accuracy"][-1] > 0.97


def test_a_trial_that_breaks_leaves_a_run_that_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return outputs.sum() * float("nan")

    monkeypatch.setattr(digits_trials, "PATIENCE", 3)
    trial = digits_trials.Trial(
        name="it", comment="", optimizer="SGD", learning_rate=0.1, growth=1.0, loss=broken
    )

    with (
        pytest.warns(tl.TrainingWarning, match="the loss is nan at step 0"),
        pytest.raises(FloatingPointError, match="the loss is nan since step 0"),
    ):
        digits_trials.train(trial, tmp_path, num_epochs=1)

    assert tl.open_run(tmp_path / "it").status().state == "died"


def test_the_cycle_on_a_small_set_of_cifar_s_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train, test = (
        cifar10.SmallSet(digits.Digits(part.images[:12], part.labels[:12])) for part in tl.load_digits()
    )
    assert train[0][0].shape == (3, 32, 32)

    evaluation = cifar10.main(train, test, tmp_path / "run", num_epochs=1)

    run = tl.open_run(tmp_path / "run")
    assert evaluation.num_items == 12
    assert (
        evaluation.accuracy == run.scalars("test/accuracy").values[-1]
    )  # what was reloaded is what was saved
    assert "seven" in capsys.readouterr().out


def test_cifar_comes_as_tensors(tmp_path: Path) -> None:
    write_python_version(tmp_path, random_parts())
    with published():
        train, _ = cifar10.cifar10(tmp_path, download=False)

        pictures = next(iter(DataLoader(train, batch_size=20)))[0]  # type: ignore[var-annotated]

    assert pictures.shape == (20, 3, 32, 32)
    assert (pictures.min(), pictures.max()) == (-1, 1)
