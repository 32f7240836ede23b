"""Open features that tl.extract wrote: layers as arrays, labels, ids, tables. No torch needed."""

from __future__ import annotations

import difflib
import importlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import FileFormatError, InputError, LayerNotFoundError
from torcheer.features.journal import Done, Progress, read_journals
from torcheer.features.manifest import NAME, ArraySpec, LayerOrigin, Manifest, Role, read_manifest
from torcheer.features.stores import Array, Store, store_at
from torcheer.graph import readable_bytes

if TYPE_CHECKING:
    import xarray

    from torcheer.analysis import LayerComparison, Probe, Rows, SimilarityMatrix


Mask = NDArray[numpy.bool_]


class _Stored:
    """A layer on the disk."""

    def __init__(self, spec: ArraySpec) -> None:
        self.spec = spec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def dtype(self) -> numpy.dtype[Any]:
        return self.spec.numpy_dtype

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of its dimensions, "sample" first."""
        return ("sample", *self.spec.dims)


class StoredLayer(_Stored):
    """Rows of samples: `layer[100:200]`, `layer[[3, 5]]`, `layer[7, :4]`, as NumPy has it."""

    def __init__(self, spec: ArraySpec, rows: Rows, missing: Callable[[], Mask | None]) -> None:
        super().__init__(spec)
        self.rows = rows
        self._missing = missing

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.rows.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        missing = self._missing()
        if missing is not None:
            _refuse_missing(missing, key, self.name)
        return self.rows[key]

    def __iter__(self) -> Iterator[Array]:
        return (self[number] for number in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        whole = numpy.asarray(self[:])
        return numpy.array(whole, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<StoredLayer {self.name!r}: {self.dtype} {self.shape}>"


class StoredRagged(_Stored):
    """Samples of different shapes: `layer[3]` is an array, `layer[3:5]` a list of them."""

    def __init__(self, spec: ArraySpec, store: Store, batches: list[Done], num_rows: int) -> None:
        super().__init__(spec)
        self._store = store
        self._batches = sorted(batches, key=lambda done: done.first)
        self._firsts = [done.first for done in self._batches]
        self._num_rows = num_rows
        self._last: tuple[int, list[Array]] | None = None  # a batch is read as a whole: neighbours come next

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of each sample."""
        return [shape for done in self._batches for shape in done.places[self.spec.file].shapes]

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * sum(map(math.prod, self.shapes))

    def __len__(self) -> int:
        return self._num_rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | numpy.integer):
            return self._one(int(key))
        if isinstance(key, slice):
            return [self._one(number) for number in range(*key.indices(len(self)))]
        found = numpy.asarray(key)
        if found.dtype == bool and found.shape == (len(self),):
            found = numpy.flatnonzero(found)
        if found.dtype.kind not in "iu" or found.ndim != 1:
            raise InputError(f"{key!r} names no samples: give a number, a slice, or a list of numbers.")
        return [self._one(int(number)) for number in found]

    def __iter__(self) -> Iterator[Array]:
        return (self._one(number) for number in range(len(self)))

    def padded(self, key: Any = slice(None), value: float = 0) -> tuple[Array, NDArray[numpy.int64]]:
        """As one array, filled up with `value`; and the shape of each sample."""
        samples = self[key]
        shapes = numpy.array([one.shape for one in samples], dtype=numpy.int64)
        whole = numpy.full((len(samples), *shapes.max(axis=0)), value, self.dtype)
        for row, one in zip(whole, samples, strict=True):
            row[tuple(slice(size) for size in one.shape)] = one
        return whole, shapes

    def _one(self, number: int) -> Array:
        number = number + len(self) if number < 0 else number
        if not 0 <= number < len(self):
            raise IndexError(f"there is no sample {number}: there are {len(self):,}.")
        place = int(numpy.searchsorted(self._firsts, number, side="right")) - 1
        done = self._batches[place] if place >= 0 else None
        if done is None or number >= done.first + done.rows:
            raise _missing_error(self.name, number)
        if self._last is None or self._last[0] != place:
            self._last = place, self._store.ragged(self.spec, done.places[self.spec.file])
        return self._last[1][number - done.first]

    def __repr__(self) -> str:
        shape = ", ".join("?" if size < 0 else str(size) for size in self.spec.shape)
        return f"<StoredRagged {self.name!r}: {self.dtype}, {len(self):,} samples of ({shape})>"


