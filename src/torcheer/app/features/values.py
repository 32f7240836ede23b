"""A look at the values of a layer: some samples by some units, one unit, one sample."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy

from torcheer.app.featuremessages import (
    FeatureMapAnswer,
    FeatureMapQuestion,
    FeatureSampleAnswer,
    FeatureSampleQuestion,
    FeatureUnitAnswer,
    FeatureUnitQuestion,
)
from torcheer.app.features.choosing import MAX_NAME, Chosen, choose, label_text, rows_of
from torcheer.app.features.openset import Array, OpenSet
from torcheer.app.frames import binary_frame
from torcheer.app.runs.listing import clipped, finite
from torcheer.errors import InputError
from torcheer.features import StoredLayer, StoredRagged
from torcheer.graph import readable_bytes

MAX_READ_BYTES: Final = 512 << 20  # for one picture
_AT_ONCE_BYTES: Final = 32 << 20
_MAX_SAMPLE_VALUES: Final = 1 << 18
_MAX_SAMPLE_BYTES: Final = 1 << 30


def layer_of(opened: OpenSet, number: int) -> StoredLayer | StoredRagged:
    layers = opened.features().manifest.layers
    if number >= len(layers):
        raise InputError(f"this set has {len(layers):,} layers, and not one with the number {number:,}.")
    return opened.features()[layers[number].name]


def even_layer_of(opened: OpenSet, number: int) -> StoredLayer:
    """One whose samples all have the same shape."""
    layer = layer_of(opened, number)
    if isinstance(layer, StoredRagged):
        raise InputError(
            f"the samples of {clipped(layer.name, MAX_NAME)} have different shapes, so they cannot be put "
            "side by side: extract it with shapes='pooled', and they are alike."
        )
    if layer.dtype.kind == "c":
        raise InputError(f"{clipped(layer.name, MAX_NAME)} holds complex numbers, which are not drawn.")
    if not math.prod(layer.shape[1:]):
        raise InputError(f"{clipped(layer.name, MAX_NAME)} has no units.")
    return layer


def answer_map(opened: OpenSet, question: FeatureMapQuestion) -> bytes:
    layer = even_layer_of(opened, question.layer)
    num_units = math.prod(layer.shape[1:])
    row_bytes = num_units * layer.dtype.itemsize
    # What lies wide apart on the disk is read in whole rows.
    most = max(1, min(question.num_rows, MAX_READ_BYTES // row_bytes))
    chosen = choose(opened, most)
    units = (
        numpy.arange(min(num_units, question.num_columns)) * num_units // min(num_units, question.num_columns)
    )
    values = _read(layer, chosen, units)
    is_there = numpy.isfinite(values)
    answer = FeatureMapAnswer(
        id=question.id,
        rows=rows_of(opened, chosen),
        units=units.tolist(),
        num_units=num_units,
        low=float(values[is_there].min()) if is_there.any() else None,
        high=float(values[is_there].max()) if is_there.any() else None,
        num_bad=int((~is_there).sum()),
    )
    return binary_frame(answer, values.tobytes())


def answer_unit(opened: OpenSet, question: FeatureUnitQuestion) -> bytes:
    layer = even_layer_of(opened, question.layer)
    num_units = math.prod(layer.shape[1:])
    if question.unit >= num_units:
        raise InputError(f"this layer has {num_units:,} units: give a number from 0 to {num_units - 1:,}.")
    most = max(1, min(question.num_rows, MAX_READ_BYTES // (num_units * layer.dtype.itemsize)))
    chosen = choose(opened, most)
    place = [int(one) for one in numpy.unravel_index(question.unit, layer.shape[1:])]
    values = _read(layer, chosen, numpy.array([question.unit]))
    answer = FeatureUnitAnswer(id=question.id, rows=rows_of(opened, chosen), place=place)
    return binary_frame(answer, values.tobytes())


def answer_sample(opened: OpenSet, question: FeatureSampleQuestion) -> bytes:
    layer = layer_of(opened, question.layer)
    if layer.dtype.kind == "c":
        raise InputError(f"{clipped(layer.name, MAX_NAME)} holds complex numbers, which are not drawn.")
    if question.sample >= len(layer):
        raise InputError(f"there is no sample {question.sample:,}: there are {len(layer):,}.")
    if isinstance(layer, StoredLayer):
        num_bytes = math.prod(layer.shape[1:]) * layer.dtype.itemsize
        if num_bytes > _MAX_SAMPLE_BYTES:
            raise InputError(
                f"one sample of this layer takes {readable_bytes(num_bytes)}, too much to be shown."
            )
    whole = numpy.asarray(layer[question.sample])
    flat = whole.reshape(-1)
    count = min(flat.size, _MAX_SAMPLE_VALUES)
    units = numpy.arange(count) * flat.size // max(1, count)
    labels = opened.labels()
    figures = _figures(flat)
    answer = FeatureSampleAnswer(
        id=question.id,
        sample=question.sample,
        name=clipped(str(opened.features().ids[question.sample]), MAX_NAME),
        label="" if labels is None else label_text(labels[question.sample]),
        shape=list(whole.shape),
        units=() if count == flat.size else units.tolist(),
        num_units=flat.size,
        **figures,
    )
    return binary_frame(answer, flat[units].astype("<f4").tobytes())


def _figures(flat: Array) -> dict[str, Any]:
    values = flat.astype(numpy.float64)
    values = values[numpy.isfinite(values)]
    return {
        "mean": finite(float(values.mean())) if values.size else None,
        "std": finite(float(values.std())) if values.size else None,
        "low": float(values.min()) if values.size else None,
        "high": float(values.max()) if values.size else None,
        "num_zeros": int((flat == 0).sum()),
        "num_bad": int(flat.size - values.size),
    }


def _read(layer: StoredLayer, chosen: Chosen, units: Array) -> Array:
    """Samples by units as float32, some rows at a time, in the order in which they were chosen."""
    order = numpy.argsort(chosen.samples, kind="stable")
    rising = chosen.samples[order]
    row_bytes = math.prod(layer.shape[1:]) * layer.dtype.itemsize
    step = max(1, _AT_ONCE_BYTES // row_bytes)
    values = numpy.empty((len(rising), len(units)), "<f4")
    with numpy.errstate(over="ignore"):
        for start in range(0, len(rising), step):
            some = numpy.asarray(layer[rising[start : start + step]])
            values[order[start : start + step]] = some.reshape(len(some), -1)[:, units]
    return values
