"""An evaluation as people read it: a text for the terminal, and a table for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy

from torcheer.training.evaluations.classtable import averages

if TYPE_CHECKING:
    from torcheer.training.evaluations.evaluation import Evaluation

_MOST_ROWS = 30  # of classes that are shown; of more, the worst
_MOST_CELLS = 30  # of a side of the confusion matrix


def text_of(evaluation: Evaluation) -> str:
    parts = [_head(evaluation)]
    if evaluation.has_classes:
        parts += [_table_text(evaluation), *_foot(evaluation)]
    return "\n".join(parts)


def html_of(evaluation: Evaluation) -> str:
    parts = [f"<pre>{html.escape(_head(evaluation))}</pre>"]
    if evaluation.has_classes:
        parts.append(evaluation.table._repr_html_())
        parts.append(f"<pre>{html.escape(chr(10).join(_foot(evaluation)))}</pre>")
        if len(evaluation.labels) <= _MOST_CELLS:
            parts.append(_confusion_html(evaluation))
    return f"<div>{''.join(parts)}</div>"


def _head(evaluation: Evaluation) -> str:
    items = "1 item" if evaluation.num_items == 1 else f"{evaluation.num_items:,} items"
    figures = []
    if evaluation.loss is not None:
        figures.append(f"loss {evaluation.loss:.4g} ({evaluation.loss_name})")
    if evaluation.accuracy is not None:
        figures.append(f"accuracy {evaluation.accuracy:.2%}")
    figures += [f"{name} {value:.4g}" for name, value in evaluation.metrics.items()]
    return f"{evaluation.model} on {items}: {', '.join(figures) or 'no figures'}"


def _table_text(evaluation: Evaluation) -> str:
    table = evaluation.table
    if len(table) <= _MOST_ROWS:
        return str(table)
    return f"{table.sort('f1').head(_MOST_ROWS)}\nthe {_MOST_ROWS} worst of {len(table):,} classes"


def _foot(evaluation: Evaluation) -> Iterator[str]:
    rows = evaluation.table.rows
    for name, weights in (("macro", None), ("weighted", [row.support for row in rows])):
        found = averages(rows, weights)
        figures = f"precision {found.precision:.4f}, recall {found.recall:.4f}, f1 {found.f1:.4f}"
        yield f"{name} averages: {figures}"
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
