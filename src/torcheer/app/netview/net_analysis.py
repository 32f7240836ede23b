"""Analyses of a run's layers: similarity, components, clusters, tuning, receptive fields."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.analysis import (
    MissingLibraryError,
    SimilarityMatrix,
    clusters,
    compare_similarity,
    principal_components,
    receptive_fields,
    similarity,
    tuning,
)
from torcheer.app.cache import Cache
from torcheer.app.netview import net_messages as messages
from torcheer.app.netview.net_reader import Nets, RankNet, Stretch, found_in, read_stretches
from torcheer.app.netview.net_values import layer_with
from torcheer.app.netview.tensor_index import Mark
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_records import evenly
from torcheer.app.shared_analyses import contrast_of, undefined_words
from torcheer.app.wire import Frame, Question, as_text, binary_frame, clipped, countable, finite
from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run import NetLayer, record_id
from torcheer.tensorfile import Array

_MAX_LABEL: Final = 80
_MAX_CHOICES: Final = 64
_MAX_LABELS_BYTES: Final = 1 << 20
_LABELLED: Final = re.compile(r"(^|[._/ -])(labels?|targets?|class(es)?|y)$", re.IGNORECASE)
_ITEM: Final = "item:"  # every item of a batch is its own label
_NO_LABEL: Final = "(none)"
_WHOLE_TYPES: Final = ("int", "uint", "bool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A moment and a place in its batch for each item; labels where there are some."""

    steps: tuple[int, ...]
    items: tuple[int, ...]
    labels: tuple[str, ...]  # each once, in their order
    label_of: NDArray[numpy.int64] | None
    note: str

    def __len__(self) -> int:
        return len(self.steps)


def items_of(net: RankNet, choice: messages.NetItemChoice) -> Items:
    """The lock of the run is held by whoever asks."""
    steps, items, num_moments = _chosen(net, choice)
    if not steps:
        raise InputError(
            f"nothing of {choice.variable[:80]} was recorded up to step {choice.step:,}: choose another "
            "variable, or a later moment."
        )
    texts = _labels(net, choice.labels, steps, items)
    names = sorted(set(texts), key=_in_order(texts))
    number = {name: at for at, name in enumerate(names)}
    num_taken = 0 if choice.scope == "batch" else len(set(steps))
    is_some = 0 < num_taken < num_moments
    return Items(
        steps=steps,
        items=items,
        labels=tuple(names),
        label_of=numpy.array([number[text] for text in texts], numpy.int64) if texts else None,
        note=f"{num_taken:,} of {num_moments:,} moments are taken, evenly chosen" if is_some else "",
    )


