"""What a newcomer runs into: each is told, and nothing is lost or compared that should not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset

import torcheer as tl
from torcheer.errors import InputError, LayerNotFoundError

X = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))


def extracted(to: Path, data: Any = X, layers: Any = ("2",), **options: Any) -> tl.Features:
    return tl.extract(net(), data, layers=layers, to=to, batch_size=4, progress=False, **options)


# --- a folder of its own -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", ".zarr"])
def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / f"mine{ending}"
    folder.mkdir()
    (folder / "2.npy").write_text("precious")

    with pytest.raises(InputError, match=r"has other things in it \(2\.npy\)"):
        extracted(folder)

    assert [path.name for path in folder.iterdir()] == ["2.npy"]
    assert (folder / "2.npy").read_text() == "precious"


@pytest.mark.parametrize("ending", ["", ".zarr"])
def test_what_a_kill_in_the_first_moment_left_is_in_nobodys_way(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / f"mine{ending}"
    folder.mkdir()
    (folder / ".manifest.json.17-ab").write_text("{")

    assert extracted(folder).is_complete


# --- which layers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["seven", "nothing.*", "conv"])
def test_a_layer_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path, name: str) -> None:
    there = "modules are 0, 1, 2; its ops are linear_1_1, relu_1_2, linear_2_3"
    with pytest.raises(LayerNotFoundError, match=there):
        extracted(tmp_path / "f", layers=[name])


class Words(nn.Module):
    """Has layers with a number for each token, and one with as many units as the first batch has tokens."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(50, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        counts = attention_mask.float()
        values = self.embedding(input_ids) * counts[..., None]
        return values.sum(1) / counts.sum(1, keepdim=True)


def sentences() -> DataLoader[Any]:
    def together(some: list[list[int]]) -> dict[str, Tensor]:
        length = max(map(len, some))
        ids = torch.tensor([[*one, *[0] * (length - len(one))] for one in some])
        return {"input_ids": ids, "attention_mask": (ids > 0).long()}

    words = [[5, 7, 9], [4, 2], [8, 8, 3, 2, 1], [6], [9, 9]]
    return DataLoader(words, batch_size=2, collate_fn=together)  # type: ignore[arg-type]


@pytest.mark.parametrize("shapes", ["ragged", "padded:6", "pooled"])
def test_all_layers_of_sentences_can_be_kept(tmp_path: Path, shapes: str) -> None:
    found = tl.extract(Words(), sentences(), layers="all", to=tmp_path / "f", shapes=shapes, progress=False)

    last = found.layers[-1]
    assert found[last].shape == (5, 3)  # three units, and three tokens in the first batch
    assert found[last].dims == ("sample", "unit")
    counted = next(name for name in found.layers if name.startswith("float"))
    lengths = {"ragged": [3, 2, 5, 1, 2], "padded:6": [6] * 5}.get(shapes)
    if lengths is not None:
        assert [len(one) for one in found[counted]] == lengths
    embedded = next(name for name in found.layers if name.startswith("embedding"))
    if shapes == "pooled":
        own = Words().embedding
        words = ([5, 7, 9], [4, 2], [8, 8, 3, 2, 1])
        expected = torch.stack([own(torch.tensor(one)).mean(0) for one in words])
        assert numpy.allclose(found[embedded][:3], expected.detach().numpy(), atol=1e-6)


# --- data --------------------------------------------------------------------------------------------------


class Named(Dataset[Any]):
    classes = ("cat", "dog", "owl")

    def __len__(self) -> int:
        return 12

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        return X[number], number % 3


PARTS = [lambda one: one, lambda one: Subset(one, range(12)), lambda one: ConcatDataset([one])]


@pytest.mark.parametrize("wrapped", PARTS)
def test_classes_keep_their_names(tmp_path: Path, wrapped: Any) -> None:
    found = extracted(tmp_path / "f", wrapped(Named()))

    assert found.classes == ("cat", "dog", "owl")
    assert found.labels is not None
    assert found.labels[:4].tolist() == [0, 1, 2, 0]
    assert found.label_names is not None
    assert found.label_names[:4].tolist() == ["cat", "dog", "owl", "cat"]


def test_labels_that_are_no_numbers_of_classes_stay_what_they_are(tmp_path: Path) -> None:
    class Odd(Named):
        def __getitem__(self, number: int) -> tuple[Tensor, int]:
            return X[number], number

    found = extracted(tmp_path / "f", Odd())

    assert found.label_names is not None
    assert found.label_names.tolist() == list(range(12))


def test_pictures_that_nobody_made_tensors_of_are_told(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")

    class Pictures(Named):
        def __getitem__(self, number: int) -> Any:
            return image.new("L", (4, 4)), 0

    with pytest.raises(InputError, match="give the data set a transform that makes them"):
        extracted(tmp_path / "f", Pictures())


def test_samples_of_different_sizes_in_a_batch_are_told(tmp_path: Path) -> None:
    class Growing(Named):
        def __getitem__(self, number: int) -> Any:
            return torch.zeros(number + 1), 0

    with pytest.raises(InputError, match="have different shapes: make them alike"):
        extracted(tmp_path / "f", Growing())


# --- comparing ---------------------------------------------------------------------------------------------


def test_matrices_of_different_samples_are_not_compared(tmp_path: Path) -> None:
    found = extracted(tmp_path / "f")

    with pytest.raises(InputError, match="are of different items"):
        tl.features.compare_similarity(
            found.rsa("2", samples=[0, 1, 2, 3]), found.rsa("2", samples=[0, 1, 2, 5])
        )


def test_a_matrix_of_ones_own_is_compared_as_distances_in_the_order_of_the_samples(tmp_path: Path) -> None:
    found = extracted(tmp_path / "f", Named())
    alike = found.rsa("2")  # sorted by label
    back = numpy.argsort(alike.order)
    own = alike.distances[numpy.ix_(back, back)]

    assert tl.features.compare_similarity(alike, own) == pytest.approx(1.0)
    assert tl.features.compare_similarity(alike, -own) == pytest.approx(-1.0)
    with pytest.raises(InputError, match="no matrix of distances"):
        tl.features.compare_similarity(alike, own[:3])


def test_results_print_as_one_line(tmp_path: Path) -> None:
    found = extracted(tmp_path / "f", Named())

    assert repr(found.rsa("2")) == "<SimilarityMatrix of 12 items by correlation, sorted by label>"
    assert repr(found.probe("2", kind="ridge", folds=2)).startswith("<Probe, ridge: accuracy 0.")


def test_fractions_are_not_lost_in_whole_numbers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="values are fractions, the farthest"):
        extracted(tmp_path / "f", transform="int8")

    whole = extracted(tmp_path / "g", transform=[lambda values: (10 * values).round(), "int8"])
    assert whole["2"].dtype == numpy.int8
    assert whole["2"][:].any()
