"""Read answers from outputs: whether there are classes, which one a model says, all scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from torcheer.errors import InputError
from torcheer.models import Batch
from torcheer.training import distributed
from torcheer.training.trainer.fit_arguments import LossKind

IGNORED = -100  # a target that does not count, as cross_entropy has it

Form = Literal["classes", "one score", "bits", "values"]


class Answers(NamedTuple):
    """Outputs and targets side by side, a row for each answer."""

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
    # One number for one number; a dimension of size 1 may be there or not.
    sizes, wanted = ([size for size in one.shape if size != 1] for one in (outputs, targets))
    if outputs.numel() != targets.numel() or sizes != wanted:
        return "values"
    if kind not in ("logits", "probabilities") and not bool(((targets == 0) | (targets == 1)).all()):
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
        return Answers(outputs.reshape(-1), targets.reshape(-1), every)
    dim = class_dim_of(outputs, targets, kind)
    assert dim is not None
    if targets.is_floating_point():
        targets = targets.argmax(dim)
    scores = outputs if outputs.ndim == 2 else outputs.movedim(dim, -1).reshape(-1, outputs.shape[dim])
    targets = targets.reshape(-1)
    is_counted = targets != IGNORED
    return Answers(scores[is_counted], targets[is_counted], is_counted)


NOTHING = -1  # what is said with scores that are no numbers


def said_class(scores: Tensor) -> Tensor:
    """The class with the highest score; `NOTHING` where a score is NaN, which argmax takes for highest."""
    return scores.argmax(1).masked_fill(scores.isnan().any(1), NOTHING)


def said_yes_or_no(scores: Tensor, kind: LossKind | None) -> Tensor:
    """1 or 0 for one score: a logit above 0, or a chance above a half; `NOTHING` where the score is NaN."""
    are_chances = kind == "probabilities"
    if kind not in ("logits", "probabilities"):  # by their values; what is NaN does not say
        are_chances = not bool(((scores < 0) | (scores > 1)).any())
    return (scores > (0.5 if are_chances else 0.0)).long().masked_fill(scores.isnan(), NOTHING)


Whole = NDArray[numpy.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """What was said of each item that counts, and what is true."""

    values: NDArray[numpy.float64] | NDArray[numpy.float32]  # (items, classes), or (items,) for yes or no
    targets: Whole
    said: Whole  # -1 where the scores are no numbers
    places: Whole  # of the items, in the order of the data

    def counts(self, num_classes: int) -> Whole:
        """A row for each true class, a column for each that was said, and a last one where nothing was."""
        return _counts(torch.from_numpy(self.targets), torch.from_numpy(self.said), num_classes)


class ScoreKeeper:
    """Takes batches, and has the scores of all items, or only counts where an item has many answers."""

    def __init__(self, kind: LossKind | None, *, wants_loss: bool) -> None:
        self._kind = kind
        self._wants_loss = wants_loss
        self.form: Form | None = None
        self.is_shifted = False  # the model's own loss is of other answers than those side by side
        # Sums, and of how many: for a loss where none was given, and no scores are kept to compute it from.
        self._entropy, self._squares = [0.0, 0.0], [0.0, 0.0]
        self.counts: Whole | None = None  # as those of `Scores`, where the scores are not kept
        self._parts: list[tuple[Tensor, Tensor, Tensor]] = []  # scores, targets, places of items
        self._num_items = 0

    def take(self, batch: Batch, outputs: Any) -> None:
        scores, targets, num_items = scores_in(outputs), batch.targets, batch.num_items
        form = form_of(scores, targets, self._kind)
        if self._wants_loss and form != "classes":
            self._add_squares(scores, targets)
        if self.form is not None and form != self.form and num_items:
            # A batch may happen to have no target but 0 and 1; what is true of one of them is true of all.
            form = "values"
        self.form = form
        if form == "classes":
            answers = answers_of(scores, targets, form, self._kind)
            _check(answers.targets, answers.scores.shape[1])
            if scores.ndim == 2:
                is_counted = answers.is_counted
                self._keep(answers.scores, answers.targets, is_counted.nonzero().reshape(-1))
            else:
                found = _counts(answers.targets.long(), said_class(answers.scores), answers.scores.shape[1])
                self.counts = found if self.counts is None else self.counts + found
                if self._wants_loss:
                    self._add_entropy(answers, outputs)
        elif form == "one score":
            self._keep(scores.reshape(-1), targets.reshape(-1), torch.arange(num_items))
        self._num_items += num_items

    def _keep(self, scores: Tensor, targets: Tensor, places: Tensor) -> None:
        kind = torch.float64 if scores.dtype == torch.float64 else torch.float32
        held = scores.detach().to("cpu", kind), targets.detach().cpu().long()
        self._parts.append((*held, places.cpu() + self._num_items))

    def _add_entropy(self, answers: Answers, outputs: Any) -> None:
        number = len(answers.targets)
        total = float(F.cross_entropy(answers.scores.float(), answers.targets.long(), reduction="sum"))
        self._entropy = [self._entropy[0] + total, self._entropy[1] + number]
        # A language model says the next word: its own loss shows that these are not its answers.
        own = getattr(outputs, "loss", None)
        if isinstance(own, Tensor) and number:
            self.is_shifted |= not math.isclose(float(own), total / number, rel_tol=2e-3, abs_tol=1e-4)

    def _add_squares(self, scores: Any, targets: Any) -> None:
        """For the form "one score", too: a later batch may show that these are values."""
        if not isinstance(scores, Tensor) or not isinstance(targets, Tensor) or scores.is_complex():
            return
        if scores.numel() == targets.numel():
            total = float((scores.reshape(targets.shape).to(torch.float64) - targets).square().sum())
            self._squares = [self._squares[0] + total, self._squares[1] + targets.numel()]

    def unscored_loss(self, *, is_sharded: bool) -> tuple[float | None, str]:
        """With what it is; None where outputs and targets have nothing in common."""
        sums = [*self._entropy, *self._squares]
        entropy, num_answers, squares, num_values = distributed.summed(sums).tolist() if is_sharded else sums
        if num_answers:
            return entropy / num_answers, "cross entropy"
        return (squares / num_values, "mean squared error") if num_values else (None, "none")

    def gathered(self, *, is_sharded: bool) -> Scores | None:
        """All of them; None where there are no classes, or their scores were not kept."""
        if is_sharded:
            self._exchange()
        if self.form not in ("classes", "one score") or not self._parts:
            return None
        values, targets, places = map(torch.cat, zip(*self._parts, strict=True))
        if is_sharded:
            order = places.argsort()
            values, targets, places = values[order], targets[order], places[order]
        said = said_class(values) if self.form == "classes" else said_yes_or_no(values, self._kind)
        return Scores(
            values=values.numpy(), targets=targets.numpy(), said=said.numpy(), places=places.numpy()
        )

    def _exchange(self) -> None:
        """Of several processes, each has a part of the items: a DistributedSampler deals them out in turn."""
        shares = distributed.gathered((self.form, self._parts, self.counts))
        self.form = next((form for form, *_ in shares if form is not None), None)
        counts = [found for *_, found in shares if found is not None]
        self.counts = sum(counts[1:], counts[0]) if counts else None
        self._parts = [
            (scores, targets, places * len(shares) + rank)
            for rank, (_, parts, _) in enumerate(shares)
            for scores, targets, places in parts
        ]


def _counts(targets: Tensor, said: Tensor, num_classes: int) -> Whole:
    width = num_classes + 1
    columns = said.where(said >= 0, num_classes)
    counts = torch.bincount(targets * width + columns, minlength=num_classes * width)
    found: Whole = counts.reshape(num_classes, width).cpu().numpy()
    return found


def _check(targets: Tensor, num_classes: int) -> None:
    if not len(targets):
        return
    low, high = int(targets.min()), int(targets.max())
    if low < 0 or high >= num_classes:
        raise InputError(
            f"a target is class {low if low < 0 else high}, and the model has scores for {num_classes}: "
            "count classes from 0; -100 stands for a target that does not count."
        )
