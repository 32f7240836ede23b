"""What is computed in bounded memory stays in it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from torcheer.analysis import cka, compare_layers, probe, rsa

MEMORY = 64 << 20
WIDE = numpy.random.default_rng(0).normal(size=(150, 64_000)).astype(numpy.float32)  # 38 MB, 77 as float64
CLASSES = numpy.arange(150) % 3

WORK: dict[str, Callable[[int], Any]] = {
    "distances": lambda memory: rsa(WIDE, metric="euclidean", memory_bytes=memory).values,
    "cka": lambda memory: cka(WIDE, WIDE[:, :20_000], memory_bytes=memory),
    "layers": lambda memory: (
        compare_layers({"a": WIDE, "b": WIDE[:, :9_000]}, method="cka", memory_bytes=memory).values
    ),
    "ridge": lambda memory: probe(WIDE, CLASSES * 1.0, memory_bytes=memory, alpha=[1.0, 9.0]).predictions,
    "standardised": lambda memory: (
        probe(WIDE, CLASSES * 1.0, memory_bytes=memory, standardize=True, folds=2).predictions
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_a_layer_larger_than_the_memory_does_not_need_more(name: str) -> None:
    tracemalloc.start()
    try:
        found = WORK[name](MEMORY)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < MEMORY
    assert numpy.allclose(found, WORK[name](1 << 30), atol=1e-8)
