"""How well a model does on a set of data: what `tl.evaluate` returns."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy
import torch
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run import Run
from torcheer.training.evaluation.class_figures import (
    CLASS_COLUMNS,
    MISTAKE_COLUMNS,
    Chances,
    ClassTable,
    Mistake,
    MistakeTable,
    PrCurve,
    RocCurve,
    averages,
    class_rows,
    pr_curve,
    roc_curve,
)
from torcheer.training.evaluation.predictions import NOTHING, Scores
from torcheer.training.metrics import ranks_of

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
    def has_classes(self) -> bool:
        return self.confusion is not None

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

    # --- classes -------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> ClassTable:
        """A row for each class: precision, recall, f1, support, average precision, area of the ROC curve."""
        rows = class_rows(self._counts("a table of classes"), self.labels, self.unsaid)
        foot = ""
        if self.scores is not None and self.scores.values.size <= _MOST_CELLS:
            rows = [
                replace(
                    row,
                    average_precision=self.pr_curve(number).average_precision,
                    auc=self.roc_curve(number).auc,
                )
                for number, row in enumerate(rows)
            ]
        elif self.scores is not None:
            foot = (
                "There are many scores: evaluation.pr_curve(label) and roc_curve(label) draw one class each."
            )
        has_curves = any(row.auc is not None for row in rows)
        columns = CLASS_COLUMNS if has_curves else CLASS_COLUMNS[:5]
        return ClassTable(rows, columns, lambda label: rows[self._number_of(label)], foot)

    @property
    def macro_f1(self) -> float | None:
        """The mean of f1 over the classes, each alike."""
        return averages(self.table.rows)[2] if self.has_classes else None

    def pr_curve(self, label: str | int) -> PrCurve:
        """Precision and recall of one class against all others, at every threshold."""
        truth, ranking, chances = self._one_against_others(label)
        return pr_curve(truth, ranking, chances)

    def roc_curve(self, label: str | int) -> RocCurve:
        """The ROC curve of one class against all others, at every threshold."""
        truth, ranking, chances = self._one_against_others(label)
        return roc_curve(truth, ranking, chances)

    @property
    def pr_curves(self) -> dict[str, PrCurve]:
        return {label: self.pr_curve(number) for number, label in enumerate(self.labels)}

    @property
    def roc_curves(self) -> dict[str, RocCurve]:
        return {label: self.roc_curve(number) for number, label in enumerate(self.labels)}

    def top(self, num_answers: int) -> float:
        """The share of items whose class is among so many that the model holds most likely."""
        if isinstance(num_answers, bool) or not isinstance(num_answers, int) or num_answers < 1:
            raise InputError(f"top({num_answers!r}): give a number of answers, 1 or more.")
        scores = self._kept("the best answers")
        if num_answers >= len(self.labels):
            return float(numpy.mean(scores.said != NOTHING))
        if scores.values.ndim == 1:
            return float(numpy.mean(scores.said == scores.targets))
        ranks = ranks_of(torch.from_numpy(scores.values), torch.from_numpy(scores.targets))
        return float((ranks < num_answers).double().mean())

    @cached_property
    def errors(self) -> MistakeTable:
        """The items of which the wrong class was said, in the order of the data."""
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
        return MistakeTable(
            rows, MISTAKE_COLUMNS, lambda label: next(row for row in rows if row.target == label)
        )

    # --- written down and shown ----------------------------------------------------------------------------

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
        if self.has_classes:
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
        if self.has_classes:
            parts.append(self.table._repr_html_())
            parts.append(f"<pre>{html.escape(chr(10).join(_foot(self)))}</pre>")
            if len(self.labels) <= _MOST_ROWS:
                parts.append(_confusion_html(self))
        return f"<div>{''.join(parts)}</div>"

    # --- inside --------------------------------------------------------------------------------------------

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

    def _one_against_others(
        self, label: str | int
    ) -> tuple[NDArray[numpy.bool_], NDArray[numpy.float64], NDArray[numpy.float64]]:
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


# --- as people read it --------------------------------------------------------------------------------------

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
    for name, weights in (("macro", None), ("weighted", [row.support for row in rows])):
        precision, recall, f1 = averages(rows, weights)
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
