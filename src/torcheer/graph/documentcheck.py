"""Hold the document of a pass against itself, before anything is drawn of it.

Whatever is wrong is a ValueError that says what. After it every index is in its table, parents come before
their children, and modules that run inside each other come to an end.
"""

from __future__ import annotations

from collections.abc import Iterable

from torcheer.graph.document import DOCUMENT_VERSION, OpEntry, PassDocument, ScopeEntry

_MAX_DEPTH = 1000  # Python's own limit for what calls itself
_MAX_DIMS = 64


def check_document(document: PassDocument) -> None:
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
