"""Walk a model once, and note all that a capture asks of its modules; and read the keys that name layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torcheer.capture.aliasing import is_twin, storage_key
from torcheer.errors import InputError
from torcheer.graph import ModuleInfo, ModulePass, ModuleTree, looks_like_label

if TYPE_CHECKING:
    from torcheer.capture.tape import Scope

_MAX_DEPTH = 60  # of a model that contains itself


class ModuleNote(NamedTuple):
    """A module without the module itself."""

    address: str
    class_name: str
    children: tuple[str, ...]
    own_params: tuple[tuple[str, int, int], ...]  # (name, id, number of elements)
    training: bool


class ModelWalk:
    """Addresses, parameters and buffers of a model. Holds the model: let go of it after the pass."""

    def __init__(self, root: nn.Module) -> None:
        self.root = root
        self.modules: list[tuple[str, nn.Module]] = []
        self.notes: list[ModuleNote] = []
        self.address_of: dict[int, str] = {}
        self.other_names: dict[str, str] = {}  # of modules that hang in the tree in more than one place
        self.params: dict[int, tuple[str, Tensor]] = {}
        self.buffers: dict[int, tuple[str, Tensor]] = {}
        self._strangers: dict[int, tuple[str, Tensor]] = {}
        self._by_storage: dict[int | None, tuple[str, Tensor]] | None = None
        self._visit("", root)

    def _visit(self, address: str, module: nn.Module) -> None:
        first = self.address_of.setdefault(id(module), address)
        if first != address:
            self._name_again(address, first, module)
            return
        prefix = f"{address}." if address else ""
        self.modules.append((address, module))
        children = [
            (f"{prefix}{name}", child) for name, child in module._modules.items() if child is not None
        ]
        own = [(name, param) for name, param in _own(module, "_parameters") if param is not None]
        self.notes.append(
            ModuleNote(
                address,
                type(module).__name__,
                tuple([name for name, _ in children]),
                tuple([(prefix + name, id(param), num_elements(param)) for name, param in own]),
                module.training,
            )
        )
        for name, param in own:
            self.params.setdefault(id(param), (prefix + name, param))
        for name, buffer in _own(module, "_buffers"):
            if buffer is not None:
                self.buffers.setdefault(id(buffer), (prefix + name, buffer))
        for name, child in children:
            self._visit(name, child)

    def _name_again(self, address: str, first: str, module: nn.Module) -> None:
        """A module met again: it and what is in it can also be asked for by these names."""
        self.other_names[address] = first
        for name, child in module._modules.items():
            known = None if child is None else self.address_of.get(id(child))
            if child is not None and known is not None and address.count(".") < _MAX_DEPTH:
                self._name_again(f"{address}.{name}", known, child)

    def add_stranger(self, address: str, module: nn.Module) -> None:
        """A module that runs but is no part of the model: its parameters are parameters all the same."""
        params = [(name, p) for name, p in module.named_parameters() if isinstance(p, nn.Parameter)]
        for name, tensor in (*params, *module.named_buffers()):
            self._strangers.setdefault(id(tensor), (f"{address}.{name}", tensor))

    def find_registered(self, tensor: Tensor) -> tuple[str, Tensor] | None:
        """A parameter or buffer of a stranger, or one of the model's own as another object on its memory."""
        known = self._strangers.get(id(tensor))
        if known is not None and known[1] is tensor:
            return known
        if self._by_storage is None:
            registered = (*self.buffers.values(), *self.params.values())
            self._by_storage = {storage_key(t): (a, t) for a, t in registered if not is_lazy(t)}
        known = self._by_storage.get(storage_key(tensor))
        return known if known is not None and is_twin(known[1], tensor) else None

    @property
    def is_lazy(self) -> bool:
        return any(is_lazy(param) for _, param in self.params.values())

    @property
    def addresses(self) -> frozenset[str]:
        """All names under which a module can be asked for."""
        return frozenset(address for address, _ in self.modules if address) | frozenset(self.other_names)

    @cached_property
    def addresses_with_params(self) -> frozenset[str]:
        """Modules that hold parameters, themselves or further down."""
        return frozenset(address for address, ids in _params_below(self.notes).items() if ids)

    def without_model(self, calls: dict[str, list[Scope]]) -> ModulesSeen:
        return ModulesSeen(self.notes, self.other_names, calls)

    def fast_path_notes(self) -> Iterator[str]:
        """Modules that leave their fused path while a pass is recorded, which changes the last digits."""
        if self.root.training or torch.is_grad_enabled():
            return
        kinds = {type(module).__name__ for _, module in self.modules if isinstance(module, _FUSED)}
        if kinds:
            yield (
                f"{', '.join(sorted(kinds))} may run a fused kernel in a plain forward, and ran the usual "
                "path here: the results agree to rounding, not bit for bit."
            )


def num_elements(param: Tensor) -> int:
    """Zero for a parameter of a lazy module that has not run yet."""
    return 0 if is_lazy(param) else param.numel()


def num_param_bytes(param: Tensor) -> int:
    return 0 if is_lazy(param) else param.numel() * param.element_size()


_FUSED = (nn.TransformerEncoderLayer, nn.TransformerEncoder, nn.MultiheadAttention)


def _own(module: nn.Module, what: str) -> list[tuple[str, Tensor | None]]:
    if isinstance(module, torch.jit.ScriptModule):
        named = module.named_parameters if what == "_parameters" else module.named_buffers
        return list(named(recurse=False))
    return list(getattr(module, what).items())


