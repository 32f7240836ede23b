"""A pass as a record: its document, stored once for all that are alike, and a few figures of each op.

The figures are found in the training's own thread: a pass holds the training's tensors, which the next step
may write into. It takes as long as reading all saved tensors twice.
"""

from __future__ import annotations

import hashlib
import importlib
import math
from functools import partial
from typing import Any

import numpy
from msgspec.structs import replace

from torcheer.errors import InputError
from torcheer.graph import PassDocument
from torcheer.run.records import Document, Encoded, PassHead, Pending, encode_json

FIGURES = ("mean", "std", "min", "max", "zeros", "nan")  # zeros as a share, nan as a number
_GRAD_FIGURES = tuple(f"grad_{name}" for name in FIGURES)
COLUMNS = [*FIGURES, *_GRAD_FIGURES, "seconds"]
_UNKNOWN = [math.nan] * len(FIGURES)


def pass_record(history: Any) -> Pending:
    if not is_history(history):
        raise InputError(
            f"a {type(history).__name__} is no pass: give what log_forward_pass returned, a ModelHistory."
        )
    source = importlib.import_module("torcheer.capture").HistorySource(history)
    document: PassDocument = source.document()
    rows = [
        [
            *(_figures(source, "output", index) if op.has_value else _UNKNOWN),
            *(_figures(source, "grad", index) if op.has_grad else _UNKNOWN),
            op.seconds,
        ]
        for index, op in enumerate(document.ops)
    ]
    figures = numpy.array(rows, dtype="<f8").tobytes()
    return Pending(len(figures) + 1000 * len(rows), partial(_encode, document, figures))


def _figures(source: Any, kind: str, index: int) -> list[float]:
    found = source.tensor(kind, index, None)
    if isinstance(found, str):  # the reason why it cannot be looked at
        return _UNKNOWN
    view = found[0]
    known = [math.nan if value is None else value for value in (view.mean, view.std, view.min, view.max)]
    share = view.num_zeros / view.num_elements if view.num_elements else math.nan
    return [*known, share, float(view.num_nan)]


def _encode(document: PassDocument, figures: bytes) -> Encoded:
    kept = Document(_digest(document), encode_json(document))
    head = PassHead(
        document=kept.hash,
        model_name=document.model_name,
        num_ops=len(document.ops),
        figures=COLUMNS,
        random_seed=document.random_seed,
    )
    return Encoded(head, figures, kept)


def _digest(document: PassDocument) -> str:
    """The same for all passes of one structure, however long each of them took."""
    timeless = replace(
        document,
        elapsed_seconds=0.0,
        random_seed=None,
        ops=[replace(op, seconds=0.0, backward_seconds=None) for op in document.ops],
        scopes=[replace(scope, seconds=0.0) for scope in document.scopes],
    )
    return hashlib.blake2b(encode_json(timeless), digest_size=16).hexdigest()


def is_history(value: Any) -> bool:
    """True for a ModelHistory. Imports nothing."""
    return any(
        kind.__name__ == "ModelHistory" and kind.__module__.startswith("torcheer.capture")
        for kind in type(value).__mro__
    )


def pass_of(model: Any, inputs: Any) -> Any:
    """Run a model once, and leave it and the random generators as they were."""
    capture = importlib.import_module("torcheer.capture")
    with capture.same_model_after(model), capture.same_random_state_after():
        return capture.log_forward_pass(model, inputs)
