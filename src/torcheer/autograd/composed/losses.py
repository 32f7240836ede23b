"""Losses: distances, margins, cross entropies.

Each function here gives a loss for each item. What is made of them, a mean or a sum, is the same for all:
`loss` does it, and has arguments and defaults from torch's functions of the same names.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.modes import as_plain
from torcheer.autograd.torch_calls import call, plain
from torcheer.errors import InputError


def loss(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a loss by its name. It returns losses; where their mean is one by weights, these as well."""
    signature = inspect.signature(getattr(F, function.__name__))

    @call(function.__name__)
    @functools.wraps(function)
    def reduced(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named = bound.arguments
        size_average, reduce = named.pop("size_average", None), named.pop("reduce", None)
        reduction = named.pop("reduction")
        if size_average is not None or reduce is not None:  # an older way to say it
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        found = function(**named)
        losses, shares = found if isinstance(found, tuple) else (found, None)
        return _reduced(losses, shares, reduction)

    return reduced


def _reduced(losses: Any, shares: Tensor | None, reduction: str) -> Any:
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "batchmean":
        return losses.sum() / (losses.shape[0] if len(losses.shape) else 1)
    if reduction != "mean":
        raise InputError(f"reduction is 'none', 'mean' or 'sum', not {reduction!r}.")
    return losses.mean() if shares is None else losses.sum() / shares.sum()


def _difference(input: Tensor, target: Tensor) -> Any:
    if input.shape != target.shape:
        warnings.warn(
            f"predictions of shape {tuple(input.shape)} against targets of {tuple(target.shape)}: each is "
            "compared with each that it is broadcast to, which is rarely meant. Reshape one of them.",
            stacklevel=5,
        )
    return input - target


def _weighted(losses: Any, weight: Tensor | None) -> Any:
    return losses if weight is None else (losses * weight, weight)


@loss
def mse_loss(input: Tensor, target: Tensor, weight: Tensor | None = None) -> Any:
    """The square of the difference."""
    difference = _difference(input, target)
    return _weighted(difference * difference, weight)


@loss
def l1_loss(input: Tensor, target: Tensor, weight: Tensor | None = None) -> Any:
    """The difference without its sign."""
    return _weighted(torch.abs(_difference(input, target)), weight)


@loss
def smooth_l1_loss(input: Tensor, target: Tensor, beta: float) -> Any:
    """A parabola up to `beta`, and straight lines from there on."""
    distance = torch.abs(_difference(input, target))
    if beta == 0:
        return distance
    near = torch.where(distance < beta, distance, 0.0)  # of what is infinite no square is taken
    return torch.where(distance < beta, near * near / (2 * beta), distance - beta / 2)


@loss
def huber_loss(input: Tensor, target: Tensor, delta: float, weight: Tensor | None = None) -> Any:
    """The same with a slope of 1 in the parabola: `delta` times the one above."""
    distance = torch.abs(_difference(input, target))
    near = torch.where(distance < delta, distance, 0.0)  # as above
    losses = torch.where(distance < delta, near * near / 2, delta * (distance - delta / 2))
    return losses if weight is None else losses * weight


@loss
def soft_margin_loss(input: Tensor, target: Tensor) -> Any:
    """For targets of -1 and 1."""
    return torch.log1p(torch.exp(-target * input))


@loss
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float) -> Any:
    """A distance that is to be small for targets of 1, and above the margin for those of -1."""
    apart = torch.clamp(margin - input, min=0)
    return torch.where(target != 1, apart, 0.0) + torch.where(target != -1, input, 0.0)


@loss
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float) -> Any:
    """Two directions: to be the same for targets of 1, and no nearer than the margin for those of -1."""
    eps = 1e-12
    lengths = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cosine = (input1 * input2).sum(-1) / torch.sqrt(lengths)
    apart = torch.clamp(cosine - margin, min=0)
    return torch.where(target == 1, 1 - cosine, 0.0) + torch.where(target == -1, apart, 0.0)


@loss
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float) -> Any:
    """The first is to be larger by the margin for targets of 1, the second for those of -1."""
    return torch.clamp(-target * (input1 - input2) + margin, min=0)


@loss
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool
) -> Any:
    """The positive is to be nearer to the anchor than the negative, by the margin."""
    near = _distance(anchor, positive, p, eps)
    far = _distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, _distance(positive, negative, p, eps))
    return torch.clamp(near - far + margin, min=0)


def _distance(x1: Tensor, x2: Tensor, p: float, eps: float) -> Any:
    # The eps keeps the root away from zero, where its slope has no end.
    return (torch.abs(x1 - x2 + eps) ** p).sum(-1) ** (1 / p)


@loss
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None) -> Any:
    """For probabilities. A logarithm below -100 counts as -100, so that no loss is infinite."""
    _check_shapes(input, target)
    if not bool(((input >= 0) & (input <= 1)).all()):
        raise InputError(
            "binary_cross_entropy takes probabilities, from 0 to 1: apply torch.sigmoid first, or use "
            "binary_cross_entropy_with_logits, which does it."
        )
    losses = -(target * _log_from_below(input) + (1 - target) * _log_from_below(1 - input))
    return losses if weight is None else losses * weight


