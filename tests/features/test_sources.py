"""Every kind of data gives the same features: values, labels and ids, each in its place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    Sampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from torcheer.errors import InputError
from torcheer.features import extract
from torcheer.features.saved_features import Features
from torcheer.features.sources import source_of

NUM = 11
torch.manual_seed(0)
X, Y = torch.randn(NUM, 4), torch.arange(NUM)
NET = nn.Sequential(nn.Linear(4, 3), nn.ReLU())


def extracted(data: Any, to: Path, **options: Any) -> Features:
    return extract(NET, data, layers=["1"], to=to, progress=False, **options)


def expected(x: Tensor, sizes: tuple[int, ...]) -> NDArray[Any]:
    with torch.no_grad():
        return torch.cat([NET(part) for part in x.split(list(sizes))]).numpy()


def check(
    features: Features, order: Any = range(NUM), sizes: tuple[int, ...] = (4, 4, 3), labels: bool = True
) -> None:
    order = list(order)
    assert numpy.array_equal(features["1"][:], expected(X[order], sizes))
    assert features.is_complete
    if labels:
        assert features.labels is not None
        assert features.labels.tolist() == Y[order].tolist()


class Uneven(Sampler[list[int]]):
    def __iter__(self) -> Iterator[list[int]]:
        return iter([[10, 2], [0], [5, 6, 7, 1]])

    def __len__(self) -> int:
        return 3


def collated(items: list[Any]) -> dict[str, Any]:
    return {"input": torch.stack([x for x, _ in items]), "labels": torch.tensor([int(y) for _, y in items])}


SET = TensorDataset(X, Y)
BATCHES = [(X[:4], Y[:4]), (X[4:8], Y[4:8]), (X[8:], Y[8:])]


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(zip(X, Y, strict=True))


class InRows(Dataset[Any]):
    """Gives several samples at once."""

    def __len__(self) -> int:
        return NUM

    def __getitem__(self, number: int) -> Any:
        return X[number], Y[number]

    def __getitems__(self, numbers: list[int]) -> Any:
        return [self[number] for number in numbers]


@pytest.mark.parametrize(
    "data",
    [
        DataLoader(SET, 4),
        DataLoader(SET, 4, shuffle=True),
        DataLoader(SET, 4, collate_fn=collated),
        DataLoader(SET, 4, sampler=DistributedSampler(SET, 2, 1)),
        DataLoader(Stream(), 4),
        DataLoader(BATCHES, batch_size=None),  # type: ignore[arg-type]
        BATCHES,
    ],
    ids=["loader", "shuffled", "collated", "dealt out", "stream", "batches", "list of batches"],
)
def test_what_gives_batches(data: Any, tmp_path: Path) -> None:
    check(extracted(data, tmp_path / "f"))


@pytest.mark.parametrize(
    "data",
    [
        SET,
        ConcatDataset([Subset(SET, range(5)), Subset(SET, range(5, NUM))]),
        InRows(),
        (X, Y),
        (X.numpy(), Y.numpy()),
        (numpy.asfortranarray(X.numpy()), Y.numpy().astype(">i8")),
        {"input": X, "labels": Y},
        {"input": X, "labels": Y.tolist(), "texts": ["for people"] * NUM},
        Stream(),
    ],
    ids=["set", "joined", "in rows", "tensors", "arrays", "odd arrays", "dict", "dict with texts", "stream"],
)
def test_what_gives_samples(data: Any, tmp_path: Path) -> None:
    check(extracted(data, tmp_path / "f", batch_size=4))


def test_two_workers(tmp_path: Path) -> None:
    check(extracted(DataLoader(SET, 4, num_workers=2), tmp_path / "f"))


def test_inputs_alone_have_no_labels(tmp_path: Path) -> None:
    features = extracted(X, tmp_path / "f", batch_size=4)

    check(features, labels=False)
    assert features.labels is None
    assert features.ids.tolist() == list(range(NUM))


def test_one_sample(tmp_path: Path) -> None:
    check(extracted(X[:1], tmp_path / "f"), [0], (1,), labels=False)


def test_a_last_batch_of_one(tmp_path: Path) -> None:
    check(extracted(SET, tmp_path / "f", batch_size=5), sizes=(5, 5, 1))


def test_a_batch_sampler_of_the_user(tmp_path: Path) -> None:
    features = extracted(DataLoader(SET, batch_sampler=Uneven()), tmp_path / "f")

    check(features, [10, 2, 0, 5, 6, 7, 1], (2, 1, 4))
    assert features.ids.tolist() == [10, 2, 0, 5, 6, 7, 1]


def test_part_of_a_data_set(tmp_path: Path) -> None:
    check(extracted(Subset(SET, [3, 1, 9, 8, 2]), tmp_path / "f", batch_size=4), [3, 1, 9, 8, 2], (4, 1))


def test_a_sampler_that_shuffles_a_part_gives_it_in_its_own_order(tmp_path: Path) -> None:
    loader = DataLoader(SET, 4, sampler=SubsetRandomSampler([3, 1, 9, 8, 2]))

    check(extracted(loader, tmp_path / "f"), [3, 1, 9, 8, 2], (4, 1))


def test_a_sampler_that_draws_gives_the_same_each_time(tmp_path: Path) -> None:
    loader = DataLoader(SET, 4, sampler=WeightedRandomSampler([1.0] * NUM, NUM))
    one = extracted(loader, tmp_path / "1").ids
    torch.manual_seed(9)

    assert extracted(loader, tmp_path / "2").ids.tolist() == one.tolist()


def test_what_a_loader_would_drop_is_extracted_and_told(tmp_path: Path) -> None:
    features = extracted(DataLoader(SET, 4, drop_last=True), tmp_path / "f")

    check(features)
    assert any("drops its last batch" in note for note in features.manifest.notes)


class Doubling(DataLoader[Any]):
    def __iter__(self) -> Any:
        return ((2 * x, y) for x, y in super().__iter__())


def test_a_loader_that_changes_its_batches_is_asked_for_them(tmp_path: Path) -> None:
    features = extracted(Doubling(SET, 4), tmp_path / "f")

    assert numpy.array_equal(features["1"][:], expected(2 * X, (4, 4, 3)))


def test_a_file_that_is_mapped_into_memory_and_must_not_be_written_to(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    numpy.save(tmp_path / "x.npy", X.numpy())

    features = extracted(numpy.load(tmp_path / "x.npy", mmap_mode="r"), tmp_path / "f", batch_size=4)

    check(features, labels=False)
    assert not [warning for warning in recwarn if "writable" in str(warning.message)]


def test_arrays_that_run_backwards(tmp_path: Path) -> None:
    features = extracted((X.numpy()[::-1], Y.numpy()[::-1]), tmp_path / "f", batch_size=4)

    check(features, range(NUM - 1, -1, -1))


class Opening(Dataset[Any]):
    """Opens its file when it is first asked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: Any = None

    def __len__(self) -> int:
        return NUM

    def __getitem__(self, number: int) -> Any:
        if self.file is None:
            self.file = open(self.path, "rb", buffering=0)  # noqa: SIM115
        self.file.seek(16 * number)
        return torch.frombuffer(bytearray(self.file.read(16)), dtype=torch.float32), Y[number]


