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


# --- the kinds -------------------------------------------------------------------------------------------


def _tanh_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    """h' = tanh(x wᵀ + h uᵀ + b), the simplest one: what is far back fades."""
    return (torch.tanh(linear(state[0], weights.of_state, prepared)),)


def _relu_step(prepared: Any, state: tuple[Any, ...], weights: Weights) -> tuple[Any, ...]:
    return (torch.relu(linear(state[0], weights.of_state, prepared)),)


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


# --- as torch calls them ---------------------------------------------------------------------------------


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


_enter("rnn_tanh", _tanh_step)
_enter("rnn_relu", _relu_step)
_enter("lstm", _lstm_step)
_enter("gru", _gru_step)


# --- reading ---------------------------------------------------------------------------------------------


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


# --- attention: each item asks all of another sequence, and takes the mean of what they have to say ---------


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
    return attend(query, key, value, attn_mask, dropout_p, scale)[0]


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float = 0.0,
    scale: float | None = None,
) -> tuple[Any, Any]:
    """The same with the weights. The mask is True where a query may look, or a number to be added there."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = torch.matmul(query * scale, key.transpose(-2, -1))
    weights = rules.softmax(scores, dim=-1) if mask is None else _masked_softmax(scores, mask)
    weights = dropout(weights, dropout_p) if dropout_p > 0 else weights
    return torch.matmul(weights, value), weights


def _masked_softmax(scores: Tensor, mask: Tensor) -> Any:
    """A query that may look at nothing gets 0 everywhere: a softmax of nothing but -inf is no number."""
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


# --- in several heads ------------------------------------------------------------------------------------


@call("multi_head_attention_forward")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Several attentions side by side, each with a part of the numbers, and a matrix that joins them.

    Sequences come as (steps, items, numbers). Masks are True where *not* to look, or added. Returned are the
    answers, and how much each query looked at each key.
    """
    if add_zero_attn or any(one is not None for one in (bias_k, bias_v, static_k, static_v)):
        raise InputError("keys that are no part of the input are not known here: leave add_bias_kv out.")
    if is_causal and attn_mask is None:
        raise InputError("is_causal only says what attn_mask is: pass the mask as well.")
    is_single = len(query.shape) == 2
    weights = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else in_proj_weight
    projected = _projected((query, key, value), weights, in_proj_bias)
    queries, keys, values = (
        _in_heads(one.unsqueeze(1) if is_single else one, num_heads) for one in projected
    )
    mask = _both_masks(attn_mask, key_padding_mask, queries, is_single)
    found, looks = attend(queries, keys, values, mask, dropout_p if training else 0.0)
    answers = linear(found.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    if is_single:
        answers, looks = answers.squeeze(1), looks.squeeze(0)
    if not need_weights:
        return answers, None
    return answers, looks.mean(-3) if average_attn_weights else looks


def _projected(three: tuple[Tensor, ...], weights: Any, bias: Tensor | None) -> list[Any]:
    """Queries, keys and values, by one matrix that has the rows of all three, or by one for each."""
    query, key, value = three
    if isinstance(weights, Tensor) and query is key and key is value:
        return list(linear(query, weights, bias).chunk(3, -1))
    each = weights.chunk(3) if isinstance(weights, Tensor) else weights
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return [linear(*one) for one in zip(three, each, biases, strict=True)]


def _in_heads(x: Any, num_heads: int) -> Any:
    """To items, heads, steps, numbers of a head."""
    num_steps, num_items = x.shape[:2]
    return x.reshape(num_steps, num_items, num_heads, -1).permute(1, 2, 0, 3)


def _both_masks(mask: Tensor | None, padding: Tensor | None, queries: Tensor, is_single: bool) -> Any:
    """Both masks as one number to be added to each score: -inf where not to look."""
    masks = []
    if mask is not None:
        each = mask if len(mask.shape) == 2 else mask.reshape(-1, queries.shape[1], *mask.shape[1:])
        masks.append(_as_number(each, queries))
    if padding is not None:
        padding = padding.unsqueeze(0) if is_single else padding
        masks.append(_as_number(padding, queries)[:, None, None, :])
    return sum(masks[1:], masks[0]) if masks else None


def _as_number(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(mask, -math.inf)
