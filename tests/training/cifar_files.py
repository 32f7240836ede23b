"""Write small sets in CIFAR's own format, as the published files have it."""

import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy
import pytest
from numpy.typing import NDArray

from tests.vision import torchvision

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


class Part(NamedTuple):
    """What one file holds."""

    pixels: NDArray[numpy.uint8]  # a row for each picture: all red ones, all green ones, all blue ones
    labels: list[int]


def random_parts(num_each: int = 4, num_classes: int = 10, seed: int = 0) -> dict[str, Part]:
    """The five files to train with and the one to test with."""
    generator = numpy.random.default_rng(seed)
    return {
        name: Part(
            generator.integers(0, 256, (num_each, 3072), numpy.uint8),
            generator.integers(0, num_classes, num_each).tolist(),
        )
        for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
    }


def write_python_version(root: Path, parts: Mapping[str, Part], protocol: int = 2) -> Path:
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name, part in parts.items():
        entries = {
            "batch_label": name,
            "labels": part.labels,
            "data": part.pixels,
            "filenames": [f"{number}.png" for number in range(len(part.labels))],
        }
        (folder / name).write_bytes(pickle.dumps(entries, protocol))
    meta = {"num_cases_per_batch": 4, "label_names": NAMES, "num_vis": 3072}
    (folder / "batches.meta").write_bytes(pickle.dumps(meta, protocol))
    return folder


@contextmanager
def published() -> Iterator[None]:
    """torchvision takes small sets of ours for the published one."""
    cifar = torchvision.datasets.CIFAR10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cifar, "train_list", [(name, None) for name, _ in cifar.train_list])
        patch.setattr(cifar, "test_list", [(name, None) for name, _ in cifar.test_list])
        patch.setattr(cifar, "meta", MappingProxyType({**cifar.meta, "md5": None}))
        yield


def learnable_parts(num_each: int = 90, num_test: int = 40, seed: int = 0) -> dict[str, Part]:
    """Each class has a pattern of its own, below some noise."""
    generator = numpy.random.default_rng(seed)
    patterns = (
        generator.integers(0, 2, (len(NAMES), 3, 4, 4)).repeat(8, 2).repeat(8, 3).reshape(len(NAMES), -1)
    )
    parts = {}
    for name, part in random_parts(num_each, seed=seed).items():
        labels = part.labels[:num_test] if name == "test_batch" else part.labels
        noise = generator.integers(0, 56, (len(labels), 3072))
        parts[name] = Part((patterns[labels] * 200 + noise).astype(numpy.uint8), labels)
    return parts
