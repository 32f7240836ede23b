"""What samples are called."""

from __future__ import annotations

from typing import Any

import numpy

from torcheer.errors import InputError
from torcheer.features.sources import Source
from torcheer.features.stores.protocol import Array


def given_ids(ids: Any, source: Source) -> tuple[Array | None, str | None]:
    """One for each sample, where that is known before; and the key under which batches have them."""
    if isinstance(ids, str):
        return None, ids
    if ids is None:
        return source.ids(), None
    found = numpy.asarray(ids)
    if found.ndim != 1 or found.dtype.kind not in "iuUS":
        raise InputError("ids must be whole numbers or texts, one for each sample, or the key of a batch.")
    if source.num_samples is None:
        raise InputError(
            "ids cannot be given for a stream: let its batches have them, and give ids='their key'."
        )
    if len(found) != source.num_samples:
        raise InputError(
            f"there are {len(found):,} ids for {source.num_samples:,} samples: give one for each."
        )
    return found.astype(numpy.str_) if found.dtype.kind == "S" else found, None
