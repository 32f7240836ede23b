"""What layers have learnt: their responses to a test set, or in a run, and how to look at them.

from torcheer.run import reader_of
from torcheer.netview import analysis

seen = analysis.responses(model, loader, layers="features.*")
alike = analysis.similarity(seen.layer("features.10"), seen.labels)
print(analysis.label_contrast(alike).contrast)

`torcheer.analysis` computes; this is its source for NetViews. It imports torch only for `responses`.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.analysis import (
    Array,
    Clusters,
    Components,
    LabelContrast,
    SimilarityMatrix,
    Tuning,
    clusters,
    compare_similarity,
    label_contrast,
    labels_of,
    principal_components,
    receptive_fields,
    similarity,
    tuning,
)
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.graph import readable_bytes
from torcheer.netview.network_reader import found_scene
from torcheer.run import MomentHead, ReadMethods, RunReader, TensorRecord, open_run, reader_of

if TYPE_CHECKING:
    from torcheer.netview.layer_responses import responses as responses

__all__ = [
    "Clusters",
    "Components",
    "LabelContrast",
    "Responses",
    "SimilarityMatrix",
    "Tuning",
    "clusters",
    "compare_similarity",
    "label_contrast",
    "principal_components",
    "receptive_fields",
    "responses",
    "responses_of",
    "similarity",
    "tuning",
]

Records = Mapping[int, TensorRecord]  # by step


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Responses:
    """A row for each item, the same items in all layers."""

    arrays: Mapping[str, Array]  # by layer: items by units
    shapes: Mapping[str, tuple[int, ...]]  # of one item
    inputs: Array | None = None  # items, then the shape of one; None where they were not kept
    labels: Array | None = None  # one for each item
    left_out: Mapping[str, str] = field(default_factory=dict)  # layers that are not here, and why
    steps: NDArray[numpy.int64] | None = None  # of a run: of which moment a row is,
    items: NDArray[numpy.int64] | None = None  # and of which item of the batch

    @property
    def names(self) -> list[str]:
        """The layers, in the order in which the model names them."""
        return list(self.arrays)

    @property
    def num_items(self) -> int:
        return next((len(array) for array in self.arrays.values()), 0)

    def layer(self, name: str) -> Array:
        """Items by units. Units are numbered as they stand in the tensor of one item."""
        if name in self.arrays:
            return self.arrays[name]
        if name in self.left_out:
            raise InputError(f"the responses of {name!r} are not here: {self.left_out[name]}")
        near = difflib.get_close_matches(str(name), self.names, 3)
        listed = ", ".join(map(repr, near or self.names[:8]))
        raise LayerNotFoundError(f"there are no responses of a layer {name!r}: there is {listed}.")

    def maps(self, name: str) -> Array:
        """Items, then the shape of one, as the layer gives it."""
        return self.layer(name).reshape(-1, *self.shapes[name])

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", {len(numpy.unique(self.labels))} labels"
        return f"<Responses: {len(self.arrays)} layers to {self.num_items:,} items{labels}>"


def responses_of(
    run: str | os.PathLike[str] | ReadMethods,
    variable: str = "Act",
    *,
    layers: str | Collection[str] = "all",
    steps: Collection[int] | None = None,
    labels: str | ArrayLike | None = None,
    max_bytes: int = 4 << 30,
) -> Responses:
    """What layers of a run recorded: a row for each moment and each item of its batch.

    - `run`: a folder, a `tl.Run`, or what `tl.open_run` gave.
    - `variable`: Act, Net, Grad: whatever was recorded of layers under that name.
    - `layers`: `"all"`, or one or several names or patterns such as `"features.*"`.
    - `steps`: of which moments; all of them where it is left out.
    - `labels`: the name of a counter (`"trial"`), whose text is then the label of all items of a moment; or
      one label for each row.

    Rows are of moments at which all of these layers were recorded; `steps` and `items` of what is returned
    say of which moment and which item each is. Of a watched training, a layer of which fewer items were kept
    than of others is left out, unless it is asked for by itself.
    """
    if not isinstance(run, ReadMethods):
        with open_run(run) as opened:
            return responses_of(
                opened, variable, layers=layers, steps=steps, labels=labels, max_bytes=max_bytes
            )
    reader = reader_of(run)
    found = found_scene(reader)
    names, recorded = [layer.name for layer in found.scene.layers], set(run.names("tensor"))
    there = [name for name in names if found.series_of(name, variable) in recorded]
    chosen = _chosen(there, layers, variable)
    series = {
        layer: {record.step: record for record in run.tensors(found.series_of(layer, variable))}
        for layer in chosen
    }
    has_items = {layer.name: layer.has_items for layer in found.scene.layers if found.source == "netview"}
    kept, left_out = _even(series, has_items)
    moments = sorted(set.intersection(*({*records} for records in kept.values())))
    if steps is not None:
        wanted = set(steps)
        moments = [step for step in moments if step in wanted]
    if not moments:
        raise InputError(
            f"there is no moment at which all of {', '.join(map(repr, [*kept][:5]))} were recorded: choose "
            "fewer layers with layers=, or other steps."
        )
    num_bytes = sum(records[step].num_bytes for records in kept.values() for step in moments)
    if num_bytes > max_bytes:
        raise InputError(
            f"these records take {readable_bytes(num_bytes)}, and max_bytes is {readable_bytes(max_bytes)}: "
            "choose some layers with layers=, or some moments with steps=."
        )
    first = next(iter(kept))
    counts = [_num_items(kept[first][step], has_items.get(first, True)) for step in moments]
    row_steps = numpy.repeat(numpy.array(moments, numpy.int64), counts)
    arrays = {}
    for layer, records in kept.items():
        values = [records[step].array for step in moments]
        is_batch = has_items.get(layer, True)
        arrays[layer] = numpy.concatenate([one if is_batch and one.ndim else one[None] for one in values])
    return Responses(
        arrays={layer: array.reshape(len(array), -1) for layer, array in arrays.items()},
        shapes={layer: array.shape[1:] for layer, array in arrays.items()},
        labels=_labels(reader, labels, row_steps),
        left_out=left_out,
        steps=row_steps,
        items=numpy.concatenate([numpy.arange(count) for count in counts]),
    )


def _chosen(there: Sequence[str], layers: str | Collection[str], variable: str) -> list[str]:
    if not there:
        raise InputError(
            f"this run has no records of {variable!r} of any layer: run.names('tensor') lists all."
        )
    if layers == "all":
        return list(there)
    found: set[str] = set()
    for choice in [layers] if isinstance(layers, str) else layers:
        matching = [name for name in there if name == choice or fnmatch.fnmatchcase(name, choice)]
        if not matching:
            near = ", ".join(map(repr, difflib.get_close_matches(choice, there, 3) or there[:8]))
            raise InputError(f"no layer with {variable} answers to {choice!r}: there is {near}.")
        found.update(matching)
    return [name for name in there if name in found]


def _even(
    series: Mapping[str, Records], has_items: Mapping[str, bool]
) -> tuple[dict[str, Records], dict[str, str]]:
    """Layers whose rows go together, and why others do not."""
    most: dict[int, int] = {}
    for layer, records in series.items():
        for step, record in records.items():
            most[step] = max(most.get(step, 0), _num_items(record, has_items.get(layer, True)))
    kept, left_out = {}, {}
    for layer, records in series.items():
        is_batch = has_items.get(layer, True)
        shapes = {record.shape[1:] if is_batch else record.shape for record in records.values()}
        if any(_num_items(record, is_batch) < most[step] for step, record in records.items()):
            left_out[layer] = "fewer of its items were recorded than of other layers. Ask for it by itself."
        elif len(shapes) > 1:
            left_out[layer] = f"its shape changes over time: {', '.join(map(str, sorted(shapes)[:3]))}."
        else:
            kept[layer] = records
    if not kept:
        layer, why = next(iter(left_out.items()))
        raise InputError(f"no chosen layer can be taken as rows. {layer!r}: {why}")
    return kept, left_out


def _num_items(record: TensorRecord, is_batch: bool) -> int:
    return record.shape[0] if is_batch and record.shape else 1


def _labels(reader: RunReader, labels: str | ArrayLike | None, steps: NDArray[numpy.int64]) -> Array | None:
    if labels is None or not isinstance(labels, str):
        return None if labels is None else labels_of(labels, len(steps))
    counters = {
        entry.step: entry.head.counters
        for key in reader.series()
        if key.kind == "moment"
        for entry in reader.records(*key)
        if isinstance(entry.head, MomentHead)
    }
    missing = [step for step in steps if labels not in counters.get(int(step), {})]
    if missing:
        raise InputError(
            f"the moment of step {missing[0]} has no counter {labels!r} ({len(set(missing))} moments have "
            "none): give one label for each row, or choose steps=."
        )
    return numpy.array([counters[int(step)][labels] for step in steps])


def __getattr__(name: str) -> Any:
    # Loaded on first use: the app looks at arrays, and must not import torch for it.
    if name != "responses":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torcheer.netview.layer_responses import responses

    return responses
