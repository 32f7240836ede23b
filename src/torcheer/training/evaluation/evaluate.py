"""`tl.evaluate`: run a model over a set of data without training it, and say how well it does.

It returns a `tl.Evaluation`, with figures and curves of classes.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from torcheer.errors import InputError
from torcheer.graph import Column, RowTable
from torcheer.models import Batch, chosen_device, place, same_modes_after, split, unwrapped_model
from torcheer.run import Run, whole_number_of
from torcheer.training import distributed
from torcheer.training.evaluation.predictions import NOTHING, ScoreKeeper, Scores
from torcheer.training.metrics import Metric, array_of, metrics_of, ranks_of, weighted_mean
from torcheer.training.random_state import keeping_random_state
from torcheer.training.trainer import fit_arguments
from torcheer.training.trainer.fit_arguments import LossFunction, LossKind, is_sum, kind_of, loss_in, name_of

Floats = NDArray[numpy.float64]
_TOLERANCE = 1e-3  # by which the chances of an item may miss 1, in half precision
_MOST_KEPT = 20_000_000  # scores whose softmax is kept for all classes; of more it is computed for each


class Chances:
    """The chance of each class for each item, computed when somebody asks for a class.

    `scores` are (items, classes), or (items,) for yes or no. They are chances already where the loss says so,
    or, where it says nothing, where they look so: between 0 and 1, and of all classes together 1.
    """

    def __init__(self, scores: NDArray[numpy.floating], kind: LossKind | None) -> None:
        self._scores = scores
        self._kind = kind

    @cached_property
    def are_given(self) -> bool:
        if self._kind in ("logits", "probabilities") or (self._kind is not None and self._scores.ndim == 2):
            return self._kind == "probabilities"
        scores = self._scores
        with numpy.errstate(invalid="ignore"):
            if ((scores < 0) | (scores > 1)).any():  # what is NaN does not say
                return False
            if scores.ndim == 1:
                return True
            return not (abs(scores.sum(1, dtype=numpy.float64) - 1) >= _TOLERANCE).any()

    @property
    def num_classes(self) -> int:
        return 2 if self._scores.ndim == 1 else int(self._scores.shape[1])

    def of(self, number: int) -> Floats:
        """The chance of a class, for each item."""
        if self._scores.ndim == 1:
            scores = self._scores.astype(numpy.float64)
            if self.are_given:
                return scores if number == 1 else 1 - scores
            with numpy.errstate(all="ignore"):
                return numpy.exp(-numpy.logaddexp(0, -scores if number == 1 else scores))
        return self._column(number)

    def ranking(self, number: int) -> Floats:
        """By what items are ranked for a class, and which of them are tied. As one would rank them oneself:

        - by the one score of an item as it is, since the sigmoid rounds all high scores to the same 1;
        - by `torch.softmax(scores.double(), 1)` where there are several, to the last bit. The same chances
          summed up in another order differ in their last digits, and then other items are tied.
        """
        if self._scores.ndim == 2:
            return self._column(number)
        scores = self._scores.astype(numpy.float64)
        return scores if number == 1 else -scores

    def _column(self, number: int) -> Floats:
        if self.are_given:
            return self._scores[:, number].astype(numpy.float64)
        if self._scores.size <= _MOST_KEPT:
            return self._softmax[:, number].copy()
        return self._in_parts(lambda part: part.softmax(1)[:, number])

    @cached_property
    def _softmax(self) -> Floats:
        return self._in_parts(lambda part: part.softmax(1))

    @cached_property
    def _log_totals(self) -> Floats:
        """Of each item the logarithm of what its chances are divided by."""
        return self._in_parts(lambda part: part.logsumexp(1))

    def _in_parts(self, function: Callable[[Tensor], Tensor]) -> Floats:
        """Of all scores in double precision, but not of all of them at once."""
        parts = torch.split(torch.from_numpy(self._scores), max(1, _MOST_KEPT // self.num_classes))
        return torch.cat([function(part.double()) for part in parts]).numpy()

    def log_of_each(self, numbers: NDArray[numpy.int64]) -> Floats:
        """For each item the logarithm of the chance of one class."""
        with numpy.errstate(all="ignore"):
            if self._scores.ndim == 1:
                scores = self._scores.astype(numpy.float64)
                if self.are_given:
                    return numpy.log(numpy.where(numbers == 1, scores, 1 - scores))
                return -numpy.logaddexp(0, numpy.where(numbers == 1, -scores, scores))
            own = self._scores[numpy.arange(len(numbers)), numbers].astype(numpy.float64)
            return numpy.log(own) if self.are_given else own - self._log_totals


# --- curves -------------------------------------------------------------------------------------------------
#
# Exact: every score that occurs is a threshold, and equal scores are one, as in scikit-learn. Whatever has a
# score at the threshold or above it is said to be yes. Thresholds may be called by another name than the
# score: its chance, which rounds to 1 for the highest of them.

Truth = NDArray[numpy.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrCurve:
    """Precision and recall at each threshold, from the lowest on; the last point, 1 and 0, has none."""

    precision: Floats
    recall: Floats
    thresholds: Floats
    average_precision: float  # NaN where nothing is yes

    def __repr__(self) -> str:
        return (
            f"<PrCurve: {len(self.thresholds):,} thresholds, average precision {self.average_precision:.4g}>"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocCurve:
    """The shares of no and of yes that are said to be yes, from the highest threshold on."""

    false_positive_rate: Floats
    true_positive_rate: Floats
    thresholds: Floats
    auc: float  # the area below it: NaN where all is yes, or nothing

    def __repr__(self) -> str:
        return f"<RocCurve: {len(self.thresholds):,} thresholds, area {self.auc:.4g}>"


def pr_curve(truth: Truth, scores: Floats, names: Floats | None = None) -> PrCurve:
    """`names`: of the scores, as thresholds are called; themselves, where it is left out."""
    thresholds, true, false = _counted(truth, scores, names)
    num_yes = true[-1] if len(true) else 0.0
    precision = true / (true + false)
    recall = true / num_yes if num_yes else numpy.full(len(true), numpy.nan)
    steps = numpy.diff(recall, prepend=0.0)
    return PrCurve(
        precision=numpy.append(precision[::-1], 1.0),
        recall=numpy.append(recall[::-1], 0.0),
        thresholds=thresholds[::-1].copy(),
        average_precision=float((steps * precision).sum()) if num_yes else float("nan"),
    )


def roc_curve(truth: Truth, scores: Floats, names: Floats | None = None) -> RocCurve:
    """`names`: of the scores, as thresholds are called; themselves, where it is left out."""
    thresholds, true, false = _counted(truth, scores, names)
    true_rate, false_rate = _shares(numpy.append(0.0, true)), _shares(numpy.append(0.0, false))
    return RocCurve(
        false_positive_rate=false_rate,
        true_positive_rate=true_rate,
        thresholds=numpy.append(numpy.inf, thresholds),
        auc=float(numpy.trapezoid(true_rate, false_rate)),
    )


def _counted(truth: Truth, scores: Floats, names: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Thresholds from the highest on, how many of those at or above each are yes, and how many are not."""
    # What is not a number is less than all that are: nothing speaks for it.
    is_none = numpy.isnan(scores)
    scores = numpy.where(is_none, -numpy.inf, scores)
    names = scores if names is None else numpy.where(is_none, -numpy.inf, names)
    order = numpy.argsort(-scores, kind="stable")
    ranked = scores[order]
    lasts = numpy.flatnonzero(numpy.append(ranked[1:] != ranked[:-1], True)) if len(ranked) else order
    true = numpy.cumsum(truth[order], dtype=numpy.float64)[lasts]
    return names[order][lasts], true, lasts + 1.0 - true


