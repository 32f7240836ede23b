"""Samples of different shapes: padded, ragged and pooled, against what each sample gives by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.features import Padded, Pooled, Ragged, extract
from torcheer.features.dimensions import read_shapes

LENGTHS = [5, 2, 4, 1, 3, 3]


class Words(nn.Module):
    """Each token by itself, so that a sample alone has the values that it has among others."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.embed = nn.Embedding(30, 4)
            self.head = nn.Linear(4, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        return self.head(self.embed(input_ids).sin())


def batches(side: str, size: int = 2) -> list[dict[str, Tensor]]:
    """Padded to the longest of each batch, on the left or on the right."""
    found = []
    for first in range(0, len(LENGTHS), size):
        lengths = LENGTHS[first : first + size]
        longest = max(lengths)
        ids = torch.full((len(lengths), longest), 29)
        mask = torch.zeros(len(lengths), longest, dtype=torch.long)
        for row, length in enumerate(lengths):
            place = slice(longest - length, None) if side == "left" else slice(length)
            ids[row, place] = torch.arange(length) + 5 * (first + row) % 20
            mask[row, place] = 1
        found.append({"input_ids": ids, "attention_mask": mask})
    return found


def alone(layer: str = "head") -> list[Any]:
    """What each sample gives without any padding."""
    model, found = Words(), []
    for number, length in enumerate(LENGTHS):
        ids = (torch.arange(length) + 5 * number % 20)[None]
        with torch.no_grad():
            found.append((model.embed(ids) if layer == "embed" else model(ids))[0].numpy())
    return found


@pytest.fixture(params=["left", "right"])
def data(request: pytest.FixtureRequest) -> list[dict[str, Tensor]]:
    return batches(request.param)


def run(data: Any, to: Path, **options: Any) -> Any:
    return extract(Words(), data, **{"layers": ["embed", "head"], "to": to, "progress": False, **options})


def test_padded_samples_begin_at_the_first_place_and_their_lengths_are_kept(
    data: Any, tmp_path: Path
) -> None:
    features = run(data, tmp_path / "f", shapes=Padded(7, value=-1.0))

    assert features["head"].shape == (6, 7, 3)
    assert features.lengths.tolist() == LENGTHS
    for row, expected in zip(features["head"][:], alone(), strict=True):
        assert numpy.allclose(row[: len(expected)], expected, atol=1e-6)
        assert (row[len(expected) :] == -1).all()


def test_ragged_samples_are_as_long_as_they_are(data: Any, tmp_path: Path) -> None:
    features = run(data, tmp_path / "f", shapes="ragged")

    layer = features["head"]
    assert layer.shapes == [(length, 3) for length in LENGTHS]
    for sample, expected in zip(layer, alone(), strict=True):
        assert numpy.allclose(sample, expected, atol=1e-6)
    assert layer[-1].shape == (3, 3)
    assert [one.shape[0] for one in layer[4::-2]] == [3, 4, 5]
    assert [one.shape[0] for one in layer[[1, 0]]] == [2, 5]
    assert [one.shape[0] for one in layer[numpy.array(LENGTHS) > 3]] == [5, 4]
    with pytest.raises(IndexError):
        layer[6]
    whole, shapes = layer.padded()
    assert whole.shape == (6, 5, 3)
    assert shapes[:, 0].tolist() == LENGTHS
    assert "6 samples of (?, 3)" in repr(layer)


@pytest.mark.parametrize("kind", ["mean", "max"])
def test_pooled_samples_leave_out_what_does_not_count(kind: Any, data: Any, tmp_path: Path) -> None:
    features = run(data, tmp_path / "f", shapes=Pooled(kind))

    expected = numpy.stack([getattr(one, kind)(axis=0) for one in alone("embed")])
    assert features["embed"].dims == ("sample", "unit")
    assert numpy.allclose(features["embed"][:], expected, atol=1e-6)


def test_without_a_choice_the_three_are_named(data: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Padded\(128\), 'ragged' or 'pooled'"):
        run(data, tmp_path / "f")


def test_a_sample_that_is_too_long_says_how_long(data: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"give Padded\(5\) or more"):
        run(data, tmp_path / "f", shapes="padded:4")


def test_a_mask_that_is_given_by_its_place_counts_too(tmp_path: Path) -> None:
    data = [(one["input_ids"], one["attention_mask"], torch.zeros(2)) for one in batches("left")]

    features = run(data, tmp_path / "f", shapes=Ragged)

    assert features["head"].shapes == [(length, 3) for length in LENGTHS]


def test_tokens_without_a_mask_count_all(tmp_path: Path) -> None:
    features = run([torch.ones(2, 5).long(), torch.ones(2, 3).long()], tmp_path / "f", shapes="ragged")

    assert features["head"].shapes == [(5, 3), (5, 3), (3, 3), (3, 3)]


class TwoSequences(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Embedding(30, 4))
        self.decoder = nn.Sequential(nn.Embedding(30, 4))

    def forward(
        self,
        input_ids: Tensor,
        decoder_input_ids: Tensor,
        attention_mask: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
    ) -> Tensor:
        return self.encoder(input_ids).mean(1, keepdim=True) + self.decoder(decoder_input_ids)


@pytest.mark.parametrize("num_tokens", [3, 5])
@pytest.mark.parametrize("has_mask", [False, True])
def test_a_decoder_has_a_mask_of_its_own(num_tokens: int, has_mask: bool, tmp_path: Path) -> None:
    data = {**batches("right", 6)[0], "decoder_input_ids": torch.ones(6, num_tokens).long()}
    if has_mask:
        data["decoder_attention_mask"] = (torch.arange(num_tokens) < 2).long().expand(6, -1).clone()

    features = extract(
        TwoSequences(), data, layers="modules", to=tmp_path / "f", shapes="ragged", progress=False
    )

    assert features["encoder.0"].shapes == [(length, 4) for length in LENGTHS]
    assert features["decoder.0"].shapes == [(2 if has_mask else num_tokens, 4)] * 6


SIZES = [(8, 6), (5, 9), (7, 7)]


@pytest.mark.parametrize("is_stream", [True, False])
def test_pictures_of_different_sizes_one_by_one(is_stream: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    # As many channels as the first picture is high: they must not be taken for it.
    model, pictures = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU()), [torch.randn(3, *size) for size in SIZES]
    data: Any = [picture[None] for picture in pictures] if is_stream else Pictures(pictures)
    options = {"layers": ["1"], "progress": False} | ({} if is_stream else {"batch_size": 1})
    with torch.no_grad():
        expected = [model(picture[None])[0].numpy() for picture in pictures]

    ragged = extract(model, data, to=tmp_path / "ragged", shapes="ragged", **options)
    pooled = extract(model, data, to=tmp_path / "pooled", shapes="pooled", **options)
    padded = extract(model, data, to=tmp_path / "padded", shapes="padded:9x10", **options)

    assert all(numpy.array_equal(a, b) for a, b in zip(ragged["1"], expected, strict=True))
    assert numpy.allclose(pooled["1"][:], [one.mean((1, 2)) for one in expected], atol=1e-6)
    assert padded["1"].shape == (3, 8, 9, 10)
    assert numpy.array_equal(padded["1"][1, :, :5, :9], expected[1])
    assert padded["1"][1, :, 5:].sum() == padded["1"][1, :, :, 9:].sum() == 0


class Pictures:
    def __init__(self, pictures: list[Tensor]) -> None:
        self.pictures = pictures

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, number: int) -> Tensor:
        return self.pictures[number]


def test_ragged_layers_take_no_transform_that_changes_shapes(data: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="need samples of one shape"):
        run(data, tmp_path / "f", shapes="ragged", transform="flatten")

    assert run(data, tmp_path / "g", shapes="ragged", transform="float16")["head"].dtype == "float16"


@pytest.mark.parametrize(
    ("words", "choice"),
    [
        ("ragged", Ragged()),
        ("pooled", Pooled()),
        ("pooled:max", Pooled("max")),
        ("padded:12", Padded(12)),
        ("padded:3x4", Padded((3, 4))),
        (Ragged, Ragged()),
        (None, None),
    ],
)
def test_choices_are_read_from_words(words: Any, choice: Any) -> None:
    assert read_shapes(words) == choice


@pytest.mark.parametrize(
    "words", ["padded", "padded:", "padded:-1", "padded:0", "pooled:min", "ragged:3", "", 3, Padded]
)
def test_choices_that_are_none_are_told(words: Any) -> None:
    with pytest.raises(InputError):
        read_shapes(words)
