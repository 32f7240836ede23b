"""How CIFAR-10 and CIFAR-100 are published: which files in which folder, and the archive that holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from torcheer.training.data.cifarbatches import (
    BatchReader,
    NamesReader,
    binary_batch,
    listed_names,
    pickled_batch,
    pickled_names,
)
from torcheer.training.data.fetching import Published

_HOME: Final = "https://www.cs.toronto.edu/~kriz/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edition:
    """One of the two versions of a set."""

    folder: str
    archive: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    names: str  # the file with the names of the classes
    read_batch: BatchReader
    read_names: NamesReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Cifar:
    """A set in all its versions, the one that is looked for first in front."""

    title: str
    editions: tuple[Edition, ...]
    published: Published  # what is downloaded: the archive of the first version
    classes: tuple[str, ...] = ()  # where the file with the names is missing


CIFAR_10: Final = Cifar(
    title="CIFAR-10",
    editions=(
        Edition(
            folder="cifar-10-batches-py",
            archive="cifar-10-python.tar.gz",
            train=tuple(f"data_batch_{number}" for number in range(1, 6)),
            test=("test_batch",),
            names="batches.meta",
            read_batch=pickled_batch("labels"),
            read_names=pickled_names("label_names"),
        ),
        Edition(
            folder="cifar-10-batches-bin",
            archive="cifar-10-binary.tar.gz",
            train=tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
            test=("test_batch.bin",),
            names="batches.meta.txt",
            read_batch=binary_batch(1),
            read_names=listed_names,
        ),
    ),
    published=Published(
        address=f"{_HOME}cifar-10-python.tar.gz",
        sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        num_bytes=170_498_071,
    ),
    classes=(
        *("airplane", "automobile", "bird", "cat", "deer"),
        *("dog", "frog", "horse", "ship", "truck"),
    ),
)

CIFAR_100: Final = Cifar(
    title="CIFAR-100",
    editions=(
        Edition(
            folder="cifar-100-python",
            archive="cifar-100-python.tar.gz",
            train=("train",),
            test=("test",),
            names="meta",
            read_batch=pickled_batch("fine_labels"),
            read_names=pickled_names("fine_label_names"),
        ),
        Edition(
            folder="cifar-100-binary",
            archive="cifar-100-binary.tar.gz",
            train=("train.bin",),
            test=("test.bin",),
            names="fine_label_names.txt",
            read_batch=binary_batch(2),
            read_names=listed_names,
        ),
    ),
    published=Published(
        address=f"{_HOME}cifar-100-python.tar.gz",
        sha256="85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
        num_bytes=169_001_437,
    ),
)
