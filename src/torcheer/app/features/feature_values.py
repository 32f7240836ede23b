"""A set of features for the page: what it is, which samples are chosen, and a look at values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy

from torcheer.analysis import chosen_samples
from torcheer.app.features import feature_messages as messages
from torcheer.app.features.feature_sets import Array, Indices, OpenSet
from torcheer.app.wire import binary_frame, clipped, copied, countable, finite
from torcheer.errors import InputError, TorcheerError
from torcheer.features import ArraySpec, Features, LayerOrigin, StoredLayer, StoredRagged
from torcheer.graph import readable_bytes

MAX_NAME: Final = 80
MAX_CLASSES: Final = 1000  # more different labels are not told apart by name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """Some samples, sorted by label and then by number."""

    samples: Indices
    labels: Array | None  # of these
    num_done: int


def label_kind(labels: Array | None) -> messages.LabelKind:
    """Texts and whole numbers name classes; fractions do not, nor whole numbers that are too many."""
    if labels is None:
        return "none"
    if labels.dtype.kind == "f":
        return "numbers"
    if labels.dtype.kind in "iu" and len(labels) > MAX_CLASSES:
        return "numbers" if len(numpy.unique(labels)) > MAX_CLASSES else "classes"
    return "classes"


def choose(opened: OpenSet, most: int) -> Chosen:
    progress = opened.progress()
    done, labels = progress.done, opened.labels()
    if not len(done):
        raise InputError(
            "no sample of this set is there yet: wait until the extraction has written its first batch."
        )
    known = None if labels is None else labels[done]
    groups = known if label_kind(known) == "classes" else None
    taken = chosen_samples(len(done), min(most, len(done)), groups)
    if known is None:
        return Chosen(samples=done[taken], labels=None, num_done=len(done))
    taken = taken[numpy.argsort(known[taken], kind="stable")]
    return Chosen(samples=done[taken], labels=known[taken], num_done=len(done))


def rows_of(opened: OpenSet, chosen: Chosen) -> messages.FeatureRows:
    names, label_of = named(chosen.labels)
    ids = opened.features().ids
    return messages.FeatureRows(
        samples=chosen.samples.tolist(),
        ids=[clipped(str(ids[one]), MAX_NAME) for one in chosen.samples],
        labels=names,
        label_of=label_of,
        num_done=chosen.num_done,
    )


def named(labels: Array | None) -> tuple[Sequence[str], Sequence[int]]:
    """Each label once, and for each sample the place of its own."""
    if labels is None:
        return (), ()
    each, places = numpy.unique(labels, return_inverse=True)
    return [label_text(one) for one in each], places.tolist()


def label_text(label: object) -> str:
    if isinstance(label, float | numpy.floating):
        return f"{label:.6g}"
    return clipped(str(label), MAX_NAME)


MAX_SHOWN_LAYERS: Final = 2000
_MAX_TRANSFORMS: Final = 16
_MAX_DIMS: Final = 16
_MAX_NOTES: Final = 32


def listing_of(opened: OpenSet) -> messages.FeatureSetListing:
    """One that cannot be read is listed, too, with the reason."""
    try:
        return _listing(opened)
    except Exception as error:
        # Libraries that lead to URLs raise what they like; one set that fails must not hide the others.
        place = opened.place
        note = (
            str(error) if isinstance(error, TorcheerError | OSError) else f"{type(error).__name__}: {error}"
        )
        return messages.FeatureSetListing(
            id=place.id,
            name=place.name,
            updated=opened.updated(),
            note=clipped(note),
        )


def _listing(opened: OpenSet) -> messages.FeatureSetListing:
    features, progress = opened.features(), opened.progress()
    manifest = features.manifest
    is_known = manifest.num_samples is not None or progress.is_complete
    return copied(
        messages.FeatureSetListing,
        manifest,  # its model, data and storage
        id=opened.place.id,
        name=opened.place.name,
        num_layers=len(manifest.layers),
        num_samples=countable(progress.num_samples) if is_known else None,
        num_done=len(progress.done),
        is_complete=progress.is_complete,
        num_bytes=countable(opened.num_bytes()) or 0,
        updated=opened.updated(),
        note="",
    )


def set_answer(opened: OpenSet, number: int) -> messages.FeatureSetAnswer:
    features, progress = opened.features(), opened.progress()
    manifest = features.manifest
    origins = {origin.name: origin for origin in manifest.origins}
    labels = opened.labels()
    known = None if labels is None else labels[progress.done]
    each = numpy.empty(0) if known is None else numpy.unique(known)
    kind = label_kind(known)
    most = MAX_CLASSES if kind == "classes" else 0
    return messages.FeatureSetAnswer(
        id=number,
        listing=_listing(opened),
        layers=[
            _layer(features, array, origins.get(array.name)) for array in manifest.layers[:MAX_SHOWN_LAYERS]
        ],
        num_layers=len(manifest.layers),
        label_kind=kind,
        labels=[label_text(one) for one in each[:most]],
        num_labels=len(each),
        notes=[clipped(note) for note in manifest.notes[:_MAX_NOTES]],
    )


def _layer(features: Features, array: ArraySpec, origin: LayerOrigin | None) -> messages.FeatureLayer:
    is_ragged = array.layout == "ragged"
    # Of what varies only the journals know; they are read already.
    num_bytes = features[array.name].nbytes if is_ragged else array.row_bytes * features.num_samples
    return messages.FeatureLayer(
        name=clipped(array.name),
        label="" if origin is None else clipped(origin.label),
        address="" if origin is None else clipped(origin.address),
        shape=[countable(size) or 0 for size in array.shape[:_MAX_DIMS]],
        dims=[clipped(one, 40) for one in array.dims[:_MAX_DIMS]],
        dtype=str(array.numpy_dtype),
        num_units=0 if is_ragged else (countable(math.prod(array.shape)) or 0),
        num_bytes=countable(num_bytes) or 0,
        transforms=()
        if origin is None
        else [clipped(one, 120) for one in origin.transforms[:_MAX_TRANSFORMS]],
    )


MAX_READ_BYTES: Final = 512 << 20  # for one picture
_AT_ONCE_BYTES: Final = 32 << 20
_MAX_SAMPLE_VALUES: Final = 1 << 18
_MAX_SAMPLE_BYTES: Final = 1 << 30


def layer_name(features: Features, number: int) -> str:
    layers = features.manifest.layers
    if number >= len(layers):
        raise InputError(f"this set has {len(layers):,} layers, and not one with the number {number:,}.")
    return layers[number].name


def even_layer(features: Features, number: int) -> StoredLayer:
    """One whose samples all have the same shape."""
    layer = features[layer_name(features, number)]
    if isinstance(layer, StoredRagged):
        raise InputError(
            f"the samples of {clipped(layer.name, MAX_NAME)} have different shapes, so they cannot be put "
            "side by side: extract it with shapes='pooled', and they are alike."
        )
    _check_real(layer)
    if not math.prod(layer.shape[1:]):
        raise InputError(f"{clipped(layer.name, MAX_NAME)} has no units.")
    return layer


def _check_real(layer: StoredLayer | StoredRagged) -> None:
    if layer.dtype.kind == "c":
        raise InputError(f"{clipped(layer.name, MAX_NAME)} holds complex numbers, which are not drawn.")


def read_rows(
    layer: StoredLayer,
    samples: Indices,
    units: Array | slice = slice(None),
    says: Callable[[float], None] = lambda share: None,
) -> Array:
    """Samples by units as float32, in the order of the samples; some at a time are read."""
    order = numpy.argsort(samples, kind="stable")
    num_units = math.prod(layer.shape[1:])
    step = max(1, _AT_ONCE_BYTES // max(1, num_units * layer.dtype.itemsize))
    values = numpy.empty((len(samples), num_units if isinstance(units, slice) else len(units)), "<f4")
    with numpy.errstate(over="ignore"):
        for start in range(0, len(samples), step):
            some = order[start : start + step]
            values[some] = numpy.asarray(layer[samples[some]]).reshape(len(some), -1)[:, units]
            says(min(1.0, (start + step) / len(samples)))
    return values


def answer_map(opened: OpenSet, question: messages.FeatureMapQuestion) -> bytes:
    layer = even_layer(opened.features(), question.layer)
    num_units = math.prod(layer.shape[1:])
    row_bytes = num_units * layer.dtype.itemsize
    # What lies wide apart on the disk is read in whole rows.
    most = max(1, min(question.num_rows, MAX_READ_BYTES // row_bytes))
    chosen = choose(opened, most)
    units = (
        numpy.arange(min(num_units, question.num_columns)) * num_units // min(num_units, question.num_columns)
    )
    values = read_rows(layer, chosen.samples, units)
    is_there = numpy.isfinite(values)
    answer = messages.FeatureMapAnswer(
        id=question.id,
        rows=rows_of(opened, chosen),
        units=units.tolist(),
        num_units=num_units,
        low=float(values[is_there].min()) if is_there.any() else None,
        high=float(values[is_there].max()) if is_there.any() else None,
        num_bad=int((~is_there).sum()),
    )
    return binary_frame(answer, values.tobytes())


def answer_unit(opened: OpenSet, question: messages.FeatureUnitQuestion) -> bytes:
    layer = even_layer(opened.features(), question.layer)
    num_units = math.prod(layer.shape[1:])
    if question.unit >= num_units:
        raise InputError(f"this layer has {num_units:,} units: give a number from 0 to {num_units - 1:,}.")
    most = max(1, min(question.num_rows, MAX_READ_BYTES // (num_units * layer.dtype.itemsize)))
    chosen = choose(opened, most)
    place = [int(one) for one in numpy.unravel_index(question.unit, layer.shape[1:])]
    values = read_rows(layer, chosen.samples, numpy.array([question.unit]))
    answer = messages.FeatureUnitAnswer(id=question.id, rows=rows_of(opened, chosen), place=place)
    return binary_frame(answer, values.tobytes())


def answer_sample(opened: OpenSet, question: messages.FeatureSampleQuestion) -> bytes:
    features = opened.features()
    layer = features[layer_name(features, question.layer)]
    _check_real(layer)
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
    values = flat.astype(numpy.float64)
    values = values[numpy.isfinite(values)]
    answer = messages.FeatureSampleAnswer(
        id=question.id,
        sample=question.sample,
        name=clipped(str(opened.features().ids[question.sample]), MAX_NAME),
        label="" if labels is None else label_text(labels[question.sample]),
        shape=list(whole.shape),
        units=() if count == flat.size else units.tolist(),
        num_units=flat.size,
        mean=finite(float(values.mean())) if values.size else None,
        std=finite(float(values.std())) if values.size else None,
        low=float(values.min()) if values.size else None,
        high=float(values.max()) if values.size else None,
        num_zeros=int((flat == 0).sum()),
        num_bad=int(flat.size - values.size),
    )
    return binary_frame(answer, flat[units].astype("<f4").tobytes())
