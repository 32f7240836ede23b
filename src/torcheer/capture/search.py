"""Find ops by what they are, and the ops that lie between two of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from operator import index
from typing import TYPE_CHECKING

from torcheer.capture.op import Op
from torcheer.capture.tape import Scope
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.graph import ModuleTree, reach, type_of_function

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

Test = Callable[[Op], bool]
_GLOB = frozenset("*?[")


def find_ops(
    history: ModelHistory,
    *,
    type: str | Iterable[str] | None = None,
    module: str | None = None,
    shape: Sequence[int | None] | None = None,
    where: Test | None = None,
) -> list[Op]:
    """The ops that fit all that is given, in the order they ran; without any argument, all of them.

    The predicate is asked last, so that it sees only ops that fit the rest.
    """
    tests: list[Test] = []
    if type is not None:
        tests.append(_is_of_type(history, type))
    if module is not None:
        tests.append(_is_in_module(history.module_tree, module))
    if shape is not None:
        tests.append(_has_shape(shape))
    if where is not None:
        if not callable(where):
            raise InputError(
                f"where must be a function of an op, such as lambda op: op.flops, not {where!r}."
            )
        tests.append(where)
    return [op for op in history.layer_list if all(test(op) for test in tests)]


def _is_of_type(history: ModelHistory, wanted: str | Iterable[str]) -> Test:
    """Its own type; or, for a name that no op has, a torch function that it ran inside, as cross_entropy."""
    try:
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        types = [type_of_function(name) for name in names]
    except (TypeError, AttributeError):
        raise InputError(f"type must be a layer type such as 'conv2d', or several, not {wanted!r}.") from None
    present = {op.layer_type for op in history.layer_list}
    functions = {each for each in types if each not in present}

    def fits(op: Op) -> bool:
        if any(fnmatchcase(op.layer_type, each) for each in types):
            return True
        return not functions.isdisjoint(map(type_of_function, op.containing_functions))

    return fits


def _has_shape(wanted: Sequence[int | None]) -> Test:
    try:
        sizes = [None if size is None or index(size) == -1 else index(size) for size in wanted]
    except TypeError:
        raise InputError(
            f"shape must be sizes such as (None, 64, 7, 7), with None or -1 for any, not {wanted!r}."
        ) from None

    def fits(op: Op) -> bool:
        shape = op.tensor_shape
        return len(shape) == len(sizes) and all(
            size is None or size == own for size, own in zip(sizes, shape, strict=True)
        )

    return fits


def _is_in_module(tree: ModuleTree, wanted: str) -> Test:
    """Whether an op ran in a module that is named by address, pass, class or pattern, or further down."""
    if not isinstance(wanted, str):
        raise InputError(f"module must be an address such as 'layer1.0' or a class name, not {wanted!r}.")
    address, pass_num = _split_pass(tree, wanted)
    addresses = _addresses(tree, address)
    if pass_num is None:
        return lambda op: any(_lies_in(scope, addresses) for scope in _module_calls(op))
    if not any(pass_num <= len(tree.passes_of(each) or ()) for each in addresses):
        passes = max((len(tree.passes_of(each) or ()) for each in addresses), default=0)
        raise LayerNotFoundError(f"module {address!r} ran {passes} times: there is no {wanted!r}.")
    return lambda op: any(
        scope.address in addresses and scope.pass_num == pass_num for scope in _module_calls(op)
    )


def _split_pass(tree: ModuleTree, key: str) -> tuple[str, int | None]:
    address, colon, number = key.rpartition(":")
    if not colon or not number.isdigit() or tree.passes_of(key) is not None:
        return key, None
    if number == "0":
        raise LayerNotFoundError(f"passes are counted from 1: there is no {key!r}.")
    return address, int(number)


def _addresses(tree: ModuleTree, key: str) -> frozenset[str]:
    """The modules that a key names: an address before a class, a class before a pattern."""
    if tree.passes_of(key) is not None:
        return frozenset([tree.other_names.get(key, key)])
    classes = {address: info.class_name for address, info in tree.modules.items()}
    classes |= {address: address.rpartition("#")[0] for address in tree.made_in_forward}
    found = {address for address, name in classes.items() if name == key}
    if not found and not _GLOB.isdisjoint(key):
        found = {address for address in classes if address and fnmatchcase(address, key)}
        found |= {own for other, own in tree.other_names.items() if fnmatchcase(other, key)}
    if found:
        return frozenset(found)
    names = [*tree.addresses, *tree.other_names, *dict.fromkeys(classes.values())]
    near = difflib.get_close_matches(key, names, n=3, cutoff=0.5)
    hint = f": did you mean {' or '.join(map(repr, near))}? " if near else ". "
    raise LayerNotFoundError(
        f"no module has the address or class {key!r}{hint}history.module_addresses lists them all."
    )


def _module_calls(op: Op) -> list[Scope]:
    return [scope for scope in op._record.scope.chain() if scope.is_module]


def _lies_in(scope: Scope, addresses: frozenset[str]) -> bool:
    """Also by name: a ModuleList never runs itself, but what hangs in it does."""
    name = scope.address or ""
    while name not in addresses:
        if not name:
            return False
        name = name.rpartition(".")[0]
    return True


def ops_between(history: ModelHistory, start: int | str, end: int | str) -> list[Op]:
    """The ops on a way from one layer to another, both included, in the order they ran.

    A layer or module that ran more than once, named without a pass, stands for all of its passes.
    """
    starts, ends = _passes_named(history, start), _passes_named(history, end)
    structure = history._structure
    found = reach(starts, structure.children) & reach(ends, structure.parents)
    if not found:
        back = reach(ends, structure.children) & reach(starts, structure.parents)
        hint = (
            f"the way leads from {end!r} to {start!r}: swap them."
            if back
            else "neither depends on the other. history[…].child_layers says where an op leads."
        )
        raise InputError(f"no way leads from {start!r} to {end!r}: {hint}")
    return [Op(history, op) for op in history._visible if op in found]


def _passes_named(history: ModelHistory, key: int | str) -> set[int]:
    op = history[key]
    if isinstance(key, int):
        return {op.index}
    if key in (op.layer_label_no_pass, op.layer_label_short):
        return {each.index for each in history.passes(key)}
    calls = history.module_tree.passes_of(key)
    return {op.index} if not calls else {each for call in calls for each in call.output_ops}