def _shares(counts: Floats) -> Floats:
    return counts / counts[-1] if counts[-1] else numpy.full(len(counts), numpy.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRow:
    """One class. A share of nothing is 0, as scikit-learn has it."""

    label: str
    precision: float  # of those that were said to be of it, the share that is
    recall: float  # of those that are of it, the share that was said to be
    f1: float  # the harmonic mean of the two
    support: int  # how many there are
    average_precision: float | None = None
    auc: float | None = None  # of the ROC curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """An item of which the wrong class was said."""

    index: int  # of the item, in the order in which the loader gave them
    said: str  # "NaN" where the scores are no numbers
    target: str
    sure: float  # the chance that the model gave to what it said


CLASS_COLUMNS = (
    Column(name="label", to_right=False),
    *(Column(name=name, show="{:.4f}".format) for name in ("precision", "recall", "f1")),
    Column(name="support"),
    *(Column(name=name, show="{:.4f}".format) for name in ("average_precision", "auc")),
)
MISTAKE_COLUMNS = (
    Column(name="index"),
    *(Column(name=name, to_right=False) for name in ("said", "target")),
    Column(name="sure", show="{:.4f}".format),
)


def _share(part: int, whole: int) -> float:
    return float(part / whole) if whole else 0.0


_MOST_CELLS = 20_000_000  # items times classes, above which curves are drawn only where somebody asks for one
_MOST_CURVES = 100  # that go into a run


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evaluation:
    """The figures of all items together; where the model says classes, those of each class, too.

    The scores of all items are kept, items × classes numbers of 4 bytes (8 of float64): the curves need them,
    and are exact. Where an item has many answers, as each pixel of a picture, only their counts are kept, and
    there are no curves.
    """

    model: str
    num_items: int
    loss: float | None  # the mean over items
    loss_name: str
    metrics: Mapping[str, float]
    labels: tuple[str, ...] = ()  # of the classes; none where there are none
    confusion: NDArray[numpy.int64] | None = None  # a row for each true class, a column for each said
    unsaid: NDArray[numpy.int64] | None = None  # of each true class, how many answers were NaN
    scores: Scores | None = None
    chances: Chances | None = None

    @property
    def accuracy(self) -> float | None:
        """The share of right answers; None where there are no classes."""
        if self.confusion is None:
            return None
        total = int(self.confusion.sum()) + self.num_unsaid
        return float(numpy.trace(self.confusion) / total) if total else float("nan")

    @property
    def num_unsaid(self) -> int:
        """How many answers are no class, because a score is NaN. They are wrong, and not in `confusion`."""
        return 0 if self.unsaid is None else int(self.unsaid.sum())

    @cached_property
    def table(self) -> RowTable[ClassRow]:
        """A row for each class: precision, recall, f1, support, average precision, area of the ROC curve.

        `table["cat"]` is the row of a class, `table.sort("f1")` has the worst first.
        """
        confusion = self._counts("a table of classes")
        right, said, true = numpy.diag(confusion), confusion.sum(0), confusion.sum(1)
        true = true if self.unsaid is None else true + self.unsaid
        has_curves = self.scores is not None and self.scores.values.size <= _MOST_CELLS
        rows = [
            ClassRow(
                label=label,
                precision=_share(right[number], said[number]),
                recall=_share(right[number], true[number]),
                f1=_share(2 * right[number], said[number] + true[number]),
                support=int(true[number]),
                average_precision=self.pr_curve(number).average_precision if has_curves else None,
                auc=self.roc_curve(number).auc if has_curves else None,
            )
            for number, label in enumerate(self.labels)
        ]
        columns = CLASS_COLUMNS if has_curves else CLASS_COLUMNS[:5]
        foot = ""
        if self.scores is not None and not has_curves:
            foot = (
                "There are many scores: evaluation.pr_curve(label) and roc_curve(label) draw one class each."
            )
        return RowTable(rows, columns, lambda label: rows[self._number_of(label)], foot)

    def pr_curve(self, label: str | int) -> PrCurve:
        """Precision and recall of one class against all others, at every threshold."""
        return pr_curve(*self._one_against_others(label))

    def roc_curve(self, label: str | int) -> RocCurve:
        """The ROC curve of one class against all others, at every threshold."""
        return roc_curve(*self._one_against_others(label))

    def top(self, num_answers: int) -> float:
        """The share of items whose class is among so many that the model holds most likely."""
        num_answers = whole_number_of("num_answers", num_answers, least=1)
        scores = self._kept("the best answers")
        if num_answers >= len(self.labels):
            return float(numpy.mean(scores.said != NOTHING))
        if scores.values.ndim == 1:
            return float(numpy.mean(scores.said == scores.targets))
        ranks = ranks_of(torch.from_numpy(scores.values), torch.from_numpy(scores.targets))
        return float((ranks < num_answers).double().mean())

    @cached_property
    def errors(self) -> RowTable[Mistake]:
        """The items of which the wrong class was said, in the order of the data.

        `errors.sort("sure", descending=True)` has the most certain first.
        """
        scores = self._kept("single items")
        assert self.chances is not None
        is_said = scores.said != NOTHING
        sure = numpy.where(is_said, numpy.exp(self.chances.log_of_each(scores.said)), numpy.nan)
        rows = [
            Mistake(
                index=int(scores.places[n]),
                said=self.labels[scores.said[n]] if is_said[n] else "NaN",
                target=self.labels[scores.targets[n]],
                sure=float(sure[n]),
            )
            for n in numpy.flatnonzero(scores.said != scores.targets)
        ]
        return RowTable(rows, MISTAKE_COLUMNS, lambda label: next(row for row in rows if row.target == label))

    def figures(self) -> dict[str, float]:
        """All numbers by name: loss, accuracy, the metrics."""
        found = {"loss": self.loss, "accuracy": self.accuracy, **self.metrics}
        return {name: float(value) for name, value in found.items() if value is not None}

    def log(self, run: Run, step: int = 0, *, name: str = "test") -> None:
        """Write it into a run: numbers, the confusion matrix, and a PR curve for each class, up to 100."""
        run.log(step, {f"{name}/{figure}": value for figure, value in self.figures().items()})
        if self.confusion is not None:
            run.log_confusion(step, f"{name}/confusion", self.confusion, labels=list(self.labels))
        if self.scores is not None and len(self.labels) <= _MOST_CURVES:
            # Of yes and no, one curve says all.
            for number in range(1 if self.scores.values.ndim == 1 else 0, len(self.labels)):
                truth, _, chances = self._one_against_others(number)
                run.log_pr_curve(step, f"{name}/pr/{self.labels[number]}", truth, chances)

    def __str__(self) -> str:
        parts = [_head(self)]
        if self.confusion is not None:
            table: Any = self.table
            if len(table) > _MOST_ROWS:
                table = (
                    f"{table.sort('f1').head(_MOST_ROWS)}\nthe {_MOST_ROWS} worst of {len(table):,} classes"
                )
            parts += [str(table), *_foot(self)]
        return "\n".join(parts)

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.figures().items())
        return f"<Evaluation of {self.model}: {self.num_items:,} items, {figures}>"

    def _repr_html_(self) -> str:
        parts = [f"<pre>{html.escape(_head(self))}</pre>"]
        if self.confusion is not None:
            parts.append(self.table._repr_html_())
            parts.append(f"<pre>{html.escape(chr(10).join(_foot(self)))}</pre>")
            if len(self.labels) <= _MOST_ROWS:
                parts.append(_confusion_html(self))
        return f"<div>{''.join(parts)}</div>"

    def _counts(self, what: str) -> NDArray[numpy.int64]:
        if self.confusion is None:
            raise InputError(f"there is no {what}: the outputs and targets are no classes, but values.")
        return self.confusion

    def _kept(self, what: str) -> Scores:
        self._counts("confusion matrix")
        if self.scores is None:
            raise InputError(
                f"the scores were not kept, so {what} cannot be told apart: an item has many answers here."
            )
        return self.scores

    def _one_against_others(self, label: str | int) -> tuple[Truth, Floats, Floats]:
        """Which items are of the class, by what they are ranked, and the chance that each is."""
        scores = self._kept("curves")
        assert self.chances is not None
        number = self._number_of(label)
        return scores.targets == number, self.chances.ranking(number), self.chances.of(number)

    def _number_of(self, label: str | int) -> int:
        if isinstance(label, str) and label in self.labels:
            return self.labels.index(label)
        if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(self.labels):
            return label
        shown = ", ".join(self.labels[:10]) + (", …" if len(self.labels) > 10 else "")
        raise InputError(f"there is no class {label!r}: {shown or 'there are no classes'}.")


