"""A pass as its pictures and pages see it: all of its structure, none of its tensors, no torch.

Pictures are drawn from it, the page is sent it as JSON, and a saved pass carries it, so that it can be looked
at where torch is not. A number that points into a list is -1 where there is nothing to point at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

DOCUMENT_VERSION = 1

OpKind = Literal["op", "input", "output", "buffer", "source"]


class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """A part of a document: a JSON object."""


class Link(Struct, frozen=True, array_like=True, gc=False):
    """One tensor that an op was given: which op made it, and which argument it was."""

    op: int
    argument: str  # "0", "0.1" for the second of a list, or a keyword


class OpEntry(Entry, frozen=True):
    """One output of one operation. Its place in the list is its index, in the order they ran."""

    label: str  # `relu_1_2`, with its pass where the layer ran more than once: `relu_1_2:3`
    layer: int
    pass_num: int
    num_passes: int  # of its layer
    type: str
    function: str
    kind: OpKind
    scope: int
    parents: list[Link]
    argument_order_matters: bool
    params: list[int]
    shape: list[int]
    dtype: str
    num_bytes: int
    seconds: float
    flops: int | None
    name: str  # of an input, an output or a buffer: `input_ids`, `layer1.0.bn1.running_mean`
    arguments: str  # those that are no tensors, as they would be written
    source: int  # the innermost line outside torch
    stack: list[int]  # all lines, innermost first
    has_value: bool
    has_grad: bool
    is_inplace: bool
    is_edited: bool
    requires_grad: bool
    grad_fn: str
    backward_seconds: float | None  # of its autograd nodes, over all backward passes


class ScopeEntry(Entry, frozen=True):
    """One call of a module, or of a torch function that was opened up. The first is the model itself."""

    parent: int  # stands before it; -1 for the model
    address: str | None  # None for a function
    name: str  # class or function
    pass_num: int
    num_passes: int
    first_op: int
    num_ops: int
    outputs: list[int]
    seconds: float
    num_params: int  # elements, with those of the modules inside
    source: int  # where it was called


class ParamEntry(Entry, frozen=True):
    """A parameter that some op used."""

    address: str
    shape: list[int]
    dtype: str
    num_bytes: int
    requires_grad: bool
    has_value: bool
    has_grad: bool


class SourceEntry(Entry, frozen=True):
    """A line of source, with a few around it where the file could be read."""

    file: str
    line: int
    function: str
    text: str
    context: list[str]
    context_start: int  # the line number of the first of them


class BranchEntry(Entry, frozen=True):
    """A value of a tensor that Python asked for, and the ops that followed."""

    op: int  # -1 where it was a parameter
    value: str
    statement: str
    taken: str
    followed_by: list[int]
    source: int


class PassDocument(Entry, frozen=True):
    """A whole pass but for its tensors."""

    version: int
    model_name: str
    elapsed_seconds: float
    num_params: int
    param_bytes: int
    num_bytes: int  # of all outputs
    random_seed: int
    notes: list[str]
    error: str  # of a model that raised
    stopped_after: str
    is_shape_only: bool
    num_backward_passes: int
    ops: list[OpEntry]
    scopes: list[ScopeEntry]
    params: list[ParamEntry]
    sources: list[SourceEntry]
    branches: list[BranchEntry]


_MAX_DEPTH = 1000  # Python's own limit for what calls itself
_MAX_DIMS = 64


def check_document(document: PassDocument) -> None:
    """Hold a document against itself, before anything is drawn of it. ValueError says what is wrong.

    After it every index is in its table, parents come before their children, and modules that run inside each
    other come to an end.
    """
    _need(1 <= document.version <= DOCUMENT_VERSION, f"its version is {document.version}")
    num_ops, num_sources = len(document.ops), len(document.sources)
    _need(bool(document.scopes) or not num_ops, "its ops run in no module")
    for index, op in enumerate(document.ops):
        _check_op(index, op, document)
    _check_scopes(document.scopes, num_ops, num_sources)
    for param in document.params:
        _check_shape(param.shape, param.num_bytes)
    for branch in document.branches:
        _need(-1 <= branch.op < num_ops, "a value was read of no op")
        _inside(branch.followed_by, num_ops, "an op after a branch")
        _need(-1 <= branch.source < num_sources, "a branch is on no line")
    for source in document.sources:
        _need(source.line >= 0 and source.context_start >= 0, "a line of source has no number")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _inside(indices: Iterable[int], size: int, what: str) -> None:
    for index in indices:
        if not 0 <= index < size:
            raise ValueError(f"{what} is number {index} of {size}")


def _check_shape(shape: list[int], num_bytes: int) -> None:
    # -1: a size that differs from part to part.
    _need(len(shape) <= _MAX_DIMS and min(shape, default=0) >= -1, "a tensor has no shape")
    _need(num_bytes >= 0, "a tensor takes less than nothing")


def _check_op(index: int, op: OpEntry, document: PassDocument) -> None:
    num_sources = len(document.sources)
    for link in op.parents:
        if not 0 <= link.op < index:
            raise ValueError(f"op {index} has a parent, {link.op}, that does not come before it")
    _inside((op.scope,), len(document.scopes), "the module of an op")
    _inside((op.layer,), len(document.ops), "a layer")
    _inside(op.params, len(document.params), "a parameter")
    _inside(op.stack, num_sources, "a line of source")
    _need(-1 <= op.source < num_sources, f"op {index} is on no line")
    _need(1 <= op.pass_num <= op.num_passes <= len(document.ops), f"op {index} is no pass of its layer")
    _check_shape(op.shape, op.num_bytes)


def _check_scopes(scopes: list[ScopeEntry], num_ops: int, num_sources: int) -> None:
    depths: list[int] = []
    for index, scope in enumerate(scopes):
        _need(-1 <= scope.parent < index, "a module runs inside one that starts later")
        _need((scope.parent < 0) == (index == 0), "more than one module is the outermost")
        depths.append(depths[scope.parent] + 1 if scope.parent >= 0 else 0)
        _need(depths[-1] < _MAX_DEPTH, "modules run inside each other without end")
        _inside(scope.outputs, num_ops, "the output of a module")
        _need(scope.first_op >= 0 and scope.num_ops >= 0, "a module ran before the pass")
        _need(scope.first_op + scope.num_ops <= num_ops, "a module ran longer than the pass")
        _need(-1 <= scope.source < num_sources, "a module was called on no line")
        _need(1 <= scope.pass_num <= scope.num_passes, "a call of a module has no number")
