"""Labels: `conv2d_3_7` is the third conv2d and the seventh layer overall; `:2` its second pass."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
