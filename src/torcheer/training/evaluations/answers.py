"""What a model answers: which class it says, how outputs stand to targets, and where there are no classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from torcheer.training.losses import LossKind

IGNORED = -100  # a target that does not count, as cross_entropy has it

Form = Literal["classes", "one score", "bits", "values"]


class Answers(NamedTuple):
    """Outputs and targets side by side, a row for each answer."""

    form: Form
    scores: Tensor  # (answers, classes), or (answers,) where there is one score for yes or no
    targets: Tensor  # (answers,): the number of a class, or 0 and 1
    is_counted: Tensor  # for each row that there was, whether it is still there


def scores_in(outputs: Any) -> Any:
    """The scores of a model whose output has more than them: its `.logits`, as in transformers."""
    if isinstance(outputs, Tensor):
        return outputs
    if isinstance(outputs, Mapping) and "logits" in outputs:
        return outputs["logits"]
    return getattr(outputs, "logits", outputs)


def form_of(outputs: Any, targets: Any, kind: LossKind | None) -> Form:
    """Classes with a score each, one score for yes or no, several such bits, or plain values."""
    if not isinstance(outputs, Tensor) or not isinstance(targets, Tensor) or not outputs.ndim:
        return "values"
    if kind == "distance":
        return "values"
    if class_dim_of(outputs, targets, kind) is not None:
        return "classes"
    if not _is_alike(outputs, targets):
        return "values"
    if kind not in ("logits", "probabilities") and not _is_binary(targets):
        return "values"
    return "one score" if outputs.numel() == outputs.shape[0] else "bits"


def class_dim_of(outputs: Tensor, targets: Tensor, kind: LossKind | None) -> int | None:
    """In which dimension of the outputs the classes are; None where there are none."""
    if outputs.ndim < 2:
        return None
    if outputs.shape == targets.shape:  # chances of classes as targets
        return 1 if kind == "classes" and targets.is_floating_point() else None
    if targets.is_floating_point() or targets.is_complex():
        return None
    second = targets.shape == (outputs.shape[0], *outputs.shape[2:]) and outputs.shape[1] > 1
    last = targets.shape in (outputs.shape[:-1], (*outputs.shape[:-1], 1)) and outputs.shape[-1] > 1
    # Where both fit: the losses of torch have the classes second, the models of transformers last.
    if second and (kind == "classes" or not last):
        return 1
    return outputs.ndim - 1 if last else None


def answers_of(outputs: Tensor, targets: Tensor, form: Form, kind: LossKind | None) -> Answers:
    """A row for each answer; those whose target is to be ignored are left out."""
    if form != "classes":
        every = torch.ones(outputs.numel(), dtype=torch.bool, device=outputs.device)
        return Answers(form, outputs.reshape(-1), targets.reshape(-1), every)
    dim = class_dim_of(outputs, targets, kind)
    assert dim is not None
    if targets.is_floating_point():
        targets = targets.argmax(dim)
    scores = outputs if outputs.ndim == 2 else outputs.movedim(dim, -1).reshape(-1, outputs.shape[dim])
    targets = targets.reshape(-1)
    is_counted = targets != IGNORED
    return Answers(form, scores[is_counted], targets[is_counted], is_counted)


NOTHING = -1  # what is said with scores that are no numbers


def said_class(scores: Tensor) -> Tensor:
    """The class with the highest score; `NOTHING` where a score is NaN, which argmax takes for highest."""
    return scores.argmax(1).masked_fill(scores.isnan().any(1), NOTHING)


def said_yes_or_no(scores: Tensor, kind: LossKind | None) -> Tensor:
    """1 or 0; `NOTHING` where the score is NaN."""
    return says_yes(scores, kind).long().masked_fill(scores.isnan(), NOTHING)


def says_yes(scores: Tensor, kind: LossKind | None) -> Tensor:
    """Whether one score says yes: a logit above 0, or a chance above a half."""
    return scores > (0.5 if are_chances(scores, kind) else 0.0)


def are_chances(scores: Tensor, kind: LossKind | None) -> bool:
    """Whether single scores are between 0 and 1 by what the loss takes, or else by their values."""
    if kind in ("logits", "probabilities"):
        return kind == "probabilities"
    return not bool(((scores < 0) | (scores > 1)).any())  # what is NaN does not say


def _is_alike(outputs: Tensor, targets: Tensor) -> bool:
    """One number for one number; a dimension of size 1 may be there or not."""
    return outputs.numel() == targets.numel() and [n for n in outputs.shape if n != 1] == [
        n for n in targets.shape if n != 1
    ]


def _is_binary(targets: Tensor) -> bool:
    return bool(((targets == 0) | (targets == 1)).all())