def test_where_workers_read_this_process_opens_no_file_that_they_would_share(tmp_path: Path) -> None:
    X.numpy().tofile(tmp_path / "x")
    data = Opening(tmp_path / "x")

    check(extracted(DataLoader(data, 4, num_workers=2), tmp_path / "f"))

    assert data.file is None


class Augmented(Dataset[Any]):
    def __len__(self) -> int:
        return NUM

    def __getitem__(self, number: int) -> Any:
        return X[number] + torch.randn(4) + float(numpy.random.rand()) + random.random(), Y[number]


def test_chance_in_a_data_set_is_the_same_with_and_without_workers(tmp_path: Path) -> None:
    one = extracted(DataLoader(Augmented(), 4), tmp_path / "1")["1"][:]
    other = extracted(DataLoader(Augmented(), 4, num_workers=2), tmp_path / "2")["1"][:]

    assert numpy.array_equal(one, other)


def test_data_stay_where_they_are_whatever_the_default_device() -> None:
    with torch.device("meta"):
        source = source_of({"input": X, "labels": Y.tolist()}, 4)

    assert source.first()["input"].tolist() == X[:4].tolist()
    assert source.first()["labels"].tolist() == Y[:4].tolist()


# --- labels -----------------------------------------------------------------------------------------------


def labels_of(labels: Any, tmp_path: Path, **options: Any) -> Any:
    return extracted((X, labels), tmp_path / "f", **options).labels