def _chosen(net: RankNet, choice: messages.NetItemChoice) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    if choice.scope == "batch":
        count = min(num_items(net, choice.variable, choice.step), choice.most)
        return (choice.step,) * count, tuple(range(count)), 1
    moments = _moments(net, choice.variable, choice.step)
    if choice.scope == "moments":
        some = evenly(moments, choice.most)
        return tuple(some), (choice.item,) * len(some), len(moments)
    largest = max((num_items(net, choice.variable, step) for step in evenly(moments, 64)), default=0)
    some = evenly(moments, max(1, choice.most // max(1, largest)))
    rows = [(step, item) for step in some for item in range(num_items(net, choice.variable, step))]
    rows = rows[: choice.most]
    return tuple(step for step, _ in rows), tuple(item for _, item in rows), len(moments)


def mark_at(net: RankNet, layer: str, variable: str, step: int) -> Mark | None:
    """The record of just this moment: an earlier one would count twice."""
    series = net.index.series.get(net.net.series.get((layer, variable), ""))
    mark = None if series is None else series.last_up_to(step)
    return mark if mark is not None and mark.step == step else None


def num_items(net: RankNet, variable: str, step: int) -> int:
    """As many as the layer has of which most were recorded."""
    counts = [0]
    for layer in net.net.scene.layers:
        mark = mark_at(net, layer.name, variable, step)
        if mark is not None:
            has_items = layer.has_items and len(mark.outline.shape) > 0
            counts.append(mark.outline.shape[0] if has_items else 1)
    return max(counts)


def _moments(net: RankNet, variable: str, last: int) -> list[int]:
    """At which any layer has the variable, rising."""
    names = {name for (_, its), name in net.net.series.items() if its == variable}
    columns = [net.index.series[name].columns()[0] for name in names if name in net.index.series]
    if not columns:
        return []
    steps = numpy.unique(numpy.concatenate(columns))
    found: list[int] = steps[steps <= last].tolist()
    return found


def _in_order(texts: Sequence[str]) -> Callable[[str], tuple[float, str]]:
    """Numbers by their size, where all are numbers."""
    try:
        sizes = {text: float(text) for text in texts}
    except ValueError:
        return lambda text: (0.0, text)
    return lambda text: (sizes[text], text) if math.isfinite(sizes[text]) else (math.inf, text)


def _labels(net: RankNet, key: str, steps: Sequence[int], items: Sequence[int]) -> list[str]:
    if key in ("", _ITEM):
        return [str(item) for item in items] if key else []
    by_step = {step: _labels_at(net, key, step) for step in dict.fromkeys(steps)}
    found = []
    for step, item in zip(steps, items, strict=True):
        its = by_step[step]  # one for each item of the batch, or one for all of them
        place = 0 if len(its) == 1 else item
        found.append(clipped((its[place] if place < len(its) else "") or _NO_LABEL, _MAX_LABEL))
    return found


def _labels_at(net: RankNet, key: str, step: int) -> Sequence[str]:
    match key.partition(":"):
        case "moment", _, _:
            return [str(step)]
        case "counter", _, name:
            return [net.index.counters.get(step, {}).get(name, "")]
        case "tensor", _, name:
            # The last up to the moment: labels that never change are written once.
            series = net.index.series.get(name)
            mark = None if series is None else series.last_up_to(step)
            if mark is None or not _is_column(mark.outline.shape):
                return []
            (numbers,) = read_stretches(net.reader, [Stretch(mark, 0, math.prod(mark.outline.shape))])
            return [] if numbers is None else [f"{number:.6g}" for number in numbers.tolist()]
        case "text", _, name:
            return _lines(net, name, step)
    raise InputError(f"there are no labels {key[:80]!r}: choose from those that are offered.")


def _lines(net: RankNet, name: str, step: int) -> Sequence[str]:
    entries = [entry for entry in net.reader.records("text", name) if entry.step <= step]
    last = max(entries, key=lambda entry: (entry.step, entry.time, entry.id), default=None)
    if last is None or last.num_bytes > _MAX_LABELS_BYTES:
        return []
    return (net.reader.data(record_id(last)) or b"").decode("utf-8", "replace").splitlines()


def _offered(net: RankNet, items: Items) -> Iterator[tuple[str, str, str]]:
    last = items.steps[-1]
    for name, series in net.index.series.items():
        mark = series.last_up_to(last)
        if mark is None or not _is_column(mark.outline.shape):
            continue
        if mark.outline.dtype.startswith(_WHOLE_TYPES) or _LABELLED.search(name.removesuffix(".Act")):
            yield f"tensor:{name}", name, "a number for each item of the batch"
    for key in net.reader.series():
        # A text with as many lines as a batch has items will be about them.
        if key.kind == "text" and (
            _LABELLED.search(key.name) or 1 < net.net.num_items == len(_lines(net, key.name, last))
        ):
            yield f"text:{key.name}", key.name, "a line for each item of the batch"
    names = dict.fromkeys(name for step in items.steps for name in net.index.counters.get(step, ()))
    for name in names:
        yield f"counter:{name}", name, "a counter of the moments"
    if len(set(items.items)) > 1:
        yield _ITEM, "item of the batch", "its place in the batch"
    if len(set(items.steps)) > 1:
        yield "moment:", "moment", "its step"


def _is_column(shape: Sequence[int]) -> bool:
    return 1 <= len(shape) <= 2 and 0 < math.prod(shape) == shape[0] <= 1 << 16


MAX_BYTES: Final = 1 << 28  # of the rows of one layer
_KEPT_BYTES: Final = 1 << 28  # of all that are kept
_AT_ONCE: Final = 64  # pieces, between which others may read the run, too


class LayerRows(NamedTuple):
    """Rows of real numbers, all finite, of those items of which there are such."""

    points: Array  # rows by units
    places: NDArray[numpy.int64]  # of the rows among the items
    note: str  # what is left out; empty where nothing is


class RowPlan(NamedTuple):
    layer: str
    pieces: tuple[tuple[Stretch, int], ...]  # rows that stand side by side in one record, and how many
    places: NDArray[numpy.int64]  # of the rows among the items
    num_items: int
    num_units: int
    num_bytes: int
    key: Hashable  # the same for the same numbers


def row_plan(run_id: str, rank: int, net: RankNet, items: Items, layer: NetLayer, variable: str) -> RowPlan:
    """InputError where there are no rows, or they are too large. Nothing is read."""
    pieces: list[tuple[Stretch, int]] = []
    of_rows: list[int] = []
    for step, same in groupby(range(len(items)), key=items.steps.__getitem__):
        group = list(same)
        first = items.items[group[0]]  # items of a batch follow one another
        mark = mark_at(net, layer.name, variable, step)
        found = "" if mark is None else found_in(net, layer, variable, mark, first)
        if mark is None or isinstance(found, str) or not (found.is_whole and found.stretch.size):
            continue  # a response would have other units
        has_items = layer.has_items and len(mark.outline.shape) > 0
        num_rows = min(len(group), mark.outline.shape[0] - first) if has_items else 1
        pieces.append((found.stretch._replace(size=found.stretch.size * num_rows), num_rows))
        of_rows += group[:num_rows]
    if not of_rows:
        raise InputError(
            f"{layer.name[:80]}.{variable[:80]} was not recorded of these items: choose another layer, or "
            "another moment."
        )
    num_units = layer.grid.num_units
    element = max(stretch.mark.outline.element_bytes for stretch, _ in pieces)
    num_bytes = len(of_rows) * num_units * max(4, element)
    if num_bytes > MAX_BYTES:
        raise InputError(
            f"{len(of_rows):,} items of {layer.name[:80]!r}, with {num_units:,} units each, take "
            f"{readable_bytes(num_bytes)}, and {readable_bytes(MAX_BYTES)} is the most: choose fewer "
            "items, or a smaller layer."
        )
    key = (run_id, rank, layer.name, len(items), tuple(of_rows), tuple(pieces))
    places = numpy.array(of_rows, numpy.int64)
    return RowPlan(layer.name, tuple(pieces), places, len(items), num_units, num_bytes, key)


def _sound(plan: RowPlan, read: Sequence[Array | None]) -> LayerRows:
    """Without what is missing, and what holds NaN or infinities."""
    is_sound = [numbers is not None and bool(numpy.isfinite(numbers).all()) for numbers in read]
    kept = [one for one, is_kept in zip(read, is_sound, strict=True) if is_kept and one is not None]
    num_odd = sum(numbers is not None for numbers in read) - len(kept)
    num_missing = plan.num_items - len(kept) - num_odd
    notes = []
    if num_missing:
        notes.append(f"{num_missing:,} of {plan.num_items:,} items were not recorded of this layer")
    if num_odd:
        notes.append(f"{num_odd:,} of {plan.num_items:,} items hold NaN or infinities and are left out")
    if not kept:
        raise InputError(f"no item of {plan.layer[:80]!r} is left: {'; '.join(notes)}.")
    return LayerRows(numpy.stack(kept), plan.places[numpy.array(is_sound)], "; ".join(notes))


_KEPT_MATRIX_BYTES: Final = 1 << 26  # of matrices
_MOST_MEANS: Final = 1 << 24  # units by labels
_MOST_LIKENESS_BYTES: Final = 1 << 30  # of rows that are read for one answer


class _Seen(NamedTuple):
    matrix: SimilarityMatrix
    places: NDArray[numpy.int64]
    note: str


class Analyses:
    """For all runs of a server. Each answer is for a thread of its own."""

    def __init__(self, nets: Nets) -> None:
        self._nets = nets
        self._kept: Cache[LayerRows] = Cache(_KEPT_BYTES)
        self._matrices: Cache[_Seen] = Cache(_KEPT_MATRIX_BYTES)
        self.answers: dict[type[Question], Callable[[OpenRun, Any], Frame]] = {
            messages.NetItemsQuestion: self._items,
            messages.NetSimilarityQuestion: self._similarity,
            messages.NetLikenessQuestion: self._likeness,
            messages.NetComponentsQuestion: self._components,
            messages.NetTuningQuestion: self._tuning,
            messages.NetUnitTuningQuestion: self._unit_tuning,
            messages.NetFieldQuestion: self._field,
        }

    def _items(self, run: OpenRun, question: messages.NetItemsQuestion) -> str:
        with run.lock:
            net = self._nets.look(run, question.rank)
            items = items_of(net, question.choice)
            choices = [
                messages.NetLabelChoice(key=key, name=clipped(name, _MAX_LABEL), about=about)
                for key, name, about in islice(_offered(net, items), _MAX_CHOICES)
            ]
        answer = messages.NetItemsAnswer(
            id=question.id,
            steps=[countable(step) or 0 for step in items.steps],
            items=items.items,
            labels=items.labels,
            label_of=[] if items.label_of is None else items.label_of.tolist(),
            label_choices=choices,
            note=items.note,
        )
        return as_text(answer)

    def _chosen(self, run: OpenRun, question: Any) -> Items:
        with run.lock:
            return items_of(self._nets.look(run, question.rank), question.choice)

    def _plan(
        self, run: OpenRun, rank: int, items: Items, layer: str, variable: str, unit: int = 0
    ) -> RowPlan:
        with run.lock:
            net = self._nets.look(run, rank)
            return row_plan(run.place.id, rank, net, items, layer_with(net, layer, unit), variable)

    def _planned(self, run: OpenRun, question: Any) -> tuple[Items, RowPlan]:
        """For a question about one layer, or about a unit of it."""
        items, unit = self._chosen(run, question), getattr(question, "unit", 0)
        variable = question.choice.variable
        return items, self._plan(run, question.rank, items, question.layer, variable, unit)

    def _rows(self, run: OpenRun, rank: int, plan: RowPlan) -> LayerRows:
        """InputError where none is left that could be used."""
        rows = self._kept.get(plan.key)
        if rows is None:
            read: list[Array | None] = []
            for start in range(0, len(plan.pieces), _AT_ONCE):
                some = plan.pieces[start : start + _AT_ONCE]
                with run.lock:
                    reader = self._nets.look(run, rank).reader
                    found = read_stretches(reader, [stretch for stretch, _ in some])
                for (_, num_rows), numbers in zip(some, found, strict=True):
                    gone = [None] * num_rows
                    read += gone if numbers is None else list(numbers.reshape(-1, plan.num_units))
            rows = _sound(plan, read)
            self._kept.put(plan.key, rows, rows.points.nbytes)
        return rows

    def _similarity(self, run: OpenRun, question: messages.NetSimilarityQuestion) -> bytes:
        items, plan = self._planned(run, question)
        matrix, places, note = self._seen(run, question.rank, plan, question.metric)
        labels = _label_numbers(items, places)
        order = numpy.arange(len(places)) if labels is None else numpy.argsort(labels, kind="stable")
        is_defined = ~numpy.isnan(numpy.diagonal(matrix.values))
        leaves, tree, by_tree, no_tree = _tree(matrix, numpy.flatnonzero(is_defined))
        answer = messages.NetSimilarityAnswer(
            id=question.id,
            places=places.tolist(),
            by_label=places[order].tolist(),
            leaves=places[leaves].tolist(),
            by_tree=places[by_tree].tolist(),
            contrast=contrast_of(matrix, labels),
            note="; ".join(part for part in (note, undefined_words(matrix, "item"), no_tree) if part),
        )
        return binary_frame(answer, tree.astype("<f8").tobytes() + matrix.values.astype("<f4").tobytes())

    def _likeness(self, run: OpenRun, question: messages.NetLikenessQuestion) -> bytes:
        items = self._chosen(run, question)
        told: list[messages.NetLayerLikeness] = []
        known: list[tuple[int, SimilarityMatrix]] = []
        room = _MOST_LIKENESS_BYTES
        for layer in question.layers:
            contrast, why = None, ""
            try:
                plan = self._plan(run, question.rank, items, layer, question.choice.variable)
                if (plan.key, question.metric) not in self._matrices:
                    room -= plan.num_bytes
                if room < 0:
                    raise InputError(
                        "the layers before it are all that can be read for one answer: choose fewer items."
                    )
                matrix, places, _ = self._seen(run, question.rank, plan, question.metric)
            except InputError as error:
                why = clipped(str(error))
            else:
                contrast = contrast_of(matrix, _label_numbers(items, places))
                # With NaN for items that the layer has not, so that it can be held against others.
                values = numpy.full((len(items), len(items)), numpy.nan)
                values[numpy.ix_(places, places)] = matrix.values
                known.append((len(told), replace(matrix, values=values, order=numpy.arange(len(items)))))
            told.append(messages.NetLayerLikeness(layer=layer, contrast=contrast, why=why))
        values = numpy.full((len(told), len(told)), numpy.nan)
        for at, (row, one) in enumerate(known):
            for column, other in known[: at + 1]:
                values[row, column] = values[column, row] = compare_similarity(one, other)
        answer = messages.NetLikenessAnswer(id=question.id, layers=told)
        return binary_frame(answer, values.astype("<f4").tobytes())

    def _seen(self, run: OpenRun, rank: int, plan: RowPlan, metric: messages.Metric) -> _Seen:
        key = plan.key, metric
        seen = self._matrices.get(key)
        if seen is None:
            rows = self._rows(run, rank, plan)
            _check_number(rows, "similarity")
            seen = _Seen(similarity(rows.points, metric=metric), rows.places, rows.note)
            self._matrices.put(key, seen, seen.matrix.values.nbytes)
        return seen

    def _components(self, run: OpenRun, question: messages.NetComponentsQuestion) -> bytes:
        rows = self._rows(run, question.rank, self._planned(run, question)[1])
        _check_number(rows, "components")
        found = principal_components(rows.points, question.num_components)
        answer = messages.NetComponentsAnswer(
            id=question.id, places=rows.places.tolist(), shares=found.shares.tolist(), note=rows.note
        )
        return binary_frame(answer, found.places.astype("<f4").tobytes())

    def _tuning(self, run: OpenRun, question: messages.NetTuningQuestion) -> bytes:
        items, plan = self._planned(run, question)
        rows = self._rows(run, question.rank, plan)
        labels = _label_numbers(items, rows.places)
        if labels is None:
            raise InputError("tuning needs labels: choose where they come from.")
        num_units, num_labels = rows.points.shape[1], len(numpy.unique(labels))
        if num_units * num_labels > _MOST_MEANS:
            raise InputError(
                f"the tuning of {num_units:,} units to {num_labels:,} labels takes too long: choose labels "
                "that more items share, or a smaller layer."
            )
        found = tuning(rows.points, labels)
        # A unit that is silent, or the same to all labels, prefers none.
        best = numpy.where(numpy.ptp(found.means, axis=1) == 0, numpy.nan, found.best)
        columns = numpy.stack([best, found.selectivity, found.best_d_prime])
        answer = messages.NetTuningAnswer(
            id=question.id, num_units=num_units, num_items=len(rows.places), note=rows.note
        )
        return binary_frame(answer, columns.astype("<f4").tobytes())

    def _unit_tuning(self, run: OpenRun, question: messages.NetUnitTuningQuestion) -> bytes:
        items, plan = self._planned(run, question)
        rows = self._rows(run, question.rank, plan)
        responses = rows.points[:, question.unit]
        labels = _label_numbers(items, rows.places)
        num_labels = len(items.labels)
        counts = numpy.zeros(0, int) if labels is None else numpy.bincount(labels, minlength=num_labels)
        means = numpy.full(num_labels, numpy.nan)
        d_primes = numpy.full(num_labels, numpy.nan)
        if labels is not None and numpy.count_nonzero(counts) > 1:
            found = tuning(responses[:, None], labels)
            means[found.labels], d_primes[found.labels] = found.means[0], found.d_primes[0]
        elif labels is not None:
            means[labels[0]] = responses.mean(dtype=numpy.float64)
        answer = messages.NetUnitTuningAnswer(
            id=question.id, places=rows.places.tolist(), counts=counts.tolist(), note=rows.note
        )
        values = numpy.concatenate([responses.astype(numpy.float64), means, d_primes])
        return binary_frame(answer, values.astype("<f4").tobytes())

    def _field(self, run: OpenRun, question: messages.NetFieldQuestion) -> bytes:
        items, plan = self._planned(run, question)
        rows = self._rows(run, question.rank, plan)
        plan = self._plan(run, question.rank, items, question.source, "Act")
        sources = self._rows(run, question.rank, plan)
        both, ours, theirs = numpy.intersect1d(rows.places, sources.places, return_indices=True)
        if not len(both):
            raise InputError(
                f"{question.layer[:80]!r} and {question.source[:80]!r} were not recorded of the same items: "
                "choose another source."
            )
        responses = rows.points[ours, question.unit : question.unit + 1]
        threshold = float(responses.mean(dtype=numpy.float64)) if question.above == "mean" else 0.0
        field = receptive_fields(
            responses, sources.points[theirs], threshold=threshold, minus_mean=question.minus_mean
        )[0]
        is_number = bool(numpy.isfinite(field).all())
        answer = messages.NetFieldAnswer(
            id=question.id,
            num_units=len(field),
            num_items=len(both),
            num_responses=int(numpy.count_nonzero(responses > threshold)),
            low=finite(float(field.min())) if is_number else None,
            high=finite(float(field.max())) if is_number else None,
            note="; ".join(note for note in dict.fromkeys((rows.note, sources.note)) if note),
        )
        return binary_frame(answer, field.astype("<f4").tobytes())


def _check_number(rows: LayerRows, what: str) -> None:
    if len(rows.places) < 2:
        raise InputError(
            f"there is one item, and {what} needs two at least: record a larger batch, or take moments as "
            "items."
        )


def _label_numbers(items: Items, places: NDArray[numpy.int64]) -> NDArray[numpy.int64] | None:
    """As numbers, in the order of the labels."""
    return None if items.label_of is None else items.label_of[places]


def _tree(
    matrix: SimilarityMatrix, kept: NDArray[numpy.int64]
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.int64], str]:
    """Rows that are leaves, the tree, the rows as they stand below it, and why there is no tree."""
    nothing = kept[:0], numpy.zeros((0, 4)), kept[:0]
    if len(kept) < 2:
        return *nothing, ""
    values = matrix.values[numpy.ix_(kept, kept)]
    try:
        found = clusters(replace(matrix, values=values, order=numpy.arange(len(kept))))
    except MissingLibraryError as error:  # the matrix is worth seeing without it
        return *nothing, str(error).rstrip(".")
    return kept, found.tree, kept[found.order], ""
