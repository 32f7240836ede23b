"""How a module connects its input with its output, by its type and settings."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from torch import nn

from torcheer.netview.forms import front_padding
from torcheer.run.netscene import Connection, NetLayer

HANDING_ON: Final = (
    nn.Identity,
    nn.Flatten,
    nn.Unflatten,
    nn.Dropout,
    nn.Dropout1d,
    nn.Dropout2d,
    nn.Dropout3d,
    nn.AlphaDropout,
    nn.FeatureAlphaDropout,
)
_CONVOLUTIONS: Final = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED: Final = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def form_of(weight: str, module: nn.Module, source: NetLayer, target: NetLayer) -> Connection | None:
    """`weight` names its series. None where the form is not known, or does not fit the two layers."""
    if source.has_items != target.has_items or "weight" not in module._parameters:
        return None  # a weight that is computed is no parameter
    bias = "" if getattr(module, "bias", None) is None else None  # else found by the name of the weight
    names: dict[str, Any] = {"source": source.name, "target": target.name, "weight": weight, "bias": bias}
    if isinstance(module, nn.Linear):
        num_rows, rest = divmod(prod(source.shape), module.in_features)
        fits = not rest and prod(target.shape) == num_rows * module.out_features
        return Connection(form="linear", **names) if fits else None
    if isinstance(module, nn.Embedding):
        fits = list(target.shape) == [*source.shape, module.embedding_dim]
        return Connection(form="embedding", **names) if fits else None
    if isinstance(module, _CONVOLUTIONS + _TRANSPOSED):
        return _convolution(module, source, target, names)
    return None


def _convolution(module: Any, source: NetLayer, target: NetLayer, names: dict[str, Any]) -> Connection | None:
    num_dims = len(module.kernel_size)
    if module.padding_mode != "zeros" or not len(source.shape) == num_dims + 1 == len(target.shape):
        return None
    if source.shape[0] != module.in_channels or target.shape[0] != module.out_channels:
        return None
    return Connection(
        form="transposed_conv" if isinstance(module, _TRANSPOSED) else "conv",
        stride=list(module.stride),
        padding=list(front_padding(module.padding, module.kernel_size, module.dilation)),
        dilation=list(module.dilation),
        groups=module.groups,
        **names,
    )
