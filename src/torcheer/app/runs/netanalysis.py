"""Answer what pages ask of the analysis: similarity, components, clusters, tuning, receptive fields."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.analysis import (
    MissingLibraryError,
    SimilarityMatrix,
    clusters,
    compare_similarity,
    label_contrast,
    principal_components,
    receptive_fields,
    similarity,
    tuning,
)
from torcheer.app.frames import as_json, binary_frame
from torcheer.app.netanalysismessages import (
    Metric,
    NetComponentsAnswer,
    NetComponentsQuestion,
    NetContrast,
    NetFieldAnswer,
    NetFieldQuestion,
    NetItemsQuestion,
    NetLayerLikeness,
    NetLikenessAnswer,
    NetLikenessQuestion,
    NetSimilarityAnswer,
    NetSimilarityQuestion,
    NetTuningAnswer,
    NetTuningQuestion,
    NetUnitTuningAnswer,
    NetUnitTuningQuestion,
)
from torcheer.app.runs.listing import clipped, finite
from torcheer.app.runs.netanalysisitems import Items, items_answer, items_of
from torcheer.app.runs.netanalysisrows import Kept, LayerRows, RowDesk, RowPlan
from torcheer.app.runs.nets import Nets
from torcheer.app.runs.openrun import OpenRun
from torcheer.errors import InputError

_KEPT_BYTES: Final = 1 << 26  # of matrices
_MOST_MEANS: Final = 1 << 24  # units by labels
_MOST_LIKENESS_BYTES: Final = 1 << 30  # of rows that are read for one answer
_NO_ROOM: Final = "the layers before it are all that can be read for one answer: choose fewer items."
_SOURCE_VARIABLE: Final = "Act"

Frame = str | bytes


class _Seen(NamedTuple):
    """How alike a layer sees items, and which of them."""

    matrix: SimilarityMatrix
    places: NDArray[numpy.int64]
    note: str


class Analyses:
    """For all runs of a server. Each answer is for a thread of its own."""

    def __init__(self, nets: Nets) -> None:
        self._desk = RowDesk(nets)
        self._matrices: Kept[_Seen] = Kept(_KEPT_BYTES)
        self._answers: dict[type, Callable[[OpenRun, Any], Frame]] = {
            NetItemsQuestion: self._items,
            NetSimilarityQuestion: self._similarity,
            NetLikenessQuestion: self._likeness,
            NetComponentsQuestion: self._components,
            NetTuningQuestion: self._tuning,
            NetUnitTuningQuestion: self._unit_tuning,
            NetFieldQuestion: self._field,
        }

    def answer(self, run: OpenRun, question: Any) -> Frame:
        return self._answers[type(question)](run, question)

    def _items(self, run: OpenRun, question: NetItemsQuestion) -> str:
        with run.lock:
            net = self._desk.nets.look(run, question.rank)
            answer = items_answer(question.id, net, items_of(net, question.choice))
        return as_json(answer).decode()

    # --- similarity, clusters ------------------------------------------------------------------

    def _similarity(self, run: OpenRun, question: NetSimilarityQuestion) -> bytes:
        items, plan = self._plan(run, question)
        matrix, places, note = self._seen(run, question.rank, plan, question.metric)
        labels = _labels(items, places)
        order = numpy.arange(len(places)) if labels is None else numpy.argsort(labels, kind="stable")
        is_defined = ~numpy.isnan(numpy.diagonal(matrix.values))
        leaves, tree, by_tree, no_tree = _tree(matrix, numpy.flatnonzero(is_defined))
        num_odd = int((~is_defined).sum())
        some = "1 item has" if num_odd == 1 else f"{num_odd:,} items have"
        odd = f"{some} no {question.metric}: all units are alike, or silent" if num_odd else ""
        answer = NetSimilarityAnswer(
            id=question.id,
            places=places.tolist(),
            by_label=places[order].tolist(),
            leaves=places[leaves].tolist(),
            by_tree=places[by_tree].tolist(),
            contrast=_contrast(matrix, labels),
            note="; ".join(part for part in (note, odd, no_tree) if part),
        )
        return binary_frame(answer, tree.astype("<f8").tobytes() + matrix.values.astype("<f4").tobytes())

    def _likeness(self, run: OpenRun, question: NetLikenessQuestion) -> bytes:
        items = self._desk.items(run, question.rank, question.choice)
        told: list[NetLayerLikeness] = []
        known: list[tuple[int, SimilarityMatrix]] = []
        room = _MOST_LIKENESS_BYTES
        for layer in question.layers:
            contrast, why = None, ""
            try:
                plan = self._desk.plan(run, question.rank, items, layer, question.choice.variable)
                if (plan.key, question.metric) not in self._matrices:
                    room -= plan.num_bytes
                if room < 0:
                    raise InputError(_NO_ROOM)
                matrix, places, _ = self._seen(run, question.rank, plan, question.metric)
            except InputError as error:
                why = clipped(str(error))
            else:
                contrast = _contrast(matrix, _labels(items, places))
                known.append((len(told), _of_all(matrix, places, len(items))))
            told.append(NetLayerLikeness(layer=layer, contrast=contrast, why=why))
        values = numpy.full((len(told), len(told)), numpy.nan)
        for at, (row, one) in enumerate(known):
            for column, other in known[: at + 1]:
                values[row, column] = values[column, row] = compare_similarity(one, other)
        answer = NetLikenessAnswer(id=question.id, layers=told)
        return binary_frame(answer, values.astype("<f4").tobytes())

    def _seen(self, run: OpenRun, rank: int, plan: RowPlan, metric: Metric) -> _Seen:
        key = plan.key, metric
        seen = self._matrices.get(key)
        if seen is None:
            rows = self._desk.rows(run, rank, plan)
            _check_number(rows, "similarity")
            seen = _Seen(similarity(rows.points, metric=metric), rows.places, rows.note)
            self._matrices.put(key, seen, seen.matrix.values.nbytes)
        return seen

    # --- components ----------------------------------------------------------------------------

    def _components(self, run: OpenRun, question: NetComponentsQuestion) -> bytes:
        _, rows = self._rows(run, question)
        _check_number(rows, "components")
        found = principal_components(rows.points, question.num_components)
        answer = NetComponentsAnswer(
            id=question.id,
            places=rows.places.tolist(),
            shares=found.shares.tolist(),
            note=rows.note,
        )
        return binary_frame(answer, found.places.astype("<f4").tobytes())

    # --- tuning --------------------------------------------------------------------------------

    def _tuning(self, run: OpenRun, question: NetTuningQuestion) -> bytes:
        items, rows = self._rows(run, question)
        labels = _labels(items, rows.places)
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
        answer = NetTuningAnswer(
            id=question.id, num_units=num_units, num_items=len(rows.places), note=rows.note
        )
        return binary_frame(answer, columns.astype("<f4").tobytes())

    def _unit_tuning(self, run: OpenRun, question: NetUnitTuningQuestion) -> bytes:
        self._desk.layer(run, question.rank, question.layer, question.unit)
        items, rows = self._rows(run, question)
        responses = rows.points[:, question.unit]
        labels = _labels(items, rows.places)
        num_labels = len(items.labels)
        counts = numpy.zeros(0, int) if labels is None else numpy.bincount(labels, minlength=num_labels)
        means = numpy.full(num_labels, numpy.nan)
        d_primes = numpy.full(num_labels, numpy.nan)
        if labels is not None and numpy.count_nonzero(counts) > 1:
            found = tuning(responses[:, None], labels)
            means[found.labels], d_primes[found.labels] = found.means[0], found.d_primes[0]
        elif labels is not None:
            means[labels[0]] = responses.mean(dtype=numpy.float64)
        answer = NetUnitTuningAnswer(
            id=question.id, places=rows.places.tolist(), counts=counts.tolist(), note=rows.note
        )
        values = numpy.concatenate([responses.astype(numpy.float64), means, d_primes])
        return binary_frame(answer, values.astype("<f4").tobytes())

    # --- receptive fields ------------------------------------------------------------------------

    def _field(self, run: OpenRun, question: NetFieldQuestion) -> bytes:
        self._desk.layer(run, question.rank, question.layer, question.unit)
        items, rows = self._rows(run, question)
        plan = self._desk.plan(run, question.rank, items, question.source, _SOURCE_VARIABLE)
        sources = self._desk.rows(run, question.rank, plan)
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
        answer = NetFieldAnswer(
            id=question.id,
            num_units=len(field),
            num_items=len(both),
            num_responses=int(numpy.count_nonzero(responses > threshold)),
            low=finite(float(field.min())) if is_number else None,
            high=finite(float(field.max())) if is_number else None,
            note="; ".join(note for note in dict.fromkeys((rows.note, sources.note)) if note),
        )
        return binary_frame(answer, field.astype("<f4").tobytes())

    def _plan(self, run: OpenRun, question: Any) -> tuple[Items, RowPlan]:
        choice = question.choice
        items = self._desk.items(run, question.rank, choice)
        return items, self._desk.plan(run, question.rank, items, question.layer, choice.variable)

    def _rows(self, run: OpenRun, question: Any) -> tuple[Items, LayerRows]:
        items, plan = self._plan(run, question)
        return items, self._desk.rows(run, question.rank, plan)


def _check_number(rows: LayerRows, what: str) -> None:
    if len(rows.places) < 2:
        raise InputError(
            f"there is one item, and {what} needs two at least: record a larger batch, or take moments as "
            "items."
        )


def _labels(items: Items, places: NDArray[numpy.int64]) -> NDArray[numpy.int64] | None:
    """As numbers, in the order of the labels."""
    return None if items.label_of is None else items.label_of[places]


def _contrast(matrix: SimilarityMatrix, labels: NDArray[numpy.int64] | None) -> NetContrast | None:
    if labels is None:
        return None
    found = label_contrast(
        SimilarityMatrix(values=matrix.values, metric=matrix.metric, order=matrix.order, labels=labels)
    )
    within, between, contrast = (
        value if math.isfinite(value) else None for value in (found.within, found.between, found.contrast)
    )
    return NetContrast(within=within, between=between, contrast=contrast)


def _tree(
    matrix: SimilarityMatrix, kept: NDArray[numpy.int64]
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.int64], str]:
    """Rows that are leaves, the tree, the rows as they stand below it, and why there is no tree."""
    nothing = kept[:0], numpy.zeros((0, 4)), kept[:0]
    if len(kept) < 2:
        return *nothing, ""
    values = matrix.values[numpy.ix_(kept, kept)]
    some = SimilarityMatrix(values=values, metric=matrix.metric, order=numpy.arange(len(kept)), labels=None)
    try:
        found = clusters(some)
    except MissingLibraryError as error:  # the matrix is worth seeing without it
        return *nothing, str(error).rstrip(".")
    return kept, found.tree, kept[found.order], ""


def _of_all(matrix: SimilarityMatrix, places: NDArray[numpy.int64], num_items: int) -> SimilarityMatrix:
    """With rows of NaN for items that the layer has not, so that it can be held against others."""
    values = numpy.full((num_items, num_items), numpy.nan)
    values[numpy.ix_(places, places)] = matrix.values
    return SimilarityMatrix(values=values, metric=matrix.metric, order=numpy.arange(num_items), labels=None)
