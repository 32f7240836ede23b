"""One step of a recurrent layer, for those who write the loop themselves."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn import init
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter
from torcheer.autograd.nn.placing import in_any_type
from torcheer.errors import InputError


class _Cell(Module):
    num_gates: ClassVar[int]

    @in_any_type
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        size = self.num_gates * hidden_size
        self.weight_ih = Parameter(torch.empty(size, input_size))
        self.weight_hh = Parameter(torch.empty(size, hidden_size))
        self.bias_ih = Parameter(torch.empty(size)) if bias else None
        self.bias_hh = Parameter(torch.empty(size)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _parts(self, x: Tensor, h: Tensor | None) -> tuple[Any, Any, Tensor]:
        """What the input says, what the state says, and the state: zeros, if none is given."""
        if h is None:
            h = torch.zeros(*x.shape[:-1], self.hidden_size, dtype=x.dtype, device=x.device)
        return F.linear(x, self.weight_ih, self.bias_ih), F.linear(h, self.weight_hh, self.bias_hh), h

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.input_size} -> {self.hidden_size}"


class RNNCell(_Cell):
    num_gates = 1

    @in_any_type
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh"
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise InputError(f"nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}.")
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias)

    def forward(self, x: Tensor, h: Tensor | None = None) -> Any:
        of_input, of_state, _ = self._parts(x, h)
        both = of_input + of_state
        return torch.tanh(both) if self.nonlinearity == "tanh" else torch.relu(both)


class LSTMCell(_Cell):
    num_gates = 4

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Any, Any]:
        of_input, of_state, zeros = self._parts(x, None if state is None else state[0])
        gates = of_input + of_state
        memory = rules.lstm_memory(gates, zeros if state is None else state[1])
        return rules.lstm_state(gates, memory), memory


class GRUCell(_Cell):
    num_gates = 3

    def forward(self, x: Tensor, h: Tensor | None = None) -> Any:
        return rules.gru_state(*self._parts(x, h))
