"""Which items of a batch a model got wrong.

    classes           the highest score is not that of the target, at any place of the item
    bits, 0 or 1      any unit is on the wrong side of 0.5, or of 0 where the loss takes logits
    bits, -1 or 1     any unit has the wrong sign
    other targets     nothing is right or wrong: there are no errors

What it is, the first batch of a run decides. A function of yours in the setup decides otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.training.evaluations.answers import IGNORED, class_dim_of, scores_in
from torcheer.training.losses import LossFunction, kind_of

Form = Literal["classes", "bits", "signs", "values"]
ErrorFunction = Callable[[Any, Any], Any]

AUTOMATIC: Final = "auto"


class Judged(NamedTuple):
    """What is to be said of each item of a batch. None: nothing can be said."""

    wrong: Tensor | None  # bool
    targets: Tensor | None  # the numbers of classes
    answers: Tensor | None


_NOTHING: Final = Judged(None, None, None)


class Judge:
    """Decides over the batches of one run. `errors`: `"auto"`, a function of outputs and targets, or None."""

    def __init__(self, errors: str | ErrorFunction | None, loss: LossFunction | None) -> None:
        self._function = errors if callable(errors) else None
        self._kind = kind_of(loss)
        self._has_loss = loss is not None
        self._form: Form | None = None if errors == AUTOMATIC else "values"

    @property
    def may_judge(self) -> bool:
        """False where it is clear that nothing is right or wrong."""
        return self._function is not None or self._form != "values"

    def judged(self, outputs: Any, targets: Any, num_items: int) -> Judged:
        """Raises InputError where a function of the user's gives something else than truths."""
        scores = scores_in(outputs)
        if self._function is not None:
            wrong = _checked(self._function(outputs, targets), num_items)
            form = self._form_of(scores, targets, num_items)
            said = self._by_class(scores, targets) if form == "classes" else _NOTHING
            return said._replace(wrong=wrong)
        if self._form is None:
            self._form = self._form_of(scores, targets, num_items)
        if self._form == "values" or not _is_alike(self._form, scores, targets):
            return _NOTHING
        if self._form == "classes":
            return self._by_class(scores, targets)
        middle = 0.5 if self._form == "bits" else 0.0
        said = scores > (0.0 if self._kind == "logits" else middle)
        wrong = (said.reshape(targets.shape) != (targets > middle)) | scores.isnan().reshape(targets.shape)
        return Judged(wrong.reshape(num_items, -1).any(1), None, None)

    def _form_of(self, scores: Any, targets: Any, num_items: int) -> Form:
        if not isinstance(scores, Tensor) or not isinstance(targets, Tensor) or not targets.numel():
            return "values"
        if not scores.ndim or len(scores) != num_items or not targets.ndim or len(targets) != num_items:
            return "values"
        if not self._has_loss and scores.ndim > 2:
            return "values"  # a model of language shifts its targets by one place
        if class_dim_of(scores, targets, self._kind) is not None:
            return "classes"
        if scores.numel() != targets.numel() or scores.is_complex() or targets.is_complex():
            return "values"
        if bool(((targets == 0) | (targets == 1)).all()):
            return "bits"
        return "signs" if bool((targets.abs() == 1).all()) else "values"

    def _by_class(self, scores: Tensor, targets: Tensor) -> Judged:
        dim = class_dim_of(scores, targets, self._kind)
        if dim is None:
            return _NOTHING
        wanted = targets.argmax(dim) if targets.is_floating_point() else targets
        said = scores.argmax(dim).reshape(wanted.shape)
        # NaN says nothing, though argmax takes it for the highest.
        wrong = ((said != wanted) | scores.isnan().any(dim).reshape(wanted.shape)) & (wanted != IGNORED)
        if wanted.ndim == 1:
            return Judged(wrong, wanted, said)
        wrong = wrong.reshape(len(wrong), -1)
        # (items, 1) is one class for each item, too.
        if wrong.shape[1] == 1:
            return Judged(wrong[:, 0], wanted.reshape(-1), said.reshape(-1))
        return Judged(wrong.any(1), None, None)


def _is_alike(form: Form, scores: Any, targets: Any) -> bool:
    """A later batch may have something else in it: then nothing is said of it."""
    if not isinstance(scores, Tensor) or not isinstance(targets, Tensor):
        return False
    return form == "classes" or scores.numel() == targets.numel()


def _checked(wrong: Any, num_items: int) -> Tensor:
    found = torch.as_tensor(wrong)
    if found.shape != (num_items,):
        raise InputError(
            f"`errors` of the setup gives shape {tuple(found.shape)} for {num_items} items: return, for each "
            "item, whether it is wrong."
        )
    return found.detach().bool()
