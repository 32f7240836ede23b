"""Runs and checkpoints that an earlier version wrote are read as they were, and gone on with.

tests/files/written_by_0_1.zip was written by version 0.1, before its code was moved and merged.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import torcheer as tl


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written_by_0_1")
    with zipfile.ZipFile(Path(__file__).parent / "files" / "written_by_0_1.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def run(files: Path) -> Iterator[tl.SavedRun]:
    with tl.open_run(files / "run") as opened:
        yield opened


def test_numbers_and_tensors(run: tl.SavedRun) -> None:
    loss = run.scalars("loss")
    assert loss.steps.tolist() == list(range(20))
    assert np.allclose(loss.values, 1 / np.arange(1, 21))

    weights = run.tensors("0.weight")  # the watch has kept some as well
    assert {0, 10} <= {record.step for record in weights}
    assert np.array_equal(weights[-1].array, np.arange(32.0).reshape(8, 4) + 10)
    (half,) = run.tensors("half")
    assert half.array.astype(float).tolist() == [1.5, -2.0]


def test_every_kind_of_record(run: tl.SavedRun) -> None:
    table = run.table("rows")
    assert [row["name"] for row in table] == ["row 0", "row 1", "row 2"]
    seen = {(record.kind, record.name) for record in run.follow(from_start=True)}
    kinds = {kind for kind, _ in seen}
    assert kinds >= {
        "scalar",
        "tensor",
        "histogram",
        "image",
        "text",
        "audio",
        "pr_curve",
        "confusion",
        "video",
    }
    assert {("embedding", "points"), ("text", "note"), ("pass", "pass")} <= seen


def test_watched_figures(run: tl.SavedRun) -> None:
    norms = run.watched.to_pandas("norm")

    assert norms.index.tolist() == list(range(0, 20, 2))
    assert {"0.Act", "2.Grad", "0.weight", "2.bias.Delta", "2.weight.exp_avg"} <= set(norms.columns)
    assert norms["0.Act"][0] == pytest.approx(7.421082)


def test_a_checkpoint(files: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters())

    tl.load_checkpoint(files / "checkpoint.safetensors", model=model, optimizer=optimizer)

    expected = np.load(files / "expected.npz")
    assert np.array_equal(model[0].weight.detach().numpy(), expected["checkpoint"])
    assert optimizer.param_groups[0]["lr"] == 0.01


def test_a_training_goes_on_bit_for_bit(files: Path) -> None:
    torch.manual_seed(0)
    nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))  # drawn before the data, then as now
    x, y = torch.randn(16, 4), torch.arange(16) % 3
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
    history = tl.fit(
        model,
        DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True),
        loss=nn.functional.cross_entropy,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.01),
        epochs=4,
        checkpoints=files / "checkpoints",
        progress=False,
    )

    expected = np.load(files / "expected.npz")["losses"]
    assert history.steps["train/loss"].shape == expected.shape
    assert np.allclose(history.steps["train/loss"], expected, rtol=1e-6)
