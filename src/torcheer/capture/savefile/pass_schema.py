"""The structure of a saved pass: rows of a JSON text, each an array, in the order of these fields.

Arrays and not objects: there is no key that could stand twice, and a field that is added at the end, with a
default, leaves older files readable. Where a row has the fields of a class of the pass, msgspec makes one of
the other. A number that points into a table is -1 where there is nothing to point at. Python values inside
(arguments, numbers that were read) are written as `python_values` says.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import torch
from msgspec import Struct

from torcheer.capture.aten import AtenCall, Count, Index, Shape
from torcheer.capture.backward.backward_pass import Shapes
from torcheer.capture.backward.grad_graph import NodeNote
from torcheer.capture.history import PassFacts
from torcheer.capture.model_walk import ModuleNote
from torcheer.capture.savefile.python_values import DTYPE_NAMES, DTYPES, plain_device

VERSION = 1  # raised when an older torcheer could no longer read what is written
METADATA_KEY = "torcheer.history"  # of the version, in the header of the file
STRUCTURE = "torcheer.structure"  # the name of the JSON text among the tensors
DOCUMENT = "torcheer.document"  # of a second one, for those who only look: graph/document.py
MAX_STRUCTURE_BYTES = 1 << 29  # a million ops and more

T = TypeVar("T")


class Row(Struct, array_like=True, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """A JSON array with a fixed meaning for each place."""


class StoredTensor(Row, frozen=True):
    """Where a value lies in the file, and how it is made of it again."""

    kind: str  # a key of stored_values._MAKERS
    dtype: torch.dtype
    shape: Shape
    tensor: str = ""  # its name in the file
    stride: list[Count] | None = None  # None: contiguous, all of the named tensor
    offset: Count = 0  # in elements of `dtype`
    parts: list[StoredTensor] = []  # of a sparse, nested or quantized tensor
    numbers: list[int | float] = []


class StoredFrame(Row, frozen=True):
    """A line of source."""

    file: str
    line: Count
    function: str
    code_text: str
    is_torchs: bool = False  # `file` is then relative to torch's own folder


class StoredTrait(Row, frozen=True):
    """A function that ran."""

    name: str
    type: str
    is_own: bool = False  # one of ours: an input, an output, a buffer…


class StoredCall(Row, frozen=True):
    """A function and its arguments, without the tensors. Calls that are alike share one."""

    trait: Count
    args: Any
    kwargs: Any = None


class StoredScope(Row, frozen=True):
    """One call of a module or of a Python-level function; its parent stands before it."""

    parent: Index
    address: str | None
    name: str
    site: Index
    pass_num: Count
    first_op: Count
    num_ops: Index
    outputs: tuple[Count, ...]
    seconds: float


class StoredContext(Row, frozen=True):
    """What was special about a call."""

    random_device: str = ""
    random_state: StoredTensor | None = None
    autocast: tuple[tuple[str, torch.dtype], ...] = ()
    batch_dims: tuple[tuple[tuple[int, int], ...], ...] = ()
    num_targets: Count = 0
    reads_what_it_writes: bool = False
    note: str = ""


class StoredOutline(Row, frozen=True):
    """What many tensors have in common."""

    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    grad_fn_name: str | None


class StoredOp(Row, frozen=True):
    """One output of one call."""

    call: Count
    parents: tuple[int, ...]  # negative: a parameter, -1 is the first
    scope: Count
    site: Index
    seconds: float
    position: Count
    context: Index
    layer: Count
    outline: Count
    shape: Shape
    num_bytes: Count
    value: StoredTensor | None = None
    address: str | None = None


class StoredParam(Row, frozen=True):
    """A parameter that was used; its values are not kept."""

    address: str
    shape: tuple[Count, ...]
    dtype: torch.dtype
    requires_grad: bool


class StoredRead(Row, frozen=True):
    """A tensor's value that went to Python, and what hung on it."""

    name: str
    op: int
    value: Any
    num_ops: Count
    scope: Count
    site: Index
    statement: str
    taken: str
    followed: Count


class StoredBackward(Row, frozen=True):
    """One backward pass."""

    kind: str
    elapsed_seconds: float
    runs: list[tuple[Count, float, Shapes, Shapes, tuple[AtenCall, ...]]]  # node, time, given, made, calls
    grads: list[tuple[Count, Count, StoredTensor]]  # node, which of its gradients, the gradient


class StoredGradients(Row, frozen=True):
    """All backward passes through a pass."""

    nodes: list[NodeNote]
    slots: list[tuple[Count, Count, list[Count]]]  # node, which of its gradients, ops whose gradient it is
    passes: list[StoredBackward]
    notes: list[str]


class StoredPass(Row, frozen=True):
    """A whole pass but for its tensors."""

    facts: PassFacts
    traits: list[StoredTrait]
    calls: list[StoredCall]
    frames: list[StoredFrame]
    sites: list[list[Count]]
    scopes: list[StoredScope]
    contexts: list[StoredContext]
    outlines: list[StoredOutline]
    params: list[StoredParam]
    ops: list[StoredOp]
    reads: list[StoredRead]
    modules: list[ModuleNote]  # each after its parent
    other_names: list[tuple[str, str]]
    module_calls: list[tuple[str, list[Count]]]
    saved: list[Count] | None
    treated: list[tuple[Count, Any]]
    warnings: list[str]
    gradients: StoredGradients | None = None
    aten: list[tuple[Count, tuple[AtenCall, ...]]] | None = None  # by op
    edits: list[tuple[Count, str, str]] = []  # op, key, function
    unedited: list[tuple[Count, StoredTensor]] = []
    edited_at: list[tuple[Count, Count]] = []
    activation_bytes: Count | None = None


def _name_of(value: Any) -> Any:
    """How a type or a device of torch is written; what is JSON already stays as it is."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    return DTYPE_NAMES[value] if isinstance(value, torch.dtype) else str(value)


def _named(kind: type, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if type(value) is not str:
        raise ValueError(f"there is no {kind.__name__} {str(value)[:20]!r}")
    if kind is torch.device:
        return plain_device(value)
    if value not in DTYPES:
        raise ValueError(f"there is no type {str(value)[:20]!r}")
    return DTYPES[value]


def converted(value: Any, kind: type[T]) -> T:
    """A row as the class of the pass that has its fields, or the other way round, also inside lists."""
    return msgspec.convert(value, kind, from_attributes=True, dec_hook=_named)


def plain(value: Any) -> Any:
    """A row as lists, numbers and texts."""
    return msgspec.to_builtins(value, enc_hook=_name_of)


decode_pass = msgspec.json.Decoder(StoredPass, dec_hook=_named).decode


def as_json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_name_of)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(plain(value)))


def _without_surrogates(value: Any) -> Any:
    """Half characters, as in the name of a file that is no text, cannot stand in JSON."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list | tuple) else value
