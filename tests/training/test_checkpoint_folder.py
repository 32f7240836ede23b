"""A folder of checkpoints: when one is written, which are kept, and which is taken."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from torcheer.errors import FileFormatError, InputError
from torcheer.training import Callback, Checkpoints, History, Training, TrainingWarning, fit, load_checkpoint


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def names_in(folder: Path) -> list[str]:
    return sorted(
        path.name.removeprefix("step-000000").removesuffix(".safetensors") for path in folder.iterdir()
    )


def fit_with(
    checkpoints: Checkpoints | Path | None, epochs: int = 6, losses: Any = None, **options: Any
) -> History:
    """A training whose test loss is as it is told."""
    torch.manual_seed(1)
    model = nn.Linear(3, 2)
    told = iter(losses or [])
    return fit(
        model,
        [(torch.ones(2, 3), torch.tensor([0, 1]))] * 2,
        loss=F.cross_entropy,
        optimizer=torch.optim.SGD(model.parameters(), 0.1),
        epochs=epochs,
        test_loader=[(torch.ones(2, 3), torch.tensor([0, 1]))],
        metrics={"told": lambda outputs, targets: next(told) if not model.training else 0.0}
        if losses
        else None,
        checkpoints=checkpoints,
        progress=False,
        **options,
    )


def test_the_last_and_the_best_are_kept(tmp_path: Path) -> None:
    losses = [0.5, 0.2, 0.7, float("nan"), 0.4, 0.2]

    fit_with(Checkpoints(tmp_path, keep_last=2, best="test/told", mode="min"), losses=losses)

    assert names_in(tmp_path) == ["04", "10", "12", "checkpoints.json"]
    found = load_checkpoint(tmp_path, which="best")
    assert (found.step, found.epoch, found.metrics["test/told"]) == (4, 2, 0.2)
    assert load_checkpoint(tmp_path).step == 12
    index = json.loads((tmp_path / "checkpoints.json").read_text())
    assert index["best"] == "step-00000004.safetensors"
    assert [(row["step"], row["epoch"], row["is_best"]) for row in index["checkpoints"]] == [
        (12, 6, False),
        (10, 5, False),
        (4, 2, True),
    ]


def test_the_best_is_known_after_a_resume_and_without_the_index(tmp_path: Path) -> None:
    def checkpoints() -> Checkpoints:
        return Checkpoints(tmp_path, every=100, keep_last=1, best="test/told", mode="max")

    fit_with(checkpoints(), epochs=2, losses=[0.9, 0.1])
    (tmp_path / "checkpoints.json").write_text("stale")

    fit_with(checkpoints(), epochs=4, losses=[0.3, 0.5])

    assert names_in(tmp_path) == ["02", "08", "checkpoints.json"]
    assert load_checkpoint(tmp_path, which="best").metrics["test/told"] == 0.9


def test_an_epoch_that_is_not_over_is_not_the_best(tmp_path: Path) -> None:
    """The loss of its first step is higher than the mean of any epoch, but it is of one batch only."""
    fit_with(Checkpoints(tmp_path, every=1, keep_last=None, best="train/loss", mode="max"), epochs=2)

    assert load_checkpoint(tmp_path, which="best").step == 2


def test_a_damaged_checkpoint_is_passed_over_and_set_aside(tmp_path: Path) -> None:
    expected = fit_with(Checkpoints(tmp_path, every=1, keep_last=None), epochs=3)
    for step in (5, 6):
        path = tmp_path / f"step-0000000{step}.safetensors"
        path.write_bytes(path.read_bytes()[: -100 if step == 6 else None])
    path = tmp_path / "step-00000005.safetensors"
    path.write_bytes(path.read_bytes()[:-100] + bytes(100))

    with pytest.warns(TrainingWarning, match=r"step-0000000[56].safetensors cannot be opened.*passed over"):
        found = fit_with(Checkpoints(tmp_path, every=1, keep_last=None), epochs=3)

    assert found.steps["train/loss"].tolist() == expected.steps["train/loss"].tolist()
    assert names_in(tmp_path / "damaged-1") == ["05", "06"]
    assert load_checkpoint(tmp_path).step == 6


def test_a_checkpoint_of_a_newer_torcheer_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.training.checkpoint.save_load.VERSION", 2)
    fit_with(tmp_path, epochs=1)

    with pytest.raises(FileFormatError, match="Update torcheer"):
        fit_with(tmp_path, epochs=2)
    assert names_in(tmp_path) == ["02", "checkpoints.json"]


def test_to_begin_anew_sets_aside_what_was_there(tmp_path: Path) -> None:
    fit_with(Checkpoints(tmp_path), epochs=2)

    history = fit_with(Checkpoints(tmp_path, resume=False), epochs=1)

    assert history.num_steps == 2
    assert names_in(tmp_path) == ["02", "checkpoints.json", "earlier-1"]
    assert names_in(tmp_path / "earlier-1") == ["02", "04"]


def test_a_folder_by_its_name_is_enough(tmp_path: Path) -> None:
    fit_with(tmp_path / "new" / "folder", epochs=2)

    assert names_in(tmp_path / "new" / "folder") == ["02", "04", "checkpoints.json"]


def test_checkpoints_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("torcheer.training.checkpoint.periodic.time.monotonic", lambda: now[0])

    class Ticking(Callback):
        def on_step(self, training: Training) -> None:
            now[0] += 25.0

    fit_with(Checkpoints(tmp_path, every="1min", keep_last=None), callbacks=[Ticking()])

    assert names_in(tmp_path) == ["03", "06", "09", "12", "checkpoints.json"]


def test_a_full_disk_is_told_and_does_not_end_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("torcheer.training.checkpoint.files.file_tensor", fail)

    with pytest.warns(TrainingWarning, match=r"checkpoint of step 2 was not written .*No space left"):
        assert fit_with(tmp_path, epochs=1).num_steps == 2


class Remembering(Callback):
    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def state_dict(self) -> dict[str, Any]:
        return {"memory": self.memory}


def test_what_cannot_be_kept_is_refused_before_the_first_step(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot keep 'callbacks.0.0.1.memory': it is a function"):
        fit_with(tmp_path, callbacks=[Remembering(lambda: 1)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda path: fit_with(Checkpoints(path, best="test/accuracy")),
            "keeps the best 'test/accuracy', and an",
        ),
        (lambda path: fit_with(None, callbacks=[Checkpoints(path)]), "give them to fit as checkpoints="),
        (lambda path: Checkpoints(3), "folder is a int: give its path"),
        (lambda path: Checkpoints(__file__), "is a file: name a folder"),
        (lambda path: Checkpoints(path, every="often"), "give 'epoch', a number of steps, or a time"),
        (lambda path: Checkpoints(path, every=0), "every=0: give 'epoch'"),
        (lambda path: Checkpoints(path, keep_last=0), "keep_last=0: give how many"),
        (lambda path: Checkpoints(path, best="test/told"), "mode='min' for lower"),
        (lambda path: load_checkpoint(path), "no checkpoint in the folder .* is whole"),
        (lambda path: load_checkpoint(path, which="best"), "was kept as the best"),
        (lambda path: load_checkpoint(path, which="worst"), "which='worst': give 'newest' or 'best'"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(change: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        change(tmp_path)
