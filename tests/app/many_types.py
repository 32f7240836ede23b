"""A pass in which values of many types, layouts and geometries occur, and ways to read views of it."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import torcheer as tl
from torcheer.tensorfile import TensorView


class ManyTypes(nn.Module):
    """Each op that matters returns its value, so that a name says which it is."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 5))
        self.register_buffer("shift", torch.randn(5, dtype=torch.float64))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        y = x @ self.weight
        made = {name: y.to(getattr(torch, name)) for name in ("bfloat16", "float16", "int64", "float8_e5m2")}
        return made | {
            "float8_e4m3fn": y.to(torch.float8_e4m3fn),
            "uint8": (y * 30).abs().to(torch.uint8),
            "bool": y > 0,
            "complex": torch.complex(y, y),
            "conjugate": torch.complex(y, y).conj(),
            "float64": y.double() + self.shift,
            "transposed": y.t(),
            "expanded": y.unsqueeze(0).expand(7, -1, -1),
            "strided": y[:, 1:5:2],
            "overlapping": y.unfold(1, 3, 1),
            "scalar": y.sum(),
            "empty": y[:0],
            "logarithm": y.log(),
            "huge": (y * 1e18).to(torch.int64),
            "quantized": torch.quantize_per_tensor(y, 0.1, 10, torch.quint8),
            "channels": torch.quantize_per_channel(
                y, torch.linspace(0.1, 1, 5, dtype=torch.float64), torch.arange(5), 1, torch.qint8
            ),
            "nested": torch.nested.nested_tensor([y[0], y[1][:2]]),
            "loss": y.square().sum(),
        }


def many_types(**options: Any) -> Any:
    """A history with two backward passes."""
    torch.manual_seed(0)
    x = torch.randn(3, 4, requires_grad=True)
    history = tl.log_forward_pass(ManyTypes(), x, save_gradients=True, **options)
    history.log_backward(history.output["loss"], retain_graph=True)
    history.log_backward(history.output["loss"])
    return history


def values_of(view: TensorView, data: bytes) -> Any:
    """The values of a window: tiles, rows, columns."""
    window = view.window
    shape = (window.num_tiles, window.num_rows, window.num_columns)
    return np.frombuffer(data, dtype=f"<{view.encoding}").reshape(shape)