def test_labels_of_several_numbers(tmp_path: Path) -> None:
    labels = torch.randn(NUM, 2, 3, dtype=torch.float64)

    assert numpy.array_equal(labels_of(labels, tmp_path), labels.numpy())


def test_labels_of_half_precision(tmp_path: Path) -> None:
    labels = torch.randn(NUM).bfloat16()

    assert numpy.array_equal(labels_of(labels, tmp_path), labels.float().numpy())


def test_labels_that_are_texts(tmp_path: Path) -> None:
    data = [(X[:6], list("abcdef")), (X[6:], ["g", "long", "i", "é", ""])]

    features = extracted(data, tmp_path / "f")

    assert features.labels is not None
    assert features.labels.tolist() == ["a", "b", "c", "d", "e", "f", "g", "long", "i", "é", ""]


class Labelled(Dataset[Any]):
    def __init__(self, label: Any) -> None:
        self.label = label

    def __len__(self) -> int:
        return NUM

    def __getitem__(self, number: int) -> Any:
        return X[number], self.label(number)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_labels_that_are_tuples_of_numbers_are_rows_whatever_the_batch(size: int, tmp_path: Path) -> None:
    data = Labelled(lambda number: (number, number + 0.5, 2 * number, 0))

    features = extracted(data, tmp_path / "f", batch_size=size)

    assert features.labels is not None
    assert features.labels.tolist() == [[n, n + 0.5, 2 * n, 0] for n in range(NUM)]


def test_labels_that_cannot_be_kept_are_left_out_with_a_note(tmp_path: Path) -> None:
    features = extracted(Labelled(lambda number: {"a": number}), tmp_path / "f")

    assert features.labels is None
    assert any("the labels are not kept" in note for note in features.manifest.notes)


def test_labels_of_another_kind_in_a_later_batch_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="labels of batch 1"):
        extracted([(X[:4], Y[:4]), (X[4:], torch.randn(7, 2))], tmp_path / "f")


# --- ids --------------------------------------------------------------------------------------------------


def test_given_ids(tmp_path: Path) -> None:
    ids = [f"sample {number}" for number in range(NUM)]

    assert extracted(SET, tmp_path / "f", ids=ids).ids.tolist() == ids


def test_ids_by_the_key_of_a_batch(tmp_path: Path) -> None:
    data = {"input": X, "labels": Y, "name": [f"n{n}" for n in range(NUM)], "number": 3 * Y}

    assert extracted(data, tmp_path / "1", ids="name", batch_size=4).ids.tolist() == data["name"]
    assert extracted(data, tmp_path / "2", ids="number", batch_size=4).ids.tolist() == (3 * Y).tolist()


def test_ids_of_pictures_are_their_files(tmp_path: Path) -> None:
    from PIL import Image

    from torcheer.training import ImageFolder

    for kind in ("cat", "dog"):
        (tmp_path / "data" / kind).mkdir(parents=True)
        for number in range(2):
            Image.new("RGB", (2, 2), (number, 0, 0)).save(tmp_path / "data" / kind / f"{number}.png")
    data = ImageFolder(tmp_path / "data", lambda picture: torch.zeros(4))

    features = extracted(data, tmp_path / "f")

    assert features.ids.tolist() == ["cat/0.png", "cat/1.png", "dog/0.png", "dog/1.png"]
    assert features.labels is not None
    assert features.labels.tolist() == [0, 0, 1, 1]


class Texts(Dataset[Any]):
    samples = ("/begins with a stroke", "and/or", "plain")

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, number: int) -> Any:
        return X[number]


