"""How alike a layer sees items: what the analyses of NetView and of Features have in common."""

from __future__ import annotations

from typing import TypeVar

import numpy
from msgspec import Struct

from torcheer.analysis import Array, SimilarityMatrix, label_contrast
from torcheer.app.wire import finite

Contrast = TypeVar("Contrast", bound=Struct)


def contrast_of(matrix: SimilarityMatrix, labels: Array | None, kind: type[Contrast]) -> Contrast | None:
    """Pairs with the same label against pairs with different ones; None without labels."""
    if labels is None:
        return None
    found = label_contrast(
        SimilarityMatrix(values=matrix.values, metric=matrix.metric, order=matrix.order, labels=labels)
    )
    return kind(within=finite(found.within), between=finite(found.between), contrast=finite(found.contrast))


def undefined_words(matrix: SimilarityMatrix, what: str) -> str:
    """What is said of items that are not similar to anything, not even to themselves; empty without any."""
    count = int(numpy.isnan(numpy.diagonal(matrix.values)).sum())
    some = f"1 {what} has" if count == 1 else f"{count:,} {what}s have"
    return f"{some} no {matrix.metric}: all units are alike, or silent" if count else ""
