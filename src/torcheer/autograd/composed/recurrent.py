"""Recurrent layers and cells: a sequence is read step by step, and a state goes from each step to the next.

Only the part that depends on the state has to wait for the step before. The products with the inputs are done
for the whole sequence at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.composed.layer_functions import dropout
from torcheer.autograd.composed.products import linear
from torcheer.autograd.torch_calls import call
from torcheer.errors import InputError


class Weights(NamedTuple):
    """Those of one layer in one direction: for its input, and for its state."""

    of_input: Tensor
    of_state: Tensor
    bias_of_input: Tensor | None = None
    bias_of_state: Tensor | None = None


class Cell(NamedTuple):
    """One kind of layer: what it makes of all inputs at once, and what of one step and the states before."""

    prepare: Callable[[Tensor, Weights], Any]
    step: Callable[[Any, tuple[Any, ...], Weights], tuple[Any, ...]]


# --- the kinds -------------------------------------------------------------------------------------------


def _with_both_biases(x: Tensor, weights: Weights) -> Any:
    """Where both biases are only added, they are one."""
    bias = weights.bias_of_input
    if bias is not None and weights.bias_of_state is not None:
        bias = bias + weights.bias_of_state
    return linear(x, weights.of_input, bias)


def _with_its_own_bias(x: Tensor, weights: Weights) -> Any:
    return linear(x, weights.of_input, weights.bias_of_input)


def _tanh_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    """h' = tanh(x wᵀ + h uᵀ + b), the simplest one: what is far back fades."""
    return (torch.tanh(linear(state[0], weights.of_state, prepared)),)


def _relu_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    return (torch.relu(linear(state[0], weights.of_state, prepared)),)


def _lstm_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    """Beside the state h a memory c, which gates protect: see gating.py."""
    gates = linear(state[0], weights.of_state, prepared)
    memory = rules.lstm_memory(gates, state[1])
    return rules.lstm_state(gates, memory), memory


def _gru_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    """One state, which a gate keeps or replaces: see gating.py."""
    of_state = linear(state[0], weights.of_state, weights.bias_of_state)
    return (rules.gru_state(prepared, of_state, state[0]),)


_TANH: Final = Cell(_with_both_biases, _tanh_step)
_RELU: Final = Cell(_with_both_biases, _relu_step)
_LSTM: Final = Cell(_with_both_biases, _lstm_step)
_GRU: Final = Cell(_with_its_own_bias, _gru_step)


# --- as torch calls them ---------------------------------------------------------------------------------


@call("rnn_tanh")
def rnn_tanh(input: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> tuple[Any, Any]:
    outputs, (last,) = _through_layers(_TANH, input, (hx,), params, *options)
    return outputs, last


@call("rnn_relu")
def rnn_relu(input: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> tuple[Any, Any]:
    outputs, (last,) = _through_layers(_RELU, input, (hx,), params, *options)
    return outputs, last


@call("gru")
def gru(input: Tensor, hx: Tensor, params: Sequence[Tensor], *options: Any) -> tuple[Any, Any]:
    outputs, (last,) = _through_layers(_GRU, input, (hx,), params, *options)
    return outputs, last


@call("lstm")
def lstm(
    input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], *options: Any
) -> tuple[Any, Any, Any]:
    outputs, (last, memory) = _through_layers(_LSTM, input, tuple(hx), params, *options)
    return outputs, last, memory


@call("rnn_tanh_cell")
def rnn_tanh_cell(input: Tensor, hx: Tensor, *weights: Any) -> Any:
    return _one_step(_TANH, input, (hx,), Weights(*weights))[0]


@call("rnn_relu_cell")
def rnn_relu_cell(input: Tensor, hx: Tensor, *weights: Any) -> Any:
    return _one_step(_RELU, input, (hx,), Weights(*weights))[0]


@call("gru_cell")
def gru_cell(input: Tensor, hx: Tensor, *weights: Any) -> Any:
    return _one_step(_GRU, input, (hx,), Weights(*weights))[0]


@call("lstm_cell")
def lstm_cell(input: Tensor, hx: Sequence[Tensor], *weights: Any) -> tuple[Any, ...]:
    return _one_step(_LSTM, input, tuple(hx), Weights(*weights))


# --- reading ---------------------------------------------------------------------------------------------


def _through_layers(
    cell: Cell,
    x: Any,
    start: tuple[Tensor, ...],
    params: Sequence[Tensor],
    has_biases: Any,
    num_layers: int = 1,
    dropout_p: float = 0.0,
    train: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
) -> tuple[Any, list[Any]]:
    """All outputs of the last layer, and of each layer and direction the last states."""
    if not isinstance(has_biases, bool):
        raise InputError("packed sequences are not read here: pad them, and pass the tensor itself.")
    each = 4 if has_biases else 2
    directions = 1 + bidirectional
    if len(params) != num_layers * directions * each:
        raise InputError("an LSTM with a proj_size is not known here: leave it out, and add a Linear.")
    x = x.transpose(0, 1) if batch_first else x
    weights = [Weights(*params[at : at + each]) for at in range(0, len(params), each)]
    last: list[tuple[Any, ...]] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            state = tuple(one[len(last)] for one in start)
            states, end = _read(cell, x, state, weights[len(last)], backwards=direction == 1)
            outputs.append(states)
            last.append(end)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if layer < num_layers - 1 and train:
            x = dropout(x, dropout_p)
    ends = [torch.stack(one) for one in zip(*last, strict=True)]
    return (x.transpose(0, 1) if batch_first else x), ends


def _read(cell: Cell, x: Tensor, state: Any, weights: Weights, *, backwards: bool) -> tuple[Any, Any]:
    """The states of all steps as one tensor, and what is left at the end."""
    prepared = cell.prepare(x, weights)
    num_steps, num_items = x.shape[:2]
    shown = []
    for step in reversed(range(num_steps)) if backwards else range(num_steps):
        state = cell.step(prepared[step], state, weights)
        shown.append(state[0])
    if backwards:
        shown.reverse()
    return torch.cat(shown).reshape(num_steps, num_items, -1), state


def _one_step(cell: Cell, x: Tensor, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    return cell.step(cell.prepare(x, weights), state, weights)