def test_texts_that_look_like_paths_are_left_as_they_are(tmp_path: Path) -> None:
    assert extracted(Texts(), tmp_path / "f").ids.tolist() == list(Texts.samples)


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ((batch for batch in BATCHES), {}, "gone through only once"),
        (iter(DataLoader(SET, 4)), {}, "gone through only once"),
        ([], {}, "the data are empty"),
        (X[:0], {}, "the data are empty"),
        ({}, {}, "the data are empty"),
        (DataLoader(SET, 4, sampler=[]), {}, "the data are empty"),
        ("data", {}, "holds no samples"),
        (3, {}, "holds no samples"),
        (torch.tensor(3.0), {}, "must be numbers or texts, one for each sample"),
        ({"input": X, "labels": Y[:5]}, {}, "different numbers of samples"),
        ({"input": X, "odd": object()}, {}, "the entry 'odd' must be numbers or texts"),
        ({"nothing": X}, {}, "the model takes nothing"),
        ([([torch.randn(3, 4)] * 2, [{}, {}])], {}, "a list of 2 tensors, one for each sample"),
        (SET, {"batch_size": 0}, "give a whole number from 1 on"),
        (SET, {"batch_size": True}, "give a whole number from 1 on"),
        (DataLoader(SET, 4), {"batch_size": 5}, "the loader's is 4"),
        (BATCHES, {"batch_size": 5}, "batch_size goes with a data set"),
        (SET, {"ids": ["a"]}, "there are 1 ids for 11 samples"),
        (SET, {"ids": "name"}, "the batches have no names"),
        ({"input": X}, {"ids": "name"}, "the batches have no such entry, but input"),
        (BATCHES, {"ids": ["a"] * NUM}, "ids cannot be given for a stream"),
        (SET, {"seed": -1}, "give a whole number from 0 on"),
        (SET, {"shapes": "odd"}, "'ragged' or 'pooled'"),
        (SET, {"device": "nowhere"}, "cannot be used here"),
    ],
)
def test_what_cannot_be_meant_is_told(data: Any, options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        extracted(data, tmp_path / "f", **options)

    assert not (tmp_path / "f").exists()


# --- a list of samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sample",
    [
        lambda n: {"input": X[n], "labels": int(Y[n])},
        lambda n: {"input": X[n].numpy(), "labels": Y[n], "text": "for people"},
        lambda n: {"input": X[n].tolist(), "labels": n},
        lambda n: (X[n], n),
    ],
    ids=["tensors", "arrays", "lists", "pairs"],
)
def test_a_list_of_samples_with_a_batch_size_is_a_data_set(sample: Any, tmp_path: Path) -> None:
    data = [sample(number) for number in range(NUM)]

    features = extracted(data, tmp_path / "f", batch_size=4)

    check(features)
    assert features.ids is not None
    assert features.ids.tolist() == list(range(NUM))
    assert "list of 11 samples" in str(features)
    assert extracted(data, tmp_path / "f", batch_size=4).is_complete
    data[3], data[4] = data[4], data[3]
    with pytest.raises(InputError, match="of other data"):
        extracted(data, tmp_path / "f", batch_size=4)


def test_a_list_of_dicts_without_a_batch_size_is_one_of_batches(tmp_path: Path) -> None:
    check(extracted([{"input": X[:6], "labels": Y[:6]}, {"input": X[6:], "labels": Y[6:]}], tmp_path / "f"),
          sizes=(6, 5))  # fmt: skip


def test_samples_that_are_taken_for_batches_are_told_what_they_need(tmp_path: Path) -> None:
    for label in (1, torch.tensor(1), numpy.array(1)):
        with pytest.raises(InputError, match=r"list of samples.*batch_size=32"):
            extracted([{"input": X[n], "labels": label} for n in range(4)], tmp_path / "f")
    # Without labels nobody knows: what the model says of it stays, with a word beside it.
    with pytest.raises(RuntimeError) as caught:
        extracted([{"input": X[n][:-1]} for n in range(4)], tmp_path / "f")
    assert any("give batch_size=, such as batch_size=32" in note for note in caught.value.__notes__)
