"""Features in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torcheer.features.manifest import ArraySpec, Manifest
from torcheer.graph import readable_bytes

if TYPE_CHECKING:
    from torcheer.features.reading import Features

_MOST_LINES: Final = 40


def size_text(manifest: Manifest) -> str:
    """`3 layers of 1,797 samples, 12.3 MB`."""
    samples = "a stream of samples" if manifest.num_samples is None else f"{manifest.num_samples:,} samples"
    size = manifest.num_bytes
    words = "size not known before" if size is None else readable_bytes(size)
    return f"{_count(manifest)} of {samples}, {words}"


def _count(manifest: Manifest) -> str:
    count = len(manifest.layers)
    return f"{count} {'layer' if count == 1 else 'layers'}"


def features_text(features: Features) -> str:
    """What print() shows."""
    manifest = features.manifest
    state = "" if features.is_complete else f", {features.num_done:,} extracted so far"
    labels = manifest.column("labels")
    lines = [
        f"Features of {manifest.model} at {features.path}:",
        f"\t{features.num_samples:,} samples ({manifest.data}){state}; "
        f"{'no labels' if labels is None else 'with labels'}",
        f"\t{_count(manifest)}, {readable_bytes(features.num_bytes)}:",
    ]
    width = max(len(layer.name) for layer in manifest.layers)
    for layer in manifest.layers[:_MOST_LINES]:
        done = ", ".join(features.origin(layer.name).transforms)
        lines.append(
            f"\t\t{layer.name:<{width}}  {shape_text(layer)}  {layer.numpy_dtype.name}" + f"  {done}".rstrip()
        )
    if len(manifest.layers) > _MOST_LINES:
        lines.append(f"\t\t… and {len(manifest.layers) - _MOST_LINES} more")
    return "\n".join(lines)


def shape_text(layer: ArraySpec) -> str:
    """`channel 64 × y 55 × x 55`."""
    names = layer.dims if len(layer.dims) == len(layer.shape) else ("",) * len(layer.shape)
    sizes = ["?" if size < 0 else f"{size:,}" for size in layer.shape]
    return (
        " × ".join(f"{name} {size}".strip() for name, size in zip(names, sizes, strict=True)) or "one number"
    )
