"""The digits of scikit-learn, parted into two."""

import sys

import pytest
import torch
from sklearn.datasets import load_digits as of_scikit_learn
from torch.utils.data import DataLoader

from torcheer.errors import InputError
from torcheer.training import load_digits


def test_every_digit_is_in_one_of_the_two_with_its_label() -> None:
    pixels, targets = of_scikit_learn(return_X_y=True)
    train, test = load_digits(num_test=400, seed=3)

    assert (len(train), len(test)) == (1397, 400)
    images, labels = (
        torch.cat([getattr(part, name) for part in (train, test)]) for name in ("images", "labels")
    )
    both = sorted(
        (*row, label) for row, label in zip((images * 16).flatten(1).tolist(), labels.tolist(), strict=True)
    )
    assert both == sorted((*row, label) for row, label in zip(pixels.tolist(), targets.tolist(), strict=True))


def test_the_same_seed_parts_them_in_the_same_way_and_draws_no_numbers() -> None:
    before = torch.get_rng_state()

    (train, test), (again, _), (other, _) = load_digits(), load_digits(), load_digits(seed=1)

    assert torch.equal(train.images, again.images)
    assert not torch.equal(train.labels, other.labels)
    assert torch.equal(torch.get_rng_state(), before)
    assert len(test) == 360


def test_a_loader_gives_batches_of_them() -> None:
    train, _ = load_digits()

    images, labels = next(iter(DataLoader(train, batch_size=8)))

    assert torch.equal(images, train.images[:8])
    assert torch.equal(labels, train.labels[:8])
    assert images.shape == (8, 1, 8, 8)
    assert train.classes[labels[0]] == str(labels[0].item())


def test_what_is_missing_or_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (0, 1797, -1):
        with pytest.raises(InputError, match="1 to 1796"):
            load_digits(num_test=number)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        load_digits()
