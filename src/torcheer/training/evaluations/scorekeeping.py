"""Keep what a model says of each item, until all of them were seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.errors import InputError
from torcheer.training import distributed
from torcheer.training.evaluations.answers import (
    Form,
    answers_of,
    form_of,
    said_class,
    said_yes_or_no,
    scores_in,
)
from torcheer.training.losses import LossKind

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

    def __init__(self, kind: LossKind | None) -> None:
        self._kind = kind
        self.form: Form | None = None
        self.counts: Whole | None = None  # as those of `Scores`, where the scores are not kept
        self._scores: list[Tensor] = []
        self._targets: list[Tensor] = []
        self._places: list[Tensor] = []
        self._num_items = 0

    def take(self, outputs: Any, targets: Any, num_items: int) -> None:
        scores = scores_in(outputs)
        form = form_of(scores, targets, self._kind)
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
                self._count(answers.scores, answers.targets)
        elif form == "one score":
            self._keep(scores.reshape(-1), targets.reshape(-1), torch.arange(num_items))
        self._num_items += num_items

    def _keep(self, scores: Tensor, targets: Tensor, places: Tensor) -> None:
        kind = torch.float64 if scores.dtype == torch.float64 else torch.float32
        self._scores.append(scores.detach().to("cpu", kind))
        self._targets.append(targets.detach().cpu().long())
        self._places.append(places.cpu() + self._num_items)

    def _count(self, scores: Tensor, targets: Tensor) -> None:
        found = _counts(targets.long(), said_class(scores), scores.shape[1])
        self.counts = found if self.counts is None else self.counts + found

    def gathered(self, *, is_sharded: bool) -> Scores | None:
        """All of them; None where there are no classes, or their scores were not kept."""
        if is_sharded:
            self._exchange()
        if self.form not in ("classes", "one score") or not self._scores:
            return None
        values, targets = torch.cat(self._scores), torch.cat(self._targets)
        said = said_class(values) if self.form == "classes" else said_yes_or_no(values, self._kind)
        return Scores(
            values=values.numpy(),
            targets=targets.numpy(),
            said=said.numpy(),
            places=torch.cat(self._places).numpy(),
        )

    def _exchange(self) -> None:
        """Of several processes, each has a part of the items: a DistributedSampler deals them out in turn."""
        shares = distributed.gathered((self.form, self._scores, self._targets, self._places, self.counts))
        self.form = next((form for form, *_ in shares if form is not None), None)
        counts = [share[4] for share in shares if share[4] is not None]
        self.counts = sum(counts[1:], counts[0]) if counts else None
        places = [part * len(shares) + rank for rank, share in enumerate(shares) for part in share[3]]
        if places:
            order = torch.cat(places).argsort()
            self._scores = [torch.cat([part for share in shares for part in share[1]])[order]]
            self._targets = [torch.cat([part for share in shares for part in share[2]])[order]]
            self._places = [torch.cat(places)[order]]


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
