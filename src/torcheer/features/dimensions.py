"""Which dimension of a layer counts samples, and what the others are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor

from torcheer.capture import ModelHistory
from torcheer.features.transforms.storable import open_values

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
    op = history._op(index)
    while True:
        if op.layer_type.startswith(_CHANNELS_LAST):  # and not "upsamplebilinear2d"
            return "last"
        if any(word in op.layer_type for word in _CHANNELS_FIRST):
            return "first"
        if any(word in op.layer_type for word in _MOVE_DIMS):
            return ""
        parents = [history._op(history[label].index) for label in op.parent_layers]
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
