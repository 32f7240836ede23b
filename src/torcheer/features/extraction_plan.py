"""What an extraction will write, found out on the first batch: which ops, which shapes, how many bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor

from torcheer.capture import ModelHistory, Op, PassRecord, Selection
from torcheer.errors import FileFormatError, InputError, LayerNotFoundError, TorcheerError
from torcheer.features.dimension_reduction import RunningComponents
from torcheer.features.dimensions import (
    Channels,
    Padded,
    Pooled,
    Ragged,
    SampleAxis,
    Shapes,
    depends_on_own_sample,
    kept_tokens,
    names_of_dims,
    padded,
    place_of_channels,
    pooled,
    sample_axis,
    varying_dims,
    with_tokens_at,
)
from torcheer.features.layer_choice import (
    Choice,
    WantedLayers,
    batch_seed,
    captured,
    choose,
    indices_in,
    places_of_ops,
)
from torcheer.features.manifest import ArraySpec, LayerOrigin, Role, file_name
from torcheer.features.options import Task
from torcheer.features.samples import Samples, column_of, whole
from torcheer.features.sources import note_on_batches
from torcheer.features.stores import Array, Store
from torcheer.features.transforms import BegunChain

_COLUMNS = ("labels", "ids", "lengths")
Batches = Callable[[Callable[[int], bool]], Iterator[tuple[Samples, list[Tensor], int]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedLayer:
    """One layer, from the op's tensor to the rows on disk."""

    choice: Choice
    axis: SampleAxis
    shape: tuple[int, ...]  # of one sample, as the model gives it in the first batch
    dims: tuple[str, ...]
    shapes: Shapes | None  # how it is kept where it varies; None: it must not
    chain: BegunChain
    spec: ArraySpec
    origin: LayerOrigin

    def kept(self, values: Tensor, samples: Samples, batch: int) -> Array | list[Array]:
        """What is written."""
        found = self.before_transforms(values, samples, batch)
        if isinstance(found, list):
            return [_as_array(self.chain.as_it_comes(one[None])[0]) for one in found]
        return _as_array(self.chain(found))

    def before_transforms(self, values: Tensor, samples: Samples, batch: int) -> Tensor | list[Tensor]:
        rows = self._samples_first(values, samples.num_samples, batch)
        if self.shapes is None and tuple(rows.shape[1:]) != self.shape:
            raise InputError(
                f"{self.choice.name} has samples of the shape {tuple(rows.shape[1:])} in batch {batch}, and "
                f"of {self.shape} in the first: say how they are to be kept, by "
                "shapes=tl.features.Padded(128), 'ragged' or 'pooled' ('padded:128' in the shell)."
            )
        return _arranged(rows, self.shapes, samples.mask_in(self.choice.scope), self.dims, self.choice.name)

    def _samples_first(self, values: Tensor, num_samples: int, batch: int) -> Tensor:
        shape = tuple(values.shape)
        if self.axis.fits(shape, num_samples):
            return self.axis.first(values, num_samples)
        if num_samples == 1 and shape == self.shape:
            return values[None]  # a squeeze takes the first dimension of a batch of one, too
        raise InputError(
            f"{self.choice.name} has the shape {shape} in batch {batch}, which does not go with its "
            f"{num_samples} samples."
        )


def _arranged(
    rows: Tensor, shapes: Shapes | None, mask: Tensor | None, dims: tuple[str, ...], layer: str
) -> Tensor | list[Tensor]:
    """Samples of one shape, or ragged ones as they are."""
    if shapes is None:
        return rows
    each = kept_tokens(rows, mask, dims)
    if isinstance(shapes, Ragged):
        return each
    return padded(each, shapes, dims, layer) if isinstance(shapes, Padded) else pooled(each, shapes, dims)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """What is written for each batch."""

    layers: tuple[PlannedLayer, ...]
    columns: tuple[ArraySpec, ...]
    notes: tuple[str, ...]

    @property
    def choices(self) -> list[Choice]:
        return [layer.choice for layer in self.layers]

    @property
    def arrays(self) -> tuple[ArraySpec, ...]:
        return (*(layer.spec for layer in self.layers), *self.columns)

    def kept(self, values: list[Tensor], samples: Samples, batch: int) -> Iterator[Any]:
        """The array of each layer, and what is written of it for a batch. Empties `values` on the way."""
        for layer in self.layers:
            yield layer.spec, layer.kept(values.pop(0), samples, batch)


