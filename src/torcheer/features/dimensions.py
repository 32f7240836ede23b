"""The dimensions of a layer: which counts samples, what the others are called, what is kept where they vary.

    Padded(128)   every sample gets 128 places; what is left is filled with zeros, and lengths are kept
    Ragged()      every sample as it is, one after the other
    Pooled()      the mean over the tokens that count

Where the batch says which tokens count (an attention mask), the others are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import torch
from torch import Tensor

from torcheer.capture import ModelHistory, PassRecord
from torcheer.errors import InputError
from torcheer.features.transforms import open_values

Channels = Literal["first", "last", ""]  # "": nobody knows

_CHANNELS_LAST: Final = ("linear", "layernorm")
_CHANNELS_FIRST: Final = (
    "conv",
    "pool",
    "batchnorm",
    "groupnorm",
    "instancenorm",
    "upsample",
    "pixelshuffle",
)
_MOVE_DIMS: Final = ("permute", "transpose", "movedim", "reshape", "view", "matmul")
_TOLERANCE = 2e-2  # of the largest value: numbers of a sample differ a little with the size of its batch


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAxis:
    """Where the samples of a layer are: in dimension `place`, so many rows each."""

    place: int
    rows_each: int = 1

    def first(self, values: Tensor, num_samples: int) -> Tensor:
        """The same with samples first, one row each."""
        moved = values.movedim(self.place, 0) if self.place else values
        if self.rows_each == 1:
            return moved
        return moved.reshape(num_samples, self.rows_each, *moved.shape[1:])

    def fits(self, shape: tuple[int, ...], num_samples: int) -> bool:
        return len(shape) > self.place and shape[self.place] == self.rows_each * num_samples


def sample_axis(few: Tensor, many: Tensor, num_few: int, num_many: int) -> SampleAxis | str:
    """Of the values of one layer, for few samples and for these and some more; or why there is none."""
    if few.ndim != many.ndim:
        return "its number of dimensions depends on the number of samples"
    places = [
        place
        for place, (size, larger) in enumerate(zip(few.shape, many.shape, strict=True))
        if size != larger and size * num_many == larger * num_few and size % num_few == 0
    ]
    if not places:
        same = few.shape == many.shape
        return (
            "it is computed once for all samples"
            if same
            else "its shape does not follow the number of samples"
        )
    if len(places) > 1:
        return "it compares the samples of a batch with one another"
    axis = SampleAxis(place=places[0], rows_each=few.shape[places[0]] // num_few)
    if axis.place and axis.rows_each > 1:
        return "samples are folded into a dimension that is not the first"
    if axis.rows_each > 1 and not depends_on_own_sample(axis, few, many, num_few, num_many):
        return "several rows belong to a sample, and not in a row"
    return axis


def depends_on_own_sample(axis: SampleAxis, few: Tensor, many: Tensor, num_few: int, num_many: int) -> bool:
    """Whether a sample has the same values whatever else is in its batch."""
    number = min(num_few, num_many)
    few, many = open_values(few, ""), open_values(many, "")
    one, other = (axis.first(few, num_few)[:number], axis.first(many, num_many)[:number])
    if one.shape != other.shape:
        return False
    if not one.is_floating_point() and not one.is_complex():
        return bool((one == other).float().mean() > 0.99) if one.numel() else True
    wide = torch.complex128 if one.is_complex() else torch.float64
    one, other = one.to(wide), other.to(wide)
    size = float(other.abs().nan_to_num(posinf=0.0).max()) if other.numel() else 0.0
    apart = (one - other).abs().nan_to_num(posinf=0.0)
    return float(apart.max() if apart.numel() else 0.0) <= _TOLERANCE * size + 1e-12


def place_of_channels(history: ModelHistory, index: int) -> Channels:
    """As the nearest op before says, that knows: a convolution has channels first, a linear layer last."""
    op = PassRecord(history).op(index)
    while True:
        if op.layer_type.startswith(_CHANNELS_LAST):  # and not "upsamplebilinear2d"
            return "last"
        if any(word in op.layer_type for word in _CHANNELS_FIRST):
            return "first"
        if any(word in op.layer_type for word in _MOVE_DIMS):
            return ""
        parents = [PassRecord(history).op(history[label].index) for label in op.parent_layers]
        is_joined = op.layer_type.startswith("cat")
        alike = [
            one
            for one in parents
            if one.tensor_shape == op.tensor_shape
            or (is_joined and len(one.tensor_shape) == len(op.tensor_shape))
        ]
        if not alike:
            return ""
        op = alike[0]


def names_of_dims(shape: tuple[int, ...], channels: Channels, num_tokens: int | None) -> tuple[str, ...]:
    """What the dimensions of one sample are called: `num_tokens` where the input has tokens."""
    if num_tokens is not None and len(shape) >= 2 and num_tokens in shape:
        return _with_tokens(shape, num_tokens)
    if len(shape) == 2:
        return ("channel", "time") if channels == "first" else ("token", "unit")
    if len(shape) == 3:
        is_last = shape[0] == shape[1] != shape[2] if not channels else channels == "last"
        return ("y", "x", "channel") if is_last else ("channel", "y", "x")
    by_length = {0: (), 1: ("unit",), 4: ("channel", "z", "y", "x")}
    return by_length.get(len(shape), tuple(f"dim_{place}" for place in range(len(shape))))


def _with_tokens(shape: tuple[int, ...], num_tokens: int) -> tuple[str, ...]:
    if len(shape) == 2:
        return ("token", "unit") if shape[0] == num_tokens else ("channel", "token")
    if len(shape) == 3 and shape[1] == shape[2] == num_tokens:
        return ("head", "token", "key")
    if len(shape) == 3 and shape[0] == num_tokens:
        return ("token", "head", "unit")
    if len(shape) == 3 and shape[1] == num_tokens:
        return ("head", "token", "unit")
    place = shape.index(num_tokens)
    return tuple("token" if number == place else f"dim_{number}" for number in range(len(shape)))


def with_tokens_at(dims: tuple[str, ...], places: tuple[int, ...]) -> tuple[str, ...]:
    """The same names, where it is known which dimensions grow with the tokens."""
    plain = ["unit" if name in ("token", "key") else name for name in dims]
    for name, place in zip(("token", "key"), places, strict=False):
        plain[place] = name
    return tuple(name if plain.count(name) == 1 else f"{name}_{place}" for place, name in enumerate(plain))


TOKEN_DIMS: Final = ("token", "key")
SPACE_DIMS: Final = ("y", "x", "z", "time")


@dataclass(frozen=True, slots=True)
class Padded:
    """Filled up to a length that is the same for all: of tokens, or of each dimension of space."""

    length: int | tuple[int, ...]
    value: float = 0.0

    def __post_init__(self) -> None:
        sizes = (self.length,) if isinstance(self.length, int) else self.length
        if not sizes or not all(
            isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in sizes
        ):
            raise InputError(
                f"Padded({self.length!r}): give how many places each sample gets, such as Padded(128)."
            )

    @property
    def words(self) -> str:
        sizes = (self.length,) if isinstance(self.length, int) else self.length
        return f"padded to {'×'.join(map(str, sizes))} with {self.value:g}"


@dataclass(frozen=True, slots=True)
class Ragged:
    """Every sample with the shape that it has."""

    words: ClassVar[str] = "ragged"


@dataclass(frozen=True, slots=True)
class Pooled:
    """The mean, or the largest, over tokens or space."""

    kind: Literal["mean", "max"] = "mean"

    def __post_init__(self) -> None:
        if self.kind not in ("mean", "max"):
            raise InputError(f"Pooled({self.kind!r}): take 'mean' or 'max'.")

    @property
    def words(self) -> str:
        return f"pooled by {self.kind}"


Shapes = Padded | Ragged | Pooled


def read_shapes(given: Any) -> Shapes | None:
    """`"ragged"`, `"pooled"`, `"pooled:max"`, `"padded:128"`, or one of the classes."""
    if given is None or isinstance(given, Padded | Ragged | Pooled):
        return given
    if isinstance(given, str):
        kind, _, option = given.partition(":")
        if kind == "ragged" and not option:
            return Ragged()
        if kind == "pooled":
            return Pooled(option or "mean")  # type: ignore[arg-type]
        if kind == "padded" and option and all(part.isdigit() for part in option.split("x")):
            sizes = tuple(int(part) for part in option.split("x"))
            return Padded(sizes[0] if len(sizes) == 1 else sizes)
    if given in (Ragged, Pooled):
        return given()  # type: ignore[no-any-return]
    raise InputError(f"shapes={given!r}: choose 'padded:128' (so many places each), 'ragged' or 'pooled'.")


def varying_dims(dims: tuple[str, ...]) -> tuple[int, ...]:
    """Which dimensions of a sample may vary: those of tokens where there are any, else those of space."""
    tokens = tuple(place for place, name in enumerate(dims) if name in TOKEN_DIMS)
    return tokens or tuple(place for place, name in enumerate(dims) if name in SPACE_DIMS)


def kept_tokens(values: Tensor, mask: Tensor | None, dims: tuple[str, ...]) -> list[Tensor]:
    """Sample by sample, without the tokens that do not count. Layers with other tokens keep all of them."""
    places = [
        place
        for place in varying_dims(dims)
        if dims[place] in TOKEN_DIMS and mask is not None and values.shape[place + 1] == mask.shape[1]
    ]
    if mask is None or not places or bool(mask.all()):
        return list(values)
    found = []
    for sample, counts in zip(values, mask.to(values.device), strict=True):
        for place in places:
            if sample.shape[place] == len(counts):  # a layer may have more places than there are tokens
                sample = sample.index_select(place, torch.nonzero(counts)[:, 0])
        found.append(sample)
    return found


def padded(samples: Sequence[Tensor], choice: Padded, dims: tuple[str, ...], layer: str) -> Tensor:
    places = varying_dims(dims)
    sizes = (choice.length,) * len(places) if isinstance(choice.length, int) else choice.length
    if len(sizes) != len(places):
        raise InputError(f"{layer} varies in {len(places)} dimensions, and {choice} gives {len(sizes)}.")
    shape = list(samples[0].shape)
    for place, size in zip(places, sizes, strict=True):
        most = max(sample.shape[place] for sample in samples)
        if most > size:
            raise InputError(
                f"{layer} has a sample with {most:,} places in its dimension {dims[place]!r}, and "
                f"{choice.words}: give "
                f"Padded({most}) or more (other batches may have longer ones), or shorten the samples."
            )
        shape[place] = size
    whole = samples[0].new_full((len(samples), *shape), choice.value)
    for row, sample in zip(whole, samples, strict=True):
        row[tuple(slice(size) for size in sample.shape)] = sample
    return whole


def pooled(samples: Sequence[Tensor], choice: Pooled, dims: tuple[str, ...]) -> Tensor:
    places = varying_dims(dims)
    rows = []
    for sample in samples:
        if choice.kind == "max":
            rows.append(sample.amax(places))
        else:
            wide = sample if sample.dtype in (torch.float32, torch.float64) else sample.float()
            mean = wide.mean(places)
            rows.append(mean.to(sample.dtype) if sample.is_floating_point() else mean)
    return torch.stack(rows)
