"""The examples that train: they run, they learn, and they leave what their pages show."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy
import pytest
import torch
from torch.utils.data import DataLoader

import torcheer as tl
from examples import cifar10, digits, digits_trials, etra25
from tests.training.cifar_files import published, random_parts, write_python_version


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


# --- etra25 -------------------------------------------------------------------------------------------------


def test_headless_it_learns_all_pairs_and_writes_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["etra25", "--no-gui", "--runs", "1", "--seed", "3", "--folder", str(tmp_path)]
    )
    etra25.main()

    def rows(name: str) -> list[dict[str, str]]:
        with open(tmp_path / "etra25-1" / f"{name}.tsv", encoding="utf-8") as file:
            return list(csv.DictReader(file, delimiter="\t"))

    epochs, (run,) = rows("train-epochs"), rows("runs")
    errors = [int(row["errors"]) for row in epochs]
    assert errors[0] > 20
    assert errors[-5:] == [0] * 5
    assert errors[-6] > 0  # it ends as soon as it may
    assert run["ended by"] == "5 epochs without errors"
    assert int(run["epochs needed"]) == len(epochs) < 50
    assert [int(row["epoch"]) for row in rows("test-epochs")] == sorted(
        {*range(5, len(epochs) + 1, 5), len(epochs)}
    )
    items = rows("test-trials")[-25:]
    assert {row["error"] for row in items} == {"0"}
    assert [row["name"] for row in items] == [f"pair {number}" for number in range(25)]
    assert sum(float(items[0][f"Target[{bit}]"]) for bit in range(25)) == 6
    assert rows("statistics")[0]["mean"] == f"{len(epochs)}"
    assert "1 runs with seed 3" in capsys.readouterr().out


def test_its_patterns_have_six_bits_of_25() -> None:
    patterns = etra25.random_patterns()

    assert patterns.shape == (25, 25)
    assert patterns.sum(1).tolist() == [6.0] * 25
    assert set(patterns.unique().tolist()) == {0.0, 1.0}
    assert not torch.equal(patterns, etra25.random_patterns())
    assert len(Path(etra25.__file__).read_text(encoding="utf-8").splitlines()) < 150
