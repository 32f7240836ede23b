"""What could be extracted: every layer, with the shape of a sample and the bytes that all of them take."""

from __future__ import annotations

from typing import Any

from torch import nn

from torcheer.features.manifest import ArraySpec
from torcheer.features.planning import PlannedLayer
from torcheer.features.tasks import set_up
from torcheer.features.telling import shape_text
from torcheer.graph import readable_bytes


def layers_text(model: nn.Module, data: Any, *, layers: Any = "all", **options: Any) -> str:
    """One line for each layer, with all names that it answers to.

    The model runs on the first batch, and nothing is written. `options` are those of `extract` that say how
    values are kept.
    """
    with set_up(model, data, layers=layers, **options) as task:
        plan, _, _ = task.plan()
        num_samples = task.source.num_samples
    rows = [_row(layer, num_samples) for layer in plan.layers]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    samples = "a stream of samples" if num_samples is None else f"{num_samples:,} samples"
    head = f"{type(task.model).__name__}: {len(rows)} layers that can be extracted, of {samples}"
    return "\n".join([head, *(f"  {line}".rstrip() for line in lines), *plan.notes])


def _row(layer: PlannedLayer, num_samples: int | None) -> tuple[str, str, str, str]:
    names = dict.fromkeys((layer.choice.name, layer.choice.label, *layer.choice.modules))
    name, *others = names
    also = f"also {', '.join(others)}" if others else ""
    return name, also, shape_text(layer.spec), _size(layer.spec, num_samples)


def _size(spec: ArraySpec, num_samples: int | None) -> str:
    if spec.layout == "ragged":
        return "size not known before"
    if num_samples is None:
        return f"{readable_bytes(spec.row_bytes)} a sample"
    return readable_bytes(spec.row_bytes * num_samples)
