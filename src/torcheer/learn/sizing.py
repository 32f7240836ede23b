"""The shape that an op will have, found from its arguments before it is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.learn.faults import Fault
from torcheer.learn.limits import broadcast, check_shape, check_work, shape_text

Bound = Mapping[str, Any]  # the arguments by name


def same(of: Bound) -> None:
    """No larger than what goes in, which was checked when it was made."""


def elementwise(of: Bound) -> None:
    shapes = [tuple(one.shape) for one in of.values() if isinstance(one, Tensor)]
    check_shape(broadcast(*shapes), "the result")


def product(of: Bound) -> None:
    left, right = of["a"], of["b"]
    if not left.shape or not right.shape:
        raise Fault("a matrix product needs vectors or matrices, not single numbers: write a * b.")
    inner, rows = left.shape[-1], right.shape[-2 if right.dim() > 1 else 0]
    if inner != rows:
        raise Fault(
            f"{shape_text(left.shape)} @ {shape_text(right.shape)} does not fit: the last dimension of "
            "the left "
            f"({inner}) must be as long as the {'second to last' if right.dim() > 1 else 'one'} of the "
            f"right ({rows})."
        )
    batch = broadcast(left.shape[:-2], right.shape[:-2])
    shape = (
        (*batch, *left.shape[-2:-1], *right.shape[-1:]) if right.dim() > 1 else (*batch, *left.shape[-2:-1])
    )
    check_shape(shape, "the product")
    check_work(math.prod(shape) * inner, "the product")


def linear(of: Bound) -> None:
    x, weight = of["x"], of["weight"]
    if weight.dim() != 2 or not x.shape or x.shape[-1] != weight.shape[1]:
        raise Fault(
            f"linear(x, weight): x of {shape_text(x.shape)} and weight of {shape_text(weight.shape)} do "
            "not fit; "
            "weight has a row for each output and a column for each input."
        )
    shape = (*x.shape[:-1], weight.shape[0])
    check_shape(shape, "the result")
    check_work(math.prod(shape) * weight.shape[1], "the layer")


def joined(of: Bound) -> None:
    check_shape((sum(one.numel() for one in of["tensors"]),), "the result")


def stretched(of: Bound) -> None:
    """expand: -1 leaves a dimension as it is."""
    own, wanted = of["x"].shape, of["sizes"]
    padded = [1] * (len(wanted) - len(own)) + list(own)
    check_shape(
        [old if new == -1 else max(0, new) for old, new in zip(padded, wanted, strict=False)], "the result"
    )


def repeated(of: Bound) -> None:
    check_shape((of["x"].numel(), math.prod(max(0, one) for one in of["sizes"])), "the result")


def renewed(of: Bound) -> None:
    """reshape: the elements stay as many as they are, but not so the dimensions."""
    check_shape([1] * len(of["sizes"]), "the result")


def one_more(of: Bound) -> None:
    check_shape((1, *of["x"].shape), "the result")


def picked(of: Bound) -> None:
    check_shape(of["index"].shape, "the result")


def embedded(of: Bound) -> None:
    weight = of["weight"]
    if weight.dim() != 2:
        raise Fault(f"a table of embeddings has rows and columns; this has {shape_text(weight.shape)}.")
    check_shape((*of["index"].shape, weight.shape[1]), "the result")


def one_hot(of: Bound) -> None:
    num_classes = of["num_classes"]
    if num_classes < 1:
        raise Fault("one_hot(index, num_classes) needs the number of classes, at least 1.")
    check_shape((*of["index"].shape, num_classes), "the result")


def convolved(of: Bound) -> None:
    x, weight = of["x"], of["weight"]
    if x.dim() not in (3, 4) or weight.dim() != 4:
        raise Fault(
            "conv2d(x, weight): x is items × channels × rows × columns, weight is channels out × "
            "channels in × rows "
            f"× columns; these have {shape_text(x.shape)} and {shape_text(weight.shape)}."
        )
    sides = _slid(x.shape[-2:], weight.shape[-2:], of)
    check_shape((*x.shape[:-3], weight.shape[0], *sides), "the result")
    check_work(math.prod((*x.shape[:-3], weight.numel(), *sides)), "the convolution")


def pooled(of: Bound) -> None:
    x = of["x"]
    if x.dim() not in (3, 4):
        raise Fault(f"pooling wants items × channels × rows × columns, not {shape_text(x.shape)}.")
    if 0 in of["kernel_size"]:
        raise Fault("a window has at least one row and one column.")
    stepped = dict(of)
    stepped["stride"] = of["kernel_size"] if of["stride"] is None else of["stride"]
    sides = _slid(x.shape[-2:], of["kernel_size"], stepped)
    check_shape((*x.shape[:-2], *sides), "the result")
    check_work(math.prod((*x.shape[:-2], *sides, *of["kernel_size"])), "the pooling")


def _slid(picture: Sequence[int], kernel: Sequence[int], of: Bound) -> tuple[int, ...]:
    sides = []
    for place, (size, window) in enumerate(zip(picture, kernel, strict=True)):
        stride, padding = of["stride"][place], of["padding"][place]
        spread = of["dilation"][place] if "dilation" in of else 1
        if not stride or not spread:
            raise Fault("a stride and a dilation are at least 1.")
        side = (size + 2 * padding - spread * (window - 1) - 1) // stride + 1
        if side < 1:
            raise Fault(f"a window of {window} does not fit into {size} with a padding of {padding}.")
        sides.append(side)
    return tuple(sides)


def indexed(value: Tensor, key: Any) -> None:
    """x[key]: tensors in the key are broadcast together and stand for the dimensions that they index."""
    parts = key if isinstance(key, tuple) else (key,)
    tensors = [one for one in parts if isinstance(one, Tensor)]
    if sum(one is None for one in parts) > 4:
        raise Fault("four new dimensions are enough.")
    whole = [one for one in tensors if one.dtype != torch.bool]
    if not whole:
        return  # each element at most once
    shape = broadcast(*(one.shape for one in whole))
    rest = sorted(value.shape, reverse=True)[: max(0, value.dim() - len(whole))]
    check_shape((math.prod(shape), *rest), "the result")
