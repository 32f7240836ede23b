"""Losses that measure a distance: how far predictions are from what they should be."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.calls import call
from torcheer.errors import InputError

_BY_NUMBER = {0: "none", 1: "mean", 2: "sum"}  # how torch itself passes a reduction on


def reduced(values: Any, reduction: Any, size_average: bool | None = None, reduce: bool | None = None) -> Any:
    """All losses as they are, their mean or their sum; the last two arguments are an older way to say it."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    reduction = _BY_NUMBER.get(reduction, reduction)
    if reduction == "none":
        return values
    if reduction == "mean":
        return values.mean()
    if reduction == "sum":
        return values.sum()
    raise InputError(f"reduction is 'none', 'mean' or 'sum', not {reduction!r}.")


def _warn_of_shapes(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warnings.warn(
            f"predictions of shape {tuple(input.shape)} against targets of {tuple(target.shape)}: each is "
            "compared with each that it is broadcast to, which is rarely meant. Reshape one of them.",
            stacklevel=3,
        )


# --- the difference of two numbers -----------------------------------------------------------------------


@call("mse_loss")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
    weight: Tensor | None = None,
) -> Any:
    """The square of the difference."""
    _warn_of_shapes(input, target)
    difference = input - target
    return _weighted(difference * difference, weight, reduction, size_average, reduce)


@call("l1_loss")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
    weight: Tensor | None = None,
) -> Any:
    """The difference without its sign."""
    _warn_of_shapes(input, target)
    return _weighted(torch.abs(input - target), weight, reduction, size_average, reduce)


@call("smooth_l1_loss")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
    beta: float = 1.0,
) -> Any:
    """A parabola up to `beta`, and straight lines from there on."""
    _warn_of_shapes(input, target)
    if beta < 0:
        raise InputError(f"beta is where the lines begin, 0 or more, not {beta}.")
    distance = torch.abs(input - target)
    if beta > 0:
        near = torch.where(distance < beta, distance, 0.0)  # of what is infinite no square is taken
        distance = torch.where(distance < beta, near * near / (2 * beta), distance - beta / 2)
    return reduced(distance, reduction, size_average, reduce)


@call("huber_loss")
def huber_loss(
    input: Tensor, target: Tensor, reduction: Any = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Any:
    """The same with a slope of 1 in the parabola: `delta` times the one above."""
    _warn_of_shapes(input, target)
    if delta <= 0:
        raise InputError(f"delta is where the lines begin, above 0, not {delta}.")
    distance = torch.abs(input - target)
    near = torch.where(distance < delta, distance, 0.0)  # as above
    losses = torch.where(distance < delta, near * near / 2, delta * (distance - delta / 2))
    return reduced(losses if weight is None else losses * weight, reduction)


def _weighted(losses: Any, weight: Tensor | None, reduction: Any, *older: bool | None) -> Any:
    """A mean by weights, if there are some."""
    if weight is None:
        return reduced(losses, reduction, *older)
    if weight.shape != losses.shape:
        raise InputError(f"weights of shape {tuple(weight.shape)} for losses of {tuple(losses.shape)}.")
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction, *older)


# --- margins: right is not enough, it must be clear ------------------------------------------------------


@call("soft_margin_loss")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """For targets of -1 and 1."""
    return reduced(torch.log1p(torch.exp(-target * input)), reduction, size_average, reduce)


@call("hinge_embedding_loss")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """A distance that is to be small for targets of 1, and above the margin for those of -1."""
    apart = torch.clamp(margin - input, min=0)
    losses = torch.where(target != 1, apart, 0.0) + torch.where(target != -1, input, 0.0)
    return reduced(losses, reduction, size_average, reduce)


@call("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """Two directions: to be the same for targets of 1, and no nearer than the margin for those of -1."""
    eps = 1e-12
    lengths = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cosine = (input1 * input2).sum(-1) / torch.sqrt(lengths)
    apart = torch.clamp(cosine - margin, min=0)
    losses = torch.where(target == 1, 1 - cosine, 0.0) + torch.where(target == -1, apart, 0.0)
    return reduced(losses, reduction, size_average, reduce)


@call("margin_ranking_loss")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """The first is to be larger by the margin for targets of 1, the second for those of -1."""
    losses = torch.clamp(-target * (input1 - input2) + margin, min=0)
    return reduced(losses, reduction, size_average, reduce)


@call("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """The positive is to be nearer to the anchor than the negative, by the margin."""
    near = _distance(anchor, positive, p, eps)
    far = _distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, _distance(positive, negative, p, eps))
    return reduced(torch.clamp(near - far + margin, min=0), reduction, size_average, reduce)


def _distance(x1: Tensor, x2: Tensor, p: float, eps: float) -> Any:
    # The eps keeps the root away from zero, where its slope has no end.
    difference = torch.abs(x1 - x2 + eps)
    if p == 1:
        return difference.sum(-1)
    if p == 2:
        return torch.sqrt((difference * difference).sum(-1))
    return (difference**p).sum(-1) ** (1 / p)
