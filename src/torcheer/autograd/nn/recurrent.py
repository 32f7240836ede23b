"""Recurrent layers: a sequence is read step by step, and a state is carried from each step to the next.

Only the part that depends on the state has to wait for the step before. The products with the inputs are done
for the whole sequence at once.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn import init
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter
from torcheer.autograd.nn.placing import in_any_type
from torcheer.errors import InputError


class Weights(NamedTuple):
    """Those of one layer in one direction: for its input, and for its state."""

    of_input: Parameter
    of_state: Parameter
    bias_of_input: Parameter | None
    bias_of_state: Parameter | None


class _Recurrent(Module):
    """What all three share: layers on top of each other, each in one direction or in both."""

    num_gates: ClassVar[int]
    num_states: ClassVar[int] = 1

    @in_any_type
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = dropout, bidirectional
        size = self.num_gates * hidden_size
        for name in self._names():
            first = "_l0" in name
            width = input_size if first else hidden_size * (1 + bidirectional)
            setattr(self, f"weight_ih{name}", Parameter(torch.empty(size, width)))
            setattr(self, f"weight_hh{name}", Parameter(torch.empty(size, hidden_size)))
            if bias:
                setattr(self, f"bias_ih{name}", Parameter(torch.empty(size)))
                setattr(self, f"bias_hh{name}", Parameter(torch.empty(size)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _names(self) -> list[str]:
        directions = ("", "_reverse") if self.bidirectional else ("",)
        return [f"_l{layer}{direction}" for layer in range(self.num_layers) for direction in directions]

    def _weights(self, name: str) -> Weights:
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        found: list[Any] = [getattr(self, kind + name, None) for kind in kinds]
        return Weights(*found)

    def forward(self, x: Tensor, state: Any = None) -> tuple[Any, Any]:
        """All outputs of the last layer, and of each layer and direction the last state."""
        if len(x.shape) not in (2, 3) or x.shape[-1] != self.input_size:
            raise InputError(f"{self!r} takes steps of {self.input_size} numbers, not {tuple(x.shape)}.")
        is_single = len(x.shape) == 2
        if is_single:
            x = x.unsqueeze(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        x, last = self._through_layers(x, self._start(x, state, is_single))
        if is_single:
            return x.squeeze(1), self._handed_out([one.squeeze(1) for one in last])
        return x.transpose(0, 1) if self.batch_first else x, self._handed_out(last)

    def _through_layers(self, x: Tensor, start: list[Tensor]) -> tuple[Any, list[Any]]:
        last: list[tuple[Any, ...]] = []
        directions = 1 + self.bidirectional
        for layer in range(self.num_layers):
            outputs = []
            for name in self._names()[directions * layer : directions * (layer + 1)]:
                state = tuple(one[len(last)] for one in start)
                states, end = self._read(x, state, self._weights(name), backwards="reverse" in name)
                outputs.append(states)
                last.append(end)
            x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
            if layer < self.num_layers - 1 and self.dropout and self.training:
                x = F.dropout(x, self.dropout)
        return x, [torch.stack(each) for each in zip(*last, strict=True)]

    def _read(self, x: Tensor, state: Any, weights: Weights, *, backwards: bool) -> tuple[Any, Any]:
        """The states of all steps as one tensor, and what is left at the end."""
        prepared = self._prepared(x, weights)
        num_steps = x.shape[0]
        shown = []
        for step in reversed(range(num_steps)) if backwards else range(num_steps):
            state = self._step(prepared[step], state, weights)
            shown.append(state[0])
        if backwards:
            shown.reverse()
        return torch.cat(shown).reshape(num_steps, x.shape[1], self.hidden_size), state

    def _prepared(self, x: Tensor, weights: Weights) -> Any:
        """What the inputs of all steps have to say. Where both biases are only added, here they are one."""
        bias = weights.bias_of_input
        if bias is not None and weights.bias_of_state is not None:
            bias = bias + weights.bias_of_state  # type: ignore[assignment]
        return F.linear(x, weights.of_input, bias)

    def _step(self, prepared: Tensor, state: Any, weights: Weights) -> tuple[Any, ...]:
        raise NotImplementedError

    def _start(self, x: Tensor, state: Any, is_single: bool) -> list[Tensor]:
        """The states before the first step: zeros, if none are given."""
        shape = (self.num_layers * (1 + self.bidirectional), x.shape[1], self.hidden_size)
        if state is None:
            return [torch.zeros(shape, dtype=x.dtype, device=x.device)] * self.num_states
        given = list(state) if self.num_states > 1 else [state]
        given = [one.unsqueeze(1) for one in given] if is_single else given
        for one in given:
            if tuple(one.shape) != shape:
                raise InputError(f"a state for this input is {shape}, not {tuple(one.shape)}.")
        return given

    def _handed_out(self, last: list[Any]) -> Any:
        return tuple(last) if self.num_states > 1 else last[0]

    def __repr__(self) -> str:
        more = [f"{self.num_layers} layers"] if self.num_layers > 1 else []
        more += ["both directions"] if self.bidirectional else []
        return f"{type(self).__name__} {self.input_size} -> {self.hidden_size}" + (
            f" ({', '.join(more)})" if more else ""
        )


class RNN(_Recurrent):
    """h' = tanh(x wᵀ + h uᵀ + b), the simplest one: what is far back fades."""

    num_gates = 1

    @in_any_type
    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise InputError(f"nonlinearity is 'tanh' or 'relu', not {nonlinearity!r}.")
        self.nonlinearity = nonlinearity
        super().__init__(*args, **kwargs)

    def _step(self, prepared: Tensor, state: Any, weights: Weights) -> tuple[Any, ...]:
        both = F.linear(state[0], weights.of_state, prepared)
        return (torch.tanh(both) if self.nonlinearity == "tanh" else torch.relu(both),)


class LSTM(_Recurrent):
    """Beside the state h a memory c, which gates protect: see gating.py."""

    num_gates = 4
    num_states = 2

    def _step(self, prepared: Tensor, state: Any, weights: Weights) -> tuple[Any, ...]:
        gates = F.linear(state[0], weights.of_state, prepared)
        memory = rules.lstm_memory(gates, state[1])
        return rules.lstm_state(gates, memory), memory


class GRU(_Recurrent):
    """One state, which a gate keeps or replaces: see gating.py."""

    num_gates = 3

    def _prepared(self, x: Tensor, weights: Weights) -> Any:
        return F.linear(x, weights.of_input, weights.bias_of_input)

    def _step(self, prepared: Tensor, state: Any, weights: Weights) -> tuple[Any, ...]:
        of_state = F.linear(state[0], weights.of_state, weights.bias_of_state)
        return (rules.gru_state(prepared, of_state, state[0]),)
