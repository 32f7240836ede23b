"""What is written once everything is there: texts as a whole, where ragged samples are, how many."""

from __future__ import annotations

import numpy

from torcheer.features.manifest import ArraySpec, Manifest
from torcheer.features.rawbytes import npy_bytes
from torcheer.features.reading import Features
from torcheer.features.stores.protocol import Array, Store


def finish_up(store: Store, manifest: Manifest) -> None:
    """Does nothing before the end. Any process may do it, and any number of them."""
    features = Features(store, manifest)
    if not features.is_complete:
        return
    if manifest.num_samples is None:
        store.end_at(manifest.arrays, features.num_samples)
    for array in manifest.arrays:
        if array.is_text and store.texts(array) is None:
            store.write_texts(array, features.texts(array))
        if array.layout == "ragged":
            name, content = f"{array.file}.places.npy", npy_bytes(_places(features, array))
            if store.read(name) != content:
                store.write(name, content)


def _places(features: Features, array: ArraySpec) -> Array:
    """A row for each sample: in which part it is, from which value on, and its shape."""
    rank = len(array.shape)
    found = []
    for done in sorted(features.progress.done.values(), key=lambda one: one.first):
        place = done.places[array.file]
        start = place.start
        for shape in place.shapes:
            found.append((place.part, start, shape))
            start += int(numpy.prod(shape, dtype=numpy.int64))
    longest = max((len(part) for part, _, _ in found), default=1)
    fields = [("part", f"<U{longest}"), ("start", "<i8"), ("shape", "<i8", (rank,))]
    return numpy.array(found, dtype=fields)
