"""A pass as its pictures and pages see it: all of its structure, none of its tensors, no torch.

Pictures are drawn from it, the page is sent it as JSON, and a saved pass carries it, so that it can be looked
at where torch is not. A number that points into a list is -1 where there is nothing to point at.
"""

from __future__ import annotations

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
