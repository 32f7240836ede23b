"""Features that the version of November 2026 wrote open with their values, and those begun are finished."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor, nn

from torcheer.features import extract, open_features

FILES = Path(__file__).resolve().parents[1] / "files" / "features"
ENDINGS = pytest.mark.parametrize("ending", ["", ".zarr"])
X = torch.arange(-15.0, 15).reshape(10, 3)
Y = torch.arange(10) % 3


class Net(nn.Module):
    """Its values need no rounding, so that what is expected can be written down."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.Linear(3, 3, bias=False)
        self.act = nn.ReLU()
        self.out = nn.Identity()
        with torch.no_grad():
            self.twice.weight.copy_(2 * torch.eye(3))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.act(self.twice(x)) - 1)


@ENDINGS
def test_rows_hold_their_values(ending: str) -> None:
    features = open_features(FILES / f"rows{ending}")

    assert features.is_complete
    assert features.labels is not None
    assert features.labels.tolist() == Y.tolist()
    assert features.ids.tolist() == [f"picture {number}" for number in range(10)]
    numpy.testing.assert_array_equal(features["twice"][:], 2 * X)
    numpy.testing.assert_array_equal(features["act"][:], (2 * X).relu().half())
    centred = (2 * X).relu().numpy() - (2 * X).relu().numpy().mean(axis=0)
    lengths = numpy.linalg.svd(centred, compute_uv=False)[:2]
    found = numpy.linalg.norm(features["out"][:], axis=0)
    numpy.testing.assert_allclose(found, lengths, rtol=1e-5)


@ENDINGS
def test_ragged_samples_hold_their_values(ending: str) -> None:
    features = open_features(FILES / f"sentences{ending}")

    assert features.is_complete
    assert [one.tolist() for one in features["table"]] == [
        [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
        [[6.0, 7.0]],
        [[12.0, 13.0], [14.0, 15.0]],
        [[18.0, 19.0], [0.0, 1.0], [2.0, 3.0]],
    ]


@ENDINGS
def test_a_stream_holds_its_values(ending: str) -> None:
    features = open_features(FILES / f"stream{ending}")

    assert features.is_complete
    assert features.labels is not None
    assert features.labels.tolist() == Y.tolist()
    numpy.testing.assert_array_equal(features["twice"][:], 2 * X)


@ENDINGS
def test_what_was_begun_is_finished(ending: str, tmp_path: Path) -> None:
    to = tmp_path / f"f{ending}"
    shutil.copytree(FILES / f"begun{ending}", to)
    before = open_features(to)
    assert 0 < before.num_done < 10

    features = extract(Net(), (X, Y), layers=["twice"], to=to, batch_size=2, progress=False)

    assert features.is_complete
    numpy.testing.assert_array_equal(features["twice"][:], 2 * X)
