"""The structure of a pass: parents and children, the module tree, and labels with what they name.

`conv2d_3_7:2` is the third conv2d, the seventh layer, in its second pass.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from torcheer.errors import LayerNotFoundError


class Structure:
    """The edges of a pass. A parent always comes before its child, so one sweep answers each question."""

    def __init__(
        self, parents: Sequence[tuple[int, ...]], inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        self.parents = parents
        self.inputs = inputs
        self.outputs = outputs

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.parents]
        for op, its_parents in enumerate(self.parents):
            for parent in its_parents:
                children[parent].append(op)
        return children

    def siblings(self, op: int) -> list[int]:
        """Ops that share a parent with this one."""
        found = {child for parent in self.parents[op] for child in self.children[parent]}
        return sorted(found - {op})

    def co_parents(self, op: int) -> list[int]:
        """Ops that share a child with this one."""
        found = {parent for child in self.children[op] for parent in self.parents[child]}
        return sorted(found - {op})

    def ancestors(self, op: int) -> set[int]:
        return reach(self.parents[op], self.parents)

    def descendants(self, op: int) -> set[int]:
        return reach(self.children[op], self.children)

    @cached_property
    def from_input(self) -> list[tuple[int, int] | None]:
        """The shortest and the longest way from an input; None where no input leads here."""
        return _ways(self.inputs, range(len(self.parents)), self.parents)

    @cached_property
    def from_output(self) -> list[tuple[int, int] | None]:
        """The shortest and the longest way to an output; None for ops that lead nowhere."""
        return _ways(self.outputs, range(len(self.parents) - 1, -1, -1), self.children)

    @cached_property
    def leads_to_output(self) -> list[bool]:
        return [way is not None for way in self.from_output]


def _ways(
    starts: Sequence[int], order: Sequence[int], edges: Sequence[Sequence[int]]
) -> list[tuple[int, int] | None]:
    """The shortest and the longest way from a start to each op; what its edges lead to comes first."""
    ways: list[tuple[int, int] | None] = [None] * len(edges)
    for op in starts:
        ways[op] = (0, 0)
    for op in order:
        found = [(way[0] + 1, way[1] + 1) for other in edges[op] if (way := ways[other])]
        own = ways[op]
        if own is not None:
            found.append(own)
        if found:
            ways[op] = min(low for low, _ in found), max(high for _, high in found)
    return ways


def reach(starts: Iterable[int], edges: Sequence[Sequence[int]]) -> set[int]:
    """What can be reached from any of several ops, themselves included."""
    found: set[int] = set()
    queue = list(starts)
    while queue:
        op = queue.pop()
        if op not in found:
            found.add(op)
            queue.extend(edges[op])
    return found


def feedback_loops(
    layer_of: Sequence[int],
    num_passes: Sequence[int],
    parents: Sequence[Sequence[int]],
    counts: Sequence[bool],
) -> int:
    """The passes of the most repeated layer of which a later pass depends on an earlier one.

    Zero when no layer feeds back into itself: a module applied to two inputs is not recurrent. Only
    ops that count do: filling in a mask in a loop makes no model recurrent.
    """
    counting = {layer for layer, does in zip(layer_of, counts, strict=True) if does}
    repeated = [layer for layer in counting if num_passes[layer] > 1]
    bit_of = {layer: 1 << place for place, layer in enumerate(repeated)}
    reached: list[int] = []  # by op, the repeated layers that lead to it or that it is a pass of, as bits
    most = 0
    for layer, its_parents in zip(layer_of, parents, strict=True):
        above = 0
        for parent in its_parents:
            above |= reached[parent]
        own = bit_of.get(layer, 0)
        if above & own:
            most = max(most, num_passes[layer])
        reached.append(above | own)
    return most


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


_LABEL = re.compile(r"[a-z0-9]+_\d+(_\d+)?(:\d+)?")


def type_of_function(name: str) -> str:
    """The layer type that a function's name gives: `max_pool2d` -> `maxpool2d`, `relu_` -> `relu`."""
    return name.lower().replace("_", "")


def looks_like_label(key: str) -> bool:
    """`relu_2`, `relu_2_5` and `relu_2_5:1` do; `features.0` and `relu` do not."""
    return _LABEL.fullmatch(key) is not None


class LabelBook:
    """Numbers layers as they appear."""

    def __init__(self) -> None:
        self._num_of_type: dict[str, int] = {}
        self.types: list[str] = []
        self.type_nums: list[int] = []

    def add(self, layer_type: str) -> None:
        number = self._num_of_type.get(layer_type, 0) + 1
        self._num_of_type[layer_type] = number
        self.types.append(layer_type)
        self.type_nums.append(number)

    def __len__(self) -> int:
        return len(self.types)

    def label(self, layer: int) -> str:
        return f"{self.types[layer]}_{self.type_nums[layer]}_{layer}"

    def short_label(self, layer: int) -> str:
        return f"{self.types[layer]}_{self.type_nums[layer]}"


