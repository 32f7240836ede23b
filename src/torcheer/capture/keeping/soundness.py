"""Hold the structure of a saved pass against itself, before anything is built on it.

Whatever is wrong is a ValueError that says what. After it every index is inside its table, every chain of
parents ends, and every value fits the bytes that the file has for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

from torcheer.capture.keeping.pyvalues import DTYPES, plain_device
from torcheer.capture.keeping.stored import (
    Shape,
    StoredModule,
    StoredOp,
    StoredPass,
    StoredScope,
    StoredTensor,
)
from torcheer.capture.keeping.storedbackward import check_gradients
from torcheer.capture.keeping.storedvalues import check_stored
from torcheer.capture.keeping.tensorfile import TensorFile
from torcheer.capture.tape import OWN_TRAITS
from torcheer.tensorfile import MAX_DIMS

_MAX_DEPTH = 1000  # Python's own limit for what calls itself
_MAX_ELEMENTS = 2**56


def check_pass(stored: StoredPass, file: TensorFile) -> None:
    num_ops = len(stored.ops)
    _need(stored.facts.stopped_at is None or stored.facts.stopped_at < num_ops, "it stopped at no op")
    _need(-(2**64) < stored.facts.random_seed < 2**64, "its random seed is no seed")
    _check_tables(stored, file)
    _check_scopes(stored.scopes, len(stored.sites), num_ops)
    _check_ops(stored, file)
    _check_reads(stored)
    _check_modules(stored.modules, dict(stored.other_names))
    _need(len(dict(stored.module_calls)) == len(stored.module_calls), "a module is named twice")
    for _, calls in stored.module_calls:
        _inside(calls, len(stored.scopes), "a call of a module")
    _inside(stored.saved or [], num_ops, "a saved op")
    _inside([op for op, _ in stored.treated], num_ops, "a changed value")
    _need(len(dict(stored.treated)) == len(stored.treated), "a value was changed twice")
    _check_extras(stored, file)


def _check_extras(stored: StoredPass, file: TensorFile) -> None:
    """Backward passes, ATen calls and edits."""
    num_ops = len(stored.ops)
    _inside([op for op, _ in stored.aten or []], num_ops, "an op with ATen calls")
    _inside([op for op, _, _ in stored.edits], num_ops, "an edited op")
    _inside([op for op, _ in stored.edited_at], num_ops, "an edited op")
    _inside([op for op, _ in stored.unedited], num_ops, "an edited op")
    for _, value in stored.unedited:
        check_stored(value, file)
    if stored.gradients is not None:
        params = frozenset(param.address for param in stored.params)
        check_gradients(stored.gradients, num_ops, params, partial(check_stored, file=file))


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _inside(indices: Iterable[int], size: int, what: str) -> None:
    for index in indices:
        if not index < size:
            raise ValueError(f"{what} is number {index} of {size}")


def check_shape(shape: Shape, dtype: str) -> None:
    _need(dtype in DTYPES, f"there is no type {dtype[:20]!r}")
    _need(len(shape) <= MAX_DIMS, "a tensor has too many dimensions")
    _need(math.prod(max(size, 1) for size in shape) <= _MAX_ELEMENTS, "a tensor is too large")


def _check_tables(stored: StoredPass, file: TensorFile) -> None:
    own = {trait.name for trait in OWN_TRAITS}
    for trait in stored.traits:
        _need(not trait.is_own or trait.name in own, f"there is no kind of op {trait.name[:40]!r}")
    _inside((call.trait for call in stored.calls), len(stored.traits), "a function")
    for site in stored.sites:
        _inside(site, len(stored.frames), "a line of source")
    for outline in stored.outlines:
        check_shape([], outline.dtype)
        plain_device(outline.device)
    for param in stored.params:
        check_shape(param.shape, param.dtype)
        _need(min(param.shape, default=0) >= 0, "a parameter has no shape")
        dtype = DTYPES[param.dtype]
        _need(
            not param.requires_grad or dtype.is_floating_point or dtype.is_complex,
            "a parameter of whole numbers wants a gradient",
        )
    for context in stored.contexts:
        _need(all(dtype in DTYPES for _, dtype in context.autocast), "autocast to an unknown type")
        if context.random_state is not None:
            check_stored(context.random_state, file)


def _check_scopes(scopes: list[StoredScope], num_sites: int, num_ops: int) -> None:
    depths: list[int] = []
    for index, scope in enumerate(scopes):
        _need(scope.parent < index, "a module runs inside one that starts later")
        depths.append(depths[scope.parent] + 1 if scope.parent >= 0 else 0)
        _need(depths[-1] < _MAX_DEPTH, "modules run inside each other without end")
        _inside([scope.site], num_sites, "a place")
        _inside(scope.outputs, num_ops, "the output of a module")
        _need(scope.first_op + max(scope.num_ops, 0) <= num_ops, "a module ran longer than the pass")


def _check_ops(stored: StoredPass, file: TensorFile) -> None:
    tables = [
        len(table) for table in (stored.calls, stored.scopes, stored.sites, stored.contexts, stored.outlines)
    ]
    num_layers = 0
    for index, op in enumerate(stored.ops):
        for place, size in zip((op.call, op.scope, op.site, op.context, op.outline), tables, strict=True):
            if place >= size:
                raise ValueError(f"op {index} points outside its tables")
        _check_parents(index, op, len(stored.params))
        num_layers += op.layer == num_layers
        _need(op.layer < num_layers, f"op {index} is of a layer that is not there yet")
        check_shape(op.shape, stored.outlines[op.outline].dtype)
        if op.value is not None:
            _check_value(op, stored.outlines[op.outline].dtype, op.value, file)


def _check_parents(index: int, op: StoredOp, num_params: int) -> None:
    for parent in op.parents:
        if not -num_params <= parent < index:
            raise ValueError(f"op {index} has a parent, {parent}, that does not come before it")


def _check_value(op: StoredOp, dtype: str, value: StoredTensor, file: TensorFile) -> None:
    check_stored(value, file)
    if value.kind not in ("nested", "jagged"):
        _need(value.shape == op.shape and value.dtype == dtype, "a value is not of the shape of its op")


def _check_reads(stored: StoredPass) -> None:
    num_ops = len(stored.ops)
    for read in stored.reads:
        _need(-len(stored.params) <= read.op < num_ops, "a value was read of no op")
        _need(read.num_ops + read.followed <= num_ops, "a branch is longer than the pass")
        _inside([read.scope], len(stored.scopes), "a scope")
        _inside([read.site], len(stored.sites), "a place")


def _check_modules(modules: list[StoredModule], other_names: dict[str, str]) -> None:
    """A tree: each module stands after its parent, which is the only one."""
    depths = {"": 0} if not modules else {modules[0].address: 0}
    for module in modules:
        _need(module.address in depths, "a module hangs nowhere in the tree")
        depth = depths[module.address] + 1
        _need(depth < _MAX_DEPTH, "modules contain each other without end")
        for child in module.children:
            if child not in other_names:
                _need(child not in depths, "a module hangs in two places")
                depths[child] = depth
    addresses = {module.address for module in modules}
    _need(len(addresses) == len(modules), "a module is named twice")
    _need(not modules or addresses == set(depths), "a module is missing from the tree")
