"""Samples of a layer as points: all units where they are few, else on their principal axes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Literal

import msgspec
import numpy

from torcheer.analysis import Metric, SimilarityMatrix, compare_layers, probe, rsa
from torcheer.app.features.feature_messages import FeatureProbe
from torcheer.app.features.feature_sets import Array, Indices
from torcheer.app.features.feature_values import MAX_NAME, even_layer, label_text, read_rows
from torcheer.app.processes import Report, Reports, begin_reports, end_with_input
from torcheer.app.shared_analyses import Contrast, contrast_of, principal_places, undefined_words
from torcheer.app.wire import clipped, copied, finite
from torcheer.errors import InputError, TorcheerError
from torcheer.features import Features, StoredLayer, open_features
from torcheer.graph import readable_bytes

MOST_DIMS: Final = 512  # points of more are brought to their principal axes
NUM_AXES: Final = 64
_MAX_POINT_BYTES: Final = 2 << 30


def principal_points(
    layer: StoredLayer, samples: Indices, says: Callable[[float], None]
) -> tuple[Array, str]:
    """A row for each sample, in their order, and what is to be known of them."""
    num_units = math.prod(layer.shape[1:])
    if len(samples) * num_units * 4 > _MAX_POINT_BYTES:
        raise InputError(
            f"{len(samples):,} samples of this layer take {readable_bytes(4 * len(samples) * num_units)} of "
            "memory: take fewer samples."
        )
    points = read_rows(layer, samples, says=lambda share: says(share / 2))
    if num_units <= MOST_DIMS:
        return points, ""
    is_there = numpy.isfinite(points).all(axis=1)
    places = numpy.full(
        (len(samples), min(NUM_AXES, max(1, int(is_there.sum()) - 1))), numpy.nan, numpy.float32
    )
    found, share = principal_places(points[is_there], places.shape[1])
    places[is_there] = found
    note = (
        f"{num_units:,} units were brought to their {places.shape[1]} principal axes, which hold {share:.0%} "
        "of the variance."
    )
    return places, note


_MOST_CONFUSED: Final = 60  # labels, in a table that can be looked at
_CHECK_BYTES: Final = 32 << 20
_READING: Final = 0.3  # of the work


class Order(msgspec.Struct, frozen=True, kw_only=True):
    place: str
    task: Literal["similarity", "layers", "probes", "points"]
    layers: list[int]
    samples: list[int]  # in the order of the answer
    label_of: list[int] = []  # classes as numbers, one for each of them
    metric: Metric = "correlation"
    method: Literal["rsa", "cka"] = "rsa"
    kind: Literal["auto", "ridge", "logistic"] = "auto"
    folds: int = 5


class Finding(Report, frozen=True, kw_only=True):
    at: int | None = None  # the layer that is looked at
    samples: tuple[int, ...] = ()  # that were taken, in the order of the numbers
    contrast: Contrast | None = None
    probe: FeatureProbe | None = None
    layers: tuple[int, ...] = ()
    left_out: dict[str, str] = msgspec.field(default_factory=dict)
    num_rows: int = 0  # of the numbers that follow


class CountedRows:
    """A layer that says each time how many of its rows were read."""

    def __init__(self, layer: StoredLayer, says: Callable[[int], None]) -> None:
        self._layer = layer
        self._says = says
        self.shape = layer.shape
        self.dtype = layer.dtype

    def __len__(self) -> int:
        return len(self._layer)

    def __getitem__(self, key: Any) -> Any:
        found = self._layer[key]
        self._says(len(found))
        return found


def _reading(reports: Reports, num_rows: int) -> Callable[[int], None]:
    num_read = 0

    def add(count: int) -> None:
        nonlocal num_read
        num_read += count
        reports.say(min(0.95, _READING + (0.95 - _READING) * num_read / num_rows))

    return add


def _write_last(reports: Reports, values: Array, **found: Any) -> None:
    data = values.astype("<f4").tobytes()
    last = Finding(progress=1.0, is_done=True, num_bytes=len(data), num_rows=len(values), **found)
    reports.write(last, data)


def finite_samples(layer: StoredLayer, samples: Indices) -> Indices:
    """Those without NaN and infinities, sorted."""
    rising = numpy.sort(samples)
    if layer.dtype.kind != "f":
        return rising
    step = max(1, _CHECK_BYTES // max(1, layer.dtype.itemsize * int(numpy.prod(layer.shape[1:]))))
    masks = [
        numpy.isfinite(numpy.asarray(layer[part]).reshape(len(part), -1)).all(axis=1)
        for part in (rising[start : start + step] for start in range(0, len(rising), step))
    ]
    return numpy.asarray(rising[numpy.concatenate(masks)])


def _left_out_words(num_before: int, num_after: int) -> str:
    num = num_before - num_after
    if not num:
        return ""
    return (
        "1 sample holds NaN or infinities and is left out."
        if num == 1
        else f"{num:,} samples hold NaN or infinities and are left out."
    )


def similarity_task(features: Features, order: Order, reports: Reports) -> None:
    layer = even_layer(features, order.layers[0])
    wanted = numpy.array(order.samples)
    there = finite_samples(layer, wanted)
    if len(there) < 2:
        raise InputError("fewer than two samples of this layer are without NaN and infinities.")
    reports.say(_READING)
    rows = CountedRows(layer, _reading(reports, len(there)))
    found = rsa(rows, metric=order.metric, samples=there)
    is_there = numpy.isin(wanted, there)
    taken = wanted[is_there]
    at = numpy.searchsorted(there, taken)
    values = found.values[numpy.ix_(at, at)]
    labels = numpy.array(order.label_of)[is_there] if order.label_of else None
    matrix = SimilarityMatrix(values=values, metric=order.metric, order=taken, labels=None)
    undefined = undefined_words(matrix, "sample")
    note = " ".join(filter(None, (_left_out_words(len(wanted), len(taken)), undefined and f"{undefined}.")))
    contrast = contrast_of(matrix, labels)
    _write_last(reports, values, note=note, samples=tuple(taken.tolist()), contrast=contrast)


def layers_task(features: Features, order: Order, reports: Reports) -> None:
    samples = numpy.sort(numpy.array(order.samples))
    layers: dict[int, StoredLayer] = {}
    left_out: dict[str, str] = {}
    for place, number in enumerate(order.layers):
        reports.say(_READING * place / len(order.layers))
        name = features.manifest.layers[number].name
        try:
            layer = even_layer(features, number)
            there = finite_samples(layer, samples)
            if len(there) < len(samples) / 2:
                raise InputError("most of its samples hold NaN or infinities.")
        except TorcheerError as error:
            left_out[clipped(name)] = clipped(str(error))
        else:
            layers[number], samples = layer, there
    if len(layers) < 2:
        reasons = " ".join(f"{name}: {reason}" for name, reason in list(left_out.items())[:3])
        raise InputError(f"there are not two layers that can be compared. {reasons}".strip())
    reading = _reading(reports, len(samples) * len(layers))
    found = compare_layers(
        {str(number): CountedRows(layer, reading) for number, layer in layers.items()},
        method=order.method,
        metric=order.metric,
        samples=samples,
    )
    _write_last(
        reports,
        found.values,
        note=_left_out_words(len(order.samples), len(samples)),
        layers=tuple(layers),
        left_out=left_out,
        samples=tuple(samples.tolist()),
    )


def probes_task(features: Features, order: Order, reports: Reports) -> None:
    count = len(order.layers)
    for place, number in enumerate(order.layers):
        reports.write(Finding(progress=place / count, at=number))
        found = probed(
            features, order, number, partial(lambda place, share: reports.say((place + share) / count), place)
        )
        is_last = place == count - 1
        reports.write(Finding(progress=(place + 1) / count, is_done=is_last, probe=found, at=number))


def probed(features: Features, order: Order, number: int, says: Callable[[float], None]) -> FeatureProbe:
    """One layer. What goes wrong with it is said of it, and the others go on."""
    try:
        layer = even_layer(features, number)
        samples = finite_samples(layer, numpy.array(order.samples))
        labels = features.label_names
        if labels is None:
            raise InputError("there are no labels.")
        found = probe(
            layer,
            labels,
            kind=None if order.kind == "auto" else order.kind,
            folds=order.folds,
            samples=samples,
            progress=says,
        )
    except TorcheerError as error:
        return FeatureProbe(layer=number, why=clipped(str(error)), confusion=())
    names: Sequence[str] = ()
    confusion: Sequence[Sequence[int]] = ()
    if found.classes is not None and found.confusion is not None and len(found.classes) <= _MOST_CONFUSED:
        names = [clipped(label_text(one), MAX_NAME) for one in found.classes]
        confusion = found.confusion.tolist()
    scores = [finite(float(one)) for one in found.scores]
    return copied(FeatureProbe, found, layer=number, why="", scores=scores, labels=names, confusion=confusion)


def points_task(features: Features, order: Order, reports: Reports) -> None:
    layer = even_layer(features, order.layers[0])
    samples = numpy.array(order.samples)
    points, note = principal_points(layer, samples, reports.say)
    _write_last(reports, points, note=note)


_TASKS: Final = {
    "similarity": similarity_task,
    "layers": layers_task,
    "probes": probes_task,
    "points": points_task,
}


def main() -> None:
    reports = begin_reports()
    given = sys.stdin.buffer
    order = msgspec.json.decode(given.readline(), type=Order)
    end_with_input(given)
    try:
        _TASKS[order.task](open_features(order.place), order, reports)
    except TorcheerError as error:
        reports.write(Finding(progress=1.0, is_done=True, fault=str(error)))
    except MemoryError:
        fault = "there is not enough memory for it: take fewer samples."
        reports.write(Finding(progress=1.0, is_done=True, fault=fault))


if __name__ == "__main__":
    main()