_MOST_ROWS = 30  # of classes that are shown; of more, the worst; and a side of the confusion matrix


def _head(evaluation: Evaluation) -> str:
    items = "1 item" if evaluation.num_items == 1 else f"{evaluation.num_items:,} items"
    figures = []
    if evaluation.loss is not None:
        figures.append(f"loss {evaluation.loss:.4g} ({evaluation.loss_name})")
    if evaluation.accuracy is not None:
        figures.append(f"accuracy {evaluation.accuracy:.2%}")
    figures += [f"{name} {value:.4g}" for name, value in evaluation.metrics.items()]
    return f"{evaluation.model} on {items}: {', '.join(figures) or 'no figures'}"


def _foot(evaluation: Evaluation) -> Iterator[str]:
    rows = evaluation.table.rows
    values = numpy.array([[row.precision, row.recall, row.f1] for row in rows])
    support = [row.support for row in rows]
    for name, weights in (("macro", None), ("weighted", support if any(support) else None)):
        # Each class alike, or by support.
        precision, recall, f1 = numpy.average(values, axis=0, weights=weights)
        yield f"{name} averages: precision {precision:.4f}, recall {recall:.4f}, f1 {f1:.4f}"
    assert evaluation.confusion is not None
    wrong = evaluation.confusion.copy()
    numpy.fill_diagonal(wrong, 0)
    total = int(evaluation.confusion.sum()) + evaluation.num_unsaid
    if evaluation.num_unsaid:
        yield f"{evaluation.num_unsaid:,} of {total:,} answers are NaN: wrong, and in no column of the matrix"
    elif not wrong.sum():
        yield f"all {total:,} answers are right"
    if not wrong.sum():
        return
    true, said = numpy.unravel_index(int(wrong.argmax()), wrong.shape)
    most = int(wrong.max())
    times = "once" if most == 1 else f"{most:,} times"
    pair = f"{evaluation.labels[said]} said for {evaluation.labels[true]}"
    num_wrong = int(wrong.sum()) + evaluation.num_unsaid
    yield f"{num_wrong:,} of {total:,} answers are wrong, most often {pair} ({times})"


