"""What an extraction will write, found out on the first batch: which ops, which shapes, how many bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch import Tensor, nn

from torcheer.capture import ModelHistory, Op, PassRecord
from torcheer.errors import FileFormatError, InputError, LayerNotFoundError, TorcheerError
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
    pooled_dims,
    sample_axis,
    says_what_to_choose,
    varying_dims,
    with_tokens_at,
)
from torcheer.features.layer_choice import (
    Choice,
    WantedLayers,
    batch_seed,
    choose,
    indices_in,
    pass_without_values,
    places_of_ops,
    whole_pass,
)
from torcheer.features.manifest import ArraySpec, LayerOrigin, Role, file_names
from torcheer.features.options import Task, Wishes
from torcheer.features.samples import Samples, column_of
from torcheer.features.sharded_weights import whole
from torcheer.features.sources import note_on_batches
from torcheer.features.stores.store import Array, Store
from torcheer.features.transforms.chain import BegunChain, begin_all
from torcheer.features.transforms import RunningComponents, open_values

_COLUMNS = ("labels", "ids", "lengths")


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

    def sampled(self, values: Tensor, num_samples: int, batch: int) -> Tensor:
        """Samples first."""
        shape = tuple(values.shape)
        is_fitting = self.axis.fits(shape, num_samples)
        if not is_fitting and num_samples == 1 and shape == self.shape:
            return values[None]  # a squeeze takes the first dimension of a batch of one, too
        if not is_fitting:
            raise InputError(
                f"{self.choice.name} has the shape {shape} in batch {batch}, which does not "
                "go with its "
                f"{num_samples} samples."
            )
        return self.axis.first(values, num_samples)

    def before_transforms(self, values: Tensor, samples: Samples, batch: int) -> Tensor | list[Tensor]:
        rows = self.sampled(values, samples.num_samples, batch)
        if self.shapes is None:
            if tuple(rows.shape[1:]) != self.shape:
                raise says_what_to_choose(self.choice.name, self.shape, tuple(rows.shape[1:]), batch)
            return rows
        each = kept_tokens(rows, samples.mask_in(self.choice.scope), self.dims)
        if isinstance(self.shapes, Ragged):
            return each
        if isinstance(self.shapes, Padded):
            return padded(each, self.shapes, self.dims, self.choice.name)
        return pooled(each, self.shapes, self.dims)

    def kept(self, values: Tensor, samples: Samples, batch: int) -> Array | list[Array]:
        """What is written."""
        found = self.before_transforms(values, samples, batch)
        if isinstance(found, list):
            return [_as_array(self.chain.as_it_comes(one[None])[0]) for one in found]
        return _as_array(self.chain(found))


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

    def column(self, role: str) -> ArraySpec | None:
        return next((column for column in self.columns if column.role == role), None)


def plan_of(task: Task) -> tuple[Plan, Samples, list[Tensor]]:
    """Runs the model on the first batch, which is given, too, with its values."""
    samples = task.caller.samples_of(task.source.first()).moved_to(task.device)
    if not samples.num_samples:
        raise InputError("the first batch has no samples: there is nothing to extract.")
    try:
        plan, values = _plan(task.model, samples.copied(), task.wishes)
        return plan, samples, values
    except TorcheerError:
        raise
    except Exception as error:
        note_on_batches(task.source, error)
        raise


def _plan(model: nn.Module, samples: Samples, wishes: Wishes) -> tuple[Plan, list[Tensor]]:
    """Runs the model on two samples, with all its ops, and on the first batch, whose values it gives."""
    seed = batch_seed(wishes.seed, 0)
    few, num_few = _few_samples(model, samples, wishes)
    chosen, values, way = _of_first_batch(model, samples, wishes, few, seed)
    seen = _seen(few, chosen)
    if num_few == samples.num_samples:
        axes: list[SampleAxis | str] = [_only_axis(value, samples.num_samples) for value in values]
    else:
        axes = [
            _only_axis(value, samples.num_samples)
            if one is None
            else _axis(one.tensor_contents, value, num_few, samples.num_samples)
            for one, value in zip(seen, values, strict=True)
        ]
    tokens = _token_places(model, samples, wishes, num_few, chosen, seen)
    notes = _notes_on_neighbours(seen, chosen, axes, values, num_few, samples.num_samples)
    channels = [
        place_of_channels(way, choice.index) if one is None else place_of_channels(few, one.index)
        for choice, one in zip(chosen, seen, strict=True)
    ]
    del few, way, seen
    kept, left_out = _those_with_samples(chosen, axes)
    notes += left_out
    columns, column_notes = _columns(samples, wishes)
    files = file_names([chosen[place].name for place in kept], _COLUMNS)
    layers = []
    for place, file in zip(kept, files, strict=True):
        axis = axes[place]
        assert isinstance(axis, SampleAxis)
        layers.append(
            _planned(
                chosen[place], axis, values[place], samples, wishes, file, channels[place], tokens[place]
            )
        )
    for layer in layers:
        notes += [f"{layer.choice.name}: {note}" for note in layer.chain.notes]
    plan = Plan(layers=tuple(layers), columns=columns, notes=(*dict.fromkeys(notes), *column_notes))
    return plan, [values[place] for place in kept]


def _of_first_batch(
    model: nn.Module, samples: Samples, wishes: Wishes, few: ModelHistory, seed: int
) -> tuple[list[Choice], list[Tensor], ModelHistory]:
    """The layers that are meant, their values in the first batch, and a pass on which they were found.

    They are chosen on the few samples, of which the values of all ops are there. With more samples the model
    may take another way (`if (x > 0).all()`, a mask that is left out where nothing is padded, something
    that is computed once and remembered): then those of that way are meant.
    """
    with suppress(LayerNotFoundError):  # of what is not there for few samples, but may be for more
        chosen = choose(wishes.layers, model, few)
        values, so_far = WantedLayers(model, chosen).values_and_pass(samples.copied(), seed)
        places = places_of_ops(so_far)
        if places == places_of_ops(few)[: len(places)]:
            return chosen, values, few
    way = pass_without_values(model, samples.copied(), seed)
    chosen = choose(wishes.layers, model, way)
    return chosen, WantedLayers(model, chosen).values(samples, seed, 0), way


def _seen(history: ModelHistory, chosen: Sequence[Choice]) -> list[Op | None]:
    """The layers as they are in a pass; None for those that are not there."""
    return [None if index is None else PassRecord(history).op(index) for index in indices_in(history, chosen)]


def _few_samples(model: nn.Module, samples: Samples, wishes: Wishes) -> tuple[ModelHistory, int]:
    """Another number of samples shows which dimension counts them; unless the model refuses all others."""
    own = samples.num_samples
    for number in dict.fromkeys((2, 1, 3, 2 * own)):
        if number == own:
            continue
        with suppress(Exception):
            return whole_pass(model, samples.resized(number), wishes.seed), number
    return whole_pass(model, samples, wishes.seed), own


def _token_places(
    model: nn.Module,
    samples: Samples,
    wishes: Wishes,
    num_few: int,
    chosen: Sequence[Choice],
    seen: Sequence[Op | None],
) -> list[tuple[int, ...] | None]:
    """Which dimensions of a sample grow with its tokens: seen where one is left out. None: not known."""
    short = samples.resized(num_few).shortened() if wishes.shapes is not None else None
    unknown: list[tuple[int, ...] | None] = [None] * len(chosen)
    if short is None:
        return unknown
    try:
        history = whole_pass(model, short, wishes.seed)
    except Exception:  # a model may want a certain length
        return unknown
    return [_places_that_differ(long, cut) for long, cut in zip(seen, _seen(history, chosen), strict=True)]


def _places_that_differ(long: Op | None, cut: Op | None) -> tuple[int, ...] | None:
    """Of a sample."""
    if long is None or cut is None or long.layer_type != cut.layer_type:
        return None
    sizes, others = long.tensor_shape, cut.tensor_shape
    if len(sizes) != len(others):
        return None
    return tuple(place - 1 for place in range(1, len(sizes)) if sizes[place] != others[place])


def _axis(few: Any, many: Any, num_few: int, num_many: int) -> SampleAxis | str:
    if not isinstance(few, Tensor) or not isinstance(many, Tensor):
        return "it is no tensor"
    return sample_axis(whole(few), many, num_few, num_many)


def _only_axis(values: Any, num_samples: int) -> SampleAxis | str:
    if isinstance(values, Tensor) and values.ndim and values.shape[0] == num_samples:
        return SampleAxis(place=0)
    return f"its first dimension does not count the {num_samples} samples"


def _notes_on_neighbours(
    seen: Sequence[Op | None],
    chosen: Sequence[Choice],
    axes: Sequence[Any],
    values: Sequence[Tensor],
    num_few: int,
    num_many: int,
) -> list[str]:
    mixed = [
        choice.name
        for one, choice, axis, value in zip(seen, chosen, axes, values, strict=True)
        if isinstance(axis, SampleAxis)
        and num_few != num_many
        and one is not None
        and axis.fits(tuple(one.tensor_shape), num_few)
        and not depends_on_own_sample(axis, whole(one.tensor_contents), value, num_few, num_many)
    ]
    if not mixed:
        return []
    some = ", ".join(mixed[:3]) + (f" and {len(mixed) - 3} more" if len(mixed) > 3 else "")
    return [f"the values of a sample in {some} depend on chance, or on what else is in its batch."]


def _those_with_samples(
    chosen: Sequence[Choice], axes: Sequence[SampleAxis | str]
) -> tuple[list[int], list[str]]:
    left_out = []
    kept = []
    for place, (choice, axis) in enumerate(zip(chosen, axes, strict=True)):
        if isinstance(axis, SampleAxis):
            kept.append(place)
        elif choice.is_explicit:
            raise InputError(f"{choice.name} has no row for each sample: {axis}. Leave it out of layers.")
        else:
            left_out.append(f"{choice.name} is left out: {axis}.")
    if not kept:
        raise InputError(f"none of the layers has a row for each sample: {left_out[0]}")
    return kept, left_out


def _planned(
    choice: Choice,
    axis: SampleAxis,
    values: Tensor,
    samples: Samples,
    wishes: Wishes,
    file: str,
    channels: Channels,
    tokens: tuple[int, ...] | None,
) -> PlannedLayer:
    rows = axis.first(values, samples.num_samples)
    shape = tuple(rows.shape[1:])
    mask = samples.mask_in(choice.scope)
    dims = names_of_dims(shape, channels, None if mask is None else mask.shape[1])
    if tokens is not None and axis == SampleAxis(place=0):
        dims = with_tokens_at(dims, tokens)
    if axis.rows_each > 1 and len(dims) > 1:
        dims = ("part", *names_of_dims(shape[1:], channels, None))
    shapes = wishes.shapes if varying_dims(dims) and _may_vary(dims, mask) else None
    each = _example(rows, shapes, mask, dims, choice.name)
    transforms = (*wishes.own_transforms.get(choice.key, ()), *wishes.transforms)
    names = pooled_dims(dims) if isinstance(shapes, Pooled) else dims
    chain = begin_all(transforms, choice.name, tuple(each.shape[1:]), each.dtype, names, example=each)
    is_ragged = isinstance(shapes, Ragged)
    if is_ragged and (chain.fitted or tuple(chain.shape) != tuple(each.shape[1:])):
        raise InputError(
            f"{choice.name} is kept ragged, and transforms that change shapes need samples of one shape: "
            "choose "
            "shapes='pooled' or Padded(…), or leave them out."
        )
    kept_shape = tuple(chain.shape)
    if is_ragged:
        kept_shape = tuple(
            -1 if place in varying_dims(dims) else size for place, size in enumerate(kept_shape)
        )
    aliases = dict.fromkeys((choice.label.rpartition("_")[0], *choice.modules, *_without_pass(choice)))
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
            dtype=numpy_name(chain.dtype),
            shape=kept_shape,
            dims=tuple(chain.dims),
            layout="ragged" if is_ragged else "rows",
        ),
        origin=LayerOrigin(
            name=choice.name,
            label=choice.label,
            address=choice.address,
            aliases=tuple(alias for alias in aliases if alias and alias != choice.name),
            transforms=tuple(one.words for one in transforms),
            witness=_size_of(values),
        ),
    )


def _may_vary(dims: tuple[str, ...], mask: Tensor | None) -> bool:
    return mask is None or any(name in ("token", "key") for name in dims)


def _without_pass(choice: Choice) -> tuple[str, ...]:
    return (choice.label.rpartition(":")[0],) if ":" in choice.label else ()


def _example(
    rows: Tensor, shapes: Shapes | None, mask: Tensor | None, dims: tuple[str, ...], layer: str
) -> Tensor:
    if shapes is None or isinstance(shapes, Ragged):
        return rows
    each = kept_tokens(rows, mask, dims)
    return padded(each, shapes, dims, layer) if isinstance(shapes, Padded) else pooled(each, shapes, dims)


def _columns(samples: Samples, wishes: Wishes) -> tuple[tuple[ArraySpec, ...], list[str]]:
    found: list[ArraySpec] = []
    notes: list[str] = []
    given: tuple[tuple[Role, Any], ...] = (
        ("labels", samples.labels),
        ("ids", wishes.ids if wishes.ids is not None else samples.ids),
    )
    for role, values in given:
        if values is None:
            continue
        number = len(values) if role == "ids" and wishes.ids is not None else samples.num_samples
        column = column_of(values, number)
        if column is None:
            notes.append(f"the {role} are not kept: they are neither numbers nor texts, one for each sample.")
        elif isinstance(column, tuple):
            found.append(ArraySpec(name=role, file=role, dtype="text", shape=(), role=role))
        else:
            little = column.dtype.newbyteorder("<").str
            found.append(ArraySpec(name=role, file=role, dtype=little, shape=column.shape[1:], role=role))
    if isinstance(wishes.shapes, Padded):
        found.append(ArraySpec(name="lengths", file="lengths", dtype="<i8", shape=(), role="lengths"))
    return tuple(found), notes


def numpy_name(dtype: torch.dtype) -> str:
    """As NumPy writes it, the smallest byte first: `<f4`."""
    return torch.empty(0, dtype=dtype, device="cpu").numpy().dtype.newbyteorder("<").str


def _size_of(values: Tensor) -> float:
    """Of its values, in the mean; what is not finite does not count."""
    if not values.numel():
        return 0.0
    values = open_values(values, "")
    wide = values.abs().to(torch.float64) if values.is_complex() else values.to(torch.float64).abs()
    return float(wide.nan_to_num(nan=0.0, posinf=0.0).mean())


def _as_array(values: Tensor) -> Array:
    found = values.detach().cpu().resolve_conj().resolve_neg()
    return found.numpy() if found.is_contiguous() else numpy.ascontiguousarray(found.numpy())


Batches = Callable[[Plan, int], Iterator[tuple[Any, list[Tensor], int]]]


def fit_transforms(plan: Plan, store: Store, batches: Batches, say: Callable[[str], None]) -> None:
    """What another process has found out already is taken from it."""
    depth = max((len(layer.chain.fitted) for layer in plan.layers), default=0)
    for level in range(depth):
        open_ones = [
            layer
            for layer in plan.layers
            if len(layer.chain.fitted) > level and not _restored(layer, level, store)
        ]
        if open_ones:
            _fit(plan, open_ones, level, store, batches, say)


def _fit(
    plan: Plan,
    layers: list[PlannedLayer],
    level: int,
    store: Store,
    batches: Batches,
    say: Callable[[str], None],
) -> None:
    parts = [layer.chain.fitted[level] for layer in layers]
    most = max(part.num_samples for _, part in parts)
    say(f"fitting {parts[0][0].partition('_')[2]} of {len(layers)} layers to the first {most:,} samples")
    seen = 0
    for samples, values, number in batches(plan, most):
        for layer, (key, part) in zip(layers, parts, strict=True):
            if seen < part.num_samples:
                rows = layer.before_transforms(values[plan.layers.index(layer)], samples, number)
                if isinstance(rows, list):
                    raise InputError(f"{layer.choice.name} is ragged: {key} needs samples of one shape.")
                layer.chain.look(part, rows)
        seen += samples.num_samples
    for layer, (key, part) in zip(layers, parts, strict=True):
        part.finish()
        content = io.BytesIO()
        arrays: dict[str, Any] = dict(part.state())
        numpy.savez(content, **arrays)
        kept = store.write_new(_name(layer, key), content.getvalue())
        _restore(part, kept, layer)


def _restored(layer: PlannedLayer, level: int, store: Store) -> bool:
    key, part = layer.chain.fitted[level]
    content = store.read(_name(layer, key))
    if content is not None:
        _restore(part, content, layer)
    return content is not None


def _restore(part: RunningComponents, content: bytes, layer: PlannedLayer) -> None:
    try:
        with numpy.load(io.BytesIO(content), allow_pickle=False) as state:
            part.restore(dict(state))
    except InputError:  # it says itself why it is not of this layer
        raise
    except (ValueError, OSError, KeyError) as error:
        raise FileFormatError(f"what was fitted to {layer.choice.name} is damaged: {error}.") from error


def _name(layer: PlannedLayer, key: str) -> str:
    return f"{layer.spec.file}.{key}.npz"
