"""Layers of sequences: recurrent ones, in which a state goes from each step to the next, and attention.

In a recurrent layer only the part that depends on the state has to wait for the step before. The products
with the inputs are done for the whole sequence at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.composed.layer_functions import dropout, linear
from torcheer.autograd.modes import as_plain
from torcheer.autograd.torch_calls import call
from torcheer.errors import InputError


class Weights(NamedTuple):
    """Those of one layer in one direction: for its input, and for its state."""

    of_input: Tensor
    of_state: Tensor
    bias_of_input: Tensor | None = None
    bias_of_state: Tensor | None = None


# What one step makes of its input, which is multiplied with its weights already, and of the states before.
Step = Callable[[Any, tuple[Any, ...], Weights], tuple[Any, ...]]


def _lstm_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    """Beside the state h a memory c, which gates protect: see the rules lstm_memory and lstm_state."""
    gates = linear(state[0], weights.of_state, prepared)
    memory = rules.lstm_memory(gates, state[1])
    return rules.lstm_state(gates, memory), memory


def _gru_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    """One state, which a gate keeps or replaces: see the rule gru_state."""
    of_state = linear(state[0], weights.of_state, weights.bias_of_state)
    return (rules.gru_state(prepared, of_state, state[0]),)


def _prepared(step: Step, x: Tensor, weights: Weights) -> Any:
    """The products of all inputs. Where both biases are only added, they are one."""
    bias = weights.bias_of_input
    if bias is not None and weights.bias_of_state is not None and step is not _gru_step:
        bias = bias + weights.bias_of_state
    return linear(x, weights.of_input, bias)


def _enter(name: str, step: Step) -> None:
    """A layer and its cell. Both have several states where a step has: torch gives them one by one."""

    def layer(input: Tensor, hx: Any, params: Sequence[Tensor], *options: Any) -> tuple[Any, ...]:
        start = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        outputs, last = _through_layers(step, input, start, params, *options)
        return outputs, *last

    def single(input: Tensor, hx: Any, *weights: Any) -> Any:
        start = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        of_all = Weights(*weights)
        states = step(_prepared(step, input, of_all), start, of_all)
        return states if len(states) > 1 else states[0]

    call(name)(layer)
    call(f"{name}_cell")(single)


# h' = tanh(x wᵀ + h uᵀ + b), the simplest one: what is far back fades.
_enter("rnn_tanh", lambda prepared, h, weights: (torch.tanh(linear(h[0], weights.of_state, prepared)),))
_enter("rnn_relu", lambda prepared, h, weights: (torch.relu(linear(h[0], weights.of_state, prepared)),))
_enter("lstm", _lstm_step)
_enter("gru", _gru_step)


def _through_layers(
    step: Step,
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
            states, end = _read(step, x, state, weights[len(last)], backwards=direction == 1)
            outputs.append(states)
            last.append(end)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if layer < num_layers - 1 and train:
            x = dropout(x, dropout_p)
    ends = [torch.stack(one) for one in zip(*last, strict=True)]
    return (x.transpose(0, 1) if batch_first else x), ends


def _read(step: Step, x: Tensor, state: Any, weights: Weights, *, backwards: bool) -> tuple[Any, Any]:
    """The states of all steps as one tensor, and what is left at the end."""
    prepared = _prepared(step, x, weights)
    num_steps, num_items = x.shape[:2]
    shown = []
    for number in reversed(range(num_steps)) if backwards else range(num_steps):
        state = step(prepared[number], state, weights)
        shown.append(state[0])
    if backwards:
        shown.reverse()
    return torch.cat(shown).reshape(num_steps, num_items, -1), state


@call("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """For each query the mean of the values, weighed by how well their keys match it."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    if is_causal:
        if attn_mask is not None:
            raise InputError("is_causal is a mask itself: pass it or attn_mask, not both.")
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = torch.matmul(query * scale, key.transpose(-2, -1))
    weights = rules.softmax(scores, dim=-1) if attn_mask is None else _masked_softmax(scores, attn_mask)
    weights = dropout(weights, dropout_p) if dropout_p > 0 else weights
    return torch.matmul(weights, value)


def _masked_softmax(scores: Tensor, mask: Tensor) -> Any:
    """The mask is True where a query may look, or a number to be added there.

    A query that may look at nothing gets 0 everywhere: a softmax of nothing but -inf is no number.
    """
    with as_plain():
        looks = mask.as_subclass(Tensor)
        looks = (looks if looks.dtype == torch.bool else looks != -math.inf).any(-1, keepdim=True)
        all_look = bool(looks.all())
    if mask.dtype == torch.bool:
        scores = torch.where(mask if all_look else mask | ~looks, scores, -math.inf)
    else:
        scores = scores + (mask if all_look else torch.where(looks, mask, 0.0))
    weights = rules.softmax(scores, dim=-1)
    return weights if all_look else torch.where(looks, weights, 0.0)