def _confusion_html(evaluation: Evaluation) -> str:
    """A row for each true class; the darker a cell, the larger its share of the row."""
    assert evaluation.confusion is not None
    titles = "".join(f"<th>{html.escape(label)}</th>" for label in evaluation.labels)
    rows = []
    for label, counts in zip(evaluation.labels, evaluation.confusion, strict=True):
        total = max(int(counts.sum()), 1)
        cells = "".join(
            f"<td style='text-align:right;background:rgba(56,116,203,{0.7 * int(count) / total:.2f})'>"
            f"{int(count) or '·'}</td>"
            for count in counts
        )
        rows.append(f"<tr><th>{html.escape(label)}</th>{cells}</tr>")
    return (
        "<p>Rows: what is true. Columns: what was said.</p>"
        f"<table><thead><tr><th></th>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


Seen = Callable[[Batch, Any], None]  # is shown each batch, and what the model made of it


def measure(
    model: nn.Module,
    loader: Any,
    seen: Seen | None = None,
    *,
    device: torch.device,
    loss: LossFunction | None,
    metrics: Mapping[str, Metric],
    whole: bool = False,
    autocast: AbstractContextManager[object] | None = None,
) -> tuple[dict[str, float], int]:
    """The loss, where there is one, and the metrics of all items, by name; and how many items there are.

    Modes, gradients and random state are as they were, afterwards. `whole`: the model gets the targets, too,
    and computes its loss itself.
    """
    # The wrapper of several processes exchanges something at each batch, and they may have different numbers.
    model = model.module if isinstance(model, DistributedDataParallel) else model
    losses: list[float | Tensor] = []
    items: list[float | Tensor] = []
    for metric in metrics.values():
        metric.reset()
    with (
        keeping_random_state(loader),
        same_modes_after(model),
        torch.no_grad(),
        distributed.unpadded(loader),
    ):
        model.eval()
        for batch in loader:
            # A model that takes its inputs by name may compute its loss from the labels among them.
            is_named = loss is None and isinstance(batch, Mapping)
            taken = split(batch, whole=whole or is_named).moved_to(device)
            with autocast or nullcontext():
                outputs = taken.given_to(model)
                if loss is not None:
                    losses.append(loss(outputs, taken.targets))
                elif whole or getattr(outputs, "loss", None) is not None:
                    losses.append(loss_in(outputs))
            items.append(float(taken.num_items))
            for metric in metrics.values():
                metric.update(outputs, taken.targets, taken.num_items)
            if seen is not None:
                seen(taken, outputs)
    names = [*(["loss"] if loss is not None or whole else []), *metrics]
    return _together(loader, array_of(losses), array_of(items), loss, metrics, names)


def _together(
    loader: Any, losses: Floats, items: Floats, loss: Any, metrics: Mapping[str, Metric], names: Sequence[str]
) -> tuple[dict[str, float], int]:
    """Over all items, of all ranks. `names`: those that other ranks have, where this one has no items."""
    is_sharded = distributed.is_sharded(loader)
    num_items = int(items.sum())
    total_items = int(distributed.summed([num_items])[0]) if is_sharded else num_items
    if not total_items:
        raise InputError("the loader gave no items to test on: its data set, or its sampler, is empty.")
    values: dict[str, float] = {}
    if len(losses):
        values["loss"] = weighted_mean(losses / items if is_sum(loss) else losses, items)
    values |= {name: metric.compute() for name, metric in metrics.items()}
    if is_sharded:
        if not num_items:  # others had all of them: this one counts for nothing
            values = dict.fromkeys(names, 0.0)
        return distributed.mean_over_ranks(values, weight=num_items), total_items
    # All have seen all of it, but buffers such as those of batch norm may differ between processes.
    return distributed.from_main(values), total_items


def evaluate(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    loss: LossFunction | None = None,
    metrics: Any = None,
    device: str | torch.device | None = None,
    labels: Sequence[Any] | None = None,
    scores: Literal["logits", "probabilities"] | None = None,
    run: str | os.PathLike[str] | Run | None = None,
    step: int = 0,
) -> Evaluation:
    """Run a model over a set of data, and say how well it does.

    - `loss`: as for `fit`. Left out, it is the model's own where its output has one, else the cross entropy
      where there are classes, and the mean squared error where there are none.
    - `metrics`: as for `fit`; the accuracy and all that goes with classes is there anyway.
    - `labels`: names of the classes; those of the data set, where it has `classes`, or numbers.
    - `scores`: whether the outputs are logits or probabilities already. Left out, the loss says it, or else
      the values: between 0 and 1, and 1 in all.
    - `run`, `step`: where to log it.

    The model is in evaluation mode meanwhile, and has its modes back afterwards; nothing random is moved on.
    """
    model = fit_arguments.checked_model(model)
    fit_arguments.checked_loader(loader, "loader", num_passes=1)
    where = chosen_device(device, model)
    if device is not None:
        place(model, where)
    if scores not in (None, "logits", "probabilities"):
        raise InputError(f"scores={scores!r}: give 'logits' or 'probabilities', or leave it out.")
    kind = scores or kind_of(fit_arguments.checked_function(loss))
    keeper = ScoreKeeper(kind, wants_loss=loss is None)
    counted = metrics_of(metrics, loss, where)
    figures, num_items = measure(model, loader, keeper.take, device=where, loss=loss, metrics=counted)
    is_sharded = distributed.is_sharded(loader)
    kept = keeper.gathered(is_sharded=is_sharded)
    chances = None if kept is None else Chances(kept.values, kind)
    found, name = figures.pop("loss", None), name_of(loss)
    if found is None and kept is not None and chances is not None:
        found, name = -float(chances.log_of_each(kept.targets).mean()), "cross entropy"
    elif found is None:
        found, name = keeper.unscored_loss(is_sharded=is_sharded)
    counts = None if keeper.is_shifted else keeper.counts
    if kept is not None and chances is not None:
        counts = kept.counts(chances.num_classes)
    evaluation = Evaluation(
        model=type(unwrapped_model(model)).__name__,
        num_items=num_items,
        loss=found,
        loss_name=name,
        metrics=figures,
        labels=() if counts is None else _labels_of(labels, loader, len(counts)),
        confusion=None if counts is None else counts[:, :-1].copy(),
        unsaid=None if counts is None else counts[:, -1].copy(),
        scores=kept,
        chances=chances,
    )
    if not isinstance(run, str | os.PathLike | Run | None):
        raise InputError(f"run is a {type(run).__name__}: give a folder, or a tl.Run.")
    if run is not None and distributed.is_main():
        with nullcontext(run) if isinstance(run, Run) else Run(run) as opened:
            evaluation.log(opened, step)
    return evaluation


def _labels_of(given: Sequence[Any] | None, loader: Any, num_classes: int) -> tuple[str, ...]:
    """As they were given, as the data set has them, or numbers."""
    if given is not None:
        labels = tuple(str(label) for label in given)
        if len(labels) != num_classes:
            raise InputError(f"{len(labels)} labels for {num_classes} classes: give one for each.")
        return labels
    data = getattr(loader, "dataset", None)
    data = getattr(data, "dataset", data)  # of a Subset
    known = getattr(data, "classes", None)
    if isinstance(known, list | tuple) and len(known) == num_classes:
        return tuple(str(label) for label in known)
    return tuple(str(number) for number in range(num_classes))
