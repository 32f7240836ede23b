"""The cells of recurrent networks, after their products: gates, from 0 to 1, that let numbers through or not.

An LSTM keeps a memory c. Its gates i, f, o and its candidate g come side by side, as torch has them in its
weights: the forget gate f says what stays of the memory, the input gate i what is added, the output gate o
what is shown. A GRU has two: r says how much of the old state the candidate n sees, z how much of it stays.

On the way back each gate is computed again from its input: that costs less than to keep it. All of this is
ordinary code that runs on tensors and on tracers alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def lstm_memory_of(gates: Tensor, c: Tensor) -> Tensor:
    i, f, g, _ = _quarters(gates)
    return torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)


def lstm_memory_to_gates(grad: Tensor, gates: Tensor, c: Tensor) -> Tensor:
    i, f, g, o = _quarters(gates)
    i, f, g = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g)
    to_i = grad * g * i * (1 - i)
    to_f = grad * c * f * (1 - f)
    to_g = grad * i * (1 - g * g)
    return torch.cat([to_i, to_f, to_g, torch.zeros_like(o)], -1)


def lstm_memory_to_memory(grad: Tensor, gates: Tensor) -> Tensor:
    return grad * torch.sigmoid(_quarters(gates)[1])


def lstm_state_of(gates: Tensor, c: Tensor) -> Tensor:
    return torch.sigmoid(_quarters(gates)[3]) * torch.tanh(c)


def lstm_state_to_gates(grad: Tensor, gates: Tensor, c: Tensor) -> Tensor:
    i, _, _, o = _quarters(gates)
    o = torch.sigmoid(o)
    nothing = torch.zeros_like(i)
    return torch.cat([nothing, nothing, nothing, grad * torch.tanh(c) * o * (1 - o)], -1)


def lstm_state_to_memory(grad: Tensor, gates: Tensor, c: Tensor) -> Tensor:
    shown = torch.tanh(c)
    return grad * torch.sigmoid(_quarters(gates)[3]) * (1 - shown * shown)


def gru_state_of(x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    """x is what comes from the input, y from the state, both with parts for r, z and n."""
    _, z, n = _gru_gates(x, y)
    return n + z * (h - n)


def gru_to_input(grad: Tensor, x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    to_r, to_z, to_n, _ = _gru_slopes(grad, x, y, h)
    return torch.cat([to_r, to_z, to_n], -1)


def gru_to_state_part(grad: Tensor, x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    to_r, to_z, to_n, r = _gru_slopes(grad, x, y, h)
    return torch.cat([to_r, to_z, to_n * r], -1)


def gru_to_state(grad: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return grad * _gru_gates(x, y)[1]


def _gru_slopes(grad: Tensor, x: Tensor, y: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r, z, n = _gru_gates(x, y)
    to_n = grad * (1 - z) * (1 - n * n)
    to_z = grad * (h - n) * z * (1 - z)
    to_r = to_n * _thirds(y)[2] * r * (1 - r)
    return to_r, to_z, to_n, r


def _gru_gates(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    xr, xz, xn = _thirds(x)
    yr, yz, yn = _thirds(y)
    r = torch.sigmoid(xr + yr)
    return r, torch.sigmoid(xz + yz), torch.tanh(xn + r * yn)


def _quarters(gates: Tensor) -> Sequence[Tensor]:
    return gates.chunk(4, -1)


def _thirds(gates: Tensor) -> Sequence[Tensor]:
    return gates.chunk(3, -1)