class ModulesSeen(NamedTuple):
    """The modules of a model and their calls, without the model; the tree is made when it is asked for."""

    notes: list[ModuleNote]
    other_names: dict[str, str]
    calls: dict[str, list[Scope]]  # by address, in order

    def tree(self) -> ModuleTree:
        below = _params_below(self.notes)
        modules = {
            note.address: ModuleInfo(
                address=note.address,
                class_name=note.class_name,
                # A module that hangs in two places is listed where it was met first.
                children=tuple(child for child in note.children if child not in self.other_names),
                param_addresses=tuple(name for name, _, _ in note.own_params),
                num_params=sum(below[note.address].values()),
                training=note.training,
                passes=_passes(self.calls.get(note.address, [])),
            )
            for note in self.notes
        }
        made = {address: _passes(calls) for address, calls in self.calls.items() if address not in modules}
        return ModuleTree(modules, made, self.other_names)


def _params_below(notes: list[ModuleNote]) -> dict[str, dict[int, int]]:
    """By module: each parameter in it or further down, once, with its number of elements."""
    below: dict[str, dict[int, int]] = {}
    for note in reversed(notes):
        own = {param: size for _, param, size in note.own_params}
        for child in note.children:
            own.update(below.get(child, {}))
        below[note.address] = own
    return below


def _passes(calls: list[Scope]) -> tuple[ModulePass, ...]:
    return tuple(
        ModulePass(
            address=scope.address or "",
            pass_num=scope.pass_num,
            first_op=scope.first_op,
            num_ops=max(scope.num_ops, 0),
            output_ops=scope.outputs,
            elapsed_seconds=scope.seconds,
            caller="" if scope.parent is None else (scope.parent.module().address or ""),
        )
        for scope in calls
    )


@dataclass(slots=True)
class Selection:
    """Which layers are meant. Each kind of key is told apart before the pass, so that one pass is enough."""

    everything: bool = False
    predicate: Callable[[Any], bool] | None = None
    indices: set[int] = field(default_factory=set)
    num_last: int = 0  # negative indices reach back this far
    labels: set[str] = field(default_factory=set)
    addresses: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)  # of inputs, outputs and buffers
    parts: set[str] = field(default_factory=set)
    awaited: set[int | str] = field(default_factory=set)  # ops and module calls: met when all have been there

    @property
    def needs_labels(self) -> bool:
        return bool(self.labels or self.names or self.parts or self.predicate)

    @property
    def is_empty(self) -> bool:
        return self == Selection()

    def matches(self, index: int, names: tuple[str, ...], address: str | None = None) -> bool:
        """`address`: of an input or a buffer, which can be asked for by its name."""
        if index in self.indices or (self.labels and not self.labels.isdisjoint(names)):
            return True
        return address in self.names or any(part in names[0] for part in self.parts)

    def ops_in(self, history: Any) -> set[int]:
        """The ops that are meant, once the pass is over and every label is certain."""
        from torcheer.capture.op import Op

        ops = range(history.num_tensors_total)
        if self.everything:
            return set(ops)
        if self.predicate is not None:
            return {op for op in ops if self.predicate(Op(history, op))}
        names_of, addresses = history._numbered.names_of, history._tape.addresses
        found = {op for op in ops if self.matches(op, names_of(op), addresses.get(op))}
        found.update(ops[len(ops) - self.num_last :] if self.num_last else ())
        for address in self.addresses:
            passes, number = history.module_tree.passes_named(address)
            found.update(op for one in passes for op in one.output_ops if number in (0, one.pass_num))
        return found

    def may_match(self, names: tuple[str, ...]) -> bool:
        """While loops are still being recognised only the type of a label is certain."""
        layer_type = names[0].partition("_")[0]
        return any(label.partition("_")[0] == layer_type for label in self.labels) or any(
            part.rstrip("0123456789:_") in layer_type or layer_type in part for part in self.parts
        )


def select(wanted: Any, walk: ModelWalk, inputs: Iterable[str], what: str) -> Selection:
    """Read an option that names layers: 'all', 'none', keys of any kind, or a predicate.

    `inputs` are the names of what the model is given.
    """
    if wanted is None or (isinstance(wanted, str) and wanted == "none"):
        return Selection()
    if isinstance(wanted, str) and wanted == "all":
        return Selection(everything=True)
    if callable(wanted):
        return Selection(predicate=wanted)
    selection = Selection()
    keys = [wanted] if isinstance(wanted, str | int) else wanted
    if not isinstance(keys, Iterable):
        raise InputError(f"{what} must be 'all', 'none', a list of layers or a function, not {wanted!r}.")
    addresses = walk.addresses
    names = {*inputs, *(address for address, _ in walk.buffers.values())}
    for key in keys:
        _add_key(selection, key, addresses, names, what)
    return selection


def _add_key(selection: Selection, key: Any, addresses: frozenset[str], names: set[str], what: str) -> None:
    if isinstance(key, bool) or not isinstance(key, int | str) or key == "":
        raise InputError(f"{what} takes labels, module addresses, names and indices, not {key!r}.")
    if isinstance(key, int):
        if key >= 0:
            selection.indices.add(key)
        else:
            selection.num_last = max(selection.num_last, -key)
    elif key.rpartition(":")[0] in addresses or key in addresses:
        selection.addresses.add(key)
    elif looks_like_label(key):
        selection.labels.add(key)
    elif key in names or key == "output" or key.startswith("output."):
        selection.names.add(key)
    else:
        selection.parts.add(key)
