"""The module tree of a pass: what each module is, and when it ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModulePass:
    """One call of a module."""

    address: str
    pass_num: int
    first_op: int
    num_ops: int
    output_ops: tuple[int, ...]
    elapsed_seconds: float
    caller: str  # "" for the model itself

    @property
    def label(self) -> str:
        return f"{self.address}:{self.pass_num}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleInfo:
    """One module of the model, whether it ran or not."""

    address: str
    class_name: str
    children: tuple[str, ...]
    param_addresses: tuple[str, ...]  # its own, not its children's
    num_params: int  # with its children's
    training: bool
    passes: tuple[ModulePass, ...]

    @property
    def num_passes(self) -> int:
        return len(self.passes)


class ModuleTree:
    """All modules by address; the model itself has the address ""."""

    def __init__(
        self,
        modules: dict[str, ModuleInfo],
        made_in_forward: dict[str, tuple[ModulePass, ...]],
        other_names: dict[str, str],
    ) -> None:
        self.modules = modules
        self.made_in_forward = made_in_forward  # they ran, but are not part of the model
        self.other_names = other_names  # of modules that hang in the tree in more than one place

    def __repr__(self) -> str:
        num_calls = sum(info.num_passes for info in self.modules.values())
        return f"<ModuleTree: {len(self.modules)} modules, {num_calls} calls>"

    @property
    def addresses(self) -> list[str]:
        return [address for address in self.modules if address]

    def passes_of(self, address: str) -> tuple[ModulePass, ...] | None:
        """The calls of a module; None where there is no such module."""
        address = self.other_names.get(address, address)
        info = self.modules.get(address)
        return info.passes if info is not None else self.made_in_forward.get(address)

    def passes_named(self, key: str) -> tuple[tuple[ModulePass, ...], int]:
        """The calls of the module that `layer1.relu` or `layer1.relu:2` names, and which is meant; 0: all."""
        passes = self.passes_of(key)
        if passes is not None:
            return passes, 0
        address, colon, number = key.rpartition(":")
        passes = self.passes_of(address) if colon and number.isdigit() else None
        return (passes or (), int(number)) if passes else ((), 0)

    def all_passes(self) -> Iterator[ModulePass]:
        for info in self.modules.values():
            yield from info.passes
        for passes in self.made_in_forward.values():
            yield from passes
