"""Sets of features for tests, written through the store itself: no model, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.features.journal import Done
from torcheer.features.manifest import ArraySpec, Fingerprints, LayerOrigin, Manifest, file_name
from torcheer.features.saved_features import Features, open_features
from torcheer.features.stores import Store, store_at

BATCH = 32


def made_features(
    path: Path,
    layers: Mapping[str, NDArray[Any]],
    labels: ArrayLike | None = None,
    ids: Sequence[str] | None = None,
    *,
    model: str = "Net",
    data: str = "made for a test",
    num_done: int | None = None,
    origins: Mapping[str, Mapping[str, Any]] | None = None,
    dims: Mapping[str, tuple[str, ...]] | None = None,
    notes: tuple[str, ...] = (),
) -> Features:
    """A set in a folder, as Zarr where it ends in .zarr: a row for each sample in every layer.

    Fewer are written where `num_done` says so.

    `origins` says more of a layer: `{"conv": {"label": "conv2d_1_1", "transforms": ("mean over y, x",)}}`.
    """
    store = store_at(path)
    num_samples = len(next(iter(layers.values())))
    used = {"labels", "ids"}
    arrays = [
        ArraySpec(
            name=name,
            file=file_name(name, used),
            dtype=values.dtype.str,
            shape=values.shape[1:],
            dims=(dims or {}).get(name, ()),
        )
        for name, values in layers.items()
    ]
    columns: dict[str, NDArray[Any]] = {}
    for role, given in (("labels", labels), ("ids", ids)):
        if given is not None:
            columns[role] = column = numpy.asarray(given)
            dtype = "text" if column.dtype.kind == "U" else column.dtype.str
            shape = column.shape[1:]
            arrays.append(ArraySpec(name=role, file=role, dtype=dtype, shape=shape, role=role))  # type: ignore[arg-type]
    manifest = Manifest(
        storage=store.kind,
        model=model,
        data=data,
        num_samples=num_samples,
        batch_size=BATCH,
        num_batches=-(-num_samples // BATCH),
        arrays=tuple(arrays),
        origins=tuple(
            LayerOrigin(**{"name": name, "label": f"{name}_1", **(origins or {}).get(name, {})})
            for name in layers
        ),
        fingerprints=Fingerprints(weights={}, structure="", data={}, call={}),
        notes=notes,
    )
    store.make_room(arrays, num_samples, BATCH)
    store.write("manifest.json", manifest.encoded())
    write_rows(store, manifest, {**layers, **columns}, 0, num_samples if num_done is None else num_done)
    return open_features(path)


def write_rows(
    store: Store, manifest: Manifest, values: Mapping[str, NDArray[Any]], first: int, last: int
) -> None:
    """Batches from one sample up to another, with a journal of their own."""
    writer = store.writer(f"test-{first}")
    for start in range(first, last, BATCH):
        stop = min(start + BATCH, last)
        texts = {}
        for array in manifest.arrays:
            rows = values[array.name][start:stop]
            if array.is_text:
                texts[array.file] = tuple(map(str, rows))
            else:
                writer.put_rows(array, start, rows)
        writer.commit([Done(batch=start // BATCH, first=start, rows=stop - start, texts=texts)])
    writer.close()
