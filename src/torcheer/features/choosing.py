"""Which ops of a pass are meant by the layers that somebody asked for."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch import nn

from torcheer.capture.choosing import chosen_layers
from torcheer.capture.history import ModelHistory
from torcheer.capture.op import Op
from torcheer.errors import InputError, LayerNotFoundError

_MOST_NAMED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One op, under the name by which it was asked for."""

    name: str
    index: int
    label: str
    layer_type: str
    scope: str  # the module pass in which it ran
    modules: tuple[str, ...]  # whose output it is
    key: Any = None  # of those that were asked for
    is_explicit: bool = True  # asked for by itself, and not as one of all

    @property
    def address(self) -> str:
        """The innermost module whose output it is."""
        return self.modules[0] if self.modules else ""


def choose(keys: Iterable[Any], model: nn.Module, history: ModelHistory) -> list[Choice]:
    """What is meant; of what is not there, what there is."""
    try:
        return _chosen(keys, model, history)
    except LayerNotFoundError as error:
        modules = [name for name in history.module_tree.addresses if name]
        ops = [history._op(index).layer_label for index in _computed(history)]
        there = [
            f"its {what} are {_some(names)}" for what, names in (("modules", modules), ("ops", ops)) if names
        ]
        said = str(error).replace("history.layer_labels and history.module_addresses list them all.", "")
        raise LayerNotFoundError(f"{said.strip()} Of this model {'; '.join(there)}.") from error


def _some(names: list[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])}, …, {names[-1]}"


def _chosen(keys: Iterable[Any], model: nn.Module, history: ModelHistory) -> list[Choice]:
    """In the order of the pass. What was asked for by itself counts before what a pattern brings along."""
    found: dict[str, Choice] = {}
    for key in keys:
        for name, index, is_explicit in _ops_of(key, model, history):
            if name in found and found[name].index != index:
                raise InputError(f"{name!r} was asked for twice, and means two layers.")
            if is_explicit or name not in found or not found[name].is_explicit:
                found[name] = _choice(name, history._op(index), key, is_explicit)
    if not found:
        raise InputError(
            "no layers: of what was asked for nothing ran. 'all' takes every op; the modules of a scripted "
            "model cannot be told apart."
        )
    return sorted(found.values(), key=lambda one: one.index)


def keys_of(layers: Any) -> list[Any]:
    """`layers`: `"all"`, `"modules"`, a key of any kind, several, or `{key: transforms}`."""
    if isinstance(layers, str | type | int):
        layers = [layers]
    if not isinstance(layers, Iterable) or isinstance(layers, bytes):
        raise InputError(
            f"layers={layers!r}: give labels, module addresses or patterns, 'modules', or 'all'."
        )
    keys = list(layers)
    for key in keys:
        if isinstance(key, bool) or not isinstance(key, str | type | int) or key == "":
            raise InputError(
                f"{key!r} names no layer: give a label, a module address, a pattern, a type or a number."
            )
    if not keys:
        raise InputError("no layers: give labels, module addresses or patterns, 'modules', or 'all'.")
    return list(dict.fromkeys(keys))


def _choice(name: str, op: Op, key: Any, is_explicit: bool) -> Choice:
    return Choice(
        name=name,
        index=op.index,
        label=op.layer_label,
        layer_type=op.layer_type,
        scope=scope_of(op),
        modules=tuple(one.removesuffix(":1") for one in op.modules_exited if one),
        key=key,
        is_explicit=is_explicit,
    )


def scope_of(op: Op) -> str:
    return f"{op.containing_module_origin}:{op.containing_module_pass}"


def _ops_of(key: Any, model: nn.Module, history: ModelHistory) -> list[tuple[str, int, bool]]:
    """Names and indices. A layer that ran more than once gives one for each time: `rnn:1`, `rnn:2`."""
    if key == "all":
        return [(op.layer_label, op.index, False) for op in map(history._op, _computed(history))]
    if key == "modules":
        return [
            (name, index, False)
            for module in _leaves(model, history)
            for name, index, _ in _of_module(module, history, is_explicit=False)
        ]
    if isinstance(key, type):
        return [
            one for name in chosen_layers(model, key) for one in _of_module(name, history, is_explicit=False)
        ]
    if isinstance(key, int):
        op = history[key]
        return [(op.layer_label, op.index, True)]
    if key in history.module_tree.addresses:
        return _of_module(key, history, is_explicit=True)
    exact = history._lookup.find_exactly(key)
    if exact is not None:
        ops = history._lookup.find_all(key)
        if len(ops) == 1:
            return [(key, ops[0], True)]
        return [(f"{key}:{history._op(index).pass_num}", index, True) for index in ops]
    return _by_pattern(key, model, history)


def _by_pattern(key: str, model: nn.Module, history: ModelHistory) -> list[tuple[str, int, bool]]:
    if any(letter in key for letter in "*?["):
        modules = [name for name in history.module_tree.addresses if name and fnmatch.fnmatchcase(name, key)]
        found = [one for name in modules for one in _of_module(name, history, is_explicit=False)]
        labels = [
            (op.layer_label, op.index, False)
            for op in map(history._op, _computed(history))
            if not modules and fnmatch.fnmatchcase(op.layer_label, key)
        ]
        if not found and not labels:
            raise LayerNotFoundError(f"no layer answers to {key!r}.")
        return found or labels
    ops = history._lookup.find_all(key)
    return [(history._op(index).layer_label, index, False) for index in ops]


def _of_module(address: str, history: ModelHistory, *, is_explicit: bool) -> list[tuple[str, int, bool]]:
    passes = [one for one in history.module_tree.passes_of(address) or () if one.output_ops]
    if not passes:
        if not is_explicit:
            return []
        history._lookup.find(address)  # says why
        raise LayerNotFoundError(f"module {address!r} gave no tensor that could be kept.")
    if len(passes) == 1:
        return [(address, passes[0].output_ops[0], is_explicit)]
    return [(f"{address}:{one.pass_num}", one.output_ops[0], is_explicit) for one in passes]


def _leaves(model: nn.Module, history: ModelHistory) -> list[str]:
    """Modules with weights of their own, or without modules of their own, as far as they ran."""
    ran = set(history.module_tree.addresses)
    return [name for name in chosen_layers(model, "all") if name in ran]


def _computed(history: ModelHistory) -> list[int]:
    """All that the model computes: not what it is given, nor buffers; what it returns is there already."""
    ops = map(history._op, range(history.num_tensors_total))
    return [
        op.index
        for op in ops
        if op.has_input_ancestor and not (op.is_input_layer or op.is_buffer_layer or op.is_output_layer)
    ]