def _refuse_missing(missing: Mask, key: Any, name: str) -> None:
    """A row that nobody has written is zeros, and must not be taken for values."""
    first = key if not isinstance(key, tuple) else key[0] if key else ...
    if first is Ellipsis or first is None:
        first = slice(None)  # rather too many rows than too few
    chosen = numpy.asarray(first) if isinstance(first, list | numpy.ndarray) else None
    if chosen is not None and chosen.dtype == bool and chosen.ndim > 1:
        first = chosen.any(axis=tuple(range(1, chosen.ndim)))
    numbers = numpy.atleast_1d(numpy.arange(len(missing))[first])
    wanted = numbers[missing[numbers]]
    if wanted.size:
        raise _missing_error(name, int(wanted.min()))


def _missing_error(name: str, number: int) -> InputError:
    return InputError(
        f"sample {number:,} of {name!r} is not extracted yet: features.done says which are there, and the "
        "call of tl.extract that began it goes on with it."
    )


_MOST_UNCHECKED = 1 << 22  # samples: fewer are listed whatever there is


class Features(Mapping[str, StoredLayer | StoredRagged]):
    """Activations of a whole data set, layer by layer, on disk.

    `features["features.6"][100:200]` reads those rows and no others. A layer is found by the name under which
    it was asked for, by the label of its op, and by the module whose output it is.
    """

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store = store
        self.manifest = manifest

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
        if not self._is_known_complete():
            self.__dict__.pop("progress", None)
            self.__dict__.pop("_missing", None)
        return self._is_known_complete()

    def _is_known_complete(self) -> bool:
        has_end = self.manifest.num_samples is not None or self.progress.ended is not None
        return has_end and self.progress.num_rows == self.num_samples

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
        return self._column("labels")

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
        return self._column("lengths")

    def _column(self, role: Role) -> Array | None:
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

    def to_xarray(self, *names: str) -> xarray.Dataset:
        """As an xarray.Dataset: named dimensions, labels and ids as coordinates; read when it is used."""
        from torcheer.features.xarray_dataset import dataset_of

        return dataset_of(self, names or tuple(self.layers))

    def show(self) -> str:
        """Open the page of these features in the browser; returns its address. It ends with the program."""
        # The one seam upwards: the app stands above this room.
        address: str = importlib.import_module("torcheer.app").show_features(self.path)
        return address

    def __repr__(self) -> str:
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


_MOST_LINES: Final = 40


def size_text(manifest: Manifest) -> str:
    """`3 layers of 1,797 samples, 12.3 MB`."""
    samples = "a stream of samples" if manifest.num_samples is None else f"{manifest.num_samples:,} samples"
    size = manifest.num_bytes
    words = "size not known before" if size is None else readable_bytes(size)
    return f"{_count(manifest)} of {samples}, {words}"


def _count(manifest: Manifest) -> str:
    count = len(manifest.layers)
    return f"{count} {'layer' if count == 1 else 'layers'}"


def features_text(features: Features) -> str:
    """What print() shows."""
    manifest = features.manifest
    state = "" if features.is_complete else f", {features.num_done:,} extracted so far"
    labels = manifest.column("labels")
    lines = [
        f"Features of {manifest.model} at {features.path}:",
        f"\t{features.num_samples:,} samples ({manifest.data}){state}; "
        f"{'no labels' if labels is None else 'with labels'}",
        f"\t{_count(manifest)}, {readable_bytes(features.num_bytes)}:",
    ]
    width = max(len(layer.name) for layer in manifest.layers)
    for layer in manifest.layers[:_MOST_LINES]:
        done = ", ".join(features.origin(layer.name).transforms)
        lines.append(
            f"\t\t{layer.name:<{width}}  {shape_text(layer)}  {layer.numpy_dtype.name}" + f"  {done}".rstrip()
        )
    if len(manifest.layers) > _MOST_LINES:
        lines.append(f"\t\t… and {len(manifest.layers) - _MOST_LINES} more")
    return "\n".join(lines)


def shape_text(layer: ArraySpec) -> str:
    """`channel 64 × y 55 × x 55`."""
    names = layer.dims if len(layer.dims) == len(layer.shape) else ("",) * len(layer.shape)
    sizes = ["?" if size < 0 else f"{size:,}" for size in layer.shape]
    return (
        " × ".join(f"{name} {size}".strip() for name, size in zip(names, sizes, strict=True)) or "one number"
    )