class LayerBook:
    """Ops in the order they ran, each a pass of some layer. Layers are numbered as they appear."""

    def __init__(self) -> None:
        self.layer_of: list[int] = []
        self.pass_of: list[int] = []
        self.num_passes: list[int] = []  # by layer

    def new_layer(self) -> int:
        self.num_passes.append(0)
        return len(self.num_passes) - 1

    def append(self, layer: int) -> None:
        """The next op is a pass of this layer."""
        passes = self.num_passes[layer] + 1
        self.num_passes[layer] = passes
        self.layer_of.append(layer)
        self.pass_of.append(passes)


class Lookup:
    """Names of ops: labels, short labels, module addresses, buffers and inputs by name."""

    def __init__(
        self,
        labels: Sequence[str],
        short_labels: Sequence[str],
        passes: Sequence[int],
        modules: ModuleTree,
        addresses: dict[int, str],
    ) -> None:
        self._labels = labels  # without a pass
        self._short_labels = short_labels
        self._passes = passes
        self._modules = modules
        self._addresses = addresses

    @cached_property
    def _by_label(self) -> dict[str, int]:
        table: dict[str, int] = {}
        for op, (label, short, pass_num) in enumerate(
            zip(self._labels, self._short_labels, self._passes, strict=True)
        ):
            table.setdefault(label, op)
            table.setdefault(short, op)
            table[f"{label}:{pass_num}"] = op
            table[f"{short}:{pass_num}"] = op
        for op, address in self._addresses.items():
            table.setdefault(address, op)
        for op, address in self._addresses.items():
            table.setdefault(address.removeprefix("output."), op)  # history["logits"]
        return table

    def find(self, key: str) -> int:
        """The one op that answers to a name. A layer that ran more than once answers with its first pass."""
        found = self.find_exactly(key)
        return self._by_part(key) if found is None else found

    def find_exactly(self, key: str) -> int | None:
        op = self._by_label.get(key)
        return self._by_module(key) if op is None else op

    def find_all(self, key: str) -> list[int]:
        """Every op that answers to a name: all passes of a layer, all that a part of a name fits."""
        exact = self.find_exactly(key)
        if exact is not None:
            return [op for op, names in enumerate(self._names) if key in names] or [exact]
        found = [op for op, names in enumerate(self._names) if any(key in name for name in names)]
        if not found:
            raise self._not_found(key)
        return found

    @cached_property
    def _names(self) -> list[tuple[str, ...]]:
        return list(zip(self._labels, self._short_labels, strict=True))

    def _by_module(self, key: str) -> int | None:
        address, colon, number = key.rpartition(":")
        if not (colon and number.isdigit()):
            address, number = key, ""
        passes = self._modules.passes_of(address)
        if passes is None or not key:
            return None
        if not passes:
            raise LayerNotFoundError(
                f"module {address!r} did not run in this pass, or ran in a script, where it does not show."
            )
        pass_num = int(number or 1)
        if not 1 <= pass_num <= len(passes):
            raise LayerNotFoundError(f"module {address!r} ran {len(passes)} times: there is no {key!r}.")
        if not passes[pass_num - 1].output_ops:
            raise LayerNotFoundError(f"module {address!r} ran, but gave no tensor that could be looked at.")
        return passes[pass_num - 1].output_ops[0]

    def _by_part(self, key: str) -> int:
        found = [label for label in dict.fromkeys(self._labels) if key and key in label]
        if not found:
            modules = self._modules
            found = [name for name in modules.addresses if key and key in name and modules.passes_of(name)]
        op = self.find_exactly(found[0]) if len(found) == 1 else None
        if op is not None:
            return op
        if found:
            some = ", ".join(map(repr, found[:5]))
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            raise LayerNotFoundError(f"{key!r} could be any of {some}{more}: use a full label.")
        raise self._not_found(key)

    def _not_found(self, key: str) -> LayerNotFoundError:
        names = [*dict.fromkeys(self._labels), *dict.fromkeys(self._short_labels), *self._modules.addresses]
        near = difflib.get_close_matches(key, names, n=3, cutoff=0.5)
        prefix = key.split("_")[0].split(":")[0]
        same_type = [label for label in dict.fromkeys(self._labels) if label.split("_")[0] == prefix]
        hint = ""
        base, colon, _ = key.rpartition(":")
        if colon and base in self._by_label:
            passes = sum(base in names for names in self._names)
            return LayerNotFoundError(f"{base!r} ran {passes} times: there is no {key!r}.")
        if same_type:
            hint = f": the last {prefix} is {same_type[-1]!r}"
        elif near:
            hint = f": did you mean {' or '.join(repr(name) for name in near)}"
        return LayerNotFoundError(
            f"layer {key!r} is not in this pass{hint}{'?' if near and not same_type else '.'} "
            "history.layer_labels and history.module_addresses list them all."
        )
