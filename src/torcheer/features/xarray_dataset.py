"""Features as an xarray.Dataset: dimensions by name, ids and labels as coordinates, values read when used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy

from torcheer.errors import InputError
from torcheer.features.manifest import ArraySpec

if TYPE_CHECKING:
    import xarray

    from torcheer.features.saved_features import Features, StoredLayer

SAMPLE: Final = "sample"
_COORDINATES: Final = (SAMPLE, "label", "length")


def dimension_names(array: ArraySpec) -> tuple[str, ...]:
    """("sample", "features.6.channel", …): layers of different sizes can then stand in one Dataset."""
    dims = (
        array.dims
        if len(array.dims) == len(array.shape)
        else tuple(f"dim{n}" for n in range(len(array.shape)))
    )
    found = [SAMPLE]
    for number, dim in enumerate(dims):
        name = f"{array.name}.{dim}"
        found.append(f"{name}{number}" if name in found else name)
    return tuple(found)


def dataset_of(features: Features, names: Sequence[str]) -> xarray.Dataset:
    """One variable a layer, named as the layer is. Rows that are not extracted yet are refused when read."""
    try:
        import xarray
    except ImportError as error:
        raise InputError("a Dataset needs xarray: pip install 'torcheer[xarray]'.") from error
    from torcheer.features.saved_features import StoredLayer

    variables = {}
    for name in names:
        layer, origin = features[name], features.origin(name)
        if not isinstance(layer, StoredLayer):
            others = [array.name for array in features.manifest.layers if array.layout == "rows"]
            rest = f", or leave it out: features.to_xarray({', '.join(map(repr, others))})" if others else ""
            raise InputError(
                f"{layer.name!r} has samples of different shapes, which a Dataset cannot hold: fill them up "
                f"with features[{layer.name!r}].padded(){rest}."
            )
        about = {"layer": origin.label, "address": origin.address, "transforms": list(origin.transforms)}
        own = f"layer.{layer.name}" if layer.name in _COORDINATES else layer.name
        variables[own] = xarray.Variable(dimension_names(layer.spec), _lazy(layer), about)
    manifest = features.manifest
    attributes = {"model": manifest.model, "data": manifest.data, "source": features.path}
    return xarray.Dataset(variables, _coordinates(features), attributes)


def _coordinates(features: Features) -> dict[str, Any]:
    found: dict[str, Any] = {SAMPLE: (SAMPLE, numpy.asarray(features.ids))}
    if features.labels is not None:
        labels = numpy.asarray(features.labels)
        others = tuple(f"label.dim{number}" for number in range(labels.ndim - 1))
        found["label"] = ((SAMPLE, *others), labels)
    if features.lengths is not None:
        found["length"] = (SAMPLE, numpy.asarray(features.lengths))
    return found


def _lazy(layer: StoredLayer) -> Any:
    """What xarray takes for an array on disk: it asks for a part of it when that part is used."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class LayerArray(BackendArray):
        shape = layer.shape
        dtype = layer.dtype

        def __getitem__(self, key: Any) -> Any:
            return indexing.explicit_indexing_adapter(
                key, self.shape, indexing.IndexingSupport.OUTER, self._part
            )

        def _part(self, key: tuple[Any, ...]) -> Any:
            """Each part of the key for its own dimension, whatever the others are."""
            first, *rest = key
            is_one = isinstance(first, int | numpy.integer)
            found = layer[slice(int(first), int(first) + 1)] if is_one else layer[first]
            for axis, one in reversed(list(enumerate(rest, 1))):
                found = found[(slice(None),) * axis + (one,)]
            # A copy: what a Dataset holds may be changed, and the file must not be.
            return numpy.array(found[0] if is_one else found)

    return indexing.LazilyIndexedArray(LayerArray())
