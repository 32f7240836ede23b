"""Which samples are shown or analysed: of those that are there, as many of each label as it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy

from torcheer.analysis import chosen_samples
from torcheer.app.featuremessages import FeatureRows, LabelKind
from torcheer.app.features.openset import Array, Indices, OpenSet
from torcheer.app.runs.listing import clipped
from torcheer.errors import InputError

MAX_NAME: Final = 80
MAX_CLASSES: Final = 1000  # more different labels are not told apart by name
_NOTHING_YET: Final = (
    "no sample of this set is there yet: wait until the extraction has written its first batch."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """Some samples, sorted by label and then by number."""

    samples: Indices
    labels: Array | None  # of these
    num_done: int

    @property
    def by_number(self) -> Indices:
        return numpy.sort(self.samples)


def label_kind(labels: Array | None) -> LabelKind:
    """Texts and whole numbers name classes; fractions do not, nor whole numbers that are too many."""
    if labels is None:
        return "none"
    if labels.dtype.kind == "f":
        return "numbers"
    if labels.dtype.kind in "iu" and len(labels) > MAX_CLASSES:
        return "numbers" if len(numpy.unique(labels)) > MAX_CLASSES else "classes"
    return "classes"


def choose(opened: OpenSet, most: int) -> Chosen:
    """For a thread that has its turn."""
    progress = opened.progress()
    done, labels = progress.done, opened.labels()
    if not len(done):
        raise InputError(_NOTHING_YET)
    known = None if labels is None else labels[done]
    groups = known if label_kind(known) == "classes" else None
    taken = chosen_samples(len(done), min(most, len(done)), groups)
    if known is None:
        return Chosen(samples=done[taken], labels=None, num_done=len(done))
    taken = taken[numpy.argsort(known[taken], kind="stable")]
    return Chosen(samples=done[taken], labels=known[taken], num_done=len(done))


def rows_of(opened: OpenSet, chosen: Chosen) -> FeatureRows:
    """For a page: what stands in the rows."""
    names, label_of = named(chosen.labels)
    ids = opened.features().ids
    return FeatureRows(
        samples=chosen.samples.tolist(),
        ids=[clipped(str(ids[one]), MAX_NAME) for one in chosen.samples],
        labels=names,
        label_of=label_of,
        num_done=chosen.num_done,
    )


def named(labels: Array | None) -> tuple[Sequence[str], Sequence[int]]:
    """Each label once, and for each sample the place of its own."""
    if labels is None:
        return (), ()
    each, places = numpy.unique(labels, return_inverse=True)
    return [label_text(one) for one in each], places.tolist()


def label_text(label: object) -> str:
    if isinstance(label, float | numpy.floating):
        return f"{label:.6g}"
    return clipped(str(label), MAX_NAME)
