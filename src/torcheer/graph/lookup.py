"""Find an op by whatever name a person has for it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cached_property

from torcheer.errors import LayerNotFoundError
from torcheer.graph.modules import ModuleTree


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
