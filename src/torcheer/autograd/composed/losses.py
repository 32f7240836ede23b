"""Losses: distances, margins, cross entropies."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.modes import as_plain
from torcheer.autograd.torch_calls import call
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


# --- yes or no -------------------------------------------------------------------------------------------


@call("binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """For probabilities. A logarithm below -100 counts as -100, so that no loss is infinite."""
    _check_shapes(input, target)
    with as_plain():
        if not bool(((input >= 0) & (input <= 1)).all()):
            raise InputError(
                "binary_cross_entropy takes probabilities, from 0 to 1: apply torch.sigmoid first, or use "
                "binary_cross_entropy_with_logits, which does it."
            )
    yes, no = _log_from_below(input), _log_from_below(1 - input)
    losses = -(target * yes + (1 - target) * no)
    return reduced(losses if weight is None else losses * weight, reduction, size_average, reduce)


@call("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
    pos_weight: Tensor | None = None,
) -> Any:
    """For any numbers: the sigmoid is part of it, in a form that does not overflow."""
    _check_shapes(input, target)
    # -log sigmoid(x), where the exponential is never above 1. At 0 the two parts share the slope: a half.
    unlikely = torch.log1p(torch.exp(-torch.abs(input))) + torch.maximum(-input, torch.zeros_like(input))
    if pos_weight is not None:
        unlikely = (1 + (pos_weight - 1) * target) * unlikely
    losses = (1 - target) * input + unlikely
    return reduced(losses if weight is None else losses * weight, reduction, size_average, reduce)


def _log_from_below(probability: Tensor) -> Any:
    # The gradient of the logarithm stays where it was cut off, but nothing is divided by less than 1e-12.
    value = torch.log(_at_least(probability, 1e-12))
    with as_plain():
        cut = torch.clamp(torch.log(_plain(probability)), min=-100) - _plain(value)
    return value + cut


def _at_least(value: Tensor, least: float) -> Any:
    """Raised to it where it is less; the gradient does not notice."""
    with as_plain():
        missing = torch.clamp(_plain(value), min=least) - _plain(value)
    return value + missing


def _check_shapes(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise InputError(
            f"predictions of shape {tuple(input.shape)} against targets of {tuple(target.shape)}: they must "
            "be alike."
        )


# --- one of several classes ------------------------------------------------------------------------------


@call("cross_entropy")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: Any = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """For scores of shape (items, classes, …); as targets numbers of classes, or a probability for each."""
    class_dim = 0 if len(input.shape) == 1 else 1
    log_chances = rules.log_softmax(input, dim=class_dim)
    older = size_average, reduce
    if input.shape == target.shape and target.is_floating_point():
        return _of_probabilities(log_chances, target, weight, label_smoothing, reduction, older)
    loss = nll_loss(log_chances, target, weight, size_average, ignore_index, reduce, reduction)
    if label_smoothing == 0.0:
        return loss
    evenly = _of_every_class(log_chances, target, weight, ignore_index, reduction, older)
    num_classes = input.shape[class_dim]
    return (1 - label_smoothing) * loss + (label_smoothing / num_classes) * evenly


@call("nll_loss", "nll_loss2d", "nll_loss_nd")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """Minus the logarithm that was given to the class that is true."""
    class_dim = 0 if len(input.shape) == 1 else 1
    with as_plain():
        target = _plain(target)
        counts = target != ignore_index
        classes = torch.where(counts, target, 0)
        _check_classes(input, classes, class_dim)
        shares = counts.to(input.dtype) if weight is None else weight[classes] * counts
        everything_counts = weight is None and bool(counts.all())
    picked = rules.gather(input, dim=class_dim, index=classes.unsqueeze(class_dim))
    losses = -rules.reshape(picked, shape=tuple(target.shape))
    if everything_counts:
        return reduced(losses, reduction, size_average, reduce)
    losses = torch.where(counts, losses * shares, 0.0)
    return _mean_by(shares, losses, reduction, size_average, reduce)


def _of_every_class(
    log_chances: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: Any, older: Any
) -> Any:
    """As if each class were true in turn: what label smoothing adds."""
    class_dim = 0 if len(log_chances.shape) == 1 else 1
    losses = -(log_chances if weight is None else log_chances * _along(weight, log_chances)).sum(class_dim)
    with as_plain():
        counts = _plain(target) != ignore_index
        classes = torch.where(counts, _plain(target), 0)
        shares = counts.to(log_chances.dtype) if weight is None else weight[classes] * counts
    return _mean_by(shares, torch.where(counts, losses, 0.0), reduction, *older)


def _of_probabilities(
    log_chances: Tensor, target: Tensor, weight: Tensor | None, smoothing: float, reduction: Any, older: Any
) -> Any:
    class_dim = 0 if len(log_chances.shape) == 1 else 1
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / target.shape[class_dim]
    losses = -(log_chances * target if weight is None else log_chances * target * _along(weight, target))
    return reduced(losses.sum(class_dim), reduction, *older)


def _mean_by(shares: Tensor, losses: Any, reduction: Any, *older: bool | None) -> Any:
    """The mean counts only the items that take part, by their weights."""
    if reduction in ("mean", 1) and older in ((None, None), (True, True), (None, True), (True, None)):
        return losses.sum() / shares.sum()
    return reduced(losses, reduction, *older)


def _along(weight: Tensor, like: Tensor) -> Tensor:
    """The weights of the classes, in the dimension where the classes are."""
    return weight if len(like.shape) == 1 else weight.reshape(-1, *[1] * (len(like.shape) - 2))


def _check_classes(input: Tensor, classes: Tensor, class_dim: int) -> None:
    num_classes = input.shape[class_dim]
    expected = (*input.shape[:class_dim], *input.shape[class_dim + 1 :])
    if tuple(classes.shape) != tuple(expected):
        raise InputError(
            f"for scores of shape {tuple(input.shape)}, targets have the shape {tuple(expected)}, not "
            f"{tuple(classes.shape)}: a class for each item."
        )
    if classes.is_floating_point():
        raise InputError(
            f"targets of {classes.dtype} are no classes: use target.long(), or a probability for each class."
        )
    if classes.numel() and not bool(((classes >= 0) & (classes < num_classes)).all()):
        wrong = classes[(classes < 0) | (classes >= num_classes)][0]
        raise InputError(f"there is no class {int(wrong)}: there are {num_classes}, from 0 on.")


# --- distributions ---------------------------------------------------------------------------------------


@call("kl_div")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: Any = "mean",
    log_target: bool = False,
) -> Any:
    """How much is lost if the target is taken for what the input, logarithms of probabilities, says."""
    if log_target:
        losses = torch.exp(target) * (target - input)
    else:
        # What is impossible loses nothing: 0 · log 0 counts as 0.
        safe = torch.where(target > 0, target, 1.0)
        losses = target * (torch.log(safe) - input)
    if reduction == "batchmean":
        return losses.sum() / (input.shape[0] if len(input.shape) else 1)
    return reduced(losses, reduction, size_average, reduce)


@call("poisson_nll_loss")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: Any = "mean",
) -> Any:
    """For counts. `full` adds Stirling's approximation of the term that does not depend on the input."""
    rate, log_rate = (torch.exp(input), input) if log_input else (input, torch.log(input + eps))
    losses = rate - target * log_rate
    if full:
        safe = torch.where(target > 1, target, 1.0)
        stirling = safe * torch.log(safe) - safe + 0.5 * torch.log(2 * math.pi * safe)
        losses = losses + torch.where(target > 1, stirling, 0.0)
    return reduced(losses, reduction, size_average, reduce)


@call("gaussian_nll_loss")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: Any = "mean",
) -> Any:
    """For numbers with a predicted variance; one below `eps` counts as `eps`."""
    variance = var if isinstance(var, Tensor) else torch.full_like(input, var)
    if tuple(variance.shape) == tuple(input.shape[:-1]) != tuple(input.shape):
        variance = variance.unsqueeze(-1)
    with as_plain():
        if bool((_plain(variance) < 0).any()):
            raise InputError("a variance is 0 or more: predict its logarithm, and pass torch.exp of it.")
    variance = _at_least(variance, eps)
    losses = 0.5 * (torch.log(variance) + (input - target) ** 2 / variance)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def _plain(value: Tensor) -> Tensor:
    return value.as_subclass(Tensor)