def plan_of(task: Task) -> tuple[Plan, Samples, list[Tensor]]:
    """Runs the model on the first batch, which is given, too, with its values."""
    samples = task.caller.samples_of(task.source.first()).moved_to(task.device)
    if not samples.num_samples:
        raise InputError("the first batch has no samples: there is nothing to extract.")
    try:
        plan, values = _plan(task, samples.copied())
        return plan, samples, values
    except TorcheerError:
        raise
    except Exception as error:
        note_on_batches(task.source, error)
        raise


def _plan(task: Task, samples: Samples) -> tuple[Plan, list[Tensor]]:
    """Runs the model on two samples, with all its ops, and on the first batch, whose values it gives."""
    few, num_few = _few_samples(task, samples)
    chosen, values, way = _of_first_batch(task, samples, few)
    seen = _seen(few, chosen)
    short = _seen_without_a_token(task, samples.resized(num_few), chosen)
    sizes = num_few, samples.num_samples
    layers, kept, notes, mixed = [], [], [], []
    used = set(_COLUMNS)
    for choice, value, one, cut in zip(chosen, values, seen, short, strict=True):
        axis = _axis_of(one, value, *sizes)
        if isinstance(axis, str):
            if choice.is_explicit:
                raise InputError(f"{choice.name} has no row for each sample: {axis}. Leave it out of layers.")
            notes.append(f"{choice.name} is left out: {axis}.")
            continue
        if one is not None and _is_mixed(axis, one, value, *sizes):
            mixed.append(choice.name)
        channels = place_of_channels(*((way, choice.index) if one is None else (few, one.index)))
        tokens = _places_that_differ(one, cut)
        file = file_name(choice.name, used)
        layers.append(_planned(task, samples, choice, axis, value, channels, tokens, file))
        kept.append(value)
    if not layers:
        raise InputError(f"none of the layers has a row for each sample: {notes[0]}")
    if mixed:
        some = ", ".join(mixed[:3]) + (f" and {len(mixed) - 3} more" if len(mixed) > 3 else "")
        notes.append(f"the values of a sample in {some} depend on chance, or on what else is in its batch.")
    notes += [f"{layer.choice.name}: {note}" for layer in layers for note in layer.chain.notes]
    columns, column_notes = _columns(task, samples)
    plan = Plan(layers=tuple(layers), columns=columns, notes=(*dict.fromkeys(notes), *column_notes))
    return plan, kept


def _few_samples(task: Task, samples: Samples) -> tuple[ModelHistory, int]:
    """Another number of samples shows which dimension counts them; unless the model refuses all others."""
    own, everything = samples.num_samples, Selection(everything=True)
    for number in dict.fromkeys((2, 1, 3, 2 * own)):
        if number != own:
            with suppress(Exception):
                return captured(task.model, samples.resized(number), task.seed, everything), number
    return captured(task.model, samples, task.seed, everything), own


def _of_first_batch(
    task: Task, samples: Samples, few: ModelHistory
) -> tuple[list[Choice], list[Tensor], ModelHistory]:
    """The layers that are meant, their values in the first batch, and a pass on which they were found.

    They are chosen on the few samples, of which the values of all ops are there. With more samples the model
    may take another way (`if (x > 0).all()`, a mask that is left out where nothing is padded, something
    that is computed once and remembered): then those of that way are meant.
    """
    model, seed = task.model, batch_seed(task.seed, 0)
    with suppress(LayerNotFoundError):  # of what is not there for few samples, but may be for more
        chosen = choose(task.layers, model, few)
        values, so_far = WantedLayers(model, chosen).values_and_pass(samples.copied(), seed)
        places = places_of_ops(so_far)
        if places == places_of_ops(few)[: len(places)]:
            return chosen, values, few
    way = captured(model, samples.copied(), seed)
    chosen = choose(task.layers, model, way)
    return chosen, WantedLayers(model, chosen).values(samples, seed, 0), way


