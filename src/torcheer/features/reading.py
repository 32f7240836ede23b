"""Open features that tl.extract wrote: layers as arrays, labels, ids, tables. No torch needed."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import FileFormatError, InputError, LayerNotFoundError
from torcheer.features.journal import Progress, read_journals
from torcheer.features.manifest import NAME, ArraySpec, LayerOrigin, Manifest, read_manifest
from torcheer.features.storedlayers import Mask, StoredLayer, StoredRagged
from torcheer.features.stores.opening import store_at
from torcheer.features.stores.protocol import Array, Store

if TYPE_CHECKING:
    import xarray

    from torcheer.analysis import LayerComparison, Probe, SimilarityMatrix


_MOST_UNCHECKED = 1 << 22  # samples: fewer are listed whatever there is


class Features(Mapping[str, StoredLayer | StoredRagged]):
    """Activations of a whole data set, layer by layer, on disk.

    `features["features.6"][100:200]` reads those rows and no others. A layer is found by the name under which
    it was asked for, by the label of its op, and by the module whose output it is.
    """

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store = store
        self.manifest = manifest

    # --- what is there -------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        return self._store.where

    @property
    def layers(self) -> list[str]:
        return [array.name for array in self.manifest.layers]

    @property
    def num_samples(self) -> int:
        """Of a stream that has not ended: as far as is known."""
        if self.manifest.num_samples is not None:
            return self.manifest.num_samples
        if self.progress.ended is not None:
            return self.progress.ended.total_rows
        return max((one.first + one.rows for one in self.progress.done.values()), default=0)

    @property
    def _num_listed(self) -> int:
        """How many samples there are, where something is made for each of them."""
        count = self.num_samples
        if count > _MOST_UNCHECKED and count > self._store.used_bytes():
            raise FileFormatError(
                f"{self.path}/{NAME} declares {count:,} samples, which is far more than its files can hold."
            )
        return count

    @property
    def is_complete(self) -> bool:
        """Whether every sample is there. Asked of the disk again while it is not."""
        known = self.manifest.num_samples is not None or self.progress.ended is not None
        if known and self.progress.num_rows == self.num_samples:
            return True
        self.__dict__.pop("progress", None)
        self.__dict__.pop("_missing", None)
        known = self.manifest.num_samples is not None or self.progress.ended is not None
        return known and self.progress.num_rows == self.num_samples

    @property
    def num_done(self) -> int:
        return self.progress.num_rows

    @property
    def done(self) -> Mask:
        """For each sample whether it is there."""
        return self.progress.rows_done(self._num_listed)

    @cached_property
    def progress(self) -> Progress:
        """What the journals say, as they were when it was asked for first."""
        return read_journals(self._store.journals())

    @cached_property
    def _missing(self) -> Mask | None:
        return None if self.is_complete else ~self.done

    @property
    def num_bytes(self) -> int:
        """Of the values of all layers."""
        return sum(layer.nbytes for layer in self.values())

    # --- layers and columns --------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> StoredLayer | StoredRagged:
        spec = self._spec_of(name)
        if spec.layout == "ragged":
            batches = [one for one in self.progress.done.values() if spec.file in one.places]
            return StoredRagged(spec, self._store, batches, self.num_samples)
        return StoredLayer(spec, self._store.rows(spec, self.num_samples), lambda: self._missing)

    def __iter__(self) -> Iterator[str]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.manifest.layers)

    def origin(self, name: str) -> LayerOrigin:
        """Which op of the model a layer is, and what was done to its values."""
        spec = self._spec_of(name)
        return next(origin for origin in self.manifest.origins if origin.name == spec.name)

    def _spec_of(self, name: str) -> ArraySpec:
        by_name = {array.name: array for array in self.manifest.layers}
        if name in by_name:
            return by_name[name]
        found = [origin.name for origin in self.manifest.origins if name in (origin.label, *origin.aliases)]
        if len(found) == 1:
            return by_name[found[0]]
        if found:
            raise LayerNotFoundError(f"{name!r} could be any of {', '.join(found)}: use one of these names.")
        near = difflib.get_close_matches(str(name), by_name, 3, 0.4)
        hint = f" The nearest: {', '.join(near)}." if near else ""
        raise LayerNotFoundError(
            f"layer {name!r} is not among these features.{hint} features.layers lists them all."
        )

    @property
    def labels(self) -> Array | None:
        """One for each sample, where the data had them."""
        found: Array | None = self._column("labels")
        return found

    @property
    def classes(self) -> tuple[str, ...]:
        """What the labels are called, in the order of their numbers; empty where the data did not say it."""
        return self.manifest.classes

    @property
    def label_names(self) -> Array | None:
        """The labels by name, where the classes have names; else as they are."""
        labels, classes = self.labels, self.classes
        is_number = labels is not None and labels.ndim == 1 and labels.dtype.kind in "iu" and labels.size
        if labels is None or not is_number or not classes:
            return labels
        if labels.min() < 0 or labels.max() >= len(classes):
            return labels
        return numpy.array(classes)[labels]

    @property
    def ids(self) -> Array:
        """What each sample is called: the place in its data set, unless it was given another name."""
        found = self._column("ids")
        return numpy.arange(self._num_listed) if found is None else found

    @property
    def lengths(self) -> NDArray[numpy.int64] | None:
        """How many tokens each sample has, where its values were filled up."""
        found: NDArray[numpy.int64] | None = self._column("lengths")
        return found

    def _column(self, role: Any) -> Any:
        spec = self.manifest.column(role)
        if spec is None:
            return None
        if spec.is_text:
            known = self._store.texts(spec)
            return self.texts(spec) if known is None else known
        return numpy.asarray(self._store.rows(spec, self._num_listed)[:])

    def texts(self, spec: ArraySpec) -> Array:
        """A column of texts, as the journals have it."""
        found = [""] * self._num_listed
        for one in self.progress.done.values():
            texts = one.texts.get(spec.file, ())
            found[one.first : one.first + len(texts)] = texts[: max(0, len(found) - one.first)]
        return numpy.array(found)

    # --- what is done with them --------------------------------------------------------------------------

    def rsa(self, layer: str, labels: ArrayLike | None = None, **options: Any) -> SimilarityMatrix:
        """How alike all samples are to a layer, sorted by label: `tl.features.rsa`, which has the options."""
        from torcheer.analysis import rsa

        return rsa(self._fixed(layer), self.labels if labels is None else labels, **options)

    def compare_layers(self, *layers: str, method: Any = "rsa", **options: Any) -> LayerComparison:
        """Every layer with every other, by `"rsa"` or `"cka"`: `tl.features.compare_layers`."""
        from torcheer.analysis import compare_layers

        return compare_layers(self._several(layers), method=method, **options)

    def probe(self, layer: str, targets: ArrayLike | None = None, **options: Any) -> Probe:
        """How well labels, or targets of your own, can be read from a layer: `tl.features.probe`."""
        from torcheer.analysis import probe

        return probe(self._fixed(layer), self._targets(targets), **options)

    def probe_layers(
        self, *layers: str, targets: ArrayLike | None = None, **options: Any
    ) -> dict[str, Probe]:
        """The same for several layers, or for all, with the same folds."""
        from torcheer.analysis import probe_layers

        return probe_layers(self._several(layers), self._targets(targets), **options)

    def _several(self, layers: tuple[str, ...]) -> dict[str, StoredLayer]:
        return {name: self._fixed(name) for name in layers or self.layers}

    def _fixed(self, layer: str) -> StoredLayer:
        found = self[layer]
        if isinstance(found, StoredRagged):
            raise InputError(
                f"{layer!r} is ragged, and this needs samples of one shape: extract it with shapes='pooled'."
            )
        return found

    def _targets(self, targets: ArrayLike | None) -> ArrayLike:
        given = self.labels if targets is None else targets
        if given is None:
            raise InputError("these features have no labels: give targets, one for each sample.")
        return given

    # --- other forms ---------------------------------------------------------------------------------------

    def to_xarray(self, *names: str) -> xarray.Dataset:
        """As an xarray.Dataset: named dimensions, labels and ids as coordinates; read when it is used."""
        from torcheer.features.labelled import dataset_of

        return dataset_of(self, names or tuple(self.layers))

    def show(self) -> str:
        """Open the page of these features in the browser; returns its address. It ends with the program."""
        # The one seam upwards: the app stands above this room.
        address: str = importlib.import_module("torcheer.app.featurepage").show_features(self.path)
        return address

    def __repr__(self) -> str:
        from torcheer.features.telling import features_text

        return features_text(self)


def open_features(path: str | os.PathLike[str]) -> Features:
    """Features that `tl.extract` wrote, or is still writing: a folder, or a URL."""
    store = store_at(path)
    content = store.read(NAME)
    if content is None:
        raise FileFormatError(
            f"there are no features at {store.where}: give the folder or URL that tl.extract wrote to."
        )
    return Features(store, read_manifest(content, store.where))
