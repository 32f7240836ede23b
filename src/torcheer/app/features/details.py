"""What lists and pages say of a set of features, but for its values."""

from __future__ import annotations

import math
from typing import Final

import numpy

from torcheer.app.featuremessages import FeatureLayer, FeatureSetAnswer, FeatureSetListing
from torcheer.app.features.choosing import MAX_CLASSES, label_kind, label_text
from torcheer.app.features.openset import OpenSet
from torcheer.app.runs.listing import clipped, countable
from torcheer.errors import TorcheerError
from torcheer.features import ArraySpec, Features, LayerOrigin

MAX_SHOWN_LAYERS: Final = 2000
_MAX_TRANSFORMS: Final = 16
_MAX_DIMS: Final = 16
_MAX_NOTES: Final = 32


def listing_of(opened: OpenSet) -> FeatureSetListing:
    """One that cannot be read is listed, too, with the reason."""
    try:
        return _listing(opened)
    except Exception as error:
        # Libraries that lead to URLs raise what they like; one set that fails must not hide the others.
        place = opened.place
        note = (
            str(error) if isinstance(error, TorcheerError | OSError) else f"{type(error).__name__}: {error}"
        )
        return FeatureSetListing(
            id=place.id,
            name=place.name,
            model="",
            data="",
            storage="",
            num_layers=0,
            num_samples=None,
            num_done=0,
            is_complete=False,
            num_bytes=0,
            updated=opened.updated(),
            note=clipped(note),
        )


def _listing(opened: OpenSet) -> FeatureSetListing:
    features, progress = opened.features(), opened.progress()
    manifest = features.manifest
    is_known = manifest.num_samples is not None or progress.is_complete
    return FeatureSetListing(
        id=opened.place.id,
        name=opened.place.name,
        model=clipped(manifest.model),
        data=clipped(manifest.data),
        storage=clipped(manifest.storage, 16),
        num_layers=len(manifest.layers),
        num_samples=countable(progress.num_samples) if is_known else None,
        num_done=len(progress.done),
        is_complete=progress.is_complete,
        num_bytes=countable(opened.num_bytes()) or 0,
        updated=opened.updated(),
        note="",
    )


def set_answer(opened: OpenSet, number: int) -> FeatureSetAnswer:
    """All about one set."""
    features, progress = opened.features(), opened.progress()
    manifest = features.manifest
    origins = {origin.name: origin for origin in manifest.origins}
    labels = opened.labels()
    known = None if labels is None else labels[progress.done]
    each, counts = (
        (numpy.empty(0), numpy.empty(0, numpy.int64))
        if known is None
        else numpy.unique(known, return_counts=True)
    )
    kind = label_kind(known)
    most = MAX_CLASSES if kind == "classes" else 0
    return FeatureSetAnswer(
        id=number,
        listing=_listing(opened),
        layers=[
            _layer(features, array, origins.get(array.name)) for array in manifest.layers[:MAX_SHOWN_LAYERS]
        ],
        num_layers=len(manifest.layers),
        label_kind=kind,
        labels=[label_text(one) for one in each[:most]],
        num_labels=len(each),
        label_counts=counts[:most].tolist(),
        batch_size=countable(manifest.batch_size),
        notes=[clipped(note) for note in manifest.notes[:_MAX_NOTES]],
    )


def _layer(features: Features, array: ArraySpec, origin: LayerOrigin | None) -> FeatureLayer:
    is_ragged = array.layout == "ragged"
    return FeatureLayer(
        name=clipped(array.name),
        label="" if origin is None else clipped(origin.label),
        address="" if origin is None else clipped(origin.address),
        shape=[countable(size) or 0 for size in array.shape[:_MAX_DIMS]],
        dims=[clipped(one, 40) for one in array.dims[:_MAX_DIMS]],
        dtype=str(array.numpy_dtype),
        num_units=0 if is_ragged else (countable(math.prod(array.shape)) or 0),
        num_bytes=countable(_bytes_of(features, array)) or 0,
        transforms=()
        if origin is None
        else [clipped(one, 120) for one in origin.transforms[:_MAX_TRANSFORMS]],
    )


def _bytes_of(features: Features, array: ArraySpec) -> int:
    """Of what varies only the journals know; they are read already."""
    if array.layout == "ragged":
        return features[array.name].nbytes
    return array.row_bytes * features.num_samples