def _seen(history: ModelHistory, chosen: Sequence[Choice]) -> list[Op | None]:
    """The layers as they are in a pass; None for those that are not there."""
    return [None if index is None else PassRecord(history).op(index) for index in indices_in(history, chosen)]


def _seen_without_a_token(task: Task, samples: Samples, chosen: Sequence[Choice]) -> list[Op | None]:
    """The layers where each sample has one token less, to see what grows with them."""
    short = samples.shortened() if task.shapes is not None else None
    if short is not None:
        with suppress(Exception):  # a model may want a certain length
            return _seen(captured(task.model, short, task.seed, Selection(everything=True)), chosen)
    return [None] * len(chosen)


def _places_that_differ(long: Op | None, cut: Op | None) -> tuple[int, ...] | None:
    """Which dimensions of a sample grow with its tokens; None: not known."""
    if long is None or cut is None or long.layer_type != cut.layer_type:
        return None
    sizes, others = long.tensor_shape, cut.tensor_shape
    if len(sizes) != len(others):
        return None
    return tuple(place - 1 for place in range(1, len(sizes)) if sizes[place] != others[place])


def _axis_of(few: Op | None, many: Any, num_few: int, num_many: int) -> SampleAxis | str:
    """Where the samples are, or why there is no row for each."""
    if not isinstance(many, Tensor):
        return "it is no tensor"
    if few is None or num_few == num_many:
        if many.ndim and many.shape[0] == num_many:
            return SampleAxis(place=0)
        return f"its first dimension does not count the {num_many} samples"
    if not isinstance(few.tensor_contents, Tensor):
        return "it is no tensor"
    return sample_axis(whole(few.tensor_contents), many, num_few, num_many)


def _is_mixed(axis: SampleAxis, few: Op, many: Tensor, num_few: int, num_many: int) -> bool:
    if num_few == num_many or not axis.fits(few.tensor_shape, num_few):
        return False
    return not depends_on_own_sample(axis, whole(few.tensor_contents), many, num_few, num_many)


def _planned(
    task: Task,
    samples: Samples,
    choice: Choice,
    axis: SampleAxis,
    values: Tensor,
    channels: Channels,
    tokens: tuple[int, ...] | None,
    file: str,
) -> PlannedLayer:
    rows = axis.first(values, samples.num_samples)
    shape = tuple(rows.shape[1:])
    mask = samples.mask_in(choice.scope)
    dims = names_of_dims(shape, channels, None if mask is None else mask.shape[1])
    if tokens is not None and axis == SampleAxis(place=0):
        dims = with_tokens_at(dims, tokens)
    if axis.rows_each > 1 and len(dims) > 1:
        dims = ("part", *names_of_dims(shape[1:], channels, None))
    varying = varying_dims(dims)
    may_vary = mask is None or any(name in ("token", "key") for name in dims)
    shapes = task.shapes if varying and may_vary else None
    arranged = _arranged(rows, shapes, mask, dims, choice.name)
    example = rows if isinstance(arranged, list) else arranged
    names = dims
    if isinstance(shapes, Pooled):
        names = tuple(name for place, name in enumerate(dims) if place not in varying)
    transforms = (*task.own_transforms.get(choice.key, ()), *task.transforms)
    arriving = tuple(example.shape[1:])
    chain = BegunChain(transforms, choice.name, example, names)
    kept_shape = tuple(chain.shape)
    if isinstance(shapes, Ragged):
        if chain.fitted or kept_shape != arriving:
            raise InputError(
                f"{choice.name} is kept ragged, and transforms that change shapes need samples of one shape: "
                "choose shapes='pooled' or Padded(…), or leave them out."
            )
        kept_shape = tuple(-1 if place in varying else size for place, size in enumerate(kept_shape))
    aliases = [choice.label.rpartition("_")[0], *choice.modules, choice.label.rpartition(":")[0]]
    return PlannedLayer(
        choice=choice,
        axis=axis,
        shape=shape,
        dims=dims,
        shapes=shapes,
        chain=chain,
        spec=ArraySpec(
            name=choice.name,
            file=file,
            # As NumPy writes it, the smallest byte first: `<f4`.
            dtype=torch.empty(0, dtype=chain.dtype, device="cpu").numpy().dtype.newbyteorder("<").str,
            shape=kept_shape,
            dims=tuple(chain.dims),
            layout="ragged" if isinstance(shapes, Ragged) else "rows",
        ),
        origin=LayerOrigin(
            name=choice.name,
            label=choice.label,
            address=choice.address,
            aliases=tuple(alias for alias in dict.fromkeys(aliases) if alias and alias != choice.name),
            transforms=tuple(one.words for one in transforms),
        ),
    )


