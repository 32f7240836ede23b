"""Read off a model what the history says of its modules."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from torcheer.capture.scopes import ModuleNames, Scope
from torcheer.graph.modules import ModuleInfo, ModulePass, ModuleTree


def read_tree(root: nn.Module, names: ModuleNames) -> ModuleTree:
    """The module tree with the calls of each module."""
    modules: dict[str, ModuleInfo] = {}
    first_name: dict[int, str] = {}
    other_names: dict[str, str] = {}
    for address, module in root.named_modules(remove_duplicate=False):
        if id(module) in first_name:
            other_names[address] = first_name[id(module)]
            continue
        first_name[id(module)] = address
        prefix = f"{address}." if address else ""
        modules[address] = ModuleInfo(
            address=address,
            class_name=type(module).__name__,
            children=tuple(f"{prefix}{name}" for name, _ in module.named_children()),
            param_addresses=tuple(f"{prefix}{name}" for name, _ in module.named_parameters(recurse=False)),
            num_params=sum(p.numel() for p in module.parameters()),
            training=module.training,
            passes=_passes(names.calls.get(address, [])),
        )
    modules = {address: _with_known_children(info, modules) for address, info in modules.items()}
    made = {address: _passes(calls) for address, calls in names.calls.items() if address not in modules}
    return ModuleTree(modules, made, other_names)


def _with_known_children(info: ModuleInfo, modules: dict[str, ModuleInfo]) -> ModuleInfo:
    """A module that hangs in two places is listed where it was met first."""
    known = tuple(child for child in info.children if child in modules)
    if known == info.children:
        return info
    return ModuleInfo(**{**{f: getattr(info, f) for f in info.__slots__}, "children": known})


def _passes(calls: list[Scope]) -> tuple[ModulePass, ...]:
    return tuple(
        ModulePass(
            address=scope.address or "",
            pass_num=scope.pass_num,
            first_op=scope.first_op,
            num_ops=scope.num_ops,
            output_ops=scope.outputs,
            elapsed_seconds=scope.seconds,
            caller="" if scope.parent is None else (scope.parent.module().address or ""),
        )
        for scope in calls
    )


def addresses_with_params(root: nn.Module) -> frozenset[str]:
    """Modules that hold parameters, themselves or further down."""
    addresses: set[str] = set()
    for name, _ in root.named_parameters(remove_duplicate=False):
        parts = name.split(".")[:-1]
        addresses.update(".".join(parts[: i + 1]) for i in range(len(parts)))
    return frozenset(addresses)


def fast_path_notes(root: nn.Module) -> Iterator[str]:
    """Modules that leave their fused path while a pass is recorded, where that changes the last digits."""
    fused = (nn.TransformerEncoderLayer, nn.TransformerEncoder, nn.MultiheadAttention)
    if root.training or torch.is_grad_enabled():
        return
    kinds = {type(module).__name__ for module in root.modules() if isinstance(module, fused)}
    if kinds:
        yield (
            f"{', '.join(sorted(kinds))} may run a fused kernel in a plain forward, and ran the usual path "
            "here: the results agree to rounding, not bit for bit."
        )
