"""Transforms that have to look at data first: fitted on the first samples, once for all processes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from torch import Tensor

from torcheer.errors import FileFormatError, InputError
from torcheer.features.planning import Plan, PlannedLayer
from torcheer.features.stores.protocol import Store
from torcheer.features.transforms.protocol import Fitted

Batches = Callable[[Plan, int], Iterator[tuple[Any, list[Tensor], int]]]


def fit_transforms(plan: Plan, store: Store, batches: Batches, say: Callable[[str], None]) -> None:
    """What another process has found out already is taken from it."""
    depth = max((len(layer.chain.fitted) for layer in plan.layers), default=0)
    for level in range(depth):
        open_ones = [
            layer
            for layer in plan.layers
            if len(layer.chain.fitted) > level and not _restored(layer, level, store)
        ]
        if open_ones:
            _fit(plan, open_ones, level, store, batches, say)


def _fit(
    plan: Plan,
    layers: list[PlannedLayer],
    level: int,
    store: Store,
    batches: Batches,
    say: Callable[[str], None],
) -> None:
    parts = [layer.chain.fitted[level] for layer in layers]
    most = max(part.num_samples for _, part in parts)
    say(f"fitting {parts[0][0].partition('_')[2]} of {len(layers)} layers to the first {most:,} samples")
    seen = 0
    for samples, values, number in batches(plan, most):
        for layer, (key, part) in zip(layers, parts, strict=True):
            if seen < part.num_samples:
                rows = layer.before_transforms(values[plan.layers.index(layer)], samples, number)
                if isinstance(rows, list):
                    raise InputError(f"{layer.choice.name} is ragged: {key} needs samples of one shape.")
                layer.chain.look(part, rows)
        seen += samples.num_samples
    for layer, (key, part) in zip(layers, parts, strict=True):
        part.finish()
        content = io.BytesIO()
        arrays: dict[str, Any] = dict(part.state())
        numpy.savez(content, **arrays)
        kept = store.write_new(_name(layer, key), content.getvalue())
        _restore(part, kept, layer)


def _restored(layer: PlannedLayer, level: int, store: Store) -> bool:
    key, part = layer.chain.fitted[level]
    content = store.read(_name(layer, key))
    if content is not None:
        _restore(part, content, layer)
    return content is not None


def _restore(part: Fitted, content: bytes, layer: PlannedLayer) -> None:
    try:
        with numpy.load(io.BytesIO(content), allow_pickle=False) as state:
            part.restore(dict(state))
    except InputError:  # it says itself why it is not of this layer
        raise
    except (ValueError, OSError, KeyError) as error:
        raise FileFormatError(f"what was fitted to {layer.choice.name} is damaged: {error}.") from error


def _name(layer: PlannedLayer, key: str) -> str:
    return f"{layer.spec.file}.{key}.npz"