def _columns(task: Task, samples: Samples) -> tuple[tuple[ArraySpec, ...], list[str]]:
    found: list[ArraySpec] = []
    notes: list[str] = []
    given: tuple[tuple[Role, Any, int], ...] = (
        ("labels", samples.labels, samples.num_samples),
        ("ids", samples.ids, samples.num_samples) if task.ids is None else ("ids", task.ids, len(task.ids)),
    )
    for role, values, number in given:
        if values is None:
            continue
        column = column_of(values, number)
        if column is None:
            notes.append(f"the {role} are not kept: they are neither numbers nor texts, one for each sample.")
        elif isinstance(column, tuple):
            found.append(ArraySpec(name=role, file=role, dtype="text", shape=(), role=role))
        else:
            little = column.dtype.newbyteorder("<").str
            found.append(ArraySpec(name=role, file=role, dtype=little, shape=column.shape[1:], role=role))
    if isinstance(task.shapes, Padded):
        found.append(ArraySpec(name="lengths", file="lengths", dtype="<i8", shape=(), role="lengths"))
    return tuple(found), notes


def _as_array(values: Tensor) -> Array:
    found = values.detach().cpu().resolve_conj().resolve_neg()
    return found.numpy() if found.is_contiguous() else numpy.ascontiguousarray(found.numpy())


def fit_transforms(plan: Plan, store: Store, batches: Batches, say: Callable[[str], None]) -> None:
    """Fit what looks at data first. What another process has found out already is taken from it.

    `batches` gives the samples and values of those that are wanted by their numbers.
    """
    # One part of each layer at a time: the next one sees what it gives.
    for level in range(max(len(layer.chain.fitted) for layer in plan.layers)):
        parts = []
        for place, layer in enumerate(plan.layers):
            for key, part in layer.chain.fitted[level : level + 1]:
                name = f"{layer.spec.file}.{key}.npz"
                content = store.read(name)
                if content is None:
                    parts.append((place, layer, name, part))
                else:
                    _restore(part, content, layer)
        if parts:
            most = max(part.num_samples for _, _, _, part in parts)
            say(f"fitting pca of {len(parts)} layers to the first {most:,} samples")
            _look(parts, most, batches)
        for _, layer, name, part in parts:
            part.finish()
            file = io.BytesIO()
            numpy.savez(file, **part.state())  # type: ignore[arg-type]
            _restore(part, store.write_new(name, file.getvalue()), layer)


def _look(
    parts: Sequence[tuple[int, PlannedLayer, str, RunningComponents]], num_samples: int, batches: Batches
) -> None:
    for samples, values, number in batches(lambda _: True):
        for place, layer, _, part in parts:
            rows = layer.before_transforms(values[place], samples, number)
            assert isinstance(rows, Tensor)  # ragged layers take no such transform
            layer.chain.look(part, rows)
        num_samples -= samples.num_samples
        if num_samples <= 0:
            return


def _restore(part: RunningComponents, content: bytes, layer: PlannedLayer) -> None:
    try:
        with numpy.load(io.BytesIO(content), allow_pickle=False) as state:
            part.restore(dict(state))
    except InputError:  # it says itself why it is not of this layer
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"what was fitted to {layer.choice.name} is damaged: {error}.") from error