@loss
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None
) -> Any:
    """For any numbers: the sigmoid is part of it, in a form that does not overflow."""
    _check_shapes(input, target)
    # -log sigmoid(x), where the exponential is never above 1. At 0 the two parts share the slope: a half.
    unlikely = torch.log1p(torch.exp(-torch.abs(input))) + torch.maximum(-input, torch.zeros_like(input))
    if pos_weight is not None:
        unlikely = (1 + (pos_weight - 1) * target) * unlikely
    losses = (1 - target) * input + unlikely
    return losses if weight is None else losses * weight


def _log_from_below(probability: Tensor) -> Any:
    # The gradient of the logarithm stays where it was cut off, but nothing is divided by less than 1e-12.
    value = torch.log(_at_least(probability, 1e-12))
    return value + (torch.clamp(torch.log(plain(probability)), min=-100) - plain(value))


def _at_least(value: Tensor, least: float) -> Any:
    """Raised to it where it is less; the gradient does not notice."""
    return value + (torch.clamp(plain(value), min=least) - plain(value))


def _check_shapes(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise InputError(
            f"predictions of shape {tuple(input.shape)} against targets of {tuple(target.shape)}: they must "
            "be alike."
        )


@loss
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, label_smoothing: float
) -> Any:
    """For scores of shape (items, classes, …); as targets numbers of classes, or a probability for each."""
    class_dim = _class_dim(input)
    log_chances = rules.log_softmax(input, dim=class_dim)
    by_class: Any = log_chances
    if weight is not None:  # in the dimension where the classes are
        by_class = log_chances * weight.reshape(-1, *[1] * (len(input.shape) - 2))
    share = label_smoothing / input.shape[class_dim]
    if input.shape == target.shape and target.is_floating_point():
        return -(by_class * (target * (1 - label_smoothing) + share)).sum(class_dim)
    losses, shares = _of_class(log_chances, target, weight, ignore_index)
    if label_smoothing == 0.0:
        return losses, shares
    # As if each class were true in turn.
    evenly = torch.where(plain(target) != ignore_index, -by_class.sum(class_dim), 0.0)
    shares = torch.ones_like(plain(losses)) if shares is None else shares
    return (1 - label_smoothing) * losses + share * evenly, shares


@loss
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Any:
    """Minus the logarithm that was given to the class that is true."""
    return _of_class(input, target, weight, ignore_index)


def _of_class(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int
) -> tuple[Any, Tensor | None]:
    """The loss of each item, and how much each counts; nothing where all count alike."""
    class_dim = _class_dim(input)
    expected = (*input.shape[:class_dim], *input.shape[class_dim + 1 :])
    if tuple(target.shape) != expected:
        raise InputError(
            f"for scores of shape {tuple(input.shape)}, targets have the shape {expected}, not "
            f"{tuple(target.shape)}: a class for each item."
        )
    with as_plain():
        counts = plain(target) != ignore_index
        classes = torch.where(counts, plain(target), 0)
    picked = rules.gather(input, dim=class_dim, index=classes.unsqueeze(class_dim))
    losses = -rules.reshape(picked, shape=tuple(target.shape))
    if weight is None and bool(counts.all()):
        return losses, None
    shares = counts.to(input.dtype) if weight is None else plain(weight)[classes] * counts
    return torch.where(counts, losses * shares, 0.0), shares


def _class_dim(scores: Tensor) -> int:
    return 0 if len(scores.shape) == 1 else 1


@loss
def kl_div(input: Tensor, target: Tensor, log_target: bool) -> Any:
    """How much is lost if the target is taken for what the input, logarithms of probabilities, says."""
    if log_target:
        return torch.exp(target) * (target - input)
    # What is impossible loses nothing: 0 · log 0 counts as 0.
    safe = torch.where(target > 0, target, 1.0)
    return target * (torch.log(safe) - input)


@loss
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float) -> Any:
    """For counts. `full` adds Stirling's approximation of the term that does not depend on the input."""
    rate, log_rate = (torch.exp(input), input) if log_input else (input, torch.log(input + eps))
    losses = rate - target * log_rate
    if full:
        safe = torch.where(target > 1, target, 1.0)
        stirling = safe * torch.log(safe) - safe + 0.5 * torch.log(2 * math.pi * safe)
        losses = losses + torch.where(target > 1, stirling, 0.0)
    return losses


@loss
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool, eps: float) -> Any:
    """For numbers with a predicted variance; one below `eps` counts as `eps`."""
    variance = var if isinstance(var, Tensor) else torch.full_like(input, var)
    if tuple(variance.shape) == tuple(input.shape[:-1]) != tuple(input.shape):
        variance = variance.unsqueeze(-1)
    if bool((plain(variance) < 0).any()):
        raise InputError("a variance is 0 or more: predict its logarithm, and pass torch.exp of it.")
    variance = _at_least(variance, eps)
    losses = 0.5 * (torch.log(variance) + (input - target) ** 2 / variance)
    return losses + 0.5 * math.log(2 * math.pi) if full else losses
