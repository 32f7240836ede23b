"""Labels and what they name: `conv2d_3_7:2` is the third conv2d, the seventh layer, in its second pass."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cached_property

from torcheer.errors import LayerNotFoundError
from torcheer.graph.structure import ModuleTree

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


def op_labels(
    labels: LabelBook, layer_of: Sequence[int], pass_of: Sequence[int], num_passes: Sequence[int]
) -> list[str]:
    """One label an op, with its pass where the layer ran more than once."""
    of_layer = [
        f"{kind}_{number}_{layer}"
        for layer, (kind, number) in enumerate(zip(labels.types, labels.type_nums, strict=True))
    ]
    return [
        of_layer[layer] if num_passes[layer] == 1 else f"{of_layer[layer]}:{pass_num}"
        for layer, pass_num in zip(layer_of, pass_of, strict=True)
    ]


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
        layers: dict[str, int] = {}
        for op, label in enumerate(self._labels):
            if key and key in label:
                layers.setdefault(label, op)
        if not layers:
            layers = {
                a: 0 for a in self._modules.addresses if key and key in a and self._modules.passes_of(a)
            }
            if len(layers) == 1:
                found = self.find_exactly(next(iter(layers)))
                if found is not None:
                    return found
        if len(layers) == 1:
            return next(iter(layers.values()))
        if layers:
            some = ", ".join(repr(name) for name in list(layers)[:5])
            more = f" and {len(layers) - 5} more" if len(layers) > 5 else ""
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
